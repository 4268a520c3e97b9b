"""Remedies of the PyTorch part, followed: tensors that are no numbers in memory, calls that no op is for, options, quoted texts."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn

X = torch.rand(1, 4, 6, 6, generator=torch.Generator().manual_seed(4))

# Options are checked before the model is converted.


class Untouched(nn.Module):
    def forward(self, x):
        raise AssertionError("the model was run")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("reorders", x) for x in ("a", -1, True, 1.0, [1])),
        *(("partial", x) for x in ("yes", 1, None)),
        *(("exact", x) for x in ("a", 1)),
        *(("layouts", x) for x in ("x", 3, None, "\ud800")),
        *(("profiles", x) for x in ("x", 3)),
        *(("threads", x) for x in ("a", 0, -1, True, 2**70, 2.0)),
    ],
)
def test_options_are_checked_first(option, value):
    calls = [btt.to_blocked] if option in ("reorders", "partial") else [btt.to_blocked, btt.plan]
    for call in calls:
        with pytest.raises(bt.InvalidArgument) as e:
            call(Untouched().eval(), X, **{option: value})
        assert f"argument `{option}`" in str(e.value) and e.value.remedy, str(e.value)


def test_options_that_hold():
    import numpy as np

    model = nn.Conv2d(4, 4, 1).eval()
    for options in [{"reorders": np.int64(5)}, {"reorders": None}, {"threads": 1, "exact": True}, {"layouts": "nhwc"}]:
        assert btt.to_blocked(model, X, **options)(X).shape == X.shape
