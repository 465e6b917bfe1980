# a command line of more than 1 MiB is kept in part, with a word on how long it was; the recording is no worse for it
. "$SOURCE_DIR/tests/cli/recorded.sh"
word=$(printf '%0100000d' 7)
joulemap record --sim h200 -o r.joulemap -- true $word $word $word $word $word $word $word $word $word $word $word 2>/dev/null || exit
joulemap export r.joulemap --format csv --by board >rows || exit # damage would be told on stderr
query r.joulemap "SELECT substr(value, 1, 10) || '...' || substr(value, -28) FROM meta WHERE key = 'command'"
