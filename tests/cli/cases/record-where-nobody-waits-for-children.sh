# a parent that ignores SIGCHLD hands that down: the end of the command is seen all the same
python3 - <<'PYTHON'
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.alarm(20)  # outlives exec: ends a recorder that waits for ever
os.execvp("joulemap", ["joulemap", "record", "--sim", "h200", "-o", "r.joulemap", "--", "sh", "-c", "exit 4"])
PYTHON
echo $?
