# words, not guesses: which format the file has, and up to which one this joulemap reads
. "$SOURCE_DIR/tests/cli/small.sh"
python3 - <<'PYTHON'
import sqlite3
with sqlite3.connect("small.joulemap") as db:
    db.execute("PRAGMA user_version = 99")
PYTHON
joulemap report small.joulemap
