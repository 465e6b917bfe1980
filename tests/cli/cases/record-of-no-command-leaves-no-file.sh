# what cannot be started gives a shell's code and leaves nothing behind
joulemap record --sim h200 -o r.joulemap -- ./nothing
echo "$?"
touch plain
joulemap record --sim h200 -o r.joulemap -- ./plain
echo "$?"
[ ! -e r.joulemap ]
