# the run's folder says so, and the recording does: 1% and 0.01 are the same
for budget in 1% 0.01 12.5%; do
    joulemap record --sim h200 --budget "$budget" -fo r.joulemap -- sh -c 'grep budget "$JOULEMAP_RUN/run"' 2>/dev/null
    sqlite3 r.joulemap "SELECT value FROM meta WHERE key = 'budget_ppm'"
done
joulemap record --sim h200 -fo r.joulemap -- sh -c 'grep budget "$JOULEMAP_RUN/run"' 2>/dev/null
sqlite3 r.joulemap "SELECT count(*) FROM meta WHERE key = 'budget_ppm'"
