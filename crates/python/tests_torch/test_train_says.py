"""What calls without an op say around a trained module: each remedy is for the arguments that were passed, and works."""

import copy

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import One
from torch import nn
from torch.nn import functional as F
from training import close

X = torch.randn(3, 4, 5, 5, generator=torch.Generator().manual_seed(8))
LABELS = torch.randint(4, (3, 3, 3), generator=torch.Generator().manual_seed(9))


def made(function, **attributes):
    torch.manual_seed(1)
    return One(lambda s, x: function(s.conv(x), s), conv=nn.Conv2d(4, 4, 3), **attributes).train()


def refused(function, kind=bt.UnsupportedOp, **attributes):
    """The error, for a value that is blocked; no remedy in it is for other tensors than those of a forward."""
    with pytest.raises(kind) as e:
        btt.train(made(function, **attributes))(X)
    assert isinstance(e.value, bt.Error) and e.value.op and e.value.remedy
    assert not any(word in str(e.value) for word in ("to_strided", "EagerTensor", "PyTorch's documentation"))
    return e.value


def works(function, wanted=None):
    net, model = btt.train(made(function)), made(wanted or function)
    close(net(X), model(X))


def test_a_norm_of_the_batch_is_told_in_eval_mode():
    norm = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4, track_running_stats=False)).eval()
    calls = [
        lambda: btt.swap(norm)(btt.EagerTensor(X)),
        lambda: btt.swap(norm)(btt.EagerTensor(X).to_blocked()),
        lambda: btt.to_blocked(norm, X),
    ]
    for call in calls:
        with pytest.raises(bt.UnsupportedOp, match=r"the batch's own statistics.*`track_running_stats=False`.*one that keeps them") as e:
            call()
        assert "training mode" not in str(e.value)
    # The remedy: a norm that keeps statistics, which a run over data gives it.
    kept = copy.deepcopy(norm)
    kept[1] = nn.BatchNorm2d(4)
    kept.train()(X)
    kept.eval()
    close(btt.swap(kept)(btt.EagerTensor(X)).torch(), kept(X))
    close(btt.to_blocked(kept, X)(X), kept(X))


def test_gradients_inside_of_a_forward():
    for call in (lambda y, s: torch.autograd.grad(y.sum(), s.conv.weight), lambda y, s: torch.autograd.backward(y.sum())):
        e = refused(call)
        assert "`torch.autograd.grad(net(x).sum(), x)`" in str(e) and "`net.gradients()`" in str(e)


def test_where_a_blocked_value_lies():
    assert "`x.flatten(0, 3)[torch.tensor(mask.numpy()).flatten().nonzero().squeeze(1)]`" in str(refused(lambda y, s: y[y > 0]))
    works(lambda y, s: y.flatten(0, 3)[torch.tensor((y > 0).numpy()).flatten().nonzero().squeeze(1)], lambda y, s: y[y > 0])
    for name in ("stride", "data_ptr"):
        assert f"`torch.tensor(x.detach().numpy()).{name}()`" in str(refused(lambda y, s, name=name: getattr(y, name)()))
    works(lambda y, s: y * torch.tensor(y.detach().numpy()).stride(1), lambda y, s: y * 9)
    works(lambda y, s: y * y.flatten(1).stride(0))


INDICES = {
    "comparison": lambda i: i == 1,
    "sum": lambda i: i.sum(),
    "largest": lambda i: i.max(),
    "between": lambda i: i.clamp(max=2),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_are_computed_with_in_pytorch(name):
    e = refused(lambda y, s: y * INDICES[name](y.argmax(1, keepdim=True)), bt.UnsupportedDType)
    assert e.remedy == "compute with it in PyTorch: `torch.tensor(x.numpy())`"
    assert e.__cause__ is not e
    works(
        lambda y, s: y * INDICES[name](torch.tensor(y.detach().argmax(1, keepdim=True).numpy()).long()),
        lambda y, s: y * INDICES[name](y.argmax(1, keepdim=True)),
    )


def test_a_dtype_whose_result_has_no_size_is_told_once():
    """The zeros that stand in end the search where PyTorch does not take the dtype either."""
    e = refused(lambda y, s: y * y.argmax(1).mean(), bt.UnsupportedDType)
    assert e.op == "mean" and e.__cause__ is not e


def test_dtypes_do_not_end_the_search():
    def several(y, s):
        a, b = (y > 0).sum(), (y.argmax(1) == 1).float()
        return torch.special.i0(y) * a * b

    e = refused(several)
    assert [name for _, name, _ in e.missing] == ["sum", "eq", "special_i0"]
    assert e.missing[0][2].endswith("pass `x.float()`")
    net = btt.train(made(several))
    with pytest.raises(bt.UnsupportedOp, match="3 calls"):
        net.check(X)


def test_one_call_and_its_remedy():
    e = refused(lambda y, s: torch.special.i0(y))
    first, line, remedy = str(e).split("\n")
    assert first == "op `train`: 1 call cannot be recorded:"
    assert line == f"  module `inner`: special_i0: {e.missing[0][2]}" or line.endswith(e.missing[0][2])
    assert remedy == e.remedy == "change the model as each line says, or keep such modules out of what is trained here"


WEIGHT, IGNORED = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.where(LABELS == 3, -100, LABELS)
OUTSIDE = {
    "weight": lambda y: F.cross_entropy(y, LABELS, weight=WEIGHT),
    "ignored": lambda y: F.cross_entropy(y, IGNORED),
    "ignored by number": lambda y: F.cross_entropy(y, LABELS, ignore_index=2),
    "one score": lambda y: F.cross_entropy(y[0, :, 0, 0], LABELS[0, 0, 0]),
    "likelihood with weight": lambda y: F.nll_loss(F.log_softmax(y, 1), LABELS, weight=WEIGHT),
    "likelihood ignored": lambda y: F.nll_loss(F.log_softmax(y, 1), IGNORED),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_labels_with_weights_are_for_what_the_module_returns(name):
    e = refused(lambda y, s: OUTSIDE[name](y))
    assert "(net(x), y)`, with its other arguments, on what the module returns" in str(e)
    assert "one_hot" not in str(e) and "gather" not in str(e)
    net, model = btt.train(made(lambda y, s: y)), made(lambda y, s: y)
    close(OUTSIDE[name](net(X)), OUTSIDE[name](model(X)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_labels_without_weights_have_a_way_inside(reduction):
    def likelihood(y, s):
        return F.nll_loss(F.log_softmax(y, 1), LABELS, reduction=reduction)

    end = {"mean": ".mean()", "sum": ".sum()", "none": ".squeeze(1)"}[reduction]
    assert f"`-x.gather(1, y[:, None]){end}`" in str(refused(likelihood))
    works(lambda y, s: eval(f"-x.gather(1, y[:, None]){end}", {"x": F.log_softmax(y, 1), "y": LABELS}), likelihood)
    for smoothing in (0.0, 0.1):
        options = {"reduction": reduction, "label_smoothing": smoothing}
        assert "`F.one_hot(y, 4).movedim(-1, 1).float()`" in str(refused(lambda y, s, o=options: F.cross_entropy(y, LABELS, **o)))
        one_hot = F.one_hot(LABELS, 4).movedim(-1, 1).float()
        works(lambda y, s, o=options: F.cross_entropy(y, one_hot, **o), lambda y, s, o=options: F.cross_entropy(y, LABELS, **o))


class Held(nn.Module):
    """A convolution whose weight, or whose counterpart, is in a list too."""

    def __init__(self, function, *held):
        super().__init__()
        torch.manual_seed(1)
        self.conv = nn.Conv2d(4, 4, 3)
        self.function, self.held = function, [*held] or [self.conv.weight]
        if not held:
            self.w = self.conv.weight

    def forward(self, x):
        return self.function(self, x)


USES = {
    "a result": lambda w, y: (y, w.pow(2).sum()),
    "a product": lambda w, y: y * w.mean(),
    "an operand": lambda w, y: F.conv2d(y, w),
    "in a list": lambda w, y: torch.cat([y.mean((0, 2, 3)), w.mean((1, 2, 3))]),
    "a condition": lambda w, y: y * 2 if w.sum() > 1e9 else y,
    "numbers": lambda w, y: y * w.mean().item(),
}


@pytest.mark.parametrize("name", USES)
def test_weights_that_a_list_holds_have_no_elements(name):
    use = USES[name]
    with pytest.raises(bt.UnsupportedOp, match="without elements .*`self.conv.weight`.*`self.w = self.conv.weight`") as e:
        btt.train(Held(lambda s, x: use(s.held[0], s.conv(x))))(X)
    assert "documentation" not in str(e.value)
    # Both remedies.
    for function in (lambda s, x: use(s.conv.weight, s.conv(x)), lambda s, x: use(s.w, s.conv(x))):
        close(btt.train(Held(function))(X), Held(function)(X))


def _called(s, x):
    return s.held[0](s.conv(x))


def test_modules_of_this_package_in_lists():
    conv = nn.Conv2d(4, 4, 1).eval()
    for trained in (btt.train(conv, bt.grad.SGD(0.1)), btt.train(conv, weights="torch")):
        doors = [btt.train, lambda m: btt.to_blocked(m.eval(), X), lambda m: btt.plan(m.eval(), X)]
        for door in doors:
            with pytest.raises(bt.InvalidArgument, match=r"module `held\[0\]` is a trained one .*; load `net\.state_dict\(\)`.* in its place, in an `nn.ModuleList`"):
                door(Held(_called, trained))
        with pytest.raises(bt.UnsupportedOp, match=r"the model that it was made of in its place"):
            btt.train(Held(_called, trained), weights="torch")(X)
    packed = btt.to_blocked(conv, torch.zeros(3, 4, 3, 3))
    with pytest.raises(bt.UnsupportedOp, match="inside of another model, put the model that this module was made of in its place"):
        btt.to_blocked(Held(_called, packed).eval(), X)
    # The remedies.
    close(btt.to_blocked(Held(_called, conv).eval(), X)(X), Held(_called, conv)(X).detach())
    model = Held(_called, conv)
    model.held = nn.ModuleList(model.held)
    net = btt.train(model)
    net(X).sum().backward()
    assert net.gradients()["held.0.weight"].any()
