# every verb that --help names can be asked for help, and every file of a verb is named
joulemap --help >help || exit
sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' help >verbs
test -s verbs || exit
while read -r verb; do
    joulemap "$verb" --help >"$verb.help" || exit
    joulemap help "$verb" | cmp - "$verb.help" || exit
    # a paragraph fills its lines: one ends where the next one's first word has no room
    awk '/^[^ ]/ && before ~ /^[^ ]/ && length(before) + 1 + length($1) <= 80 { print "broken line: " before; bad = 1 }
         { before = $0 } END { exit bad }' "$verb.help" || exit 1
    grep -q "^usage: joulemap $verb " "$verb.help" || { echo "no usage: $verb"; exit 1; }
done <verbs
