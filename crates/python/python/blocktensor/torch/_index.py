"""Indexing of eager tensors: `x[0]`, `x[:, 1:3]`, `x[..., None]`, `x[:, [2, 0, 1]]`."""

import operator
from typing import Any

import torch

from .. import _native
from .._errors import InvalidArgument, OutOfBounds
from .._native import Tensor
from ._export import error
from ._handles import ACTIVE, Handle, as_torch, described, refused
from ._told import in_pytorch


def _wrong(x: Handle, index: Any, rule: str, remedy: str, kind: type[Any] = InvalidArgument) -> Exception:
    got = f"op `getitem` on {described(x)}: argument `index`: got {described(index)}, but {rule}"
    return error(kind, got, remedy, op="getitem")


def indexed(x: Handle, index: Any) -> Tensor:
    """The part of a tensor that an index names, as PyTorch has it."""
    parts = list(index) if isinstance(index, tuple) else [index]
    kept = [p for p in parts if p is not None and p is not Ellipsis]
    if len(kept) > x.held.ndim:
        raise _wrong(x, index, f"the tensor has {x.held.ndim} axes", "pass an index for each axis, at most", OutOfBounds)
    at = next((i for i, p in enumerate(parts) if p is Ellipsis), None)
    if at is None:
        parts.append(Ellipsis)
        at = len(parts) - 1
    parts[at : at + 1] = [slice(None)] * (x.held.ndim - len(kept))
    if any(p is Ellipsis for p in parts):
        raise _wrong(x, index, "there is one `...`", "leave the others out")
    if sum(_is_list(p) for p in parts) > 1:
        raise refused("index", x, "lists for two axes at once", _joined(x, parts))
    data, axis = x.held, 0
    for part in parts:
        data, axis = _along(x, data, axis, part)
    return data


def _joined(x: Handle, parts: list[Any]) -> str:
    """What to write for lists of two axes, or more: one list for both axes as one, where they are neighbours."""
    lists = [i for i, part in enumerate(parts) if _is_list(part)]
    first, second = lists[:2]
    rest = [part for i, part in enumerate(parts) if i not in lists]
    if len(lists) == 2 and second == first + 1 and all(isinstance(part, slice) and part == slice(None) for part in rest):
        places = f"{':, ' * first}rows * {x.held.shape[second]} + columns"
        return f"write `x.flatten({first}, {second})[{places}]`, with tensors of indices from 0 on"
    way = "move two axes beside each other, and index `x.flatten(i, i + 1)` with `rows * x.shape[i + 1] + columns`"
    return way if ACTIVE.recording is not None else f"{way}, or call it on `x.to_strided().torch()`"


def _is_list(part: Any) -> bool:
    # A number of numpy has no axes, as has an array of one.
    is_array = type(part).__module__ == "numpy" and part.ndim > 0
    return is_array or isinstance(part, (list, range, torch.Tensor, Handle, Tensor))


def _along(x: Handle, data: Tensor, axis: int, part: Any) -> tuple[Tensor, int]:
    """What is left of one axis, and the axis that follows."""
    if part is None:
        return _native.call("unsqueeze", None, data, axis), axis + 1
    size = data.shape[axis]
    if isinstance(part, slice):
        return _sliced(x, data, axis, part), axis + 1
    if isinstance(part, bool) or str(getattr(part, "dtype", "")) in ("bool", "torch.bool") and not part.ndim:
        raise refused("index", x, "a bool as an index", "index with integers, or use `torch.where`")
    if _is_list(part) and not (isinstance(part, torch.Tensor) and part.ndim == 0):
        return _selected(x, data, axis, part), axis + 1
    try:
        i = operator.index(part)
    except TypeError:
        rule = "an index is an integer, a slice, `...`, None or a list of integers"
        raise _wrong(x, part, rule, "pass one of them") from None
    if not -size <= i < size:
        raise _wrong(x, i, f"axis {axis} has {size} elements", f"pass {-size} to {size - 1}", OutOfBounds)
    return _native.call("select", None, data, axis, i % size), axis


def _sliced(x: Handle, data: Tensor, axis: int, part: slice) -> Tensor:
    if part.step is not None and part.step < 1:
        raise _wrong(x, part, "steps are positive", "call `torch.flip`" if part.step < 0 else "pass a step from 1 on")
    start, end, step = part.indices(data.shape[axis])
    if (start, end, step) == (0, data.shape[axis], 1):
        return data
    return _native.call("slice", None, data, axis, start, max(start, end), step)


def _of_mask(mask: torch.Tensor, axis: int) -> str:
    """The call that chooses by a mask: PyTorch finds its places, whose number depends on data."""
    if ACTIVE.recording is None:
        return "call it on `x.to_strided().torch()`"
    last = axis + mask.ndim - 1
    joined = "x" if mask.ndim == 1 else f"x.flatten({axis}, {last})"
    return f"write `{joined}[{':, ' * axis}{in_pytorch('mask')}.flatten().nonzero().squeeze(1)]`"


def _index_of(t: Tensor) -> torch.Tensor:
    """An index that this package computed. The elements of a mask are not read: it is refused."""
    if t.dtype == "u8":
        return torch.empty(t.shape, dtype=torch.uint8, device="meta")
    return as_torch(t if ACTIVE.recording is None else ACTIVE.recording.plain("getitem", t))


def _selected(x: Handle, data: Tensor, axis: int, part: Any) -> Tensor:
    if isinstance(part, (Handle, Tensor)):
        part = _index_of(part.held if isinstance(part, Handle) else part)
    wanted = torch.as_tensor(part if isinstance(part, torch.Tensor) else list(part))
    # A mask of this package is u8, so u8 is no index.
    if wanted.is_floating_point():
        raise _wrong(x, part, f"an index has integers, and this one is of {wanted.dtype}", "pass integers")
    if wanted.dtype in (torch.bool, torch.uint8):
        reason = f"an index that is a mask ({wanted.dtype} with {wanted.ndim} axes), whose result has sizes that depend on data"
        raise refused("index", x, reason, f"use `torch.where(mask, x, y)`, or {_of_mask(wanted, axis)}")
    if wanted.ndim != 1:
        reason = f"an index of {wanted.ndim} axes"
        raise refused("index", x, reason, f"write `x[{':, ' * axis}index.flatten()].unflatten({axis}, index.shape)`")
    size = data.shape[axis]
    if wanted.numel() and not bool(((wanted >= -size) & (wanted < size)).all()):
        raise _wrong(x, part, f"axis {axis} has {size} elements", f"pass {-size} to {size - 1}", OutOfBounds)
    return _native.call("index_select", None, data, (wanted.to(torch.int64) % max(size, 1)).to(torch.int32), axis)
