# nothing but text, spaces, tabs and ends of lines, of every verb and for every shell
unwanted=$'[\x01-\x08\x0b-\x1f\x7f]'
{
    joulemap --help
    joulemap --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | while read -r verb; do joulemap help "$verb"; done
    joulemap help --man
    for shell in bash zsh fish; do joulemap help --completion $shell; done
} >all || exit
test "$(wc -l <all)" -gt 200 || echo "only $(wc -l <all) lines"
LC_ALL=C grep -n "$unwanted" all
exit 0
