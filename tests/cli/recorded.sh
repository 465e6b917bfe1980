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
# A file system of its own at ./small: who is not root begins the case again as root of a namespace. Where that is not
# permitted either, the case is skipped.
mount_small() {
    if [ "$(id -u)" != 0 ] && unshare --map-root-user --mount true 2>/dev/null; then
        exec unshare --map-root-user --mount bash "$0"
    fi
    mkdir small
    if ! mount -t tmpfs -o "size=$1" tmpfs small 2>/dev/null; then
        echo "skipped: a tmpfs cannot be mounted here"
        exit 125
    fi
    trap 'umount -l small' EXIT
}
# With the readings of a board that stays the same from run to run.
export JOULEMAP_SIM_SEED=1
