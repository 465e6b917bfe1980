"""`python -m joulemap.plots`, which `joulemap plot` starts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import joulemap
from joulemap import plots

# Exit codes of the command (status.h).
_NOT_FOUND, _NOT_SUPPORTED, _IO, _BAD_DATA = 66, 69, 74, 65


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="joulemap plot")
    parser.add_argument("recordings", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--figure")
    parser.add_argument("--output")
    parser.add_argument("--counts")
    parser.add_argument("--gpu", type=int)
    parser.add_argument("--dpi", type=int, default=300)
    parser.add_argument("--smooth", type=int)
    parser.add_argument("--dark", action="store_true")
    return parser.parse_args()


def _fail(code: int, text: object, hint: str = "") -> NoReturn:
    """Print an error and its cure without control characters, and exit."""
    for line in [f"joulemap plot: {text}", *([f"  {hint}"] if hint else [])]:
        print("".join(c if c.isprintable() else "\ufffd" for c in line), file=sys.stderr)
    sys.exit(code)


def _list() -> None:
    from joulemap.plots.table import FIGURES

    for entry in FIGURES.values():
        print(f"{entry.key:20} {entry.title}")


def _counts(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        _fail(_NOT_FOUND, f"{path}: {error.strerror}")
    except ValueError as error:
        _fail(_BAD_DATA, f"{path} is not JSON: {error}", 'it is {"path": [FLOPs, bytes], ...} of a forward call')


def _plot(args: argparse.Namespace) -> None:
    source = args.recordings[0] if len(args.recordings) == 1 else tuple(args.recordings)
    if args.figure == "power_cap" and not Path(args.recordings[0]).exists():  # the command has checked other sources
        _fail(_NOT_FOUND, f"{args.recordings[0]}: No such file or directory")
    options = {} if args.counts is None else {"counts": _counts(args.counts)}
    plots.plot(
        source,
        args.figure,
        path=args.output,
        dpi=args.dpi,
        gpu=args.gpu,
        smooth=args.smooth,
        dark=args.dark,
        **options,
    )


def main() -> None:
    """Run the command line."""
    args = _arguments()
    try:
        _list() if args.list else _plot(args)
    except ImportError as error:
        _fail(_NOT_SUPPORTED, error)
    except (plots.CannotDrawError, LookupError) as error:
        _fail(_NOT_FOUND, error)
    except joulemap.Error as error:
        _fail(_NOT_FOUND if error.status == "NOT_FOUND" else _BAD_DATA, error)
    except (TypeError, ValueError) as error:
        _fail(2, error)
    except OSError as error:
        _fail(_IO, f"{args.output} cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
