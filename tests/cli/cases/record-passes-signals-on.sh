# SIGTERM to the recorder reaches the program, which ends as it likes
joulemap record --sim h200 -o r.joulemap -- sh -c 'trap "echo tidied; exit 5" TERM; while :; do sleep 0.1; done' &
sleep 1.5
kill -TERM $!
wait $!
