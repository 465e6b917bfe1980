"""The search for the best power cap, on this program's own work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from joulemap import _arguments, _core
from joulemap._gpu import find_gpu
from joulemap._progress_bar import Bar
from joulemap._session import energy_session
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
    """Return the work that is repeated at each cap."""
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
    """Return the index of the GPU to use."""
    if work.device is not None and work.device.type == "cpu" and _has_cuda():
        raise ValueError('the model lies on the CPU: move it to the GPU first, as model.to("cuda")')
    if gpu is not None:
        return nvml_index(gpu)
    return find_gpu(work.device.index or 0 if work.device is not None else 0).index


@contextlib.contextmanager
def _leased(given: Lease | None, board: int) -> Iterator[Lease]:
    """Yield a new lease and end it; or yield the given lease, and restore the cap that it had."""
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
    """Return a round step that gives about 60 caps or fewer."""
    least_w = (high_w - low_w) / 60
    return next((float(step) for step in (1, 2, 5, 10, 20, 25, 50) if step >= least_w), least_w)


def _high_w(held: Lease) -> float:
    """Return the highest cap to try: the present one, or the GPU's default if that is higher."""
    found = held.found
    known = [cap_w for cap_w in (found.default_w, found.high_w) if cap_w is not None]
    return max(min(known, default=0.0), found.cap_w or 0.0, held.cap_w or 0.0)


def _reference_w(held: Lease) -> float:
    """Return the present cap.

    Raises
    ------
    joulemap.Error
        If the driver does not report the cap or its range.
    """
    reference_w = held.found.cap_w if held.cap_w is None else held.cap_w
    if reference_w is None or held.found.low_w is None or held.found.high_w is None:
        raise _core.Error(f"GPU {held.found.index} does not report its cap and range: there is nothing to search")
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
    """Find the power cap that minimizes an objective, and prove it by measurement. The old cap is restored at the end.

    A trial sets a cap, lets the GPU settle, and measures the same steps three times. The first trial uses the cap that
    was found; each further one the cap with the largest expected gain. Finally reference and choice are measured
    alternately.

    Parameters
    ----------
    model : torch.nn.Module or callable
        A model on one GPU, or a function without arguments that does one step. Changes by a function are not undone;
        its steps should be equal.
    loader : iterable, optional
        Batches for a model: tensors, or tensors in tuples, lists, dicts and mappings; they are moved to the model's
        device. Each window reads it again from the first batch, in the same order. It must not be an iterator.
    train : bool
        Run training steps (forward, backward and optimizer); otherwise forward passes without gradients in eval mode.
    loss_fn : callable, optional
        Loss of output and labels (the last item of a tuple, `labels` of a dict) for training. Without it the model's
        output must have a `loss`.
    optimizer : torch.optim.Optimizer, optional
        Optimizer for training.
    objective : str
        Quantity to minimize: "ed2p" (energy times time squared), "edp", "energy" or "time".
    max_slowdown : float, optional
        Maximum slowdown compared with the cap that was found, as a share: 0.05 is 5 %.
    probes : int, optional
        Maximum number of caps to try; 5 by default.
    sweep : int, optional
        Try this number of caps spread over the range instead, 2 or more.
    sweep_rounds : int
        Number of rounds of a sweep; 2 cancel a linear drift.
    proof : bool
        Measure reference and choice alternately at the end. Without it `saving` is not known.
    gpu : int, str or torch.device, optional
        The GPU: its index in nvidia-smi, or "cuda:0". The default is the GPU of the model, else CUDA's first.
    settle_s, window_s : float
        Seconds of work at a new cap before the measurement, and of the measurement, for each trial.
    lease : Lease, optional
        An existing lease, which goes on; its cap is the reference. Without it a lease is taken and ended.
    progress : bool
        Show a progress bar on a terminal.
    seed : int
        Seed of the order of sweep and proof.

    Returns
    -------
    CapSearch
        Verdict, chosen cap, trials, saving with its interval, `table()`, `to_json()`, `plot()`.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong, or the loader has no batch.
    joulemap.Error
        If the GPU's cap cannot be set (the message says how to get the right), another program has the lease, or there
        were no readings.

    Notes
    -----
    These are restored bit by bit, also after an error or Ctrl-C: weights, buffers, gradients, the optimizer's state,
    modes, the loader's sampler and generators, and random states of Python, NumPy and PyTorch. State inside of a data
    set or a function is not restored. The cap is restored even after kill -9. Weights, gradients and the optimizer's
    state are copied to the CPU meanwhile, buffers on their device.

    The search uses the open session, whose page then shows it, else a session of its own. It waits for all GPU work at
    the ends of each window.
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
    with energy_session() as session, _leased(lease, index) as own, work.preserved():
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
        result = CapSearch(core, own.found, meter.steps)
        session._note("cap_search", result.to_json())
    return result


def _try_caps(core: _core.Search, held: Lease, meter: Meter, bar: Bar) -> None:
    """Run the trials of a search."""
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
        held.set(cap_w)  # raises if the lease has ended meanwhile, which would spoil the trial
        core.tell(cap_w, *measured)
