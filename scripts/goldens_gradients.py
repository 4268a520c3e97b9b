#!/usr/bin/env python3
"""Writes PyTorch's gradients into tests/data/gradients: `python3 scripts/goldens_gradients.py [--seed 7]`.

It needs a Python environment with torch; the answers in the repository were made with torch 2.15. Everything is written again. The
cases of tests/data/ops have gradients too; here are the ops that have none there, and elements at which a derivative jumps or a
quotient is 0 / 0: equal operands, zeros in a product, the bounds of a function. The losses of crates/grad have a folder of their own.

A case is a dictionary of parameters and one of tensors, named as in the op's schema, with the function in PyTorch. The operands of a
list are `x0`, `x1` ..., several results are `y0`, `y1` ... with the gradients `dy0`, `dy1` .... Gradients are computed in f64 from
inputs that f32 can hold.
"""

import argparse
import itertools
import json
import math
import struct
from pathlib import Path

import torch
import torch.nn.functional as F

from goldens import json_value, write_tensors

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "gradients"

# Full blocks of channels and a rest, fewer than a block, and more than one block.
SHAPES = [(2, 17, 3, 2), (1, 3, 4, 5), (1, 33, 2, 1)]


def unary():
    """Ops of one operand, some with the values at which they bend."""
    between, positive = (-4.0, 4.0), (0.3, 3.0)
    ops = {
        "selu": (F.selu, {}, between, [0.0]),
        "celu": (lambda x: F.celu(x, 0.7), {"alpha": 0.7}, between, [0.0]),
        "logit": (lambda x: torch.logit(x, 0.1), {"eps": 0.1}, (0.0, 1.0), [0.05, 0.95]),
        "rsqrt": (torch.rsqrt, {}, positive, []),
        "sin": (torch.sin, {}, between, [0.0]),
        "cos": (torch.cos, {}, between, [0.0]),
        "erf": (torch.erf, {}, between, [0.0]),
        "sign": (torch.sign, {}, between, [0.0]),
        "floor": (torch.floor, {}, between, [1.0]),
        "ceil": (torch.ceil, {}, between, [1.0]),
        "softsign": (F.softsign, {}, between, [0.0]),
        "relu": (F.relu, {}, between, [0.0]),
        "relu6": (F.relu6, {}, between, [0.0, 6.0, 7.0]),
        "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), {"slope": 0.2}, between, [0.0]),
        "elu": (lambda x: F.elu(x, 0.5), {"alpha": 0.5}, between, [0.0]),
        "hardsigmoid": (F.hardsigmoid, {}, between, [-3.0, 3.0]),
        "hardswish": (F.hardswish, {}, between, [-3.0, 3.0]),
        "hardtanh": (lambda x: F.hardtanh(x, -0.5, 2.0), {"min": -0.5, "max": 2.0}, between, [-0.5, 2.0]),
        "clamp": (lambda x: x.clamp(-1.0, 1.5), {"min": -1.0, "max": 1.5}, between, [-1.0, 1.5]),
        "abs": (torch.abs, {}, between, [0.0]),
        "pow_scalar": (lambda x: x.pow(3.0), {"other": 3.0}, between, [0.0]),
        "add_scalar": (lambda x: x + 1.5, {"other": 1.5}, between, []),
        "sub_scalar": (lambda x: x - 1.5, {"other": 1.5}, between, []),
        "mul_scalar": (lambda x: x * -2.5, {"other": -2.5}, between, []),
        "div_scalar": (lambda x: x / 4.0, {"other": 4.0}, between, []),
    }
    for number, (op, (call, params, (low, high), special)) in enumerate(ops.items()):
        x = torch.rand(SHAPES[number % 3]) * (high - low) + low
        x.view(-1)[: len(special)] = torch.tensor(special)
        yield op, params, {"x": x}, call
    for power in (0.0, 1.0, 2.0, -1.5, 0.5):
        x = torch.rand(SHAPES[0]) * 3 + 0.2
        if power >= 1 or power == 0:
            x[0, 0] = 0.0
        yield "pow_scalar", {"other": power}, {"x": x}, lambda x, power=power: x.pow(power)


def unusual():
    """NaN, infinity and signed zeros, and the bounds of functions."""
    inf = math.inf
    x = torch.tensor([math.nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 7.0, 0.5, -0.5, 2.0, -2.0, 4.0, -4.0])
    functions = [F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, F.celu, F.hardtanh, F.hardsigmoid, F.hardswish]
    functions += [torch.abs, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.log, torch.exp, torch.square]
    for call in functions:
        yield call.__name__, {}, {"x": x.view(1, 17, 1, 1)}, call
    for power in (0.5, 1.5, -0.5, -1.0, -2.0, 3.0):
        yield "pow_scalar", {"other": power}, {"x": x.view(1, 17, 1, 1)}, lambda x, power=power: x.pow(power)


def binary():
    for op, call in [("maximum", torch.maximum), ("minimum", torch.minimum)]:
        for shape in [(2, 17, 3, 2), (1, 17, 1, 1)]:
            # Whole numbers, so that many are equal.
            a, b = torch.randint(-2, 3, (2, 17, 3, 2)).float(), torch.randint(-2, 3, shape).float()
            yield op, {}, {"x": a, "z": b}, call
    base, exponent = torch.rand(2, 17, 3, 2) * 3, torch.rand(2, 17, 3, 2) * 4 + 1
    base[0, 0], exponent[0, 1, 0] = 0.0, 0.0
    yield "pow", {}, {"x": base, "z": exponent}, torch.pow
    for op, call in [("add_channel", torch.add), ("mul_channel", torch.mul)]:
        x, values = torch.randn(2, 17, 3, 2), torch.randn(17)
        yield op, {}, {"x": x, "values": values}, lambda x, v, call=call: call(x, v.view(1, -1, 1, 1))
    x, slopes = torch.randn(2, 17, 3, 2), torch.randn(17)
    x[:, 2] = 0.0
    yield "prelu", {}, {"x": x, "weights": slopes}, F.prelu


def reductions():
    axes = [[2, 3], [1], [0, 1, 2, 3], [0, 3]]
    for list_of in axes:
        for op, call in [("amin", torch.amin), ("amax", torch.amax)]:
            x = torch.randint(-2, 3, (2, 17, 3, 2)).float()
            yield op, {"axes": list_of, "keepdim": True}, {"x": x}, lambda x, c=call, a=list_of: c(x, a, True)
    for axis, zeros in itertools.product([1, 3], [0, 1, 5]):
        x = torch.rand(2, 17, 3, 4) + 0.5
        x.view(-1)[torch.randperm(x.numel())[: zeros * 12]] = 0.0
        yield "prod", {"axes": [axis], "keepdim": True}, {"x": x}, lambda x, a=axis: x.prod(a, True)


def batch_norm(x, mean, var, weight, bias):
    """By its definition: PyTorch's has no gradient by the statistics."""
    mean, var, weight, bias = (t.view(1, -1, 1, 1) for t in (mean, var, weight, bias))
    return (x - mean) / torch.sqrt(var + 1e-3) * weight + bias


def norms():
    for shape in SHAPES:
        c, x = shape[1], torch.randn(shape) + 2.0
        mean, var, weight, bias = torch.randn(c), torch.rand(c) + 0.2, torch.randn(c), torch.randn(c)
        tensors = {"x": x, "mean": mean, "var": var, "weight": weight, "bias": bias}
        yield "batch_norm", {"eps": 1e-3}, tensors, batch_norm
    for shape in [(5, 7), (4, 3, 6)]:
        x, weight, bias = torch.randn(shape), torch.randn(shape[-1]), torch.randn(shape[-1])
        call = lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, 1e-3)
        params = {"normalized_shape": [shape[-1]], "eps": 1e-3}
        yield "layer_norm", params, {"x": x, "weight": weight, "bias": bias}, call
    for size, beta in [(3, 0.75), (4, 0.5), (40, 0.6)]:
        params = {"size": size, "alpha": 0.5, "beta": beta, "k": 1.5}
        call = lambda x, s=size, b=beta: F.local_response_norm(x, s, 0.5, b, 1.5)
        yield "local_response_norm", params, {"x": torch.randn(1, 17, 3, 2)}, call


def resampling():
    for mode, padding, align in itertools.product(
        ["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], (False, True)
    ):
        x, grid = torch.randn(1, 17, 3, 4), torch.rand(1, 3, 4, 2) * 3.4 - 1.7
        params = {"mode": mode, "padding_mode": padding, "align_corners": align}
        call = lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a)
        yield "grid_sample", params, {"x": x, "grid": grid}, call
    for padding, align in itertools.product(["zeros", "border", "reflection"], (False, True)):
        x, grid = torch.randn(1, 3, 3, 2, 4), torch.rand(1, 2, 2, 3, 3) * 3.4 - 1.7
        params = {"mode": "bilinear", "padding_mode": padding, "align_corners": align}
        call = lambda x, g, p=padding, a=align: F.grid_sample(x, g, "bilinear", p, a)
        yield "grid_sample", params, {"x": x, "grid": grid}, call
    for op, mode, shape, to in [
        ("upsample_linear", "linear", (2, 17, 5), (9,)),
        ("upsample_bilinear", "bilinear", (1, 17, 4, 3), (5, 7)),
        ("upsample_trilinear", "trilinear", (1, 17, 2, 3, 2), (3, 2, 5)),
    ]:
        for align in (False, True):
            params = {"output": list(to), "align_corners": align}
            yield op, params, {"x": torch.randn(shape)}, lambda x, m=mode, t=to, a=align: F.interpolate(x, t, None, m, a)


def moves():
    x = torch.randn(1, 17, 4, 5)
    for mode in ("reflect", "replicate", "circular"):
        call = lambda x, m=mode: F.pad(x, (2, 3, 1, 0), m)
        yield "pad", {"padding": [2, 3, 1, 0], "mode": mode}, {"x": x}, call
    yield "cumsum", {"axis": 1}, {"x": x}, lambda x: x.cumsum(1)
    yield "roll", {"shifts": [2, -1], "axes": [1, 3]}, {"x": x}, lambda x: x.roll((2, -1), (1, 3))
    yield "flip", {"axes": [1, 2]}, {"x": x}, lambda x: x.flip((1, 2))
    yield "tril", {"diagonal": 1}, {"x": x}, lambda x: x.tril(1)
    yield "pixel_unshuffle", {"factor": 2}, {"x": torch.randn(1, 17, 4, 2)}, lambda x: F.pixel_unshuffle(x, 2)


def transposed():
    """Transposed convolutions, also of groups and with a rest of output."""
    for op, call, size, kernel in [
        ("conv_transpose1d", F.conv_transpose1d, (5,), (3,)),
        ("conv_transpose3d", F.conv_transpose3d, (2, 3, 2), (2, 1, 2)),
    ]:
        axes = len(size)
        for groups, stride, padding, output_padding, dilation in [(1, 2, 1, 1, 1), (2, 1, 0, 0, 2), (1, 3, 0, 0, 1)]:
            x, b = torch.randn(1, 6 * groups, *size), torch.randn(5 * groups)
            w = torch.randn(6 * groups, 5, *kernel)
            lists = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
            params = {name: [value] * axes for name, value in lists.items()}
            yield op, {**params, "groups": groups}, {"x": x, "w": w, "b": b}, (
                lambda x, w, b, f=call, p=(stride, padding, output_padding, groups, dilation): f(x, w, b, *p)
            )


def pools():
    for axes, (size, to) in enumerate([((7,), (3,)), ((5, 4), (2, 3)), ((3, 4, 5), (2, 2, 3))], 1):
        for kind in ("max", "avg"):
            call = getattr(F, f"adaptive_{kind}_pool{axes}d")
            x = torch.randn(1, 17, *size)
            yield f"adaptive_{kind}_pool{axes}d", {"output": list(to)}, {"x": x}, lambda x, f=call, t=to: f(x, t)
    x = torch.randn(2, 17, 3, 4)
    yield "global_max_pool", {}, {"x": x}, lambda x: x.amax((2, 3), True)
    yield "global_avg_pool", {}, {"x": x}, lambda x: x.mean((2, 3), True)


def lists():
    """Several operands, or several results."""
    for axis, sizes in [(1, [17, 3, 16]), (2, [1, 4, 2]), (0, [1, 2, 1])]:
        shapes = [[size if i == axis else rest for i, rest in enumerate((2, 3, 3, 2))] for size in sizes]
        inputs = {f"x{i}": torch.randn(shape) for i, shape in enumerate(shapes)}
        yield "cat", {"dim": axis}, inputs, lambda *x, a=axis: torch.cat(x, a)
    # Blocked tensors can be stacked behind their channels.
    for axis, shape in [(0, (17, 3)), (1, (17, 3)), (2, (2, 17, 3)), (3, (2, 17, 3)), (2, (1, 17, 2, 3))]:
        inputs = {f"x{i}": torch.randn(shape) for i in range(3)}
        yield "stack", {"dim": axis}, inputs, lambda *x, a=axis: torch.stack(x, a)
    x = torch.randn(1, 19, 4, 3)
    for axis, sizes in [(1, [16, 3]), (1, [5, 14]), (2, [1, 3]), (3, [1, 1, 1])]:
        yield "split", {"sizes": sizes, "axis": axis}, {"x": x}, lambda x, s=sizes, a=axis: x.split(s, a)
    for axis, count in [(1, 3), (2, 2)]:
        yield "chunk", {"chunks": count, "dim": axis}, {"x": x}, lambda x, n=count, a=axis: x.chunk(n, a)


def places():
    """Ops that choose elements, by an order, indices or a condition."""
    # No two elements are the same.
    x = torch.randperm(2 * 17 * 3 * 4).view(2, 17, 3, 4) / 50.0 - 4.0
    for axis, descending in [(1, False), (3, True)]:
        params = {"axis": axis, "descending": descending}
        yield "sort", params, {"x": x}, lambda x, a=axis, d=descending: x.sort(a, d)
    for axis, k, largest in [(1, 5, True), (2, 2, False)]:
        params = {"axis": axis, "k": k, "largest": largest}
        yield "topk", params, {"x": x}, lambda x, a=axis, k=k, l=largest: x.topk(k, a, l)
    index = torch.randint(0, 17, (2, 9, 3, 4)).float()
    yield "gather", {"axis": 1}, {"x": x, "index": index}, lambda x, i: x.gather(1, i.long())
    index = torch.tensor([3.0, 0.0, 3.0, 16.0, 3.0])
    yield "index_select", {"axis": 1}, {"x": x, "index": index}, lambda x, i: x.index_select(1, i.long())
    for a, b in [((2, 17, 3, 2), (2, 17, 3, 2)), ((2, 1, 3, 1), (1, 17, 1, 2))]:
        inputs = {"condition": torch.randint(0, 2, (2, 17, 3, 2)).float(), "a": torch.randn(a), "b": torch.randn(b)}
        yield "where", {}, inputs, lambda c, a, b: torch.where(c.bool(), a, b)
    inputs = {"a": torch.randn(2, 17, 3, 2), "b": torch.randn(1, 17, 1, 1)}
    yield "axpby", {"alpha": 0.7, "beta": -1.3}, inputs, lambda a, b: 0.7 * a - 1.3 * b


def views():
    x = torch.randn(2, 6, 3, 4)
    for op, params, call in [
        ("permute", {"axes": [2, 0, 3, 1]}, lambda x: x.permute(2, 0, 3, 1)),
        ("transpose", {"a": 1, "b": 3}, lambda x: x.transpose(1, 3)),
        ("narrow", {"axis": 1, "start": 2, "length": 3}, lambda x: x.narrow(1, 2, 3)),
        ("slice", {"axis": 3, "start": 1, "step": 2}, lambda x: x[..., 1::2]),
        ("select", {"axis": 1, "index": -1}, lambda x: x.select(1, -1)),
        ("expand", {"dims": [3, 2, 6, 3, 4]}, lambda x: x.expand(3, 2, 6, 3, 4)),
        ("unsqueeze", {"axis": 2}, lambda x: x.unsqueeze(2)),
        ("flatten", {"start": 1, "end": 2}, lambda x: x.flatten(1, 2)),
        ("reshape", {"dims": [4, -1, 9]}, lambda x: x.reshape(4, -1, 9)),
        ("triu", {"diagonal": -1}, lambda x: x.triu(-1)),
        ("to_dtype", {"dtype": "f32"}, lambda x: x.float()),
    ]:
        yield op, params, {"x": x}, call
    # Row-major alone has a view of these sizes.
    yield "view", {"dims": [2, 3, 2, 3]}, {"x": torch.randn(6, 6)}, lambda x: x.view(2, 3, 2, 3)
    yield "squeeze", {"axis": 1}, {"x": torch.randn(2, 1, 3, 4)}, lambda x: x.squeeze(1)
    for groups in (2, 17):
        x = torch.randn(1, 34, 2, 3)
        yield "channel_shuffle", {"groups": groups}, {"x": x}, lambda x, g=groups: (
            x.unflatten(1, (g, -1)).transpose(1, 2).flatten(1, 2)
        )


def losses():
    """Ops of crates/grad."""
    for shape in [(5, 7), (2, 17, 3, 2), (1, 1, 3)]:
        target = torch.randint(0, shape[1], shape[:1] + shape[2:]).float()
        inputs = {"x": torch.randn(shape) * 3, "target": target}
        yield "cross_entropy", {}, inputs, lambda x, t: F.cross_entropy(x, t.long())
    for shape in [(5,), (2, 17, 3, 2)]:
        yield "mse_loss", {}, {"x": torch.randn(shape), "target": torch.randn(shape)}, F.mse_loss


FAMILIES = [unary, binary, reductions, norms, resampling, moves, unusual]
FAMILIES += [transposed, pools, lists, places, views]

# Tensors that nothing is differentiated by. The target of a mean-squared loss is.
INTEGERS = {"condition", "index"}


def names_of(letter, results):
    """The names of the results, or of their gradients: numbered where there are several."""
    return [letter] if len(results) == 1 else [f"{letter}{i}" for i in range(len(results))]


def write(folder, families):
    lines, tensors = [], []
    cases = ((family, *case) for family in families for case in family())
    for number, (family, op, params, inputs, call) in enumerate(cases):
        integers = INTEGERS | ({"target"} if op == "cross_entropy" else set())
        wide = {name: t.double().requires_grad_(name not in integers) for name, t in inputs.items()}
        results = call(*wide.values())
        values = dict(inputs)
        if op in ("sort", "topk"):
            results, indices = results
            values["y_indices"] = indices.float()
        results = [results] if torch.is_tensor(results) else list(results)
        diffs = [torch.randn(y.shape) for y in results]
        by = [name for name in inputs if name not in integers]
        made = torch.autograd.grad(
            results, [wide[name] for name in by], [d.to(y.dtype) for d, y in zip(diffs, results)], allow_unused=True
        )
        values.update(zip(names_of("y", results), (y.detach().float() for y in results)))
        values.update(zip(names_of("dy", results), diffs))
        for name, gradient in zip(by, made):
            values[f"d{name}"] = torch.zeros_like(inputs[name]) if gradient is None else gradient.float()
        case = f"{op}.{number}"
        shapes = {name: list(value.shape) for name, value in values.items()}
        params = {name: json_value(value) for name, value in params.items()}
        lines.append(json.dumps({"case": case, "op": op, "params": params, "tensors": shapes}))
        for name, value in values.items():
            numbers = value.flatten().tolist()
            assert family is unusual or all(math.isfinite(v) for v in numbers), (case, name)
            tensors.append((f"{case}.{name}", "F32", shapes[name], struct.pack(f"<{len(numbers)}f", *numbers)))
    folder.mkdir(exist_ok=True)
    (folder / "index.jsonl").write_text("\n".join(lines) + "\n")
    write_tensors(folder / "ops.safetensors", tensors, None)
    print(f"{len(lines)} cases in {folder.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    torch.manual_seed(parser.parse_args().seed)
    write(FOLDER, FAMILIES)
    write(FOLDER / "losses", [losses])


if __name__ == "__main__":
    main()
