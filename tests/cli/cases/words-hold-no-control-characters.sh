# names from anywhere, a phase, a file, a CSV's header, an option, cannot steer the terminal: escapes come out as U+FFFD
. "$SOURCE_DIR/tests/cli/small.sh"
evil=$(printf 'a\033]0;title\007\302\233b\377c')
joulemap report small.joulemap --phase "$evil"
joulemap report "$evil.joulemap"
joulemap report small.joulemap --by "$evil"
joulemap report small.joulemap "--$evil"
printf 'sensor,t_s,%s\npower_ring,0,100\n' "$evil" >readings.csv
joulemap import --board h200 --readings readings.csv -o out.joulemap
exit 0
