. "$SOURCE_DIR/tests/cli/small.sh"
for share in 3 -3% 3%% '3 %' % nan 1e-2 0x1 101% 3%x; do
    joulemap diff small.joulemap small.joulemap --fail-over="$share"
    echo $?
done
joulemap diff small.joulemap
joulemap diff small.joulemap small.joulemap --json --markdown
joulemap diff small.joulemap small.joulemap --per layer
joulemap diff small.joulemap small.joulemap --process 3
joulemap diff small.joulemap small.joulemap --by span
joulemap diff small.joulemap small.joulemap --per step
joulemap diff small.joulemap small.joulemap --phase third
joulemap diff small.joulemap none.joulemap
echo $?
for recordings in 'small.joulemap small.joulemap small.joulemap' 'small.joulemap small.joulemap --' \
    'small.joulemap -- small.joulemap --per run' '--html out.html small.joulemap -- small.joulemap small.joulemap'; do
    joulemap diff $recordings
    echo $?
done
for options in '--json --limit 1' '--html out.html --limit 1' '--html out.html --expand'; do
    joulemap diff small.joulemap small.joulemap $options
    echo $?
done
