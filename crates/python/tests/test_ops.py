"""Ops by name against definitions in f64, and their errors."""

import inspect
import os
import pickle
import re
import subprocess
import sys
import threading

import blocktensor as bt
import numpy as np
import pytest
from blocktensor import ops
from blocktensor.testing import assert_unsupported

RANDOM = np.random.default_rng(24)


def normal(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def conv2d(x, w, stride, padding):
    """The definition, in f64."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64))


#: Words of docstrings that name nothing in Python: dtypes, modes, sizes and indices, PyTorch's and ONNX's functions.
WORDS = set(
    "u8 s8 s32 f32 bf16 f16 bilinear bicubic nearest trilinear N C i c y inf None "
    "dropout2d dropout3d QuantizeLinear DequantizeLinear".split()
)


@pytest.mark.parametrize("name", ops.__all__)
def test_docstrings_name_what_python_has(name):
    function = getattr(ops, name)
    own = {*inspect.signature(function).parameters, *WORDS, *ops.__all__}
    for word in re.findall(r"`([A-Za-z_][\w.:]*)`", function.__doc__):
        is_known = word in own or hasattr(bt, word) or hasattr(bt.Tensor, word) or word.startswith("torch.")
        assert is_known, f"{name}: {word}"
    assert not function.__doc__.startswith("The op `where`")


def test_a_convolution_is_its_definition_on_both_keys():
    x, w, b = normal(2, 32, 9, 9), normal(16, 32, 3, 3), normal(16)
    wanted = conv2d(x, w, 2, 1) + b.astype(np.float64)[:, None, None]
    y = ops.conv2d(x, w, b, stride=2, padding=1)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=1e-4)
    xb = bt.from_dlpack(x).to_blocked()
    packed = bt.pack_conv(w, b, like=xb, stride=2, padding=1, post_ops="relu")
    with bt.deny_reorders():
        yb = packed(xb)
    assert yb.layout == xb.layout
    np.testing.assert_allclose(yb.to_strided().numpy(), np.maximum(wanted, 0), rtol=1e-5, atol=1e-4)


def test_packed_weights_of_every_kind():
    x, w = normal(1, 3, 8, 8), normal(16, 3, 3, 3)
    mean, var, scale, shift = normal(16), normal(16) ** 2 + 1, normal(16), normal(16)
    stem = bt.pack_stem(
        w, like=bt.from_dlpack(x), batch_norm=dict(mean=mean, var=var, weight=scale, bias=shift, eps=1e-3), padding=1
    )
    wide = lambda v: v.astype(np.float64)[:, None, None]
    wanted = (conv2d(x, w, 1, 1) - wide(mean)) / np.sqrt(wide(var) + 1e-3) * wide(scale) + wide(shift)
    y = stem(x)
    assert y.is_blocked
    np.testing.assert_allclose(y.to_strided().numpy(), wanted, rtol=1e-4, atol=1e-4)

    a, m, v = normal(5, 16), normal(8, 16), normal(8)
    linear = bt.pack_linear(m, v, rows=5)
    np.testing.assert_allclose(linear(a).numpy(), a.astype(np.float64) @ m.T + v, rtol=1e-5, atol=1e-5)
    up = bt.pack_conv_transpose(normal(16, 8, 2, 2), like=y, stride=2)
    assert up(y).shape == (1, 8, 16, 16)
    residual = bt.pack_conv(normal(16, 16, 1, 1), like=y, post_ops="residual,relu")
    assert residual(y, y).shape == y.shape
    with pytest.raises(bt.InvalidArgument, match="x, residual"):
        residual(y)
    with pytest.raises(bt.PackMismatch):
        stem(normal(1, 3, 9, 9))
    with pytest.raises(bt.InvalidArgument, match="strides"):
        bt.pack_conv(w, like=bt.from_dlpack(x), strides=2)


UNARY = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "exp": np.exp,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "abs": np.abs,
    "square": np.square,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("layout", [None, "nChw8c", "nChw16c"])
def test_unary_ops(name, layout):
    x = normal(2, 20, 5, 7)
    t = bt.from_dlpack(x)
    t = t.to_blocked(layout) if layout else t
    y = getattr(ops, name)(t)
    assert y.layout == t.layout
    np.testing.assert_allclose(y.to_strided().numpy(), UNARY[name](x.astype(np.float64)), rtol=1e-6, atol=1e-6)


def test_results_are_one_tensor_a_tuple_or_a_list():
    x = normal(4, 6)
    values, indices = ops.topk(x, k=2, axis=1)
    np.testing.assert_array_equal(values.numpy(), -np.sort(-x, axis=1)[:, :2])
    assert indices.dtype == "s32"
    pieces = ops.chunk(x, chunks=2, axis=1)
    assert [p.shape for p in pieces] == [(4, 3), (4, 3)]
    joined = ops.cat([p for p in pieces], axis=1)
    np.testing.assert_array_equal(joined.numpy(), x)
    np.testing.assert_array_equal(ops.where((x > 0).astype(np.uint8), x, -x).numpy(), np.abs(x))


def test_every_op_has_a_signature_and_a_documented_function():
    assert len(ops.__all__) > 120
    for name in ops.__all__:
        function = getattr(ops, name)
        text = inspect.getdoc(function)
        for part in ["Shapes:", "Dtypes:", "Errors:", ">>> "]:
            assert part in text, (name, part)
        assert "threads" in inspect.signature(function).parameters


def test_errors_have_an_op_operands_and_a_remedy_of_python():
    xb = bt.from_dlpack(normal(1, 32, 4, 4)).to_blocked("nChw16c")
    e = assert_unsupported(ops.cumsum, xb, axis=1, remedy=".to_strided()")
    assert isinstance(e, NotImplementedError)
    assert (e.op, e.operands) == ("cumsum", ["x [1, 32, 4, 4] f32 nChw16c"])
    assert str(e) == (
        "op `cumsum` has no kernel for dispatch key `blocked` (operands: x [1, 32, 4, 4] f32 nChw16c; keys with a kernel: "
        "strided); reorder with `.to_strided()` and call it there; a result that suits `blocked` comes back with `.to_blocked()`"
    )
    with pytest.raises(bt.KeyMismatch) as e:
        ops.add(xb, normal(1, 32, 4, 4))
    assert isinstance(e.value, TypeError)
    assert ".to_blocked()" in e.value.remedy
    with pytest.raises(bt.ShapeMismatch) as e:
        ops.conv2d(normal(1, 3, 8, 8), normal(4, 5, 3, 3))
    assert isinstance(e.value, ValueError)
    with pytest.raises(bt.InvalidArgument, match="it is an integer"):
        ops.cumsum(normal(2, 2), axis="x")
    with pytest.raises(bt.InvalidArgument, match="it is an integer that fits into 64 bits"):
        ops.cumsum(normal(2, 2), axis=2**70)
    with pytest.raises(bt.InvalidArgument, match="it is a number that fits into 64 bits"):
        ops.mul_scalar(normal(2, 2), other=10**400)
    with pytest.raises(bt.RankMismatch):
        ops.conv2d(normal(3, 8, 8), normal(4, 3, 3, 3))
    with pytest.raises(bt.UnsupportedDType, match='to_dtype\\("f32"\\)'):
        ops.relu(bt.zeros([2], dtype="f16"))
    with pytest.raises(AssertionError, match="supported"):
        assert_unsupported(ops.relu, xb)
    with pytest.raises(bt.InvalidArgument, match="no op has this name"):
        bt._native.call("no_such_op", None)
    with pytest.raises(TypeError):
        ops.relu(xb, slope=1)


def test_every_class_of_error_is_below_error_and_one_of_pythons_own():
    classes = [c for c in vars(bt._errors).values() if isinstance(c, type) and issubclass(c, bt.Error)]
    for c in classes:
        if c is not bt.Error:
            assert len(c.__bases__) == 2 and issubclass(c, bt.Error), c
        assert c.__name__ in bt.__all__
        error = c("text")
        assert pickle.loads(pickle.dumps(error)).args == ("text",)
    assert len(classes) == 30


def test_threads_by_argument():
    x = normal(1, 16, 32, 32)
    assert np.array_equal(ops.exp(x, threads=1).numpy(), ops.exp(x).numpy())
    with pytest.raises(bt.InvalidArgument, match="1 to"):
        ops.exp(x, threads=0)
    w = normal(16, 16, 3, 3)
    xb = bt.from_dlpack(x).to_blocked()
    one = bt.pack_conv(w, like=xb, padding=1, threads=1)
    np.testing.assert_allclose(
        one(xb).to_strided().numpy(), ops.conv2d(x, w, padding=1).numpy(), rtol=1e-5, atol=1e-4
    )


def test_the_interpreters_lock_is_released():
    """Another thread counts while a long kernel runs."""
    x = normal(8, 64, 256, 256)
    counted, running = 0, threading.Event()

    def long():
        running.set()
        ops.exp(x, threads=1)
        running.clear()

    thread = threading.Thread(target=long)
    thread.start()
    running.wait()
    while running.is_set():
        counted += 1
    thread.join()
    assert counted > 1000


def test_a_forked_child_is_refused():
    program = """
import os, sys, numpy as np, blocktensor as bt
x = np.ones((1, 16, 64, 64), np.float32)
bt.ops.relu(x)
if os.fork() == 0:
    try:
        bt.ops.relu(x)
    except bt.ForkedProcess as e:
        os._exit(0 if "subprocess.Popen" in e.remedy else 2)
    os._exit(1)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=os.environ)


def test_the_ops_are_all_that_the_module_has():
    """`bt.ops.cast` was that of `typing`."""
    others = {name for name in vars(ops) if not name.startswith("_")} - set(ops.__all__)
    assert others == {"Sequence", "Tensor", "TensorLike"}


def test_an_index_and_a_table_are_no_parameters_of_channels():
    """"One value for each channel" was said of them."""
    x, bytes_ = bt.from_dlpack(np.ones((2, 3), np.float32)), bt.from_dlpack(np.ones((2, 3), np.uint8))
    index, table = np.zeros((1, 2), np.int32), np.zeros((16, 16), np.uint8)
    for call, rule in (
        (lambda index, table: ops.index_select(x, index, axis=1), "indices of one axis have one dimension"),
        (lambda index, table: ops.lookup(bytes_, table), "the table has one dimension"),
    ):
        with pytest.raises(bt.RankMismatch, match=rule) as e:
            call(bt.from_dlpack(index), bt.from_dlpack(table))
        assert e.value.remedy == "flatten it"
        call(bt.from_dlpack(index.reshape(-1)), bt.from_dlpack(table.reshape(-1)))
