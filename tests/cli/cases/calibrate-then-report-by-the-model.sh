# a suite and a program of the simulated board: a model out of the one, and figures of the other by counters
"$BUILD_DIR/sim/joulemap-simulate" --out . --seed 2 --seconds 5 --suite 30 --counters >/dev/null || exit
joulemap import --readings readings.csv --segments segments.csv --kernels kernels.csv --board h200 -o run.joulemap || exit
joulemap import --onto run.joulemap --counters counters.csv -o counted.joulemap || exit
joulemap calibrate --from counted.joulemap --phase suite -o model.json
for model in none model.json; do
    joulemap report counted.joulemap --phase live --by kernel --model $model | grep '  counters$' >$model.rows
done
test -s none.rows && echo "counters in a report that was to leave them out"
test -s model.json.rows || echo "no row by counters"
joulemap report counted.joulemap --phase live --model missing.json
echo "exit code $?"
echo '{}' >wrong.json
joulemap report counted.joulemap --phase live --model wrong.json
echo "exit code $?"
