# a law whose best cap is known: 455 W of attention that waits for memory, until its clock is half; a sensor
# with little noise, so that four blocks are proof enough and windows may be short
export JOULEMAP_NVML="$BUILD_DIR/sim/libnvidia-ml.so.1"
work=$BUILD_DIR/tests/work/capped_work
# each in a folder of its own, so that they go on side by side
enter() {
    mkdir "$1" && cd "$1" || exit 99
    export XDG_RUNTIME_DIR="$PWD" JOULEMAP_CAPS_DIR="$PWD/caps" JOULEMAP_SIM=./quiet.json
    sed 's/"noise_throttled": 60/"noise_throttled": 1/' "$SOURCE_DIR/sim/profiles/h200.json" >quiet.json
}
search() { joulemap cap search --settle .15 --window .2 --no-cpu "$@"; }
caps() { joulemap cap show --json | python3 -c 'import json, sys; print([b["cap_w"] for b in json.load(sys.stdin)["boards"]])'; }

ended_before() {
    enter ended
    search -o b.joulemap --span round --sweep 3 -- "$work" memory 100000 range round crash 70 >b.txt 2>b.err
    echo "exit code $?"
    grep -o "broken off" b.txt
    grep -oE "1 sweep: [0-9]+ W|ended by signal 6" b.err
    caps
}

no_steps() {
    enter none
    search -o c.joulemap --wait .5 -- "$work" mixed 40 unmarked >c.txt 2>c.err
    echo "exit code $?"
    sed -n 1,2p c.err
}

# between the board's highest clock and half of it
bounds_of_the_clock() {
    enter bounds
    search --clocks --probes 2 --json -o d.joulemap --stop -- "$work" compute 100000 >d.json 2>d.err || cat d.err
    python3 - <<'END'
import json
tried = {trial["clock_mhz"] for trial in json.load(open("d.json"))["trials"] if trial["stage"] == "clock"}
assert None in tried and len(tried) > 1, tried
assert tried <= {None, 1890, 1800, 1710, 1620, 1530, 1440, 1350, 1260, 1170, 1080, 990}, tried
END
    caps
}

(ended_before) >ended.txt 2>&1 &
(no_steps) >none.txt 2>&1 &
enter best
search --objective energy --json -o a.joulemap --stop --phases -- "$work" memory 100000 phases >a.json 2>a.err || cat a.err
python3 - <<'END'
import json
found = json.load(open("a.json"))
# by the board's own law: clock = (cap / 455) ^ 0.92; it draws the cap
def time(cap):
    return 1 + (30**8 + (15 / min(1, (cap / 455) ** 0.92)) ** 8) ** (1 / 8)
def energy(cap):
    return 1 * 150 + (time(cap) - 1) * min(cap, 455)
best = min(energy(cap) for cap in range(200, 701, 25))
chosen = found["chosen_cap_w"]
assert energy(chosen) <= 1.03 * best, (chosen, found["trials"])
assert found["simulated"] is True and found["verdict"] == "better" and found["over"] and found["failure"] is None
proof = found["proof"]
assert proof["whole"] and proof["saving_low"] <= proof["saving"] <= proof["saving_high"]
# windows of a fifth of a second: the truth, give or take their edges
assert abs(proof["saving"] - (1 - energy(chosen) / energy(700))) < 0.05, proof
stages = [trial["stage"] for trial in found["trials"]]
assert stages[0] == "probe" and stages[-1] == "proof" and found["trials"][0]["reference"]
assert {part["name"] for part in found["parts"]} >= {"decode", "forward"}, found["parts"]
assert any(row["path"].endswith("attend") for row in found["layers"]["rows"]), found["layers"]
END
# the recording keeps it, for the page
python3 -c '
import json, sqlite3
row = sqlite3.connect("a.joulemap").execute("select value from meta where key = ?", ("cap_search",)).fetchone()
print(json.loads(row[0])["verdict"])'
caps
# after it: a third search beside it would take the processor that its windows are timed on
(cd .. && bounds_of_the_clock) >../bounds.txt 2>&1

wait
echo "ended before"
cat ../ended.txt
echo "no steps"
cat ../none.txt
echo "bounds of the clock"
cat ../bounds.txt
