"""Optimisers against their formulas in f64."""

import blocktensor as bt
import numpy as np
import pytest

RNG = np.random.default_rng(6)


def reals(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def plain(t):
    return t.to_strided().numpy()


def test_optimisers_are_their_formulas():
    w = {"a": reals(17, 3, 3, 3), "b": reals(5)}
    want = {name: array.astype(np.float64) for name, array in w.items()}
    velocity = dict.fromkeys(w, 0)
    weights = {"a": bt.from_dlpack(w["a"]).to_blocked("OIhw16i16o"), "b": w["b"]}
    sgd = bt.grad.SGD(0.1, momentum=0.9, weight_decay=0.01)
    for step in range(4):
        sgd.lr = 0.1 / (step + 1)
        g = {"a": reals(17, 3, 3, 3), "b": reals(5)}
        for name in w:
            velocity[name] = 0.9 * velocity[name] + g[name] + 0.01 * want[name]
            want[name] = want[name] - sgd.lr * velocity[name]
        blocked = {**g, "a": bt.from_dlpack(g["a"]).to_blocked("OIhw16i16o")}
        with bt.deny_reorders():
            weights = sgd.step(weights, blocked)
        for name, t in weights.items():
            np.testing.assert_allclose(plain(t), want[name], rtol=1e-5, atol=1e-6)
    b1, b2 = 0.8, 0.95
    adamw = bt.grad.AdamW(0.02, betas=(b1, b2), eps=1e-6, weight_decay=0.1)
    want, m, v, weights = w["b"].astype(np.float64), 0, 0, {"b": w["b"]}
    for t in range(1, 5):
        g = reals(5)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g.astype(np.float64) ** 2
        want = want - 0.02 * 0.1 * want
        want = want - 0.02 * m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + 1e-6)
        weights = adamw.step(weights, {"b": g})
        np.testing.assert_allclose(weights["b"].numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [lambda: bt.grad.SGD(0.1, momentum=0.9), lambda: bt.grad.AdamW(0.1)])
def test_a_saved_optimiser_goes_on(make):
    weights, steps = {"w.a": reals(2, 3), "b": reals(4)}, [{"w.a": reals(2, 3), "b": reals(4)} for _ in range(3)]
    whole, first, second = make(), make(), make()
    assert first.state_dict() == {}
    want, got = weights, weights
    for g in steps:
        want = whole.step(want, g)
    got = first.step(got, steps[0])
    second.load_state_dict(first.state_dict())
    # Names in another order.
    for g in steps[1:]:
        got = second.step(dict(reversed(got.items())), g)
    for name in weights:
        np.testing.assert_array_equal(want[name].numpy(), got[name].numpy())
    fresh = make().step(first.step(weights, {}), steps[1])
    assert any((fresh[n].numpy() != want[n].numpy()).any() for n in weights)


def test_what_optimisers_refuse_leaves_them_as_they_were():
    sgd, w, g = bt.grad.SGD(0.1, momentum=0.9), {"a": reals(2), "b": reals(3)}, {"a": reals(2), "b": reals(3)}
    with pytest.raises(bt.ShapeMismatch):
        sgd.step(w, {"a": g["a"], "b": reals(4)})
    assert sgd.state_dict() == {}
    after = sgd.step(w, {"a": g["a"], "b": None})
    # No gradient, no step.
    np.testing.assert_array_equal(after["b"].numpy(), w["b"])
    assert list(sgd.state_dict()) == ["a.velocity"]
    for weights, gradients, text in [
        (w, {"c": g["a"]}, "got `c`, but no weights have this name"),
        (None, g, "argument `weights`"),
        (w, [g["a"]], "argument `gradients`"),
        ({"a": None}, g, "no weights have this name"),
        ({"a": "x"}, {}, "argument `weights`"),
        ({1: reals(2)}, {}, "argument `weights`: got 1, but tensors have names here"),
    ]:
        with pytest.raises(bt.InvalidArgument, match=text):
            sgd.step(weights, gradients)
    adamw = bt.grad.AdamW()
    for state in ({"a": reals(2)}, {"a.velocity": reals(2)}, {"a.steps": reals(2), "a.mean": reals(2)}, None):
        with pytest.raises(bt.InvalidArgument, match="state_dict|a mapping"):
            adamw.load_state_dict(state)
    assert adamw.state_dict() == {} and adamw.lr == 1e-3


MAKE = [lambda: bt.grad.SGD(0.1, momentum=0.9), lambda: bt.grad.AdamW(0.1)]


@pytest.mark.parametrize("make", [lambda: bt.grad.SGD(0.1), *MAKE])
def test_nothing_is_broadcast(make):
    optimiser, w = make(), {"a": reals(3)}
    for shape in ([1], [4, 3], [1, 3], [], [0]):
        with pytest.raises(bt.ShapeMismatch, match=r"op `step`: argument `gradients`: got .*the weights are \[3\] f32") as e:
            optimiser.step(w, {"a": reals(*shape)})
        assert e.value.remedy == "pass the gradient of these weights"
    assert optimiser.state_dict() == {}


@pytest.mark.parametrize("make", MAKE)
def test_a_state_is_for_the_sizes_of_its_weights(make):
    optimiser = make()
    optimiser.step({"a": reals(1)}, {"a": reals(1)})
    before = {name: t.numpy().tolist() for name, t in optimiser.state_dict().items()}
    with pytest.raises(bt.ShapeMismatch, match=r"argument `state`: got \[1\] f32.*the weights are \[3\] f32") as e:
        optimiser.step({"a": reals(3)}, {"a": reals(3)})
    # No number is meant.
    assert e.value.remedy == "load the state of these weights, or make another optimiser for other weights"
    assert {name: t.numpy().tolist() for name, t in optimiser.state_dict().items()} == before


@pytest.mark.parametrize("make", MAKE)
def test_arrays_that_change_later_change_no_state(make):
    g, w = np.ones(3, np.float32), {"a": np.zeros(3, np.float32)}
    kept, other = make(), make()
    kept.step(w, {"a": g})
    state = {name: t.numpy().copy() for name, t in kept.state_dict().items()}
    other.load_state_dict(state)
    want = {name: x.copy() for name, x in state.items()}
    g[:] = 100
    for x in state.values():
        x[...] = 100
    for optimiser in (kept, other):
        for name, t in optimiser.state_dict().items():
            np.testing.assert_array_equal(t.numpy(), want[name])


def test_without_momentum_nothing_is_kept():
    sgd, w = bt.grad.SGD(0.5), {"a": np.zeros(1, np.float32)}
    sgd.step(w, {"a": np.float32([np.inf])})
    assert sgd.state_dict() == {}
    # An infinite gradient is gone with its step, as in PyTorch.
    assert sgd.step(w, {"a": np.float32([1])})["a"].numpy().tolist() == [-0.5]


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("lr", lambda x: bt.grad.SGD(x)),
        ("momentum", lambda x: bt.grad.SGD(0.1, momentum=x)),
        ("weight_decay", lambda x: bt.grad.SGD(0.1, weight_decay=x)),
        ("lr", lambda x: bt.grad.AdamW(x)),
        ("betas", lambda x: bt.grad.AdamW(betas=(x, 0.9))),
        ("betas", lambda x: bt.grad.AdamW(betas=(0.9, x))),
        ("eps", lambda x: bt.grad.AdamW(eps=x)),
        ("weight_decay", lambda x: bt.grad.AdamW(weight_decay=x)),
        ("lr", lambda x: setattr(bt.grad.SGD(0.1), "lr", x)),
        ("lr", lambda x: setattr(bt.grad.AdamW(0.1), "lr", x)),
    ],
)
def test_factors_are_those_of_pytorch(argument, call):
    for wrong in (-0.1, float("nan"), float("inf"), "x", None, *([1.0] if argument == "betas" else [])):
        with pytest.raises(bt.InvalidArgument, match=f"argument `{argument}`: got ") as e:
            call(wrong)
        assert e.value.remedy
    call(0)


@pytest.mark.parametrize("betas", [(0.9,), (0.9, 0.99, 0.999), 0.9, None, "ab"], ids=repr)
def test_betas_are_a_pair(betas):
    with pytest.raises(bt.InvalidArgument, match="argument `betas`: got "):
        bt.grad.AdamW(betas=betas)
    assert bt.grad.AdamW(betas=[0.9, 0.99]).state_dict() == {}


def test_a_state_of_another_optimiser_is_refused():
    adamw, sgd, w = bt.grad.AdamW(), bt.grad.SGD(0.1, momentum=0.9), {"a": reals(2)}
    adamw.step(w, w)
    sgd.step(w, w)
    for optimiser, state in ((sgd, adamw.state_dict()), (adamw, sgd.state_dict()), (sgd, {**sgd.state_dict(), "a.mean": reals(2)})):
        with pytest.raises(bt.InvalidArgument, match="argument `state`: got `a.*what it keeps of weights is called"):
            optimiser.load_state_dict(state)


def test_a_state_of_an_optimiser_of_pytorch_is_told_by_its_entry():
    """Its first tensor was asked for: "got dict, but it is a tensor", of `state`, which is a dict."""
    for optimiser in (bt.grad.SGD(0.1, momentum=0.9), bt.grad.AdamW()):
        with pytest.raises(bt.InvalidArgument, match="argument `state`: got `state`, but names are `weights.part`") as e:
            optimiser.load_state_dict({"state": {}, "param_groups": [{"lr": 0.1}]})
        assert e.value.remedy == "pass what `state_dict()` of the same optimiser gave"


@pytest.mark.parametrize("make", [lambda: bt.grad.SGD(0.1, momentum=0.9), lambda: bt.grad.AdamW(0.1)])
def test_a_state_under_other_names_is_not_lost(make):
    first, second, w = make(), make(), {"a": reals(2), "b": reals(3)}
    first.step(w, w)
    state = first.state_dict()
    second.load_state_dict({f"module.{name}": t for name, t in state.items()})
    with pytest.raises(bt.InvalidArgument, match="argument `weights`: got `a`, but the state that was loaded has nothing of it, but of `module.a`"):
        second.step(w, w)
    second.load_state_dict(state)
    second.step(w, w)
    with pytest.raises(bt.InvalidArgument, match=r'argument `state\["a\.\w+"\]`: got NoneType'):
        make().load_state_dict(dict.fromkeys(state))
    # Weights that had no gradient before have no state; those of another step may come later.
    third = make()
    third.load_state_dict({name: t for name, t in state.items() if name.startswith("a")})
    third.step(w, w)
    fourth = make()
    fourth.load_state_dict(state)
    for name in w:
        fourth.step({name: w[name]}, {name: w[name]})


@pytest.mark.parametrize("steps", [-1, -5, -(2**31), 2**31 - 1])
def test_a_count_of_steps_that_none_can_follow_is_refused_whole(steps):
    """A negative one made NaN of the weights, and the largest had no next one."""
    w, g = {"a": reals(3)}, {"a": reals(3)}
    adamw = bt.grad.AdamW(0.1)
    w = adamw.step(w, g)
    before = {name: t.numpy().tolist() for name, t in adamw.state_dict().items()}
    state = {**adamw.state_dict(), "a.mean": reals(3), "a.steps": np.array(steps, np.int32)}
    with pytest.raises(bt.InvalidArgument, match=rf"op `load_state_dict`: argument `state`: got `steps` of {steps}, but .*0 or more, and below 2147483647") as e:
        adamw.load_state_dict(state)
    assert e.value.remedy == "pass what `state_dict()` gave"
    assert {name: t.numpy().tolist() for name, t in adamw.state_dict().items()} == before
    assert np.isfinite(adamw.step(w, g)["a"].numpy()).all()
