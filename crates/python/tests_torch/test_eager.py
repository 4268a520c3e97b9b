"""Eager work: PyTorch's functions on tensors that stay blocked."""

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(25)
X = torch.randn(2, 32, 9, 7)


def blocked():
    return btt.EagerTensor(X).to_blocked()


def close(got, wanted):
    assert (got.to_strided().torch() - wanted).norm() <= 1e-6 * wanted.norm() + 1e-6


FUNCTIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "hardswish": F.hardswish,
    "silu": F.silu,
    "gelu": F.gelu,
    "sigmoid": torch.sigmoid,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "max_pool": lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
    "avg_pool": lambda x: F.avg_pool2d(x, 2),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, torch.ones(32), torch.ones(32) * 2, torch.ones(32) * 3, torch.zeros(32)),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "sum": lambda x: x + x,
    "number": lambda x: x * 2 - 1,
    "mean": lambda x: torch.mean(x, [2, 3], keepdim=True),
    "cat": lambda x: torch.cat([x, x], 1),
    "norm": lambda x: x.norm(dim=1, keepdim=True) + torch.norm(x, p=1, dim=1, keepdim=True) + torch.norm(x, float("inf"), 1, True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_stay_blocked(name):
    x = blocked()
    with bt.deny_reorders():
        y = FUNCTIONS[name](x)
    assert y.held.is_blocked
    close(y, FUNCTIONS[name](X))


def test_calls_in_place_write_into_the_object():
    x = blocked()
    assert F.relu(x, inplace=True) is x
    close(x, X.relu())
    x = blocked()
    x.sigmoid_()
    x += blocked()
    close(x, X.sigmoid() + X)
    module = nn.Sequential(nn.Hardswish(inplace=True), nn.SiLU(inplace=True)).eval()
    x = blocked()
    assert module(x) is x
    close(x, F.silu(F.hardswish(X)))


def test_a_swapped_model_packs_once():
    net = nn.Sequential(
        nn.Conv2d(32, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Conv2d(16, 16, 3, groups=16), nn.MaxPool2d(2)
    ).eval()
    eager = btt.swap(net)
    x = blocked()
    with torch.no_grad():
        with bt.record() as book:
            eager(x)
        assert {r["cause"] for r in book.reorders} == {"packing"}
        with bt.deny_reorders():
            y = eager(x)
        close(y, net(X))
        assert torch.equal(eager(X), net(X))
    assert isinstance(net[0], nn.Conv2d)


def test_what_has_no_kernel_raises():
    x = blocked()
    for call in [lambda: torch.cumsum(x, 1), lambda: x.flatten(1), lambda: torch.special.i0(x)]:
        with pytest.raises(bt.UnsupportedOp) as e:
            call()
        assert ".to_strided()" in e.value.remedy
    for question in [lambda: np.asarray(x), x.stride, x.data_ptr, x.torch, lambda: torch.from_dlpack(x)]:
        with pytest.raises(bt.OpaqueLayoutError):
            question()
    with pytest.raises(bt.KeyMismatch):
        x + X
    with pytest.raises(bt.UnsupportedOp, match="training"):
        F.dropout(x, 0.5, training=True)
    with pytest.raises(AttributeError):
        x.no_such_method


def test_tensors_with_scales_are_refused():
    x = bt.from_dlpack(torch.arange(8, dtype=torch.uint8)).quantized(0.5, 3)
    with pytest.raises(bt.UnsupportedDType, match=r"with scales and zero points.*`\.without_quantization\(\)`"):
        btt.EagerTensor(x)
    with pytest.raises(bt.UnsupportedDType, match="would get lost"):
        torch.from_dlpack(x)
    assert btt.EagerTensor(x.without_quantization()).torch().tolist() == list(range(8))
    assert btt.EagerTensor(x.dequantized()).torch()[0] == -1.5
