# A recording of layers in which three kernels of ten are taken out of them: replayed by CUDA graphs, with launches
# that nobody saw, launched elsewhere. A table of kernels says nothing of it.
. "$SOURCE_DIR/tests/cli/recorded.sh"
. "$SOURCE_DIR/tests/cli/recordings-of-0-1.sh"
unpack live
change() { # FILE, what becomes of the time from launch to start
    cp live.joulemap "$1"
    python3 - "$1" "$2" <<'PYTHON'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute(f"UPDATE kernels SET span_id = NULL, queued_ns = {sys.argv[2]} WHERE rowid % 10 < 3")
db.commit()
PYTHON
}
change graphs.joulemap "start_ns - (SELECT min(start_ns) FROM kernels AS k WHERE k.rowid / 10 = kernels.rowid / 10)"
change unseen.joulemap NULL
change elsewhere.joulemap "5000 + rowid"
for name in graphs unseen elsewhere; do
    joulemap report $name.joulemap | tr -s ' \n' '  ' | grep -o '[0-9.]* % of the kernels[^:]*: [a-zA-Z, ]*' || die "$name"
done
joulemap report graphs.joulemap --by kernel | grep 'in no layer' && die "by kernel"
exit 0
