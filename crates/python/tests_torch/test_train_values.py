"""What a value in the forward of a trained module says of itself, and what is read of it and written into it: as in PyTorch."""

import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import One
from torch import nn
from training import KINDS, beside_pytorch


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
