# in the midst of its wait at rest: the exit code is the signal's, and the recording is closed
export JOULEMAP_SIM=h200
for signal in INT TERM HUP; do
    timeout 100 joulemap-suite --idle 600 --response 0 --seconds 1 -o $signal.joulemap >$signal.txt 2>&1 &
    until [ -s $signal.joulemap ]; do sleep .05; done
    kill -s $signal $!
    wait $!
    echo "exit code $?"
    joulemap report --by board $signal.joulemap | grep -c SIMULATED
done
ls
