# For cases of figures (figures-*.sh): what they print, CASE.stdout.near keeps, in few characters.
# unpack NAME...: NAME.joulemap, of tests/data
unpack() {
    local name
    for name in "$@"; do xz -dc "$SOURCE_DIR"/tests/data/*/"$name.joulemap.xz" >"$name.joulemap" || exit; done
}
heading() { echo "# $*" | sed "s:$SOURCE_DIR/::g"; }
# told WORD...: a heading, and what joulemap WORD... prints
told() {
    heading "$@"
    joulemap "$@" | short
}
# json WORD...: the same of what is printed as JSON, a line of `key value` a row; what is null or follows from others is left out
json() {
    heading "$@"
    joulemap "$@" --json >printed.json || exit
    awk '
        /"version"|"name"|"type": ""|"share"|"power_w"|: null,?$/ { next }
        / [{\[]$/ || /^ *[{}\]],?$/ { if (line != "") print line; line = ""; next }
        {
            gsub(/^ *|,$/, "")
            if (match($0, /: -?[0-9][0-9.e+-]*$/) && $NF ~ /[.e]/) $NF = sprintf("%.9g", $NF)
            sub(/": /, " "); sub(/^"/, ""); sub(/^energy_low/, "low"); sub(/^energy_high/, "high"); sub(/^energy_self/, "self")
            sub(/_share /, " ")
            line = line (line == "" ? "" : " ") $0
        }
        END { print line }' printed.json | short
}
# sums: of JSON or metrics on stdin, how often each key has a number, their sum, and another that knows where they stand
sums() {
    awk '
        function add(key, value) {
            if (!(key in count)) keys[++known] = key
            sum[key] += value; placed[key] += value * (++count[key] % 97)
        }
        !/"[^"]*": *[-[0-9]/ && /[ ,][0-9.e-]+$/ && !/^#/ {
            value = $NF; sub(/[{,].*| [^ ]*$/, ""); add($0 ~ /^joulemap/ ? $0 : "lines", value); next
        }
        {
            while (match($0, /("[^"]*": *\[?|[,[] *)-?[0-9][0-9.e+-]*/)) {
                token = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
                match(token, /-?[0-9][0-9.e+-]*$/)
                value = substr(token, RSTART)
                if (token ~ /^"/) { key = token; sub(/^"/, "", key); sub(/".*/, "", key) }
                add(key, value)
            }
        }
        END { for (k = 1; k <= known; k++) printf "%s %d %.9g %.9g\n", keys[k], count[keys[k]], sum[keys[k]], placed[keys[k]] }'
}
# short: digits that no comparison needs, and the middles of names that are very long
short() { sed -E 's/([0-9]\.[0-9]{9})[0-9]+/\1/g; s/(_Z[A-Za-z0-9_]{22})[A-Za-z0-9_]{20,}([A-Za-z0-9_]{16})/\1...\2/g'; }
