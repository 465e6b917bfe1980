# A stand-in for ncu, which does with its arguments what ncu does
mkdir -p cuda/bin
cat >cuda/bin/ncu <<'NCU'
#!/bin/bash
# ... --log-file FILE [more options] PROGRAM ARG...
echo "$@" | sed 's/--metrics [^ ]*/--metrics M/; s#/tmp/joulemap-estimate-......#OWN#; s#[.][0-9]*-part#.PID-part#' >seen
while [ "$1" != --log-file ]; do shift; done
log=$2
shift 2
if [ "$1" = --launch-count ]; then shift 2; fi
exec 3>&2 2>/dev/null # bash would say that its program was terminated, if it is not first itself
"$@" 2>&3 || code=$?
if [ -e nothing ]; then
    echo '==WARNING== No kernels were profiled.' >"$log"
    exit 0
fi
{
    echo '==PROF== Connected to process 1'
    gzip -dc "$SOURCE_DIR/tests/data/ncu/stencil.csv.gz"
} >"$log"
exit ${code:-0}
NCU
chmod +x cuda/bin/ncu
PATH=$PWD/cuda/bin:$PATH
joulemap estimate --format csv -- echo the program itself | cut -d, -f1-3 | head -3
cat seen
joulemap estimate --keep-counters kept.csv --format none --page details --ncu-options='--launch-count 5' -- sh -c 'exit 3'
echo "exit code $?"
cat seen
grep -c heat kept.csv
touch nothing
joulemap estimate -- true
echo "exit code $?"
joulemap estimate --timeout 0.5 -- sleep 100.$$
echo "exit code $?"
ps -eo args | grep -c "^sleep 100.$$\$"
joulemap estimate --timeout 5 --csv kept.csv
true
