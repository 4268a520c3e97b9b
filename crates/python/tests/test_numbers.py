"""Numbers that no count can be, such as -1 and 2**70: typed errors in every function that counts."""

import decimal
import os
import subprocess
import sys
import types

import blocktensor as bt
import numpy as np
import pytest

X = np.ones((1, 16, 4, 4), np.float32)
W = np.ones((16, 16, 3, 3), np.float32)


def model():
    m = bt.Model()
    m.input("x", ["n", 16, 4, 4])
    m.op("y", "relu", [("x", "x")], {}, ["y"])
    m.output("y", "y")
    return m


T = bt.from_dlpack(X)
PACKED = bt.pack_conv(W, like=X)

#: The op and the argument that the error names, and a call with a number that is to be refused.
CALLS = {
    "zeros": ("shape", lambda n: bt.zeros((n, 3))),
    "reshape": ("shape", lambda n: T.reshape([n if n != -1 else -(2**70)])),
    "reshape ": ("shape", lambda n: T.reshape(n if n != -1 else -(2**70))),
    "relu": ("threads", lambda n: bt.ops.relu(X, threads=n)),
    "pack_conv": ("threads", lambda n: bt.pack_conv(W, like=X, threads=n)),
    "pack_conv_transpose": ("threads", lambda n: bt.pack_conv_transpose(W, like=X, threads=n)),
    "pack_stem": ("threads", lambda n: bt.pack_stem(W, like=X, threads=n)),
    "pack_linear": ("threads", lambda n: bt.pack_linear(X[0, 0], threads=n)),
    "pack_linear ": ("rows", lambda n: bt.pack_linear(X[0, 0], rows=n)),
    "budget": ("reorders", bt.budget),
    "input": ("shape", lambda n: bt.Model().input("x", [n])),
    "plan": ("sizes", lambda n: model().plan(layouts="nchw", sizes={"n": n})),
    "plan ": ("threads", lambda n: model().plan(layouts="nchw", sizes={"n": 1}, threads=n)),
    "missing": ("sizes", lambda n: model().missing({"n": n})),
    "load_plan": ("threads", lambda n: bt.load_plan("nothing", threads=n)),
    "wrap": ("shape", lambda n: bt.wrap("py_numbers", None, [n])),
    "__dlpack__": ("max_version", lambda n: T.__dlpack__(max_version=(n, 0))),
    "__dlpack__ ": ("dl_device", lambda n: T.__dlpack__(dl_device=(n if n != -1 else -(2**70), 0))),
    "conv2d": ("stride", lambda n: bt.ops.conv2d(X, W, stride=n)),
    "softmax": ("axis", lambda n: bt.ops.softmax(X, axis=n if n != -1 else -(2**70))),
}
bt.register_backend("py_numbers", lambda t: t, lambda t: t, {})


@pytest.mark.parametrize("number", [-1, 2**70])
@pytest.mark.parametrize("name", CALLS)
def test_no_count(name, number):
    argument, call = CALLS[name]
    with pytest.raises(bt.InvalidArgument) as e:
        call(number)
    text = str(e.value)
    assert e.value.op == name.strip() and f"argument `{argument}`" in text and e.value.remedy
    assert isinstance(e.value, ValueError) and not isinstance(e.value, OverflowError)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zeros", "argument `shape`: got -1, but a size is 0 or more; pass a size of 0 or more"),
        ("plan", "argument `sizes`: got -1, but a size is 0 or more; pass a size of 0 or more"),
        ("plan ", "argument `threads`: got -1, but a call here has 1 to"),
    ],
)
def test_negative_counts_say_what_is_allowed(name, text):
    with pytest.raises(bt.InvalidArgument, match=text):
        CALLS[name][1](-1)


def test_a_negative_rank_1_shape():
    with pytest.raises(bt.InvalidArgument, match="got -1, but a size is 0 or more"):
        bt.zeros(-1)


@pytest.mark.parametrize("number", [2.5, "2", "two", None, [1], {}], ids=repr)
@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("conv2d", "softmax", "__dlpack__", "__dlpack__ ")])
def test_no_number(name, number):
    argument, call = CALLS[name]
    is_default = number is None and argument in ("threads", "rows")
    is_name = name == "input" and isinstance(number, str)
    is_list = name == "reshape " and isinstance(number, list)
    if is_default or is_name or is_list:
        return
    with pytest.raises(bt.InvalidArgument) as e:
        call(number)
    text = str(e.value)
    assert e.value.op == name.strip() and f"argument `{argument}`: got {number!r}" in text and e.value.remedy, text


@pytest.mark.parametrize("sizes", [3, "n=1", ["n"], [("n", 1)], {3: 1}, {None: 1}], ids=repr)
def test_sizes_are_numbers_by_name(sizes):
    for call in (lambda: model().plan(sizes=sizes), lambda: model().missing(sizes)):
        with pytest.raises(bt.InvalidArgument, match="argument `sizes`: got .*, but it is a mapping from names to integers; pass a dict"):
            call()


@pytest.mark.parametrize("flag", [True, False])
def test_a_flag_is_no_count(flag):
    with pytest.raises(bt.InvalidArgument, match=f"argument `sizes`: got {flag}, but it is an integer"):
        model().plan(layouts="nchw", sizes={"n": flag})
    with pytest.raises(bt.InvalidArgument, match=f"got {flag}, but it is an integer"):
        bt.zeros([flag, 3])


def test_sizes_are_any_mapping():
    assert model().plan(layouts="nchw", sizes=types.MappingProxyType({"n": 2})).inputs == [("x", "f32", [2, 16, 4, 4])]


def test_an_iterator_that_raises_is_no_wrong_argument():
    def sizes():
        yield 1
        raise RuntimeError("of the program")

    for call in (bt.zeros, lambda x: bt.Model().input("x", x)):
        with pytest.raises(RuntimeError, match="of the program"):
            call(sizes())


@pytest.mark.parametrize("shape", [3, "n", 2.5, None], ids=repr)
def test_the_shape_of_an_input_is_a_list(shape):
    with pytest.raises(bt.InvalidArgument, match="argument `shape`: got .*, but sizes are numbers or names; pass a list of them"):
        bt.Model().input("x", shape)


@pytest.mark.parametrize("argument", ["exact", "strict", "keep_constants"])
def test_flags_are_true_or_false(argument):
    for wrong in (1, 0, "yes", None):
        with pytest.raises(bt.InvalidArgument, match=f"argument `{argument}`: got .*, but it is `True` or `False`"):
            model().plan(layouts="nchw", sizes={"n": 1}, **{argument: wrong})
    assert model().plan(layouts="nchw", sizes={"n": 1}, **{argument: False})


def test_flags_of_plans(tmp_path):
    plan, path = model().plan(layouts="nchw", sizes={"n": 1}), tmp_path / "n.plan"
    with pytest.raises(bt.InvalidArgument, match="argument `keep_plain`: got 1"):
        plan.save(path, keep_plain=1)
    assert not path.exists()
    plan.save(path)
    for argument in ("replan", "keep_constants", "mapped"):
        with pytest.raises(bt.InvalidArgument, match=f"argument `{argument}`: got 1"):
            bt.load_plan(path, **{argument: 1})


@pytest.mark.parametrize("argument", ["layouts", "profiles", "precision"])
def test_names_are_text(argument):
    for wrong in (None, 3, b"nchw"):
        with pytest.raises(bt.InvalidArgument, match=f"argument `{argument}`: got .*, but it is a name; pass a `str`"):
            model().plan(sizes={"n": 1}, **{argument: wrong})


def test_a_float_too_large_for_one():
    for call in [
        lambda: model().plan(sizes={"n": 1}, weight_growth=10**400),
        lambda: model().plan(sizes={"n": 1}, weight_growth=float("nan")),
        lambda: bt.ops.leaky_relu(X, slope=10**400),
        lambda: bt.pack_conv(W, like=X, batch_norm={"mean": W[:, 0, 0, 0], "var": W[:, 0, 0, 0], "eps": 10**400}),
    ]:
        with pytest.raises(bt.InvalidArgument):
            call()


@pytest.mark.parametrize("wrong", [np.array("x"), np.ones(2, np.float32), decimal.Decimal("sNaN"), "1", None, [1.0]], ids=repr)
def test_what_is_no_float(wrong):
    calls = {"lr": bt.grad.SGD, "momentum": lambda x: bt.grad.SGD(0.1, momentum=x), "weight_decay": lambda x: bt.grad.AdamW(weight_decay=x)}
    calls["eps"] = lambda x: bt.grad.AdamW(eps=x)
    calls["weight_growth"] = lambda x: model().plan(sizes={"n": 1}, weight_growth=x)
    calls["lr "] = lambda x: setattr(bt.grad.SGD(0.1), "lr", x)
    for argument, call in calls.items():
        with pytest.raises(bt.InvalidArgument) as e:
            call(wrong)
        assert f"argument `{argument.strip()}`: got {wrong!r}"[:60] in str(e.value) and "it is a number; pass one number" in str(e.value)


def test_what_a_number_raises_of_its_own_is_no_wrong_argument():
    class Own:
        def __float__(self):
            raise KeyError("of the program")

    with pytest.raises(KeyError, match="of the program"):
        bt.grad.SGD(Own())


@pytest.mark.parametrize("wrong", [b"12", bytearray(b"12"), memoryview(b"12"), {3: 1}, {4, 3}, frozenset({4, 3})], ids=lambda x: type(x).__name__)
def test_bytes_and_what_has_no_order_are_no_lists(wrong):
    calls = {"shape": bt.zeros, "shape ": T.reshape, " shape": lambda s: bt.wrap("py_numbers", None, s)}
    calls["padding"] = lambda s: bt.ops.pad(X, padding=s)
    calls["stride"] = lambda s: bt.ops.conv2d(X, W, stride=s)
    calls["shape  "] = lambda s: bt.Model().input("x", s)
    calls["betas"] = lambda s: bt.grad.AdamW(betas=s)
    calls["tensors"] = bt.ops.cat
    for argument, call in calls.items():
        with pytest.raises(bt.InvalidArgument, match=f"argument `{argument.strip()}`: got .*; ") as e:
            call(wrong)
        assert repr(wrong) in str(e.value)


def test_names_are_in_lists():
    for wrong in ({"y"}, {"y": 1}):
        with pytest.raises(bt.InvalidArgument, match="argument `names`: got .*, but it is a name, or a sequence of names"):
            model().with_outputs(wrong)
        with pytest.raises(bt.InvalidArgument, match="argument `wanted`: got "):
            bt.grad.backward("relu", X, results=X, diff_dst=X, wanted=wrong)


def test_any_ordered_list_has_sizes():
    for sizes in (np.array([2, 3]), range(2, 4), iter([2, 3]), (2, 3)):
        assert bt.zeros(sizes).shape == (2, 3)
    for padding in (np.array([1, 1, 1, 1]), range(1, 2), [1], (1,)):
        assert bt.ops.conv2d(X, W, padding=padding).shape == (1, 16, 4, 4)


def test_numbers_of_numpy_count():
    assert bt.zeros((np.int64(2), np.uint8(3))).shape == (2, 3)
    assert model().plan(sizes={"n": np.int32(2)}, threads=np.int64(1)).threads == 1


def test_threads_follow_the_affinity() -> None:
    """In a process of its own: the process's threads are counted once."""
    program = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); import blocktensor as bt; print(bt.thread_count())"
    env = {name: x for name, x in os.environ.items() if name != "RAYON_NUM_THREADS"}
    for more, count in (({}, 1), ({"RAYON_NUM_THREADS": "3"}, 3)):
        done = subprocess.run([sys.executable, "-c", program], env=env | more, capture_output=True, text=True, check=True)
        assert int(done.stdout) == count
