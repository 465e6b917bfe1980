# several runs: their figures together, a board that is there twice by its index; one that fails is the last
joulemap stat --no-cpu --sim h200,h200 -r 3 -- sleep 0.2
echo 'test ! -e ran || exit 4; touch ran' >fails
joulemap stat --no-cpu --sim h200 -r 5 -- sh fails
echo "exit code $?"
joulemap stat --no-cpu --sim h200 -r 5 -- sh fails
echo "exit code $?"
joulemap stat --no-cpu --sim h200 -r 0 -- true
echo "exit code $?"
