# five of nine caps; columns in any order, others ignored, CRLF, a byte order mark, gzipped: one answer
printf 'cap_w,time_s,power_w\n100,27.13,106.9\n125,16.85,119.0\n150,11.09,141.6\n175,9.175,160.7\n200,8.8,181.8\n225,8.755,201.1\n250,8.605,209.2\n275,8.605,216.9\n300,8.525,218.9\n' >sweep.csv
joulemap cap search --replay sweep.csv
joulemap cap search --replay sweep.csv --objective energy --max-slowdown 5%
joulemap cap search --replay sweep.csv --probes 1
python3 - <<'END'
import csv, gzip
rows = list(csv.DictReader(open("sweep.csv")))
with gzip.open("other.csv.gz", "wt", newline="", encoding="utf-8-sig") as file:
    out = csv.writer(file)
    out.writerow(["job", "power_w", "cap_w", "time_s"])
    out.writerows(["a", row["power_w"], row["cap_w"], row["time_s"]] for row in reversed(rows))
END
joulemap cap search --replay sweep.csv --json >a.json
joulemap cap search --replay other.csv.gz --json >b.json
cmp a.json b.json
python3 - <<'END'
import json
found = json.load(open("a.json"))
times = {300: (8.525, 218.9), found["chosen_cap_w"]: None}
assert [probe["cap_w"] for probe in found["probes"]][0] == 300
assert 2 <= len(found["probes"]) <= 5
at = next(probe for probe in found["probes"] if probe["cap_w"] == found["chosen_cap_w"])
energy = at["time_s"] * at["power_w"]
close = lambda a, b: abs(a - b) < 1e-9 * abs(b)
assert close(found["found"]["energy_j"], energy) and close(found["found"]["objective"], energy * at["time_s"] ** 2)
assert close(found["found"]["saving"], 1 - energy / (8.525 * 218.9))
assert close(found["found"]["slowdown"], at["time_s"] / 8.525 - 1)
predicted = found["predicted"]
assert predicted["cap_w"] == found["chosen_cap_w"] and "probes" not in predicted
assert [cap["cap_w"] for cap in predicted["caps"]] == list(range(100, 301, 25))
assert sum(cap["probes"] for cap in predicted["caps"]) == len(found["probes"])
for cap in predicted["caps"]:
    for key in ("time_{}s", "power_{}w", "energy_{}j"):
        assert cap[key.format("low_")] <= cap[key.format("")] <= cap[key.format("high_")], cap
    assert cap["objective_low"] <= cap["objective"] <= cap["objective_high"]
END
printf 'cap_w,time_s,power_w\n' >flat.csv
for cap in 100 125 150 175 200 225 250; do echo "$cap,10,80" >>flat.csv; done
joulemap cap search --replay flat.csv --objective energy | sed -n 1,2p
printf 'cap_w,time_s,power_w\n200,11,190\n250,10,230\n' >slower.csv
joulemap cap search --replay slower.csv --objective energy --max-slowdown 5%
