"""Loading of a trained module, its parts, and weights that change between a forward and its `backward`."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import One
from torch import nn
from training import KINDS

X = torch.randn(2, 3, 6, 6)


class Counted(nn.BatchNorm2d):
    """A norm with a state beside its tensors."""

    extra = 0

    def get_extra_state(self):
        return self.extra

    def set_extra_state(self, state):
        self.extra = state


def model(out=5):
    return nn.Sequential(nn.Conv2d(3, 16, 3, bias=False), Counted(16), nn.Flatten(), nn.Linear(256, out))


def state(out=5):
    given = model(out).state_dict()
    given["1.running_mean"].fill_(5.0)
    given["1._extra_state"] = 3
    return given


WRONG = {
    "sizes": (state(7), True),
    "sizes, not strict": (state(7), False),
    "missing": ({name: x for name, x in state().items() if name != "3.bias"}, True),
    "unexpected": ({**state(), "other": X}, True),
    "no tensor": ({**state(), "3.bias": "text"}, False),
}


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_failed_load_changes_nothing(wrong, layout, assign):
    net = btt.train(model(), bt.grad.SGD(0.1), layout=layout)
    before, (given, strict) = net.state_dict(), WRONG[wrong]
    buffers = dict(net.kept.module.named_buffers())
    y = net(X)
    with pytest.raises(RuntimeError, match="loading state_dict for TrainedModule"):
        net.load_state_dict(given, strict=strict, assign=assign)
    after = net.state_dict()
    assert after["1._extra_state"] == before["1._extra_state"] == 0
    # The forward counted.
    for name in [name for name in before if "running" not in name and "num_batches" not in name and "extra" not in name]:
        assert torch.equal(after[name], before[name]), name
    assert (after["1.running_mean"] < 1).all() and after["1.num_batches_tracked"] == 1
    assert all(net.kept.module.get_buffer(name) is x for name, x in buffers.items())
    # The weights are those of the forward.
    y.sum().backward()
    assert net.load_state_dict(state(), assign=assign).missing_keys == []
    assert (net.state_dict()["1.running_mean"] == 5).all() and net.state_dict()["1._extra_state"] == 3


def test_a_failed_load_of_a_larger_module_changes_no_part():
    net = btt.train(model(), bt.grad.SGD(0.1))
    whole = nn.Sequential(net, nn.Identity())
    with pytest.raises(RuntimeError, match="size mismatch for 0.3.weight"):
        whole.load_state_dict({f"0.{name}": x for name, x in state(7).items()}, strict=False)
    assert (net.state_dict()["1.running_mean"] == 0).all()


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_weights_that_changed_since_the_forward(weights, layout):
    def changes(net):
        if weights == "blocktensor":
            return net.step, lambda: net.load_state_dict(state())
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        return optimizer.step, lambda: net.load_state_dict(state())

    net = btt.train(model(), bt.grad.SGD(0.1) if weights == "blocktensor" else None, layout=layout, weights=weights)
    for change in changes(net):
        older, newer = net(X).sum(), net(X).sum()
        newer.backward()
        change()
        with pytest.raises(bt.Aliasing, match="op `backward`: .*; ") as e:
            older.backward()
        assert e.value.op == "backward" and e.value.remedy
        net.zero_grad()
        net(X).sum().backward()
        assert net.gradients()["0.weight"] is not None


def test_a_step_that_moves_nothing_changes_no_weights():
    net = btt.train(model(), bt.grad.SGD(0.1))
    y = net(X).sum()
    net.step()
    y.backward()
    assert net.gradients()["0.weight"] is not None


def test_parts_of_a_trained_module():
    net = btt.train(One(lambda s, x: s.c1(x) * s.scale + s.shift, c1=nn.Conv2d(3, 4, 3), scale=nn.Parameter(torch.ones(1)), buffers={"shift": X[:1, :1, :1, :1]}))
    asks = {
        "c1": [lambda: net.c1, lambda: net.get_submodule("c1"), lambda: net.get_parameter("c1.weight"), lambda: net.c1.weight],
        "scale": [lambda: net.scale, lambda: net.get_parameter("scale")],
        "shift": [lambda: net.shift, lambda: net.get_buffer("shift")],
    }
    for name, calls in asks.items():
        for call in calls:
            with pytest.raises(AttributeError, match=f'no plain `{name}`: `state_dict.*before `train`, or pass `weights="torch"`'):
                call()
    with pytest.raises(AttributeError, match="other"):
        _ = net.other
    assert net.get_submodule("") is net and not hasattr(net, "c1")
    own = nn.Sequential(nn.Conv2d(3, 4, 3))
    kept = btt.train(own, weights="torch")
    assert kept.get_submodule("0") is own[0] and kept.get_parameter("0.weight") is own[0].weight
    fast = btt.to_blocked(own.eval(), X, layouts="nchw")
    for call in (lambda: fast.get_submodule("0"), lambda: fast.get_parameter("0.weight")):
        with pytest.raises(AttributeError, match="a packed module has no plain `0`: `state_dict"):
            call()


def test_the_way_round_for_what_is_frozen_later():
    """As in the docs."""
    net = btt.train(model(), bt.grad.SGD(0.1, momentum=0.9))
    net(X).square().sum().backward()
    net.step()
    own = model()
    own.load_state_dict(net.state_dict())
    own[0].requires_grad_(False)
    again = btt.train(own, bt.grad.SGD(0.1, momentum=0.9))
    again.optimizer.load_state_dict(net.optimizer.state_dict())
    again(X).square().sum().backward()
    before = again.state_dict()
    again.step()
    after = again.state_dict()
    assert torch.equal(before["0.weight"], after["0.weight"]) and not torch.equal(before["3.weight"], after["3.weight"])


def test_complex_inputs():
    net = btt.train(model())
    for x, remedy in ((X.to(torch.complex64), "pass `x.real.float()`"), (X.double(), "pass `x.float()`")):
        with pytest.raises(bt.DTypeMismatch) as e:
            net(x)
        assert e.value.remedy == remedy


@pytest.mark.parametrize("wrong", [torch.ones(2), torch.tensor(1j), torch.empty((), device="meta")], ids=repr)
def test_tensors_that_are_no_number(wrong):
    optimizer = bt.grad.SGD(0.1)
    for call in (bt.grad.SGD, bt.grad.AdamW, lambda x: setattr(optimizer, "lr", x), lambda x: bt.grad.AdamW(eps=x)):
        with pytest.raises(bt.InvalidArgument, match="argument `(lr|eps)`: got tensor.*but it is a number; pass one number"):
            call(wrong)
    optimizer.lr = torch.tensor(0.5)
    assert optimizer.lr == 0.5
    for one in (torch.ones(2)[0], torch.tensor(1j).real):
        optimizer.lr = one
