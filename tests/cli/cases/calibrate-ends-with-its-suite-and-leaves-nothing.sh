# a signal reaches the suite, and what was recorded so far goes
cat >python <<'PYTHON'
#!/bin/sh
[ "$1" != -c ] || exit 100
while [ "$1" != --output ]; do shift; done
touch "$2" "$2-wal" "$2-shm" "$2.truth.csv"
trap 'echo the suite ends; exit 143' TERM
touch began
while :; do sleep 0.05; done
PYTHON
chmod +x python
mkdir tmp
JOULEMAP_PYTHON=./python TMPDIR=$PWD/tmp joulemap calibrate --sim h200 &
while [ ! -e began ]; do sleep 0.05; done
ls tmp/*
kill -TERM $!
wait $!
echo "exit code $?"
ls tmp
