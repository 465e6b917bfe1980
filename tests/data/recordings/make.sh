#!/bin/bash
# How the recordings of 0.1 in this folder were made: make.sh SOURCE BUILD, of joulemap at commit ab4331b (0.1.0).
# Afterwards nobody can make them again with another version: they are what a file of 0.1 is.
#   live     program.py under `joulemap record` on the simulated H200: spans, kernels, a second process, a loss, an event
#   kernels  `joulemap import` of readings and kernels that joulemap-simulate made
#   small    `joulemap import` of tests/data/small: segments that stand for many launches
# NAME.reports.json.xz: what 0.1 said of each by --by ..., and of live.joulemap cut in half ("live-cut").
set -euo pipefail
source=$(realpath "$1") build=$(realpath "$2") here=$(realpath "$(dirname "$0")")
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

uuid=$("$build/joulemap" list --sim h200 --json | sed -n 's/.*"uuid": "GPU-\(.*\)".*/\1/p' | tr -d -)
bytes=$(sed 's/../0x&,/g' <<<"$uuid")
cat >cuda.c <<C
#include <string.h>
int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    static const unsigned char own[16] = {$bytes};
    if (device != 0) return 101;
    memcpy(uuid, own, 16);
    return 0;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }
C
gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 cuda.c

mkdir -p site/joulemap
ln -s "$source"/python/joulemap/* "$build/python/joulemap/_core.abi3.so" site/joulemap
ln -s "$build" site/joulemap/_native
cp "$here/program.py" .
PYTHONPATH=$work/site JOULEMAP_SIM_FAULTS="nvmlDeviceGetTemperature=UNKNOWN@6s" FAKE_CUDA=$work/libcuda.so.1 JOULEMAP_CUPTI=$build/tests/libfake_cupti_13.so JOULEMAP_SIM_SEED=1 \
    "$build/joulemap" record --sim h200 --no-cpu -o live.joulemap -- "$python" program.py

"$build/sim/joulemap-simulate" --out made --seconds 4 --classes 10 --gap-us 40 --seed 3
"$build/joulemap" import --board h200 --readings made/readings.csv --kernels made/kernels.csv -o kernels.joulemap
small=$source/tests/data/small
"$build/joulemap" import --board h200 --readings "$small/readings.csv" --segments "$small/segments.csv" -o small.joulemap

cp live.joulemap live-cut.joulemap
truncate -s $(($(stat -c %s live.joulemap) / 2)) live-cut.joulemap
for name in live live-cut kernels small; do
    for by in layer type kernel phase board; do
        "$build/joulemap" report $name.joulemap --by $by --json
    done | "$python" -c '
import json, sys
text, reports, decoder = sys.stdin.read(), [], json.JSONDecoder()
while text:
    report, end = decoder.raw_decode(text)
    reports.append(report)
    text = text[end:].lstrip()
print(json.dumps(reports, indent=0))' | xz -9 >"$here/$name.reports.json.xz"
    [ $name = live-cut ] || xz -9 <$name.joulemap >"$here/$name.joulemap.xz"
done
ls -l "$here"
