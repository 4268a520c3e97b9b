"""Writes into parts of a tensor, as PyTorch's functions of the whole tensor: entries of the table."""

from collections.abc import Sequence
from typing import Any

import torch

from .._native import Tensor, zeros
from ._compose import as_f32, filled, filler
from ._handles import DTYPES, shared, value_of
from ._values import Builder, Unsupported, Value, aten


def _mixed(b: Builder, x: Value, part: Value, dim: int, places: torch.Tensor) -> Value:
    """A tensor whose rows at these places are another's: always a new one."""
    size, count = x.shape[dim], places.numel()
    first = int(places[0]) if count else 0
    if torch.equal(places, torch.arange(first, first + count)):
        pieces = [(0, first), None, (first + count, size)]
        rows = [part if p is None else b.op("slice", x=x, axis=dim, start=p[0], end=p[1], step=1) for p in pieces if p is None or p[0] < p[1]]
        return b.op("cat", tensors=rows, axis=dim)
    order = torch.arange(size)
    order[places] = torch.arange(size, size + count)
    return b.op("index_select", x=b.op("cat", tensors=[x, part], axis=dim), index=order, axis=dim)


@aten("select_scatter")
def select_scatter(b: Builder, x: Value, src: Value, dim: int, index: int) -> Value:
    dim %= len(x.shape)
    part = b.op("unsqueeze", x=as_f32(b, src), axis=dim)
    return _mixed(b, as_f32(b, x), part, dim, torch.tensor([index % x.shape[dim]]))


@aten("slice_scatter")
def slice_scatter(b: Builder, x: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    dim %= len(x.shape)
    return _mixed(b, as_f32(b, x), as_f32(b, src), dim, torch.arange(x.shape[dim])[slice(start, end, step)])


@aten("fill")
def fill(b: Builder, x: Value, value: Any) -> Value:
    value = filler(x, value)
    if isinstance(x.tensor, Tensor) and x.dtype != "f32":
        if x.tensor.is_blocked:
            if x.dtype != "bool":
                raise Unsupported(f"a blocked tensor of {x.tensor.dtype}; call it on `x.to_strided()`")
            made = value_of(zeros(x.shape, layout=x.tensor.layout))
            return b.op("eq_scalar" if value else "ne_scalar", x=made, other=0.0)
        return value_of(shared(torch.full(x.shape, value, dtype=DTYPES[x.tensor.dtype])))
    value = value if isinstance(value, Value) else filled(value)
    # Both choices are the value; the tensor says which sizes the result has.
    return b.op("where", condition=b.op("eq", a=x, b=x), a=value, b=value)


@aten("zero")
def zero(b: Builder, x: Value) -> Value:
    made: Value = fill(b, x, 0)
    return made


@aten("copy")
def copy(b: Builder, x: Value, src: Value, non_blocking: bool = False) -> Value:
    if isinstance(x.tensor, Tensor):
        # In a plan nothing writes into the source later.
        raise Unsupported("a copy into a tensor that is there already")
    return _expanded(b, src, x.shape)


def _expanded(b: Builder, x: Value, shape: Sequence[int]) -> Value:
    x = as_f32(b, x)
    return x if tuple(x.shape) == tuple(shape) else b.op("expand", x=x, dims=list(shape))


def _constant(index: Value, size: int) -> torch.Tensor:
    """The places that an index names; they are known before a run."""
    if not isinstance(index.tensor, torch.Tensor):
        raise Unsupported("an assignment to places that depend on data; use `torch.where`")
    places = torch.where(index.tensor < 0, index.tensor + size, index.tensor).long()
    if places.ndim > 1 or places.unique().numel() != places.numel():
        raise Unsupported("an assignment by an index with several axes, or with a place twice; assign to each place once")
    return places.reshape(-1)


@aten("index_fill")
def index_fill(b: Builder, x: Value, dim: int, index: Value, value: Any) -> Value:
    dim %= len(x.shape)
    mask = torch.zeros(x.shape[dim], dtype=torch.bool)
    mask[_constant(index, x.shape[dim])] = True
    mask = mask.reshape([-1 if axis == dim else 1 for axis in range(len(x.shape))])
    value = filler(x, value)
    if x.dtype == "bool" and not isinstance(value, Value):
        return b.op("ne_scalar", x=b.op("where", condition=mask, a=filled(bool(value)), b=as_f32(b, x)), other=0.0)
    return b.op("where", condition=mask, a=value if isinstance(value, Value) else filled(value), b=x)


@aten("index_put")
def index_put(b: Builder, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False) -> Value:
    given = [(axis, one) for axis, one in enumerate(indices) if one is not None]
    if accumulate or len(given) != 1 or given[0][1].dtype == "bool":
        raise Unsupported("an assignment by masks or by several indices; use `torch.where`, or index one axis after the other")
    dim, index = given[0]
    places = _constant(index, x.shape[dim])
    part = _expanded(b, values, [*x.shape[:dim], places.numel(), *x.shape[dim + 1 :]])
    return _mixed(b, as_f32(b, x), part, dim, places)


@aten("_native_batch_norm_legit_no_training")
def batch_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, momentum: float, eps: float
) -> list[Value | None]:
    """What a batch norm becomes where writes become functions."""
    return [b.op("batch_norm", x=x, mean=mean, var=var, weight=weight, bias=bias, eps=eps), None, None]
