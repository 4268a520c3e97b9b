"""What trained modules say of inputs, results and calls that they do not take: each remedy is one that works."""

import dataclasses
from collections import UserDict

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import One
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from training import close

X = torch.randn(2, 8, 6, 6, generator=torch.Generator().manual_seed(5))
LABELS = torch.tensor([3, 0])


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: object = None


@dataclasses.dataclass
class Known:
    a: torch.Tensor


def scored(loss):
    """A module whose forward computes a loss of its scores."""
    return btt.train(One(lambda s, x: loss(s.head(x.mean((2, 3)))), head=nn.Linear(8, 4)))


@pytest.mark.parametrize("model", [nn.Conv2d(8, 8, 3), nn.Linear(6, 3)])
def test_integers_are_converted_by_what_tensors_of_pytorch_have(model):
    net = btt.train(model)
    with pytest.raises(bt.UnsupportedDType, match=r"module `\w+`: argument `\w+`: got .* s32 .*; pass `x\.float\(\)`$") as e:
        net(X.int())
    assert e.value.remedy == "pass `x.float()`" and "to_dtype" not in str(e.value)
    net(X.int().float())


def test_reductions_of_a_mask():
    with pytest.raises(bt.UnsupportedDType, match=r"op `sum` .* u8 .*; pass `x\.float\(\)`"):
        btt.train(One(lambda s, x: (x > 0).sum()))(X)
    close(btt.train(One(lambda s, x: (x > 0).float().sum()))(X), (X > 0).float().sum())


@pytest.mark.parametrize("model", [nn.Conv2d(8, 8, 3), nn.Linear(6, 3)])
@pytest.mark.parametrize("x", [None, "a", [X]])
def test_inputs_that_are_no_tensors(model, x):
    with pytest.raises(bt.InvalidArgument, match=rf"argument `input`: got {type(x).__name__} among .*; pass tensors of PyTorch") as e:
        btt.train(model)(x)
    assert "RecordedTensor" not in str(e.value)


def test_inputs_that_the_forward_does_not_read():
    net = btt.train(One(lambda s, x, y=None, z="": x * 2))
    close(net(X, None, "b"), X * 2)


@pytest.mark.parametrize("result", [Pair, UserDict.fromkeys, lambda x: {x}, lambda x: Pair(1, [Pair(x)])])
def test_objects_that_hold_results(result):
    make = (lambda x: UserDict(a=x)) if result == UserDict.fromkeys else result
    with pytest.raises(bt.UnsupportedOp, match="the forward returns a .* with values of its own in it.*register_dataclass"):
        btt.train(One(lambda s, x: make(x * 2)))(X)


def test_dataclasses():
    x = X.clone().requires_grad_()
    with pytest.raises(bt.UnsupportedOp, match="requires a gradient.*of its own, or in a list, tuple or dict"):
        btt.train(One(lambda s, given: s.head(given.a), head=nn.Linear(6, 2)))(Pair(x))
    # The remedy. Pytrees are registered once in a process.
    torch.export.register_dataclass(Known)
    made = btt.train(One(lambda s, given: Known(given.a * 2)))(Known(x))
    made.a.sum().backward()
    close(x.grad, torch.full_like(x, 2))
    # What holds no value stays as it is.
    _, other = btt.train(One(lambda s, x: (x * 2, Pair(1, "a"))))(X)
    assert other == Pair(1, "a")


def test_losses_of_labels():
    def one_hot(scores):
        return F.cross_entropy(scores, F.one_hot(LABELS, 4).movedim(-1, 1).float())

    refused = [
        (lambda y: F.cross_entropy(y, LABELS), r"labels that are integers.*`F\.cross_entropy\(net\(x\), y\)`.*F\.one_hot"),
        (lambda y: F.nll_loss(F.log_softmax(y, 1), LABELS), r"labels that are integers.*`F\.nll_loss\(net\(x\), y\)`.*gather"),
    ]
    for loss, text in refused:
        with pytest.raises(bt.UnsupportedOp, match=text) as e:
            scored(loss)(X)
        assert "to_dtype" not in str(e.value)
    torch.manual_seed(1)
    net = scored(lambda y: y)
    wanted = F.cross_entropy(net(X), LABELS)
    for loss in (one_hot, lambda y: -F.log_softmax(y, 1).gather(1, LABELS[:, None]).mean()):
        torch.manual_seed(1)
        close(scored(loss)(X), wanted)


@pytest.mark.parametrize("read", [np.exp, np.asarray, torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack, np.from_dlpack])
def test_reads_that_would_lose_the_gradient(read):
    """Also of a blocked value, whose error was of its layout."""
    for value in (lambda s, x: s.conv(x), lambda s, x: s.conv.weight, lambda s, x: x.mean()):
        net = btt.train(One(lambda s, x, value=value: torch.as_tensor(read(value(s, x))), conv=nn.Conv2d(8, 8, 3)))
        with pytest.raises(bt.UnsupportedOp, match=r"write it in PyTorch's functions, or call it on `x\.detach\(\)`"):
            net(X.clone().requires_grad_())
        net = btt.train(One(lambda s, x, value=value: torch.as_tensor(read(value(s, x).detach())), conv=nn.Conv2d(8, 8, 3)))
        assert net(X.clone().requires_grad_()).dtype == torch.float32


#: Arithmetic of a mask whose result PyTorch has in int64, or refuses.
WHOLE = {
    "sum": lambda m: m + 1,
    "reflected": lambda m: 2 + m,
    "product": lambda m: torch.mul(m, 3),
    "alpha": lambda m: torch.add(m, 1, alpha=2),
    "power": lambda m: m**2,
    "number of PyTorch": lambda m: m + torch.tensor(1),
    "difference": lambda m: m - 1,
    "reflected difference": lambda m: 1 - m,
    "difference of floats": lambda m: m - 1.5,
}


@pytest.mark.parametrize("name", WHOLE)
def test_masks_and_whole_numbers(name):
    for x in (X, X.clone().requires_grad_()):
        with pytest.raises(bt.UnsupportedOp, match=r"(of torch\.int64 in PyTorch|no difference of a mask); compute with `m\.float\(\)`"):
            btt.train(One(lambda s, x: x * WHOLE[name](x > 0)))(x)
    close(btt.train(One(lambda s, x: WHOLE[name]((x > 0).float())))(X), WHOLE[name]((X > 0).float()))


def test_masks_and_floats():
    for call in (lambda m: m + 1.0, lambda m: m * 2.5, lambda m: m / 2, lambda m: m**2.0):
        got, wanted = btt.train(One(lambda s, x, call=call: call(x > 0)))(X), call(X > 0)
        assert got.dtype == wanted.dtype
        close(got, wanted)


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_traces_are_named(weights):
    with pytest.raises(bt.UnsupportedOp, match=r"`torch\.jit\.trace` records .*; trace a model that has loaded `net\.state_dict\(\)`"):
        torch.jit.trace(btt.train(nn.Conv2d(8, 8, 3), weights=weights), X)


def checkpointed(s, x):
    return checkpoint(lambda x: s.norm(x).relu(), x, use_reentrant=False)


def test_running_statistics_in_a_checkpoint():
    """PyTorch updates them in `backward` a second time."""
    model = One(checkpointed, norm=nn.BatchNorm2d(8)).train()
    model(X.clone().requires_grad_()).sum().backward()
    assert model.norm.num_batches_tracked == 2
    with pytest.raises(bt.UnsupportedOp, match=r"inside of `torch\.utils\.checkpoint`.*`track_running_stats=False`") as e:
        btt.train(One(checkpointed, norm=nn.BatchNorm2d(8)).train())(X.clone().requires_grad_())
    assert e.value.missing[0][:2] == ("norm", "batch_norm")
    # The remedies, and forwards that PyTorch does not run again.
    net = btt.train(One(checkpointed, norm=nn.BatchNorm2d(8, track_running_stats=False)).train())
    net(X.clone().requires_grad_()).sum().backward()
    btt.train(One(checkpointed, norm=nn.BatchNorm2d(8)).eval())(X).sum().backward()
    with torch.no_grad():
        net = btt.train(One(checkpointed, norm=nn.BatchNorm2d(8)).train())
        net(X)
    assert net.state_dict()["norm.num_batches_tracked"] == 1


@pytest.mark.parametrize("function", [F.softsign, torch.logit, lambda x: torch.logit(x, eps=1e-3)])
def test_gradients_at_special_values(function):
    values = torch.tensor([torch.inf, -torch.inf, torch.nan, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 3e38, -3e38])
    x, z = values.clone().requires_grad_(), values.clone().requires_grad_()
    got, wanted = btt.train(One(lambda s, x: function(x)))(x), function(z)
    got.sum().backward()
    wanted.sum().backward()
    torch.testing.assert_close(got, wanted, equal_nan=True)
    torch.testing.assert_close(x.grad, z.grad, equal_nan=True)
