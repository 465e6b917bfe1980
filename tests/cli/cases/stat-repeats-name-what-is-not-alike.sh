# the first run of a program that fills its cache, and one that was disturbed: found and named; the mean is without the first
cat >program <<'SH'
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
case $n in
1) sleep 0.6 ;;
7) sleep 0.4 ;;
*) sleep 0.2 ;;
esac
SH
"$BUILD_DIR/tests/time/virtual-time" joulemap stat --no-cpu --sim h200 -r 12 --json -- sh program >stat.json || exit
python3 - <<'PYTHON'
import json
stat = json.load(open("stat.json"))
runs = stat["runs"]
print(len(runs), "runs, warm-up", stat["warm_up"], "an outlier is 7:", 7 in stat["outliers"])
steady = runs[stat["warm_up"]:]
for key, of in (("energy_j", stat["energy_j"]), ("duration_s", stat["time_s"])):
    mean = sum(run[key] for run in steady) / len(steady)
    assert abs(of["mean"] - mean) < 1e-9 * mean and of["low"] < mean < of["high"], (key, of, mean)
    assert of["least"] == min(run[key] for run in steady)
PYTHON
