"""Modules of this package inside of a model that is converted, swapped or trained."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .._errors import InvalidArgument, UnsupportedOp
from ._beside import OfOnePlan
from ._sharing import is_swapped
from ._told import error

#: What stands in place of each kind: why, and the remedy.
_INSTEAD = {
    "trained": (
        "a trained one (`blocktensor.torch.train`), which runs ops of this package on a tape of its own",
        "load `net.state_dict()` of the trained one into the model that it was made of, and put that in its place",
    ),
    "packed": ("packed already, and has no calls of PyTorch", "pass the model that it was made of"),
    "swapped": ("a swapped one, for eager tensors", "pass the model that it was made of"),
}


def _parts(model: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The modules by name. None of their own code runs: that of trained modules refuses to be walked over."""
    seen: set[int] = set()
    left = [(path, model)]
    while left:
        path, module = left.pop(0)
        if module is None or id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module
        left += [(f"{path}.{name}" if path else name, one) for name, one in vars(module).get("_modules", {}).items()]


def kind_of(module: Any) -> str | None:
    """Which kind of module of this package it is."""
    if isinstance(module, OfOnePlan):
        return module.TOLD[0].split()[1]
    return "swapped" if is_swapped(module) else None


def check_parts(model: torch.nn.Module, op: str | None, *refused: str) -> None:
    """Refuses modules of these kinds."""
    for path, module in _parts(model):
        _check(path, module, op, refused)


def check_held(model: torch.nn.Module, op: str | None, *refused: str) -> None:
    """The same for modules that attributes hold past PyTorch's list of children: in lists, tuples and dictionaries."""
    for path, module in list(_parts(model)):
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
            for key, one in held:
                if isinstance(one, torch.nn.Module):
                    for inner, part in _parts(one, f"{path}.{name}[{key!r}]" if path else f"{name}[{key!r}]"):
                        _check(inner, part, op, refused, ", in an `nn.ModuleList`: weights in a list of Python's are not trained")


def _check(path: str, module: Any, op: str | None, refused: tuple[str, ...], besides: str = "") -> None:
    kind = kind_of(module)
    if kind in refused:
        what, remedy = _INSTEAD[kind]
        text = f"{f'op `{op}`: ' if op else ''}argument `model`: module `{path or type(module).__name__}` is {what}"
        raise error(InvalidArgument, text, f"{remedy}{besides}", op=op)


def packed_parts(model: torch.nn.Module) -> dict[str, Any]:
    """The packed modules among the children, by path."""
    return {path: module for path, module in _parts(model) if kind_of(module) == "packed"}


def check_saved(model: torch.nn.Module) -> None:
    """Refuses packed modules without plain weights: `state_dict` could not give those that are trained beside them."""
    for path, module in packed_parts(model).items():
        if not module.has_plain_weights():
            text = f"op `train`: argument `model`: module `{path}` is a packed one of a file, or a copy, which has no plain weights for `net.state_dict()`"
            remedy = "put the model that it was made of in its place, or keep it in a list, `self.packed = [module]`, which `state_dict` leaves out"
            raise error(UnsupportedOp, text, remedy, op="train")


@contextmanager
def in_place_of(name: str, model: torch.nn.Module, made: Callable[[Any, str], Any]) -> Iterator[None]:
    """Packed modules with another method of this name: what `made` gives for each, with its path."""
    packed = packed_parts(model)
    for path, module in packed.items():
        vars(module)[name] = made(module, path)
    try:
        yield
    finally:
        for module in packed.values():
            del vars(module)[name]


def check_not_inside(module: Any, recording: Any) -> None:
    """Refuses to run a trained module in the forward of another one."""
    if recording is None:
        return
    text = f"op `train`: a trained {type(module).__name__} is called in the forward of a trained {type(recording.module).__name__}, and each has a tape"
    remedy = "call it before, and pass its result as an input; or put the model that it was made of in its place, with the weights of `net.state_dict()`"
    raise error(UnsupportedOp, text, remedy, op="train")
