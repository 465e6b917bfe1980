# nothing of joulemap is in it: what the boards draw, and how to see more
sleep 30 &
until grep -q sleep "/proc/$!/cmdline"; do :; done # it is a shell until then
joulemap attach --sim h200 --no-cpu --seconds 1 -o r.joulemap $! 2>words || cat words
sed "s/$!/PID/; s/[0-9.]* s, .*$/.../" words
kill $!
joulemap report r.joulemap --by board --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["total_energy_j"] > 0, any(row["kind"] == "gpu" for row in report["rows"]))'
