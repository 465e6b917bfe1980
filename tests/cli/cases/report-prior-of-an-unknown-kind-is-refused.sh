# a file of priors is known by its header; one that is none is refused with the headers that are
. "$SOURCE_DIR/tests/cli/small.sh"
printf 'a,b\n1,2\n' > nothing.csv
joulemap report small.joulemap --prior nothing.csv
