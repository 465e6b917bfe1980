# what three quiet seconds leave: which notes, each sensor with all that is known of it, a reading in each period
. "$SOURCE_DIR/tests/cli/recorded.sh"
export JOULEMAP_SIM_SEED=1
"$BUILD_DIR/tests/time/virtual-time" joulemap record --no-cpu --sim h200 -o r.joulemap -- sleep 3 2>/dev/null || exit
query r.joulemap "SELECT key FROM meta WHERE key NOT IN ('system', 'cpu') ORDER BY key"
query r.joulemap "SELECT name || ' ' || source || ' ' || quantity || ' ' || unit || ' ' || response || ' ' || ifnull(period_ns, '-') || ' ' || lag_ns || ' ' ||
    lag_u_ns || ' ' || window_ns || ' ' || tau_ns || ' ' || tau_u_ns || ' ' || ifnull(noise, '-') || ' ' || ifnull(gain_u, '-') FROM sensors ORDER BY id"
query r.joulemap "SELECT name FROM sensors WHERE abs(3e9 / period_ns - (SELECT count(*) FROM readings WHERE sensor_id = sensors.id)) > 20"
query r.joulemap "SELECT count(*) FROM anchors"
query r.joulemap "SELECT 'closed' FROM meta WHERE key = 'closed' AND value = '1'"
query r.joulemap "SELECT id || ' ' || text || ' ' || process_wide FROM span_kinds ORDER BY id"
python3 -c 'import sqlite3; print(*sqlite3.connect("r.joulemap").execute("SELECT * FROM boards").fetchone()[2:], sep="\n")'
