try() {
    joulemap calibrate "$@"
    echo "exit code $?"
}
touch there.joulemap
try --from there.joulemap
try --phase suite
try --from there.joulemap --phase suite --seconds 9
try --seconds 2
try --keep-recording there.joulemap
try -o nowhere/model.json
ls
