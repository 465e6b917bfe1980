# of some verbs, every form in which their tables are printed
verbs='attach|export|help|stat'
joulemap --help
joulemap help help
COLUMNS=60 joulemap export --help
joulemap help --man | sed 's/"joulemap [0-9][^"]*"/"joulemap VERSION"/' |
    awk -v verbs="^\\\\.SS \"joulemap ($verbs) " '/^\.S[SH]/ { shown = /^\.SH/ || $0 ~ verbs } shown'
joulemap help --completion bash | grep -E "^ {0,4}[^ a-z]|^ *(local|if|fi|for|done|return|case|esac|COMP|compopt)|^ *($verbs)"
joulemap help --completion zsh | awk -v verbs="^        ($verbs)\\\\)" '
    /^        [a-z]*\)/ { shown = $0 ~ verbs } /^    esac/ { shown = 1 } NR == 1 { shown = 1 } shown'
joulemap help --completion fish | grep -E "^#|-s h |__fish_use_subcommand|from ($verbs)'"
joulemap help export --man || joulemap help exprot
