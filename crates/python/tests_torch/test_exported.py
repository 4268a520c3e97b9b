"""Modules of exported programs: converted and swapped, though they have no training mode; those exported in training are refused."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn
from torch.nn import functional as F

X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(9))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop, self.fc = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.Dropout(), nn.Linear(16, 4)

    def forward(self, x):
        x = F.gelu(F.max_pool2d(self.norm(self.conv(x)), 2))
        a, b = self.fc(self.drop(x).mean((2, 3))).chunk(2, -1)
        return torch.cat([a * 2, b.softmax(-1)], 1)


class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + 1


def exported(model, **options):
    return torch.export.export(model, (X,), **options)


@pytest.fixture
def net():
    return Net().eval()


@pytest.mark.parametrize("kind", ["kept", "loaded", "dynamic"])
def test_exported_programs_are_converted(net, kind, tmp_path):
    program = exported(net, dynamic_shapes=({0: torch.export.Dim("batch", max=8)},) if kind == "dynamic" else None)
    if kind == "loaded":
        torch.export.save(program, tmp_path / "m.pt2")
        program = torch.export.load(tmp_path / "m.pt2")
    with torch.no_grad():
        fast = btt.to_blocked(program.module(), X)
        torch.testing.assert_close(fast(X), net(X))
        torch.testing.assert_close(fast(x=X), net(X))
        fast.check_weights(program.module())
        assert set(fast.state_dict()) == set(net.state_dict())
        assert "conv2d" in str(btt.plan(program.module(), X))
        eager = btt.swap(program.module())
        torch.testing.assert_close(eager(btt.EagerTensor(X)).torch(), net(X))
        torch.testing.assert_close(eager(X), net(X))
        # Its convolutions are calls: they run on strided tensors.
        with pytest.raises(bt.KeyMismatch) as e:
            eager(btt.EagerTensor(X).to_blocked())
        assert e.value.remedy.startswith("pass `x.to_strided()`")


def test_exported_programs_inside_of_models(net):
    model = Around(exported(net).module())
    for call in (btt.swap, lambda m: btt.to_blocked(m, X)):
        with pytest.raises(bt.Error, match="in training mode") as e:
            call(model)
        assert "`module.training = False`" in e.value.remedy
    model.training = False
    with torch.no_grad():
        torch.testing.assert_close(btt.to_blocked(model, X)(X), net(X) + 1)
        torch.testing.assert_close(btt.swap(model)(btt.EagerTensor(X)).torch(), net(X) + 1)


def test_programs_exported_in_training_are_refused():
    class Drops(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5, True)

    for model, name in ((Net(), "aten.batch_norm.default"), (Drops().eval(), "aten.dropout.default")):
        program = exported(model)
        for call in (btt.swap, lambda m: btt.to_blocked(m, X), lambda m: btt.plan(m, X)):
            with pytest.raises(bt.InvalidArgument, match=f"exported in training mode .`{name}`") as e:
                call(program.module())
            assert "before `torch.export.export`" in e.value.remedy


def test_calls_of_aten_by_their_overload():
    x = btt.EagerTensor(X)
    assert torch.equal(torch.ops.aten.relu.default(x).torch(), X.relu())
    assert torch.equal(torch.ops.aten.add.Tensor(x, x).torch(), X + X)
    assert torch.equal(torch.ops.aten.add.Tensor(x, 1.5).torch(), X + 1.5)
    assert torch.equal(torch.ops.aten.amax(x, [1], True).torch(), X.amax(1, True))
    for call in (torch.ops.aten.special_i0.default, torch.ops.prims.cos.default):
        with pytest.raises(bt.UnsupportedOp, match="no op of blocktensor"):
            call(x)


def test_state_dicts_have_the_models_order():
    shared = nn.Conv2d(3, 3, 1)
    model = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), shared, nn.Sequential(nn.BatchNorm2d(3), shared)).eval()
    fast, names = btt.to_blocked(model, torch.randn(1, 3, 8, 8), layouts="nchw"), list(model.state_dict())
    assert [name for name in names if name in fast.state_dict()] == list(fast.state_dict())
    fast.load_state_dict(model.state_dict())
    assert [name for name in names if name in fast.state_dict()] == list(fast.state_dict())
