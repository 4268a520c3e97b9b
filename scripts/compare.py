#!/usr/bin/env python3
"""ResNet-50 and MobileNetV2 here, in ONNX Runtime and in OpenVINO: f32, two threads, random weights, in turns.

    python3 -m venv /tmp/compare && /tmp/compare/bin/pip install numpy onnx onnxruntime openvino
    cargo build --example resnet50 && /tmp/compare/bin/python scripts/compare.py

Prints the least of three medians for each, in milliseconds. What differs: the weights' values, and Python's call.
"""

import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper, numpy_helper

THREADS = 2
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.expanduser("~/.cache/blocktensor/target"))
OURS = os.path.join(TARGET, "debug/examples/resnet50")


class Net:
    """An ONNX graph under construction."""

    def __init__(self):
        self.nodes, self.inits, self.rng = [], [], np.random.default_rng(0)

    def init(self, values):
        name = f"w{len(self.inits)}"
        self.inits.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def add(self, op, inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def conv(self, x, c, o, k, stride, groups=1, act="Relu"):
        fan = c // groups * k * k
        w = self.init(self.rng.standard_normal((o, c // groups, k, k)) * np.sqrt(2 / fan))
        b = self.init(self.rng.standard_normal(o) * 0.1)
        y = self.add("Conv", [x, w, b], kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4, group=groups)
        if act == "Clip":
            return self.add("Clip", [y, self.init(0.0), self.init(6.0)])
        return self.add(act, [y]) if act else y

    def resnet50(self):
        x = self.conv("input", 3, 64, 7, 2)
        x, c = self.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
        for width, blocks, first in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
            for i in range(blocks):
                stride = first if i == 0 else 1
                residual = self.conv(x, c, 4 * width, 1, stride, act=None) if i == 0 else x
                y = self.conv(self.conv(x, c, width, 1, 1), width, width, 3, stride)
                y = self.conv(y, width, 4 * width, 1, 1, act=None)
                x, c = self.add("Relu", [self.add("Add", [y, residual])]), 4 * width
        return x, c

    def mobilenet_v2(self):
        x, c = self.conv("input", 3, 32, 3, 2, act="Clip"), 32
        table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
        for expand, o, blocks, first in table:
            for i in range(blocks):
                y, wide = x, c * expand
                if expand != 1:
                    y = self.conv(y, c, wide, 1, 1, act="Clip")
                y = self.conv(y, wide, wide, 3, first if i == 0 else 1, groups=wide, act="Clip")
                y = self.conv(y, wide, o, 1, 1, act=None)
                x, c = self.add("Add", [x, y]) if i > 0 else y, o
        return self.conv(x, c, 1280, 1, 1, act="Clip"), 1280

    def save(self, name, batch, path):
        x, c = getattr(self, name)()
        pooled = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        w, b = self.init(self.rng.standard_normal((1000, c)) * 0.01), self.init(np.zeros(1000))
        y = self.add("Gemm", [pooled, w, b], transB=1)
        value = lambda n, dims: helper.make_tensor_value_info(n, TensorProto.FLOAT, dims)
        graph = helper.make_graph(self.nodes, name, [value("input", [batch, 3, 224, 224])], [value(y, [batch, 1000])], self.inits)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def median(run, runs):
    times = []
    for _ in range(runs + 2):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:]) * 1e3


def ours(name, batch, layout, runs):
    command = [OURS, "--model", name, "--batch", str(batch), "--layout", layout, "--runs", str(runs), "--threads", str(THREADS)]
    for line in subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.splitlines():
        if line.startswith(layout):
            return float(line.split(" ms")[1])
    raise SystemExit(f"no line for {layout}")


def main():
    print(f"onnxruntime {onnxruntime.__version__}, openvino {openvino.__version__}, {THREADS} threads, milliseconds")
    print(f"{'network':<14}{'batch':>6}{'blocked':>10}{'nhwc':>10}{'onnxruntime':>13}{'openvino':>10}")
    for name in ["resnet50", "mobilenet_v2"]:
        for batch, runs in [(1, 40), (16, 8)]:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "net.onnx")
                Net().save(name, batch, path)
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = THREADS
                session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                hints = {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
                request = openvino.Core().compile_model(path, "CPU", hints).create_infer_request()
            x = np.random.default_rng(1).standard_normal((batch, 3, 224, 224)).astype(np.float32)
            sides = [
                lambda: ours(name, batch, "blocked", runs),
                lambda: ours(name, batch, "nhwc", runs),
                lambda: median(lambda: session.run(None, {"input": x}), runs),
                lambda: median(lambda: request.infer({0: x}), runs),
            ]
            rounds = [[side() for side in sides] for _ in range(3)]
            best = [min(times) for times in zip(*rounds)]
            print(f"{name:<14}{batch:>6}{best[0]:>10.2f}{best[1]:>10.2f}{best[2]:>13.2f}{best[3]:>10.2f}", flush=True)


if __name__ == "__main__":
    main()
