# a suite that fails after a while: its words and its exit code pass through, and what it recorded is kept
cat >python <<'PYTHON'
#!/bin/sh
[ "$1" != -c ] || exit 100
while [ "$1" != --output ]; do shift; done
echo "the GPU fell off its bus" >&2
echo recorded >"$2"
exit 74
PYTHON
chmod +x python
mkdir tmp
JOULEMAP_PYTHON=./python TMPDIR=$PWD/tmp joulemap calibrate --sim h200 2>words
echo "exit code $?"
sed 's/-calibrate-....../-calibrate-XXXXXX/; s|'"$PWD"'/||' words
cat tmp/*/calibrate.joulemap
# one that was asked for stays where it is, one that never began leaves nothing
JOULEMAP_PYTHON=./python joulemap calibrate --sim h200 --keep-recording mine.joulemap
echo "exit code $?"
sed -i '/recorded/d' python
rm -rf tmp/*
JOULEMAP_PYTHON=./python TMPDIR=$PWD/tmp joulemap calibrate --sim h200
echo "exit code $?"
ls tmp
