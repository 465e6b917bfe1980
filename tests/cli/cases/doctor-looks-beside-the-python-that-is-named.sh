# a libcupti among the packages of JOULEMAP_PYTHON is tried, and refused as what it is
unset VIRTUAL_ENV
packages=env/lib/python3.11/site-packages/nvidia/cuda_cupti/lib
mkdir -p env/bin "$packages"
cp /bin/true env/bin/python3.11
echo none >"$packages/libcupti.so.12"
JOULEMAP_PYTHON=$PWD/env/bin/python3.11 joulemap doctor >said 2>&1
grep -o "not taken: the program's Python: CUPTI could not be loaded.*/$packages/libcupti.so.12" said | sed "s|($PWD/|(|"
