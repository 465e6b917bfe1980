# Counters onto a recording of 0.1, whole and cut in half: a recording of this version that reports the same without them, and has them
. "$SOURCE_DIR/tests/cli/recorded.sh"
. "$SOURCE_DIR/tests/cli/recordings-of-0-1.sh"
unpack live
head -c $(($(stat -c %s live.joulemap) / 2)) live.joulemap >half.joulemap
first=$(query live.joulemap "SELECT realtime_ns FROM anchors LIMIT 1")
{
    echo start_ns,end_ns,sm__inst_executed.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
    for i in $(seq 0 499); do echo $((first + i * 1000000)),$((first + (i + 1) * 1000000)),$i,50; done
} | gzip >counters.csv.gz
for which in live half; do
    joulemap import --onto $which.joulemap --counters counters.csv.gz --board 0 -o $which.counted.joulemap || exit
    for by in layer kernel board; do
        joulemap report $which.joulemap --by $by --model none --json >before.json || exit
        joulemap report $which.counted.joulemap --by $by --model none --json >after.json || exit
        cmp before.json after.json
    done
    query $which.counted.joulemap "SELECT count || ' of ' || metrics || ' ' || units FROM counter_blocks JOIN counter_sets ON counter_sets.id = set_id"
    query $which.counted.joulemap "PRAGMA user_version"
    query $which.counted.joulemap "PRAGMA integrity_check"
done
