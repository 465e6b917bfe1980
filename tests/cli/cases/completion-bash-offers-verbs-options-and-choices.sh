source <(joulemap help --completion bash)
complete_line() { # words of the line; the last one is being typed
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _joulemap
    echo "${COMPREPLY[*]}"
}
complete_line joulemap hel
complete_line joulemap help --c
complete_line joulemap help --completion z
complete_line joulemap help --completion = f
complete_line joulemap help he
complete_line joulemap help --completion ''
