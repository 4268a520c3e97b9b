#!/usr/bin/env python3
"""Trains the networks of examples/train in PyTorch, from the same start on the same images, and compares losses and accuracies.

    python scripts/train.py --binary target/release/blocktensor-train
    python scripts/train.py --binary ... --nets unet --steps 20

The program writes the weights at the start and all images, and trains in blocked layout and in NHWC; then PyTorch trains with
torch.optim.SGD. Losses of the first 20 steps must agree to 1e-4 relative, accuracies within one point, and a linear classifier must be
at least 20 points below. The program also stops in the middle and goes on, which must give the same bits. It needs torch and numpy.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

RATE, MOMENTUM, BATCH = 0.01, 0.9, 16
DTYPES = {"F32": np.float32, "I32": np.int32}


def read(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


def conv(c: int, o: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(c, o, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    def __init__(self, c: int, o: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv(c, o, 3, stride), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = conv(o, o, 3), nn.BatchNorm2d(o)
        self.downsample = nn.Sequential(conv(c, o, 1, stride), nn.BatchNorm2d(o)) if stride > 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu((x if self.downsample is None else self.downsample(x)) + y)


class ResNet18(nn.Module):
    def __init__(self, width: int = 64, classes: int = 8) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv(3, width, 3), nn.BatchNorm2d(width)
        c = width
        for stage in range(4):
            o, stride = width << stage, 1 if stage == 0 else 2
            setattr(self, f"layer{stage + 1}", nn.Sequential(Block(c, o, stride), Block(o, o, 1)))
            c = o
        self.fc = nn.Conv2d(c, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1))


class Twice(nn.Module):
    def __init__(self, c: int, o: int, below: int | None = None) -> None:
        super().__init__()
        if below is not None:
            self.up = nn.ConvTranspose2d(below, o, 2, 2)
        self.conv1, self.bn1 = conv(c, o, 3), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = conv(o, o, 3), nn.BatchNorm2d(o)

    def forward(self, x: torch.Tensor, below: torch.Tensor | None = None) -> torch.Tensor:
        if below is not None:
            x = torch.cat([x, self.up(below)], 1)
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class UNet(nn.Module):
    def __init__(self, width: int = 16, classes: int = 3) -> None:
        super().__init__()
        w = width
        self.down1, self.down2, self.bottom = Twice(3, w), Twice(w, 2 * w), Twice(2 * w, 4 * w)
        self.up2, self.up1 = Twice(4 * w, 2 * w, 4 * w), Twice(2 * w, w, 2 * w)
        self.out = nn.Conv2d(w, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = self.down1(x)
        middle = self.down2(F.max_pool2d(top, 2))
        x = self.bottom(F.max_pool2d(middle, 2))
        return self.out(self.up1(top, self.up2(middle, x)))


NETS = {"resnet18": (ResNet18, "directions"), "unet": (UNet, "textures")}


def train(net: str, folder: Path, steps: int, memory_format: torch.memory_format) -> tuple[list[float], float, float]:
    """Losses, accuracy, and the mean time of a step in ms."""
    model = NETS[net][0]().train()
    start = read(folder / "start.safetensors")
    start.pop("train.steps")
    keys = model.load_state_dict(start, strict=False)
    left = [key for key in keys.missing_keys if not key.endswith("num_batches_tracked")] + keys.unexpected_keys
    if left:
        sys.exit(f"{net}: not the same names: {left}")
    model = model.to(memory_format=memory_format)
    data, test = read(folder / "training.safetensors"), read(folder / "test.safetensors")
    batches = sum(name.startswith("images.") for name in data)
    images = [data[f"images.{i}"].to(memory_format=memory_format) for i in range(batches)]
    classes = [data[f"classes.{i}"].long() for i in range(batches)]
    sgd = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    losses, begin = [], time.perf_counter()
    for step in range(steps):
        sgd.zero_grad()
        loss = F.cross_entropy(model(images[step % batches]), classes[step % batches])
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    step_ms = (time.perf_counter() - begin) * 1e3 / steps
    model.eval()
    right = total = 0
    with torch.no_grad():
        for i in range(sum(name.startswith("images.") for name in test)):
            of = test[f"classes.{i}"]
            right += (model(test[f"images.{i}"].to(memory_format=memory_format)).argmax(1) == of).sum().item()
            total += of.numel()
    return losses, right / total, step_ms


def run(binary: str, *args: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.json"
        subprocess.run([binary, *args, "--batch", str(BATCH), "--rate", str(RATE), "--log", str(log)], check=True)
        return json.loads(log.read_text())


def resumed(binary: str, net: str, steps: int, folder: Path) -> list[float]:
    """The losses after a stop in the middle, in blocked layout."""
    file = str(folder / "half.safetensors")
    common = ["--net", net, "--layout", "blocked"]
    run(binary, *common, "--steps", str(steps // 2), "--save", file)
    return run(binary, *common, "--steps", str(steps), "--resume", file)[0]["losses"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--nets", nargs="*", choices=list(NETS), default=list(NETS))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--svg", help="a folder for pictures of the losses")
    args = parser.parse_args()
    failed = []
    for net in args.nets:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            svg = ["--svg", str(Path(args.svg) / f"{net}.svg")] if args.svg else []
            export = ["--export", str(folder)]
            blocked, nhwc = run(args.binary, "--net", net, "--steps", str(args.steps), *export, *svg)
            linear = run(args.binary, "--net", "linear", "--task", NETS[net][1], "--layout", "nhwc", "--steps", "400")[0]
            formats = {"PyTorch": torch.contiguous_format, "PyTorch channels_last": torch.channels_last}
            rows = {"blocked": blocked, "NHWC": nhwc}
            for label, memory_format in formats.items():
                losses, accuracy, step_ms = train(net, folder, args.steps, memory_format)
                rows[label] = {"losses": losses, "accuracy": accuracy, "step_ms": step_ms}
            again = resumed(args.binary, net, args.steps, folder)
        want = rows["PyTorch"]
        print(f"\n{net}, {args.steps} steps; the linear classifier has {linear['accuracy']:.2%}")
        print("| | loss 1 | last | largest difference in 20 steps | accuracy | ms a step |\n|---|---|---|---|---|---|")
        for label, row in rows.items():
            off = max(abs(a - b) / abs(b) for a, b in zip(row["losses"][:20], want["losses"][:20]))
            print(
                f"| {label} | {row['losses'][0]:.6f} | {row['losses'][-1]:.6f} | {off:.2e} | {row['accuracy']:.2%} "
                f"| {row['step_ms']:.0f} |"
            )
            if off > 1e-4 or abs(row["accuracy"] - want["accuracy"]) > 0.01:
                failed.append(f"{net}: {label} is not as PyTorch")
            if row["accuracy"] < linear["accuracy"] + 0.2:
                failed.append(f"{net}: {label} is no better than a linear classifier")
        if again != blocked["losses"][args.steps // 2 :]:
            failed.append(f"{net}: resumed, other losses")
    print("\n".join(failed) or "\nall agree")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
