"""Gradients of one op by its name, against finite differences of definitions in f64."""

import importlib.util
import math
import re
from pathlib import Path

import blocktensor as bt
import numpy as np
import pytest
from blocktensor import _native
from numpy.lib.stride_tricks import sliding_window_view

RNG = np.random.default_rng(45)


def reals(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def conv2d(x, w, bias, stride=1, padding=0, groups=1):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    made = []
    for g in range(groups):
        of_x, of_w = x.shape[1] // groups, w.shape[0] // groups
        part = windows[:, g * of_x : (g + 1) * of_x]
        made.append(np.einsum("nchwij,ocij->nohw", part, w[g * of_w : (g + 1) * of_w]))
    return np.concatenate(made, 1) + bias[None, :, None, None]


def max_pool2d(x, kernel):
    return sliding_window_view(x, (kernel, kernel), axis=(2, 3))[:, :, ::kernel, ::kernel].max((-1, -2))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def finite_differences(f, tensors, of, u):
    """The gradient of `sum(f(tensors) * u)` by tensor number `of`, in f64."""
    wide = [t.astype(np.float64) for t in tensors]
    made = np.zeros_like(wide[of])
    for at in np.ndindex(made.shape):
        sums = []
        for step in (1e-5, -1e-5):
            moved = [t.copy() for t in wide]
            moved[of][at] += step
            sums.append((f(*moved) * u).sum())
        made[at] = (sums[0] - sums[1]) / 2e-5
    return made


#: The op, its tensors by name, its parameters, and the definition.
CASES = [
    ("conv2d", {"x": reals(2, 3, 5, 4), "weights": reals(5, 3, 3, 3), "bias": reals(5)}, {"padding": 1, "stride": 2}, conv2d),
    ("conv2d", {"x": reals(1, 4, 4, 4), "weights": reals(6, 2, 3, 3), "bias": reals(6)}, {"groups": 2}, conv2d),
    ("max_pool2d", {"x": RNG.permutation(96).reshape(2, 3, 4, 4).astype(np.float32)}, {"kernel": 2}, max_pool2d),
    ("softmax", {"x": reals(2, 5, 3, 2)}, {"axis": 1}, softmax),
    ("gelu", {"x": reals(2, 3, 2, 2)}, {}, gelu),
    ("mul", {"a": reals(2, 17, 2, 1), "b": reals(2, 17, 2, 1)}, {}, lambda a, b: a * b),
    ("linear", {"x": reals(3, 5), "weights": reals(4, 5), "bias": reals(4)}, {}, lambda x, w, b: x @ w.T + b),
]


def made_in(kind, name, array):
    """The array in a layout: activations and weights of convolutions alone have one."""
    t = bt.from_dlpack(array)
    if kind == "channels_last" and array.ndim == 4:
        return t.to_strided("channels_last")
    if kind == "blocked" and array.ndim == 4:
        grouped = name == "weights" and array.shape[1] == 2
        return t if grouped else t.to_blocked("OIhw16i16o" if name == "weights" else "nChw16c")
    return t


def plain(t):
    return t.to_strided().numpy()


@pytest.mark.parametrize("kind", ["contiguous", "channels_last", "blocked"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{op}-{i}" for i, (op, *_) in enumerate(CASES)])
def test_gradients_are_finite_differences(case, kind):
    op, arrays, params, definition = CASES[case]
    if kind == "blocked" and (op == "linear" or "groups" in params):
        pytest.skip("linear layers take strided tensors, and blocked weights of groups have a fifth axis")
    tensors = {name: made_in(kind, name, array) for name, array in arrays.items()}
    y = getattr(bt.ops, op)(*tensors.values(), **params)
    u = reals(*y.shape)
    diff = bt.from_dlpack(u).to_blocked(y.layout) if y.is_blocked else bt.from_dlpack(u).to_strided(y.layout)
    wanted = list(tensors)
    with bt.record() as book:
        made = bt.grad.backward(op, *tensors.values(), results=y, diff_dst=diff, wanted=wanted, **params)
    # Plain weights of a convolution are packed, and oneDNN's kernels for NCHW reorder. Nothing else moves.
    assert {r["cause"] for r in book.reorders} <= ({"packing", "inside the kernel"} if op == "conv2d" else set()), book
    assert len(made) == len(wanted)
    for i, (name, gradient) in enumerate(zip(wanted, made, strict=True)):
        operand = tensors[name]
        assert (gradient.shape, gradient.key, gradient.layout) == (operand.shape, operand.key, operand.layout)
        want = finite_differences(lambda *t: definition(*t, **params), list(arrays.values()), i, u)
        np.testing.assert_allclose(plain(gradient), want, rtol=1e-4, atol=1e-5, err_msg=name)


def test_wanted_is_the_order_of_the_gradients():
    a, b = reals(2, 3), reals(2, 3)
    y = bt.ops.mul(a, b)
    (of_b,) = bt.grad.backward("mul", a, b, results=y, diff_dst=np.ones_like(a), wanted="b")
    of = bt.grad.backward("mul", b=b, a=a, results=[y], diff_dst=[np.ones_like(a)], wanted=("b", "a"), threads=1)
    np.testing.assert_array_equal(of_b.numpy(), a)
    np.testing.assert_array_equal(of[0].numpy(), a)
    np.testing.assert_array_equal(of[1].numpy(), b)
    assert bt.grad.backward("mul", a, b, results=y, diff_dst=a, wanted=[]) == []


def test_lists_of_tensors_and_of_results():
    a, b = reals(2, 3), reals(2, 2)
    u = reals(2, 5)
    y = bt.ops.cat([a, b], axis=1)
    made = bt.grad.backward("cat", [a, b], axis=1, results=y, diff_dst=u, wanted="tensors")
    np.testing.assert_array_equal(made[0].numpy(), u[:, :3])
    np.testing.assert_array_equal(made[1].numpy(), u[:, 3:])
    parts = bt.ops.split(u, sizes=[3, 2], axis=1)
    # A result without a gradient has a gradient of zero.
    (made,) = bt.grad.backward("split", u, sizes=[3, 2], axis=1, results=parts, diff_dst=[None, b], wanted="x")
    np.testing.assert_array_equal(made.numpy(), np.concatenate([np.zeros((2, 3)), b], 1))


def example_calls():
    """A call of each op: those of the examples in the documentation, with random numbers in place of zeros."""
    path = Path(__file__).resolve().parents[3] / "scripts/python_ops.py"
    spec = importlib.util.spec_from_file_location("python_ops", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return [(s["name"], *script.example(s)) for s in _native.schemas() if s["keys"]]


def test_every_op_has_a_gradient_or_says_why_not():
    without = set()
    for op, before, text in example_calls():
        scope: dict = {"bt": bt}
        for statement in before:
            exec(statement, scope)
        names = [a["name"] for s in _native.schemas() if s["name"] == op for a in s["args"]]

        def called(*args, **named):
            return args, named

        args, params = eval(text, {**scope, op: called})
        results = getattr(bt.ops, op)(*args, **params)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        tensors = dict(zip(names, args, strict=False))
        wanted = [n for n, t in tensors.items() if isinstance(t, list) or t.dtype == "f32"]
        # Indices and statistics have none.
        diffs = [results[0], *[None] * (len(results) - 1)]
        try:
            made = bt.grad.backward(op, *args, results=results, diff_dst=diffs, wanted=wanted[:1], **params)
        except bt.UnsupportedOp as e:
            assert f"op `{op}` has no gradient for dispatch key `strided`" in str(e)
            assert "::" not in str(e)
            without.add(op)
            continue
        first = tensors[wanted[0]]
        operands = first if isinstance(first, list) else [first]
        assert [(t.shape, t.dtype) for t in made] == [(t.shape, t.dtype) for t in operands], op
    # docs/ops.md has the reasons of the same ops.
    lines = (Path(__file__).resolve().parents[3] / "docs/ops.md").read_text().split("\n")
    rows = [line.split("|") for line in lines if line.startswith("| ")]
    assert without == {op for row in rows if row[-2].startswith(" none: ") for op in re.findall("`(\\w+)`", row[2])}


def test_an_op_without_a_gradient_names_op_and_key():
    x = reals(2, 3)
    for t in (bt.from_dlpack(x), bt.from_dlpack(reals(1, 17, 2, 2)).to_blocked()):
        y = bt.ops.gt_scalar(t, other=0.0)
        with pytest.raises(bt.UnsupportedOp, match="its results are 0 and 1") as e:
            bt.grad.backward("gt_scalar", t, other=0.0, results=y, diff_dst=y, wanted="x")
        assert e.value.op == "gt_scalar" and f"dispatch key `{t.key}`" in str(e.value)


ONE = np.ones((1, 1), np.float32)


def relu(**changes):
    x = np.float32([[1, -2]])
    given = {"op": "relu", "args": [x], "results": x, "diff_dst": x, "wanted": "x", **changes}
    op, args = given.pop("op"), given.pop("args")
    return bt.grad.backward(op, *args, **given)


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"op": "rellu"}, bt.InvalidArgument, "no op has this name; `blocktensor.ops.__all__` has them"),
        ({"wanted": "y"}, bt.InvalidArgument, "got `y`, but it names tensors of the call: `x`; pass names of these"),
        ({"wanted": None}, bt.InvalidArgument, "a sequence of names"),
        ({"wanted": [1]}, bt.InvalidArgument, "a sequence of names"),
        ({"args": []}, bt.InvalidArgument, "`x`"),
        ({"args": [None]}, bt.InvalidArgument, "`x`"),
        ({"args": [np.float32([1]), np.float32([1])]}, bt.InvalidArgument, "got 2 tensors, but the op takes fewer tensors"),
        ({"x": np.float32([1])}, bt.InvalidArgument, "argument `x`: got two values"),
        ({"slope": 1}, bt.InvalidArgument, "argument `slope`: got a value, but the op has no such argument"),
        ({"results": None}, bt.InvalidArgument, "argument `results`: got None"),
        ({"results": np.ones((1, 1), np.float32)}, bt.ShapeMismatch, "argument `results`: .* pass what the forward call gave"),
        ({"results": ONE, "diff_dst": ONE}, bt.ShapeMismatch, "pass what the forward call gave"),
        ({"results": []}, bt.InvalidArgument, "argument `results`: got 0 values"),
        ({"results": np.int32([[1, 2]])}, bt.DTypeMismatch, "argument `results`"),
        ({"diff_dst": None}, bt.InvalidArgument, "one result has a gradient"),
        ({"diff_dst": [None]}, bt.InvalidArgument, "one result has a gradient"),
        ({"diff_dst": "x"}, bt.InvalidArgument, "argument `diff_dst`"),
        ({"diff_dst": np.float32([[1]])}, bt.ShapeMismatch, "its gradient has its sizes"),
        ({"diff_dst": np.int32([[1, 2]])}, bt.DTypeMismatch, "its gradient has its dtype"),
        ({"threads": 0}, bt.InvalidArgument, "threads"),
        ({"threads": -1}, bt.InvalidArgument, "threads"),
    ],
)
def test_what_is_refused(changes, kind, text):
    with pytest.raises(kind, match=text) as e:
        relu(**changes)
    assert "::" not in str(e.value)
    assert relu()[0].numpy().tolist() == [[1.0, 0.0]]


def test_a_gradient_in_another_layout_is_refused_with_a_remedy():
    x = bt.from_dlpack(reals(1, 17, 2, 2)).to_blocked("nChw16c")
    y = bt.ops.relu(x)
    for diff, kind in [(y.to_strided(), bt.KeyMismatch), (y.to_blocked("nChw8c"), bt.LayoutMismatch)]:
        with bt.record() as book, pytest.raises(kind) as e:
            bt.grad.backward("relu", x, results=y, diff_dst=diff, wanted="x")
        assert ".to_blocked" in e.value.remedy and len(book) == 0
    with bt.record() as book:
        bt.grad.backward("relu", x, results=y, diff_dst=y, wanted="x")
    assert [(r["op"], r["backward"]) for r in book.runs] == [("relu", True)]


def test_no_parameter_of_an_op_has_a_name_of_the_call():
    own = {"op", "args", "results", "diff_dst", "wanted", "threads"}
    for schema in _native.schemas():
        assert not own & {arg["name"] for arg in schema["args"]}, schema["name"]
