# a format of bytes goes into a file or a pipe, and not onto a terminal
. "$SOURCE_DIR/tests/cli/small.sh"
python3 - <<'PYTHON'
import os
import pty

code = os.waitstatus_to_exitcode(pty.spawn(["joulemap", "export", "small.joulemap", "-f", "perfetto"]))
print("exit code", code)
PYTHON
joulemap export small.joulemap -f perfetto | cat >piped || exit
joulemap export small.joulemap -f perfetto -o file || exit
cmp piped file && [ -s file ]
