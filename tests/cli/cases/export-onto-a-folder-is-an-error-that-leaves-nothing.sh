. "$SOURCE_DIR/tests/cli/small.sh"
mkdir rows.csv
joulemap export small.joulemap -f csv -o rows.csv
code=$?
ls -A
exit $code
