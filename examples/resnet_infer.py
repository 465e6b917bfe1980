"""Run a network of ResNet-50's shape on random images, and show where the joules went.

    python examples/resnet_infer.py
    joulemap record -o resnet.joulemap -- python examples/resnet_infer.py --seconds 30
    JOULEMAP_SIM=h200 python examples/resnet_infer.py   # no GPU: the simulated board, small images

On CUDA: bf16, channels last, batches of 256 images of 224 x 224.
"""

from __future__ import annotations

import argparse
import time

import joulemap
import torch
from torch import Tensor, nn


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        out: Tensor = self.relu(self.bn3(self.conv3(x)) + shortcut)
        return out


class ResNet(nn.Module):
    def __init__(self, depths: tuple[int, ...] = (3, 4, 6, 3), classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        inputs = 64
        stages = []
        for stage, depth in enumerate(depths):
            width = 64 * 2**stage
            blocks = []
            for block in range(depth):
                blocks.append(Bottleneck(inputs, width, stride=2 if stage > 0 and block == 0 else 1))
                inputs = width * Bottleneck.expansion
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        out: Tensor = self.fc(self.avgpool(x).flatten(1))
        return out


def parse_arguments(cuda: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=0, help="batches (default: as many as fit --seconds)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to run when --steps is not given")
    parser.add_argument("--batch", type=int, default=256 if cuda else 4, help="images in a batch")
    parser.add_argument("--size", type=int, default=224 if cuda else 96, help="edge of an image in pixels")
    parser.add_argument("--rows", type=int, default=40, help="rows of the table to print")
    parser.add_argument("--sim", help="simulated board (h200), instead of the machine's own")
    parser.add_argument("--out", help="write the recording to this file")
    return parser.parse_args()


@torch.inference_mode()
def main() -> None:
    cuda = torch.cuda.is_available()
    args = parse_arguments(cuda)
    device = torch.device("cuda" if cuda else "cpu")
    dtype = torch.bfloat16 if cuda else torch.float32
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = ResNet().eval().to(device, dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = torch.randn(args.batch, 3, args.size, args.size, device=device, dtype=dtype)
    images = images.contiguous(memory_format=torch.channels_last)

    with joulemap.Session(path=args.out, sim=args.sim, overwrite=True) as run:
        run.watch(model)
        with run.phase("warmup"):
            for _ in range(3):
                model(images).sum().item()
        done = 0
        begin = time.monotonic()
        with run.phase("infer"):
            while done < args.steps if args.steps else time.monotonic() - begin < args.seconds:
                with run.step(samples=args.batch):
                    out = model(images)
                done += 1
                if not args.steps and done % 10 == 0:
                    out.sum().item()  # wait for the GPU: launches alone return too early
            out.sum().item()
        seconds = time.monotonic() - begin
        report = run.report(by="layer", phase="infer")
    print(f"{device}: {done * args.batch} images in {seconds:.2f} s, {done * args.batch / seconds:.0f} images/s")
    print(report.table(limit=args.rows))
    energy_j = report.totals.total_energy_j
    if energy_j is not None:
        print(f"{energy_j / (done * args.batch):.4f} J an image, idle time included")


if __name__ == "__main__":
    main()
