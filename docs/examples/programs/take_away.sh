#!/bin/sh
# A game for miai in a shell: take one to three pieces from a heap; who takes the last one wins.
# The state is the pieces and the player, such as "21 0". The program remembers nothing.
describe() { # id, pieces, player
    printf '{"type":"state","id":%s,"state":"%s %s","text":"%s pieces",' "$1" "$2" "$3" "$2"
    case $2 in
        0) printf '"player":-4,"returns":[%s]}\n' "$([ "$3" = 1 ] && echo 1,-1 || echo -1,1)" ;;
        1) printf '"player":%s,"legal":[0]}\n' "$3" ;;
        2) printf '"player":%s,"legal":[0,1]}\n' "$3" ;;
        *) printf '"player":%s,"legal":[0,1,2]}\n' "$3" ;;
    esac
}
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
        '{"type":"hello"'*)
            printf '{"type":"hello","protocol":1,"name":"take_away","version":1,'
            printf '"players":["first","second"],"actions":["1","2","3"],"max_game_length":21}\n'
            ;;
        '{"type":"start"'*) describe "$id" 21 0 ;;
        '{"type":"next"'*)
            state=${line#*\"state\":\"}
            state=${state%%\"*}
            action=${line#*\"actions\":\[}
            action=${action%%\]*}
            describe "$id" $((${state% *} - action - 1)) $((1 - ${state#* }))
            ;;
    esac
done
