"""`%load_ext joulemap`: `%joulemap EXPRESSION` and `%%joulemap` measure a line or a cell of a notebook.

Layers and steps are found as under `joulemap run`. In an open Session, or under a recorder, a cell is a window of it.
"""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Callable, Iterator
from html import escape
from shutil import get_terminal_size
from typing import Any

from joulemap._found_models import Following
from joulemap._measure import Measure, measure
from joulemap._report import Report
from joulemap._session import FoundSession, Session, current_session

_ROWS = 12


class _CellFollowing(Following):
    """The frameworks that a cell uses, in a session of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        super().__init__()

    def session(self) -> Session | None:
        """Return the cell's session; None if the cell has begun one of its own."""
        if self._session.running:
            return self._session
        self.end()
        return None


@contextlib.contextmanager
def _following() -> Iterator[None]:
    """Find layers and steps in a session of its own, unless one is open."""
    if current_session() is not None or os.environ.get("JOULEMAP_RUN"):
        yield
        return
    with FoundSession() as session:
        following = _CellFollowing(session)
        try:
            yield
        finally:
            following.end()


class _Summary:
    """What a cell took: a line, and a table if it has layers; as text or as HTML, whichever is shown."""

    def __init__(self, measured: Measure) -> None:
        self._line = str(measured)
        report = measured.report()
        self._report: Report | None = report if any(row.kind == "layer" for row in report) else None

    def __repr__(self) -> str:
        if self._report is None:
            return self._line
        return f"{self._line}\n\n{self._report.table(width=get_terminal_size().columns, limit=_ROWS)}"

    def _repr_html_(self) -> str:
        rest = "" if self._report is None else self._report._repr_html_()
        return f'<p class="joulemap"><b>{escape(self._line)}</b></p>\n{rest}'


def _compiled(shell: Any, text: str) -> Callable[[], Any]:
    """Compile code as the shell does; the result runs it, and returns the value of an expression at its end."""
    source = shell.transform_cell(text)
    file = shell.compile.cache(source)  # so that a traceback shows its lines
    body = shell.transform_ast(shell.compile.ast_parse(source, file)).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    statements = shell.compile(ast.Module(body, []), file, "exec")
    expression = None if last is None else shell.compile(ast.Expression(last.value), file, "eval")

    def run() -> Any:
        __tracebackhide__ = True  # in IPython's tracebacks
        exec(statements, shell.user_ns)
        return None if expression is None else eval(expression, shell.user_ns)

    return run


def load(shell: Any) -> None:
    """Register the magic with a shell of IPython."""
    from IPython.core.error import UsageError
    from IPython.display import display

    def joulemap(line: str, cell: str | None = None) -> Any:
        """Measure a line or a cell: joules, seconds, watts, and layers of models that it calls.

        `%joulemap f(x)` measures an expression, and returns its value. `%%joulemap` measures a cell; `%%joulemap NAME`
        keeps its figures: `NAME.joules`, `NAME.report("kernel")`.
        """
        __tracebackhide__ = True
        keep = line.strip() if cell is not None else ""
        if keep and not keep.isidentifier():
            raise UsageError(f"%%joulemap takes the name of a variable to keep its figures in, not {keep!r}")
        text = line if cell is None else cell
        if not text.strip():
            raise UsageError("%joulemap measures an expression: %joulemap f(x); a cell begins with %%joulemap")
        run, measured = _compiled(shell, text), measure(keep or "cell")
        try:
            with _following(), measured:
                value = run()
        finally:
            if measured.end_ns is not None:
                display(_Summary(measured))
        if keep:
            shell.user_ns[keep] = measured
        return value

    shell.register_magic_function(joulemap, magic_kind="line_cell", magic_name="joulemap")
