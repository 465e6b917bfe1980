# recording ends with the command, and what goes on without it is told
joulemap record --sim h200 -o r.joulemap -- sh -c '(sleep 2; echo late > late) >/dev/null 2>&1 & sleep 0.5'
[ ! -e late ] || exit 99
sleep 2
[ -e late ]
