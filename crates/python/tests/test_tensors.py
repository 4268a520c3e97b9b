"""Tensors: in and out without a copy, opaque where blocked, pickled and copied."""

import copy
import ctypes
import gc
import pickle
import weakref

import blocktensor as bt
import numpy as np
import pytest

X = np.arange(1 * 32 * 4 * 4, dtype=np.float32).reshape(1, 32, 4, 4)


def test_an_array_is_shared_both_ways():
    array = X.copy()
    t = bt.from_dlpack(array)
    assert t.data_ptr() == array.ctypes.data
    assert (t.shape, t.dtype, t.key, t.layout) == ((1, 32, 4, 4), "f32", "strided", "contiguous")
    assert t.strides == (512, 16, 4, 1)
    back = t.numpy()
    assert np.shares_memory(back, array)
    assert not back.flags.writeable
    assert np.shares_memory(np.from_dlpack(t), array)
    assert np.shares_memory(np.asarray(t), array)
    array[0, 0, 0, 0] = 77
    assert back[0, 0, 0, 0] == 77


def test_views_keep_their_strides():
    array = X.copy().transpose(0, 2, 3, 1)
    t = bt.from_dlpack(array)
    assert t.shape == (1, 4, 4, 32)
    assert t.data_ptr() == array.ctypes.data
    np.testing.assert_array_equal(t.numpy(), array)
    every_other = X.copy()[:, ::2]
    np.testing.assert_array_equal(bt.from_dlpack(every_other).numpy(), every_other)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int8, np.int32])
def test_dtypes_and_the_buffer_protocol(dtype):
    array = np.arange(12).astype(dtype).reshape(3, 4)
    view = memoryview(array)
    t = bt.from_dlpack(view)
    assert t.data_ptr() == array.ctypes.data
    np.testing.assert_array_equal(t.numpy(), array)
    del view, array
    assert t.numpy()[2, 3] == 11


def test_arrays_of_ctypes_say_no_strides():
    array = ((ctypes.c_float * 3) * 2)((1, 2, 3), (4, 5, 6))
    t = bt.from_dlpack(array)
    assert t.data_ptr() == ctypes.addressof(array)
    np.testing.assert_array_equal(t.numpy(), [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(bt.ops.relu((ctypes.c_float * 2)(-1, 2)).numpy(), [0, 2])
    with pytest.raises(bt.DlpackUnsupported, match="got f64"):
        bt.from_dlpack((ctypes.c_double * 2)())
    for number in (np.float32(3), np.uint8(3), memoryview(np.float32(3))):
        with pytest.raises(bt.InvalidArgument, match=r"a buffer without axes.*pass `numpy.asarray\(x\)`"):
            bt.from_dlpack(number)
        assert bt.from_dlpack(np.asarray(number)).numpy() == 3


def test_what_cannot_come_in_says_why():
    with pytest.raises(bt.DlpackUnsupported, match="f32, bf16, f16, u8, s8 or s32") as e:
        bt.from_dlpack(np.zeros(3))
    assert isinstance(e.value, BufferError)
    with pytest.raises(bt.InvalidArgument, match="numpy array"):
        bt.from_dlpack([1.0, 2.0])
    with pytest.raises(bt.UnsupportedStride, match="negative"):
        bt.from_dlpack(np.zeros(4, np.float32)[::-1])
    with pytest.raises(bt.DlpackUnsupported):
        bt.from_dlpack(memoryview(np.zeros(3)))


def test_an_array_lives_as_long_as_its_tensor():
    array = X.copy()
    alive = weakref.ref(array)
    t = bt.from_dlpack(array)
    view = t.numpy()
    del array
    gc.collect()
    assert alive() is not None
    del t
    gc.collect()
    assert view[0, 31, 3, 3] == 511
    del view
    gc.collect()
    assert alive() is None


def test_an_unversioned_consumer_gets_a_copy():
    array = X.copy()
    t = bt.from_dlpack(array)

    class Old:
        def __init__(self, t):
            self.t = t

        def __dlpack__(self):
            return self.t.__dlpack__()

        def __dlpack_device__(self):
            return self.t.__dlpack_device__()

    other = bt.from_dlpack(Old(t))
    assert other.data_ptr() != t.data_ptr()
    np.testing.assert_array_equal(other.numpy(), array)
    with pytest.raises(bt.Aliasing):
        t.__dlpack__(copy=False)
    with pytest.raises(bt.DlpackUnsupported):
        t.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
    capsule = t.__dlpack__(max_version=(1, 1))
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(capsule) == b"dltensor_versioned"
    del capsule


QUESTIONS = {
    "strides": lambda t: t.strides,
    "data_ptr": lambda t: t.data_ptr(),
    "numpy": lambda t: t.numpy(),
    "__array__": lambda t: np.asarray(t),
    "__dlpack__": lambda t: t.__dlpack__(),
    "from_dlpack": lambda t: np.from_dlpack(t),
    "__dlpack_device__": lambda t: t.__dlpack_device__(),
    "buffer": lambda t: memoryview(t),
    "item": lambda t: t.item(),
    "reshape": lambda t: t.reshape([-1]),
    "contiguous": lambda t: t.contiguous(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_blocked_tensor_is_opaque(question):
    t = bt.from_dlpack(X).to_blocked("nChw16c")
    with pytest.raises(bt.OpaqueLayoutError) as e:
        QUESTIONS[question](t)
    assert isinstance(e.value, BufferError)
    assert ".to_strided()" in e.value.remedy
    assert str(e.value).endswith(e.value.remedy)
    assert "MemoryFormat" not in str(e.value)


def test_reorders_are_explicit_and_exact():
    t = bt.from_dlpack(X)
    for layout in ["nChw8c", "nChw16c"]:
        b = t.to_blocked(layout)
        assert (b.key, b.layout, b.is_blocked) == ("blocked", layout, True)
        np.testing.assert_array_equal(b.to_strided().numpy(), X)
        last = b.to_strided("channels_last")
        assert last.strides == (512, 1, 128, 32)
        np.testing.assert_array_equal(last.numpy(), X)
    blocks = t.to_blocked("nChw16c").as_blocks()
    assert blocks.shape == (1, 2, 4, 4, 16)
    np.testing.assert_array_equal(blocks.numpy()[0, 1, 2, 3], X[0, 16:, 2, 3])
    odd = bt.from_dlpack(X[:, :20]).to_blocked("nChw16c")
    np.testing.assert_array_equal(odd.as_blocks().numpy()[0, 1, ..., 4:], 0)


def test_pickle_and_copies():
    t = bt.from_dlpack(X[:, ::2])
    again = pickle.loads(pickle.dumps(t))
    np.testing.assert_array_equal(again.numpy(), X[:, ::2])
    blocked = bt.from_dlpack(X).to_blocked("nChw8c")
    again = pickle.loads(pickle.dumps(blocked))
    assert again.layout == "nChw8c"
    np.testing.assert_array_equal(again.to_strided().numpy(), X)

    array = X.copy()
    t = bt.from_dlpack(array)
    shallow, deep = copy.copy(t), copy.deepcopy(t)
    array[0, 0, 0, 0] = -1
    assert shallow.numpy()[0, 0, 0, 0] == -1
    assert deep.numpy()[0, 0, 0, 0] == 0
    assert copy.deepcopy(blocked).layout == "nChw8c"
    half = t.to_dtype("f16")
    assert pickle.loads(pickle.dumps(half)).dtype == "f16"
    with pytest.raises(bt.CorruptFile):
        function, arguments = t.__reduce__()
        function(arguments[0][:-4], *arguments[1:])


def test_dtypes_convert_and_bf16_has_no_array():
    t = bt.from_dlpack(X % 256).to_dtype("bfloat16")
    assert t.dtype == "bf16"
    with pytest.raises(bt.UnsupportedDType, match='.to_dtype\\("f32"\\)'):
        t.numpy()
    np.testing.assert_array_equal(t.to_dtype("f32").numpy(), X % 256)
    with pytest.raises(bt.InvalidArgument, match="dtypes are f32"):
        t.to_dtype("complex64")


def test_texts():
    small = bt.from_dlpack(np.array([1.5, 2], np.float32))
    assert repr(small) == "Tensor([1.5000, 2.0000] f32 [2] contiguous)"
    assert repr(bt.zeros([1, 64, 8, 8], layout="nChw16c")) == "Tensor([1, 64, 8, 8] f32 nChw16c)"
    assert "<td>nChw16c</td>" in bt.zeros([1, 64, 8, 8], layout="nChw16c")._repr_html_()
    assert small.reshape([2, 1]).shape == (2, 1)
    assert bt.from_dlpack(np.float32([3])).item() == 3
    assert bt.from_dlpack(np.int32([2**31 - 1])).item() == 2**31 - 1
    assert bt.zeros([]).numpy().shape == ()
    assert bt.zeros([0, 3]).numpy().shape == (0, 3)


@pytest.mark.parametrize("op", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
def test_comparisons_are_elementwise(op):
    t, flipped = bt.from_dlpack(X), X[:, ::-1].copy()
    for other in (5, 5.0, np.float32(5), flipped, bt.from_dlpack(flipped)):
        mask = getattr(t, op)(other)
        wanted = getattr(X, op)(other.numpy() if isinstance(other, bt.Tensor) else other)
        assert mask.dtype == "u8"
        np.testing.assert_array_equal(mask.numpy(), wanted)
    mask = getattr(t.to_blocked(), op)(5)
    assert mask.is_blocked
    np.testing.assert_array_equal(mask.to_strided().numpy(), getattr(X, op)(5))
    with pytest.raises(bt.KeyMismatch):
        getattr(t, op)(t.to_blocked())
    # An array first: its own operator leaves the comparison to the tensor.
    reflected = getattr(flipped, op)(t)
    np.testing.assert_array_equal(reflected.numpy(), getattr(flipped, op)(X))


def test_comparisons_of_other_dtypes_and_objects():
    t = bt.from_dlpack(X)
    assert (t == None) is False and (t != "text") is True  # noqa: E711
    with pytest.raises(TypeError, match="not supported between"):
        t < "text"
    with pytest.raises(bt.UnsupportedDType):
        t.to_dtype("f16") == 0
    assert {t: 1}[t] == 1 and t in [t] and len({t, bt.from_dlpack(X)}) == 2


def test_only_one_element_is_true_or_false():
    assert bool(bt.from_dlpack(np.ones((1, 1), np.float32))) and not bt.zeros([1])
    for t in (bt.from_dlpack(X) == X, bt.zeros([0])):
        with pytest.raises(bt.InvalidArgument) as e:
            bool(t)
        assert e.value.op == "bool" and e.value.remedy


def test_one_element_is_a_number():
    one = bt.from_dlpack(np.full((1, 1), 2.5, np.float32))
    assert float(one) == 2.5 and int(one) == 2 and int(bt.from_dlpack(np.int32([2**31 - 1]))) == 2**31 - 1
    for number in (float, int):
        with pytest.raises(bt.InvalidArgument, match="only one element is a number"):
            number(bt.from_dlpack(X))


def test_a_capsule_is_taken_once():
    class Again:
        def __init__(self, made):
            self.made = made

        def __dlpack__(self, **_):
            return self.made

        def __dlpack_device__(self):
            return (1, 0)

    used = np.ones((2, 3), "float32").__dlpack__()
    bt.ops.relu(Again(used))
    for again, got in [(Again(used), "that was used"), (Again(3), "no DLPack capsule"), (Again(None), "no DLPack capsule")]:
        with pytest.raises(bt.DlpackUnsupported, match=got) as e:
            bt.ops.relu(again)
        assert "argument `x`" in str(e.value) and "new capsule" in e.value.remedy
    with pytest.raises(bt.DlpackUnsupported, match="that was used"):
        bt.from_dlpack(used)


def test_what_a_library_does_not_export_is_told_with_its_reason():
    with pytest.raises(bt.DlpackUnsupported) as e:
        bt.from_dlpack(np.ones(3, ">f4"))
    text = str(e.value)
    assert "got a tensor that its library does not export (BufferError: " in text, text
    assert ", but it is shared by its `__dlpack__`; pass a copy" in text, text


def test_functions_of_numpy_read_strided_tensors_alone():
    a = np.arange(32, dtype=np.float32).reshape(1, 8, 2, 2)
    x = bt.from_dlpack(a)
    assert np.array_equal(x, a) and np.concatenate([x, a]).shape == (2, 8, 2, 2)
    # Without an error of its own this would be False.
    with pytest.raises(bt.OpaqueLayoutError, match="to_strided"):
        np.array_equal(x.to_blocked("nChw8c"), a)
    with pytest.raises(bt.OpaqueLayoutError):
        np.stack([x, x.to_blocked("nChw8c")])


@pytest.mark.parametrize("axes", [(0, 2, 3, 1), (1, 0, 3, 2), (3, 1, 2, 0)], ids=str)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "deepcopy", "pickle"])
def test_copies_keep_the_order_of_axes_in_memory(axes, again):
    # Memory in the order of `axes`, such as channels last.
    x = np.concatenate([X, X + 1])
    array = np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
    t = bt.from_dlpack(array)
    made = again(t)
    assert (made.layout, made.strides) == (t.layout, t.strides) and made.layout != "contiguous"
    np.testing.assert_array_equal(made.numpy(), x)
    # Of a part, the copy is dense.
    part = again(bt.from_dlpack(array[:, 2:7]))
    np.testing.assert_array_equal(part.numpy(), x[:, 2:7])
    assert np.argsort(part.strides).tolist() == np.argsort(t.strides).tolist()


def test_a_pickled_constant_keeps_its_format():
    t = bt.from_dlpack(np.ascontiguousarray(X.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2))
    with bt.grad.record() as tape:
        made = pickle.loads(pickle.dumps(tape.constant(t)))
    assert type(made) is bt.Tensor and made.layout == "channels_last"
    half = t.to_dtype("f16")
    assert pickle.loads(pickle.dumps(half)).layout == "channels_last"


def test_what_is_not_pickled_says_so_by_name():
    book, budget = bt.record(), bt.budget(1)
    tape = bt.grad.record()
    with tape:
        v = tape.variable(X)
        loss = bt.ops.sum(v)
    packed = bt.pack_conv(np.ones((8, X.shape[1], 1, 1), np.float32), like=bt.from_dlpack(X))
    objects = [bt.grad.SGD(0.1), bt.grad.AdamW(), tape, tape.backward(loss), book, budget, packed, bt.Model()]
    for x in objects:
        for leave in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(bt.UnsupportedOp, match=f"op `pickle`: argument `x`: got a [a-z.]*{type(x).__name__}, but .* neither pickled nor copied; ") as e:
                leave(x)
            assert e.value.op == "pickle" and str(e.value).endswith(e.value.remedy)


def _integers():
    return bt.from_dlpack(np.arange(2 * 20 * 2 * 2, dtype=np.uint8).reshape(2, 20, 2, 2))


SCALES = [0.25 + i / 8 for i in range(20)]


@pytest.mark.parametrize("axis", [None, 1, -3])
def test_scales_and_zero_points_travel(axis):
    plain = _integers()
    x = plain.quantized(0.5, 7) if axis is None else plain.quantized(np.float32(SCALES), range(20), axis=axis)
    assert x.is_quantized and not plain.is_quantized
    assert (plain.scale, plain.zero_point, plain.quantization_axis) == (None, None, None)
    if axis is None:
        assert (x.scale, x.zero_point, x.quantization_axis) == (0.5, 7, None)
        scale, zero_point = 0.5, 7
    else:
        assert (x.scale, x.zero_point, x.quantization_axis) == (tuple(SCALES), tuple(range(20)), 1)
        scale, zero_point = np.float32(SCALES).reshape(20, 1, 1), np.arange(20).reshape(20, 1, 1)
    want = ((plain.numpy().astype(np.int32) - zero_point) * scale).astype(np.float32)
    np.testing.assert_array_equal(x.dequantized().numpy(), want)
    for y, wanted in [
        (x.to_blocked(), want),
        (x.to_blocked().to_strided("channels_last"), want),
        (x.contiguous("channels_last"), want),
        (x.reshape([2, 20, 4]), want.reshape(2, 20, 4)),
        (bt.ops.permute(x, axes=[0, 2, 3, 1]), want.transpose(0, 2, 3, 1)),
        (bt.ops.slice(x, axis=1, start=2, step=3), want[:, 2::3]),
        (bt.ops.select(x, axis=1, index=4), want[:, 4]),
        (bt.ops.chunk(x.to_blocked(), chunks=2, axis=1)[1], want[:, 10:]),
        (copy.copy(x), want),
        (copy.deepcopy(x), want),
        (x.to_dtype("u8"), want),
    ]:
        real = y.dequantized()
        np.testing.assert_array_equal(real.to_strided().numpy(), wanted)
    for form in [x, x.to_blocked(), x.contiguous("channels_last"), bt.ops.permute(x, axes=[3, 1, 0, 2])]:
        back = pickle.loads(pickle.dumps(form))
        assert (back.scale, back.zero_point, back.quantization_axis) == (form.scale, form.zero_point, form.quantization_axis)
        assert (back.layout, back.strides if not back.is_blocked else None) == (form.layout, form.strides if not form.is_blocked else None)
        np.testing.assert_array_equal(back.without_quantization().to_strided().numpy(), form.without_quantization().to_strided().numpy())


def test_what_would_lose_scales_refuses_the_tensor():
    x = _integers().quantized(0.5, 7)
    blocked = x.to_blocked()
    one = bt.ops.narrow(bt.ops.reshape(x, dims=[160]), axis=0, start=3, length=1)
    for call in [
        x.numpy,
        lambda: np.asarray(x),
        lambda: np.array_equal(x, x),
        lambda: memoryview(x),
        lambda: np.from_dlpack(x),
        x.__dlpack__,
        lambda: x.__dlpack__(max_version=(1, 0), copy=True),
        lambda: x.to_dtype("f32"),
        blocked.as_blocks,
        one.item,
        lambda: bt.ops.max_pool2d(x, kernel=2),
        lambda: bt.ops.max_pool2d(blocked, kernel=2),
    ]:
        with pytest.raises(bt.Error) as e:
            call()
        assert "`.without_quantization()`" in str(e.value) and "`.dequantized()`" in str(e.value), e.value
    with pytest.raises(bt.Error, match=r"make numbers of it with `\.dequantized\(\)`"):
        bt.ops.relu(x)
    # The remedies.
    plain = x.without_quantization()
    assert not plain.is_quantized and plain.data_ptr() == x.data_ptr()
    np.testing.assert_array_equal(plain.numpy(), _integers().numpy())
    assert bt.ops.max_pool2d(plain, kernel=2).shape == (2, 20, 1, 1)
    assert bt.ops.relu(x.dequantized()).dtype == "f32"
    assert "scale 0.5, zero point 7" in repr(x) and "scale" not in repr(plain)
    assert "scales along axis 1" in repr(plain.quantized(SCALES, axis=1))


def test_scales_that_no_tensor_has():
    x = _integers()
    for arguments, text in [
        ((0.0,), "above 0"),
        ((float("nan"),), "finite"),
        ((1e-60,), "above 0"),
        ((1.0, 256), "0 to 255"),
        ((1.0, 2**40), "zero points are integers"),
        (([1.0] * 19, 0, 1), "there must be 20 of each"),
        (([1.0] * 20,), "pass the axis"),
        ((1.0, 0, 4), "4 axes"),
        ((1.0, 0, -5), "4 axes"),
        (("1",), "it is a number"),
        ((1.0, 0.5), "it is an integer"),
        # Sequences of numbers for Python, and no list of scales.
        ((bytes(20), 0, 1), "it is a number"),
        (({0.5, 1.5}, 0, 1), "it is a number"),
        ((1.0, bytes(1)), "it is an integer"),
    ]:
        with pytest.raises(bt.Error, match=text):
            x.quantized(*arguments)
    with pytest.raises(bt.Error, match="u8, s8 or s32"):
        x.to_dtype("f32").quantized(1.0)
    with pytest.raises(bt.InvalidArgument, match="quantized"):
        x.dequantized()
