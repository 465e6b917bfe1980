"""Read the spans of a run straight from its ring files: the oracle that does not go through the recorder.

Layout: src/record/timeline/ring_format.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from joulemap import _core

HEADER_SIZE = 4096
KINDS = {number: text for text, number in _core.SPAN_KINDS.items()}
BEGIN, END, MARK, THREAD = 1, 2, 3, 4


@dataclass
class Span:
    """One span as its thread wrote it."""

    id: int
    kind: str
    name: str
    type: str
    samples: int
    tid: int
    pid: int
    start_ns: int
    end_ns: int | None = None
    tokens: int = 0
    parent: Span | None = None
    children: list[Span] = field(default_factory=list)

    @property
    def ended_ns(self) -> int:
        """When it ended: it has."""
        assert self.end_ns is not None, f"{self.kind} {self.name!r} is open"
        return self.end_ns

    def path(self) -> list[str]:
        return [*(self.parent.path() if self.parent else []), self.name]


def read_names(folder: Path, pid: int) -> dict[int, str]:
    names = {0: ""}
    data = (folder / f"{pid}-c.names").read_bytes()
    offset = 0
    while offset + 8 <= len(data):
        number, length = struct.unpack_from("<II", data, offset)
        names[number] = data[offset + 8 : offset + 8 + length].decode()
        offset += 8 + length
    return names


def read_spans(folder: str | Path) -> list[Span]:
    """All spans in order of their begin; parents are those open on the same thread."""
    spans: dict[tuple[int, int], Span] = {}
    records = []
    for path in sorted(Path(folder).glob("*-c-*.ring")):
        data = path.read_bytes()
        _, size, capacity, pid, tid = struct.unpack_from("<QIIii", data, 0)
        (head,) = struct.unpack_from("<Q", data, 64)
        assert size == 32
        assert head <= capacity, "the test wrote more than the ring holds"
        for i in range(head):
            fields = struct.unpack_from("<QQIIIBBH", data, HEADER_SIZE + 32 * i)
            if fields[5] == THREAD:
                tid = fields[1]
            records.append((fields[0], pid, tid, *fields[1:7]))
    records.sort(key=lambda record: record[0])
    names: dict[int, dict[int, str]] = {}
    open_spans: dict[int, list[Span]] = {}
    for t_ns, pid, tid, span_id, name, type_, samples, op, kind in records:
        if pid not in names:
            names[pid] = read_names(Path(folder), pid)
        stack = open_spans.setdefault(tid, [])
        if op == BEGIN:
            span = Span(span_id, KINDS[kind], names[pid][name], names[pid][type_], samples, tid, pid, t_ns)
            if stack:
                span.parent = stack[-1]
                stack[-1].children.append(span)
            stack.append(span)
            spans[pid, span_id] = span
        elif op == END and (pid, span_id) in spans:
            span = spans[pid, span_id]
            span.end_ns, span.tokens = t_ns, type_
            for others in open_spans.values():
                if span in others:
                    others.remove(span)
    return list(spans.values())
