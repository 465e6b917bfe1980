# For cases that look into a recording: query FILE SQL prints the first column of each row.
query() {
    python3 - "$1" "$2" <<'PYTHON'
import sqlite3, sys
for row in sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]):
    print(row[0])
PYTHON
}
# Fail with words.
die() {
    echo "$*"
    exit 99
}
# A file system of its own at ./small; ends the case where that is not permitted.
mount_small() {
    mkdir small
    if ! mount -t tmpfs -o "size=$1" tmpfs small 2>/dev/null; then
        echo "skipped: a tmpfs cannot be mounted here"
        exit 0
    fi
    trap 'umount -l small' EXIT
}
# With the readings of a board that stays the same from run to run.
export JOULEMAP_SIM_SEED=1
