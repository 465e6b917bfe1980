# no Python, no PyTorch, no GPU, no right to read counters, no such GPU: each its line and its cure
mkdir -p lib/joulemap
touch lib/joulemap/__init__.py
printf '#!/bin/sh\nPYTHONPATH=lib exec python3 -S "$@"\n' >no-torch
printf '#!/bin/sh\nexit 100\n' >has-all # what the question for the packages ends with
chmod +x no-torch has-all
try() {
    joulemap calibrate "$@"
    echo "exit code $?"
}
JOULEMAP_PYTHON=./nowhere try --suite pytorch --sim h200
JOULEMAP_PYTHON=./no-torch try --suite pytorch --sim h200
export JOULEMAP_PYTHON=./has-all
JOULEMAP_NVML=/nowhere/libnvidia-ml.so.1 try
JOULEMAP_SIM_FAULTS=cuptiPmSamplingEnable=INSUFFICIENT_PRIVILEGES try --sim h200
try --sim h200 --board 3
ls
