# what the page of a run and that of a difference hold, in sums; no word of it changes unnoticed but the program's own
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack live kernels small
joulemap report live.joulemap --html live.html
joulemap report kernels.joulemap --by kernel --html kernels.html
joulemap diff small.joulemap kernels.joulemap --html both.html
for page in live kernels both; do
    echo "# $page"
    sed -n '/id="data"/p' $page.html | tr '{' '\n' | sums
    sed -n '/id="data"/p' $page.html | tr -d '0-9.\n' | sed 's/"version":"[^"]*"//g' | wc -c
done
