# recording ends with the command, and what goes on without it is told
joulemap record --sim h200 -o r.joulemap -- sh -c '(until [ -e go ]; do sleep 0.05; done; echo late > late) >/dev/null 2>&1 & sleep 0.5'
[ ! -e late ] || exit 99
touch go
for _ in $(seq 100); do
    [ ! -e late ] || exit 0
    sleep 0.1
done
exit 98
