# no Python, no PyTorch, one without CUDA, no GPU, no right to read counters, no such GPU: each its line and its cure
mkdir -p lib/joulemap cpu/torch cuda/torch
touch lib/joulemap/__init__.py cpu/torch/__init__.py cuda/torch/__init__.py
echo "cuda = None" >cpu/torch/version.py
echo "cuda = '13.0'" >cuda/torch/version.py
for python in no-torch:nowhere cpu-torch:cpu cuda-torch:cuda; do
    printf '#!/bin/sh\nPYTHONPATH=lib:%s exec python3 -S "$@"\n' "${python#*:}" >"${python%:*}"
    chmod +x "${python%:*}"
done
try() {
    joulemap calibrate "$@"
    echo "exit code $?"
}
JOULEMAP_PYTHON=./nowhere try
for python in ./no-torch ./cpu-torch; do
    JOULEMAP_PYTHON=$python try
    JOULEMAP_PYTHON=$python try --sim h200 --board 3 # whose kernels run on the CPU
done
export JOULEMAP_PYTHON=./cuda-torch
JOULEMAP_NVML=/nowhere/libnvidia-ml.so.1 try
JOULEMAP_SIM_FAULTS=cuptiPmSamplingEnable=INSUFFICIENT_PRIVILEGES try --sim h200
try --sim h200 --board 3
ls
