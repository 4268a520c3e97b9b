"""Calls that a trained forward refuses: each is named as it was written, and its remedy computes what PyTorch does."""

import copy
import pickle
import warnings

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import One
from torch import nn
from torch.nn import functional as F
from training import close

X = torch.randn(3, 8, 5, 5, generator=torch.Generator().manual_seed(8))
ROWS, COLUMNS = torch.tensor([0, 2, 1, 0]), torch.tensor([7, 0, 3, 3])


def made(function):
    torch.manual_seed(1)
    return One(lambda s, x: function(s.conv(x).flatten(2).mean(2), s), conv=nn.Conv2d(8, 8, 3)).train()


def refused(function, kind=bt.UnsupportedOp):
    """The text of the error, in which no remedy is for eager tensors."""
    net = btt.train(made(function))
    with pytest.raises(kind) as e:
        net(X)
    assert isinstance(e.value, bt.Error) and e.value.op and e.value.remedy
    assert "to_strided" not in str(e.value) and "EagerTensor" not in str(e.value)
    return str(e.value)


def works(function, wanted=None):
    """A remedy, beside PyTorch: what it computes, and the gradients of the weights. It prints no warning."""
    net, model = btt.train(made(function)), made(wanted or function)
    torch.set_warn_always(True)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The given NumPy array is not writable")
        got = net(X)
    torch.set_warn_always(False)
    right = model(X)
    close(got, right)
    got.sum().backward()
    right.sum().backward()
    close(net.gradients()["conv.weight"], model.conv.weight.grad)


def test_lists_for_two_axes():
    assert "`x.flatten(0, 1)[rows * 8 + columns]`" in refused(lambda y, s: y[ROWS, COLUMNS])
    works(lambda y, s: y.flatten(0, 1)[ROWS * 8 + COLUMNS], lambda y, s: y[ROWS, COLUMNS])
    three = lambda y: y.unflatten(1, (2, 4))  # noqa: E731
    assert "`x.flatten(1, 2)[:, rows * 4 + columns]`" in refused(lambda y, s: three(y)[:, ROWS % 2, COLUMNS % 4])
    works(lambda y, s: three(y).flatten(1, 2)[:, ROWS % 2 * 4 + COLUMNS % 4], lambda y, s: three(y)[:, ROWS % 2, COLUMNS % 4])
    assert "move two axes beside each other" in refused(lambda y, s: three(y)[ROWS, :, COLUMNS % 4])
    assert "move two axes beside each other" in refused(lambda y, s: three(y)[0, ROWS % 2, COLUMNS % 4])
    # Of an eager tensor the same.
    x = torch.randn(3, 8)
    with pytest.raises(bt.UnsupportedOp, match=r"write `x\.flatten\(0, 1\)\[rows \* 8 \+ columns\]`"):
        btt.EagerTensor(x)[ROWS, COLUMNS]
    close(btt.EagerTensor(x).flatten(0, 1)[ROWS * 8 + COLUMNS].torch(), x[ROWS, COLUMNS])


def test_masks_and_other_indices():
    assert "`x.flatten(0, 1)[torch.tensor(mask.numpy()).flatten().nonzero().squeeze(1)]`" in refused(lambda y, s: y[y > 0])
    works(lambda y, s: y.flatten(0, 1)[torch.tensor((y > 0).numpy()).flatten().nonzero().squeeze(1)], lambda y, s: y[y > 0])
    mask = torch.tensor([True, False, True])
    assert "`x[torch.tensor(mask.numpy()).flatten().nonzero().squeeze(1)]`" in refused(lambda y, s: y[mask])
    works(lambda y, s: y[torch.tensor(mask.numpy()).flatten().nonzero().squeeze(1)], lambda y, s: y[mask])
    index = torch.tensor([[0, 2], [7, 1]])
    assert "`x[:, index.flatten()].unflatten(1, index.shape)`" in refused(lambda y, s: y[:, index])
    works(lambda y, s: y[:, index.flatten()].unflatten(1, index.shape), lambda y, s: y[:, index])
    assert "pass integers" in refused(lambda y, s: y[ROWS.float()], bt.InvalidArgument)


def test_calls_that_are_written_otherwise():
    assert "`F.one_hot(torch.tensor(x.numpy()).long(), classes)`" in refused(lambda y, s: y * F.one_hot(y.argmax(1), 8))
    works(
        lambda y, s: y * F.one_hot(torch.tensor(y.detach().argmax(1).numpy()).long(), 8),
        lambda y, s: y * F.one_hot(y.argmax(1), 8),
    )
    nan = torch.tensor([1.0, float("nan"), *[2.0] * 6])
    assert "`torch.where(x == x, x, 0.0).sum() / (x == x).float().sum()`" in refused(lambda y, s: (y * nan).nanmean())
    x = btt.EagerTensor(nan)
    close((torch.where(x == x, x, 0.0).sum() / (x == x).float().sum()).torch(), nan.nanmean())
    works(lambda y, s: torch.where(y == y, y, 0.0).sum() / (y == y).float().sum(), lambda y, s: y.nanmean())


CONVERSIONS = {
    "half": "leave it out",
    "bfloat16": "leave it out",
    "double": "leave it out",
    "long": "`torch.tensor(x.detach().numpy()).to(torch.int64)`",
    "int": "`torch.tensor(x.detach().numpy()).to(torch.int32)`",
    "short": "`torch.tensor(x.detach().numpy()).to(torch.int16)`",
    "byte": "`torch.tensor(x.detach().numpy()).to(torch.uint8)`",
    "char": "`torch.tensor(x.detach().numpy()).to(torch.int8)`",
    "bool": "write `x != 0`",
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_are_named_as_they_were_called(name):
    text = refused(lambda y, s: getattr(y, name)())
    assert f": {name}: op `{name}` of PyTorch on [3, 8] f32" in text and CONVERSIONS[name] in text and "_copy" not in text
    dtype = getattr(torch.ones(()), name)().dtype
    assert ": to: op `to` of PyTorch" in refused(lambda y, s: y.to(dtype))
    assert ": type: op `type` of PyTorch" in refused(lambda y, s: y.type(dtype))
    # One line for each call: those that follow have a value to go on with.
    if dtype.is_floating_point:
        assert "1 call cannot" in refused(lambda y, s: getattr(y, name)().float().mul(2))
        assert "write `x.float()`" in refused(lambda y, s: getattr(y > 0, name)())
        return
    eager = btt.EagerTensor(torch.ones(2))
    if name in ("long", "int", "byte", "char", "short"):
        works(lambda y, s: y * torch.tensor((y * 9).detach().numpy()).to(torch.int64), lambda y, s: y * (y * 9).long())
    with pytest.raises(bt.UnsupportedOp, match=f"^op `{name}` of PyTorch on .*; (convert|write)") as e:
        getattr(eager, name)()
    assert ("EagerTensor(y)" in e.value.remedy) == (name in ("long", "int", "byte", "char"))


def test_the_type_is_named():
    works(lambda y, s: y * (y.type() == "torch.FloatTensor"))
    works(lambda y, s: y.type(torch.float32) + y.type("torch.FloatTensor"))
    assert btt.EagerTensor(torch.ones(2)).type() == "torch.FloatTensor"
    assert btt.EagerTensor(torch.ones(2)).type(torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.parametrize("name", ["backward", "register_hook", "retain_grad", "register_post_accumulate_grad_hook"])
def test_gradients_of_pytorch_are_named_as_they_were_asked_for(name):
    text = refused(lambda y, s: getattr(y.sum(), name)(*([print] if "hook" in name else [])))
    assert f"op `{name}` of PyTorch" in text and "call it on what the module returned" in text


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_of_values(copied):
    name = f"op `copy.{copied.__name__}`"
    for function in (lambda y, s: copied(y) + y, lambda y, s: y + copied(s.conv.weight).mean()):
        text = refused(function)
        assert name in text and "`x.clone()`" in text and "`x.detach()`" in text
    works(lambda y, s: y + y.clone(), lambda y, s: y + y)
    works(lambda y, s: y * copied(y.detach()))


def test_values_are_not_pickled():
    assert "op `pickle`" in refused(lambda y, s: pickle.dumps(y)) and "`x.detach().numpy()`" in refused(lambda y, s: pickle.dumps(y))
    works(lambda y, s: y * torch.tensor(pickle.loads(pickle.dumps(y.detach().numpy()))))


def test_writes_through_data():
    for function in (lambda y, s: s.conv.weight.data.mul_(2), lambda y, s: s.conv.bias.data.zero_(), lambda y, s: y.data.clamp_(0)):
        text = refused(function)
        assert "a value or a parameter of the forward through `x.data`" in text and "between steps" in text
    works(lambda y, s: y + s.conv.bias.data.abs())
    for function in (torch.relu, lambda x: x + 1):
        works(lambda y, s, function=function: y + function(s.conv.weight.data).mean())

    def assigns(y, s):
        s.conv.weight.data = torch.zeros(8, 8, 3, 3)
        return y

    assert "op `data` of PyTorch" in refused(assigns)
    assert "op `data`" in refused(lambda y, s: setattr(y, "data", s.conv.bias))
    assert "op `data`" in refused(lambda y, s: setattr(y, "data", (y * 2).data))
    works(lambda y, s: y.mul_(2).add_(1))


def test_attributes_that_values_have_not():
    for name in ("_version", "_base", "_backward_hooks"):
        assert f"attribute `{name}` of a torch.Tensor" in refused(lambda y, s, name=name: getattr(y, name))
        with pytest.raises(bt.UnsupportedOp, match=f"attribute `{name}` of a torch.Tensor: an eager tensor has none"):
            getattr(btt.EagerTensor(X), name)
        # PyTorch's tensors have it: `hasattr` must not say that a tensor has none.
        with pytest.raises(bt.UnsupportedOp):
            hasattr(btt.EagerTensor(X), name)


def test_code_in_other_languages():
    @torch.jit.script
    def doubled(x):
        return x * 2

    for function in (doubled, torch.vmap(lambda x: x * 2)):
        text = refused(lambda y, s, function=function: function(y))
        assert "PyTorch took a value of the forward" in text and "write plain Python" in text


def test_results_whose_sizes_depend_on_data():
    for name, function in {
        "nonzero": lambda x: x.nonzero().sum() * 1.0,
        "unique": lambda x: x.unique().sum(),
        "bincount": lambda x: x.argmax(1).bincount().max() * 1.0,
        "histc": lambda x: torch.histc(x, 4).max(),
    }.items():
        text = refused(lambda y, s, function=function: y * function(y))
        assert f"{name}: op `{name}` of PyTorch" in text and "call it on `torch.tensor(x.detach().numpy())`" in text
        works(lambda y, s, f=function: y * f(torch.tensor(y.detach().numpy())), lambda y, s, f=function: y * f(y.detach()))
    assert "torch.tensor(mask.numpy())" in refused(lambda y, s: torch.masked_select(y, y > 0))


def test_arithmetic_of_indices():
    assert "compute with it in PyTorch: `torch.tensor(x.numpy())`" in refused(lambda y, s: y.gather(1, (y.argmax(1) + 1)[:, None]))
    works(lambda y, s: y.gather(1, (torch.tensor(y.argmax(1).numpy()).long() + 1)[:, None] % 8), lambda y, s: y.gather(1, (y.argmax(1) + 1)[:, None] % 8))


def test_there_is_one_device():
    for function in (lambda y, s: y.cuda(), lambda y, s: y.to("cuda:0"), lambda y, s: y.cuda(0, non_blocking=True)):
        assert "leave it out: weights and activations are on the CPU" in refused(function)


@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor])
def test_constructors_of_pytorch(make):
    assert "; write `torch.tensor(x.detach())`" in refused(lambda y, s: y * make(y.detach()))
    works(lambda y, s: y * torch.tensor(y.detach()), lambda y, s: y * y.detach())
