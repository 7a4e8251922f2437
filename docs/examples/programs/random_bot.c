/* Plays at random; reads the few fields that it needs without a JSON library.

   cc -O2 -o random_bot random_bot.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state;

static unsigned draw(unsigned below) { /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % below);
}

static const char *field(const char *line, const char *name) {
    const char *at = strstr(line, name);
    return at == NULL ? "" : at + strlen(name);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        if (strncmp(line, "{\"type\":\"hello\"", 15) == 0) {
            puts("{\"type\":\"hello\",\"protocol\":1,\"name\":\"random-c\",\"version\":\"1.0\"}");
        } else if (strncmp(line, "{\"type\":\"new_game\"", 18) == 0) {
            state = strtoull(field(line, "\"seed\":"), NULL, 10) * 2 + 1;
        } else if (strncmp(line, "{\"type\":\"act\"", 13) == 0) {
            const char *legal = field(line, "\"legal\":[");
            unsigned count = 1;
            for (const char *c = legal; *c != ']' && *c != '\0'; c++) count += *c == ',';
            for (unsigned skip = draw(count); skip > 0; skip--) legal = strchr(legal, ',') + 1;
            printf("{\"type\":\"action\",\"id\":%ld,\"action\":%ld}\n",
                   strtol(field(line, "\"id\":"), NULL, 10), strtol(legal, NULL, 10));
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}
