# what is missing, too much, out of range or not there is told before any Python starts
. "$SOURCE_DIR/tests/cli/small.sh"
export JOULEMAP_PYTHON=./nowhere
try() {
    joulemap plot "$@"
    echo "exit code $?"
}
try
try small.joulemap
try small.joulemap --figure power_time
try small.joulemap --figure power_tim -o power.png
try small.joulemap small.joulemap --figure power_time -o power.png
try small.joulemap --figure two_runs -o runs.png
try small.joulemap --figure roofline -o roofline.png
try small.joulemap --figure power_time --counts counts.json -o power.png
try small.joulemap --figure power_time -o power.png --dpi 3
try small.joulemap --figure power_time -o power.png --smooth 0
try small.joulemap --figure power_time -o power.png --gpu 3
try none.joulemap --figure power_time -o power.png
try --list small.joulemap
try --list --dark
ls
