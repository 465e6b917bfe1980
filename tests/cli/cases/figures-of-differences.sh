# runs beside each other: in JSON, as a table, for a pull request
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack kernels live small
json diff small.joulemap kernels.joulemap
told diff live.joulemap small.joulemap --by phase --per run --expand
told diff live.joulemap kernels.joulemap --by type --markdown
told diff --by kernel small.joulemap small.joulemap -- kernels.joulemap kernels.joulemap
