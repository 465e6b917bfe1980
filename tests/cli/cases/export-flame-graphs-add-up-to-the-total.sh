# folded stacks and metrics hold the joules of the report, in each view
for name in live kernels small; do
    xz -dc "$SOURCE_DIR/tests/data/recordings/$name.joulemap.xz" >"$name.joulemap" || exit
    for by in layer kernel type phase board span; do
        joulemap export "$name.joulemap" --format json --by $by -o "$name.$by.json" || exit
        joulemap export "$name.joulemap" --format folded --by $by -o "$name.$by.folded" || exit
        joulemap export "$name.joulemap" --format openmetrics --by $by -o "$name.$by.openmetrics" || exit
    done
done
python3 - <<'PYTHON'
import json
import math
import re
from pathlib import Path

LABEL = r'\w+="(?:[^"\\]|\\["\\n])*"'
SAMPLE = re.compile(r"(\w+)((?:\{%s(?:,%s)*\})?) (\S+)" % (LABEL, LABEL))


def folded_j(path):
    """As flamegraph.pl reads it: whatever it does not take would be missing from the sum."""
    lines = [re.fullmatch(r"([^;]+(?:;[^;]+)*) (\d+)", line) for line in path.read_text().splitlines()]
    assert lines and all(lines), path
    return sum(int(line[2]) for line in lines) * 1e-6


def metrics_sums(path):
    """By the rules of the format that a scraper is strict about."""
    text = path.read_text()
    assert text.endswith("\n# EOF\n") and "\n\n" not in text
    types, sums, seen = {}, {}, set()
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        if line.startswith("#"):
            assert line.split()[1] in ("TYPE", "UNIT", "HELP") and line.split()[2] == list(types)[-1], line
            continue
        name, of, value = SAMPLE.fullmatch(line).groups()
        family = list(types)[-1]
        assert name == family + {"counter": "_total", "gauge": "", "info": "_info"}[types[family]], line
        assert (name, of) not in seen and float(value) >= 0, line
        seen.add((name, of))
        sums[family] = sums.get(family, 0) + float(value)
    return sums


negative = 0
for path in sorted(Path().glob("*.json")):
    report = json.loads(path.read_text())
    rows, total_j = report["rows"], report["total_energy_j"]
    busy_s = sum(row["busy_s"] for row in rows if row["depth"] == 0)
    metrics = metrics_sums(path.with_suffix(".openmetrics"))
    negative += any(row["energy_self_j"] < 0 for row in rows)
    assert math.isclose(folded_j(path.with_suffix(".folded")), total_j, rel_tol=1e-6), path
    assert math.isclose(metrics["joulemap_energy_joules"], total_j, rel_tol=1e-9), path
    assert math.isclose(metrics["joulemap_recording_energy_joules"], total_j, rel_tol=1e-9), path
    assert math.isclose(metrics["joulemap_busy_seconds"], busy_s, rel_tol=1e-9), path
assert negative, "no report here has a row below 0"

lines = Path("live.layer.folded").read_text().splitlines()
assert sum(line.startswith("Sequential;1;2 ") for line in lines) == 1, lines
PYTHON
