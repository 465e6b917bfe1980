"""Backward passes: spans of the modules whose nodes the engine runs, as the labels on the nodes tell."""

from __future__ import annotations

from typing import Any

import torch

from joulemap import _core
from joulemap._threads import ThreadState, local
from joulemap._tracing import tracing

_BACKWARD = _core.SPAN_KINDS["backward"]

_span_begin = _core.span_begin
_span_end = _core.span_end
_graph_task = torch._C._current_graph_task_id
_queue_callback = torch.autograd.Variable._execution_engine.queue_callback


class Backward:
    """One thread's part of one backward pass: the chain of module spans now open."""

    __slots__ = ("done", "frame", "home", "opened", "previous", "regions", "state", "task")
    done: bool

    def __init__(self, task: int, state: ThreadState, home: ThreadState) -> None:
        self.task = task
        self.state = state  # of the thread that runs the nodes
        self.home = home  # of the thread that ran the forward pass
        self.previous = state.backward if state.backward is not None and not state.backward.done else None
        self.frame: Frame | None = None
        self.opened: list[tuple[Frame, int]] = []  # outermost first; place = depth of the frame
        self.regions = len(state.regions)  # that are around it
        self.done = False
        state.backward = self
        home.backwards.append(self)

    def switch(self, target: Frame | None) -> None:
        """End the spans that `target` is not inside of, and open those around it."""
        opened = self.opened
        missing = []
        frame = target
        while frame is not None and (frame.depth >= len(opened) or opened[frame.depth][0] is not frame):
            missing.append(frame)
            frame = frame.parent
        keep = 0 if frame is None else frame.depth + 1
        while len(opened) > keep:
            _span_end(opened.pop()[1])
        for frame in reversed(missing):
            opened.append((frame, _span_begin(_BACKWARD, frame.layer.name, frame.layer.type)))
        self.frame = target

    def finish(self) -> None:
        """Close all; called by the engine, perhaps on another thread, when the pass is over."""
        if self.done:
            return
        self.done = True
        self.state.close_regions(self.regions)
        self.switch(None)
        if self.state.backward is self:
            self.state.backward = self.previous
        if self in self.home.backwards:
            self.home.backwards.remove(self)


class Frame(_core.Frame):
    """One call of a watched module. Its methods are prehooks of autograd nodes."""

    __slots__ = ()

    def backward(self, _gradients: Any) -> None:
        """From here on this call's backward runs."""
        if self.layer.watch.active and tracing.on:
            enter_backward(self.home, self)

    def outside(self, _gradients: Any) -> None:
        """From here on no module's does: the node ran before this outermost call."""
        if self.layer.watch.active and tracing.on:
            enter_backward(self.home, None)


def enter_backward(home: ThreadState, frame: Frame | None) -> None:
    """Let what this thread's backward pass runs from here on belong to a call, whose forward ran on `home`."""
    state: ThreadState = local.state
    task = _graph_task()
    backward: Backward | None = state.backward
    if backward is None or backward.done or backward.task != task:
        if frame is None:
            return
        backward = Backward(task, state, home)
        _queue_callback(backward.finish)
    if backward.frame is not frame:
        backward.switch(frame)
