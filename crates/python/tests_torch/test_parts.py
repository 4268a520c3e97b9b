"""Modules of this package inside of others: what each combination says, and that its remedy works."""

import copy

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import One
from torch import nn
from training import close

X = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(3))


def base():
    torch.manual_seed(2)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval()


MADE = {
    "trained": lambda: btt.train(base(), bt.grad.SGD(0.1)),
    "trained parameters": lambda: btt.train(base(), weights="torch"),
    "packed": lambda: btt.to_blocked(base(), X, layouts="nchw"),
    "swapped": lambda: btt.swap(base()),
}
DONE = {
    "train": lambda model: btt.train(model, bt.grad.SGD(0.1)),
    "train parameters": lambda model: btt.train(model, weights="torch"),
    "swap": btt.swap,
    "to_blocked": lambda model: btt.to_blocked(model, X),
    "partial": lambda model: btt.to_blocked(model, X, partial=True),
    "plan": lambda model: btt.plan(model, X),
}


def around(module):
    return One(lambda s, x: s.inner(s.conv(x)), conv=nn.Conv2d(3, 3, 1), inner=module)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("door", DONE)
def test_modules_of_this_package_are_named(kind, door):
    taken = {("packed", "train"), ("packed", "train parameters"), ("swapped", "swap")}
    if (kind, door) in taken:
        DONE[door](around(MADE[kind]()))
        return
    words = {"trained": "a trained one", "packed": "packed already", "swapped": "a swapped one"}
    with pytest.raises(bt.InvalidArgument, match="argument `model`: module `inner` is ") as e:
        DONE[door](around(MADE[kind]()))
    assert words[kind.split()[0]] in str(e.value) and "the model that it was made of" in e.value.remedy
    with pytest.raises(bt.InvalidArgument, match=f"is {words[kind.split()[0]]}"):
        DONE[door](MADE[kind]())


def test_the_model_of_a_trained_module_stands_for_it():
    inner, model = MADE["trained"](), base()
    inner(X).sum().backward()
    inner.step()
    model.load_state_dict(inner.state_dict())
    whole = around(model)
    close(btt.train(whole, bt.grad.SGD(0.1))(X), whole(X))
    close(btt.to_blocked(whole, X, layouts="nchw")(X), whole(X))


@pytest.mark.parametrize("kind", ["trained", "trained parameters"])
def test_a_trained_module_in_the_forward_of_another_one(kind):
    inner = MADE[kind]()
    net = btt.train(One(lambda s, x: inner(s.conv(x)), conv=nn.Conv2d(3, 3, 1)), weights="torch")
    with pytest.raises(bt.UnsupportedOp, match=r"^op `train`: a trained Sequential is called in the forward of a trained One, .*; call it before") as e:
        net(X)
    assert e.value.op == "train"
    # The remedy: one after the other.
    first = btt.train(nn.Conv2d(3, 3, 1))
    inner(first(X)).sum().backward()
    assert first.gradients()["weight"].abs().sum() > 0


def test_a_packed_module_behind_a_trained_convolution():
    packed = MADE["packed"]()
    for weights in ("torch", "blocktensor"):
        with pytest.raises(bt.UnsupportedOp, match=r"^op `train`: a packed module .* has no gradient .*; put the model .*, or pass `x\.detach\(\)`") as e:
            btt.train(around(packed), weights=weights)(X)
        assert e.value.op == "train"
        model = One(lambda s, x: s.last(s.inner(s.conv(x).detach())), conv=nn.Conv2d(3, 3, 1), last=nn.Conv2d(4, 2, 1), inner=packed)
        net, wanted = btt.train(model, weights=weights), One(model.function, conv=model.conv, last=model.last, inner=base())
        close(net(X), wanted(X))
        net(X).sum().backward()
        assert net.gradients()["last.weight"].abs().sum() > 0
        assert net.gradients()["conv.weight"] is None or not net.gradients()["conv.weight"].any()


def test_a_packed_module_takes_rows():
    packed, x = MADE["packed"](), btt.EagerTensor(X)
    with pytest.raises(bt.InvalidArgument, match=r"argument `input`: got \[2, 3, 6, 6\] f32 nChw\d+c, .*; pass `x\.to_strided\(\)\.torch\(\)`"):
        packed(x.to_blocked())
    close(packed(x.to_blocked().to_strided().torch()), packed(X))
    plain = bt.from_dlpack(X).to_blocked()
    for module in (packed, copy.copy(packed)):
        with pytest.raises(bt.InvalidArgument, match=r"argument `input`: got \[2, 3, 6, 6\] f32 nChw\d+c, .*; pass `x\.to_strided\(\)`$"):
            module(plain)
        close(module(plain.to_strided()), packed(X))


@pytest.mark.parametrize("made", [np.asarray, bt.from_dlpack], ids=["numpy", "blocktensor"])
def test_a_swapped_model_given_another_kind_of_array(made):
    eager, x = btt.swap(base()), made(X)
    with pytest.raises(bt.InvalidArgument, match=r"argument `input`: got (numpy\.ndarray|blocktensor\.Tensor), but .*; pass `EagerTensor\(x\)`"):
        eager(x)
    close(eager(btt.EagerTensor(x)).torch(), base()(X))


NORMS = (2.0, 1.0, 3.5, float("inf"), "inf", 0.5)


@pytest.mark.parametrize("weights", ["torch", "blocktensor"])
@pytest.mark.parametrize("norm_type", NORMS, ids=str)
def test_gradients_are_clipped_by_any_norm(weights, norm_type):
    net, model = btt.train(base(), weights=weights), base()
    for one in (net, model):
        (one(X) * 30).square().sum().backward()
    for most in (0.7, 1e9):
        close(torch.tensor(net.clip_grad_norm_(most, norm_type)), torch.nn.utils.clip_grad_norm_(model.parameters(), most, norm_type))
        for name, x in model.named_parameters():
            close(net.gradients()[name], x.grad)
    assert net.clip_grad_norm_(max_norm=1.0, norm_type=norm_type, error_if_nonfinite=True, foreach=False) > 0


@pytest.mark.parametrize("weights", ["torch", "blocktensor"])
def test_gradients_that_are_not_finite(weights):
    net, model = btt.train(base(), weights=weights), base()
    for one in (net, model):
        (one(X) * float("inf")).sum().backward()
    with pytest.raises(bt.InvalidArgument, match=r"argument `error_if_nonfinite`: got True, and the norm of the gradients is (nan|inf)"):
        net.clip_grad_norm_(1.0, error_if_nonfinite=True)
    with pytest.raises(bt.InvalidArgument, match="argument `norm_type`: got 'two'"):
        net.clip_grad_norm_(1.0, "two")
    assert not np.isfinite(net.clip_grad_norm_(1.0))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for name, x in model.named_parameters():
        torch.testing.assert_close(net.gradients()[name], x.grad, equal_nan=True)
    # Without gradients there is nothing to scale.
    net.zero_grad()
    assert net.clip_grad_norm_(1.0) == 0


class Behind(nn.Module):
    """A packed module behind a convolution, which it gives no gradient, and before one."""

    def __init__(self, inner):
        super().__init__()
        torch.manual_seed(3)
        self.conv, self.inner, self.last = nn.Conv2d(3, 3, 1), inner, nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.last(self.inner(self.conv(x).detach()))


@pytest.mark.parametrize("weights", ["torch", "blocktensor"])
def test_the_state_of_a_packed_module_stays_in_that_of_the_trained_one(weights):
    model, plain = Behind(MADE["packed"]()), Behind(base().requires_grad_(False))
    net = btt.train(model, weights=weights) if weights == "torch" else btt.train(model, bt.grad.SGD(0.1))
    assert net.train() is net and net.training and not model.inner.training and net.eval() is net
    net(X).sum().backward()
    plain(X).sum().backward()
    if weights == "torch":
        torch.optim.SGD(net.parameters(), 0.1).step()
    else:
        net.step()
    torch.optim.SGD(plain.parameters(), 0.1).step()
    state = net.state_dict()
    assert list(state) == list(plain.state_dict())
    for name, x in plain.state_dict().items():
        close(state[name], x)
    again = Behind(base())
    again.load_state_dict(state)
    close(again(X), plain(X))
    other = btt.train(Behind(MADE["packed"]()), weights=weights)
    other.load_state_dict(state)
    close(other(X), plain(X))
    lacks = {name: x for name, x in state.items() if name != "inner.0.bias"}
    assert other.load_state_dict(lacks, strict=False).missing_keys == ["inner.0.bias"]


def test_other_weights_are_not_loaded_into_the_packed_module_of_a_model():
    model = Behind(MADE["packed"]())
    net, before = btt.train(model), model.inner(X)
    state = {name: x * 2 for name, x in net.state_dict().items()}
    with pytest.raises(RuntimeError, match="other weights for the packed module `inner`, .*; load them into the model, and train it again"):
        net.load_state_dict(state)
    close(model.inner(X), before, 0, 0)
    # The remedy.
    model.load_state_dict(state)
    close(btt.train(model)(X), model(X))


@pytest.mark.parametrize("weights", ["torch", "blocktensor"])
def test_a_packed_module_without_plain_weights_is_refused(weights):
    packed = copy.deepcopy(MADE["packed"]())
    with pytest.raises(bt.UnsupportedOp, match=r"module `inner` is a packed one of a file, .*`net\.state_dict\(\)`; .*`self\.packed = \[module\]`"):
        btt.train(Behind(packed), weights=weights)
    model = One(lambda s, x: s.last(s.packed[0](x)), packed=[packed], last=nn.Conv2d(4, 2, 1))
    net = btt.train(model, weights=weights)
    net(X).sum().backward()
    assert list(net.state_dict()) == ["last.weight", "last.bias"]
    close(net(X), model.last(packed(X)))
