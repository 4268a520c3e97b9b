"""The tape: what it saves and frees, what it refuses, and keys that a program registers."""

import copy
import gc
import os
import pickle
import signal
import threading
import weakref

import blocktensor as bt
import numpy as np
import pytest

RNG = np.random.default_rng(5)


def reals(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def plain(t):
    return t.to_strided().numpy()


# What saves and frees.


class Array(np.ndarray):
    """An array of numpy that weak references may name."""


def kept(array):
    array = array.view(Array)
    return array, weakref.ref(array)


def test_saved_tensors_are_freed_by_backward():
    x = reals(2, 3)
    with bt.grad.record() as tape:
        var = tape.variable(x)
        factor, ref = kept(reals(2, 3))
        y = bt.ops.mul(var, factor)
        del factor
    gc.collect()
    assert ref() is not None
    gradients = tape.backward(y, x)
    gc.collect()
    assert ref() is None and gradients[var].shape == (2, 3)


def test_a_tape_that_is_dropped_or_raised_out_of_frees_what_it_saved():
    values = []
    for is_raised in (False, True):
        factor, ref = kept(reals(2, 3))
        try:
            with bt.grad.record() as tape:
                # A value, such as a loss in a list, keeps no tape alive.
                values.append(bt.ops.mul(tape.variable(reals(2, 3)), factor))
                if is_raised:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            with pytest.raises(bt.InvalidArgument, match="an exception ended"):
                tape.backward(values[-1])
        else:
            del tape
        del factor
        gc.collect()
        assert ref() is None
        with pytest.raises(bt.InvalidArgument, match="pass `x.tensor`|record the program again"):
            bt.ops.relu(values[-1])
        assert values[-1].tensor.shape == (2, 3)


# Misuse.


@pytest.mark.parametrize(
    "leave",
    [
        lambda v: v.numpy(),
        np.asarray,
        np.from_dlpack,
        lambda v: v.__dlpack__(max_version=(1, 0)),
        memoryview,
        lambda v: v.to_blocked().as_blocks(),
        lambda v: np.array_equal(v, v.tensor),
        lambda v: np.concatenate([v, v]),
    ],
)
def test_values_leave_the_tape_only_by_their_tensor(leave):
    with bt.grad.record() as tape:
        y = bt.ops.relu(tape.variable(reals(1, 16, 2, 2)))
        with pytest.raises(bt.InvalidArgument, match="not recorded, so no gradient") as e:
            leave(y)
        assert "`x.tensor`" in e.value.remedy
        # A constant has no gradient to lose, and a number is the end of a program.
        leave(tape.constant(reals(1, 16, 2, 2)))
        assert bt.ops.sum(y).item() == pytest.approx(y.tensor.numpy().sum(), rel=1e-6)
    assert y.tensor.numpy().shape == (1, 16, 2, 2)


def test_values_of_another_tape_are_refused():
    with bt.grad.record() as first, bt.grad.record() as second:
        a, b = first.variable(reals(2)), second.variable(reals(2))
        with pytest.raises(bt.InvalidArgument, match="a value of another tape") as e:
            bt.ops.add(a, b)
        assert "`variable`" in e.value.remedy and "op `add`: argument `b`" in str(e.value)
        y = bt.ops.relu(b)
    with pytest.raises(bt.InvalidArgument, match="a value of another tape"):
        first.backward(y, y.tensor)
    gradients = second.backward(y, y.tensor)
    assert a not in gradients and gradients.get(a) is None and b in gradients
    with pytest.raises(bt.InvalidArgument, match=r"call `\.get\(var\)`"):
        gradients[a]
    for wrong in (None, reals(2), bt.zeros([2]), "x"):
        for question in (gradients.get, gradients.__getitem__, gradients.__contains__):
            with pytest.raises(bt.InvalidArgument, match="argument `var`"):
                question(wrong)


def test_backward_runs_once():
    with bt.grad.record() as tape:
        y = bt.ops.mul(tape.variable(reals(1)), reals(1))
    tape.backward(y)
    for call in (lambda: tape.backward(y), lambda: tape.variable(reals(1)), lambda: bt.ops.relu(y), tape.__enter__):
        with pytest.raises(bt.InvalidArgument, match="whose `backward` ran.*record the program again"):
            call()


def test_a_backward_call_that_is_refused_can_be_called_again():
    x = bt.from_dlpack(reals(1, 17, 2, 2)).to_blocked("nChw16c")
    with bt.grad.record() as tape:
        var = tape.variable(x)
        constant = tape.constant(x)
        y = bt.ops.relu(var)
        flat = bt.ops.relu(tape.variable(reals(2, 3)))
    refused = [
        ((flat,), bt.ShapeMismatch, "a loss has one element; take the mean, or pass the gradient"),
        ((y,), bt.KeyMismatch, "it is strided"),
        ((y, x.to_strided()), bt.KeyMismatch, "its gradient has its key"),
        ((y, x.to_blocked("nChw8c")), bt.LayoutMismatch, "its gradient has its layout"),
        ((y, bt.zeros([1])), bt.ShapeMismatch, "argument `gradient`: got .*its gradient has its shape"),
        ((y, x.to_dtype("bf16")), bt.DTypeMismatch, "its gradient has its dtype"),
        ((y, "x"), bt.InvalidArgument, "argument `gradient`"),
        ((constant, x), bt.InvalidArgument, "argument `loss`: got .*it depends on no variable"),
        ((None,), bt.InvalidArgument, "it is a value of the tape"),
        ((y.tensor,), bt.InvalidArgument, "make one with `tape.variable"),
        ((y, y), bt.InvalidArgument, "pass `x.tensor`"),
    ]
    for arguments, kind, text in refused:
        with pytest.raises(kind, match=text) as e:
            tape.backward(*arguments)
        assert "::" not in str(e.value) and "backward_from" not in str(e.value)
    with pytest.raises(bt.InvalidArgument):
        tape.backward(y, x, threads=0)
    np.testing.assert_array_equal(plain(tape.backward(y, x)[var]), plain(x) * (plain(x) > 0))


def test_what_is_no_tensor_is_refused():
    with bt.grad.record() as tape:
        for make in (tape.variable, tape.constant):
            for wrong in (None, "x", 1.0, [1.0]):
                with pytest.raises(bt.InvalidArgument, match="argument `x`"):
                    make(wrong)
        var = tape.variable(reals(2, 3))
        for make in (tape.variable, tape.constant):
            with pytest.raises(bt.InvalidArgument, match="pass `x.tensor`"):
                make(var)
        with pytest.raises(bt.Error, match="op `add`"):
            bt.ops.add(var, None)
        with pytest.raises(bt.Error, match="op `cat`"):
            bt.ops.cat([var, None], axis=0)
        with pytest.raises(bt.Error, match="op `relu`"):
            bt.ops.relu(None)


def test_calls_that_would_not_be_recorded_are_refused():
    model = bt.Model()
    model.input("x", [2, 3])
    model.op("r", "relu", [("x", "x")], {}, ["y"])
    model.output("y", "y")
    plan = model.plan(layouts="nchw")
    packed = bt.pack_linear(reals(4, 3), rows=2)
    with bt.grad.record() as tape:
        var = tape.variable(reals(2, 3))
        diff = var.tensor
        calls = [
            lambda: plan.run(var),
            lambda: packed(var),
            lambda: bt.from_dlpack(var),
            lambda: bt.grad.backward("relu", var, results=diff, diff_dst=diff, wanted="x"),
            lambda: bt.grad.SGD(1.0).step({"w": var}, {"w": diff}),
            lambda: copy.deepcopy(var),
            lambda: pickle.dumps(var),
        ]
        integers = bt.from_dlpack(np.arange(6, dtype=np.uint8)).quantized(0.5, 1)
        bytes_var, constant = tape.variable(integers), tape.constant(integers)
        calls += [bytes_var.dequantized, bytes_var.without_quantization, lambda: bytes_var.quantized(0.1)]
        # A constant has no gradient to lose.
        np.testing.assert_array_equal(constant.dequantized().numpy(), (np.arange(6) - 1) * np.float32(0.5))
        assert not constant.without_quantization().is_quantized and constant.quantized(0.25).is_quantized
        for call in calls:
            with pytest.raises(bt.InvalidArgument, match=r"no gradient would come back through it; pass `x\.tensor`"):
                call()
        assert plan.run(var.tensor)[0].shape == (2, 3)
        # A copy of what never changes is the value itself: gradients come back through it.
        assert copy.copy(var) is var
        assert repr(var) == "Var([2, 3] f32 contiguous)"
        with pytest.raises(bt.UnsupportedOp, match=r"blocktensor\.ops\.add"):
            var + var
    with pytest.raises(bt.InvalidArgument, match="a call records only in the block of its tape.*pass `x.tensor`"):
        bt.ops.relu(var)
    for call in (lambda: tape.variable(reals(1)), lambda: var.to_strided("channels_last_1d")):
        with pytest.raises(bt.Error):
            call()


# Ops without a gradient.


def program(tape, layout=None):
    x = tape.variable(reals(2, 17, 4, 4))
    x = x.to_blocked(layout) if layout else x
    mask = bt.ops.gt_scalar(x, other=0.0)
    bt.ops.argmax(x, axis=1, keepdim=True)
    return bt.ops.max_pool2d(bt.ops.where(mask, x, x), kernel=2)


@pytest.mark.parametrize(("layout", "key"), [(None, "strided"), ("nChw16c", "blocked")])
def test_an_op_without_a_gradient_is_refused_before_it_runs(layout, key):
    with bt.record() as book:
        missing = bt.grad.check(lambda tape: program(tape, layout))
    assert len(book) == 0 and book.runs == []
    assert [type(e) for e in missing] == [bt.UnsupportedOp] * 2
    for e, op in zip(missing, ["gt_scalar", "argmax"], strict=True):
        assert e.op == op and f"op `{op}` has no gradient for dispatch key `{key}`" in str(e)
    with bt.grad.record() as tape, bt.record() as book:
        with pytest.raises(bt.UnsupportedOp) as e:
            program(tape, layout)
        assert str(e.value) == str(missing[0])
        # Of a constant any op may be computed, and of a tensor without a tape.
        x = tape.constant(reals(2, 3))
        bt.ops.argmax(x, axis=1)
        assert not isinstance(bt.ops.argmax(x.tensor, axis=1), bt.grad.Var)
    assert [r["op"] for r in book.runs] == ["argmax", "argmax"]
    assert bt.grad.check(lambda tape: bt.ops.relu(tape.variable(reals(2)))) == []


def test_check_raises_what_the_program_raises():
    def wrong(tape):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bt.grad.check(wrong)
    with pytest.raises(bt.ShapeMismatch):
        bt.grad.check(lambda tape: bt.ops.linear(tape.variable(reals(2, 3)), reals(4, 4)))
    with pytest.raises(TypeError):
        bt.grad.check(3)


# Keys that a program registers. There is room for few, so that these tests share one.


class Block:
    """An object of a backend, which weak references may name."""

    def __init__(self, array):
        self.array = array


KEY = "py_gradients"


def of(array):
    return bt.wrap(KEY, Block(array), array.shape)


def array(t):
    return bt.unwrap(t).array


def relu_gradient(x, *, results, diff_dst, wanted):
    return of(array(diff_dst[0]) * (array(x) > 0))


def mul_gradient(a, b, *, results, diff_dst, wanted):
    made = [array(diff_dst[0]) * array(b), array(diff_dst[0]) * array(a)]
    return [of(m) if w else None for m, w in zip(made, wanted, strict=True)]


#: What the registered functions call: tests put their own here.
FUNCTIONS = {
    "relu": lambda x: of(np.maximum(array(x), 0)),
    "relu_gradient": relu_gradient,
}


@pytest.fixture
def functions(monkeypatch):
    def put(name, function):
        monkeypatch.setitem(FUNCTIONS, name, function)

    return put


bt.register_backend(
    KEY,
    lambda x: of(x.numpy()),
    lambda t: bt.from_dlpack(array(t)),
    {
        "relu": lambda x: FUNCTIONS["relu"](x),
        "mul": lambda a, b: of(array(a) * array(b)),
        "add": lambda a, b: of(array(a) + array(b)),
    },
    gradients={"relu": lambda x, **named: FUNCTIONS["relu_gradient"](x, **named), "mul": mul_gradient},
)


def test_a_registered_key_has_its_own_gradients(functions):
    calls = []

    def counted(x, *, results, diff_dst, wanted):
        calls.append((len(results), len(diff_dst), wanted))
        return relu_gradient(x, results=results, diff_dst=diff_dst, wanted=wanted)

    functions("relu_gradient", counted)
    x, u = reals(2, 3), reals(2, 3)
    with bt.grad.record() as tape:
        plain_x = tape.variable(x)
        var = plain_x.to_key(KEY)
        y = bt.ops.mul(bt.ops.relu(var), bt.ops.relu(var))
        assert y.key == KEY
        y = y.to_strided()
    gradient = tape.backward(y, u)[plain_x]
    np.testing.assert_allclose(gradient.numpy(), 2 * np.maximum(x, 0) * u, rtol=1e-6)
    assert calls == [(1, 1, [True])] * 2
    # A value that is used twice has the sum of its gradients.
    key = "py_without_add"
    put = lambda a: bt.wrap(key, Block(a), a.shape)  # noqa: E731
    multiply = {"mul": lambda a, b: put(array(a) * array(b))}
    of_mul = lambda a, b, results, diff_dst, wanted: [put(array(diff_dst[0]) * array(b)), put(array(diff_dst[0]) * array(a))]  # noqa: E731
    bt.register_backend(key, lambda x: put(x.numpy()), lambda t: bt.from_dlpack(array(t)), multiply, gradients={"mul": of_mul})
    with bt.grad.record() as tape:
        var = tape.variable(x).to_key(key)
        loss = bt.ops.sum(bt.ops.mul(var, var).to_strided())
    with pytest.raises(bt.UnsupportedOp, match="used more than once has the sum of its gradients: register a kernel of `add`"):
        tape.backward(loss)
    # By name, too.
    t = of(x)
    y = bt.ops.mul(t, t)
    (db,) = bt.grad.backward("mul", t, t, results=y, diff_dst=of(u), wanted="b")
    np.testing.assert_array_equal(array(db), u * x)
    # An op without one names op and key, and what registers one here.
    with bt.grad.record() as tape, pytest.raises(bt.UnsupportedOp, match=f"op `add` has no gradient for dispatch key `{KEY}`") as e:
        bt.ops.add(tape.variable(t), t)
    assert "`gradients of blocktensor.register_backend`" in e.value.remedy


X = reals(2, 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: None, "the op has no gradient by this operand"),
        (lambda: bt.from_dlpack(X), "its gradient has its sizes, dtype and key"),
        (lambda: X, "the function returns a blocktensor.Tensor of its key"),
        (lambda: [None, None], "got 2 values.*return 1"),
        (lambda: of(X[:1]), "its gradient has its sizes"),
        (lambda: bt.wrap(KEY, None, X.shape, dtype="s32"), "its gradient has its sizes, dtype"),
    ],
    ids=["none", "strided", "array", "two", "sizes", "dtype"],
)
def test_what_a_gradient_in_python_may_return(make, text, functions):
    functions("relu_gradient", lambda x, **_: make())
    t = of(X)
    with pytest.raises(bt.Error, match=text) as e:
        bt.grad.backward("relu", t, results=t, diff_dst=t, wanted="x")
    assert e.value.op == "relu"


def test_what_registration_of_gradients_refuses():
    def register(gradients):
        bt.register_backend("py_refused", lambda x: x, lambda x: x, {}, gradients=gradients)

    with pytest.raises(bt.Registration, match="argument `gradients`: got `rellu`"):
        register({"rellu": str})
    with pytest.raises(bt.InvalidArgument, match="argument `gradients`: got int for `relu`"):
        register({"relu": 3})
    with pytest.raises(bt.Registration, match="argument `gradients`: got one for `relu`, but the key has no kernel"):
        register({"relu": str})


def test_steps_are_freed_one_by_one(functions):
    alive, refs = [], []

    def gradient(x, *, diff_dst, **_):
        gc.collect()
        alive.append([ref() is not None for ref in refs])
        return diff_dst[0]

    functions("relu_gradient", gradient)
    u = of(reals(2))
    with bt.grad.record() as tape:
        x = y = tape.variable(of(reals(2)))
        for _ in range(3):
            y = bt.ops.relu(y)
            refs.append(weakref.ref(bt.unwrap(y)))
    gradients = tape.backward(y, u)
    # The last result lives as long as the call names it.
    assert alive == [[True, True, True], [True, True, True], [True, False, True]]
    assert array(gradients[x]) is array(u)


def test_a_tape_is_used_by_one_call_at_a_time(functions):
    entered, leave = threading.Event(), threading.Event()

    def waiting(x):
        entered.set()
        assert leave.wait(10)
        return x

    functions("relu", waiting)
    with bt.grad.record() as tape:
        var = tape.variable(of(reals(2)))
        thread = threading.Thread(target=bt.ops.relu, args=[var])
        thread.start()
        assert entered.wait(10)
        for call in (lambda: bt.ops.relu(var), lambda: tape.backward(var, var.tensor), lambda: tape.variable(reals(1))):
            with pytest.raises(bt.InvalidArgument, match="one call at a time uses a tape"):
                call()
        leave.set()
        thread.join()
        assert isinstance(bt.ops.relu(var), bt.grad.Var)


def test_an_interrupt_in_a_kernel_passes_through(functions):
    def interrupted(x, **named):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**6):
            pass
        return x

    kernel, gradient = FUNCTIONS["relu"], FUNCTIONS["relu_gradient"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with bt.grad.record() as tape:
            x = tape.variable(of(reals(2)))
            functions("relu", interrupted)
            with pytest.raises(KeyboardInterrupt):
                bt.ops.relu(x)
            functions("relu", kernel)
            # The call was not recorded, and the tape goes on.
            y = bt.ops.relu(x)
        functions("relu_gradient", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tape.backward(y, y.tensor)
        functions("relu_gradient", gradient)
        with pytest.raises(bt.InvalidArgument, match="whose `backward` ran"):
            tape.backward(y, y.tensor)
        with bt.grad.record() as tape:
            x = tape.variable(of(reals(2)))
            y = bt.ops.relu(x)
        assert x in tape.backward(y, y.tensor)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_exception_in_a_gradient_is_the_cause(functions):
    def broken(x, **_):
        raise ZeroDivisionError("in a gradient")

    functions("relu_gradient", broken)
    with bt.grad.record() as tape:
        y = bt.ops.relu(tape.variable(of(reals(2))))
    with pytest.raises(bt.InvalidArgument, match="in a gradient") as e:
        tape.backward(y, y.tensor)
    assert isinstance(e.value.__cause__, ZeroDivisionError) and e.value.op == "relu"
