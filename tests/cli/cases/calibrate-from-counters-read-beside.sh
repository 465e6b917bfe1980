# a recording whose kernels are named FAMILY/WHAT, counters that another program read, a model out of both, a report with it
"$BUILD_DIR/sim/joulemap-simulate" --out sim --seconds 10 --counters --suite 20
beside() {
    joulemap import --board h200 --readings sim/readings.csv --kernels sim/kernels.csv --segments sim/segments.csv -fo run.joulemap
    joulemap import --onto run.joulemap --counters sim/counters.csv -fo all.joulemap
}
sed -i 's|micro_\([0-9]\)|family\1/|g' sim/segments.csv
beside
joulemap calibrate --from all.joulemap --phase suite -o model.json
for model in none model.json; do
    joulemap report all.joulemap --phase live --by kernel --model $model --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print(sum(row["provenance"] == "counters" for row in rows) > 0)'
done
