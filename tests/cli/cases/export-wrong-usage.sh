joulemap export x.joulemap
echo "exit code $?"
joulemap export x.joulemap --format xls
echo "exit code $?"
