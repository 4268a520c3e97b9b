"""What a training keeps between steps: the optimiser's state beside layouts and files, and buffers that a forward writes."""

import copy
import io
from collections import deque

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import One
from torch import nn
from training import close

X = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(6))
OPTIMIZERS = {"sgd": lambda: bt.grad.SGD(0.01, momentum=0.9), "adamw": lambda: bt.grad.AdamW(0.01)}


def model():
    torch.manual_seed(0)
    convs = [nn.Conv2d(3, 20, 3), nn.ReLU(), nn.Conv2d(20, 20, 3, groups=20), nn.Conv2d(20, 12, 1, groups=2), nn.ConvTranspose2d(12, 8, 2)]
    return nn.Sequential(*convs, nn.Flatten(), nn.Linear(8 * 9, 4))


def stepped(net):
    net.zero_grad()
    net(X).square().sum().backward()
    net.step()


def saved(state):
    """The state as a file keeps it."""
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("made", OPTIMIZERS)
@pytest.mark.parametrize(("before", "after"), [("blocked", "nhwc"), ("nhwc", "blocked"), ("blocked", "blocked")])
def test_the_state_of_an_optimiser_moves_between_layouts(made, before, after):
    first = btt.train(model(), OPTIMIZERS[made](), layout=before)
    stepped(first)
    stepped(first)
    second = btt.train(model(), OPTIMIZERS[made](), layout=after)
    second.load_state_dict(first.state_dict())
    second.optimizer.load_state_dict(saved(first.optimizer.state_dict()))
    fresh = btt.train(model(), OPTIMIZERS[made](), layout=after)
    fresh.load_state_dict(first.state_dict())
    for net in (first, second, fresh):
        stepped(net)
    for name, x in first.state_dict().items():
        close(second.state_dict()[name], x, atol=2e-5)
    # The state counts.
    assert (fresh.state_dict()["0.weight"] - first.state_dict()["0.weight"]).abs().max() > 1e-4
    with bt.deny_reorders():
        second.kept.step(second.optimizer)


def test_tensors_of_this_package_in_files():
    x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    for t in (bt.from_dlpack(x), bt.from_dlpack(x).to_blocked()):
        again = saved(t)
        assert again.layout == t.layout
        close(torch.from_dlpack(again.to_strided()), x, 0, 0)
    close(saved(btt.EagerTensor(x)).torch(), x, 0, 0)


def test_the_reorder_of_a_state_is_in_the_ledger():
    first, second = (btt.train(model(), OPTIMIZERS["sgd"](), layout=layout) for layout in ("blocked", "nhwc"))
    stepped(first)
    stepped(second)
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    with bt.deny_reorders(), pytest.raises(bt.ReorderDenied):
        second.step()
    with bt.record() as book:
        second.step()
    assert len(book.reorders) >= 4


def test_a_state_of_other_weights_is_refused_as_before():
    net = btt.train(nn.Conv2d(3, 4, 3), OPTIMIZERS["sgd"]())
    net.optimizer.load_state_dict({"weight.velocity": torch.zeros(2, 3, 3, 3), "bias.velocity": torch.zeros(4)})
    with pytest.raises(bt.Error):
        stepped(net)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_state_of_some_of_the_weights_is_refused(kind):
    net = btt.train(model(), OPTIMIZERS[kind]())
    stepped(net)
    state = net.optimizer.state_dict()
    left = sorted({name.rpartition(".")[0] for name in state})
    lost = left[0]
    again = btt.train(model(), OPTIMIZERS[kind]())
    again.optimizer.load_state_dict({name: x for name, x in state.items() if not name.startswith(f"{lost}.")})
    before = again.state_dict()
    with pytest.raises(bt.InvalidArgument, match=f"^op `step`: .* none of `{lost}`, which would begin anew; .*pass zeros under their names") as e:
        stepped(again)
    assert e.value.op == "step"
    for name in left:
        close(again.state_dict()[name], before[name], 0, 0)
    # The remedies: zeros, with which a weight begins anew, and the whole state.
    plain = {name: x for name, x in state.items() if name.startswith(f"{lost}.")}
    again.optimizer.load_state_dict({name: np.zeros(x.shape, "int32" if name.endswith("steps") else "float32") for name, x in plain.items()})
    again.step()
    whole = btt.train(model(), OPTIMIZERS[kind]())
    whole.optimizer.load_state_dict(state)
    stepped(whole)
    # Weights that had no gradient begin when they have one.
    frozen = btt.train(model().requires_grad_(False), OPTIMIZERS[kind]())
    next(iter(frozen.kept.module.parameters())).requires_grad_()
    stepped(frozen)
    frozen.requires_grad_()
    stepped(frozen)


@pytest.mark.parametrize("steps", [-1, -5, -(2**31), 2**31 - 1])
def test_a_count_of_steps_is_one(steps):
    net = btt.train(model(), OPTIMIZERS["adamw"]())
    stepped(net)
    state = net.optimizer.state_dict()
    again = btt.train(model(), OPTIMIZERS["adamw"]())
    before = again.state_dict()
    with pytest.raises(bt.InvalidArgument, match=rf"got `steps` of {steps}, .*; pass what `state_dict\(\)` gave"):
        again.optimizer.load_state_dict({**state, "0.weight.steps": np.array(steps, "int32")})
    for name, x in again.state_dict().items():
        close(x, before[name], 0, 0)
    again.optimizer.load_state_dict(state)
    stepped(again)
    assert all(x.isfinite().all() for x in again.state_dict().values())


# Buffers.


class Counts(nn.Module):
    """Counters and a mean, as models of PyTorch keep them."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("last", torch.zeros(2, 4))
        self.register_buffer("hidden", torch.zeros(()), persistent=False)

    def forward(self, x):
        y = self.conv(x)
        self.count += 1
        self.hidden.add_(1)
        mean = y.detach().mean((2, 3))
        mean = mean if isinstance(mean, torch.Tensor) else torch.tensor(mean.numpy())
        self.mean.mul_(0.9).add_(mean.mean(0), alpha=0.1)
        self.last = mean.clone()
        return y * (self.count + 1).float()


@pytest.mark.parametrize("weights", ["torch", "blocktensor"])
def test_buffers_that_a_forward_writes_are_in_a_checkpoint(weights):
    torch.manual_seed(4)
    wanted = Counts()
    torch.manual_seed(4)
    net = btt.train(Counts(), weights=weights)
    for _ in range(3):
        close(net(X), wanted(X))
    state = net.state_dict()
    assert list(state) == list(wanted.state_dict())
    again, whole = btt.train(Counts(), weights=weights), Counts()
    again.load_state_dict(state)
    whole.load_state_dict(state)
    right = wanted(X)
    for one in (again, whole):
        close(one(X), right)
        for name, x in wanted.state_dict().items():
            close(one.state_dict()[name], x)


def test_a_check_leaves_all_buffers():
    net = btt.train(Counts())
    state = {name: x.clone() for name, x in net.state_dict().items()}
    net.check(X)
    for name, x in net.state_dict().items():
        close(x, state[name], 0, 0)

    def counts(s, x):
        s.seen[0] += 1
        return s.conv(x)

    net = btt.train(One(counts, conv=nn.Conv2d(3, 4, 1), buffers={"seen": torch.zeros(2, 2)}), weights="torch")
    net.check(X)
    assert not net.state_dict()["seen"].any()
    net(X)
    assert net.state_dict()["seen"][0].tolist() == [1, 1]


def test_values_in_buffers_are_refused_with_a_way():
    def adds(s, x):
        y = s.conv(x)
        s.mean.add_(y.detach().mean((0, 2, 3)))
        return y

    def assigns(s, x):
        y = s.conv(x)
        s.mean = y.detach().mean((0, 2, 3))
        return y

    for function, way in ((adds, "pass numbers, `torch.tensor(x.detach().numpy())`"), (assigns, "assign numbers: `self.mean = torch.tensor(x.detach().numpy())`")):
        net = btt.train(One(function, conv=nn.Conv2d(3, 4, 1), buffers={"mean": torch.zeros(4)}))
        with pytest.raises(bt.UnsupportedOp) as e:
            net(X)
        assert way in str(e.value) and not net.state_dict()["mean"].any()


class Remembers(nn.Module):
    """State of all kinds beside buffers: what a forward counts, lists, and writes into."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.register_buffer("wide", torch.zeros(2, 4))
        self.count, self.name, self.last, self.plain, self.square = 0, "new", None, torch.zeros(4), torch.zeros(2, 2)
        self.seen, self.by_name, self.kinds, self.window = [], {}, set(), deque(maxlen=2)
        self.raises = False

    def forward(self, x):
        y = self.conv(x)
        self.count += 1
        self.name, self.last, self.fresh = "old", tuple(y.shape), 1.0
        self.plain += 1
        self.seen.append(self.count)
        self.by_name["last"] = self.count
        self.kinds.add(self.count)
        self.window.append(self.count)
        if self.raises != "narrow":
            self.square.add_(1)
            self.wide[0] += 1
        if self.raises:
            raise ZeroDivisionError
        return y


def state_of(model):
    tensors = {name: x.tolist() for name, x in (("wide", model.wide), ("plain", model.plain), ("square", model.square))}
    kept = [model.count, model.name, model.last, model.seen, model.by_name, model.kinds, list(model.window), hasattr(model, "fresh")]
    return copy.deepcopy([tensors, *kept])


def test_a_check_leaves_attributes_of_the_model():
    model = Remembers()
    for one in (btt.train(model, weights="torch"), btt.train(model)):
        of = one.kept.module
        before, objects = state_of(of), (of.seen, of.by_name, of.plain, of.window)
        one.check(X)
        assert state_of(of) == before and all(a is b for a, b in zip((of.seen, of.by_name, of.plain, of.window), objects, strict=True))
        one(X)
        assert of.count == 1 and of.seen == [1] and of.fresh and of.plain.tolist() == [1] * 4 and of.wide[0].tolist() == [1] * 4
        after = state_of(of)
        one.check(X)
        assert state_of(of) == after


def test_a_forward_that_raises_leaves_attributes_and_narrow_tensors():
    model = Remembers()
    net = btt.train(model, weights="torch")
    net(X)
    model.raises = "narrow"
    before = state_of(model)
    with pytest.raises(ZeroDivisionError):
        net(X)
    assert state_of(model) == before
    model.raises = True
    with pytest.raises(ZeroDivisionError):
        net(X)
    # Elements of two axes and more are not put back after an error, as docs/python.md says.
    assert model.square.tolist() == [[2, 2], [2, 2]] and model.count == 1
    with pytest.raises(ZeroDivisionError):
        net.check(X)
    assert model.square.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("prefix", ["", "0."])
def test_each_entry_that_cannot_be_loaded_is_named(prefix):
    """Of two or more no text was left."""
    net = btt.train(model(), bt.grad.SGD(0.1))
    outer = nn.Sequential(net) if prefix else net
    state = {name: x if name.endswith("bias") else torch.zeros(1, 1) for name, x in outer.state_dict().items()}
    with pytest.raises(RuntimeError) as e:
        outer.load_state_dict(state)
    first, *lines = str(e.value).splitlines()
    wrong = [name for name in state if name.endswith("weight")]
    assert len(wrong) == 5 and [line.split(":")[0].strip() for line in lines] == [f"size mismatch for {name}" for name in wrong]
    assert all("Error(s)" not in line for line in lines) and first.startswith("Error(s) in loading state_dict for")
