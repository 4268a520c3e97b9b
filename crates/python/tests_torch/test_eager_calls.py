"""Eager tensors: how calls of PyTorch are bound, what they return, and what they refuse."""

import copy
from decimal import Decimal
from fractions import Fraction

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(38)
X = torch.randn(2, 16, 6, 8)


def eager(x=X):
    return btt.EagerTensor(x.clone())


def close(got, wanted):
    got = got.to_strided().torch()
    assert got.shape == wanted.shape
    assert (got - wanted).norm() <= 1e-6 * wanted.norm() + 1e-6


CALLS = {
    "pad": lambda x: F.pad(x, (1, 0, 2, 1)),
    "pad with a value": lambda x: F.pad(x, (1, 1), value=0.5),
    "pad by mode": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "softmax of a stack level": lambda x: F.softmax(x, dim=1, _stacklevel=5),
    "softmax to a dtype": lambda x: F.softmax(x, 1, dtype=torch.float32),
    "clamp(max)": lambda x: x.clamp(max=0.5),
    "clamp(min), a function": lambda x: torch.clamp(x, min=-0.5),
    "permute of numbers": lambda x: x.permute(0, 2, 3, 1),
    "permute of a tuple": lambda x: torch.permute(x, (0, 2, 3, 1)).contiguous(),
    "1 - x": lambda x: 1 - x,
    "2 / x": lambda x: 2 / x,
    "x ** 2": lambda x: x**2,
    "2 ** x": lambda x: 2**x,
    "-x, abs(x)": lambda x: abs(-x),
    "x @ y": lambda x: x @ x.transpose(2, 3),
    "x[0]": lambda x: x[0],
    "x[:, 1:3]": lambda x: x[:, 1:3],
    "x[..., None]": lambda x: x[..., None],
    "x[-1, ..., ::2]": lambda x: x[-1, ..., ::2],
    "x[:, [2, 0, -1]]": lambda x: x[:, [2, 0, -1]],
    "x[:, tensor]": lambda x: x[:, torch.tensor([3, 3])],
    "iteration": lambda x: torch.stack(list(x)),
    "interpolate by a factor": lambda x: F.interpolate(x, scale_factor=2),
    "interpolate to a size": lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=False),
    "one axis for a list": lambda x: torch.roll(x, 1, 0),
    "names of numpy": lambda x: torch.sum(x, axis=1, keepdims=True),
    "input by name": lambda x: torch.mean(input=x, dim=(2, 3)),
    "a function of a function": lambda x: F.normalize(x, dim=1),
    "dispatched by a flag": lambda x: F.max_pool2d(x, kernel_size=2, return_indices=False),
    "a composition of ops": lambda x: torch.outer(x[0, 0, 0], x[1, 0, 0]),
    "a number of PyTorch": lambda x: x * torch.tensor(2),
    "a tensor of PyTorch first": lambda x: torch.ones(8) - x,
    "an array": lambda x: x * np.ones(8, np.float32) if isinstance(x, btt.EagerTensor) else x * 1.0,
    "unflatten": lambda x: x.unflatten(1, (4, 4)),
    "results by name": lambda x: x.max(dim=1, keepdim=True).values,
    "new_zeros": lambda x: x.new_zeros((2, 3)),
    "attention": lambda x: nn.functional.scaled_dot_product_attention(x, x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_agree_with_pytorch(name):
    close(CALLS[name](eager()), CALLS[name](X))


@pytest.mark.parametrize("op", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
def test_comparisons_are_elementwise(op):
    for other in (0, 0.3, X.flip(0), eager(X.flip(0))):
        wanted = getattr(X, op)(other.torch() if isinstance(other, btt.EagerTensor) else other)
        mask = getattr(eager(), op)(other)
        assert mask.dtype == torch.uint8 and torch.equal(mask.torch().bool(), wanted)
    mask = getattr(eager().to_blocked(), op)(0)
    assert mask.held.is_blocked and torch.equal(mask.to_strided().torch().bool(), getattr(X, op)(0))
    # A tensor of PyTorch first.
    assert torch.equal(getattr(torch.Tensor, op)(X.flip(0), eager()).torch().bool(), getattr(X.flip(0), op)(X))


def test_masks_compute_as_in_pytorch():
    x, mask = eager(), X > 0.3
    close((x > 0.3) * x, mask * X)
    close((x > 0.3).float(), mask.float())
    assert bool((x == x).all()) and not bool((x != x).any())
    assert torch.equal((x > 0.3).any(1).torch().bool(), mask.any(1))
    assert (x == None) is False and (x == "a") is False  # noqa: E711


def test_truth_and_numbers():
    for call in (bool, int, float, lambda x: x.item()):
        with pytest.raises(bt.InvalidArgument):
            call(eager())
    one = eager(torch.tensor([2.5]))
    assert bool(one) and float(one) == 2.5 and int(one) == 2 and one.item() == 2.5 and not eager(torch.zeros(1))
    assert len(eager()) == 2 and len(list(eager())) == 2
    with pytest.raises(bt.InvalidArgument):
        len(eager(torch.tensor(1.0)))


def test_tensors_stay_keys():
    x, y = eager(), eager()
    assert {x: 1, y: 2}[x] == 1 and x in [x] and len({x, y}) == 2


def test_conversions_give_the_tensor_or_an_error():
    x = eager()
    for same in (x.to("cpu"), x.to(torch.float32), x.to(X), x.float(), x.cpu(), x.contiguous(), x.type_as(X), x.to(device="cpu")):
        assert same is x
    for call in (
        lambda: x.to("cuda"),
        lambda: x.to(device=torch.device("meta")),
        lambda: x.cuda(),
        lambda: x.double(),
        lambda: x.to(torch.float64),
        lambda: x.to(torch.zeros(1, dtype=torch.int64)),
        lambda: x.long(),
        lambda: x.bool(),
        lambda: torch.sum(x, dtype=torch.float64),
    ):
        with pytest.raises(bt.UnsupportedOp) as e:
            call()
        assert e.value.op and e.value.remedy
    half = x.half()
    assert half.dtype == torch.float16 and torch.equal(half.torch(), X.half()) and torch.equal(half.float().torch(), X.half().float())
    assert torch.equal(x.to(torch.bfloat16).torch(), X.bfloat16())
    assert x.to(torch.float32, copy=True) is not x and x.clone().data_ptr() != x.data_ptr()


def test_errors_are_typed():
    x = eager()
    refused = [
        lambda: torch.special.i0(x),
        lambda: torch.fft.fft(x),
        lambda: x[x > 0],
        lambda: x.__setitem__(0, 1.0),
        lambda: x._version,
        lambda: x.backward(),
        lambda: x.requires_grad_(),
        lambda: F.rrelu(x, training=True),
        lambda: torch.add(x, x, out=x),
        lambda: x.uniform_(),
        lambda: X.clone().add_(x),
        lambda: ~eager(torch.tensor([3], dtype=torch.uint8)),
        lambda: btt.EagerTensor(X.to_sparse()),
        lambda: nn.LSTM(8, 4)(x[0]),
        lambda: F.max_pool2d(x, 2, return_indices=True)[1].shape,
    ]
    for call in refused:
        with pytest.raises(bt.UnsupportedOp) as e:
            call()
        assert e.value.op and e.value.remedy
    wrong = [
        lambda: x[9],
        lambda: x[0, 0, 0, 0, 0],
        lambda: x[::-1],
        lambda: x["a"],
        lambda: x.view(5, 5),
        lambda: x.flatten(3, 1),
        lambda: x.permute(0, 1),
        lambda: F.softmax(x, dim=7),
        lambda: x.add("a"),
        lambda: F.interpolate(x),
        lambda: F.pad(x, (1, 1), mode="no such mode"),
        lambda: x.to("no such device"),
        lambda: x.to(3.5),
        lambda: btt.EagerTensor(3),
    ]
    for call in wrong:
        with pytest.raises(bt.Error) as e:
            call()
        assert e.value.op and e.value.remedy, e.value
    assert hasattr(x, "real") and not hasattr(x, "no_such_name")


def test_views_are_not_written_past_each_other():
    x = eager()
    row = x[0]
    for write in (lambda: row.relu_(), lambda: F.relu(x, inplace=True), lambda: x.add_(1), lambda: row.mul_(2)):
        with pytest.raises(bt.UnsupportedOp, match="view of"):
            write()
    close(x, X)
    del row
    x.relu_()
    close(x, X.relu())
    y = x.clone()
    y.add_(1)
    close(x, X.relu())
    # What dropout leaves unchanged is the tensor itself.
    z = F.dropout(x, training=False)
    z.add_(1)
    close(x, X.relu() + 1)


def test_calls_in_place_keep_size_and_dtype():
    x = eager()
    with pytest.raises(bt.ShapeMismatch):
        eager(X[:1]).add_(x)
    with pytest.raises(bt.UnsupportedOp):
        x.gt_(0)
    close(x, X)


def test_where_as_a_method_takes_its_condition_first():
    x, y = eager(), eager(X.flip(0))
    close(x.where(x > 0, y), X.where(X > 0, X.flip(0)))
    close(x.where(condition=x > 0, other=y), X.where(X > 0, X.flip(0)))


def test_edited_weights_of_pytorch_are_seen():
    x, w = eager(), torch.rand(8)
    close(x * w, X * w)
    w.mul_(2)
    close(x * w, X * w)
    w.data = torch.rand(8)
    close(x * w, X * w)


def test_values_of_channels_need_no_reorder():
    x, scale = eager().to_blocked(), torch.rand(16)
    with bt.deny_reorders():
        for shape in ((16, 1, 1), (1, 16, 1, 1)):
            y, z = x * scale.view(shape), scale.view(shape) + x
            assert y.held.is_blocked and z.held.is_blocked
    close(y, X * scale.view(16, 1, 1))
    close(z, X + scale.view(16, 1, 1))
    for other in (scale.view(16, 1, 1), torch.rand(8), X):
        with pytest.raises(bt.KeyMismatch):
            x - other
    with pytest.raises(bt.KeyMismatch):
        x * torch.rand(8)


def test_shapes_are_pytorchs():
    x = eager()
    assert isinstance(x.shape, torch.Size) and x.shape.numel() == X.numel() and x.size(-1) == 8 and x.dim() == 4
    assert x.is_contiguous() and not x.permute(0, 2, 3, 1).is_contiguous() and x.stride() == X.stride() and x.stride(1) == 48
    y = copy.deepcopy(x)
    y.relu_()
    close(x, X)


@pytest.mark.parametrize("other", [Decimal(1), 3j, np.complex64(1), 10**400], ids=lambda x: type(x).__name__)
def test_numbers_that_are_no_floats_are_typed_errors(other):
    x = eager()
    for left in (x, x.held):
        for call in (
            lambda: left == other,
            lambda: other == left,
            lambda: left != other,
            lambda: left < other,
            lambda: other >= left,
        ):
            with pytest.raises(bt.InvalidArgument) as e:
                call()
            assert e.value.op and e.value.remedy
    for call in (lambda: x + other, lambda: other - x, lambda: x / other, lambda: other**x, lambda: x.eq(other)):
        with pytest.raises(bt.InvalidArgument) as e:
            call()
        assert e.value.op and e.value.remedy


def test_objects_compare_as_in_pytorch():
    for other in (None, "a", [1, 2], object()):
        assert (X == other) is (eager() == other) is (eager().held == other) is False
        assert (X != other) is (eager() != other) is (eager().held != other) is True
    assert torch.equal((eager() < Fraction(1, 2)).torch().bool(), X < 0.5)


def test_numbers_of_numpy_are_indices():
    x = eager()
    for i in (np.int64(1), np.uint8(1), np.array(1), torch.tensor(1)):
        close(x[i], X[1])
        close(x[:, i], X[:, 1])
        close(x[..., i:], X[..., 1:])
    for wrong in (np.float32(1), np.bool_(True), np.array(True), torch.tensor(True), torch.tensor(1.0), np.int64(2)):
        with pytest.raises(bt.Error) as e:
            x[wrong]
        assert e.value.op and e.value.remedy


def test_a_tensor_without_axes_is_formatted_as_its_number():
    x = eager()
    assert f"{x[0, 0, 0, 0]:.2f} {x[0, 0, 0, 0]}" == f"{X[0, 0, 0, 0]:.2f} {X[0, 0, 0, 0]}"
    assert f"{x}" == str(x)
    for wrong in (x, x[0, 0, 0, :1], x.to_blocked()):
        with pytest.raises(bt.InvalidArgument) as e:
            f"{wrong:.2f}"
        assert e.value.op and e.value.remedy


def test_results_of_integers_are_refused():
    x = eager()
    mask = x > 0
    for wrong in (
        lambda: torch.where(mask, 1, 0),
        lambda: torch.where(mask, mask, 1),
        lambda: torch.where(mask, torch.tensor(1), 0),
        lambda: torch.where(X > 0, x.argmax(1, keepdim=True), 0),
    ):
        with pytest.raises(bt.UnsupportedOp, match="integers"):
            wrong()
    close(torch.where(mask, 1.0, 0), torch.where(X > 0, 1.0, 0))
    close(torch.where(mask, x, 0), torch.where(X > 0, X, 0))


STRICT = {
    "repeat": lambda x: x.repeat(2, 1),
    "mm": lambda x: torch.mm(x[0, :, :, :6], x[0, :, :, :6]),
    "bmm": lambda x: torch.bmm(x[..., :6], x[..., :6]),
    "bmm of other batches": lambda x: torch.bmm(x[0, :1, :, :6], x[0, :, :, :6]),
    "mv": lambda x: torch.mv(x[0], x[0, 0, 0]),
    "dot": lambda x: torch.dot(x[0, 0, :, :6], x[0, 0, :, :6]),
    "addmm": lambda x: torch.addmm(x[0, :, :, :6], x[0, :, :, :6], x[0, :, :, :6]),
    "a float condition": lambda x: torch.where(x, x, x),
    "a float condition of the method": lambda x: x.where(x, 0.0),
    "a float mask": lambda x: x.masked_fill(x, 0.0),
    "a float mask in place": lambda x: x.masked_fill_(x, 0.0),
}


@pytest.mark.parametrize("name", STRICT)
def test_what_pytorch_refuses_is_refused(name):
    with pytest.raises(RuntimeError):
        STRICT[name](X.clone())
    with pytest.raises(bt.Error) as e:
        STRICT[name](eager())
    assert e.value.op and e.value.remedy


MASKED = {
    "cat": lambda x, m: torch.cat([m, x], 1),
    "cat of two": lambda x, m: torch.cat([x, m, x]),
    "concat": lambda x, m: torch.concat([x, m]),
    "stack": lambda x, m: torch.stack([x, m]),
    "hstack": lambda x, m: torch.hstack([m, x]),
    "maximum": lambda x, m: torch.maximum(x, m),
    "minimum, turned": lambda x, m: torch.minimum(m, x),
    "where": lambda x, m: torch.where(m, m, x),
    "where, turned": lambda x, m: torch.where(m, x, m),
    "add": lambda x, m: m + x,
    "mul": lambda x, m: x * m,
    "a function": lambda x, m: torch.mul(m, x),
}


@pytest.mark.parametrize("name", MASKED)
def test_masks_beside_f32_are_promoted(name):
    x = eager()
    close(MASKED[name](x, x > 0), MASKED[name](X, X > 0))


@pytest.mark.parametrize("call", [lambda m: m.sum(), lambda m: m.mean(1), lambda m: m * 2, lambda m: F.conv2d(m, torch.ones(1, 16, 1, 1))])
def test_the_remedy_of_a_mask_works(call):
    mask = eager() > 0
    with pytest.raises((bt.UnsupportedDType, bt.DTypeMismatch)) as e:
        call(mask)
    assert '`.to_dtype("f32")`' in e.value.remedy and "int8" not in e.value.remedy
    close(call(mask.to_dtype("f32")), call((X > 0).float()))


TO_F32 = {
    "sum": lambda x, **dtype: x.sum(**dtype),
    "sum of axes": lambda x, **dtype: torch.sum(x, (2, 3), keepdim=True, **dtype),
    "mean": lambda x, **dtype: x.mean((2, 3), **dtype),
    "prod": lambda x, **dtype: x.prod(1, **dtype),
    "softmax": lambda x, **dtype: F.softmax(x, 1, **dtype),
    "log_softmax": lambda x, **dtype: F.log_softmax(x, 1, **dtype),
    "vector_norm": lambda x, **dtype: torch.linalg.vector_norm(x, **dtype),
    "norm": lambda x, **dtype: torch.norm(x, **dtype),
}


@pytest.mark.parametrize("call", TO_F32.values(), ids=TO_F32)
def test_what_is_to_be_f32_is_computed_in_f32(call):
    """Of bf16, whose sums would be rounded to it."""
    x = torch.rand(1, 16, 33, 31).bfloat16()
    got = call(eager(x), dtype=torch.float32)
    assert got.dtype == torch.float32
    close(got, call(x.double()).float())
    assert call(eager(x)).dtype == torch.bfloat16


def test_what_is_to_be_f32_stays_blocked():
    x = torch.ones(1, 16, 33, 33).bfloat16()
    got = eager(x).to_blocked().sum((2, 3), keepdim=True, dtype=torch.float32)
    assert got.held.is_blocked
    close(got, torch.full((1, 16, 1, 1), 1089.0))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)], ids=str)
def test_any_and_all_are_defined_of_no_elements(shape):
    x = torch.zeros(shape)
    for compare in (torch.gt, torch.eq):
        mask, own = compare(x, 0), compare(eager(x), 0)
        for name in ("any", "all"):
            assert torch.equal(getattr(torch, name)(own, axis=1).torch().bool(), getattr(mask, name)(1))
            for axes in ((), (0,), (1,)):
                wanted = getattr(mask, name)(*axes)
                for got in (getattr(own, name)(*axes), getattr(torch, name)(own, *axes)):
                    assert torch.equal(got.to_strided().torch().bool(), wanted), (name, axes)


@pytest.mark.parametrize("truth", [np.bool_(True), np.bool_(False)], ids=str)
def test_a_boolean_of_numpy_is_a_number(truth):
    for call in (lambda x: x + truth, lambda x: x - truth, lambda x: x * truth, lambda x: truth * x, lambda x: x.clone().mul_(truth)):
        got = call(eager())
        assert isinstance(got, btt.EagerTensor)
        close(got, call(X))
    close(eager().to_blocked() * truth, X * bool(truth))
    assert torch.equal(((eager() > 0) & truth).torch().bool(), (X > 0) & bool(truth))


def test_a_remainder_is_refused_by_its_name():
    for other in (torch.tensor(2.0), torch.tensor([2.0]), 2.0, eager(torch.tensor(2.0))):
        with pytest.raises(bt.UnsupportedOp, match="no op of blocktensor is for it"):
            eager() % other


def test_a_sum_without_nan_says_how_it_is_written():
    x = eager().to_blocked()
    with pytest.raises(bt.UnsupportedOp, match="with the axes of the sum, and of a blocked tensor with `keepdim=True`"):
        torch.nansum(x, dim=1)
    close(torch.where(x == x, x, 0.0).sum(1, keepdim=True), X.nansum(1, keepdim=True))
