#!/bin/sh
# Plays the first legal action: the whole protocol in a shell, with sed.
read -r hello
printf '{"type":"hello","protocol":1,"name":"first-legal","version":"1.0"}\n'
while read -r line; do
    case $line in
        '{"type":"act"'*)
            id=$(printf '%s' "$line" | sed 's/.*"type":"act","id":\([0-9]*\).*/\1/')
            action=$(printf '%s' "$line" | sed 's/.*"legal":\[\(-*[0-9]*\).*/\1/')
            printf '{"type":"action","id":%s,"action":%s}\n' "$id" "$action"
            ;;
    esac
done
