"""What a model's code can tell of a trace, and what a trace can leave behind: a packed module computes what a run computes."""

import contextvars
import functools
import types

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(38))


class One(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.conv, self.function = nn.Conv2d(4, 8, 3, padding=1), function
        self.eval()

    def forward(self, x):
        return self.function(self.conv(x))


def cached_by_a_function():
    return functools.lru_cache(lambda: torch.arange(8.0))


def cached_in_a_context():
    kept = contextvars.ContextVar("kept", default=None)

    def read():
        if kept.get() is None:
            kept.set(torch.arange(8.0))
        return kept.get()

    return read


def cached_in_a_module():
    module = types.ModuleType("windows")
    exec("import torch\nkept = None\ndef get():\n global kept\n if kept is None: kept = torch.arange(8.0)\n return kept", vars(module))
    return lambda: module.get()


@pytest.mark.parametrize("make", [cached_by_a_function, cached_in_a_context, cached_in_a_module])
def test_what_a_model_caches_is_no_stand_in_of_the_trace(make):
    cache = make()
    model = One(lambda y: y * cache())
    fast = btt.to_blocked(model, X, layouts="nchw")
    assert type(cache()) is torch.Tensor
    with torch.no_grad():
        torch.testing.assert_close(fast(X), model(X), rtol=1e-5, atol=1e-5)
    btt.to_blocked(model, X, layouts="nchw")


TELLING = {
    "is_compiling": lambda y: y * (2 if torch.compiler.is_compiling() else 1),
    "is_exporting": lambda y: y * (2 if torch.compiler.is_exporting() else 1),
    "type": lambda y: y * (1 if type(y) is torch.Tensor else 2),
    "result": lambda y: (y, 3 if torch.compiler.is_exporting() else 4),
    "shape": lambda y: y[:, 1:] if torch.compiler.is_exporting() else y,
}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", TELLING)
def test_a_trace_that_differs_from_a_run_is_refused(name, partial):
    with pytest.raises(bt.UnsupportedOp, match="give other results than a run of the model"):
        btt.to_blocked(One(TELLING[name]), X, layouts="nchw", partial=partial)


class Cancels(nn.Module):
    """Its result is the rounding of a mean that is 0, and what a trace adds to it."""

    def __init__(self, added):
        super().__init__()
        self.attention, self.norm, self.added = nn.MultiheadAttention(8, 4, batch_first=True), nn.InstanceNorm1d(6), added

    def forward(self, x):
        y = self.norm(self.attention(x, x, x)[0]).mean(-1)
        return y + self.added if torch.compiler.is_exporting() else y


@pytest.mark.parametrize("seed", range(4))
def test_a_result_that_is_rounding_alone_is_that_of_a_run(seed):
    """A graph calls the parts of what a run calls as one: they round in another way, by the size of the operands."""
    torch.manual_seed(seed)
    x = torch.randn(2, 6, 8)
    model = Cancels(0.0).eval()
    torch.testing.assert_close(btt.to_blocked(model, x)(x), model(x).detach(), rtol=0, atol=1e-5)
    with pytest.raises(bt.UnsupportedOp, match="give other results than a run of the model"):
        btt.to_blocked(Cancels(1e-4).eval(), x)


def test_a_call_that_failed_is_no_call_of_the_model():
    def view_if_possible(y):
        try:
            return y.view(7, 7)
        except RuntimeError:
            return y

    model = One(view_if_possible)
    assert "UnsupportedOp" not in str(btt.plan(model, X, layouts="nchw"))
    with torch.no_grad():
        torch.testing.assert_close(btt.to_blocked(model, X, layouts="nchw")(X), model(X), rtol=1e-5, atol=1e-5)


def test_a_list_that_pytorch_makes_is_returned():
    model = One(lambda y: torch.where(y > 0))
    made, wanted = btt.to_blocked(model, X, layouts="nchw", partial=True)(X), model(X)
    assert len(made) == 4
    assert all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))
