#!/usr/bin/env python3
"""Times of each convolution and linear layer of a network, forward and backward: ours beside what PyTorch calls, oneDNN's primitives and MKL.

    python scripts/gradient_peers.py --net resnet50 --batch 16

Ours in blocked layout and in NHWC, PyTorch's in channels_last, where it hands oneDNN the tensors as they are. Linear layers have no layout. Each contender is a
process by itself, and they take turns; a time is the least of all rounds, in ms, and a row stands for all layers of its shape. It needs
torch and torchvision.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter

CONTENDERS = ["blocked", "nhwc", "torch"]
PASSES = ["forward", "by x", "by weights"]


def layers(net: str, batch: int) -> Counter:
    """The layers: x, weights, and of convolutions stride, padding, groups; and how many there are of each."""
    import torch
    import torchvision

    found: Counter = Counter()

    def note(module, inputs, _):
        dims = [batch, *inputs[0].shape[1:]]
        is_conv = isinstance(module, torch.nn.Conv2d)
        sizes = (module.stride[0], module.padding[0], module.groups) if is_conv else (1, 0, 1)
        found[(tuple(dims), tuple(module.weight.shape), *sizes)] += 1

    model = getattr(torchvision.models, net)()
    for module in model.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            module.register_forward_hook(note)
    with torch.no_grad():
        model.eval()(torch.zeros(1, 3, 224, 224))
    return found


def least(call, seconds: float) -> float:
    """Milliseconds."""
    call()
    end, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end or best == float("inf"):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def of_torch(layer, seconds: float, threads: int) -> list[float]:
    import torch

    torch.set_num_threads(threads)
    x, w, stride, padding, groups = layer
    if len(w) == 2:
        x, w = torch.randn(x), torch.randn(w)
        dy = torch.randn(x.shape[0], w.shape[0])
        calls = (lambda: torch.nn.functional.linear(x, w), lambda: dy @ w, lambda: dy.t() @ x)
        with torch.no_grad():
            return [least(call, seconds) for call in calls]
    last = torch.channels_last
    x = torch.randn(x).contiguous(memory_format=last)
    w = torch.randn(w).contiguous(memory_format=last)
    pair = ([stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups)
    with torch.no_grad():
        y = torch.ops.aten.convolution(x, w, None, *pair)
        dy = torch.randn_like(y)

        def backward(mask):
            return torch.ops.aten.convolution_backward(dy, x, w, None, *pair, mask)

        return [
            least(lambda: torch.ops.aten.convolution(x, w, None, *pair), seconds),
            least(lambda: backward([True, False, False]), seconds),
            least(lambda: backward([False, True, False]), seconds),
        ]


def of_ours(layer, kind: str, seconds: float, threads: int) -> list[float]:
    import blocktensor as bt
    import numpy as np

    x, w, stride, padding, groups = layer
    rng = np.random.default_rng(1)
    x, w = (bt.from_dlpack(rng.standard_normal(dims).astype(np.float32)) for dims in (x, w))
    op, more = "conv2d", {"stride": stride, "padding": padding, "groups": groups, "threads": threads}
    if len(w.shape) == 2:
        op, more = "linear", {"threads": threads}
    elif kind == "nhwc":
        x, w = x.contiguous("channels_last"), w.contiguous("channels_last")
    elif groups == 1:
        x, w = x.to_blocked(), w.to_blocked("OIhw16i16o")
    else:
        x, w = x.to_blocked(), w.reshape([groups, w.shape[0] // groups, *w.shape[1:]]).to_blocked("Goihw16g")
    run = getattr(bt.ops, op)
    y = run(x, w, **more)
    rest = {**more, "results": y, "diff_dst": y}
    return [
        least(lambda: run(x, w, **more), seconds),
        least(lambda: bt.grad.backward(op, x, w, wanted=["x"], **rest), seconds),
        least(lambda: bt.grad.backward(op, x, w, wanted=["weights"], **rest), seconds),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default="resnet50")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="of a call in a round")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.contender:
        for layer in json.loads(sys.stdin.read()):
            more = (args.seconds, args.threads)
            times = of_torch(layer, *more) if args.contender == "torch" else of_ours(layer, args.contender, *more)
            print(json.dumps(times), flush=True)
        return
    found = layers(args.net, args.batch)
    rows: dict[str, list[list[float]]] = {}
    for _ in range(args.rounds):
        for label in CONTENDERS:
            own = [sys.executable, __file__, "--contender", label, "--seconds", str(args.seconds)]
            own += ["--threads", str(args.threads)]
            printed = subprocess.run(own, input=json.dumps(list(found)), capture_output=True, text=True)
            if printed.returncode:
                sys.exit(printed.stderr)
            times = [json.loads(line) for line in printed.stdout.splitlines()]
            before = rows.get(label, times)
            rows[label] = [[min(a, b) for a, b in zip(*both)] for both in zip(times, before)]
    print(f"{args.net}, batch {args.batch}, {args.threads} threads: {', '.join(PASSES)}\n")
    print("| weights, x, stride | layers | blocked | NHWC | PyTorch | blocked / PyTorch |\n|---|---|---|---|---|---|")
    sums = {label: [0.0] * len(PASSES) for label in CONTENDERS}
    for i, ((x, w, stride, _, groups), count) in enumerate(found.items()):
        for label in CONTENDERS:
            sums[label] = [a + count * b for a, b in zip(sums[label], rows[label][i])]
        cells = [", ".join(f"{t:.2f}" for t in rows[label][i]) for label in CONTENDERS]
        cells.append(", ".join(f"{a / b:.2f}" for a, b in zip(rows["blocked"][i], rows["torch"][i])))
        shape = f"{'x'.join(map(str, w))}, {x[2]}, {stride}" if len(w) == 4 else f"{'x'.join(map(str, w))}, linear"
        print(f"| {shape}{' depthwise' if groups > 1 else ''} | {count} | {' | '.join(cells)} |")
    cells = [", ".join(f"{t:.0f}" for t in sums[label]) for label in CONTENDERS]
    cells.append(", ".join(f"{a / b:.2f}" for a, b in zip(sums["blocked"], sums["torch"])))
    print(f"| all | {sum(found.values())} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
