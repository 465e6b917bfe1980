# each kind of wrong usage: one line on stderr, exit code 2
try() {
    joulemap "$@"
    local code=$?
    [ $code = 2 ] || echo "exit code $code"
}
try quux
try --quux
try help --mann
try help -x
try help --man=1
try help --completion
try help --completion=
try help --completion --man
try help --completion tcsh
try help help help
try help nonesuch
try help --man --completion bash
