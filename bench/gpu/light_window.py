"""What `window.joules` costs: CPU time of the thread that asks, and of the whole process while it waits.

python bench/gpu/light_window.py [--sim h200] [--path FILE]
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import joulemap

WINDOWS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", help="a simulated GPU")
    parser.add_argument("--path", help="record into this file (default: in memory)")
    args = parser.parse_args()
    with joulemap.Session(args.path, kernels=False, sim=args.sim) as run:
        time.sleep(1)
        print(", ".join(board.name for board in joulemap.boards(args.sim)), "in a file" if args.path else "in memory")
        at_once = []
        for _ in range(WINDOWS):
            with run.window("work") as window:
                time.sleep(0.02)
            begin = time.thread_time(), time.process_time(), time.monotonic()
            window.energy()
            at_once.append((time.thread_time() - begin[0], time.process_time() - begin[1], time.monotonic() - begin[2]))
        thread, process, wall = (1e3 * median(column) for column in zip(*at_once, strict=True))
        print(f"asked at once: {thread:.2f} ms of the thread's CPU, {process:.1f} of the process's, in {wall:.0f} ms")
        later = []
        for _ in range(WINDOWS):
            time.sleep(0.01)
            begin_s = time.thread_time()
            window.energy()
            later.append(time.thread_time() - begin_s)
        print(f"asked later: {1e3 * median(later):.2f} ms")


if __name__ == "__main__":
    main()
