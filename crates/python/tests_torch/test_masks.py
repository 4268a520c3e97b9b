"""Masks: numbers in them, choices between them, masks beside other dtypes; in eager calls and in packed models."""

import copy
import warnings

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import X, converted, equal
from torch.nn import functional as F

SMALL = torch.tensor([1.0, -1.0, 0.5])


def eager(x=SMALL):
    return btt.EagerTensor(x)


def plain(x):
    return x.to_strided().torch() if isinstance(x, btt.EagerTensor) else x


PACKED = {
    "pad with a half": lambda x: F.pad(x > 0, (1, 1), value=0.5),
    "pad with a negative": lambda x: F.pad(x > 0, (1, 1), value=-2),
    "pad with true": lambda x: F.pad(x > 0, (1, 1), value=True),
    "pad with nan": lambda x: F.pad(x > 0, (1, 1), value=float("nan")),
    "pad of indices": lambda x: F.pad(x.argmax(1), (1, 1), value=-2.7),
    "list with integers of the model": lambda x: torch.cat([x, torch.ones(1, 4, 8, 8, dtype=torch.int64), x > 0]),
    "fill of places": lambda x: (x > 0).index_fill(1, torch.tensor([0, 2]), 0.5),
    "fill of places with nothing": lambda x: (x > 0).index_fill(1, torch.tensor([0, 2]), 0),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_masks_are_those_of_pytorch(name):
    made, wanted = converted(PACKED[name])(X), PACKED[name](X)
    assert made.dtype == wanted.dtype
    equal(made, wanted)


def test_numbers_that_the_dtype_cannot_hold_are_refused():
    with pytest.raises(bt.UnsupportedOp, match="the number 1099511627776.0 in a tensor of integers.*pass one of them"):
        converted(lambda x: F.pad(x.argmax(1), (1, 1), value=2**40))
    for x, number in ((SMALL, 1e300), (SMALL.half(), 1e6), (SMALL.int(), 2**40), (SMALL.int(), float("inf")), (SMALL.char(), 200)):
        with pytest.raises(bt.UnsupportedOp, match="the number"):
            F.pad(eager(x), (1, 1), value=number)
    equal(plain(F.pad(eager(), (1, 1), value=float("inf"))), F.pad(SMALL, (1, 1), value=float("inf")))


FILLED = {
    "pad": lambda x, n: F.pad(x, (1, 1), value=n),
    "full_like": torch.full_like,
    "full_like by name": lambda x, n: torch.full_like(x, fill_value=n),
    "new_full": lambda x, n: x.new_full((2,), n),
    "new_full by name": lambda x, n: x.new_full(size=(2,), fill_value=n),
    "fill_": lambda x, n: x.clone().fill_(n),
    "fill": torch.fill,
    "masked_fill": lambda x, n: x.masked_fill(x, n),
}


@pytest.mark.parametrize("name", FILLED)
def test_eager_masks_hold_zeros_and_ones(name):
    function = FILLED[name]
    for number in (True, False, 0, 1, 1.0):
        made = function(eager() > 0, number)
        assert made.dtype == torch.uint8
        equal(plain(made).bool(), function(SMALL > 0, number))
    for number in (0.5, 3, -1, 300, float("nan")):
        with pytest.raises(bt.Error, match="pass True or False, or call it on `x.float|without overflow") as e:
            function(eager() > 0, number)
        # A tensor of PyTorch would be u8 too.
        assert "torch()" not in str(e.value) or "overflow" in str(e.value)
    equal(plain(torch.full_like((eager() > 0).float(), 3.5)), torch.full_like(SMALL, 3.5))


def test_integers_are_filled():
    equal(plain(eager(torch.tensor([1, 2])).fill_(3)), torch.tensor([3, 3], dtype=torch.int32))
    with pytest.raises(bt.UnsupportedOp, match="a tensor of integers"):
        eager(torch.tensor([1, 2])).fill_(2**40)


def test_blocked_masks_are_filled_with_zeros_and_ones():
    mask = eager(X).to_blocked() > 0
    for number in (True, False, 1, 0):
        made = mask.clone().fill_(number)
        assert made.held.is_blocked and made.held.dtype == "u8"
        equal(plain(made.to_strided()).bool(), torch.full_like(X, number, dtype=torch.bool))
    equal(plain(mask.clone().zero_().to_strided()).bool(), torch.zeros_like(X, dtype=torch.bool))
    for call in (lambda n: torch.full_like(mask, n), lambda n: mask.new_full((2,), n)):
        assert call(1).held.dtype == "u8"
        with pytest.raises(bt.UnsupportedOp, match="pass True or False"):
            call(0.5)


def test_tensors_of_one_number_fill():
    half, two = torch.tensor(0.5), torch.tensor(2)
    for call in (lambda x, n: x.clone().fill_(n), lambda x, n: x.masked_fill(x != 0, n)):
        with pytest.raises(bt.UnsupportedOp, match="pass True or False"):
            call(eager() > 0, half)
        equal(plain(call(eager() > 0, torch.tensor(True))).bool(), call(SMALL > 0, torch.tensor(True)))
        for number in (half, two):
            equal(plain(call(eager(), number)), call(SMALL, number))
        with pytest.raises(bt.UnsupportedOp, match="f32 cannot hold; pass a smaller one"):
            call(eager(), 1e300)


def test_max_of_two_masks():
    three = torch.tensor([3, 0, 1], dtype=torch.uint8)
    equal(plain(torch.max(eager() > 0, eager() > 0.5)).bool(), torch.max(SMALL > 0, SMALL > 0.5))
    equal(plain(torch.min(eager(three), eager())), torch.min(three, SMALL))
    with pytest.raises(bt.UnsupportedOp, match="u8 tensor of other numbers"):
        torch.max(eager(three), eager(three))
    with pytest.raises(bt.UnsupportedOp, match=r"an operand of s32; convert it with `.float\(\)`"):
        torch.maximum(eager() > 0, eager(three.int()))


# Choices, logic, lists.

BOTH = {
    "where of masks": lambda x: torch.where(x > 0, x > 0.5, x < 2),
    "where of a mask and True": lambda x: torch.where(x > 0, x > 0.5, True),
    "where of True and False": lambda x: torch.where(x > 0, True, False),
    "where of a mask and a float": lambda x: torch.where(x > 0, x > 0.5, 2.0),
    "where of a mask and f32": lambda x: torch.where(x > 0, x > 0.5, x),
    "masked_fill of a mask": lambda x: (x > 0).masked_fill(x > 0.5, False),
    "maximum of masks": lambda x: torch.maximum(x > 0, x > 0.5),
    "minimum of masks": lambda x: torch.minimum(x > 0, x > 0.5),
    "maximum of a mask and f32": lambda x: torch.maximum(x > 0, x),
    "mask & True": lambda x: (x > 0) & True,
    "mask & False": lambda x: (x > 0) & False,
    "mask | True": lambda x: (x > 0) | True,
    "mask ^ True": lambda x: (x > 0) ^ True,
    "mask ^ mask": lambda x: (x > 0) ^ (x > 0.5),
    "True & mask": lambda x: True & (x > 0),
    "False | mask": lambda x: False | (x > 0),
    "True ^ mask": lambda x: True ^ (x > 0),
    "cat of a mask and f32": lambda x: torch.cat([x > 0, x]),
    "stack of a mask and f32": lambda x: torch.stack([x, x > 0]),
    "hstack of a mask and f32": lambda x: torch.hstack([x, x > 0]),
}


@pytest.mark.parametrize("name", BOTH)
def test_masks_compute_as_in_pytorch(name):
    wanted = BOTH[name](SMALL[:, None])
    made = plain(BOTH[name](eager(SMALL[:, None])))
    assert made.dtype == (torch.uint8 if wanted.dtype == torch.bool else wanted.dtype)
    equal(made.to(wanted.dtype), wanted)
    made, wanted = converted(BOTH[name])(X), BOTH[name](X)
    assert made.dtype == wanted.dtype
    equal(made, wanted)


def test_blocked_masks_compute():
    x = eager(X).to_blocked()
    for name in ("where of masks", "where of a mask and True", "maximum of masks", "mask & True", "mask ^ mask", "cat of a mask and f32"):
        made = BOTH[name](x)
        assert made.held.is_blocked
        equal(plain(made).float(), BOTH[name](X).float())


def test_numbers_in_u8_are_no_masks():
    three = torch.tensor([3, 0, 1], dtype=torch.uint8)
    equal(plain(torch.where(eager() > 0, eager(three), eager())), torch.where(SMALL > 0, three, SMALL))
    equal(plain(torch.maximum(eager(three), eager())), torch.maximum(three, SMALL))
    for call in (lambda x: torch.where(eager() > 0, x, x), lambda x: torch.maximum(x, x), lambda x: x & x, lambda x: x.masked_fill(x, 0)):
        with pytest.raises(bt.UnsupportedOp, match="u8 tensor of other numbers than zeros and ones"):
            call(eager(three))


@pytest.mark.parametrize("number", [1, 2])
def test_bits_are_refused(number):
    for call in (lambda m: m & number, lambda m: m | number, lambda m: number ^ m):
        with pytest.raises(bt.UnsupportedOp, match="bits of integers; pass masks, or True and False"):
            call(eager() > 0)
        with pytest.raises(bt.UnsupportedOp, match="bits of integers; pass masks, or True and False"):
            converted(lambda x, call=call: call(x > 0))


DTYPES = [torch.uint8, torch.int32, torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("first", DTYPES)
def test_lists_have_the_widest_dtype(first, second):
    x, y = torch.tensor([[1, 0]]).to(first), torch.tensor([[300.7, 1.5]]).to(second)
    for function in (torch.cat, torch.stack, torch.hstack, torch.vstack):
        for both in ([x, y], [y, x]):
            made, wanted = function([eager(one) for one in both]).torch(), function(both)
            assert made.dtype == wanted.dtype
            equal(made, wanted)


def test_integers_beside_f32_are_f32():
    for call in (lambda x, i: x * i, lambda x, i: i + x, lambda x, i: torch.maximum(x, i), lambda x, i: torch.where(x > 0, i, x)):
        equal(call(eager(), eager(torch.tensor([1, 2, -3]))).torch(), call(SMALL, torch.tensor([1, 2, -3])))


INDICES = {
    "a comparison": lambda x: x.argmax(1) == 2,
    "a conversion": lambda x: x.argmax(1).float() == 2,
    "a product": lambda x: x.argmax(1) * 2,
    "an extremum": lambda x: torch.maximum(x.argmax(1), x.argmin(1)),
    "a list": lambda x: torch.cat([x.argmax(1), x[:, 0]]),
    "a choice": lambda x: torch.where(x[:, 0] > 0, x.argmax(1), 0),
    "a list with a mask": lambda x: torch.cat([x.argmax(1), x[:, 0] > 0]),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_are_no_operands_of_plans(name):
    with pytest.raises(bt.UnsupportedOp) as e:
        converted(INDICES[name])
    assert "compute with them outside of the model" in str(e.value) and ".float()`" not in str(e.value)


INTEGERS = {
    "two numbers": (lambda x: torch.where(x > 0, 1, 0), lambda x: torch.where(x > 0, 1.0, 0.0)),
    "a mask and a number": (lambda x: torch.where(x > 0, x > 0.5, 2), lambda x: torch.where(x > 0, x > 0.5, 2.0)),
    "a number and False": (lambda x: torch.where(x > 0, 1, False), lambda x: torch.where(x > 0, 1.0, False)),
    "a constant": (lambda x: torch.where(x > 0, torch.tensor(3), 0), lambda x: torch.where(x > 0, torch.tensor(3).float(), 0)),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_choices_of_integers_are_told_their_way(name):
    refused, followed = INTEGERS[name]
    remedy = r"convert it with `.float\(\)`" if name == "a constant" else r"pass numbers as floats \(`1.0` and `0.0` for 1 and 0\)"
    with pytest.raises(bt.UnsupportedOp, match=remedy) as e:
        converted(refused)
    assert "its operands" not in str(e.value)
    equal(converted(followed)(X), refused(X).float())
    if name != "a constant":
        with pytest.raises(bt.UnsupportedOp, match=remedy):
            refused(eager())


def test_large_indices_are_told_their_way():
    with pytest.raises(bt.UnsupportedOp, match=r"do not fit into s32.*pass `x.float\(\)`, or smaller numbers"):
        eager(torch.tensor([2**40]))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_an_encoder_with_a_padding_mask(batch_first, norm_first):
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=batch_first, norm_first=norm_first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(2, 5, 16), torch.tensor([[False, False, False, True, True], [False] * 5])
    x = x if batch_first else x.transpose(0, 1).contiguous()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mask in (padding, btt.EagerTensor(padding)):
            if batch_first and not norm_first:
                # PyTorch's own way for it.
                with pytest.raises(bt.UnsupportedOp, match="`nn.TransformerEncoder` makes a nested tensor of a padding mask") as e:
                    btt.swap(model)(btt.EagerTensor(x), src_key_padding_mask=mask)
                assert "encoder.use_nested_tensor = False" in str(e.value)
                without = copy.deepcopy(model)
                without.use_nested_tensor = False
            else:
                without = model
            got = btt.swap(without)(btt.EagerTensor(x), src_key_padding_mask=mask).torch()
            want = without(x, src_key_padding_mask=padding)
            assert torch.allclose(got, want, 1e-4, 1e-5)
            kept = ~padding if batch_first else ~padding.T
            assert torch.allclose(got[kept], model(x, src_key_padding_mask=padding)[kept], 1e-4, 1e-5)
