# a thousand runs take the memory of a hundred, and some numbers for each: a report each took 70 KB and more
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=1" # with a sanitizer, what was freed would be kept
python3 - <<'PYTHON'
import subprocess

def peak_kb(runs):
    """Of joulemap alone: this Python's own peak would count as its child's."""
    shell = f'joulemap stat --no-cpu --sim h200 -r {runs} -- true'
    script = f"import resource, subprocess; subprocess.run({shell.split()!r}, check=True); " \
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run(["python3", "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)

few, many = peak_kb(100), peak_kb(1000)
assert many - few < 10 * 900, (few, many)  # 10 KB a run, of which the readings of a few seconds are the most
PYTHON
