# a recording that somebody removes while it is written is gone: no word of success, and no advice to report it
joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 0.5; rm r.joulemap'
echo "exit code $?"
joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 0.5; mv r.joulemap elsewhere; echo other >r.joulemap'
echo "exit code $?"
cat r.joulemap
