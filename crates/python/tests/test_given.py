"""What calls are given in place of what they take: other mappings, models, values of a tape, numbers of threads."""

import collections
import copy
import pickle
import types

import blocktensor as bt
import numpy as np
import pytest

X = np.linspace(-1, 1, 16 * 16, dtype=np.float32).reshape(1, 16, 4, 4)
W = np.ones((16, 16, 3, 3), np.float32)
MAPPINGS = [types.MappingProxyType, collections.UserDict, collections.ChainMap]
NONE = [3, None, "relu", [("relu", print)]]


def model():
    m = bt.Model()
    m.input("x", [1, 16, 4, 4])
    m.constant("w", W)
    m.op("y", "conv2d", [("x", "x"), ("weights", "w")], {}, "y")
    m.output("y", "y")
    return m


@pytest.mark.parametrize("kind", MAPPINGS)
def test_any_mapping_is_one(kind):
    name = f"py_given_{kind.__name__}".lower()
    bt.register_backend(
        name,
        lambda x: bt.wrap(name, x, x.shape),
        bt.unwrap,
        kind({"relu": lambda x: bt.wrap(name, bt.ops.relu(bt.unwrap(x)), x.shape)}),
        gradients=kind({}),
    )
    y = bt.ops.relu(bt.from_dlpack(X).to_key(name))
    assert np.array_equal(bt.unwrap(y).numpy(), np.maximum(X, 0))
    m = model()
    m.op("z", "softmax", [("x", "y")], kind({"axis": 1}), "z")
    norm = kind({"mean": np.zeros(16, np.float32), "var": np.ones(16, np.float32), "eps": 0.0})
    packed = bt.pack_conv(W, like=X, batch_norm=norm)
    np.testing.assert_allclose(packed(X).numpy(), bt.ops.conv2d(X, W).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", [*NONE, {1: print}])
def test_what_is_no_mapping_of_names(given):
    calls = {
        "kernels": lambda: bt.register_backend("py_given_no", print, print, given),
        "gradients": lambda: bt.register_backend("py_given_no", print, print, {}, gradients=given),
        "params": lambda: model().op("z", "relu", [("x", "y")], given, "z"),
    }
    if given is not None:
        calls["batch_norm"] = lambda: bt.pack_conv(W, like=X, batch_norm=given)
    for argument, call in calls.items():
        with pytest.raises(bt.InvalidArgument, match=f"argument `{argument}`: got .*it is a mapping from names to .*pass a dict"):
            call()


def test_gradients_of_what_is_no_op():
    for op in (3, None, bt.from_dlpack(X)):
        with pytest.raises(bt.InvalidArgument, match=r"(?s)argument `op`: got .*`tape\.backward\(loss\)`"):
            bt.grad.backward(op)
        with pytest.raises(bt.InvalidArgument, match="argument `op`"):
            bt.grad.backward(op, X, results=X, diff_dst=X, wanted="x")
    given = {"results": X, "diff_dst": X, "wanted": "x"}
    for left_out in given:
        rest = {name: x for name, x in given.items() if name != left_out}
        with pytest.raises(bt.InvalidArgument, match=f"op `relu`: argument `{left_out}`: got nothing.*pass it by name"):
            bt.grad.backward("relu", X, **rest)
    assert bt.grad.backward("relu", X, **given)[0].shape == X.shape


def test_models_that_are_no_paths():
    class Message:
        def SerializeToString(self):
            return b""

    with pytest.raises(bt.InvalidArgument, match=r"argument `path`: got \S+Message, .*`onnx\.save\(model, path\)`"):
        bt.load_onnx(Message())
    for other in (3, None, ["a"], open):
        for call in (bt.load_onnx, bt.load_plan, model().plan().save):
            with pytest.raises(bt.InvalidArgument, match="argument `path`: got .*`os.PathLike`; pass the path of a file"):
                call(other)


def test_constants_of_a_tape_have_no_gradient_to_lose():
    with bt.grad.record() as tape:
        constant = tape.constant(X)
        copies = [copy.deepcopy(constant), pickle.loads(pickle.dumps(constant)), bt.from_dlpack(constant)]
        for made in [*copies, *bt.grad.SGD(0.1).step({"w": constant}, {"w": X * 0}).values()]:
            assert type(made) is bt.Tensor and np.array_equal(made.numpy(), X)
        assert copies[0].data_ptr() != constant.data_ptr()
        for var in (tape.variable(X), bt.ops.relu(tape.variable(X))):
            for leave in (copy.deepcopy, pickle.dumps, bt.from_dlpack):
                with pytest.raises(bt.InvalidArgument, match=r"no gradient would come back through it; pass `x\.tensor`"):
                    leave(var)


def test_numbers_of_threads(tmp_path):
    """Each refusal names the numbers that are taken."""
    path = tmp_path / "plan"
    model().plan(threads=1).save(path)
    calls = [
        lambda n: model().plan(threads=n),
        lambda n: bt.load_plan(path, threads=n),
        lambda n: bt.ops.relu(X, threads=n),
        lambda n: bt.pack_conv(W, like=X, threads=n),
        lambda n: bt.pack_linear(W[:, :, 0, 0], threads=n),
        lambda n: bt.grad.mse_loss(X, X, threads=n),
        lambda n: bt.grad.backward("relu", X, results=X, diff_dst=X, wanted="x", threads=n),
    ]
    for number in (-1, 0, 10**6, 2**70, -(2**70)):
        for call in calls:
            with pytest.raises(bt.InvalidArgument, match=rf"argument `threads`: got {number}, but a call here has 1 to \d+ threads"):
                call(number)


def test_a_plan_for_other_threads_names_them(tmp_path):
    for name, keeps in (("plan", False), ("kept", True)):
        path = tmp_path / name
        model().plan(threads=1, layouts="blocked").save(path, keep_plain=keeps)
        for options in ({}, {"replan": True}, {"keep_constants": True}):
            try:
                bt.load_plan(path, threads=2, **options)
            except bt.PackMismatch as e:
                assert "argument `threads`: got 2, but the plan is packed for 1 thread; " in str(e), str(e)
                assert "`threads=1`" in e.remedy
            except bt.Error as e:
                assert options == {"keep_constants": True} and not keeps, str(e)
            else:
                assert options == {"replan": True} and keeps
        with pytest.raises(bt.InvalidArgument, match="with `replan` a plan is loaded without its plain weights") as e:
            bt.load_plan(path, replan=True, keep_constants=True)
        assert "`keep_constants`" in str(e.value) and "pass one of the two" in e.value.remedy


def test_packed_weights_take_vectors_by_name():
    """The operands of post-ops have names; what is missing or too much is told by them."""
    scale, more = np.linspace(1, 2, 4, dtype=np.float32), np.linspace(-1, 1, 4, dtype=np.float32)
    x, w = np.random.default_rng(1).standard_normal((2, 3, 5, 5)).astype(np.float32), np.ones((4, 3, 1, 1), np.float32)
    like = bt.from_dlpack(x)
    plain = bt.ops.conv2d(x, w).numpy()
    two = bt.pack_conv(w, like=like, post_ops="mul_channel,residual,add_channel")
    want = plain * scale[:, None, None] + plain + more[:, None, None]
    for given in ([scale, more], (scale, more)):
        np.testing.assert_allclose(two(x, plain, given).numpy(), want, rtol=1e-5)
    one = bt.pack_conv(w, like=like, post_ops="mul_channel")
    np.testing.assert_allclose(one(x, channel=scale).numpy(), plain * scale[:, None, None], rtol=1e-6)
    for call, text in [
        (lambda: one(x), "argument `channel`: got 0 tensors, but these packed weights take x, channel; pass 1 tensor"),
        (lambda: one(x, scale), "argument `residual`: got 1 tensor, but these packed weights take x, channel; pass 0 tensors"),
        (lambda: two(x, plain, scale), "argument `channel`: got 1 tensor, but these packed weights take x, residual, channel, channel; pass 2 tensors"),
    ]:
        with pytest.raises(bt.InvalidArgument, match=text):
            call()


@pytest.mark.parametrize("name", ["stride", "dilation", "groups"])
def test_what_counts_from_1_says_so(name):
    for number in (0, -1, -(2**40)):
        for call in (lambda n: bt.ops.conv2d(X, W, **{name: n}), lambda n: bt.pack_conv(W, like=X, **{name: n})):
            with pytest.raises(bt.InvalidArgument, match=f"op `conv2d`: argument `{name}`: got ") as e:
                call(number)
            assert "0 or more" not in str(e.value) and e.value.remedy in ("pass 1 or more", "pass 1 for an ungrouped one")
    with pytest.raises(bt.InvalidArgument, match="negative; pass 0 or more"):
        bt.ops.conv2d(X, W, padding=-1)
    for call in (
        lambda: bt.ops.max_pool2d(X, kernel=-1),
        lambda: bt.ops.max_pool2d(X, kernel=2, dilation=-1),
        lambda: bt.ops.channel_shuffle(X, groups=-1),
        lambda: bt.ops.pixel_shuffle(X, factor=-2),
        lambda: bt.ops.chunk(X, chunks=-1),
        lambda: bt.ops.slice(X, axis=1, step=-1),
        lambda: bt.ops.local_response_norm(X, size=-1),
    ):
        with pytest.raises(bt.InvalidArgument, match="it counts from 1; pass 1 or more"):
            call()


@pytest.mark.parametrize("flag", [True, False])
def test_a_flag_is_no_axis_and_no_size(flag):
    for call in (
        lambda: bt.ops.softmax(X, axis=flag),
        lambda: bt.ops.sum(X, axes=flag),
        lambda: bt.ops.sum(X, axes=[0, flag]),
        lambda: bt.ops.max_pool2d(X, kernel=flag),
        lambda: bt.ops.conv2d(X, W, groups=flag),
    ):
        with pytest.raises(bt.InvalidArgument, match="but it is (an integer|a list of integers); pass what the signature says"):
            call()


def test_words_of_one_text():
    for given, remedy in ((["residual", "relu"], 'pass "residual,relu"'), (("relu",), 'pass "relu"'), (7, "pass what the signature says")):
        with pytest.raises(bt.InvalidArgument, match="argument `post_ops`: got .*, but it is a text") as e:
            bt.ops.conv2d(X, W, post_ops=given)
        assert e.value.remedy == remedy


@pytest.mark.parametrize("value", [65536, 2, 1, 0, -1, 1.0, "yes", []])
def test_a_flag_is_true_or_false(value):
    with pytest.raises(bt.InvalidArgument, match="argument `keepdim`: got .*, but it is a flag; pass True or False"):
        bt.ops.sum(X, axes=[1], keepdim=value)


def test_an_object_around_a_blocked_tensor_has_its_error():
    """The remedy was `numpy.array(x)`, which such an object may not have."""
    blocked = bt.zeros([1, 16, 2, 2], layout="nChw16c")

    class Around:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

    for call in (bt.ops.relu, bt.from_dlpack):
        with pytest.raises(bt.OpaqueLayoutError, match=r"^op `__dlpack__`: .*reorder it with `\.to_strided\(\)`$"):
            call(Around(blocked))
        assert call(Around(blocked.to_strided())).shape == (1, 16, 2, 2)
