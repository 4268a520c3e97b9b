#!/usr/bin/env python3
"""Times of a training step and peak memory: examples/train in blocked layout and NHWC beside PyTorch eager in both formats.

    cargo build --release -p blocktensor-train
    python scripts/train_times.py --binary target/release/blocktensor-train
    python scripts/train_times.py --binary ... --nets resnet50 --rounds 3 --threads 1

A step is forward, backward and SGD with momentum, on a batch of 16. Each contender is a process by itself, and they take turns; a time
is the least step of all rounds, memory the process's largest resident set. It needs torch and torchvision.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH, SIZES = 16, {"resnet18": 32, "resnet50": 224, "mobilenet-v2": 224}
OURS = {
    "blocked": ["--layout", "blocked"],
    "blocked, winograd4": ["--layout", "blocked", "--algorithm", "winograd4"],
    "NHWC": ["--layout", "nhwc"],
}
TORCH = {"PyTorch": "contiguous_format", "PyTorch, channels_last": "channels_last"}


def of_torch(net: str, memory_format: str, threads: int, steps: int) -> None:
    """Prints the least time of a step in ms."""
    import torch
    import torchvision
    from torch.nn import functional as F

    from train import ResNet18

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    made = {
        "resnet18": ResNet18,
        "resnet50": lambda: torchvision.models.resnet50(num_classes=8),
        "mobilenet-v2": lambda: torchvision.models.mobilenet_v2(num_classes=8, dropout=0.0),
    }
    format_ = getattr(torch, memory_format)
    model = made[net]().to(memory_format=format_).train()
    images = torch.randn(BATCH, 3, SIZES[net], SIZES[net]).to(memory_format=format_)
    classes = torch.arange(BATCH) % 8
    sgd = torch.optim.SGD(model.parameters(), 0.01, 0.9)
    least = float("inf")
    for _ in range(steps):
        begin = time.perf_counter()
        sgd.zero_grad()
        F.cross_entropy(model(images).flatten(1), classes).backward()
        sgd.step()
        least = min(least, time.perf_counter() - begin)
    print(least * 1e3)


def run(command: list[str]) -> tuple[str, float]:
    """What a process printed, and its largest resident set in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return printed, used.ru_maxrss / 1024


def contender(args: argparse.Namespace, net: str, label: str) -> tuple[float, float]:
    threads, steps = str(args.threads), str(args.steps)
    if label in TORCH:
        own = [sys.executable, __file__, "--torch", net, TORCH[label], "--threads", threads, "--steps", steps]
        printed, memory = run(own)
        return float(printed), memory
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.json"
        common = ["--size", str(SIZES[net]), "--batches", "1", "--test-batches", "0", "--threads", threads]
        _, memory = run([args.binary, "--net", net, *common, "--steps", steps, "--log", str(log), *OURS[label]])
        return json.loads(log.read_text())[0]["least_ms"], memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the program of examples/train")
    parser.add_argument("--nets", nargs="*", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4, help="steps of a process in a round")
    parser.add_argument("--torch", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch:
        return of_torch(*args.torch, args.threads, args.steps)
    if not args.binary:
        parser.error("--binary is missing")
    for net in args.nets:
        rows: dict[str, tuple[float, float]] = {}
        for _ in range(args.rounds):
            for label in [*OURS, *TORCH]:
                got = contender(args, net, label)
                rows[label] = tuple(map(min, got, rows.get(label, got)))
        peer = min(rows[label][0] for label in TORCH)
        print(f"\n{net}, {BATCH} images of {SIZES[net]}x{SIZES[net]}, {args.threads} threads\n")
        print("| | ms a step | of PyTorch's better | MB |\n|---|---|---|---|")
        for label, (ms, memory) in rows.items():
            print(f"| {label} | {ms:.0f} | {ms / peer:.2f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
