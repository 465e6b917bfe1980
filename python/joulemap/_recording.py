"""Recording: a recording file, open for reading."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING

from joulemap import _arguments, _core
from joulemap._reporting import Reporting

if TYPE_CHECKING:
    from typing_extensions import Self


class Recording(Reporting):
    """A recording file, open for reading until `close` or the end of its `with` block.

    Parameters
    ----------
    path : path
        File of `joulemap record`, `joulemap import` or a Session.

    Raises
    ------
    Error
        If the file does not exist or is no recording.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._path = _arguments.path("path", path)
        self._recording: _core.Recording | None = _core.Recording(self._path)

    def close(self) -> None:
        """Close the file; a second call does nothing. Existing reports stay usable, with all their keys."""
        with self._lock:
            self._recording = None

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._recording is None

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> _core.Recording:
        recording = self._recording
        if recording is None:
            raise ValueError(f"the recording {self._path!r} is closed: open it again")
        return recording

    @property
    def path(self) -> str:
        """The path as given."""
        return self._path

    @property
    def name(self) -> str:
        """The file's name without its ending; `diff` names the run so."""
        return self.path.rsplit("/", 1)[-1].removesuffix(".joulemap")

    def __repr__(self) -> str:
        return f"<joulemap.Recording {self.path!r}: {'closed' if self.closed else 'open'}>"

    @property
    def damage(self) -> str | None:
        """A sentence on what a damaged file lacks; None if it is whole."""
        with self._lock:
            return self._open().damage

    def meta(self, key: str) -> str | None:
        """Return a value of the recording's table `meta`.

        Parameters
        ----------
        key : str
            Name of the value: "start_ns", "command", ...; docs/file-format.md lists them.

        Returns
        -------
        str or None
            The value as text; None if the recording does not have it.

        Raises
        ------
        TypeError
            If `key` is no text.
        ValueError
            If the recording is closed.
        """
        with self._lock:
            return self._open().meta(_arguments.text("key", key))

    def _report_source(self, until_ns: int) -> _core.Recording:
        return self._open()
