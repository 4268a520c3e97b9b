"""Gradients of programs, against definitions in f64: losses, a network that trains, layouts and the ledger."""

import blocktensor as bt
import numpy as np
import pytest

RNG = np.random.default_rng(4)


def reals(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def slopes(f, tensors, of):
    """Finite differences of the number `f(tensors)` by tensor number `of`, in f64."""
    wide = [np.asarray(t, np.float64) for t in tensors]
    made = np.zeros_like(wide[of])
    for at in np.ndindex(made.shape):
        values = []
        for step in (1e-6, -1e-6):
            moved = [t.copy() for t in wide]
            moved[of][at] += step
            values.append(f(*moved))
        made[at] = (values[0] - values[1]) / 2e-6
    return made


def cross_entropy(x, classes):
    """Its definition: x [N, C, ...], classes [N, ...]."""
    picked = np.take_along_axis(x, classes[:, None], 1)[:, 0]
    return (np.log(np.exp(x).sum(1)) - picked).mean()


def plain(t):
    return t.to_strided().numpy()


def test_values_used_twice_sum_their_gradients():
    x, w, target = reals(3, 4), reals(4, 4), reals(3, 4)

    def definition(x, w):
        y = x @ w.T
        y = y * y + np.tanh(y) + x
        return ((y - target) ** 2).mean()

    with bt.grad.record() as tape:
        xv, wv = tape.variable(x), tape.variable(w)
        y = bt.ops.linear(xv, wv)
        y = bt.ops.add(bt.ops.add(bt.ops.mul(y, y), bt.ops.tanh(y)), xv)
        loss = bt.grad.mse_loss(y, target)
    assert abs(loss.item() - definition(x.astype(np.float64), w.astype(np.float64))) < 1e-6
    gradients = tape.backward(loss)
    for i, var in enumerate([xv, wv]):
        assert isinstance(var, bt.grad.Var) and isinstance(var, bt.Tensor) and var in gradients
        np.testing.assert_allclose(gradients[var].numpy(), slopes(definition, [x, w], i), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("classes_of", ["int64", "int32", "int8", "tensor"])
def test_losses_are_their_definitions(classes_of):
    x, classes = reals(2, 5, 3), RNG.integers(0, 5, (2, 3))
    target = bt.from_dlpack(classes.astype(np.int32)) if classes_of == "tensor" else classes.astype(classes_of)
    want = cross_entropy(x.astype(np.float64), classes)
    # Without a tape it is only the number.
    alone = bt.grad.cross_entropy(x, target)
    assert not isinstance(alone, bt.grad.Var) and abs(alone.item() - want) < 1e-6
    with bt.grad.record() as tape:
        var = tape.variable(x)
        loss = bt.grad.cross_entropy(var, target, threads=1)
    gradient = tape.backward(loss, threads=1)[var].numpy()
    np.testing.assert_allclose(gradient, slopes(lambda x: cross_entropy(x, classes), [x], 0), rtol=1e-4, atol=1e-6)


def test_what_losses_refuse():
    x = reals(2, 3)
    for classes in ([0, 3], [0, -1]):
        with pytest.raises(bt.InvalidArgument, match="classes are 0 to 2"):
            bt.grad.cross_entropy(x, np.array(classes))
    with pytest.raises(bt.ShapeMismatch):
        bt.grad.cross_entropy(x, np.array([0, 1, 2]))
    with pytest.raises(bt.Error, match="op `cross_entropy`: argument `target`"):
        bt.grad.cross_entropy(x, np.array([0, 2**40]))
    with pytest.raises(bt.Error, match="op `cross_entropy`: argument `target`"):
        bt.grad.cross_entropy(x, np.array([0.5, 1.0]))
    with pytest.raises(bt.ShapeMismatch):
        bt.grad.mse_loss(x, reals(3, 2))
    for call in (bt.grad.cross_entropy, bt.grad.mse_loss):
        for arguments in [(x, None), (None, x)]:
            with pytest.raises(bt.InvalidArgument):
                call(*arguments)
    with pytest.raises(bt.UnsupportedOp, match=r"`mse_loss`.*`blocked`") as e:
        blocked = bt.from_dlpack(reals(1, 17, 2, 2)).to_blocked()
        bt.grad.mse_loss(blocked, blocked)
    assert ".to_strided()" in e.value.remedy
    # They are no ops of their own.
    assert "cross_entropy" not in bt.ops.__all__


# A network that trains.

CLASSES = 3


def images(n):
    """Images of three channels whose class is the orientation of a wave."""
    h, w = np.meshgrid(np.arange(12), np.arange(12), indexing="ij")
    classes = np.arange(n) % CLASSES
    along = np.stack([h, w, h + w])[classes][:, None] * 1.3
    phases = RNG.uniform(-3, 3, (n, 1, 1, 1)) + np.arange(3)[:, None, None]
    return np.sin(along + phases).astype(np.float32), classes


IMAGES, LABELS = images(24)
CHANNELS_LAST = bt.from_dlpack(IMAGES).to_strided("channels_last")
WEIGHTS = {
    "stem": reals(17, 3, 3, 3) * 0.3,
    "stem_bias": np.zeros(17, np.float32),
    "conv": reals(17, 17, 3, 3) * 0.14,
    "wide": reals(33, 17, 1, 1) * 0.4,
    "head": reals(CLASSES, 33) * 0.2,
    "head_bias": np.zeros(CLASSES, np.float32),
}


def network(x, w, is_blocked):
    x = x.to_blocked("nChw16c") if is_blocked else x
    x = bt.ops.relu(bt.ops.conv2d(x, w["stem"], w["stem_bias"], padding=1))
    x = bt.ops.max_pool2d(x, kernel=2)
    x = bt.ops.silu(bt.ops.add(x, bt.ops.conv2d(x, w["conv"], padding=1)))
    x = bt.ops.relu(bt.ops.conv2d(x, w["wide"], stride=2))
    x = bt.ops.global_avg_pool(x)
    x = x.to_strided() if is_blocked else x
    return bt.ops.linear(bt.ops.flatten(x, start=1, end=-1), w["head"], w["head_bias"])


def start(is_blocked):
    w = {name: bt.from_dlpack(array) for name, array in WEIGHTS.items()}
    return {n: t.to_blocked("OIhw16i16o") if is_blocked and t.ndim == 4 else t for n, t in w.items()}


def one_step(weights, optimiser, is_blocked, threads=None):
    """The loss and the next weights."""
    with bt.grad.record() as tape:
        w = {name: tape.variable(t) for name, t in weights.items()}
        x = tape.constant(CHANNELS_LAST)
        loss = bt.grad.cross_entropy(network(x, w, is_blocked), LABELS)
    gradients = tape.backward(loss, threads=threads)
    return loss.item(), optimiser.step(weights, {name: gradients[var] for name, var in w.items()})


def train(is_blocked, steps, threads=None):
    weights, optimiser, losses = start(is_blocked), bt.grad.SGD(0.05, momentum=0.9, weight_decay=1e-4), []
    for _ in range(steps):
        loss, weights = one_step(weights, optimiser, is_blocked, threads)
        losses.append(loss)
    return losses, weights


def test_a_network_trains_in_both_layouts_with_the_same_losses():
    nhwc, _ = train(False, 40)
    blocked, weights = train(True, 40)
    np.testing.assert_allclose(nhwc[:20], blocked[:20], rtol=1e-4)
    assert nhwc[-1] < 0.4 * nhwc[0] and blocked[-1] < 0.4 * blocked[0]
    # Blocked weights stay blocked.
    assert {t.layout for t in weights.values() if t.ndim == 4} == {"OIhw16i16o"}


def test_the_gradients_of_the_network_are_slopes_of_its_loss():
    weights = start(False)
    with bt.grad.record() as tape:
        w = {name: tape.variable(t) for name, t in weights.items()}
        loss = bt.grad.cross_entropy(network(bt.from_dlpack(IMAGES), w, False), LABELS)
    gradients = tape.backward(loss)
    # Along a random direction, as f32 is too coarse for single weights.
    for name, var in w.items():
        direction = (RNG.choice([-1, 1], var.shape) / np.sqrt(var.size)).astype(np.float32)
        values = []
        for step in (1e-2, -1e-2):
            moved = {**weights, name: bt.from_dlpack(WEIGHTS[name] + np.float32(step) * direction)}
            values.append(bt.grad.cross_entropy(network(bt.from_dlpack(IMAGES), moved, False), LABELS).item())
        want = (values[0] - values[1]) / 2e-2
        got = float((gradients[var].numpy() * direction).sum())
        assert abs(got - want) < 2e-2 * abs(want) + 2e-3, name


def test_runs_give_the_same_bits_for_any_number_of_threads():
    for is_blocked in (False, True):
        one, two = train(is_blocked, 3, threads=1), train(is_blocked, 3, threads=2)
        assert one[0] == two[0]
        for name, t in one[1].items():
            np.testing.assert_array_equal(plain(t), plain(two[1][name]))


# Layouts and the ledger.


def test_the_ledger_has_both_directions():
    weights, optimiser = start(True), bt.grad.SGD(0.1)
    with bt.record() as book:
        one_step(weights, optimiser, True)
    moves = [(r["op"], r["backward"]) for r in book.reorders if r["cause"] == "call"]
    # The images' way in, the features' way out, and the way back of their gradient.
    assert moves == [("to_blocked", False), ("to_strided", False), ("to_blocked", True)], book
    backward = [r for r in book.runs if r["backward"]]
    assert {"conv2d", "max_pool2d", "cross_entropy"} <= {r["op"] for r in backward}
    assert len(backward) < len(book.runs)
    assert __file__ in book.reorders[-1]["site"]


def test_deny_reorders_covers_both_directions():
    x = bt.from_dlpack(reals(1, 17, 2, 2))
    with bt.grad.record() as tape:
        var = tape.variable(x)
        with bt.deny_reorders(), pytest.raises(bt.ReorderDenied):
            var.to_blocked()
        y = bt.ops.relu(var.to_blocked())
        with bt.deny_reorders():
            z = bt.ops.mul(y, y)
    with bt.deny_reorders(), pytest.raises(bt.ReorderDenied) as e:
        tape.backward(z, z.tensor)
    assert e.value.op == "to_strided"
    with bt.grad.record() as tape:
        var = tape.variable(x.to_blocked())
        y = bt.ops.relu(var)
    with bt.deny_reorders():
        assert tape.backward(y, y.tensor)[var].layout == "nChw16c"


def test_reorders_of_variables_have_gradients():
    x = bt.from_dlpack(reals(2, 17, 3, 2))
    moves = {
        "to_blocked": lambda v: v.to_blocked("nChw8c"),
        "to_strided": lambda v: v.to_blocked().to_strided("channels_last"),
        "between layouts": lambda v: v.to_blocked("nChw8c").to_blocked("nChw16c"),
        "between formats": lambda v: v.to_strided("channels_last"),
        "contiguous": lambda v: v.to_strided("channels_last").contiguous(),
        "reshape": lambda v: v.reshape([2, 17, 6]),
        "to_dtype": lambda v: v.to_dtype("f32"),
        "nowhere": lambda v: v.to_strided(),
    }
    for name, move in moves.items():
        for of in (x, x.to_strided("channels_last"), x.to_blocked("nChw16c")):
            if of.is_blocked and name in ("contiguous", "reshape"):
                continue
            with bt.grad.record() as tape:
                var = tape.variable(of)
                y = move(var)
                assert isinstance(y, bt.grad.Var)
                y = bt.ops.mul(y, y)
            gradient = tape.backward(y, move(bt.ops.add_scalar(of, other=0.0)))[var]
            assert (gradient.layout, gradient.key) == (of.layout, of.key), name
            np.testing.assert_allclose(plain(gradient), 2 * plain(x) ** 2, rtol=1e-6, err_msg=name)


def test_indices_and_statistics_are_constants():
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)

    def largest(tape):
        v = tape.variable(x)
        values, indices = bt.ops.topk(v, k=2, axis=1)
        return v, bt.ops.sum(bt.ops.gather(v, indices, axis=1)), indices, values

    assert bt.grad.check(lambda tape: largest(tape)[1]) == []
    with bt.grad.record() as tape:
        v, loss, indices, values = largest(tape)
    with pytest.raises(bt.InvalidArgument, match="depends on no variable"):
        tape.backward(indices, np.ones((3, 2), np.int32))
    chosen = np.zeros_like(x)
    np.put_along_axis(chosen, np.argsort(-x, axis=1)[:, :2], 1.0, axis=1)
    assert np.array_equal(tape.backward(loss)[v].numpy(), chosen)

    images = np.ones((2, 3, 4, 4), np.float32)
    with bt.grad.record() as tape:
        v = tape.variable(images)
        y, mean, _ = bt.ops.batch_norm_train(v, np.zeros(3, np.float32), np.ones(3, np.float32))
        of_mean = bt.ops.sum(mean)
    with pytest.raises(bt.InvalidArgument, match="depends on no variable"):
        tape.backward(of_mean)

    def by_mean(tape):
        mean = tape.variable(np.zeros(3, np.float32))
        return bt.ops.batch_norm_train(images, mean, np.ones(3, np.float32))[0]

    (missing,) = bt.grad.check(by_mean)
    assert "`running_mean`" in str(missing)


@pytest.mark.parametrize("op", ["amax", "amin", "prod"])
def test_gradients_of_nan_are_nan(op):
    with bt.grad.record() as tape:
        v = tape.variable(np.array([1.0, np.nan, 2.0], np.float32))
        y = getattr(bt.ops, op)(v, axes=0)
    made = tape.backward(y, np.ones(y.shape, np.float32))[v].numpy()
    assert np.isnan(made[[0, 2]]).all()
