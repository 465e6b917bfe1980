# each script parses in the shell it is for, where that shell is installed
for shell in bash zsh fish; do
    joulemap help --completion $shell >script || exit
    test -s script || exit
    if command -v $shell >/dev/null; then $shell -n script || exit; fi
done
