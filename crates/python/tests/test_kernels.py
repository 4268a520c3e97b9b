"""Functions that a program registers: what they return is checked, and what they raise is not lost."""

import traceback

import blocktensor as bt
import numpy as np
import pytest

KEY = "py_hostile"
X = np.arange(6, dtype=np.float32).reshape(2, 3)

#: What the functions of the key do next, by name.
NEXT = {}


def wrapped(array, shape=None, dtype="f32", key=KEY):
    return bt.wrap(key, array, array.shape if shape is None else shape, dtype=dtype)


def usual(name, call):
    return lambda *args: NEXT[name](*args) if name in NEXT else call(*args)


def rows(x, axis, keepdim):
    return wrapped(bt.unwrap(x).sum(axis=tuple(axis), keepdims=keepdim))


bt.register_backend(
    KEY,
    usual("in", lambda t: wrapped(np.array(t.numpy()))),
    usual("out", lambda t: bt.unwrap(t)),
    {
        "relu": usual("relu", lambda x: wrapped(np.maximum(bt.unwrap(x), 0))),
        "add": usual("add", lambda a, b: wrapped(bt.unwrap(a) + bt.unwrap(b))),
        "sum": usual("sum", rows),
    },
)
bt.register_backend("py_other_key", lambda t: t, lambda t: t, {})


@pytest.fixture(autouse=True)
def usual_again():
    NEXT.clear()
    yield
    NEXT.clear()


def test_right_results_pass():
    t = wrapped(X)
    assert bt.ops.relu(t).shape == (2, 3)
    assert bt.ops.add(t, wrapped(X[:1])).shape == (2, 3)
    assert bt.ops.sum(t, axes=[1]).shape == (2,)
    np.testing.assert_array_equal(t.to_strided().numpy(), X)


@pytest.mark.parametrize(
    ("name", "made", "error", "says"),
    [
        ("relu", lambda *_: wrapped(X, (3, 2)), bt.ShapeMismatch, ["[3, 2]", "[2, 3]"]),
        ("relu", lambda *_: wrapped(X, (2, 3, 1)), bt.ShapeMismatch, ["[2, 3, 1]", "[2, 3]"]),
        ("add", lambda *_: wrapped(X[:1]), bt.ShapeMismatch, ["[1, 3]", "[2, 3]"]),
        ("sum", lambda *_: wrapped(X), bt.ShapeMismatch, ["[2, 3]", "[2]"]),
        ("relu", lambda *_: wrapped(X, dtype="s32"), bt.DTypeMismatch, ["s32", "f32"]),
        ("relu", lambda *_: wrapped(X, key="py_other_key"), bt.KeyMismatch, ["py_other_key", KEY]),
        ("relu", lambda *_: bt.from_dlpack(X), bt.KeyMismatch, ["strided", "wrap"]),
        ("relu", lambda *_: X, bt.KeyMismatch, ["ndarray", "wrap"]),
        ("relu", lambda *_: None, bt.KeyMismatch, ["NoneType", "wrap"]),
    ],
)
def test_a_kernels_result_is_checked(name, made, error, says):
    t = wrapped(X)
    call = {"relu": lambda: bt.ops.relu(t), "add": lambda: bt.ops.add(t, t), "sum": lambda: bt.ops.sum(t, axes=[1])}[name]
    NEXT[name] = made
    with pytest.raises(error) as e:
        call()
    assert e.value.op == name and e.value.remedy
    for part in ["result", *says]:
        assert part in str(e.value), str(e.value)


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (X.T.copy(), bt.ShapeMismatch),
        (X.astype(np.int32), bt.DTypeMismatch),
        (bt.zeros([1, 16, 4, 4], layout="nChw16c"), bt.KeyMismatch),
        (None, bt.InvalidArgument),
    ],
)
def test_what_to_strided_returns_is_checked(made, error):
    t = wrapped(X)
    NEXT["out"] = lambda _: made
    with pytest.raises(error, match="to_strided"):
        t.to_strided()




@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("name", ["relu", "out"])
def test_what_ends_the_program_passes_through(name, raised):
    t = wrapped(X)

    def ends(*_):
        raise raised("now")

    NEXT[name] = ends
    with pytest.raises(raised) as e:
        bt.ops.relu(t) if name == "relu" else t.to_strided()
    assert e.value.args == ("now",)
    assert any(frame.name == "ends" for frame in traceback.extract_tb(e.value.__traceback__))


@pytest.mark.parametrize("name", ["relu", "out"])
def test_an_exception_is_the_cause_of_the_error(name):
    t = wrapped(X)

    def fails(*_):
        raise ZeroDivisionError("in a kernel")

    NEXT[name] = fails
    with pytest.raises(bt.InvalidArgument, match="ZeroDivisionError: in a kernel") as e:
        bt.ops.relu(t) if name == "relu" else t.to_strided()
    cause = e.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)][-1] == "fails"
    # The next error is none of that exception.
    with pytest.raises(bt.Error) as e:
        bt.ops.relu(X, threads=0)
    assert e.value.__cause__ is None


def test_an_exception_that_a_kernel_handles_is_not_told():
    t = wrapped(X)

    def handles(x):
        with pytest.raises(bt.Error):
            bt.ops.add(x, x)
        return x

    def fails(*_):
        raise ZeroDivisionError

    NEXT["relu"], NEXT["add"] = handles, fails
    assert bt.ops.relu(t).shape == (2, 3)


def nothing(*_):
    raise AssertionError


@pytest.mark.parametrize(
    ("name", "functions", "kernels", "argument"),
    [
        ("m3", (1, nothing), {}, "from_strided_function"),
        ("m3", (nothing, 2), {}, "to_strided_function"),
        ("m3", (1, 2), {"relu": 3}, "from_strided_function"),
        ("m3", (nothing, nothing), {"relu": 3}, "kernels"),
        ("m3", (nothing, nothing), {"relu": None}, "kernels"),
        ("", (nothing, nothing), {}, "name"),
        ("m\0", (nothing, nothing), {}, "name"),
        ("m\n3", (nothing, nothing), {}, "name"),
        ("m`3", (nothing, nothing), {}, "name"),
        (" m3", (nothing, nothing), {}, "name"),
    ],
)
def test_bad_registrations_use_up_no_key(name, functions, kernels, argument):
    # Far more than there is room for.
    for _ in range(20):
        with pytest.raises(bt.Error) as e:
            bt.register_backend(name, *functions, kernels)
        assert isinstance(e.value, (bt.InvalidArgument, bt.Registration))
        assert e.value.op == "register_backend" and argument in str(e.value) and e.value.remedy
    with pytest.raises(bt.InvalidArgument, match="no program registered this key"):
        bt.wrap(name, None, [1])
