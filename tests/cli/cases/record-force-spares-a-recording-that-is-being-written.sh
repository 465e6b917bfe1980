# --force never takes the file away from a run that still writes it, whether it is a recorder or an import that asks
. "$SOURCE_DIR/tests/cli/recorded.sh"
printf 'until [ -e go ]; do sleep 0.05; done\n' >work
joulemap record --sim h200 -o r.joulemap -- sh work 2>/dev/null &
recorder=$!
until [ -s r.joulemap ] && [ "$(query r.joulemap "SELECT count(*) FROM boards")" = 1 ]; do sleep 0.05; done 2>/dev/null
joulemap record --force --sim h200 -o r.joulemap -- true
echo "exit code $?"
printf 'sensor,t_s,value\npower_ring,0,100\n' >readings.csv
joulemap import --force --board h200 --readings readings.csv -o r.joulemap
echo "exit code $?"
touch go
wait "$recorder" || die "the first run failed"
[ "$(query r.joulemap "SELECT value FROM meta WHERE key = 'command'")" = "sh work" ] || die "not the first run's file"
[ "$(query r.joulemap "SELECT value FROM meta WHERE key = 'closed'")" = 1 ] || die "not closed"
joulemap import --force --board h200 --readings readings.csv -o r.joulemap # now it may
echo "exit code $?"
rm go work
ls
