# a trace opens as it should: spans nest by thread, with the joules that the report has of each; all of power and clock
for name in live kernels small; do
    xz -dc "$SOURCE_DIR/tests/data/recordings/$name.joulemap.xz" >"$name.joulemap" || exit
    joulemap export "$name.joulemap" --format json --by span -o "$name.json" || exit
    joulemap export "$name.joulemap" --format chrome -o "$name.trace" || exit
    joulemap export "$name.joulemap" --format chrome --by kernel | cmp - "$name.trace" || exit
done
python3 - <<'PYTHON'
import collections
import json
import math
import sqlite3

for name in ("live", "kernels", "small"):
    report = json.load(open(f"{name}.json"))
    trace = json.load(open(f"{name}.trace"))
    file = sqlite3.connect(f"file:{name}.joulemap?mode=ro", uri=True)
    start_ns = trace["otherData"]["start_ns"]
    assert trace["otherData"]["total_energy_j"] == report["total_energy_j"]
    events = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        events[event["ph"]].append(event)
    assert set(events) == {"M", "X", "C"}

    # each span once, when it was, in the names that metadata gives
    times = {(round(s - start_ns), round(e - s)) for s, e in file.execute("SELECT start_ns, end_ns FROM spans WHERE end_ns >= 0")}
    work, spans = [], []
    for one in events["X"]:
        (work if one["cat"] in ("kernel", "memcpy", "memset") else spans).append(one)
    assert times <= {(round(one["ts"] * 1e3), round(one["dur"] * 1e3)) for one in spans}
    assert len(spans) == file.execute("SELECT count(*) FROM spans").fetchone()[0] > 0
    threads = {(one["pid"], one["tid"]) for one in events["M"] if one["name"] == "thread_name"}
    programs = {one["pid"] for one in events["M"] if one["name"] == "process_name"}
    assert all((one["pid"], one["tid"]) in threads and one["pid"] in programs for one in spans)

    # each kernel once, when it ran, on a line of its GPU
    ran = file.execute("SELECT start_ns, duration_ns FROM kernels").fetchall()
    assert sorted((round(start - start_ns), duration) for start, duration in ran) == sorted(
        (round(one["ts"] * 1e3), round(one["dur"] * 1e3)) for one in work
    )
    assert {(one["pid"], one["tid"]) for one in work} <= threads and not {one["pid"] for one in work} & {one["pid"] for one in spans}

    # inside or beside, never across; and what is outermost adds up as its rows do
    roots = collections.Counter()
    for thread in threads:
        open_until = []
        for one in (one for one in spans if (one["pid"], one["tid"]) == thread):
            start, end = round(one["ts"] * 1e3), round((one["ts"] + one["dur"]) * 1e3)
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], one
            if not open_until:
                roots[one["name"], one["cat"]] += one["args"]["energy_j"]
            open_until.append(end)
    rows = [row for row in report["rows"] if row["kind"] not in ("idle", "gap", "outside", "unresolved")]
    wanted = collections.Counter()
    for row in rows:
        if row["depth"] == 0:
            wanted[row["path"], row["kind"]] += row["energy_j"]
    assert set(wanted) == set(roots), (wanted, roots)
    assert all(math.isclose(roots[key], wanted[key], rel_tol=1e-9) for key in wanted), (wanted, roots)
    figures = ("energy_j", "energy_low_j", "energy_high_j", "energy_self_j")
    assert sorted([row["path"], row["kind"], *(row[key] for key in figures)] for row in rows) == sorted(
        [one["name"], one["cat"], *(one["args"][key] for key in figures)] for one in spans
    )
    rest = sum(row["energy_j"] for row in report["rows"] if row["depth"] == 0 and row not in rows)
    assert abs(sum(roots.values()) + rest - report["total_energy_j"]) < 0.005 * report["total_energy_j"]

    # the tracks are the readings
    query = "SELECT s.name, r.value FROM readings r JOIN sensors s ON s.id = r.sensor_id WHERE s.quantity IN ('power', 'clock_sm')"
    told = sorted((one["name"], *one["args"].values()) for one in events["C"])
    read = sorted(file.execute(query))
    assert len(told) == len(read) > 0, name
    assert all(a == b and math.isclose(x, y, rel_tol=1e-12) for (a, x), (b, y) in zip(told, read)), name
    assert {unit for one in events["C"] for unit in one["args"]} <= {"W", "MHz"}
PYTHON
