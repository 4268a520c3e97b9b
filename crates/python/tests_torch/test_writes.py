"""Writes: into inputs, into memory that is read by another name, and into parts of a tensor."""

import blocktensor as bt
import pytest
import torch
from models import X, converted, equal, places
from torch import nn
from torch.nn import functional as F

WRITES = {
    "relu": lambda x: F.relu(x, inplace=True),
    "module": nn.ReLU(inplace=True).eval(),
    "part": lambda x: (x[:, :2].add_(1), x * 1)[1],
    "view": lambda x: (x.view(-1).mul_(2), x * 1)[1],
    "zeroed part": lambda x: (x[:, :2].zero_(), x * 1)[1],
    "item": lambda x: (x.__setitem__((slice(None), 0), 1.0), x * 1)[1],
    "after_dropout": lambda x: F.relu(F.dropout(x, 0.5, False), inplace=True),
    "chunk": lambda x: x.chunk(2, 1)[1].relu_(),
    "detached": lambda x: x.detach().mul_(2),
    "no_op": lambda x: x.special_i0_() if hasattr(x, "special_i0_") else x.i0_(),
    "result": lambda x: torch.add(x, 1, out=x),
    "size": lambda x: x.squeeze_(0) * 1,
}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_an_input_that_is_changed_in_place_is_refused(name, partial):
    with pytest.raises(bt.UnsupportedOp, match=r"changes the model's input .* work on a copy \(`.*\.clone\(\)`\)"):
        converted(WRITES[name], X.clone(), partial=partial)


def in_autocast(x):
    with torch.autocast("cpu", enabled=False):
        y = x.view(-1)
        y.relu_()
    return y + 1


def test_a_write_inside_of_a_context_is_seen():
    with pytest.raises(bt.UnsupportedOp, match="changes the model's input"):
        converted(in_autocast, partial=True)


def accumulated(x):
    a = torch.zeros(1, 4, 8, 8)
    a[:, :2].add_(x[:, :2])
    return a


def assigned(x):
    y = x * 2
    y[:, 0] = 1.0
    return y


def zeroed(x):
    y = x * 2
    y[:, :2].zero_()
    y.select(3, 1).zero_()
    y[:, 3:].fill_(4)
    return y, y[:, 1:].sum(1)


def every_kind_of_part(x):
    y = x * 2
    y[:, 1:3, 2:5].add_(x[:, 1:3, 2:5])
    y[..., 1::2] = x[..., ::2]
    y[:, [3, -3]] = x[:, :2]
    y[..., [0, 2]] = 0.5
    y[:, :, -1] = x[:, :, 2]
    y[0, 1] = x.mean()
    y[y > 3] = 0.0
    y.view(-1)[5:9].relu_()
    return y.permute(0, 2, 3, 1) * 1


def of_a_module(x):
    return F.batch_norm(accumulated(x), torch.zeros(4), torch.ones(4))


def with_views_as_results(x):
    y = x * 2
    before = y[:, 1:]
    y[:, 2] = 7.0
    return y, before, y.view(-1), x


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("function", [accumulated, assigned, zeroed, every_kind_of_part, of_a_module, with_views_as_results])
def test_writes_into_parts_are_functions_of_the_whole(function, partial):
    fast, x = converted(function, partial=partial), X.clone()
    assert [region.plan is None for region in fast.plan.regions] == [False]
    for _ in range(2):
        equal(fast(x), function(x))
        x = x * 0.5 + 0.1
    got, wanted = fast(x), function(x)
    if isinstance(wanted, tuple):
        assert places(got, x) == places(wanted, x)


PARTS_REFUSED = {
    "places_of_the_data": (lambda x: put(x, (slice(None), x.mean((0, 2, 3)).argsort()[:2]), 1.0), "places that depend on data"),
    "a_place_twice": (lambda x: put(x, (slice(None), [0, 0]), 1.0), "a place twice"),
    "two_indices": (lambda x: put(x, ([0, 0], [1, 2]), 1.0), "several indices"),
    "the_input": (lambda x: x.__setitem__((slice(None), 0), 1.0) or x * 1, "changes the model's input"),
}


def put(x, index, value):
    y = x * 2
    y[index] = value
    return y + 1


@pytest.mark.parametrize("name", PARTS_REFUSED)
def test_writes_into_parts_that_no_op_is_for(name):
    function, words = PARTS_REFUSED[name]
    with pytest.raises(bt.UnsupportedOp, match=words):
        converted(function)


def before_and_after(x):
    c = torch.zeros(8)
    y = x + c
    c.add_(1)
    return y + c


def sum_into_a_constant(x):
    c = torch.zeros(1, 4, 8, 8)
    c.add_(x)
    return c * 2


def filled_in_parts(x):
    c = torch.zeros(1, 4, 8, 8)
    c[:, :2] = 1
    c.mul_(3)
    return x + c


def written_across_regions(x):
    y = x * 2
    z = torch.special.i0(x)
    y.relu_()
    return torch.special.i0(z) + y


def written_by_pytorch(x):
    y = x.clone()
    y.i0_()
    return y + x


def constant_written_by_pytorch(x):
    c = torch.ones(1, 4, 8, 8)
    c.hypot_(x)
    return c + x


def disjoint_parts(x):
    left, right = (x * 2).chunk(2, 1)
    left.relu_()
    return torch.cat([left, right], 1)


@pytest.mark.parametrize(
    "function",
    [
        before_and_after,
        sum_into_a_constant,
        filled_in_parts,
        written_across_regions,
        written_by_pytorch,
        constant_written_by_pytorch,
        disjoint_parts,
    ],
)
def test_writes_keep_their_order(function):
    fast, x = converted(function, partial=True), X.clone()
    for _ in range(3):
        equal(fast(x), function(x))
    assert torch.equal(x, X)
