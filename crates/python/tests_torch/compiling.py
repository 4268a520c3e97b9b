"""What tests of `torch.compile(model, backend="blocktensor")` share."""

import gc

import blocktensor.torch as btt
import pytest
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(42)
X = torch.randn(2, 3, 33, 29)
#: Graphs that were there before a test.
BEFORE = []


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    gc.collect()
    # A test that failed may keep its graphs.
    BEFORE[:] = btt.compiled_graphs()
    with torch.no_grad():
        yield


def graphs():
    return [graph for graph in btt.compiled_graphs() if graph not in BEFORE]


def compiled(model, layouts="nchw", fullgraph=False, dynamic=None, **options):
    return torch.compile(model, backend="blocktensor", fullgraph=fullgraph, dynamic=dynamic, options={"layouts": layouts, **options})


def close(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4 * max([1.0, *(float(x.abs().max()) for x in leaves(wanted))]))


def leaves(x):
    return [y for y in torch.utils._pytree.tree_leaves(x) if isinstance(y, torch.Tensor) and y.is_floating_point()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(inplace=True), nn.Dropout(0.3))
        self.head = nn.Linear(16, 5)
        self.bn.running_var.uniform_(0.5, 1.5)
        self.bn.running_mean.uniform_(-1, 1)

    def forward(self, x):
        y = F.relu(self.bn(self.stem(x)))
        return self.head(self.blocks(y).mean([2, 3]))
