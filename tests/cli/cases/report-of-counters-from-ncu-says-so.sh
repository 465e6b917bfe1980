# Windows of counters that Nsight Compute counted in another run: a note, the quality, and what the rows rest on
awk 'BEGIN {
    print "t_start_s,duration_us,kernel,stream" > "kernels.csv"
    print "sensor,t_s,value" > "readings.csv"
    for (t = 0.5; t < 7.5; t += 0.001) {
        heat = int(t * 4) % 2 == 0
        printf "%.6f,900,\"%s\",7\n", t, heat ? "heat(float const*, float*, float)" : "square_sum(float const*, float*)" > "kernels.csv"
    }
    for (t = 0.02; t < 8; t += 0.02) printf "power_ring_w,%.3f,%.3f\n", t, 480 + (int(t * 50) % 5) > "readings.csv"
}'
# Kernels of an import have no sizes.
gzip -dc "$SOURCE_DIR/tests/data/ncu/stencil.csv.gz" | sed 's/"(32, 8, 1)"/"(0, 0, 0)"/; s/"([0-9]*, [0-9]*, 1)"/"(0, 0, 0)"/g' >counters.csv
joulemap import --board h200 --readings readings.csv --kernels kernels.csv -o run.joulemap || exit 1
joulemap import --onto run.joulemap --ncu counters.csv -o all.joulemap || exit 1
said() { joulemap report "$@" --by kernel --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print("counters_of_ncu:", report["quality"]["counters_of_ncu"])
print("windows:", report["quality"]["counter_windows"])
print(*(note for note in report["quality"]["notes"] if "Nsight" in note or "counters" in note), sep="\n")
print(*sorted({row["provenance"] for row in report["rows"]}))
'; }
said run.joulemap
said all.joulemap
said all.joulemap --model none
joulemap report all.joulemap --by kernel --notes | grep -A4 'counters tell' | head -5
