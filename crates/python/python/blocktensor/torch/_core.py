"""Calls of core ATen, which `run_decompositions` makes of a model's: each is one call of PyTorch's under another name."""

from collections.abc import Callable, Sequence
from typing import Any

from . import _table as _table  # fills the table
from ._values import OF_THE_BATCH, TABLE, Builder, Unsupported, Value, aten

#: What `getitem` takes of a norm that returns its statistics too.
_Results = list[Value | None]


@aten("convolution")
def convolution(
    b: Builder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    n = len(weight.shape) - 2
    if transposed:
        made = TABLE[f"conv_transpose{n}d"](b, x, weight, bias, stride, padding, output_padding, groups, dilation)
    else:
        made = TABLE[f"conv{n}d"](b, x, weight, bias, stride, padding, dilation, groups)
    return made  # type: ignore[no-any-return]


@aten("native_layer_norm")
def native_layer_norm(b: Builder, x: Value, sizes: Sequence[int], weight: Value | None, bias: Value | None, eps: float) -> _Results:
    return [TABLE["layer_norm"](b, x, sizes, weight, bias, eps), None, None]


@aten("native_group_norm")
def native_group_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, N: int, C: int, HxW: int, group: int, eps: float
) -> _Results:
    return [TABLE["group_norm"](b, x, group, weight, bias, eps), None, None]


@aten("_native_batch_norm_legit")
def own_statistics(b: Builder, x: Value, weight: Value | None, bias: Value | None, *rest: Any) -> _Results:
    """An instance norm: that of one image with a channel for each of the batch."""
    if len(rest) != 3 or x.shape[0] != 1:
        raise Unsupported(OF_THE_BATCH)
    return [b.op("instance_norm", x=x, weight=weight, bias=bias, eps=rest[2]), None, None]


@aten("native_batch_norm")
def native_batch_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None, training: bool, *rest: Any
) -> _Results:
    """Of kept statistics: PyTorch's other results are empty then."""
    if training or mean is None or var is None:
        raise Unsupported(OF_THE_BATCH)
    return [TABLE["batch_norm"](b, x, weight, bias, mean, var, training, *rest, False), None, None]


@aten("_softmax", "_log_softmax")
def core_softmax(b: Builder, x: Value, dim: int, half_to_float: bool) -> Value:
    return b.op(b.name.removeprefix("_"), x=x, axis=dim)


@aten("_prelu_kernel")
def prelu_kernel(b: Builder, x: Value, weight: Value) -> Value:
    """Its weights have an axis for each of the source's."""
    if any(size != 1 for axis, size in enumerate(weight.shape) if axis != 1):
        raise Unsupported("weights that are not of channels")
    count = weight.shape[1] if len(weight.shape) > 1 else 1
    return b.op("prelu", x=x, weights=b.op("view", x=weight, dims=[count]))


TABLE["_adaptive_avg_pool2d"] = TABLE["adaptive_avg_pool2d"]
TABLE["_adaptive_avg_pool3d"] = TABLE["adaptive_avg_pool3d"]
TABLE["grid_sampler_2d"] = TABLE["grid_sampler"]


def _padded(mode: str) -> Callable[..., Value]:
    def pad(b: Builder, x: Value, padding: Sequence[int]) -> Value:
        return b.op("pad", x=x, padding=list(padding), mode=mode, value=0.0)

    return pad


for _n in (1, 2, 3):
    TABLE |= {f"reflection_pad{_n}d": _padded("reflect"), f"replication_pad{_n}d": _padded("replicate")}
