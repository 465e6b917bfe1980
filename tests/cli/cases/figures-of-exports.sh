# each format of export: whole of a small recording, in sums of others
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack kernels live small
joulemap export live.joulemap --format csv | short
json report small.joulemap --by phase
for format in folded chrome openmetrics; do
    echo "# $format"
    [ $format = chrome ] || joulemap export small.joulemap --format $format --by phase --kernels | short
    [ $format != chrome ] || joulemap export small.joulemap --format $format --by phase | short | sed -n 1,20p
    joulemap export kernels.joulemap --format $format | sums
done | sed -E 's/"?version"?[:=]"[^"]*"//; s/joulemap [0-9.]+"//'
joulemap export live.joulemap --format chrome | sums
for format in perfetto pprof; do joulemap export live.joulemap --format $format --kernels >$format || exit; done
wc -c <perfetto
gzip -dc <pprof | wc -c
