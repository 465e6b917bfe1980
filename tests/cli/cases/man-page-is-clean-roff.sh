# the page renders without a warning and names every verb
joulemap help --man >joulemap.1 || exit
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -wmac joulemap.1 >page || exit
    test -s page || exit
fi
joulemap --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | while read -r verb; do
    grep -q "^\.SS \"joulemap $verb " joulemap.1 || echo "missing: $verb"
done
# what is bold or slanted ends as such
awk '{ opened = gsub(/\\f[BI]/, ""); closed = gsub(/\\fR/, ""); if (opened != closed) print "open: " $0 }' joulemap.1
