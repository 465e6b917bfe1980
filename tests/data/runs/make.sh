#!/bin/bash
# Make recordings of this folder again, on a machine with NVIDIA GPUs (`pair` takes two), PyTorch, torchvision,
# transformers and an installed joulemap: make.sh OUT [llama] [cnn] [pair]. Clocks, limits and modes stay as they are.
set -euo pipefail
out=$(realpath "$1") here=$(realpath "$(dirname "$0")")
shift
python=${PYTHON:-python3}
cd "$here"
[ $# -gt 0 ] || set -- llama cnn pair
for name in "$@"; do
    run=("$python")
    [ "$name" = pair ] && run+=(-m torch.distributed.run --standalone --nproc-per-node 2)
    joulemap record -f -o "$out/$name.joulemap" -- "${run[@]}" program.py "$name"
    xz -9 -k -f "$out/$name.joulemap"
done
ls -l "$out"
