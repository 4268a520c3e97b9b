"""Models inside of the wrapper that `torch.compile` makes, which forwards attributes: what is set on it is set on the model."""

from typing import Any

import torch
from torch._dynamo import OptimizedModule

from .._errors import UnsupportedOp
from ._told import error

#: Where the wrapper keeps its model.
_INNER = "_orig_mod"
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def unwrapped(model: torch.nn.Module, op: str, path: str = "") -> torch.nn.Module:
    """The model that `torch.compile` was called on, or the model itself."""
    while isinstance(model, OptimizedModule):
        own = vars(model)
        if any(own.get(name) for name in _HOOKS):
            what = f"module `{path}`" if path else "the model"
            text = f"argument `model`: {what} has hooks on the wrapper that `torch.compile` made, and only the model in it is converted"
            raise error(UnsupportedOp, text, "register them on the module that was compiled", op=op)
        model = own["_modules"][_INNER]
    return model


def plain_name(name: str) -> str:
    """A name of a module or weight as it is without `torch.compile`."""
    return ".".join(part for part in name.split(".") if part != _INNER)


def by_plain_names(named: Any) -> dict[str, Any]:
    """Weights by their names without `torch.compile`, in the given order."""
    return {plain_name(name): x for name, x in dict(named).items()}
