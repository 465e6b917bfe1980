. "$SOURCE_DIR/tests/cli/small.sh"
mkdir after && cp small.joulemap after/again.joulemap
joulemap diff small.joulemap after/again.joulemap --fail-over 10% || exit
joulemap diff small.joulemap small.joulemap --by kernel --phase second --markdown --limit 2 || exit
joulemap diff small.joulemap small.joulemap --json | python3 -c 'import json, sys
diff = json.load(sys.stdin)
print(diff["per"], diff["by"], diff["gpu"], [diff[side]["name"] for side in "ab"])
print({row["verdict"] for row in [diff["total"], *diff["rows"]]}, len(diff["rows"]))'
