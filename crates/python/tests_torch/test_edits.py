"""Edits of weights that versions of tensors do not count are found by `torch.compile` and `swap`."""

import blocktensor.torch as btt
import pytest
import torch
from compiling import X, close, compiled, fresh, graphs  # noqa: F401
from torch import nn
from torch.nn import functional as F


def _net(*more):
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3), *more).eval()


class _ThroughData(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})

    def step(self, closure=None):
        for group in self.param_groups:
            for x in group["params"]:
                x.data.sub_(x.grad, alpha=0.5)


@pytest.mark.parametrize(
    "optimizer",
    [
        *(lambda p, kind=kind: kind(p, lr=0.1, fused=True) for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad)),
        lambda p: torch.optim.Adam(p, lr=0.1),
        _ThroughData,
    ],
    ids="adam adamw sgd adagrad plain data".split(),
)
def test_steps_of_optimizers(optimizer):
    model = _net()
    fast, eager, steps = compiled(model), btt.swap(model), optimizer(model.parameters())
    for i in range(3):
        wanted = model(X)
        close(fast(X), wanted)
        close(eager(btt.EagerTensor(X)).torch(), wanted)
        (graph,) = graphs()
        assert graph.packed == i + 1
        with torch.enable_grad():
            model(X).square().mean().backward()
        steps.step()
        assert not torch.allclose(model(X), wanted, atol=1e-3)


def test_steps_on_other_weights_pack_nothing():
    model, other = _net(), _net(nn.BatchNorm2d(8))
    for x in model[0].parameters():
        x.requires_grad_(False)
    fast, steps = compiled(model), torch.optim.SGD(other.parameters(), lr=0.1, fused=True)
    fast(X)
    with torch.enable_grad():
        other(X).mean().backward()
    steps.step()
    close(fast(X), model(X))
    # Frozen weights are no optimizer's, though it has them.
    frozen = compiled(model[0])
    frozen(X)
    torch.optim.SGD(model.parameters(), lr=0.1, fused=True).step()
    close(frozen(X), model[0](X))
    assert [graph.packed for graph in graphs()] == [1, 1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_steps_that_are_compiled(backend):
    model = _net()
    fast, steps = compiled(model), torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    step = torch.compile(steps.step, backend=backend)
    for _ in range(3):
        close(fast(X), model(X))
        with torch.enable_grad():
            model(X).square().mean().backward()
        step()
        close(fast(X), model(X))


@pytest.mark.parametrize("momentum", [0.1, None])
def test_statistics_that_training_moves(momentum):
    model = _net(nn.BatchNorm2d(8, momentum=momentum))
    fast, eager = compiled(model), btt.swap(model)
    for i in range(3):
        close(fast(X), model(X))
        close(fast(X), model(X))
        close(eager(btt.EagerTensor(X)).torch(), model(X))
        assert sum(graph.packed for graph in graphs()) == i + 1
        model.train()
        model(X * (i + 2) + 1)
        model.eval()


def test_statistics_that_a_function_moves():
    model = _net(nn.BatchNorm2d(8))
    fast, norm = compiled(model), model[-1]
    close(fast(X), model(X))
    F.batch_norm(torch.randn(4, 8, 5, 5) + 3, norm.running_mean, norm.running_var, training=True)
    close(fast(X), model(X))
    # Those that are no numbers are equal to themselves.
    norm.running_mean.fill_(torch.nan)
    for _ in range(3):
        fast(X)
    assert sum(graph.packed for graph in graphs()) == 3
