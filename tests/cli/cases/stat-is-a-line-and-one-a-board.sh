# time, energy with its interval, power; a line a board
joulemap stat --sim h200,a100 -- sh -c 'echo result; sleep 1; exit 2'
