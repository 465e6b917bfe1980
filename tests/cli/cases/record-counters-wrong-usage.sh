# how much of a minute: a number above 0, up to 60, given with "="
for wrong in --counters=0 --counters=61 --counters=much --counters= --no-counters=1; do
    joulemap record --sim h200 $wrong -o r.joulemap -- true
    echo "$?"
done
joulemap record --sim h200 --counters --no-counters -o r.joulemap -- true
echo "$?"
