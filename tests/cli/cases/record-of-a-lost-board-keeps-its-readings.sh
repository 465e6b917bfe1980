# a board that dies in mid-run: the program goes on, what was measured before stays, the loss is told
. "$SOURCE_DIR/tests/cli/recorded.sh"
JOULEMAP_SIM_FAULTS='lost@+2s' joulemap record --sim h200 -o r.joulemap -- sh -c 'sleep 3; echo done' || die "code $?"
[ "$(query r.joulemap "SELECT count(*) FROM events WHERE kind = 'board_lost'")" = 1 ] || die "no event"
[ "$(query r.joulemap "SELECT max(t_s) > 1 FROM readings_named WHERE sensor = 'power_instant'")" = 1 ] || die "readings are missing"
joulemap report r.joulemap --by board --json | grep -q 'a board was lost' || die "nothing tells of it"
