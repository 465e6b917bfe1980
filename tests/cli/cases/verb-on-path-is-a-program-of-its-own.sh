# a verb that is not built in is the program joulemap-VERB on PATH; the helper of caps runs nothing for people by its own name
mkdir bin && printf '#!/bin/sh\necho "hello to $*"\nexit 7\n' >bin/joulemap-hello && chmod +x bin/joulemap-hello
PATH="$PWD/bin:$PATH" joulemap hello "a b" -x -- c
echo "$?"
joulemap hello
echo "$?"
joulemap ../bin/joulemap-hello
joulemap cap serve
echo "$?"
joulemap-cap set 400 -- true
echo "$?"
JOULEMAP_SIM=h200 joulemap-cap show
echo "$?"
joulemap-cap serve --within none
echo "$?"
joulemap-estimate --json
