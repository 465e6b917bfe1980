# awk -f near.awk KEPT PRINTED: what differs between two texts, line by line, where numbers with a point, and those of eight digits,
# may differ by 1e-6 of themselves. Exit code 1 if anything does.
function near(a, b,    apart, size) {
    if (a == b) return 1
    apart = a - b; size = a < 0 ? -a : +a
    if (a b !~ /[.e]/ && size < 1e7) return 0
    return (apart < 0 ? -apart : apart) <= 1e-6 * size + 1e-9
}
# Take one number off the front of a text: what stood before it in `before`, the number itself in `number`.
function take(text) {
    if (!match(text, /[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?/)) { before = text; number = ""; return "" }
    if (RSTART > 1 && substr(text, RSTART - 1, 1) == "-") { RSTART--; RLENGTH++ }
    before = substr(text, 1, RSTART - 1); number = substr(text, RSTART, RLENGTH)
    return substr(text, RSTART + RLENGTH)
}
function tell(line) { if (++told <= 40) print line }
function row(text) {
    if (match(text, /^(path|[0-9A-Za-z_]* ?[0-9]* ?kernel) "[^"]*"/)) return substr(text, 1, RLENGTH)
    return substr(text, 1, 40)
}
function compare(n, was, is,    a, b, text) {
    a = was; b = is
    while (a != "" || b != "") {
        a = take(a); text = before; old = number
        b = take(b)
        if (text != before || (old == "") != (number == "")) { tell(n ": " was "\n" n ": " is "  <- now"); return }
        if (!near(old, number)) {
            sub(/^.*[",;{] */, "", text)
            tell(sprintf("%s: %s:%s %s -> %s", n, row(was), substr(text, length(text) < 40 ? 1 : length(text) - 39), old, number))
        }
    }
}
BEGIN {
    while ((getline line < ARGV[1]) > 0) kept[++count] = line
    while ((getline line < ARGV[2]) > 0) {
        n++
        if (n > count) tell(n ": new: " line)
        else if (line != kept[n]) compare(n, kept[n], line)
    }
    for (n++; n <= count; n++) tell(n ": gone: " kept[n])
    if (told > 40) print told - 40 " more"
    exit told > 0
}
