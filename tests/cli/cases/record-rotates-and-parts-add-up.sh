# a run in two parts: each is a recording by itself, and together they have the steps and joules of the run
. "$SOURCE_DIR/tests/cli/recorded.sh"
joulemap record --sim h200 -o r.joulemap --rotate-size 1M -- "$BUILD_DIR/tests/native_steps" 26 >steps 2>summary || die "$(cat summary)"
ls -- *.joulemap
grep -q "in 2 parts, r.0001.joulemap to r.0002.joulemap; next: joulemap report r.0002.joulemap" summary || cat summary
for part in 1 2; do
    joulemap report r.000$part.joulemap --by phase --json >$part.json || die "part $part has no report"
    grep -q "This is part $part of a run" $part.json || die "part $part does not say so"
done
python3 - "$(cat steps)" "$(sed 's/.* s, \([0-9]*\) J.*/\1/' summary)" <<'PYTHON' || die "they do not add up"
import json, sys
steps, joules = int(sys.argv[1]), float(sys.argv[2])
parts = [json.load(open(f"{part}.json")) for part in (1, 2)]
assert sum(part["steps"] for part in parts) == steps, ([part["steps"] for part in parts], steps)
assert abs(sum(part["total_energy_j"] for part in parts) - joules) < 20, joules # before the command and after it
PYTHON
echo "asked for by the name that it was given:"
joulemap report r.joulemap
