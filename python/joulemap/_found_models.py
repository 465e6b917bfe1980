"""Programs that know nothing of joulemap, under `joulemap run`: their models are watched as they are first called.

An outermost module that works on a GPU becomes a model of the report, and is watched until the program ends. Trainers
of Hugging Face, Lightning and Keras get joulemap's callback, without its log. `python/start/sitecustomize.py` calls
`follow`. Nothing here may fail the program.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
from collections.abc import Callable
from typing import Any

from joulemap._frameworks import frameworks
from joulemap._patches import LatePatches, Patches
from joulemap._session import FoundSession, Session, joined_session


class Following(LatePatches):
    """The frameworks of this program, each followed from its import on."""

    _models: Any = None  # of PyTorch
    _left = 100  # models that may still be found: a program that makes a new one for each step has no use for them

    def __init__(self) -> None:
        self._others: list[Patches] = []  # of other frameworks
        super().__init__()

    def begin(self) -> None:
        """Wait for them."""
        self.when("torch", self._follow_torch)
        self.when("transformers.generation.utils", self._follow_generate)
        self.when("transformers.trainer", self._follow_trainer("joulemap.huggingface"))
        self.when("lightning.pytorch", self._follow_trainer("joulemap.lightning"))
        self.when("pytorch_lightning", self._follow_trainer("joulemap.lightning"))
        self.when("keras", self._follow_keras)
        self.when("jax", self._follow_jax)

    def end(self) -> None:
        """Follow the program no longer."""
        super().end()
        models, self._models = self._models, None
        if models is not None:
            models.remove()
        while self._others:
            self._others.pop().end()

    def session(self) -> Session | None:
        """Return the session of this process in the recorder's run; None if it is recorded no more."""
        session = None
        with contextlib.suppress(Exception):  # it cannot be recorded: the program goes on as ever
            session = joined_session()
        if session is None:
            self.end()
        return session

    def _follow_jax(self, _module: Any) -> None:
        if self.session() is not None:
            frameworks.update("jax")
            from joulemap._jax_steps import JaxSteps

            self._others.append(JaxSteps())

    # ---- models of PyTorch ----

    def _follow_torch(self, torch: Any) -> None:
        from joulemap.torch import FoundModels

        # On a machine without GPUs, or on a simulated one, models on the CPU are all that there is to see.
        on_cpu = bool(os.environ.get("JOULEMAP_SIM")) or not (torch.version.cuda or torch.version.hip)
        self._elsewhere = () if on_cpu else ("cpu", "meta")
        self._worker_info = torch.utils.data.get_worker_info
        self._models = FoundModels(self._offer)

    def _offer(self, module: Any) -> None:
        """Watch a module that is called outside of all watched ones, if it works on a GPU."""
        from joulemap.torch import inside_of_wrappers, is_watched

        model = inside_of_wrappers(module)
        weight = next(model.parameters(), None)  # a transform of images has none: it belongs to what calls it
        if weight is None or weight.device.type in self._elsewhere or is_watched(model) or self._worker_info():
            return
        session = self.session()
        if isinstance(session, FoundSession) and self._left > 0:  # else the program says itself what it watches
            self._left -= 1
            session.watch(model)

    def _is_new(self, model: Any) -> bool:
        """Offer a model, and return whether it is watched since."""
        if not self.active:
            return False
        try:
            from joulemap.torch import is_watched

            if is_watched(model):
                return False
            self._offer(model)
            return is_watched(model)
        except Exception:  # another version of PyTorch
            self.end()
            return False

    def _follow_generate(self, module: Any) -> None:
        def watched_first(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def generate(model: Any, *args: Any, **kwargs: Any) -> Any:
                # Watching wraps `generate` once more: so the first call is followed like all others.
                outermost = vars(mixin)["generate"] if self._is_new(model) else original
                return outermost(model, *args, **kwargs)

            return generate

        mixin = module.GenerationMixin
        self.put(mixin, "generate", watched_first)

    # ---- trainers, which get a callback unless the program has given them one ----

    def _follow_trainer(self, ours: str) -> Callable[[Any], None]:
        def with_callback(original: Callable[..., None]) -> Callable[..., None]:
            @functools.wraps(original)
            def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
                original(trainer, *args, **kwargs)
                self._add_callback(ours, lambda: getattr(trainer, "callback_handler", trainer).callbacks)

            return init

        return lambda module: self.put(module.Trainer, "__init__", with_callback)

    def _follow_keras(self, module: Any) -> None:
        def with_callback(original: Callable[..., Any]) -> Callable[..., Any]:
            signature = inspect.signature(original)

            @functools.wraps(original)
            def call(*args: Any, **kwargs: Any) -> Any:
                given = kwargs.get("callbacks")
                # Within `fit` a CallbackList is passed on to `evaluate`; the position differs between the three.
                is_list = given is None or isinstance(given, list | tuple)
                if is_list and "callbacks" not in signature.bind_partial(*args).arguments:
                    callbacks = list(given or ())
                    self._add_callback("joulemap.keras", lambda: callbacks)
                    kwargs["callbacks"] = callbacks
                return original(*args, **kwargs)

            return call

        for name in ("fit", "evaluate", "predict"):
            self.put(module.Model, name, with_callback)
        if module.backend.backend() in ("tensorflow", "jax") and self.session() is not None:
            from joulemap._keras_layers import KerasLayers

            self._others.append(KerasLayers(module))

    def _add_callback(self, ours: str, callbacks_of: Callable[[], list[Any]]) -> None:
        try:
            kind, callbacks = importlib.import_module(ours).EnergyCallback, callbacks_of()
            if self.active and not any(isinstance(each, kind) for each in callbacks) and self.session() is not None:
                callbacks.append(kind(log=False))
        except Exception:  # another version of the framework: the program goes on without phases
            return


_following: list[Following] = []


def follow() -> None:
    """Follow the frameworks of this program, from their import on."""
    if not _following:
        _following.append(Following())
