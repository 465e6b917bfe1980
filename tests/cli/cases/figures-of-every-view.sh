# two processes that share a board: every key, and what a person may ask for
. "$SOURCE_DIR/tests/cli/figures.sh"
unpack live
for by in layer kernel type phase board request class; do json report live.joulemap --by $by; done
json report live.joulemap --phase validate --process 7871
joulemap report live.joulemap --by span --json | sums
told report live.joulemap --by time | cut -c1-200
told report live.joulemap --notes --wide --limit 0 --expand --total
told report live.joulemap --sum '[01].*'
told report live.joulemap --sort energy --depth 2 --layer Sequential
