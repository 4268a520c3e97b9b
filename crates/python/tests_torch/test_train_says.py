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
