# A recording from CSV, plain and gzipped: two kernels of 600 and 300 W on a board that idles at 100 W.
awk 'BEGIN {
    print "part,kernel,t_start_s,t_end_s,kernel_launches" > "segments.csv"
    print "sensor,t_s,value" > "readings.csv"
    t = 1
    srand(1)
    while (t < 19) {
        kernel = rand() < 0.5 ? "wide" : "narrow"
        length_s = 0.01 + 0.1 * rand()
        printf "run,%s,%.6f,%.6f,10\n", kernel, t, t + length_s > "segments.csv"
        from[n] = t; to[n] = t + length_s; power[n++] = kernel == "wide" ? 600 : 300
        t += length_s + 0.02 * rand()
    }
    # The ring of board h200: 13 ms of memory, 3.5 ms late. Integrated in steps of 0.1 ms.
    state = 100; i = 0; step = 0.0001; next_s = 0.02
    for (now = 0; now < 20; now += step) {
        while (i < n && to[i] <= now) i++
        p = i < n && from[i] <= now ? power[i] : 100
        state += (p - state) * (1 - exp(-step / 0.013))
        if (now + 0.0035 >= next_s) {
            printf "power_ring_w,%.6f,%.3f\n", next_s, state > "readings.csv"
            next_s += 0.02
        }
    }
}'
gzip segments.csv
joulemap import --board h200 --readings readings.csv --segments segments.csv.gz -o run.joulemap || exit 1
joulemap report run.joulemap --by kernel --phase run --json |
    python3 -c 'import json, sys
report = json.load(sys.stdin)
rows = {row["name"]: row for row in report["rows"]}
for name, watts in (("wide", 600), ("narrow", 300)):
    found = rows[name]["power_w"]
    print(name, "is right" if abs(found / watts - 1) < 0.01 else found)
total = report["total_energy_j"]
print("adds up" if abs(sum(row["energy_self_j"] for row in report["rows"]) - total) < 1e-6 * total else "does not")'
joulemap import --board h200 --readings readings.csv -o run.joulemap
