# --force replaces a recording by a better one only: where no board is, or nothing starts, the old one stays
. "$SOURCE_DIR/tests/cli/recorded.sh"
joulemap record --sim h200 -o r.joulemap -- sleep 0.3 2>/dev/null || exit 99
before=$(sha256sum r.joulemap*)
joulemap record --force --sim h200 -o r.joulemap -- ./nothing
echo "$?"
JOULEMAP_NVML=/nowhere joulemap record --force --no-cpu -o r.joulemap -- true 2>/dev/null
echo "$?"
[ "$before" = "$(sha256sum r.joulemap*)" ] || die "another file: $before, $(sha256sum r.joulemap*)"
joulemap record --force --sim h200 -o r.joulemap -- sleep 0.3 2>/dev/null
echo "$?"
[ "$before" != "$(sha256sum r.joulemap*)" ] || die "not replaced"
ls
