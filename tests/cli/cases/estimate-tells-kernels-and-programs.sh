# Counters of ncu from a real H200: rows in the file's order, totals, parts, notes
ncu="$SOURCE_DIR/tests/data/ncu"
joulemap estimate --csv "$ncu/form-raw.csv.gz" --model h200
joulemap estimate --csv "$ncu/stencil.csv.gz" --format csv | cut -d, -f1-3 | head -2
joulemap estimate --csv "$ncu/stencil.csv.gz" --format features | head -1 | cut -c1-60
joulemap estimate --metrics | cut -d, -f1-4
