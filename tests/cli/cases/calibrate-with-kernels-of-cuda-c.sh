# without PyTorch, and asked for: a model out of kernels in CUDA C, beside the simulated board; what it is told passes through
unset VIRTUAL_ENV
JOULEMAP_PYTHON=./nowhere joulemap calibrate --sim h200 --seconds 5 -o one.json
echo "exit code $?"
joulemap calibrate --suite cuda --sim h200 --seconds 5 --seed 3 -o two.json --keep-recording suite.joulemap
echo "exit code $?"
joulemap calibrate --from suite.joulemap --phase suite -o three.json >/dev/null
cmp two.json three.json
JOULEMAP_SIM_FAULTS=nvrtcCompileProgram=COMPILATION joulemap calibrate --suite cuda --sim h200 --seconds 5 -o four.json
echo "exit code $?"
joulemap calibrate --suite cuda --from suite.joulemap --phase suite
echo "exit code $?"
ls
