# A model that is kept by its board's UUID is found by itself, and the first note says which and why
ncu="$SOURCE_DIR/tests/data/ncu"
export JOULEMAP_SIM=h200 XDG_DATA_HOME="$PWD/data"
mkdir -p data/joulemap/models
first() { joulemap estimate --csv "$ncu/stencil.csv.gz" "$@" 2>&1 | grep -o 'model: .*' | sed "s#$PWD/##"; }
first
uuid=$(joulemap list --json | grep -o '"GPU-[^"]*"' | head -1 | tr -d '"')
cp "$ncu/model.json" "data/joulemap/models/$uuid.json"
first | sed "s/$uuid/UUID/"
first --model h200
unset JOULEMAP_SIM
export JOULEMAP_NVML=/nonexistent/libnvidia-ml.so.1
first | sed "s/$uuid/UUID/"
cp "$ncu/model.json" data/joulemap/models/GPU-1.json
joulemap estimate --csv "$ncu/stencil.csv.gz" 2>&1 | sed "s#$PWD/##g; s/$uuid/UUID/"
