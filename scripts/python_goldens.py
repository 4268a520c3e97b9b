#!/usr/bin/env python3
"""Writes small exported programs with PyTorch's answers into crates/python/tests/data: `make python` tests them without torch.

    PYTHONPATH=... python scripts/python_goldens.py     # an environment with torch and blocktensor

Each file has the calls of `blocktensor.Model` that `blocktensor.torch` made (JSON), their constants, an input and the answer.
"""

import json
from pathlib import Path

import blocktensor.torch._lower as lower
import numpy as np
import torch
from blocktensor.torch._export import export
from torch import nn
from torch.nn import functional as F

DATA = Path(__file__).resolve().parent.parent / "crates/python/tests/data"


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 20, 3, 2, 1, bias=False), nn.BatchNorm2d(20)
        self.conv2, self.bn2 = nn.Conv2d(20, 20, 3, 1, 1), nn.BatchNorm2d(20)
        self.fc = nn.Linear(20, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        x = F.relu(self.bn2(self.conv2(x)) + x, inplace=True)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Inverted(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand, self.depthwise = nn.Conv2d(8, 24, 1), nn.Conv2d(24, 24, 3, 1, 1, groups=24)
        self.down, self.up, self.project = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1), nn.Conv2d(24, 8, 1)

    def forward(self, x):
        y = F.hardswish(self.depthwise(F.relu6(self.expand(x))))
        scale = F.hardsigmoid(self.up(F.silu(self.down(y.mean((2, 3), keepdim=True)))))
        return self.project(y * scale) + x


class Shuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(8, 8, 1)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        y = torch.cat([self.left(a), F.gelu(self.right(b))], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.norm = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.token = nn.Parameter(torch.randn(1, 1, 16))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return (x + self.out(y))[:, 0]


PROGRAMS = {
    "residual": (Residual, (2, 3, 17, 19)),
    "inverted": (Inverted, (1, 8, 9, 11)),
    "shuffle": (Shuffle, (1, 16, 6, 7)),
    "attention": (Attention, (2, 3, 16, 16)),
}


class Recorder:
    """Takes the place of a `blocktensor.Model`, and keeps its calls."""

    def __init__(self):
        self.calls, self.arrays = [], {}

    def constant(self, name, tensor):
        self.arrays[f"constant:{name}"] = tensor.numpy()
        self.calls.append(["constant", name])

    def __getattr__(self, name):
        return lambda *args: self.calls.append([name, *args])


def main() -> None:
    DATA.mkdir(exist_ok=True)
    for name, (kind, shape) in PROGRAMS.items():
        torch.manual_seed(24)
        model, x = kind().eval(), torch.randn(shape)
        for buffer_name, buffer in model.named_buffers():
            if "running_" in buffer_name:
                buffer.uniform_(0.5, 1.5)
        program = export(model, x)
        lowering = lower.Lowering(program)
        recorder = lowering.model = Recorder()
        for node in program.inputs:
            lowering.input(node)
        for node in program.nodes:
            assert lowering.lower(node), lowering.missing
        lowering.output("y", lowering.values[program.outputs[0]])
        with torch.no_grad():
            # PyTorch in f64: the answer that rounding does not touch.
            answer = kind.forward(model.double(), x.double()).float().numpy()
        arrays = recorder.arrays | {"x": x.numpy(), "y": answer, "calls": np.array(json.dumps(recorder.calls))}
        np.savez_compressed(DATA / f"{name}.npz", **arrays)
        print(name, (DATA / f"{name}.npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
