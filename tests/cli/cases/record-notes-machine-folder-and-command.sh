joulemap record --no-cpu --sim h200 -o r.joulemap -- sleep 0.1 2>/dev/null || exit
python3 - <<'PYTHON'
import os
import sqlite3

meta = dict(sqlite3.connect("r.joulemap").execute("SELECT key, value FROM meta"))
system = os.uname()
assert meta["host"] == system.nodename, meta
assert meta["kernel"] == f"{system.sysname} {system.release} {system.machine}", meta
assert meta["folder"] == os.getcwd(), meta
assert meta["command"] == "sleep 0.1", meta
assert int(meta["child_pid"]) > 1, meta
assert int(meta["start_ns"]) < int(meta["child_start_ns"]), meta
assert 9e7 < int(meta["child_end_ns"]) - int(meta["child_start_ns"]), meta
assert int(meta["child_end_ns"]) <= int(meta["end_ns"]) and meta["child_exit_code"] == "0", meta
with open("/etc/os-release") as lines:
    names = [line.split("=", 1)[1].strip().strip('"') for line in lines if line.startswith("PRETTY_NAME=")]
assert [meta.get("system")] == (names or [None]), meta
with open("/proc/cpuinfo") as lines:
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
assert meta.get("cpu") == (names or [None])[0], meta
PYTHON
