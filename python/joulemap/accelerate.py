"""accelerate: `with joulemap.accelerate.watch(accelerator, model) as energy:` around a training loop."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from joulemap._energy_hooks import EnergyHooks, harmless
from joulemap._training import TRAIN, entry_point

try:
    import accelerate as _accelerate
except ImportError as error:
    raise ImportError("joulemap.accelerate needs accelerate: pip install accelerate") from error

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Energy", "watch"]


class Energy(EnergyHooks):
    """A measured training with accelerate; `watch` makes it."""

    def __init__(self, accelerator: Any, models: tuple[Any, ...], phase: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._accelerator = accelerator
        self._models = models
        self._phase = phase
        self._entered: Any = None

    @harmless
    def _enter(self, phase: str) -> None:
        self._training.enter(
            phase,
            [(model, None) for model in self._models],
            rank=self._accelerator.process_index,
            processes=self._accelerator.num_processes,
            listen=self._on_batch,
            finds_steps=True,
        )

    @harmless
    def _on_batch(self, samples: int, tokens: int) -> None:
        self._training.find(samples, tokens)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Run a block as another phase, such as `validate`, which interrupts the training.

        Parameters
        ----------
        name : str
            Name of its row.

        Yields
        ------
        None
            For `with`.
        """
        with entry_point():
            self._enter(name)
            yield

    def figures(self) -> dict[str, float]:
        """Return the figures of the steps since the last call, as they are added to `accelerator.log`.

        Returns
        -------
        dict
            "energy/j_per_step", "energy/power_w" and, if known, "energy/j_per_sample" and "energy/j_per_token"; empty
            if the readings of no step are recorded yet.
        """
        return {f"energy/{name}": value for name, value in (self._step_figures() or {}).items()}

    @harmless
    def _step_figures(self) -> dict[str, float]:
        return self._training.step_figures()

    @contextmanager
    def _logging(self) -> Iterator[None]:
        """Add `figures` to the values of `accelerator.log`."""
        accelerator = self._accelerator
        original = accelerator.log

        @functools.wraps(original)
        def log(values: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
            return original({**values, **self.figures()}, *args, **kwargs)

        accelerator.log = log
        try:
            yield
        finally:
            if vars(accelerator).get("log") is log:
                del accelerator.log

    def __enter__(self) -> Self:
        self._entered = self._measured()
        self._entered.__enter__()
        return self

    @contextmanager
    def _measured(self) -> Iterator[None]:
        with entry_point(), self._logging():
            self._enter(self._phase)
            yield

    def __exit__(self, *raised: Any) -> None:
        self._entered.__exit__(*raised)
        super().__exit__(*raised)


def watch(accelerator: Any, *models: Any, phase: str = TRAIN, **settings: Any) -> Energy:
    """Measure a training loop inside of a `with` block.

    Modules of the models become layers. Each batch of a data loader is a step with its samples and tokens, also with
    gradient accumulation. `accelerator.log` also logs `energy/j_per_step`, `energy/power_w` and, if known,
    `energy/j_per_sample` and `energy/j_per_token`, without waiting, of the steps whose readings are recorded (up to
    some 1.5 s ago).

    Parameters
    ----------
    accelerator : accelerate.Accelerator
        The accelerator of the loop; its `log` and ranks are used.
    *models : torch.nn.Module
        Models before or after `prepare`.
    phase : str
        Name of the loop's row.
    **settings
        `path`, `session`, `overwrite`, `gpu` and `log`, as in `joulemap.huggingface.EnergyCallback`.

    Returns
    -------
    Energy
        For `with`. Its `phase(name)` separates other work, its `report()` makes a report.

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these.

    Examples
    --------
    >>> with joulemap.accelerate.watch(accelerator, model) as energy:  # doctest: +SKIP
    ...     for batch in loader:
    ...         train_step(batch)
    >>> print(energy.report().table())  # doctest: +SKIP
    """
    if not isinstance(accelerator, _accelerate.Accelerator):
        raise TypeError(f"watch() takes an accelerate.Accelerator first, not a {type(accelerator).__name__}")
    return Energy(accelerator, models, phase, **settings)
