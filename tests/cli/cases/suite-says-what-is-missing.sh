# each fault by its cause, its cure and its exit code; nothing is left behind
try() {
    joulemap-suite --idle 0 --response 0 --seconds 1 -o suite.joulemap "$@"
    echo "exit code $?"
}
JOULEMAP_CUDA=/nowhere/libcuda.so.1 try
export JOULEMAP_SIM=h200
JOULEMAP_NVRTC=/nowhere/libnvrtc.so.13 try
for fault in cuInit=NO_DEVICE cuInit=NOT_PERMITTED cuDevicePrimaryCtxRetain=DEVICE_UNAVAILABLE cuMemAlloc=OUT_OF_MEMORY \
    nvrtcCompileProgram=COMPILATION nvrtcCompileProgram=OUT_OF_MEMORY nvrtcGetCUBIN=INTERNAL cuModuleLoadData=NO_BINARY_FOR_GPU \
    cuLaunchKernel=ILLEGAL_ADDRESS cuStreamSynchronize=ECC_UNCORRECTABLE; do
    JOULEMAP_SIM_FAULTS=$fault try
done
touch suite.joulemap
try
rm suite.joulemap
joulemap record -o outer.joulemap -- joulemap-suite -o suite.joulemap
echo "exit code $?"
rm outer.joulemap*
ls
