"""Compare today's reports of a recording with what 0.1 said of it: of-0-1.py WAS.json.xz NOW.json...

What stands in the file must be the same: the rows, their calls and busy times, the total, and what a whole board
took (unless 0.1 had to interpolate most of it). How a total is shared among rows is an estimate, which may become
better: what 0.1 was 95 % sure of, taken three times as wide, must have something in common with what is said today.
(0.1 was too sure: of the idle time of live.joulemap it said 200 to 229 W, and no idle state of that simulated board
draws more than 165. Today's 155 to 186 W holds that.)
"""

from __future__ import annotations

import json
import lzma
import math
import sys
from collections import Counter
from pathlib import Path

SAME = 1e-9  # relative: the same figures, added up in another order
STAMPS = 1e-4  # relative: readings of a ring are put on its grid otherwise than 0.1 did, which moves its edges
SHARED = 0.025  # relative: work that overlaps shares its time by multiprocessors, in 0.1 equally
LEFT_OUT = 0.03  # relative: readings of time in which the clock jumps are not fitted; 0.1 fitted them
GUESSED = 0.2  # a total whose interval is so wide, relative, is interpolated: other sensors may tell more today
failed = False


def fail(*words: object) -> None:
    """Go on, to show all that differs."""
    global failed
    failed = True
    print(*words)


def same(a: float | None, b: float | None, within: float = SAME) -> bool:
    """Missing is the same as missing alone."""
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=within, abs_tol=SAME)


def by_key(report: dict) -> dict[tuple, dict]:
    """Rows by what they stand for; rows that are called alike are numbered."""
    seen: Counter[tuple] = Counter()
    rows = {}
    for row in report["rows"]:
        if row["kind"] == "gap":  # parts of (idle), which 0.1 did not tell apart
            continue
        key = (row["path"], row["name"], row["kind"], row["depth"])
        rows[(*key, seen[key])] = row
        seen[key] += 1
    return rows


def compare(was: dict, now: dict) -> None:
    """One view."""
    by, total_j = was["by"], was["total_energy_j"]
    guessed = was["total_energy_high_j"] - was["total_energy_low_j"] > GUESSED * total_j
    if guessed and not was["total_energy_low_j"] <= now["total_energy_j"] <= was["total_energy_high_j"]:
        fail(f"by {by}: the total is {now['total_energy_j']}, outside of what 0.1 was sure of")
    for key in ("duration_s",) if guessed else ("total_energy_j", "duration_s"):
        if not same(was[key], now[key], STAMPS if key == "total_energy_j" else SAME):
            fail(f"by {by}: {key} is {now[key]}, 0.1 said {was[key]}")
    if was["total_source"] != now["total_source"] and not guessed:
        fail(f"by {by}: the total is from {now['total_source']}, 0.1 took it from {was['total_source']}")
    for key in ("readings", "gaps", "lost_records", "throttle_events"):
        if not same(was["quality"][key], now["quality"][key], LEFT_OUT if key == "readings" else 0):
            fail(f"by {by}: {key} is {now['quality'][key]}, 0.1 said {was['quality'][key]}")
    rows_were, rows_are = by_key(was), by_key(now)
    if rows_were.keys() != rows_are.keys():
        fail(f"by {by}: rows that came or went:", sorted(rows_were.keys() ^ rows_are.keys()))
    for key in rows_were.keys() & rows_are.keys():
        old, new = rows_were[key], rows_are[key]
        for fact in ("calls", "busy_s", "boards"):
            if old[fact] != new[fact] and not (fact == "busy_s" and same(old[fact], new[fact], SHARED)):
                fail(f"by {by}: {fact} of {key} is {new[fact]}, 0.1 said {old[fact]}")
        if by == "board" and not guessed and not same(old["energy_j"], new["energy_j"], STAMPS):
            fail(f"board {key}: {new['energy_j']} J, 0.1 said {old['energy_j']} J")
        slack_j = old["energy_high_j"] - old["energy_low_j"] + SAME * total_j
        low_j, high_j = old["energy_low_j"] - slack_j, old["energy_high_j"] + slack_j
        if new["energy_high_j"] < low_j or new["energy_low_j"] > high_j:
            now_j = f"{new['energy_low_j']} to {new['energy_high_j']} J"
            fail(f"by {by}: {key} has {now_j}, 0.1 said {low_j} to {high_j} J")
    busy_was = sum(row["busy_s"] for key, row in rows_were.items() if key[3] == 0)
    busy_is = sum(row["busy_s"] for key, row in rows_are.items() if key[3] == 0)
    if not same(busy_was, busy_is):
        fail(f"by {by}: all rows are busy for {busy_is} s, 0.1 said {busy_was} s")
    sum_j = sum(row["energy_self_j"] for row in now["rows"])
    if not same(sum_j, now["total_energy_j"]):
        fail(f"by {by}: the rows add up to {sum_j} J of {now['total_energy_j']} J")


def main() -> None:
    """All views of one recording."""
    with lzma.open(sys.argv[1]) as file:
        reports = json.load(file)
    now = {report["by"]: report for report in (json.loads(Path(path).read_text()) for path in sys.argv[2:])}
    if [report["by"] for report in reports] != list(now):
        sys.exit(f"not the views that 0.1 was asked for: {list(now)}")
    for was in reports:
        compare(was, now[was["by"]])
    sys.exit(failed)


main()
