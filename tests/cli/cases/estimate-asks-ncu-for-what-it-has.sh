# What ncu is asked for is among what ncu has on Hopper; attributes of the device it lists nowhere, and gives
ncu="$SOURCE_DIR/tests/data/ncu"
joulemap estimate --metrics | tr , '\n' | sed 's/[.].*//' | grep -v '^device__attribute_' | sort -u >asked
wc -l <asked
gunzip -c "$ncu/metrics.txt.gz" | comm -23 asked -
joulemap estimate --csv "$ncu/form-own.csv.gz" --model h200
