import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Random;

/** Plays at random; reads the few fields that it needs without a JSON library. */
public class RandomBot {
    private static String field(String line, String name) {
        int at = line.indexOf("\"" + name + "\":") + name.length() + 3;
        int end = line.charAt(at) == '[' ? line.indexOf(']', at) + 1 : at;
        while (end < line.length() && line.charAt(at) != '[' && ",}".indexOf(line.charAt(end)) < 0) {
            end++;
        }
        return line.substring(at, end);
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Random random = new Random();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String type = field(line, "type");
            if (type.equals("\"hello\"")) {
                System.out.println("{\"type\":\"hello\",\"protocol\":1,\"name\":\"random-java\"}");
            } else if (type.equals("\"new_game\"")) {
                random = new Random(Long.parseLong(field(line, "seed")));
            } else if (type.equals("\"act\"")) {
                String legal = field(line, "legal");
                String[] actions = legal.substring(1, legal.length() - 1).split(",");
                String action = actions[random.nextInt(actions.length)];
                System.out.println("{\"type\":\"action\",\"id\":" + field(line, "id")
                    + ",\"action\":" + action + "}");
            }
            System.out.flush();
        }
    }
}
