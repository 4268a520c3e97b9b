"""State that a model's code keeps in less usual places: conversion refuses it, and leaves it as it was."""

import collections
import functools
import itertools
import random
import types

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import X, One, converted
from torch import nn

# Changes are read late: the results of conversion's own few runs agree.
FEW = 9


class Base:
    k = 0


class Derived(Base):
    pass


class Empty:
    pass


class Descriptor:
    n = 0

    def __get__(self, owner, kind):
        self.n += 1
        return self.n


class Described:
    d = Descriptor()


class Bound:
    def __init__(self):
        self.n = 0

    def step(self):
        self.n += 1
        return self.n


other = types.ModuleType("some_module_of_a_program")
other.n = 0
exec("def bump():\n    global n\n    n += 1\n    return n", vars(other))
other.inner = types.ModuleType("some_module_of_a_program.inner")
other.inner.n = 0
described, bound = Described(), Bound().step
pull = itertools.count(1).__next__
part = functools.partial(next, itertools.count(1))
table = {"pull": itertools.count(1).__next__, "part": functools.partial(next, itertools.count(1))}
pair = (itertools.count(1),)
draw = random.Random(3).random


def inherited():
    Derived.k += 1
    return Derived.k


def new():
    Empty.k = getattr(Empty, "k", 0) + 1
    return Empty.k


def of_a_descriptor():
    return described.d


def of_a_module():
    other.n += 1
    return other.n


def by_a_module():
    return other.bump()


def of_a_module_in_it():
    other.inner.n += 1
    return other.inner.n


def new_in_a_module():
    other.more = getattr(other, "more", 0) + 1
    return other.more


def by_default(it=itertools.count(1)):  # noqa: B008
    return next(it)


def by_name(*, it=itertools.count(1)):  # noqa: B008
    return next(it)


STATE = {
    "inherited": (inherited, lambda: "k" in vars(Derived)),
    "new": (new, lambda: "k" in vars(Empty)),
    "descriptor": (of_a_descriptor, lambda: vars(Described)["d"].n),
    "module": (of_a_module, lambda: other.n),
    "function of a module": (by_a_module, lambda: other.n),
    "module in a module": (of_a_module_in_it, lambda: other.inner.n),
    "new in a module": (new_in_a_module, lambda: hasattr(other, "more")),
    "bound method": (lambda: bound(), lambda: bound.__self__.n),
    "bound builtin": (lambda: pull(), lambda: repr(pull.__self__)),
    "partial": (lambda: part(), lambda: repr(part)),
    "bound builtin in a dict": (lambda: table["pull"](), lambda: repr(table["pull"].__self__)),
    "partial in a dict": (lambda: table["part"](), lambda: repr(table["part"])),
    "tuple": (lambda: next(pair[0]), lambda: repr(pair)),
    "default": (by_default, lambda: repr(by_default.__defaults__)),
    "default by name": (by_name, lambda: repr(by_name.__kwdefaults__)),
    "generator": (lambda: 1 + 0 * draw(), lambda: draw.__self__.getstate()),
}


@pytest.mark.parametrize("name", STATE)
def test_state_is_refused_and_left_as_it_was(name):
    step, state = STATE[name]
    before = state()
    with pytest.raises(bt.UnsupportedOp, match="`forward` changes"):
        converted(lambda x: x * (1.0 if step() < FEW else 2.0))
    assert state() == before


def test_a_bound_builtin_that_is_an_attribute_is_not_moved_on():
    model = One(lambda s, x: x + 0 * s.draw(), draw=random.Random(3).random)
    wanted = random.Random(3).random()
    with pytest.raises(bt.UnsupportedOp, match="`forward` changes the model's attribute `draw`"):
        btt.to_blocked(model, X, layouts="nchw")
    assert model.draw() == wanted


def test_two_that_share_an_iterator_share_its_copy():
    it = itertools.count()
    both = (it, it.__next__)
    with pytest.raises(bt.UnsupportedOp, match="so that a run depends on the runs before it"):
        converted(lambda x: x * (next(both[0]) + both[1]()))
    assert next(it) == 0


def test_generators_of_the_process_are_called_by_their_names():
    shuffled, drawn = random.random, np.random.random
    for function, name in ((shuffled, "random"), (drawn, "numpy.random")):
        with pytest.raises(bt.UnsupportedOp, match=f"`forward` draws random numbers from `{name}`"):
            converted(lambda x, function=function: x + 0 * function())


def test_lists_may_hold_themselves():
    loop, kept = [], torch.ones(1)
    loop += [loop, {"kept": [kept]}]
    torch.testing.assert_close(converted(lambda x: x * len(loop))(X), X * 2)
    with pytest.raises(bt.UnsupportedOp, match="so that a run depends on the runs before it"):
        converted(lambda x: x * loop[1]["kept"][0].add_(1))
    assert kept.item() == 1


class Slots:
    __slots__ = ("t",)


def test_tensors_of_objects_with_slots_are_not_written_into():
    kept = Slots()
    kept.t = torch.zeros(1)
    with pytest.raises(bt.UnsupportedOp, match="so that a run depends on the runs before it"):
        converted(lambda x: x + kept.t.add_(1))
    assert not kept.t.any()


SETTINGS = {
    "set_num_threads": (torch.set_num_threads, torch.get_num_threads, 3),
    "set_default_dtype": (torch.set_default_dtype, torch.get_default_dtype, torch.float64),
    "use_deterministic_algorithms": (torch.use_deterministic_algorithms, torch.are_deterministic_algorithms_enabled, True),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_process_are_put_back_and_refused(name):
    write, read, value = SETTINGS[name]
    before = read()
    assert before != value

    def forward(x):
        write(value)
        return x * 2

    with pytest.raises(bt.UnsupportedOp, match=f"`forward` calls `torch.{name}`.*call it outside"):
        converted(forward)
    assert read() == before


# Attributes that the first run makes, and later ones change.


def grows(model, y):
    if not hasattr(model, "kept"):
        model.kept = []
    model.kept.append(1.0)


def grows_in_dict(model, y):
    vars(model).setdefault("kept", []).append(1.0)


def counts_in_dict(model, y):
    vars(model)["kept"] = vars(model).get("kept", 0) + 1


def counts_past_setattr(model, y):
    object.__setattr__(model, "kept", getattr(model, "kept", 0) + 1)


def moves_on(model, y):
    if not hasattr(model, "kept"):
        model.kept = itertools.count()
    next(model.kept)


def grows_inside(model, y):
    if not hasattr(model, "kept"):
        model.kept = {"a": [collections.deque(maxlen=3)]}
    model.kept["a"][0].append(len(model.kept["a"][0]))


def counts_in_object(model, y):
    if not hasattr(model, "kept"):
        model.kept = types.SimpleNamespace(n=0)
    model.kept.n += 1


def grows_on_a_part(model, y):
    if not hasattr(model.conv, "kept"):
        model.conv.kept = []
    model.conv.kept.append(1.0)


def keeps_results(model, y):
    vars(model)["kept"] = y


def counts_on_a_part(model, y):
    model.conv.kept_count += 1


def counts_on_no_child(model, y):
    model.parts[0].kept += 1


def replaces_a_buffer(model, y):
    model._buffers["kept"] = model._buffers["kept"] + 1


def adds_modules(model, y):
    model.rest.append(nn.Identity())


def adds_hooks(model, y):
    model.conv.register_forward_hook(lambda *_: None)


def changes_the_mode(model, y):
    model.conv.training = not model.conv.training


def makes_a_module_once(model, y):
    if not hasattr(model, "more"):
        model.more = nn.Identity()


def makes_once(model, y):
    if not hasattr(model, "kept"):
        model.kept = {}
    model.kept.setdefault(tuple(y.shape), torch.ones(4, 1, 1))


def sets_the_same(model, y):
    vars(model)["kept"], model.more = tuple(y.shape), [1, 2]


class Keeping(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.conv, self.step = nn.Conv2d(3, 4, 1), step
        self.conv.kept_count, self.parts, self.rest = 0, [nn.ReLU()], nn.ModuleList()
        self.parts[0].kept = 0
        if step is replaces_a_buffer:
            self.register_buffer("kept", torch.zeros(1))

    def forward(self, x):
        y = self.conv(x)
        self.step(self, y)
        return y


@pytest.mark.parametrize(
    "step",
    [
        grows,
        grows_in_dict,
        counts_in_dict,
        counts_past_setattr,
        moves_on,
        grows_inside,
        counts_in_object,
        grows_on_a_part,
        keeps_results,
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_attributes_that_a_run_makes_and_the_next_changes_are_refused(step, partial):
    model = Keeping(step).eval()
    with pytest.raises(bt.UnsupportedOp, match="`forward` changes the model's attribute `(conv.)?kept`"):
        btt.to_blocked(model, torch.ones(1, 3, 4, 4), partial=partial)
    assert not hasattr(model, "kept") and not hasattr(model.conv, "kept")


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (counts_on_a_part, "conv.kept_count"),
        (counts_on_no_child, "parts.kept"),
        (replaces_a_buffer, "kept"),
        (adds_modules, "rest"),
        (adds_hooks, "conv._forward_hooks"),
        (changes_the_mode, "conv.training"),
    ],
)
def test_what_a_run_changes_on_parts_of_the_model_is_refused(step, name):
    model = Keeping(step).eval()
    with pytest.raises(bt.UnsupportedOp, match=f"`forward` changes the model's attribute `{name}"):
        btt.to_blocked(model, torch.ones(1, 3, 4, 4))
    assert model.conv.kept_count == model.parts[0].kept == len(model.rest) == len(model.conv._forward_hooks) == 0
    assert not model.conv.training


@pytest.mark.parametrize("step", [makes_once, sets_the_same, makes_a_module_once])
def test_attributes_that_are_made_once_are_taken(step):
    model, x = Keeping(step).eval(), torch.randn(1, 3, 4, 4)
    torch.testing.assert_close(btt.to_blocked(model, x)(x), model(x))
