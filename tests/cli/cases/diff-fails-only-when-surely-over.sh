# The small recording, and the same with 5 and with 20 % more in all readings. An import knows no UUID, so the gains of
# two sensors, 8 %, are in the change: 5 % more may be none.
. "$SOURCE_DIR/tests/cli/small.sh"
for more in 05 20; do
    awk -F, -v OFS=, -v more="1.$more" 'NR > 1 && $1 ~ /_w$|_j$/ { $3 *= more } { print }' "$small/readings.csv" >readings.csv
    joulemap import --board h200 --readings readings.csv --segments "$small/segments.csv" -o "more-$more.joulemap" || exit 1
    for share in 3% 0.03 0% 25%; do
        joulemap diff small.joulemap "more-$more.joulemap" --fail-over $share >/dev/null
        echo "$more % more, --fail-over $share: $?"
    done
done
joulemap diff more-20.joulemap small.joulemap --fail-over 0% >/dev/null
echo "less: $?"
