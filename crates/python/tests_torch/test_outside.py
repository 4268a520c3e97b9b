"""What a model's code reaches outside of its modules, models that cannot be copied, and seeds: conversion leaves them alone."""

import io
import itertools
import random
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch import nn

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(38))


class One(nn.Module):
    def __init__(self, function, **attributes):
        super().__init__()
        self.function = function
        for name, x in attributes.items():
            setattr(self, name, x)
        self.eval()

    def forward(self, x):
        return self.function(self, x)


def converted(model, **options):
    return btt.to_blocked(model, X, layouts="nchw", **options)


# Each makes a forward, and a function that tells its state.


def closure(is_read):
    n = 0

    def forward(s, x):
        nonlocal n
        n += 1
        return x * (n if is_read else 2)

    return forward, lambda: n


def helper(is_read):
    forward, state = closure(is_read)
    return lambda s, x: forward(s, x), state


def in_a_container(kind):
    def made(is_read):
        kept = kind([1])

        def forward(s, x):
            kept.append(1)
            return x * (len(kept) if is_read else 2)

        return forward, lambda: list(kept)

    return made


def array(is_read):
    kept = np.zeros(1)

    def forward(s, x):
        kept[0] += 1
        return x * (float(kept[0]) if is_read else 2)

    return forward, kept.tolist


class Slots:
    __slots__ = ("n",)


def slots(is_read):
    kept = Slots()
    kept.n = 0

    def forward(s, x):
        kept.n += 1
        return x * (kept.n if is_read else 2)

    return forward, lambda: kept.n


def attribute_of_a_function(is_read):
    def forward(s, x):
        forward.n += 1
        return x * (forward.n if is_read else 2)

    forward.n = 0
    return forward, lambda: forward.n


def default(is_read):
    def forward(s, x, kept=[]):  # noqa: B006
        kept.append(1)
        return x * (len(kept) if is_read else 2)

    return forward, lambda: list(forward.__defaults__[0])


COUNT = 0


def of_the_module(is_read):
    def forward(s, x):
        global COUNT
        COUNT += 1
        return x * (COUNT if is_read else 2)

    return forward, lambda: COUNT


def bound(is_read):
    class Helper:
        n = 0

        def forward(self, s, x):
            Helper.n += 1
            return x * (Helper.n if is_read else 2)

    return Helper().forward, lambda: Helper.n


OUTSIDE = {
    "closure": closure,
    "helper": helper,
    "list": in_a_container(list),
    "deque": in_a_container(deque),
    "array": array,
    "slots": slots,
    "function": attribute_of_a_function,
    "default": default,
    "global": of_the_module,
    "bound": bound,
}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_of_a_model_is_left_as_it_was(name, is_read, partial):
    forward, state = OUTSIDE[name](is_read)
    before = state()
    words = "so that a run depends on the runs before it" if is_read else "which a packed module leaves as it is"
    with pytest.raises(bt.UnsupportedOp, match=words):
        converted(One(forward), partial=partial)
    assert state() == before


def test_models_that_share_code_are_converted_on_several_threads():
    forward, state = closure(False)

    def refused(_):
        with pytest.raises(bt.UnsupportedOp, match="which a packed module leaves as it is"):
            converted(One(forward))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(refused, range(24)))
    assert state() == 0


class Counted(nn.Module):
    count, kept = 0, [0]

    def forward(self, x):
        type(self).count += 1
        self.kept[0] += 1
        type(self).more = self.count
        return x * 2


def test_attributes_of_a_class_are_left_as_they_were():
    with pytest.raises(bt.UnsupportedOp, match="`forward` changes the attribute `count` of the class `Counted`"):
        converted(Counted().eval())
    assert Counted.count == 0 and Counted.kept == [0] and not hasattr(Counted, "more")


def test_what_is_kept_outside_once_is_no_state():
    table = {}

    def forward(s, x):
        if x.shape not in table:
            table[x.shape] = torch.arange(8.0)
        return x + table[x.shape]

    fast = converted(One(forward))
    assert table == {}
    torch.testing.assert_close(fast(X), X + torch.arange(8.0))


def test_iterators_and_generators_are_not_moved_on():
    count, draw = itertools.count(1), random.Random(5)
    wanted = random.Random(5).random()
    for forward in (lambda s, x: x * next(count), lambda s, x: x * draw.random()):
        with pytest.raises(bt.UnsupportedOp, match="depends on the runs before"):
            converted(One(forward))
    assert next(count) == 1 and draw.random() == wanted
    numbers = (n for n in range(1, 9))
    with pytest.raises(bt.UnsupportedOp, match="reads the variable `numbers` .* a generator that cannot be copied"):
        converted(One(lambda s, x: x * next(numbers)))
    assert next(numbers) == 1


def test_tensors_of_a_closure_are_not_written_into():
    kept = torch.zeros(8)
    with pytest.raises(bt.UnsupportedOp, match="depends on the runs before it"):
        converted(One(lambda s, x: x + kept.add_(1)))
    assert not kept.any()


def test_hooks_that_keep_results_are_refused():
    found = {}
    model = nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()).eval()
    model[0].register_forward_hook(lambda module, args, result: found.__setitem__("conv", result))
    with pytest.raises(bt.UnsupportedOp, match="`forward` changes the variable `found`.* return the value as a result"):
        btt.to_blocked(model, X, layouts="blocked")
    assert found == {}


class Feature(nn.Module):
    def __init__(self, attributes):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1)
        for name, x in attributes.items():
            setattr(self, name, x)

    def forward(self, x):
        self.t = self.conv(x)
        return self.t + 1


@pytest.mark.parametrize("attributes", [{}, {"t": None}])
def test_a_feature_that_is_kept_is_not_called_state(attributes):
    model = Feature(attributes).eval()
    with pytest.raises(bt.UnsupportedOp, match="`forward` changes the model's attribute `t`, which a packed module leaves") as e:
        btt.to_blocked(model, X, layouts="blocked")
    assert "return the value" in e.value.remedy and "depends" not in str(e.value)
    assert getattr(model, "t", None) is None


# Models that cannot be copied.


class Held(nn.Module):
    def __init__(self, held, step=lambda held: 1.0):
        super().__init__()
        self.held, self.step, self.conv = held, step, nn.Conv2d(4, 4, 1)

    def forward(self, x):
        return self.conv(x) * self.step(self.held)


def _advanced(held):
    held["n"].n += 1
    return held["n"].n


def test_a_model_that_cannot_be_copied_is_refused():
    stream = io.TextIOWrapper(io.BytesIO())
    with pytest.raises(bt.UnsupportedOp, match=r"attribute `0\.held` cannot be copied \(TypeError: .*`__deepcopy__`"):
        btt.to_blocked(nn.Sequential(Held(stream)).eval(), X, layouts="blocked")
    kept = Slots()
    kept.n = 0
    with pytest.raises(bt.UnsupportedOp, match="attribute `held` cannot be copied"):
        btt.to_blocked(Held({"file": stream, "n": kept}, _advanced).eval(), X, layouts="blocked")
    assert kept.n == 0


@pytest.mark.parametrize("held", [threading.Lock(), threading.RLock(), {"k": [threading.Lock()]}, threading.Event(), io])
def test_locks_and_modules_of_python_are_shared(held):
    model = Held(held).eval()
    with torch.no_grad():
        torch.testing.assert_close(btt.to_blocked(model, X, layouts="blocked")(X), model(X))


def test_state_beside_a_lock_is_found():
    kept = Slots()
    kept.n = 0
    with pytest.raises(bt.UnsupportedOp, match="depend"):
        btt.to_blocked(Held({"lock": threading.Lock(), "n": kept}, _advanced).eval(), X, layouts="blocked")
    assert kept.n == 0


# Seeds.


def forked(s, x):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        noise = torch.randn(8)
    return x + noise


def put_back(s, x):
    state = torch.get_rng_state()
    torch.manual_seed(3)
    noise = torch.randn(8)
    torch.set_rng_state(state)
    return x + noise


def of_the_default_generator(s, x):
    torch.default_generator.manual_seed(3)
    return x + torch.randn(8)


def drawn_on(s, x):
    with torch.random.fork_rng():
        noise = torch.randn(8)
    return x + noise + torch.randn(8)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("forward", [forked, put_back, of_the_default_generator, drawn_on])
def test_a_forward_that_seeds_is_refused_and_moves_no_generator(forward, partial):
    before = torch.get_rng_state()
    with pytest.raises(bt.UnsupportedOp, match="seeds PyTorch's generator"):
        converted(One(forward), partial=partial)
    assert torch.equal(torch.get_rng_state(), before)
