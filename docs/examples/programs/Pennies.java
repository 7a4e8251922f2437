import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Matching pennies in rounds, as a game for miai: both players choose at once.
 *
 * <p>The state is the choices of all rounds, such as "0111" after two: the program remembers only
 * the number of rounds, its parameter.
 */
public class Pennies {
    private static int rounds = 10;

    private static String field(String line, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(line);
        return matcher.find() ? matcher.group(1) : "";
    }

    private static String describe(String id, String state) {
        int even = 0;
        for (int at = 0; at < state.length(); at += 2) {
            even += state.charAt(at) == state.charAt(at + 1) ? 1 : -1;
        }
        boolean over = state.length() == 2 * rounds;
        return "{\"type\":\"state\",\"id\":" + id + ",\"state\":\"" + state + "\",\"returns\":["
            + even + "," + -even + "],"
            + (over ? "\"player\":-4}" : "\"player\":-2,\"legal\":[[0,1],[0,1]]}");
    }

    private static String answer(String line) {
        String id = field(line, "\"id\":(\\d+)");
        switch (field(line, "\"type\":\"(\\w+)\"")) {
            case "hello":
                String wanted = field(line, "\"rounds\":([^,}]*)");
                if (!wanted.isEmpty() && !wanted.matches("[1-9]\\d{0,3}")) {
                    return "{\"type\":\"error\",\"message\":\"rounds: a number from 1 to 9999\"}";
                }
                rounds = wanted.isEmpty() ? rounds : Integer.parseInt(wanted);
                return "{\"type\":\"hello\",\"protocol\":1,\"name\":\"matching_pennies\",\"version\":1,"
                    + "\"players\":[\"even\",\"odd\"],\"actions\":[\"heads\",\"tails\"],"
                    + "\"max_game_length\":" + 2 * rounds + ",\"min_utility\":" + -rounds
                    + ",\"max_utility\":" + rounds + ",\"payoffs\":true,\"simultaneous\":true,"
                    + "\"intermediate_rewards\":true}";
            case "start":
                return describe(id, "");
            case "next":
                String choices = field(line, "\"actions\":\\[([^\\]]*)").replace(",", "");
                return describe(id, field(line, "\"state\":\"(\\d*)\"") + choices);
            default:
                return "";
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line));
            System.out.flush();
        }
    }
}
