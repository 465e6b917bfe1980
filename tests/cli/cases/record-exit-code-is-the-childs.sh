# the command's exit code is ours, its streams stay its own, one line is said at the end
joulemap record --sim h200 -o r.joulemap -- sh -c 'echo result; sleep 0.3; exit 3'
