# a parent that ignores SIGCHLD hands that down: the end of the command is seen all the same
trap '' CHLD
timeout 20 env joulemap record --sim h200 -o r.joulemap -- sh -c 'exit 4'
echo $?
