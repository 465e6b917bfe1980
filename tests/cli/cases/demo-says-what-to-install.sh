# a Python without PyTorch, one without joulemap, none at all: each its line
mkdir -p lib/joulemap
touch lib/joulemap/__init__.py
printf '#!/bin/sh\nPYTHONPATH=lib exec python3 -S "$@"\n' >no-torch
printf '#!/bin/sh\nexec python3 -I -S "$@"\n' >no-joulemap
chmod +x no-torch no-joulemap
for python in ./no-torch ./no-joulemap ./nowhere false; do
    JOULEMAP_PYTHON=$python joulemap demo --sim h200
    echo "exit code $?"
done
ls
