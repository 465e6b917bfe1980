# by as many folders as it takes; sides of several runs by the whole words that their names begin with
. "$SOURCE_DIR/tests/cli/small.sh"
mkdir -p one/out two/out
cp small.joulemap one/out/run.joulemap
cp small.joulemap two/out/run.joulemap
cp small.joulemap two/out/ruin.joulemap
cp small.joulemap two/ä1.joulemap
cp small.joulemap two/å1.joulemap
sides() { joulemap diff --markdown --limit 1 "$@" | sed -n 1p; }
sides one/out/run.joulemap two/out/run.joulemap
sides one/out/run.joulemap two/out/ruin.joulemap
sides one/out/run.joulemap one/out/run.joulemap
sides one/out/run.joulemap two/out/run.joulemap -- two/out/ruin.joulemap
sides two/out/run.joulemap two/out/ruin.joulemap -- small.joulemap
sides two/ä1.joulemap two/å1.joulemap -- small.joulemap
joulemap diff one/out/run.joulemap two/out/run.joulemap | sed -n 1p
mkdir 2026-01-01-baseline 2026-01-02-baseline
cp small.joulemap 2026-01-01-baseline/run.joulemap
cp small.joulemap 2026-01-02-baseline/run.joulemap
joulemap diff 2026-01-0*-baseline/run.joulemap | sed -n 1p
