"""Models that the GPU benches train: any of torchvision's, any of transformers', or the GPT of the examples.

A subject is named as on the command line: ``gpt`` (examples/gpt_train.py, GPT-2 small), ``torchvision:NAME``
(``torchvision:efficientnet_v2_m``) or ``transformers:TYPE`` (``transformers:bert``, sizes by `settings`). Weights and
data are random: nothing is downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

IMAGE_CLASSES = 1000


@dataclass
class Subject:
    """A model, and the loss of one batch of its data."""

    model: nn.Module
    loss: Callable[[], Tensor]
    optimizer: torch.optim.Optimizer

    def forward(self) -> Tensor:
        """Return the loss, as a training step takes it."""
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.loss()

    def step(self) -> None:
        self.forward().backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def gpt(batch: int, length: int) -> tuple[nn.Module, Callable[[], Tensor]]:
    from gpt_train import GPT, GPT2_SMALL

    model = GPT(GPT2_SMALL, length).to("cuda")
    tokens = torch.randint(GPT2_SMALL.vocabulary, (batch, length + 1), device="cuda")
    return model, lambda: cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())


def vision(name: str, batch: int, size: int) -> tuple[nn.Module, Callable[[], Tensor]]:
    from torchvision.models import get_model

    model: nn.Module = get_model(name, weights=None, num_classes=IMAGE_CLASSES)
    model = model.to("cuda", memory_format=torch.channels_last)
    images = torch.randn(batch, 3, size, size, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(IMAGE_CLASSES, (batch,), device="cuda")
    return model, lambda: cross_entropy(model(images).float(), labels)


def language(kind: str, batch: int, length: int, settings: dict[str, Any]) -> tuple[nn.Module, Callable[[], Tensor]]:
    import transformers

    config = transformers.AutoConfig.for_model(kind, **settings)
    config.use_cache = False  # in training nothing is kept for the next token
    known = [transformers.AutoModelForCausalLM, transformers.AutoModelForMaskedLM, transformers.AutoModelForSeq2SeqLM]
    # A type may be of several of these: an encoder that could also generate is trained as the encoder it is.
    if type(config) in transformers.AutoModelForMaskedLM._model_mapping:
        maker = transformers.AutoModelForMaskedLM
    else:
        maker = next(maker for maker in known if type(config) in maker._model_mapping)
    model: nn.Module = maker.from_config(config).to("cuda")
    tokens = torch.randint(10, config.vocab_size, (batch, length), device="cuda")
    return model, lambda: model(input_ids=tokens, labels=tokens).loss


def make(name: str, batch: int, size: int, settings: dict[str, Any]) -> Subject:
    """Build a subject on the GPU. `size`: pixels of an image's edge, or tokens of a sequence."""
    library, _, which = name.partition(":")
    if library == "gpt":
        model, loss = gpt(batch, size)
    elif library == "torchvision":
        model, loss = vision(which, batch, size)
    elif library == "transformers":
        model, loss = language(which, batch, size, settings)
    else:
        raise SystemExit(f"no subject {name!r}: use gpt, torchvision:NAME or transformers:TYPE")
    model.train()
    return Subject(model, loss, torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True))
