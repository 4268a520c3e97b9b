"""Remedies of an eager call's error that depend on what stood beside the operand: weights of PyTorch, a swapped model."""

import re
from typing import Any

import torch

from .._errors import DTypeMismatch, Error, UnsupportedDType
from ._handles import DTYPES, LAST, Handle


def with_way_for_weights(e: Error, operands: list[Any]) -> Error:
    """The error for operands beside weights of PyTorch, which are strided, and have their own conversions: a remedy that they have."""
    dtype = re.search(r"`\.to_dtype\(\"(\w+)\"\)`", e.remedy)
    if isinstance(e, (DTypeMismatch, UnsupportedDType)) and dtype is not None and any(isinstance(x, torch.Tensor) for x in operands):
        return _advising(e, f"{e.remedy}, a tensor of PyTorch with `.to({DTYPES[dtype[1]]})`")
    target = next((x for x in operands if isinstance(x, Handle) and x.held.is_blocked), None)
    if target is None or not any(isinstance(x, torch.Tensor) for x in operands):
        return e
    module = target.module or LAST.module
    if module:
        remedy = f"in a swapped model: `swap(model, to_strided=[{module!r}])` reorders what that module returns"
    else:
        layout = re.search(r"reorder `(\w+)` with `(\.to_blocked\(.*?\))`", e.remedy)
        remedy = f", or `EagerTensor({layout[1]}){layout[2]}` for `{layout[1]}`" if layout is not None else ""
        remedy = f"pass `x.to_strided()`{remedy}"
    return _advising(e, remedy)


def _advising(e: Error, remedy: str) -> Error:
    """The same error with another remedy."""
    made: Error = type(e)(f"{str(e).removesuffix(e.remedy)}{remedy}")
    made.op, made.operands, made.remedy = e.op, e.operands, remedy
    return made


def with_module(e: Error, x: Handle) -> Error:
    """The error, with the way that a swapped model has for it."""
    module = x.module or LAST.module
    # Where it would write into memory of others, its layout is not why.
    if not x.held.is_blocked or not module or "swap(" in str(e) or ": it writes into " in str(e):
        return e
    remedy = f"in a swapped model: `swap(model, to_strided=[{module!r}])` reorders what that module returns"
    made = type(e)(f"{e}; {remedy}")
    made.op, made.operands, made.remedy = e.op, e.operands, f"{e.remedy}; {remedy}"
    return made
