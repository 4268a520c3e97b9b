"""Results of a packed module as PyTorch has them: their dtypes, memory of their own, strides and nesting."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._native import Tensor
from ._handles import as_torch

#: What masks and indices are here, and in PyTorch.
_DTYPES = {torch.uint8: torch.bool, torch.int32: torch.int64}


def nested(leaves: list[Any], spec: pytree.TreeSpec) -> Any:
    """Results as the model nests them. PyTorch's `tree_unflatten` makes a tuple of a `torch.Size`."""
    if spec.is_leaf():
        return leaves[0]
    children, start = [], 0
    for child in spec.children():
        children.append(nested(leaves[start : start + child.num_leaves], child))
        start += child.num_leaves
    if spec.type is torch.Size and all(isinstance(x, int) for x in children):
        return torch.Size(children)
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def as_result(t: Tensor, inputs: Sequence[Any]) -> torch.Tensor:
    """A result as a tensor of its own, of PyTorch's dtype."""
    made = as_torch(t)
    if made.dtype in _DTYPES:
        return made.to(_DTYPES[made.dtype])
    # A plan returns an input as it is; `x.clone()` is another tensor in PyTorch.
    place = made.data_ptr()
    for x in inputs:
        if isinstance(x, torch.Tensor) and x.data_ptr() <= place < x.data_ptr() + x.nbytes:
            return made.clone()
    return made


def copied(x: Any) -> Any:
    return x.clone() if isinstance(x, torch.Tensor) else x


def with_strides(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The tensor with the strides that PyTorch gives it, so that a view of it can be one."""
    if x.stride() == like.stride():
        return x
    return torch.empty_strided(tuple(like.shape), like.stride(), dtype=x.dtype).copy_(x)
