# a path with blanks, quotes, dollars or a dash at its front is one word of the command that is told to be typed next
mkdir 'my runs'
for path in 'my runs/a run.joulemap' "it's \$HOME;.joulemap" -x.joulemap plain.joulemap; do
    joulemap record --sim h200 -o "$path" -- true 2>err.txt || die "$(cat err.txt)"
    next=$(sed -n 's/.*; next: //p' err.txt)
    sh -c "$next --by board" >table.txt 2>&1 || die "$next: $(cat table.txt)"
    echo "$next"
done
