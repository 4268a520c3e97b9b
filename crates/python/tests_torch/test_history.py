"""Results that depend on other runs are refused, however a model keeps what they depend on; conversion leaves the model alone."""

import array
import copy
import io
import itertools
import os
import pickle
import random
import time
from collections import OrderedDict, deque

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch import nn

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(39))


class Counter(nn.Module):
    """Something that changes from run to run, kept where attributes do not show it."""

    def __init__(self, kept, step):
        super().__init__()
        self.conv, self.kept, self.step = nn.Conv2d(4, 4, 3, padding=1), kept, step

    def forward(self, x):
        return self.conv(x) * self.step(self.kept, x)


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0.0


def _slot(kept, x):
    kept.n += 1.0
    return kept.n


def _array(kept, x):
    kept += 1
    return float(kept[0])


def _first(kept, x):
    kept.setdefault("mean", x.mean())
    return kept["mean"]


def _text():
    made = io.StringIO()
    # Pickle tells whether it has a dictionary.
    vars(made)
    return made


HIDDEN = {
    "deque": (deque([1.0, 2.0]), lambda kept, x: kept.rotate() or kept[0]),
    "ordered_dict": (OrderedDict(n=0.0), lambda kept, x: kept.update(n=kept["n"] + 1) or kept["n"]),
    "numpy_array": (np.zeros(1), _array),
    "slots": (Slots(), _slot),
    "bytes": (bytearray(b"a"), lambda kept, x: kept.append(1) or float(len(kept))),
    "array": (array.array("f", [1.0]), lambda kept, x: kept.append(1.0) or float(len(kept))),
    "text": (_text(), lambda kept, x: float(kept.write("a") and len(kept.getvalue()))),
    "iterator": (itertools.count(1), lambda kept, x: float(next(kept))),
    "generator_of_numpy": (np.random.default_rng(1), lambda kept, x: float(kept.random())),
    "generator_of_python": (random.Random(1), lambda kept, x: kept.random()),
    "clock": (None, lambda kept, x: time.perf_counter() % 1),
    "system": (None, lambda kept, x: float(os.urandom(1)[0] + 256 * os.urandom(1)[0])),
    "first_input": ({}, _first),
}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", HIDDEN)
def test_results_that_depend_on_other_runs_are_refused(name, partial):
    kept, step = HIDDEN[name]
    model = Counter(copy.deepcopy(kept), step).eval()
    before = pickle.dumps(model.kept)
    with pytest.raises(bt.UnsupportedOp, match="depend"):
        btt.to_blocked(model, X, partial=partial, layouts="blocked")
    assert pickle.dumps(model.kept) == before


@pytest.mark.parametrize("name", ["slots", "bytes", "array", "text"])
def test_what_a_forward_writes_and_does_not_read_is_refused_by_name(name):
    kept, step = HIDDEN[name]
    model = Counter(copy.deepcopy(kept), lambda kept, x: 1.0 if step(kept, x) else 2.0).eval()
    before = pickle.dumps(model.kept)
    with pytest.raises(bt.UnsupportedOp, match="changes the model's attribute `kept`"):
        btt.to_blocked(model, X, layouts="blocked")
    assert pickle.dumps(model.kept) == before


#: What moves on where the results that a conversion sees do not tell.
MOVING = {
    "count": (itertools.count(), lambda kept: next(kept) > 20),
    "list": (iter([0] * 50), lambda kept: next(kept) > 20),
    "chain": (itertools.chain(range(30), range(30)), lambda kept: next(kept) > 20),
    "random": (random.Random(0), lambda kept: kept.random() > 2),
    "default_rng": (np.random.default_rng(1), lambda kept: kept.random() > 2),
    "random_state": (np.random.RandomState(1), lambda kept: kept.rand() > 2),
    "torch": (torch.Generator().manual_seed(1), lambda kept: bool(torch.rand(1, generator=kept).item() > 2)),
    "in_a_list": ([itertools.count()], lambda kept: next(kept[0]) > 20),
    "in_a_tuple": ((itertools.count(),), lambda kept: next(kept[0]) > 20),
}
GLOBAL: dict = {}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("where", ["attribute", "global"])
@pytest.mark.parametrize("name", MOVING)
def test_what_a_forward_moves_on_is_refused_and_left(name, where, partial):
    kept, step = MOVING[name]
    if (name, where) == ("in_a_tuple", "global"):
        pytest.skip("nothing can stand for it there")
    GLOBAL["kept"] = copy.deepcopy(kept)
    read = (lambda kept: kept) if where == "attribute" else (lambda _: GLOBAL["kept"])
    model = Counter(copy.deepcopy(kept), lambda kept, x: 0.0 if step(read(kept)) else 1.0).eval()
    before = [state(x) for x in (model.kept, GLOBAL["kept"])]
    with pytest.raises(bt.UnsupportedOp):
        btt.to_blocked(model, X, partial=partial, layouts="blocked")
    assert [state(x) for x in (model.kept, GLOBAL["kept"])] == before


def state(x):
    return bytes(x.get_state().numpy()) if isinstance(x, torch.Generator) else pickle.dumps(x)


@pytest.mark.parametrize("name", MOVING)
def test_what_a_forward_only_holds_is_taken(name):
    model = Counter(copy.deepcopy(MOVING[name][0]), lambda kept, x: 1.0).eval()
    with torch.no_grad():
        torch.testing.assert_close(btt.to_blocked(model, X, layouts="blocked")(X), model(X))


class MadeLater(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        if not hasattr(self, "more"):
            self.more = nn.Conv2d(4, 4, 1)
        return self.more(self.conv(x))


def test_modules_that_a_forward_makes_are_refused_and_left_out():
    model = MadeLater().eval()
    with pytest.raises(bt.UnsupportedOp):
        btt.to_blocked(model, X, partial=True, layouts="blocked")
    assert not hasattr(model, "more")


def test_one_tensor_in_two_places_is_two_inputs():
    model = Two().eval()
    fast = btt.to_blocked(model, (X, X), layouts="blocked")
    x, y = torch.randn(1, 4, 8, 8), torch.randn(1, 4, 8, 8)
    with torch.no_grad():
        torch.testing.assert_close(fast(x, y), model(x, y))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3)

    def forward(self, x, y):
        return self.conv(x) - 2 * self.conv(y)


def test_old_norms_of_weights_are_no_state():
    model = nn.Sequential(nn.utils.weight_norm(nn.Conv2d(4, 4, 3)), nn.ReLU(), nn.utils.spectral_norm(nn.Conv2d(4, 4, 3))).eval()
    fast = btt.to_blocked(model, X, layouts="blocked")
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(1, 4, 8, 8)
            torch.testing.assert_close(fast(x), model(x))
