"""A dispatch key that a program registers: used by name, refused elsewhere."""

import blocktensor as bt
import numpy as np
import pytest
from blocktensor.testing import assert_unsupported


class Reversed:
    """A tensor whose elements are back to front."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array.ravel()[::-1])


def from_strided(t):
    return bt.wrap("py_reversed", Reversed(t.numpy()), t.shape, layout="back_to_front")


def to_strided(t):
    return bt.from_dlpack(np.ascontiguousarray(bt.unwrap(t).array[::-1]).reshape(t.shape))


def relu(x):
    made = Reversed(np.zeros(0, np.float32))
    made.array = np.maximum(bt.unwrap(x).array, 0)
    return bt.wrap("py_reversed", made, x.shape, layout="back_to_front")


def add(a, b):
    raise ZeroDivisionError("in a kernel")


bt.register_backend("py_reversed", from_strided, to_strided, {"relu": relu, "add": add})
X = np.arange(-4, 4, dtype=np.float32).reshape(2, 4)


def test_its_kernel_runs_by_name():
    t = from_strided(bt.from_dlpack(X))
    assert (t.key, t.layout, t.shape, t.dtype) == ("py_reversed", "back_to_front", (2, 4), "f32")
    y = bt.ops.relu(t)
    assert y.key == "py_reversed"
    np.testing.assert_array_equal(y.to_strided().numpy(), np.maximum(X, 0))


def test_other_ops_are_refused():
    t = from_strided(bt.from_dlpack(X))
    e = assert_unsupported(bt.ops.sigmoid, t, remedy=".to_strided()")
    assert "py_reversed" in str(e)
    with pytest.raises(bt.KeyMismatch) as mixed:
        bt.ops.add(t, X)
    # What makes a tensor of the key is the call that Python has for it.
    assert "from_strided" not in str(mixed.value) and '`.to_key("py_reversed")`' in mixed.value.remedy
    for question in [lambda: t.strides, lambda: np.asarray(t), lambda: t.__dlpack__(), lambda: t.to_blocked("nChw16c")]:
        with pytest.raises(bt.OpaqueLayoutError):
            question()


def test_an_exception_in_a_kernel_is_an_error():
    t = from_strided(bt.from_dlpack(X))
    with pytest.raises(bt.Error, match="ZeroDivisionError: in a kernel"):
        bt.ops.add(t, t)


def test_what_registration_refuses():
    with pytest.raises(bt.Registration):
        bt.register_backend("py_reversed", from_strided, to_strided, {})
    with pytest.raises(bt.Registration):
        bt.register_backend("py_other", from_strided, to_strided, {"no_such_op": relu})
    with pytest.raises(bt.InvalidArgument, match="register_backend"):
        bt.wrap("py_other", None, [1])
    with pytest.raises(bt.InvalidArgument):
        bt.unwrap(bt.zeros([1]))


def test_reorders_of_a_registered_key_are_recorded_and_limited():
    calls = []

    def from_strided(x):
        calls.append("from")
        return bt.wrap("counted", x.numpy().copy(), x.shape)

    def to_strided(x):
        calls.append("to")
        return bt.unwrap(x)

    bt.register_backend("counted", from_strided, to_strided, {})
    plain = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    with bt.record() as ledger:
        mine = bt.from_dlpack(plain).to_key("counted")
        back = mine.to_strided("channels_last")
    assert (mine.key, calls) == ("counted", ["from", "to"])
    assert back.layout == "channels_last"
    np.testing.assert_array_equal(back.numpy(), plain)
    # To the key, from it, and from row-major to the format.
    assert [r["op"] for r in ledger.reorders] == ["to_key", "to_strided", "to_strided"]
    for text in (repr(ledger), ledger.chrome_trace(), ledger._repr_html_()):
        assert "to_key" in text and "::" not in text and "from_strided" not in text
    for scope in (bt.deny_reorders, lambda: bt.budget(0)):
        with pytest.raises(bt.ReorderDenied) as e, scope():
            mine.to_strided()
        assert (e.value.op, str(e.value)[:16]) == ("to_strided", "op `to_strided`:")
        with pytest.raises(bt.ReorderDenied) as e, scope():
            bt.from_dlpack(plain).to_key("counted")
        assert (e.value.op, str(e.value)[:12]) == ("to_key", "op `to_key`:")
    assert calls == ["from", "to"]
    with pytest.raises(bt.InvalidArgument, match="no program registered this key"):
        mine.to_key("nobody")
    for own, call in [("blocked", "`.to_blocked()`"), ("strided", "`.to_strided()`")]:
        with pytest.raises(bt.InvalidArgument, match=r"itself; call `\.to_") as e:
            mine.to_key(own)
        assert call in e.value.remedy and "register_backend" not in str(e.value)


def test_a_list_says_which_of_its_tensors_has_another_key():
    strided = bt.zeros([1, 16, 2, 2])
    with pytest.raises(bt.KeyMismatch) as e:
        bt.ops.cat([strided.to_blocked(), strided.to_blocked(), strided], axis=1)
    assert "number 2, " in str(e.value) and "number 0 of `tensors` is" in str(e.value)
    assert e.value.remedy == "reorder number 2 of `tensors` with `.to_blocked()`"


def test_a_backend_that_makes_another_tensor_is_told_by_the_call():
    bt.register_backend("other_layout", lambda x: bt.wrap("other_layout", x, x.shape, layout="mine"), bt.unwrap, {})
    with pytest.raises(bt.InvalidArgument, match=r"op `to_key`: argument `result`: got \[2, 4\] f32 mine"):
        bt.from_dlpack(X).to_key("other_layout")


def test_functions_that_are_none_are_told_what_they_must_be():
    for functions in [(3, 4, {}), (from_strided, 4, {}), (from_strided, to_strided, {"relu": 3})]:
        with pytest.raises(bt.InvalidArgument, match="got int.*, but a backend's functions must be callable; pass a function"):
            bt.register_backend("not_callable", *functions)


def test_formats_and_sizes_are_refused_by_the_call_that_got_them():
    mine = from_strided(bt.from_dlpack(X.reshape(1, 2, 2, 2)))
    blocked = bt.from_dlpack(X.reshape(1, 2, 2, 2)).to_blocked()
    for t in (mine, blocked, blocked.to_strided()):
        with pytest.raises(bt.InvalidArgument, match="op `to_strided`: argument `format`: got preserve") as e:
            t.to_strided("preserve")
        assert e.value.op == "to_strided" and e.value.operands == ["format: preserve"]
        # The remedy is for this call.
        assert "name contiguous or channels_last" in e.value.remedy
        t.to_strided("contiguous")
        t.to_strided("channels_last")
        with pytest.raises(bt.RankMismatch, match="op `to_strided`: argument `format`"):
            t.to_strided("channels_last_3d")
    for sizes, kind in [([1] * 13, bt.RankMismatch), ([2**62, 4], bt.Overflow), ([2**62], bt.Overflow)]:
        with pytest.raises(kind, match="op `wrap`: argument `shape`") as e:
            bt.wrap("py_reversed", None, sizes)
        assert e.value.op == "wrap"
        with pytest.raises(kind, match="op `zeros`: argument `shape`"):
            bt.zeros(sizes)


def test_names_of_ops_and_layouts_and_sizes_are_checked():
    with pytest.raises(bt.Registration, match=r"got `rellu`, .* pass names of `blocktensor.ops.__all__`"):
        bt.register_backend("misspelt", str, str, {"rellu": str})
    bt.register_backend("misspelt", str, str, {"relu": str})
    for layout in ("nChw16c", "channels_last"):
        with pytest.raises(bt.InvalidArgument, match="pass a name of your own"):
            bt.wrap("misspelt", 1, (1, 16, 2, 2), layout=layout)
    with pytest.raises(bt.Error, match="Overflow|do not fit|too large|overflow"):
        bt.wrap("misspelt", 1, (2**62, 4))
    with pytest.raises(bt.InvalidArgument, match="sizes are an integer or a sequence of integers"):
        bt.wrap("misspelt", 1, "ab")


def test_arrays_without_elements_come_back():
    """Their strides are 0 in numpy."""
    bt.register_backend("py_copies", lambda t: bt.wrap("py_copies", t.numpy().copy(), t.shape), lambda t: bt.from_dlpack(bt.unwrap(t)), {})
    for shape in ((0, 3), (3, 0), (0,), (2, 0, 4)):
        empty = bt.from_dlpack(np.zeros(shape, np.float32)).to_key("py_copies").to_strided()
        assert (empty.shape, empty.dtype) == (shape, "f32")
