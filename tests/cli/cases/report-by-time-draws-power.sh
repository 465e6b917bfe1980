# power over time: as wide as the terminal, as high as the power, gaps where no sensor told, phases below
. "$SOURCE_DIR/tests/cli/small.sh"
joulemap report small.joulemap --by time | sed -n '/┤/,$p'
echo
COLUMNS=40 joulemap report small.joulemap --by time | awk '{ gsub(/[^\x20-\x7e]+/, "#"); if (length > 40) print "too wide: " $0 }'
joulemap report small.joulemap --by time --json | python3 -c '
import json, sys
board, = json.load(sys.stdin)["boards"]
bins = board["bins"]
joules = sum(bin["mean_w"] * (bin["to_ns"] - bin["from_ns"]) for bin in bins if bin["mean_w"] is not None) * 1e-9
total = json.loads(sys.argv[1])["total_energy_j"]
print(len(bins), "bins,", "which add up to the total" if abs(joules - total) < 0.005 * total else (joules, total))
' "$(joulemap report small.joulemap --json)"
