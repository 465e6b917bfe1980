# Three runs of each side, which scatter by 1 %, and 20 % more in B: surely over 3 %, and not surely over 15 %, as the
# gains of two sensors and the spread are in the change.
. "$SOURCE_DIR/tests/cli/small.sh"
for run in base-1:1 base-2:1.01 base-3:0.99 more-1:1.2 more-2:1.212 more-3:1.188; do
    awk -F, -v OFS=, -v factor="${run#*:}" 'NR > 1 && $1 ~ /_w$|_j$/ { $3 *= factor } { print }' \
        "$small/readings.csv" >readings.csv
    joulemap import --board h200 --readings readings.csv --segments "$small/segments.csv" -o "${run%:*}.joulemap" || exit 1
done
joulemap diff --by phase base-*.joulemap -- more-*.joulemap || exit
for share in 3% 15%; do
    joulemap diff --fail-over $share base-*.joulemap -- more-*.joulemap >/dev/null
    echo "--fail-over $share: $?"
done
joulemap diff --markdown --limit 1 --by kernel base-1.joulemap -- more-*.joulemap || exit
mkdir again && cp base-1.joulemap again/base-1.joulemap
joulemap diff --json base-1.joulemap again/base-1.joulemap -- more-1.joulemap | python3 -c 'import json, sys
diff = json.load(sys.stdin)
for side in "ab":
    print(diff[side]["name"], diff[side]["units"], [run["name"] for run in diff[side]["runs"]])
print(diff["total"]["a_runs"], diff["total"]["a_deviation_j"], diff["total"]["b_runs"], diff["total"]["b_deviation_j"])'
