# For cases about the page: ends the case where this joulemap was built without it (no node).
page_or_skip() {
    joulemap report small.joulemap --html page.html 2>refused && return
    grep -q 'built without the page' refused || die "$(cat refused)"
    exit 0
}
# fields PAGE: the data of a page as JSON.
data_of() {
    sed -n 's/.*<script id="data" type="application\/json">\(.*\)<\/script>.*/\1/p' "$1"
}
