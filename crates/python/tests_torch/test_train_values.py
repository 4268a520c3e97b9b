"""What a value in the forward of a trained module says of itself, and what is read of it and written into it: as in PyTorch."""

import copy

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import One
from torch import nn
from torch.nn import functional as F
from training import KINDS, beside_pytorch, close


def _written(x):
    mask = x.detach() > 0
    mask[:, :2] = 0.5
    return x * mask


def _filled(x):
    made = x.detach() > 0
    made[0] = torch.full((6, 6), 7)
    made[1:] = -0.25
    return x * made


@pytest.mark.parametrize("function", [_written, _filled])
def test_what_is_written_into_a_mask_is_true_or_false(function):
    beside_pytorch(function)


READ = {
    "asarray": np.asarray,
    "asarray with a dtype": lambda x: np.asarray(x, np.float64),
    "from_dlpack": torch.from_dlpack,
    "numpy's from_dlpack": np.from_dlpack,
    "as_tensor": torch.as_tensor,
    "tensor": torch.tensor,
    "numpy": lambda x: x.numpy(),
    "tolist": lambda x: np.asarray(x.tolist()),
}


@pytest.mark.parametrize(("weights", "layout"), KINDS)
@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_masks_and_indices_are_read_as_bool_and_int64(read, weights, layout):
    for values in (lambda x: x.detach() > 0, lambda x: x.detach().argmax(1), lambda x: x.detach()):
        dtypes = []

        def function(x, values=values, dtypes=dtypes):
            made = read(values(x))
            dtypes.append(made.dtype)
            return x * torch.as_tensor(made).float().mean()

        beside_pytorch(function, weights, layout)
        assert dtypes[0] == dtypes[1]


#: Values, and whether in rows of channels-last memory they are a copy.
ARRAYS = {
    "detach": (lambda x: x.detach(), False),
    "a part": (lambda x: x.detach()[0], False),
    "flatten": (lambda x: x.detach().flatten(1), True),
    "a mask": (lambda x: x.detach() > 0, True),
}


@pytest.mark.parametrize("values", [*(values for values, _ in ARRAYS.values()), lambda x: x.detach().argmax(1)], ids=[*ARRAYS, "indices"])
@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_no_write_through_dlpack_is_lost(values, weights, layout):
    """numpy heeds the mark of read-only memory. PyTorch has none, and gets a copy of its own."""
    flags = []

    def function(s, x):
        made = values(s.conv(x))
        before = made.numpy().copy()
        flags.append(np.from_dlpack(made).flags.writeable)
        torch.from_dlpack(made).zero_()
        flags.append(not np.array_equal(made.numpy(), before))
        return s.conv(x)

    btt.train(One(function, conv=nn.Conv2d(4, 6, 3)).train(), weights=weights, layout=layout)(torch.randn(2, 4, 6, 6))
    assert flags == [False, False]


@pytest.mark.parametrize(("values", "is_copy"), ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_no_write_into_an_array_is_lost(values, is_copy, weights, layout):
    """A write is seen by what follows, as in PyTorch, or is numpy's error."""

    def function(x):
        made = values(x)
        made.numpy()[...] = 1
        return x + made.sum()

    if layout == "nhwc" and not is_copy:
        beside_pytorch(function, weights, layout)
        return
    with pytest.raises(ValueError, match="read-only"):
        beside_pytorch(function, weights, layout)


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_no_write_into_the_array_of_a_weight_is_lost(weights, layout):
    def function(s, x):
        s.conv.weight.detach().numpy()[...] = 0
        return s.conv(x)

    net = btt.train(One(function, conv=nn.Conv2d(4, 6, 3)).train(), weights=weights, layout=layout)
    x = torch.randn(2, 4, 6, 6)
    if layout == "nhwc":
        assert torch.equal(net(x), net.state_dict()["conv.bias"][:, None, None].expand(2, 6, 4, 4))
        return
    with pytest.raises(ValueError, match="read-only"):
        net(x)


#: Attributes that are simple facts of a tensor, and methods without arguments.
FACTS = [name for name in dir(torch.Tensor) if name.startswith("is_") and not callable(getattr(torch.ones(1), name))]
FACTS += "itemsize nbytes ndim shape dtype device layout name output_nr retains_grad grad".split()
METHODS = "element_size get_device is_pinned is_signed is_complex is_floating_point numel nelement dim ndimension size".split()


@pytest.mark.parametrize("values", [lambda x: x, lambda x: x.detach(), lambda x: x.detach() > 0, lambda x: x.detach().argmax(1)])
@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_facts_are_those_of_pytorch(values, layout):
    told = []

    def function(x):
        made = values(x)
        told.append({name: getattr(made, name) for name in FACTS} | {name: getattr(made, name)() for name in METHODS})
        return x * getattr(made, "nbytes", 0) if hasattr(made, "real") else x

    beside_pytorch(function, layout=layout)
    assert told[0] == told[1]


def test_facts_of_eager_tensors():
    x = torch.randn(3, 5)
    for y in (btt.EagerTensor(x), btt.EagerTensor(x.bfloat16())):
        z = y.to_strided().torch()
        assert {name: getattr(y, name) for name in FACTS} == {name: getattr(z, name) for name in FACTS}
        assert y.real is y and y.element_size() == z.element_size() and y.get_device() == -1
        assert torch.equal(y.H.torch(), z.H) and torch.equal(y.mH.torch(), z.mH)


@pytest.mark.parametrize("function", [lambda x: x.real * 2, lambda x: x.mH + x.mT, lambda x: x.mean((2, 3)).H.T, lambda x: x[0, 0, 0, 0].H])
def test_parts_of_complex_tensors(function):
    beside_pytorch(function)


@pytest.mark.parametrize(("name", "kind"), [("imag", bt.UnsupportedDType), ("H", bt.RankMismatch), ("_version", bt.UnsupportedOp), ("grad_fn", bt.UnsupportedOp)])
def test_what_a_tensor_of_pytorch_has_is_not_absent(name, kind):
    """`hasattr`, `getattr` with a default and a module's property would choose other code without a word."""
    with pytest.raises(kind, match=name):
        beside_pytorch(lambda x: x * 2 if hasattr(x, name) else x)
    with pytest.raises(kind, match=name):
        beside_pytorch(lambda x: x * 2 if getattr(x, name, None) is not None else x)
    assert not hasattr(btt.EagerTensor(torch.ones(1)), "no_such_name")


class Property(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.conv, self.name = nn.Conv2d(4, 6, 3), name

    @property
    def scale(self):
        return getattr(self.conv.weight, self.name)

    def forward(self, x):
        return self.conv(x) * (self.scale or 1)


def test_errors_of_properties_are_told():
    model, x = Property("nbytes"), torch.randn(2, 4, 6, 6)
    close(btt.train(model)(x), model(x), 1e-4, 1e-4)
    with pytest.raises(bt.UnsupportedOp, match="attribute `_version` of a torch.Tensor"):
        btt.train(Property("_version"))(x)


@pytest.mark.parametrize("use", [lambda x, i: (x, i), lambda x, i: {"a": [i]}, lambda x, i: x * (i == 0), lambda x, i: x * (i + 1), lambda x, i: x * i[0]])
@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_the_indices_of_a_pool_are_refused_where_they_are_used(use, layout):
    net = btt.train(One(lambda s, x: use(*F.max_pool2d(s.conv(x), 2, return_indices=True)), conv=nn.Conv2d(4, 6, 3)).train(), layout=layout)
    with pytest.raises(bt.UnsupportedOp, match="no op of blocktensor computes this result") as e:
        net(torch.randn(2, 4, 6, 6))
    assert "Absent" not in str(e.value) and "compute it outside of the trained module" in str(e.value)


def _emptied(x):
    mask = x.detach() > 0
    other = ~mask
    return x * mask.zero_() + 2 * x * other.fill_(True)


FILLS = {
    "zero_": lambda x: x.zero_() + 1,
    "zero_ of a copy": lambda x: x.detach().clone().zero_() + x,
    "fill_": lambda x: x.fill_(2) + 1,
    "fill_ of NaN": lambda x: (x + float("nan")).fill_(2) * 3,
    "fill_ beside": lambda x: (x * 1).fill_(2) * x,
    "torch.fill": lambda x: torch.fill(x, torch.tensor(3.0)) * x,
    "of a mask": _emptied,
}


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
@pytest.mark.parametrize("function", FILLS.values(), ids=FILLS)
def test_filled_values_have_a_gradient_of_zeros(function, layout):
    beside_pytorch(function, layout=layout)


def test_a_blocked_eager_tensor_is_zeroed():
    x = btt.EagerTensor(torch.randn(2, 4, 6, 6)).to_blocked()
    assert x.zero_() is x and x.held.is_blocked and not x.to_strided().torch().any()


def test_numbers_in_a_list_are_items():
    with pytest.raises(bt.InvalidArgument, match=r"`torch.tensor\(\[x.item\(\), 2.0\]\)`"):
        beside_pytorch(lambda x: x * torch.tensor([x.detach().mean(), 2.0])[0])
    beside_pytorch(lambda x: x * torch.tensor([x.mean().item(), 2.0])[0])


def _branches(x):
    return x * 2 if x.data.dtype == torch.float32 and x.data.size(1) == 6 and not x.data.requires_grad else x


DATA = {
    "dtype": _branches,
    "cat": lambda x: torch.cat([x, x.data]),
    "to": lambda x: x * (x > 0).to(x.data.dtype),
    "operators": lambda x: x * x.data + 1 - x.data.abs(),
    "a part": lambda x: x * x.data[:, :1],
    "numpy": lambda x: x * float(x.data.numpy().mean()),
    "a mask": lambda x: x * (x.detach() > 0).data,
    "grad": lambda x: x if x.data.grad is None and x.data.is_leaf else x * 2,
    "result_type": lambda x: x * 2 if torch.result_type(x, 1) == torch.float32 else x,
    "result_type of a mask": lambda x: x * 2 if torch.result_type(x > 0, 1) == torch.int64 else x,
    "result_type of tensors": lambda x: x * 2 if torch.result_type(torch.ones(3), other=x) == torch.float32 else x,
}


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
@pytest.mark.parametrize("function", DATA.values(), ids=DATA)
def test_data_is_a_tensor_without_a_gradient(function, layout):
    beside_pytorch(function, layout=layout)


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_data_of_a_weight(weights, layout):
    for function in (lambda s, x: s.conv(x).to(s.conv.weight.data.dtype) * s.conv.weight.data.size(1), lambda s, x: s.conv(x) + s.conv.bias.data[0]):
        model, x = One(function, conv=nn.Conv2d(4, 6, 3)).train(), torch.randn(2, 4, 6, 6)
        close(btt.train(copy.deepcopy(model), weights=weights, layout=layout)(x), model(x), 1e-4, 1e-5)


def _sets(x):
    x.data[0] = 0
    return x


@pytest.mark.parametrize("function", [_sets, lambda x: x.data.mul_(2) + x, lambda x: x.data.relu_(), lambda x: F.relu(x.data, inplace=True)])
@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_writes_through_data_are_refused(function, layout):
    with pytest.raises(bt.UnsupportedOp, match="through `x.data`.*write it as a function"):
        beside_pytorch(function, layout=layout)


def test_the_result_type_of_eager_tensors():
    x = btt.EagerTensor(torch.ones(3))
    assert torch.result_type(x, 1) == torch.result_type(torch.ones(3), x) == torch.float32
    assert torch.result_type(btt.EagerTensor(torch.ones(3).bfloat16()), 1.0) == torch.bfloat16


def test_values_that_are_kept_are_read():
    kept = []

    def function(s, x):
        y = s.conv(x)
        kept[:] = [y, y.detach() > 0, s.conv.weight, y.detach().argmax(1)]
        return y

    model, x = One(function, conv=nn.Conv2d(4, 6, 3)).train(), torch.randn(2, 4, 6, 6)
    for layout in ("blocked", "nhwc"):
        btt.train(copy.deepcopy(model), layout=layout)(x)
        here = kept.copy()
        model(x)
        for one, wanted in zip(here, kept, strict=True):
            for read in (one.detach, lambda one=one: one.data):
                close(torch.tensor(read().numpy()), wanted.detach())
                close(torch.tensor(np.asarray(read())), wanted.detach())
                assert read().shape == wanted.shape and read().dtype == wanted.dtype
        assert here[1].tolist() == kept[1].tolist()
        with pytest.raises(bt.InvalidArgument, match="a forward that has ended"):
            here[0].data + 1
