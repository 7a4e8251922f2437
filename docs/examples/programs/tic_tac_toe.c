/* Tic-tac-toe as a game for miai. The state is the board, such as "x...o....", a mark for each cell
   from a3 to c1; the player follows from it, and the program remembers nothing.

   cc -O2 -o tic_tac_toe tic_tac_toe.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int LINES[8][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6},
                                {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};

static const char *field(const char *line, const char *name) {
    const char *at = strstr(line, name);
    return at == NULL ? "" : at + strlen(name);
}

static int count_of(const char *board, char mark) {
    int marks = 0;
    for (int cell = 0; cell < 9; cell++) marks += board[cell] == mark;
    return marks;
}

static int has_won(const char *board, char mark) {
    for (int i = 0; i < 8; i++)
        if (board[LINES[i][0]] == mark && board[LINES[i][1]] == mark && board[LINES[i][2]] == mark)
            return 1;
    return 0;
}

static void describe(long id, const char *board) {
    printf("{\"type\":\"state\",\"id\":%ld,\"state\":\"%s\",\"text\":\"%.3s\\n%.3s\\n%.3s\",", id,
           board, board, board + 3, board + 6);
    int x = has_won(board, 'x'), o = has_won(board, 'o'), empty = count_of(board, '.');
    if (x || o || empty == 0) {
        printf("\"player\":-4,\"returns\":[%d,%d]}\n", x - o, o - x);
        return;
    }
    printf("\"player\":%d,\"legal\":[", (9 - empty) % 2);
    const char *comma = "";
    for (int cell = 0; cell < 9; cell++) {
        if (board[cell] != '.') continue;
        printf("%s%d", comma, cell);
        comma = ",";
    }
    puts("]}");
}

/* The mean returns of random games from each state of a list. */
static void play_out(const char *states, long count, unsigned long long seed) {
    const char *comma = "";
    unsigned long long random = seed * 2 + 1;
    for (const char *at = strchr(states, '"'); at != NULL; at = strchr(at + 11, '"')) {
        long wins = 0;
        for (long game = 0; game < count; game++) {
            char board[10];
            snprintf(board, sizeof board, "%.9s", at + 1);
            while (!has_won(board, 'x') && !has_won(board, 'o') && count_of(board, '.') > 0) {
                random ^= random << 13; /* xorshift64 */
                random ^= random >> 7;
                random ^= random << 17;
                int cell = 0, skip = (int)((random >> 16) % count_of(board, '.'));
                while (board[cell] != '.' || skip-- > 0) cell++;
                board[cell] = count_of(board, '.') % 2 ? 'x' : 'o';
            }
            wins += has_won(board, 'x') - has_won(board, 'o');
        }
        double mean = (double)wins / (double)count;
        printf("%s[%.9f,%.9f]", comma, mean, -mean);
        comma = ",";
        if (at[11] == ']') break;
    }
}

int main(void) {
    char *line = NULL, board[10];
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        long id = strtol(field(line, "\"id\":"), NULL, 10);
        if (strncmp(line, "{\"type\":\"hello\"", 15) == 0) {
            puts("{\"type\":\"hello\",\"protocol\":1,\"name\":\"tic_tac_toe\",\"version\":1,"
                 "\"playouts\":true,\"players\":[\"x\",\"o\"],\"max_game_length\":9,\"actions\":"
                 "[\"a3\",\"b3\",\"c3\",\"a2\",\"b2\",\"c2\",\"a1\",\"b1\",\"c1\"]}");
        } else if (strncmp(line, "{\"type\":\"start\"", 15) == 0) {
            describe(id, ".........");
        } else if (strncmp(line, "{\"type\":\"next\"", 14) == 0) {
            snprintf(board, sizeof board, "%.9s", field(line, "\"state\":\""));
            board[strtol(field(line, "\"actions\":["), NULL, 10) % 9] =
                count_of(board, '.') % 2 ? 'x' : 'o';
            describe(id, board);
        } else if (strncmp(line, "{\"type\":\"playouts\"", 18) == 0) {
            printf("{\"type\":\"returns\",\"id\":%ld,\"returns\":[", id);
            play_out(field(line, "\"states\":["), strtol(field(line, "\"count\":"), NULL, 10),
                     strtoull(field(line, "\"seed\":"), NULL, 10));
            puts("]}");
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}
