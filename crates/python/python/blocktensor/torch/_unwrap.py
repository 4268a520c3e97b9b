"""Models that PyTorch's own tools made: the wrapper of `torch.compile`, which forwards attributes, and the modules of `torch.export`."""

import torch
from torch import fx
from torch._dynamo import OptimizedModule

from .._errors import InvalidArgument, UnsupportedOp
from ._told import error

#: Where the wrapper keeps its model.
_INNER = "_orig_mod"
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The model that `torch.compile` was called on, or the model itself. A wrapper with hooks of its own is more than its model."""
    while isinstance(model, OptimizedModule) and not any(vars(model).get(name) for name in _HOOKS):
        model = vars(model)["_modules"][_INNER]
    return model


def swappable(model: torch.nn.Module, path: str) -> torch.nn.Module:
    """The same, and an error where hooks of the wrapper would be left out."""
    model = unwrapped(model)
    if isinstance(model, OptimizedModule):
        what = f"module `{path}`" if path else "the model"
        text = f"argument `model`: {what} has hooks on the wrapper that `torch.compile` made, and only the model in it is swapped"
        raise error(UnsupportedOp, text, "register them on the module that was compiled", op="swap")
    return model


def plain_name(name: str) -> str:
    """A name of a module or weight as it is without `torch.compile`."""
    return ".".join(part for part in name.split(".") if part != _INNER)


#: Arguments of aten's calls that say how a call of a graph was recorded.
_TRAINS = {"train", "training"}


def in_training(model: torch.nn.Module, op: str | None = None) -> tuple[list[str], str]:
    """The modules in training mode, and what to call. A module of an exported program has no modes, but may be exported in training."""
    exported = [path for path, module in model.named_modules() if isinstance(module, fx.GraphModule) and "eval" in vars(module)]
    inside = tuple(f"{path}." if path else "" for path in exported)
    found = []
    for path, module in model.named_modules():
        name = path or type(module).__name__
        if path not in exported and not path.startswith(inside):
            found += [name] if module.training else []
            continue
        call = next(filter(None, map(training_call, module.graph.nodes)), None) if isinstance(module, fx.GraphModule) else None
        if call is not None:
            text = f"argument `model`: got {name}, which was exported in training mode (`{call}`), but plans are for inference"
            raise error(InvalidArgument, text, "call `model.eval()` before `torch.export.export`", op=op)
    if not exported:
        return found, "call `model.eval()` first"
    return found, "set `module.training = False` for each, since `eval()` calls that of an exported program, which raises"


def training_call(node: fx.Node) -> str | None:
    """The call, if it does what it does in training."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return None
    given = zip(node.target._schema.arguments, node.args, strict=False)
    values = {**{argument.name: x for argument, x in given}, **node.kwargs}
    return str(node.target) if any(values.get(name) is True for name in _TRAINS) else None
