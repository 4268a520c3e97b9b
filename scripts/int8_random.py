#!/usr/bin/env python3
"""Random quantised networks beside ONNX Runtime: `python scripts/int8_random.py --count 300`.

Each has QuantizeLinear and DequantizeLinear around random layers (or QLinearConv and QLinearMatMul), with u8 and s8, odd zero points,
scales of tensors and of channels. What each node computes is ONNX Runtime's, node by node without its optimiser: a network whose
results are further off than flipped ties explain is written to `--keep`. It needs onnx, onnxruntime, numpy and blocktensor.
"""

import argparse
import random
import sys
from pathlib import Path

import blocktensor as bt
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

OPSET = 17
#: Where a number is rounded to the other side, what follows is off by a step or two: of the largest number, and as an L2 norm.
MOST, NORM = 0.1, 0.04


def session(model: onnx.ModelProto, optimised: bool) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Network:
    """A network and the value of each of its tensors."""

    def __init__(self, seed: int) -> None:
        self.draw, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.values: dict[str, np.ndarray] = {}
        self.inputs: list[str] = []

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def value(self, name: str) -> np.ndarray:
        return self.values[name] if name in self.values else self.constants[name]

    def add(self, op: str, inputs: list[str], **attributes: object) -> str:
        node = helper.make_node(op, inputs, [f"{op.lower()}{len(self.nodes)}"], **attributes)
        one = Network(0)
        one.nodes, one.inputs = [node], [x for x in dict.fromkeys(inputs) if x]
        one.values = {x: self.value(x) for x in one.inputs}
        feeds = {x: self.value(x) for x in one.inputs}
        (made,) = session(one.model(node.output), optimised=False).run(None, feeds)
        self.nodes.append(node)
        self.values[node.output[0]] = made
        return str(node.output[0])

    def model(self, outputs: list[str]) -> onnx.ModelProto:
        def info(name: str) -> onnx.ValueInfoProto:
            x = self.values.get(name)
            if x is None:
                return onnx.ValueInfoProto(name=name)
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)

        constants = [numpy_helper.from_array(x, name) for name, x in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", list(map(info, self.inputs)), list(map(info, outputs)), constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)

    # Quantised tensors.

    def range_of(self, x: np.ndarray, dtype: np.dtype) -> tuple[np.float32, np.generic]:
        """A scale and a zero point: mostly those of the tensor's range, sometimes of less or more."""
        low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
        span = max(high - low, 1e-3) * self.draw.choice([1.0, 1.0, 1.0, 0.6, 1.7])
        scale = np.float32(span / 255)
        limits = np.iinfo(dtype)
        way = self.draw.random()
        at = round(limits.min - low / float(scale)) if way < 0.7 else self.draw.randint(limits.min, limits.max)
        if way > 0.9:
            at = self.draw.choice([limits.min, limits.max, 0])
        return scale, dtype.type(min(max(at, limits.min), limits.max))

    def quantised(self, x: str, dtype: np.dtype | None = None) -> tuple[str, str, str]:
        """The integers of a tensor, their scale and zero point."""
        dtype = dtype or np.dtype(self.draw.choice([np.uint8, np.uint8, np.int8]))
        scale, zero_point = map(self.constant, self.range_of(self.value(x), dtype))
        return self.add("QuantizeLinear", [x, scale, zero_point]), scale, zero_point

    def rounded(self, x: str) -> str:
        return self.add("DequantizeLinear", [*self.quantised(x)])

    def weights(self, shape: tuple[int, ...], axis: int) -> tuple[str, str, str]:
        """Weights as integers, with a scale for all or one for each index of the axis."""
        dtype = np.dtype(self.draw.choice([np.int8, np.int8, np.uint8]))
        limits = np.iinfo(dtype)
        values = self.numbers.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)
        if self.draw.random() < 0.2:
            values = np.where(self.numbers.random(shape) < 0.5, limits.max, limits.min).astype(dtype)
        count = shape[axis] if self.draw.random() < 0.6 else 0
        scale = self.numbers.uniform(1e-3, 2e-2, count or None)
        at = self.draw.choice([0, 0, 0, 3, -7]) if dtype == np.int8 else self.draw.choice([128, 128, 127, 0, 255, 100])
        zero_point = np.full(count, at, dtype) if count else np.array(at, dtype)
        if count and self.draw.random() < 0.2:
            zero_point = self.numbers.integers(limits.min, limits.max, count, endpoint=True).astype(dtype)
        return self.constant(values), self.constant(np.asarray(scale, np.float32)), self.constant(zero_point)

    # Layers.

    def convolution(self, x: str) -> str:
        dims, draw = self.value(x).shape, self.draw
        spatial = len(dims) - 2
        groups = draw.choice([1, 1, 1, dims[1], *(g for g in (2, 3, 4) if dims[1] % g == 0)])
        outputs = groups * draw.choice([1, 2, 3]) if groups > 1 else draw.choice([1, 3, 8, 16, 17, 24, 32, 40])
        kernel = [draw.choice([1, 1, 2, 3, 3, 5]) for _ in range(spatial)]
        kernel = [min(k, d) for k, d in zip(kernel, dims[2:], strict=True)]
        options = {"kernel_shape": kernel, "group": groups, "strides": [draw.choice([1, 1, 1, 2]) for _ in kernel]}
        if draw.random() < 0.7:
            options["pads"] = [draw.randint(0, k - 1) for k in kernel * 2]
        if draw.random() < 0.2 and all(d >= 2 * k for d, k in zip(dims[2:], kernel, strict=True)):
            options["dilations"] = [2 for _ in kernel]
        transposed = draw.random() < 0.15
        shape = (dims[1], outputs // groups, *kernel) if transposed else (outputs, dims[1] // groups, *kernel)
        axis = 1 if transposed and groups == 1 else 0
        if draw.random() < 0.25 and not transposed:
            return self.operator(x, shape, options)
        parts = self.weights(shape, axis)
        per_axis = {"axis": axis} if self.value(parts[1]).ndim else {}
        if transposed and groups > 1 and per_axis:
            parts, per_axis = (parts[0], self.constant(np.float32(0.01)), self.constant(self.value(parts[2]).dtype.type(1))), {}
        weights = self.add("DequantizeLinear", [*parts], **per_axis)
        bias = []
        if draw.random() < 0.6:
            numbers = self.numbers.standard_normal(outputs).astype(np.float32)
            bias = [self.constant(numbers)]
            scale = self.value(x_scale) if (x_scale := self.scale_of(x)) else None
            if draw.random() < 0.7 and scale is not None and axis == 0:
                product = np.broadcast_to(scale * self.value(parts[1]), (outputs,)).astype(np.float32)
                sums = np.round(numbers / product).clip(-(2**31) + 1, 2**31 - 1).astype(np.int32)
                bias = [self.add("DequantizeLinear", [self.constant(sums), self.constant(product), self.constant(np.zeros(outputs, np.int32))], axis=0)]
        return self.add("ConvTranspose" if transposed else "Conv", [x, weights, *bias], **options)

    def scale_of(self, x: str) -> str | None:
        node = next((node for node in self.nodes if node.output[0] == x and node.op_type == "DequantizeLinear"), None)
        return node.input[1] if node is not None and self.value(node.input[1]).ndim == 0 else None

    def operator(self, x: str, shape: tuple[int, ...], options: dict[str, object]) -> str:
        """QLinearConv: its result is dequantised."""
        integers, scale, at = self.quantised(x)
        w, w_scale, w_at = self.weights(shape, 0)
        if self.value(w_at).ndim and len(set(self.value(w_at).tolist())) > 1:
            w_at = self.constant(np.full_like(self.value(w_at), self.value(w_at)[0]))
        if self.value(integers).dtype == np.int8 and self.value(w).dtype == np.uint8:
            # ONNX Runtime has no kernel for it.
            w, w_at = self.constant(self.value(w).astype(np.int8)), self.constant(self.value(w_at).astype(np.int8))
        product = self.value(scale) * self.value(w_scale)
        as_numbers = [self.add("DequantizeLinear", [integers, scale, at])]
        as_numbers.append(self.add("DequantizeLinear", [w, w_scale, w_at], **({"axis": 0} if product.ndim else {})))
        trial = self.value(self.add("Conv", as_numbers, **options))
        del self.nodes[-3:]
        y_scale, y_at = map(self.constant, self.range_of(trial, self.value(integers).dtype))
        inputs = [integers, scale, at, w, w_scale, w_at, y_scale, y_at]
        if self.draw.random() < 0.5:
            inputs.append(self.constant(self.numbers.integers(-9999, 9999, shape[0]).astype(np.int32)))
        made = self.add("QLinearConv", inputs, **options)
        return self.add("DequantizeLinear", [made, y_scale, y_at])

    def product(self, x: str) -> str:
        flat = self.add("Flatten", [x]) if self.value(x).ndim != 2 else x
        columns, outputs = self.value(flat).shape[1], self.draw.choice([1, 5, 16, 33])
        if self.draw.random() < 0.3:
            a, b = self.quantised(flat), self.weights((columns, outputs), 1)
            b = (b[0], self.constant(np.float32(0.01)), self.constant(self.value(b[2]).ravel()[0]))
            if self.value(a[0]).dtype == np.int8 and self.value(b[0]).dtype == np.uint8:
                b = (self.constant(self.value(b[0]).astype(np.int8)), b[1], self.constant(self.value(b[2]).astype(np.int8)))
            y = self.constant(np.float32(self.draw.uniform(0.5, 5))), self.constant(self.value(a[2]))
            return self.add("DequantizeLinear", [self.add("QLinearMatMul", [*a, *b, *y]), *y])
        b = self.weights((columns, outputs), 1)
        weights = self.add("DequantizeLinear", [*b], **({"axis": 1} if self.value(b[1]).ndim else {}))
        if self.draw.random() < 0.5:
            return self.add("MatMul", [flat, weights])
        return self.add("Gemm", [flat, weights, self.constant(self.numbers.standard_normal(outputs).astype(np.float32))])

    def plain(self, x: str) -> str:
        """A layer without weights."""
        dims, draw = self.value(x).shape, self.draw
        ops = ["Relu", "Relu", "Clip", "LeakyRelu", "Sigmoid", "HardSwish", "PRelu", "Mul", "Twice", "Softmax", "BatchNormalization"]
        if len(dims) > 2:
            ops += ["MaxPool", "MaxPool", "AveragePool", "GlobalAveragePool", "Transpose", "Pad", "Slice", "Resize", "Concat"]
        op = draw.choice(ops)
        kernel = [min(draw.choice([2, 3]), d) for d in dims[2:]]
        channels = (dims[1], *[1] * (len(dims) - 2))
        vector = self.constant(self.numbers.uniform(0.1, 1.5, dims[1]).astype(np.float32))
        if op == "Clip":
            low, high = draw.choice([(0, 6), (-1, 1), (0, 3e38), (-2, 0.5)])
            return self.add(op, [x, *(self.constant(np.float32(v)) for v in (low, high))])
        if op == "LeakyRelu":
            return self.add(op, [x], alpha=draw.choice([0.01, 0.3, -0.5]))
        if op in ("PRelu", "Mul"):
            return self.add(op, [x, self.constant(self.numbers.uniform(-1, 1, channels).astype(np.float32))])
        if op == "Twice":
            return self.add("Add", [x, self.rounded(x)])
        if op == "BatchNormalization":
            return self.add(op, [x, vector, vector, vector, vector])
        if op in ("MaxPool", "AveragePool"):
            pads = [draw.randint(0, k - 1) for k in kernel * 2] if draw.random() < 0.5 else [0] * (2 * len(kernel))
            strides = [draw.choice([1, 2]) for _ in kernel]
            return self.add(op, [x], kernel_shape=kernel, pads=pads, strides=strides, ceil_mode=draw.choice([0, 0, 1]))
        if op == "Transpose":
            order = [0, *draw.sample(range(1, len(dims)), len(dims) - 1)]
            return self.add(op, [x], perm=order)
        if op == "Pad":
            pads = [0, 0, *[draw.randint(0, 2) for _ in dims[2:]]]
            value = self.constant(np.float32(draw.choice([0.0, 1.0])))
            return self.add(op, [x, self.constant(np.array(pads * 2, np.int64)), value], mode="constant")
        if op == "Slice":
            ends = self.constant(np.array([max(d - 1, 1) for d in dims[1:]], np.int64))
            begins, axes = np.zeros(len(dims) - 1, np.int64), np.arange(1, len(dims), dtype=np.int64)
            return self.add(op, [x, self.constant(begins), ends, self.constant(axes)])
        if op == "Resize":
            scales = self.constant(np.array([1, 1, *[2] * (len(dims) - 2)], np.float32))
            return self.add(op, [x, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        if op == "Concat":
            return self.add(op, [x, self.rounded(x)], axis=1)
        return self.add(op, [x])


def made(seed: int) -> tuple[Network, list[str]]:
    network = Network(seed)
    draw = network.draw
    spatial = draw.choice([1, 2, 2, 2, 2, 3])
    dims = (draw.choice([1, 1, 2]), draw.choice([1, 2, 3, 4, 8, 16, 17, 32, 48]), *(draw.randint(3, 11) for _ in range(spatial)))
    network.inputs = ["x"]
    if draw.random() < 0.2:
        dtype = draw.choice([np.uint8, np.int8])
        limits = np.iinfo(dtype)
        network.values["x"] = network.numbers.integers(limits.min, limits.max, dims, endpoint=True).astype(dtype)
        zero_point = network.constant(dtype(draw.randint(limits.min, limits.max)))
        x = network.add("DequantizeLinear", ["x", network.constant(np.float32(0.013)), zero_point])
    else:
        network.values["x"] = network.numbers.standard_normal(dims).astype(np.float32)
        x = network.rounded("x")
    seen = []
    for _ in range(draw.randint(1, 5)):
        way = draw.random()
        before = x
        is_flat = network.value(x).ndim < 3
        x = network.product(x) if is_flat or way < 0.08 else network.convolution(x) if way < 0.65 else network.plain(x)
        while draw.random() < 0.35:
            x = network.plain(x)
        if network.value(x).shape == network.value(before).shape and draw.random() < 0.6:
            x = network.add("Add", [x, before] if draw.random() < 0.5 else [before, x])
            x = network.add("Relu", [x]) if draw.random() < 0.5 else x
        if draw.random() < 0.85:
            x = network.rounded(x)
        if network.value(x).size > 200_000:
            break
        seen.append(x)
    outputs = [x] + ([draw.choice(seen)] if seen and draw.random() < 0.3 else [])
    if draw.random() < 0.4:
        outputs.append(network.quantised(x)[0])
    if draw.random() < 0.15:
        outputs.append(draw.choice([node.output[0] for node in network.nodes]))
    return network, list(dict.fromkeys(outputs))


def distance(got: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """The largest difference, and its L2 norm, in parts of the wanted ones."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return float("inf"), float("inf")
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    difference = np.abs(got - wanted)
    scale = max(float(np.abs(wanted).max(initial=0)), 1e-6)
    return float(difference.max(initial=0)) / scale, float(np.linalg.norm(difference)) / max(float(np.linalg.norm(wanted)), 1e-6)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--keep", type=Path, default=Path("int8_random"), help="the folder for networks that differ")
    options = parser.parse_args()
    equal, near, far, refused, integers = 0, 0, [], {}, 0
    for seed in range(options.first, options.first + options.count):
        network, outputs = made(seed)
        model = network.model(outputs)
        options.keep.mkdir(exist_ok=True)
        file = options.keep / f"{seed}.onnx"
        onnx.save(model, file)
        worst = (0.0, 0.0)
        try:
            graph = bt.load_onnx(file)
            for layouts in ("nchw", "nhwc", "blocked", "measured"):
                plan = graph.plan(layouts=layouts, profiles="estimated", threads=1)
                integers += layouts == "measured" and "int8" in plan.explain()
                results = plan.run(network.values["x"])
                for name, got in zip(outputs, results, strict=True):
                    worst = max(worst, distance(got.to_strided().numpy(), network.values[name]))
        except bt.Error as e:
            refused.setdefault(str(e)[:160], []).append(seed)
            continue
        equal += worst == (0.0, 0.0)
        near += (0.0, 0.0) < worst
        if worst[0] > MOST or worst[1] > NORM:
            far.append(seed)
            np.save(options.keep / f"{seed}.npy", network.values["x"])
            try:
                theirs = session(model, optimised=True).run(None, {"x": network.values["x"]})
                other = max(distance(x, network.values[name]) for x, name in zip(theirs, outputs, strict=True))
            except Exception as e:
                other = str(e)[:80]
            kinds = " ".join(node.op_type for node in network.nodes)
            print(f"seed {seed}: {worst[0]:.4f} {worst[1]:.4f} off; ONNX Runtime optimised {other}; {kinds}", flush=True)
        else:
            file.unlink()
    for text, seeds in refused.items():
        print(f"refused {len(seeds)} ({seeds[:5]}): {text}")
    print(f"{equal} with the same bits, {near} near, {len(far)} of these too far, with integers {integers}")
    return bool(far)


if __name__ == "__main__":
    sys.exit(main())
