# each by its name; nothing is written
. "$SOURCE_DIR/tests/cli/small.sh"
export XDG_DATA_HOME="$PWD/data"
try() {
    joulemap calibrate "$@"
    echo "exit code $?"
}
try --from small.joulemap
try --from none.joulemap --phase train -o model.json
try --from small.joulemap --phase train -o model.json
try --from small.joulemap --phase train --board 7 -o model.json
try --from small.joulemap --phase train --board x -o model.json
ls
