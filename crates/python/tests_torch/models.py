"""A module of a function, its conversion, and what tests compare."""

import blocktensor.torch as btt
import torch
from torch import nn

torch.manual_seed(39)
X = torch.randn(1, 4, 8, 8)


class One(nn.Module):
    """A function of the module and its input; buffers, parameters and attributes by name."""

    def __init__(self, function, buffers=None, **attributes):
        super().__init__()
        self.function = function
        for name, x in (buffers or {}).items():
            self.register_buffer(name, x)
        for name, x in attributes.items():
            setattr(self, name, x)
        self.eval()

    def forward(self, *inputs):
        return self.function(self, *inputs)


def converted(function, example=X, **options):
    model = function if isinstance(function, nn.Module) else One(lambda s, *x: function(*x))
    return btt.to_blocked(model, example, layouts="nchw", **options)


def equal(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)


def places(results, x):
    """Which results share memory with each other and with the input."""
    return [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for b in [x, *results]] for a in results]
