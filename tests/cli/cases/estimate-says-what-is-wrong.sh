# Each with its cause and its cure
ncu="$SOURCE_DIR/tests/data/ncu"
printf 'hello\n' >text.txt
joulemap estimate
joulemap estimate --csv none.csv
joulemap estimate --csv text.txt
joulemap estimate --csv "$ncu/none.txt" 2>&1 >/dev/null | sed "s#$ncu/##" >&2
joulemap estimate --csv text.txt --clock -3
joulemap estimate --csv text.txt -o model.json
joulemap estimate --csv "$ncu/stencil.csv.gz" --model gx999
printf 'kernel,x\na,1\n' >f.csv
joulemap estimate --train f.csv
