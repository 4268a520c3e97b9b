"""Bad input to every function: a typed error or a result, never a panic or a crash."""

import math
import random

import blocktensor as bt
import numpy as np
import pytest
from blocktensor import _native

TENSORS = [
    np.ones((1, 16, 4, 4), np.float32),
    np.ones((2, 3), np.float32),
    np.float32([]),
    np.ones((1, 16, 0, 4), np.float32),
    np.ones((16, 16, 3, 3), np.float32),
    np.ones(16, np.float32),
    np.ones((1, 16, 4, 4), np.uint8),
    np.ones((3,), np.int32),
    bt.zeros([]),
    bt.zeros([1, 16, 4, 4], layout="nChw16c"),
    bt.zeros([1, 20, 4, 4], layout="nChw8c"),
    bt.zeros([1, 16, 4], dtype="bf16"),
    None,
    3.5,
    "x",
]
NUMBERS = [0, 1, 2, 3, -1, -5, 2**31, 2**63 - 1, -(2**63), 2**70, 0.5, math.nan, math.inf, None, "same", [], [0], [1, 2], [-1] * 9, True]


def one(kind, chance):
    if "tensors" in kind or "params" in kind:
        return [chance.choice(TENSORS) for _ in range(chance.randrange(4))]
    if "tensor" in kind or "param" in kind or kind == "plain":
        return chance.choice(TENSORS)
    return chance.choice(NUMBERS)


@pytest.mark.parametrize("schema", [s for s in _native.schemas() if s["keys"]], ids=lambda s: s["name"])
def test_ops(schema):
    chance = random.Random(schema["name"])
    for _ in range(300):
        args = [None if chance.random() < 0.3 else one(a["kind"], chance) for a in schema["args"]]
        try:
            _native.call(schema["name"], chance.choice([None, None, 1]), *args)
        except bt.Panicked:
            raise
        except bt.Error as e:
            assert "::" not in str(e) and "MemoryFormat" not in str(e), str(e)


def test_other_functions(tmp_path, monkeypatch):
    # Some of the strings are paths that can be written.
    monkeypatch.chdir(tmp_path)
    chance = random.Random(24)
    things = TENSORS + NUMBERS
    t, b = bt.from_dlpack(TENSORS[0]), TENSORS[9]
    model = bt.Model()
    model.input("x", [1, 16, 4, 4])
    model.op("y", "relu", [("x", "x")], {}, ["y"])
    model.output("y", "y")
    plan = model.plan(layouts="nchw")
    calls = [
        lambda x: bt.from_dlpack(x),
        lambda x: bt.zeros(x),
        lambda x: bt.zeros([1, 2], dtype=x),
        lambda x: bt.zeros([1, 2], layout=x),
        lambda x: t.to_blocked(x),
        lambda x: b.to_strided(x),
        lambda x: t.to_dtype(x),
        lambda x: t.reshape(x),
        lambda x: t.__dlpack__(max_version=x),
        lambda x: bt.pack_conv(x, like=t),
        lambda x: bt.pack_conv(TENSORS[4], like=x),
        lambda x: bt.pack_conv(TENSORS[4], x, like=t),
        lambda x: bt.pack_conv(TENSORS[4], like=t, stride=x),
        lambda x: bt.pack_conv(TENSORS[4], like=t, threads=x),
        lambda x: bt.pack_stem(TENSORS[4], like=t, layout=x),
        lambda x: bt.pack_linear(x, rows=chance.choice(NUMBERS)),
        lambda x: plan.run(x),
        lambda x: plan.run(x, x),
        lambda x: plan.save(x),
        lambda x: bt.load_plan(x),
        lambda x: bt.load_onnx(x),
        lambda x: bt.budget(x),
        lambda x: model.plan(layouts=x),
        lambda x: model.plan(sizes=x, layouts="nchw"),
        lambda x: model.plan(sizes={"x": x}, layouts="nchw"),
        lambda x: model.plan(threads=x, layouts="nchw"),
        lambda x: model.plan(weight_growth=x, layouts="nchw"),
        lambda x: model.plan(like=x),
        lambda x: model.missing(x),
        lambda x: bt.load_plan("nothing", threads=x),
        lambda x: bt.ops.relu(t, threads=x),
        lambda x: plan.run(x=x),
        lambda x: plan.run({"x": x}),
        lambda x: plan.errors(x),
        lambda x: bt.register_backend(x, print, print, {}) if not isinstance(x, str) else None,
        lambda x: bt.register_backend("", x, x, x),
        lambda x: bt.Model().input(x, [1]),
        lambda x: bt.Model().input("x", x),
        lambda x: bt.Model().constant("x", x),
        lambda x: model.op("z", x, [("x", "x")], {}, ["z"]),
        lambda x: model.with_outputs(x),
        lambda x: bt.wrap(x, None, [1]),
        lambda x: bt.wrap("x", None, x),
        lambda x: t.__dlpack__(dl_device=x),
    ]
    for call in calls:
        for thing in things:
            try:
                call(thing)
            except bt.Panicked:
                raise
            except (bt.Error, TypeError):
                pass
            except ValueError as e:
                # The interpreter's own, for paths and names.
                assert "null" in str(e) or "embedded" in str(e) or "surrogate" in str(e), (thing, e)
