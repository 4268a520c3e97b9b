"""PyTorch models on blocktensor: a model moves with one line, and says what it costs.

    import torchvision, torch, blocktensor.torch as btt
    model, x = torchvision.models.resnet18().eval(), torch.randn(1, 3, 224, 224)
    print(btt.plan(model, x))                     # changes nothing: regions, fusions, every reorder, what is unsupported
    fast = btt.to_blocked(model, x, reorders=1)   # an nn.Module: plain tensors in and out
    y = fast(x)

`torch.compile(model, backend="blocktensor")` takes the same ops; `compiled_graphs` has its plans. `swap` runs a model eagerly on tensors that stay blocked: for debugging.
"""

from torch.serialization import add_safe_globals

from .._pickle import SAFE
from ._compile import CompiledGraph, compiled_graphs
from ._eager import EagerTensor
from ._handles import Family, again
from ._module import BlockedModule, ModelPlan, load, plan, to_blocked
from ._swap import swap
from ._train import TrainedModule, train

# `torch.load` reads tensors of this package, such as the state of an optimiser.
add_safe_globals([*SAFE, EagerTensor, Family, again])

__all__ = [
    "BlockedModule",
    "CompiledGraph",
    "EagerTensor",
    "ModelPlan",
    "TrainedModule",
    "compiled_graphs",
    "load",
    "plan",
    "swap",
    "to_blocked",
    "train",
]
