# what counters of Nsight Compute say of kernels, and a model learnt from them
. "$SOURCE_DIR/tests/cli/figures.sh"
ncu=$SOURCE_DIR/tests/data/ncu
json estimate --csv "$ncu/stencil.csv.gz" --model h200
told estimate --csv "$ncu/gpt.csv.gz" --model h100 --board h100-pcie --program 2 --limit 10
told estimate --csv "$ncu/suite.csv.gz" --model h200 --format csv --clock 1500
told estimate --csv "$ncu/form-details.csv.gz" --model "$ncu/model.json" --format features
