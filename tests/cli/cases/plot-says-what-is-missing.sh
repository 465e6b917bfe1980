# no Python, none that works, one without joulemap, one that ends badly: each its line and its exit code, and no file
. "$SOURCE_DIR/tests/cli/small.sh"
printf '#!/bin/sh\nexec python3 -I -S "$@"\n' >no-joulemap
printf '#!/bin/sh\n[ "$1" = -c ] && exit 101\necho "$@"\nexit 66\n' >has-no-torch # what the question for packages ends with
chmod +x no-joulemap has-no-torch
for python in ./nowhere false ./no-joulemap ./has-no-torch; do
    JOULEMAP_PYTHON=$python joulemap plot small.joulemap -f power_hist -o power.png --dpi 72 --dark --gpu 0 --smooth 3
    echo "exit code $?"
done
JOULEMAP_PYTHON=./has-no-torch joulemap plot --list
ls
