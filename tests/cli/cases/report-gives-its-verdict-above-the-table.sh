# The same board beside segments whose clock is off: by 0 ms the fit is good, by 4 ms fair, by 50 ms poor.
small=$SOURCE_DIR/tests/data/small
for off in 0 0.004 0.050; do
    awk -F, -v OFS=, -v off=$off 'NR > 1 { $3 += off; $4 += off } { print }' "$small/segments.csv" >segments.csv
    joulemap import --board h200 --readings "$small/readings.csv" --segments segments.csv -o $off.joulemap || exit
    joulemap report $off.joulemap | sed -n '/^total/,/^$/p' | sed '/^$/d'
done
