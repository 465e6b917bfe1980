# rows of a recording cut in half go out with a warning, in whatever format
. "$SOURCE_DIR/tests/cli/small.sh"
head -c $(($(stat -c %s small.joulemap) / 2)) small.joulemap >half.joulemap
for format in csv json chrome perfetto pprof openmetrics; do
    joulemap export half.joulemap --format "$format" --by board -o rows || exit
    [ -s rows ] || die "no rows"
done
joulemap export small.joulemap --format csv --by board -o rows # whole: no word
