"""The search for the power cap that saves most, on this program's own work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from joulemap import _arguments, _core
from joulemap._gpu import find_gpu
from joulemap._progress_bar import Bar
from joulemap._session import MeasuringSession, Session, current_session
from joulemap.caps import leases
from joulemap.caps.leases import Lease, nvml_index
from joulemap.caps.result import CapSearch
from joulemap.caps.windows import Meter
from joulemap.caps.work import Calls, ModelSteps, Work

if TYPE_CHECKING:
    import torch
    from torch import nn

_MOST_PROBES = 64
_MOST_S = 3600.0


def _work_of(model: Any, loader: Any, train: bool, loss_fn: Any, optimizer: Any) -> Work:
    """Return what is repeated at each cap."""
    if loader is not None:
        return ModelSteps(model, loader, train, loss_fn, optimizer)
    if hasattr(model, "parameters"):
        raise TypeError("a model needs its loader: search(model, loader); or give a function that does a step")
    if not callable(model):
        raise TypeError(f"model is a torch.nn.Module or a function that does a step, not {model!r}")
    if train or loss_fn is not None or optimizer is not None:
        raise TypeError("train, loss_fn and optimizer go with a model and its loader; a function does all of it")
    return Calls(model)


def _has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _index_of(gpu: Any, work: Work) -> int:
    """Return the index of the GPU that is meant."""
    if work.device is not None and work.device.type == "cpu" and _has_cuda():
        raise ValueError('the model lies on the CPU: move it to the GPU first, as model.to("cuda")')
    if gpu is not None:
        return nvml_index(gpu)
    return find_gpu(work.device.index or 0 if work.device is not None else 0).index


@contextlib.contextmanager
def _session() -> Iterator[Session]:
    """Give the open session, else one of our own."""
    session = current_session()
    if session is not None:
        yield session
        return
    with MeasuringSession(kernels=False, cpu=False, counters=False) as own:
        yield own


@contextlib.contextmanager
def _leased(given: Lease | None, board: int) -> Iterator[Lease]:
    """Give a lease of our own, which ends; of one that is given, its cap is put back to what it was."""
    if given is None:
        with leases.lease(board, who="joulemap.caps.search") as own:
            yield own
        return
    before_w = given.cap_w
    try:
        yield given
    finally:
        if before_w is None:
            given.put_back()
        else:
            given.set(before_w)


def _step_w(low_w: float, high_w: float) -> float:
    """Return a step of whole watts that makes some 60 caps or fewer."""
    wanted_w = (high_w - low_w) / 60
    return next((float(step) for step in (1, 2, 5, 10, 20, 25, 50) if step >= wanted_w), wanted_w)


def _high_w(held: Lease) -> float:
    """Return the highest cap to try: what was found, and nothing above it but the GPU's own default."""
    found = held.found
    known = [cap_w for cap_w in (found.default_w, found.high_w) if cap_w is not None]
    return max(min(known, default=0.0), found.cap_w or 0.0, held.cap_w or 0.0)


def _reference_w(held: Lease) -> float:
    """Return the cap as it stands.

    Raises
    ------
    joulemap.Error
        If the GPU does not tell it, or its range.
    """
    reference_w = held.found.cap_w if held.cap_w is None else held.cap_w
    if reference_w is None or held.found.low_w is None or held.found.high_w is None:
        raise _core.Error(
            f"GPU {held.found.index} does not tell its cap and the range of it: there is nothing to search"
        )
    return reference_w


def search(
    model: nn.Module | Callable[[], object],
    loader: Iterable[Any] | None = None,
    *,
    train: bool = False,
    loss_fn: Callable[[Any, Any], torch.Tensor] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    objective: Literal["ed2p", "edp", "energy", "time"] = "ed2p",
    max_slowdown: float | None = None,
    probes: int | None = None,
    sweep: int | None = None,
    sweep_rounds: int = 2,
    proof: bool = True,
    gpu: int | str | torch.device | None = None,
    settle_s: float = 1.0,
    window_s: float = 3.0,
    lease: Lease | None = None,
    progress: bool = False,
    seed: int = 0,
) -> CapSearch:
    """Find the power cap that saves most on a work, and prove it. The GPU is then as it was found.

    A trial sets a cap, lets the GPU settle, and measures the same steps three times. The first is the cap as found;
    each further one is where most is expected to be gained. At last reference and choice are measured in turns.

    Parameters
    ----------
    model : torch.nn.Module or callable
        What works: a model on one GPU, or a function without arguments that does a step. What a function changes stays
        changed; its steps should be alike.
    loader : iterable, optional
        Of batches, for a model: tensors, or tensors in tuples, lists, dicts and mappings; moved to where the model
        lies. It is read again from its first batch for each window, in the same order. No iterator.
    train : bool
        Steps of training, forward, backward and optimizer; else forward passes without gradients in eval mode.
    loss_fn : callable, optional
        Of training: of output and labels (the last of a tuple, `labels` of a dict); without it the model's output has
        its `loss`.
    optimizer : torch.optim.Optimizer, optional
        Of training.
    objective : str
        What is to be least: "ed2p" (energy times time squared), "edp", "energy" or "time".
    max_slowdown : float, optional
        At most so much slower than with the cap as found: 0.05 is 5 %.
    probes : int, optional
        At most so many caps are tried (5).
    sweep : int, optional
        Try so many caps spread over the range instead, from 2 on.
    sweep_rounds : int
        How often; 2 cancels a straight drift.
    proof : bool
        Measure reference and choice in turns at the end. Without it `saving` is not known.
    gpu : int, str or torch.device, optional
        The GPU: its index as nvidia-smi counts, or "cuda:0". Without it the one that the model lies on, else CUDA's
        first.
    settle_s, window_s : float
        Seconds to work at a new cap before measuring, and to measure, of each trial.
    lease : Lease, optional
        A lease of this program, which goes on; its cap is what others are compared with. Without it one is taken and
        ended.
    progress : bool
        Show a bar on a terminal.
    seed : int
        Of the order of sweep and proof.

    Returns
    -------
    CapSearch
        Verdict, chosen cap, trials, saving with its interval, `table()`, `json()`, `plot()`.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these, or the loader has no batch.
    joulemap.Error
        If the GPU's cap cannot be set (how to get the right is said), another program has it, or no reading came in.

    Notes
    -----
    Put back bit for bit, also after an error or Ctrl-C: weights, buffers, gradients, the optimizer's state, modes, the
    loader's sampler and generators, and random states of Python, NumPy and PyTorch. The cap is put back also after
    kill -9. Meanwhile the CPU's memory holds a copy of weights, gradients and the optimizer's state; one of the buffers
    stays where they are. What a data set or a function keeps for itself is not known, and stays as it then is.

    It uses the open session, whose page then shows it, else one of its own. All GPU work is waited for at the ends of
    each window.
    """
    work = _work_of(model, loader, _arguments.flag("train", train), loss_fn, optimizer)
    settle = _arguments.real("settle_s", settle_s, -1e-9, _MOST_S)
    window = _arguments.real("window_s", window_s, 0, _MOST_S)
    bound = 0.0 if max_slowdown is None else _arguments.share("max_slowdown", max_slowdown)
    most = 0 if probes is None else _arguments.whole("probes", probes, _MOST_PROBES)
    caps = 0 if sweep is None else _arguments.whole("sweep", sweep, _MOST_PROBES)
    rounds = _arguments.whole("sweep_rounds", sweep_rounds, _MOST_PROBES)
    _arguments.flag("proof", proof)
    if probes is not None and most == 0:
        raise ValueError("probes is at least 1")
    if sweep is not None and caps < 2:
        raise ValueError("sweep is at least 2 caps")
    index = _index_of(gpu, work) if lease is None else lease.found.index
    bar = Bar(progress)
    with _session() as session, _leased(lease, index) as own, work.kept():
        low_w, high_w = own.found.low_w or 0.0, _high_w(own)
        core = _core.Search(
            low_w=low_w,
            high_w=high_w,
            step_w=_step_w(low_w, high_w),
            reference_w=_reference_w(own),
            objective=_arguments.text("objective", objective),
            max_slowdown=bound,
            probes=most,
            sweep=caps,
            rounds=rounds,
            settle_s=settle,
            window_s=window,
            proof=proof,
            seed=_arguments.whole("seed", seed),
            simulated=own.found.simulated,
        )
        meter = Meter(session, work, index)
        try:
            _try_caps(core, own, meter, bar)
        finally:
            bar.end()
        found = CapSearch(core, own.found, meter.steps)
        session._note("cap_search", found.to_json())
    return found


def _try_caps(core: _core.Search, held: Lease, meter: Meter, bar: Bar) -> None:
    """Make the trials that a search asks for."""
    set_w: float | None = None
    while (trial := core.next()) is not None:
        cap_w = trial["cap_w"]
        bar.show(f"{trial['stage']} at {cap_w:.0f} W", min(0.99, trial["number"] / 25))
        if set_w != cap_w:
            held.set(cap_w)
            set_w = cap_w
        meter.settle(trial["settle_s"])
        meter.choose_steps(trial["window_s"])
        measured = meter.measure(f"cap {cap_w:.0f} W")
        held.set(cap_w)  # once more: a lease that ended in between has put back what was found
        core.tell(cap_w, *measured)
