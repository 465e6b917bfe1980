"""Programs of older tools on a real GPU, with all their figures, for docs/gallery.

1. PowerDL's session: a small CNN on images of CIFAR's size, trained and then used, all within a recording of
   joulemap's own; all 22 figures of it, `two_runs` against the same session without mixed precision.
2. The LayerEnergyProfiler notebook's run on a model like BERT: its table and pictures; beside its figures those of a
   second measurement of the layers alone in another order, the sum of the layers, and the whole model alone.

    python bench/gpu/gallery.py --folder docs/gallery --out bench/results/gallery.txt
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import joulemap
import joulemap.plots
import torch
from joulemap.compat.layer_energy_profiler import LayerEnergyProfiler, compare_precisions, visualize_layer_energy
from joulemap.compat.powerdl import Report, profile_torch
from joulemap.torch import isolate
from publish import head, publish
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

DPI = 100
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # the CPU beside a simulated GPU, to try this script


def cnn() -> nn.Module:
    """Three stages of two convolutions, as tutorials on CIFAR have them."""
    layers: list[nn.Module] = []
    inner = 3
    for outer in (64, 128, 256):
        for _ in range(2):
            layers += [nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU()]
            inner = outer
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 4 * 4, 10))


def session(path: Path, size: int, *, amp: bool) -> tuple[Report, nn.Module]:
    """Run PowerDL's session on a set of so many images, recorded at `path`."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(size, 3, 32, 32), torch.randint(10, (size,)))
    model = cnn().to(DEVICE)
    loader = DataLoader(data, batch_size=256, shuffle=True, drop_last=True)
    with joulemap.Session(path=str(path), kernels=DEVICE == "cuda") as run:
        run.watch(model)
        with profile_torch(amp=amp) as p:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            p.train(model, loader, optimizer, nn.CrossEntropyLoss(), epochs=3)
            p.infer_tensor(model, batch_size=256, n_samples=20000)
        return p.report(), model


def powerdl(folder: Path, size: int) -> list[str]:
    """Draw all figures of the session; return what it says of itself."""
    with tempfile.TemporaryDirectory() as kept:
        paths = [Path(kept) / "cnn-bf16.joulemap", Path(kept) / "cnn-fp32.joulemap"]
        session(Path(kept) / "first.joulemap", min(size, 2560), amp=True)  # what starts once, starts here
        report, model = session(paths[0], size, amp=True)
        session(paths[1], size, amp=False)
        counts = joulemap.plots.count(model, torch.randn(256, 3, 32, 32, device=DEVICE))
        for key in joulemap.plots.figures():
            source: Any = tuple(map(str, paths)) if key == "two_runs" else str(paths[0])
            more: dict[str, Any] = {"counts": counts} if key == "roofline" else {}
            try:
                joulemap.plots.plot(source, key, path=str(folder / f"cnn-{key}.png"), dpi=DPI, **more)
            except joulemap.plots.CannotDrawError as error:
                print(f"{key}: not drawn: {error}")
        with joulemap.Recording(str(paths[0])) as recording:
            table = recording.report("layer").table()
    batches, epochs = report.summary["batch_rows"], report.summary["epoch_energies"]
    sums = {
        "train": report.summary["train_energy_j"],
        "epochs": sum(epoch["energy_j"] for epoch in epochs),
        "batches": sum(batch["energy_j"] for batch in batches),
    }
    (folder / "cnn-summary.json").write_text(json.dumps(report.summary | {"batch_rows": batches[:3]}, indent=1) + "\n")
    short = min(batch["time_s"] for batch in batches)
    low, high = report.summary["train_energy_low_j"], report.summary["train_energy_high_j"]
    return [
        table,
        "",
        f"train {sums['train']:.2f} J ({low:.2f} .. {high:.2f}), sum of {len(epochs)} epochs {sums['epochs']:.2f} J, "
        f"of {len(batches)} batches {sums['batches']:.2f} J",
        f"shortest batch {1e3 * short:.2f} ms; least joules of a batch {min(b['energy_j'] for b in batches):.3f} J; "
        f"inference {report.summary['infer_energy_j']:.2f} J for {report.summary['infer_n_samples']} images",
    ]


class Whole(nn.Module):
    """A model as a layer, so that it can be measured alone like one."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **inputs: Tensor) -> Any:
        return self.model(**inputs)


def bert(length: int) -> tuple[nn.Module, dict[str, Tensor]]:
    """Return a DistilBERT with random weights, and a batch of sixteen texts for it."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    torch.manual_seed(0)
    model = DistilBertForSequenceClassification(DistilBertConfig()).to(DEVICE).eval()
    ids = torch.randint(1000, 30000, (16, length), device=DEVICE)
    return model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def layers(folder: Path, length: int, seconds: float) -> list[str]:
    """Profile the layers; return how its figures stand to others."""
    model, inputs = bert(length)
    profiler = LayerEnergyProfiler(model, device=DEVICE)
    results = profiler.profile_all_layers(**inputs, batch_size=16, num_loops=100, seconds=seconds, progress=False)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        visualize_layer_energy(results, folder / "bert-layers")
    paths = [one["path"] for one in results]
    with torch.no_grad():
        again = {row.path: row for row in isolate(model, inputs, layers=paths, seconds=seconds, seed=1, progress=False)}
        whole = next(iter(isolate(Whole(model), inputs, layers=["model"], seconds=seconds / 2, progress=False)))
    lines = [
        shown.getvalue(),
        f"{'layer':22} {'profiler':>12} {'isolate':>12} {'off by':>9} {'±':>7} {'MHz':>6} {'MHz':>6}",
    ]
    worst = 0.0
    for one in results:
        row = again[one["path"]]
        alone_mj = 1e3 * row.energy_j * row.calls
        off = one["energy_per_loop_mj"] / alone_mj - 1
        half_mj = (one["energy_high_j"] - one["energy_low_j"]) / 2 / one["num_loops"] * 1e3
        half = math.hypot(half_mj, 1e3 * 1.959964 * row.u_j * row.calls) / alone_mj
        worst = max(worst, abs(off))
        lines.append(
            f"{one['layer_name']:22} {one['energy_per_loop_mj']:9.4f} mJ {alone_mj:9.4f} mJ {100 * off:+7.2f} % "
            f"{100 * half:5.2f} % {one['clock_mhz'] or math.nan:6.0f} {row.clock_mhz or math.nan:6.0f}"
        )
    together_mj = sum(one["energy_per_loop_mj"] for one in results)
    whole_mj = 1e3 * whole.energy_j
    lines += [
        f"farthest layer {100 * worst:.2f} %",
        f"layers together {together_mj:.3f} mJ, the whole model alone {whole_mj:.3f} mJ "
        f"(±{1e3 * 1.959964 * whole.u_j:.3f}, {whole.clock_mhz or math.nan:.0f} MHz, {whole.how}): "
        f"{100 * (together_mj / whole_mj - 1):+.2f} %",
        "",
    ]
    compared = compare_precisions(model, inputs, num_loops=100, seconds=seconds / 4, progress=False)
    compared.save(folder / "bert-precisions.csv")
    return [*lines, compared.table()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="of the figures")
    parser.add_argument("--images", type=int, default=50000, help="in the training set")
    parser.add_argument("--length", type=int, default=128, help="tokens of a text")
    parser.add_argument("--seconds", type=float, default=60.0, help="of bursts a measurement of layers")
    parser.add_argument("--out", type=Path, help="append the figures to this file")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    publish([*head("gallery, PowerDL's session"), *powerdl(args.folder, args.images)], args.out)
    publish([*head("gallery, layers of a BERT"), *layers(args.folder, args.length, args.seconds)], args.out)


if __name__ == "__main__":
    main()
