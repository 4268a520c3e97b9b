"""The ops, one function each. Written by scripts/python_ops.py from the library's own table of ops: do not edit.

Tensors are positional, parameters go by name. `threads` is the number of threads of the call. All data operands have the same
dispatch key; an op without a kernel for it raises `UnsupportedOp`, whose text says what to do.
"""

from collections.abc import Sequence
from typing import cast as _cast

from ._native import Tensor
from ._native import call as _call
from ._native import call_list as _call_list
from ._types import TensorLike

__all__ = [
    "abs",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "add",
    "add_channel",
    "add_scalar",
    "amax",
    "amin",
    "argmax",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "axpby",
    "batch_norm",
    "batch_norm_train",
    "cat",
    "ceil",
    "celu",
    "channel_shuffle",
    "chunk",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cos",
    "cumsum",
    "dequantize",
    "div",
    "div_scalar",
    "dropout",
    "elu",
    "eq",
    "eq_scalar",
    "erf",
    "exp",
    "expand",
    "feature_dropout",
    "flatten",
    "flip",
    "floor",
    "gather",
    "ge",
    "ge_scalar",
    "gelu",
    "gelu_tanh",
    "global_avg_pool",
    "global_max_pool",
    "grid_sample",
    "group_norm",
    "gt",
    "gt_scalar",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "index_select",
    "instance_norm",
    "layer_norm",
    "le",
    "le_scalar",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log",
    "log_softmax",
    "logit",
    "lookup",
    "lt",
    "lt_scalar",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "minimum",
    "mish",
    "mul",
    "mul_channel",
    "mul_scalar",
    "narrow",
    "ne",
    "ne_scalar",
    "neg",
    "pad",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "pow",
    "pow_scalar",
    "prelu",
    "prod",
    "quantize",
    "quantized_add",
    "quantized_avg_pool",
    "quantized_mul",
    "reciprocal",
    "relu",
    "relu6",
    "requantize",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "select",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "slice",
    "softmax",
    "softplus",
    "softsign",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sub",
    "sub_scalar",
    "sum",
    "tanh",
    "to_dtype",
    "topk",
    "transpose",
    "tril",
    "triu",
    "unsqueeze",
    "upsample_bilinear",
    "upsample_linear",
    "upsample_nearest",
    "upsample_trilinear",
    "view",
    "where",
]


def abs(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The absolute value, as `torch.abs`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.abs(x).shape
    (1, 16, 4, 4)
    """
    return _call("abs", threads, x)


def adaptive_avg_pool1d(
    x: TensorLike,
    *,
    output: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """1-D adaptive average pooling, as `torch.nn.functional.adaptive_avg_pool1d`.

    Shapes:
        `x` [N, C, W]; the result is [N, C, OW]. All else is as `adaptive_avg_pool2d` has it.

    Errors:
        As `adaptive_avg_pool2d`.

    Dtypes:
        x: f32, bf16.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> bt.ops.adaptive_avg_pool1d(x, output=2).shape
    (1, 16, 2)
    """
    return _call("adaptive_avg_pool1d", threads, x, output)


def adaptive_avg_pool2d(
    x: TensorLike,
    *,
    output: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """2-D adaptive average pooling, as `torch.nn.functional.adaptive_avg_pool2d`.

    Index `i` of the result is the mean of the source from `floor(i * size / output)` up to `ceil((i + 1) *
    size / output)` along each axis.

    Shapes:
        `x` [N, C, H, W]; inputs without a batch are not taken. The result is [N, C, OH, OW], of any sizes; a
        size of 0 makes an empty result.

    Dtypes:
        f32 and bf16; windows of more than 64 elements are summed in f64, others in f32.

    Errors:
        `RankMismatch`; `InvalidArgument` for an `x` without channels or pixels; `Overflow`, `OutOfMemory`,
        `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.adaptive_avg_pool2d(x, output=2).shape
    (1, 16, 2, 2)
    """
    return _call("adaptive_avg_pool2d", threads, x, output)


def adaptive_avg_pool3d(
    x: TensorLike,
    *,
    output: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """3-D adaptive average pooling, as `torch.nn.functional.adaptive_avg_pool3d`.

    Shapes:
        `x` [N, C, D, H, W]; the result is [N, C, OD, OH, OW]. All else is as `adaptive_avg_pool2d` has it.

    Errors:
        As `adaptive_avg_pool2d`.

    Dtypes:
        x: f32, bf16.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> bt.ops.adaptive_avg_pool3d(x, output=2).shape
    (1, 16, 2, 2, 2)
    """
    return _call("adaptive_avg_pool3d", threads, x, output)


def adaptive_max_pool1d(
    x: TensorLike,
    *,
    output: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """1-D adaptive max pooling, as `torch.nn.functional.adaptive_max_pool1d`: the largest element of each
    window, NaN where a window has one.

    Shapes:
        As `adaptive_avg_pool1d`, whose windows it has.

    Dtypes:
        f32, bf16, u8 and s8.

    Errors:
        As `adaptive_avg_pool2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> bt.ops.adaptive_max_pool1d(x, output=2).shape
    (1, 16, 2)
    """
    return _call("adaptive_max_pool1d", threads, x, output)


def adaptive_max_pool2d(
    x: TensorLike,
    *,
    output: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """2-D adaptive max pooling, as `torch.nn.functional.adaptive_max_pool2d`: the largest element of each
    window, NaN where a window has one.

    Shapes:
        As `adaptive_avg_pool2d`, whose windows it has.

    Dtypes:
        f32, bf16, u8 and s8.

    Errors:
        As `adaptive_avg_pool2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.adaptive_max_pool2d(x, output=2).shape
    (1, 16, 2, 2)
    """
    return _call("adaptive_max_pool2d", threads, x, output)


def adaptive_max_pool3d(
    x: TensorLike,
    *,
    output: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """3-D adaptive max pooling, as `torch.nn.functional.adaptive_max_pool3d`: the largest element of each
    window, NaN where a window has one.

    Shapes:
        As `adaptive_avg_pool3d`, whose windows it has.

    Dtypes:
        f32, bf16, u8 and s8.

    Errors:
        As `adaptive_avg_pool2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> bt.ops.adaptive_max_pool3d(x, output=2).shape
    (1, 16, 2, 2, 2)
    """
    return _call("adaptive_max_pool3d", threads, x, output)


def add(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The sum, as `torch.add`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.add(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("add", threads, a, b)


def add_channel(
    x: TensorLike,
    values: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """Adds to each element the value of its channel: `x + values.view(1, C, 1, 1)` in PyTorch.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> v = bt.zeros([16])
    >>> bt.ops.add_channel(x, v).shape
    (1, 16, 4, 4)
    """
    return _call("add_channel", threads, x, values)


def add_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """`x + other`, as `torch.add` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.add_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("add_scalar", threads, x, other)


def amax(
    x: TensorLike,
    *,
    axes: int | Sequence[int] = (),
    keepdim: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The largest element over `axes`, or over all axes if none are named, as `torch.amax`. NaN if one of them
    is NaN.

    Shapes:
        As `sum`.

    Dtypes:
        f32 and bf16.

    Errors:
        As `sum`, and `InvalidArgument` for a largest of no elements.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.amax(x).shape
    ()
    """
    return _call("amax", threads, x, axes, keepdim)


def amin(
    x: TensorLike,
    *,
    axes: int | Sequence[int] = (),
    keepdim: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The smallest element over `axes`, or over all axes if none are named, as `torch.amin`. NaN if one of them
    is NaN.

    Shapes:
        As `sum`.

    Dtypes:
        f32 and bf16.

    Errors:
        As `sum`, and `InvalidArgument` for a smallest of no elements.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.amin(x).shape
    ()
    """
    return _call("amin", threads, x, axes, keepdim)


def argmax(
    x: TensorLike,
    *,
    axis: int | Sequence[int] = (),
    keepdim: bool = False,
    threads: int | None = None,
) -> Tensor:
    """Index of the largest element along `axis`, as `torch.argmax`. Without an axis, the index in the whole
    tensor in row-major order of its logical dimensions, whatever the layout. The first index if several
    elements are equal; NaN counts as the largest.

    Shapes:
        Any `x` with elements; a negative `axis` counts from the last. With `keepdim` the axis (without an
        axis: every axis) stays with size 1, else it is removed.

    Dtypes:
        f32; the result is s32.

    Errors:
        `InvalidArgument` for an axis that does not exist, for several axes, and for a largest of no
        elements; `Overflow` if an index does not fit into s32; `OpaqueLayoutError` for a blocked `x` without
        `keepdim`; `UnsupportedDType`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.argmax(x).shape
    ()
    """
    return _call("argmax", threads, x, axis, keepdim)


def avg_pool1d(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    threads: int | None = None,
) -> Tensor:
    """1-D average pooling, as `torch.nn.functional.avg_pool1d`.

    Shapes:
        `x` [N, C, W]. All else is as `avg_pool2d` has it.

    Errors:
        As `avg_pool2d`.

    Dtypes:
        x: f32, bf16.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> bt.ops.avg_pool1d(x, kernel=2).shape
    (1, 16, 2)
    """
    return _call("avg_pool1d", threads, x, kernel, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    threads: int | None = None,
) -> Tensor:
    """2-D average pooling, as `torch.nn.functional.avg_pool2d`.

    The sum of a window is divided by the elements of the window: with `count_include_pad` those of the
    padded source, else those of the source. What `ceil_mode` reaches beyond the padding never counts.

    Shapes:
        `x` [N, C, H, W]; inputs without a batch are not taken. Each spatial size becomes `floor((size + both
        paddings - kernel) / stride) + 1`.

    Dtypes:
        f32 and bf16, summed in f32, from 65 elements on in f64.

    Errors:
        As `max_pool2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.avg_pool2d(x, kernel=2).shape
    (1, 16, 2, 2)
    """
    return _call("avg_pool2d", threads, x, kernel, stride, padding, ceil_mode, count_include_pad)


def avg_pool3d(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    threads: int | None = None,
) -> Tensor:
    """3-D average pooling, as `torch.nn.functional.avg_pool3d`.

    Shapes:
        `x` [N, C, D, H, W]. All else is as `avg_pool2d` has it.

    Errors:
        As `avg_pool2d`.

    Dtypes:
        x: f32, bf16.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> bt.ops.avg_pool3d(x, kernel=2).shape
    (1, 16, 2, 2, 2)
    """
    return _call("avg_pool3d", threads, x, kernel, stride, padding, ceil_mode, count_include_pad)


def axpby(
    a: TensorLike,
    b: TensorLike,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    threads: int | None = None,
) -> Tensor:
    """`alpha * a + beta * b` in one pass, each product rounded before the sum: `axpby` of BLAS. With `alpha` 1
    it is `torch.add` with `alpha=beta`.

    Shapes:
        Any two that broadcast, as in `add`.

    Dtypes:
        Both f32; or both bf16, computed in f32 and rounded once.

    Errors:
        As `add`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.axpby(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("axpby", threads, a, b, alpha, beta)


def batch_norm(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-05,
    threads: int | None = None,
) -> Tensor:
    """Batch normalisation with given statistics, as `torch.nn.functional.batch_norm(training=False)`: `(x -
    mean) / sqrt(var + eps) * weight + bias`, with statistics, weight and bias for each channel.

    Shapes:
        `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5); each parameter [C]. The result has the sizes of
        `x`.

    Dtypes:
        `x` f32 or bf16; the parameters f32.

    Errors:
        `ShapeMismatch` for a parameter that does not have C values; `InvalidArgument` if variance + eps is
        not positive, or eps is NaN (for both, PyTorch's results are NaN), and for C = 0; `RankMismatch`,
        `UnsupportedDType`, `LayoutMismatch`. Where only sizes are inferred, there are no variances, and any
        eps is accepted, as PyTorch accepts NaN.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> v = bt.zeros([16])
    >>> bt.ops.batch_norm(x, v, v).shape
    (1, 16, 4, 4)
    """
    return _call("batch_norm", threads, x, mean, var, weight, bias, eps)


def batch_norm_train(
    x: TensorLike,
    running_mean: TensorLike,
    running_var: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    momentum: float = 0.1,
    eps: float = 1e-05,
    threads: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation with the statistics of the batch, as `torch.nn.functional.batch_norm(training=True)`.
    It also returns new running statistics.

    Each channel is normalised with its own mean and biased variance over all images and pixels. The running
    statistics become `(1 - momentum) * running + momentum * batch`, with the unbiased variance. A batch
    without elements does not change them.

    Shapes:
        `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5), with N times pixels not 1; each parameter [C]. `y`
        has the sizes of `x`, the new running statistics have [C] each. A call by name returns the three in
        this order.

    Dtypes:
        `x` f32 or bf16; the parameters f32.

    Errors:
        `ShapeMismatch` for a parameter that does not have C values; `InvalidArgument` for an eps that is NaN
        or negative, for only one value for each channel, and for C = 0; `RankMismatch`, `UnsupportedDType`,
        `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> v = bt.zeros([16])
    >>> [y.shape for y in bt.ops.batch_norm_train(x, v, v, v, v)]
    [(1, 16, 4, 4), (16,), (16,)]
    """
    return _cast("tuple[Tensor, Tensor, Tensor]", _call(
        "batch_norm_train", threads, x, running_mean, running_var, weight, bias, momentum, eps,
    ))


def cat(
    tensors: Sequence[TensorLike],
    *,
    axis: int = 0,
    threads: int | None = None,
) -> Tensor:
    """Joins tensors along an existing axis, as `torch.cat`.

    Shapes:
        One or more tensors of the same sizes, except along `axis`. The result's size along `axis` is the sum
        of theirs.

    Dtypes:
        Any, the same for all.

    Errors:
        `InvalidArgument` without tensors or for an axis out of range; `RankMismatch`, `ShapeMismatch`,
        `DTypeMismatch`, `LayoutMismatch` for operands that do not agree; `Overflow`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.cat([x, x], axis=1).shape
    (1, 32, 4, 4)
    """
    return _call("cat", threads, tensors, axis)


def ceil(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The smallest integer that is not below `x`, as `torch.ceil`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.ceil(x).shape
    (1, 16, 4, 4)
    """
    return _call("ceil", threads, x)


def celu(
    x: TensorLike,
    *,
    alpha: float = 1.0,
    threads: int | None = None,
) -> Tensor:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, as `torch.nn.functional.celu`; PyTorch's default is
    1.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.celu(x).shape
    (1, 16, 4, 4)
    """
    return _call("celu", threads, x, alpha)


def channel_shuffle(
    x: TensorLike,
    *,
    groups: int,
    threads: int | None = None,
) -> Tensor:
    """Interleaves groups of channels, as `torch.nn.functional.channel_shuffle`: channel `c` of the result is
    channel `c % groups * (C / groups) + c / groups` of `x`.

    Shapes:
        `x` [N, C, ...] of rank 3 or more, where `groups` divides C.

    Dtypes:
        Any.

    Errors:
        `RankMismatch`; `InvalidArgument` for 0 groups or a number that does not divide C.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.channel_shuffle(x, groups=4).shape
    (1, 16, 4, 4)
    """
    return _call("channel_shuffle", threads, x, groups)


def chunk(
    x: TensorLike,
    *,
    chunks: int,
    axis: int = 0,
    threads: int | None = None,
) -> list[Tensor]:
    """At most `chunks` pieces along an axis, all but the last of the same size, as `torch.chunk`.

    Shapes:
        Any `x`. The pieces' size along `axis` is the size of `x` divided by `chunks`, rounded up, so that
        there may be fewer pieces.

    Dtypes:
        Any.

    Errors:
        `InvalidArgument` for an axis out of range, 0 chunks, or more than 2^20 pieces.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> [y.shape for y in bt.ops.chunk(x, chunks=2)]
    [(1, 16, 4, 4)]
    """
    return _call_list("chunk", threads, x, chunks, axis)


def clamp(
    x: TensorLike,
    *,
    min: float = -float("inf"),
    max: float = float("inf"),
    threads: int | None = None,
) -> Tensor:
    """`min(max(x, min), max)`, as `torch.clamp`. If `min > max`, every result is `max`. If a bound is NaN,
    every result is NaN. An infinite bound has no effect.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.clamp(x).shape
    (1, 16, 4, 4)
    """
    return _call("clamp", threads, x, min, max)


def conv1d(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    post_ops: str = "",
    allow_reference: bool = False,
    algorithm: str = "direct",
    x_zero_point: int = 0,
    threads: int | None = None,
) -> Tensor:
    """1-D convolution (cross-correlation), as `torch.nn.functional.conv1d`.

    Shapes:
        `x` [N, C, W], `weights` [O, C/groups, KW]. All else is as `conv2d` has it.

    Errors:
        As `conv2d`.

    Dtypes:
        x: f32, bf16, u8, s8; weights: f32, bf16, s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> weights = bt.zeros([8, 16, 3])
    >>> bt.ops.conv1d(x, weights).shape
    (1, 8, 2)
    """
    return _call(
        "conv1d", threads, x, weights, bias, residual, channel, stride, padding, dilation, groups, post_ops,
        allow_reference, algorithm, x_zero_point,
    )


def conv2d(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    post_ops: str = "",
    allow_reference: bool = False,
    algorithm: str = "direct",
    x_zero_point: int = 0,
    threads: int | None = None,
) -> Tensor:
    """2-D convolution (cross-correlation), as `torch.nn.functional.conv2d`.

    Shapes:
        `x` [N, C, H, W]; `weights` [O, C/groups, KH, KW] or, with their groups apart, [groups, O/groups,
        C/groups, KH, KW] (blocked grouped weights always have their groups apart); `bias` `[O]`.

    Dtypes:
        f32. bf16 with oneDNN on a machine with AVX512_BF16: `x`, `weights`, residual and result; sums,
        `bias` and numbers for each channel are f32. Blocked weights of bf16 are packed on every call.

    u8 or s8 with s8 weights, in Rust, fast with AMX or VNNI (AVX-512 or AVX): the sums are exact, of 32
    bits, and `bias` (f32) has whole numbers up to 2^24. `x_zero_point` is the integer that stands for 0, and
    padding is of it. Without post-ops the result is the sums, s32. Post-ops compute in f32, and so is their
    result; `quantize(dtype,zero_point)` as the last one makes u8 or s8 of it. Scales are their
    `mul_channel`; `residual(dtype,scale,zero_point)` adds a quantised residual, `residual` one of f32.
    Weights are packed on every call.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `InvalidArgument`, `Overflow` for shapes and parameters;
        `KeyMismatch` and `LayoutMismatch` for operands that do not go together; `UnsupportedOp` for f32 in
        blocks of other than 8 or 16 channels, with the way out.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> weights = bt.zeros([8, 16, 3, 3])
    >>> bt.ops.conv2d(x, weights).shape
    (1, 8, 2, 2)
    """
    return _call(
        "conv2d", threads, x, weights, bias, residual, channel, stride, padding, dilation, groups, post_ops,
        allow_reference, algorithm, x_zero_point,
    )


def conv3d(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    post_ops: str = "",
    allow_reference: bool = False,
    algorithm: str = "direct",
    x_zero_point: int = 0,
    threads: int | None = None,
) -> Tensor:
    """3-D convolution (cross-correlation), as `torch.nn.functional.conv3d`.

    Shapes:
        `x` [N, C, D, H, W], `weights` [O, C/groups, KD, KH, KW]. All else is as `conv2d` has it.

    Errors:
        As `conv2d`.

    Dtypes:
        x: f32, bf16, u8, s8; weights: f32, bf16, s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> weights = bt.zeros([8, 16, 3, 3, 3])
    >>> bt.ops.conv3d(x, weights).shape
    (1, 8, 2, 2, 2)
    """
    return _call(
        "conv3d", threads, x, weights, bias, residual, channel, stride, padding, dilation, groups, post_ops,
        allow_reference, algorithm, x_zero_point,
    )


def conv_transpose1d(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    post_ops: str = "",
    allow_reference: bool = False,
    algorithm: str = "direct",
    x_zero_point: int = 0,
    output_padding: int | Sequence[int] = 0,
    threads: int | None = None,
) -> Tensor:
    """1-D transposed convolution, as `torch.nn.functional.conv_transpose1d`.

    Shapes:
        `x` [N, C, W], strided `weights` [C, O/groups, KW]. All else is as `conv_transpose2d` has it.

    Errors:
        As `conv_transpose2d`.

    Dtypes:
        x: f32, bf16, u8, s8; weights: f32, bf16, s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> weights = bt.zeros([16, 16, 3])
    >>> bt.ops.conv_transpose1d(x, weights).shape
    (1, 16, 6)
    """
    return _call(
        "conv_transpose1d", threads, x, weights, bias, residual, channel, stride, padding, dilation, groups,
        post_ops, allow_reference, algorithm, x_zero_point, output_padding,
    )


def conv_transpose2d(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    post_ops: str = "",
    allow_reference: bool = False,
    algorithm: str = "direct",
    x_zero_point: int = 0,
    output_padding: int | Sequence[int] = 0,
    threads: int | None = None,
) -> Tensor:
    """2-D transposed convolution, as `torch.nn.functional.conv_transpose2d`.

    Each axis of the result has `(size - 1) * stride + dilation * (kernel - 1) + 1 - both paddings + output
    padding` elements.

    Shapes:
        `x` [N, C, H, W]; `bias` `[O]`. Strided `weights` are [C, O/groups, KH, KW], as in PyTorch, or have
        their groups apart: [groups, O/groups, C/groups, KH, KW]. Blocked `weights` always have output
        channels first: [O, C, KH, KW], or with their groups apart.

    Dtypes:
        As `conv2d`.

    Errors:
        As `conv2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> weights = bt.zeros([16, 16, 3, 3])
    >>> bt.ops.conv_transpose2d(x, weights).shape
    (1, 16, 6, 6)
    """
    return _call(
        "conv_transpose2d", threads, x, weights, bias, residual, channel, stride, padding, dilation, groups,
        post_ops, allow_reference, algorithm, x_zero_point, output_padding,
    )


def conv_transpose3d(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    post_ops: str = "",
    allow_reference: bool = False,
    algorithm: str = "direct",
    x_zero_point: int = 0,
    output_padding: int | Sequence[int] = 0,
    threads: int | None = None,
) -> Tensor:
    """3-D transposed convolution, as `torch.nn.functional.conv_transpose3d`.

    Shapes:
        `x` [N, C, D, H, W], strided `weights` [C, O/groups, KD, KH, KW]. All else is as `conv_transpose2d`
        has it.

    Errors:
        As `conv_transpose2d`.

    Dtypes:
        x: f32, bf16, u8, s8; weights: f32, bf16, s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> weights = bt.zeros([16, 16, 3, 3, 3])
    >>> bt.ops.conv_transpose3d(x, weights).shape
    (1, 16, 6, 6, 6)
    """
    return _call(
        "conv_transpose3d", threads, x, weights, bias, residual, channel, stride, padding, dilation, groups,
        post_ops, allow_reference, algorithm, x_zero_point, output_padding,
    )


def cos(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The cosine, as `torch.cos`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.cos(x).shape
    (1, 16, 4, 4)
    """
    return _call("cos", threads, x)


def cumsum(
    x: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """Running sums along an axis, as `torch.cumsum`; summed in f64.

    Shapes:
        Any; the result has the shape of `x`, and is contiguous.

    Dtypes:
        f32.

    Errors:
        `InvalidArgument` for an axis out of range; `UnsupportedOp` on blocked tensors.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.cumsum(x, axis=1).shape
    (1, 16, 4, 4)
    """
    return _call("cumsum", threads, x, axis)


def dequantize(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike,
    *,
    axis: int = 1,
    threads: int | None = None,
) -> Tensor:
    """The numbers that integers stand for: `(x - zero_point) * scale`, as ONNX's `DequantizeLinear`.

    Shapes:
        As `quantize` has them.

    Dtypes:
        `x` u8, s8 or s32, `scale` f32, `zero_point` s32. The result is f32. Differences of s32 wrap around.
        If `x` has scales and zero points of its own, they are those of the call; `dequantized` needs no
        others.

    Errors:
        As `quantize`; zero points may be any, and scales any finite number. `InvalidArgument` if `x` has
        other scales and zero points.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4], dtype="u8")
    >>> s = bt.ops.exp(bt.zeros([1]))
    >>> z = bt.zeros([1], dtype="s32")
    >>> bt.ops.dequantize(x, s, z).shape
    (1, 16, 4, 4)
    """
    return _call("dequantize", threads, x, scale, zero_point, axis)


def div(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The quotient, as `torch.div`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.div(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("div", threads, a, b)


def div_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """`x / other`, as `torch.div` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.div_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("div_scalar", threads, x, other)


def dropout(
    x: TensorLike,
    *,
    p: float = 0.5,
    seed: int = 0,
    training: bool = True,
    threads: int | None = None,
) -> Tensor:
    """Zeroes each element with probability `p` and scales the others by `1 / (1 - p)`, as
    `torch.nn.functional.dropout`. The caller passes a seed; there is no global generator.

    Shapes:
        Any; the result has that of `x`.

    Dtypes:
        f32.

    Errors:
        `InvalidArgument` for `p` outside 0 to 1; `UnsupportedDType`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.dropout(x).shape
    (1, 16, 4, 4)
    """
    return _call("dropout", threads, x, p, seed, training)


def elu(
    x: TensorLike,
    *,
    alpha: float = 1.0,
    threads: int | None = None,
) -> Tensor:
    """`x` where positive, else `alpha * (exp(x) - 1)`, as `torch.nn.functional.elu`; PyTorch's default is 1.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.elu(x).shape
    (1, 16, 4, 4)
    """
    return _call("elu", threads, x, alpha)


def eq(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """1 where the two are equal, else 0, as `torch.eq`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.eq(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("eq", threads, a, b)


def eq_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """1 where `x == other`, else 0, as `torch.eq` with a number. Beside bf16, `other` is rounded first in this
    and the other comparisons.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.eq_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("eq_scalar", threads, x, other)


def erf(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The error function, as `torch.erf`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.erf(x).shape
    (1, 16, 4, 4)
    """
    return _call("erf", threads, x)


def exp(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The exponential function, as `torch.exp`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.exp(x).shape
    (1, 16, 4, 4)
    """
    return _call("exp", threads, x)


def expand(
    x: TensorLike,
    *,
    dims: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """The op `expand`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 1, 1])
    >>> bt.ops.expand(x, dims=[1, 16, 4, 4]).shape
    (1, 16, 4, 4)
    """
    return _call("expand", threads, x, dims)


def feature_dropout(
    x: TensorLike,
    *,
    p: float = 0.5,
    seed: int = 0,
    training: bool = True,
    threads: int | None = None,
) -> Tensor:
    """As `dropout`, but keeps or zeroes each channel of an image as a whole: `torch.nn.functional.dropout1d`,
    `dropout2d`, `dropout3d`.

    Shapes:
        `x` [N, C, ...].

    Dtypes:
        f32.

    Errors:
        `RankMismatch` below rank 2; as `dropout`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.feature_dropout(x).shape
    (1, 16, 4, 4)
    """
    return _call("feature_dropout", threads, x, p, seed, training)


def flatten(
    x: TensorLike,
    *,
    start: int = 0,
    end: int,
    threads: int | None = None,
) -> Tensor:
    """The op `flatten`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.flatten(x, end=2).shape
    (64, 4)
    """
    return _call("flatten", threads, x, start, end)


def flip(
    x: TensorLike,
    *,
    axes: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """Reverses the order of the indices along some axes, as `torch.flip`.

    Shapes:
        Any; the result has the shape of `x`.

    Dtypes:
        Any.

    Errors:
        `InvalidArgument` for an axis out of range or named twice.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.flip(x, axes=[2, 3]).shape
    (1, 16, 4, 4)
    """
    return _call("flip", threads, x, axes)


def floor(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The largest integer that is not above `x`, as `torch.floor`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.floor(x).shape
    (1, 16, 4, 4)
    """
    return _call("floor", threads, x)


def gather(
    x: TensorLike,
    index: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """Selects elements along an axis by a tensor of indices, as `torch.gather`: `x[i][index[i][j][k]][k]` for
    axis 1.

    Shapes:
        `index` has the rank of `x`, and is no larger along the other axes. The result has the sizes of
        `index`, and is contiguous.

    Dtypes:
        `x` any, `index` s32.

    Errors:
        `InvalidArgument`, `RankMismatch`, `ShapeMismatch`, `DTypeMismatch`; `OutOfBounds` for an index past
        the size; `UnsupportedOp` on blocked tensors.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> i = bt.zeros([1, 16, 4, 2], dtype="s32")
    >>> bt.ops.gather(x, i, axis=3).shape
    (1, 16, 4, 2)
    """
    return _call("gather", threads, x, index, axis)


def ge(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """1 where `a >= b`, else 0, as `torch.ge`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.ge(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("ge", threads, a, b)


def ge_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """1 where `x >= other`, else 0, as `torch.ge` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.ge_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("ge_scalar", threads, x, other)


def gelu(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x` times the cumulative distribution function of the normal distribution, as `torch.nn.functional.gelu`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.gelu(x).shape
    (1, 16, 4, 4)
    """
    return _call("gelu", threads, x)


def gelu_tanh(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The approximation of `gelu` with `tanh`, as `torch.nn.functional.gelu` with `approximate="tanh"`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.gelu_tanh(x).shape
    (1, 16, 4, 4)
    """
    return _call("gelu_tanh", threads, x)


def global_avg_pool(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The mean of every channel over all pixels; the spatial dimensions stay, with size 1.

    Shapes:
        `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W]; the result [N, C, 1, ...].

    Dtypes:
        f32 and bf16; images of more than 64 pixels are summed in f64, others in f32.

    Errors:
        As `adaptive_avg_pool2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.global_avg_pool(x).shape
    (1, 16, 1, 1)
    """
    return _call("global_avg_pool", threads, x)


def global_max_pool(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The maximum of every channel over all pixels, NaN where there is one; the spatial dimensions stay, with
    size 1.

    Shapes:
        `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W]; the result [N, C, 1, ...].

    Dtypes:
        f32, bf16, u8 and s8.

    Errors:
        As `adaptive_avg_pool2d`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.global_max_pool(x).shape
    (1, 16, 1, 1)
    """
    return _call("global_max_pool", threads, x)


def grid_sample(
    x: TensorLike,
    grid: TensorLike,
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The source at the points of a grid, as `torch.nn.functional.grid_sample`.

    The last dimension of the grid holds the coordinates of a point: that of W, that of H, and of a volume
    that of D. The source reaches from -1 to 1 along each axis. -1 and 1 are the outer edges of the corner
    pixels, or with `align_corners` their centres. `mode` says what is read between pixels, and the mode of
    padding what is read outside the source.

    Coordinates that are NaN or infinite give what PyTorch's CPU kernels give. Mode `bicubic` gives NaN. The
    other modes:

    | padding | image (4-D) | volume (5-D) | |---|---|---| | zeros | `bilinear` NaN, `nearest` 0 | 0 | |
    border | NaN: the first pixel of the axis; infinity: the nearest pixel | NaN: the last pixel; infinity:
    the nearest pixel | | reflection | the first pixel of the axis | the last pixel |

    Shapes:
        `x` [N, C, H, W] and `grid` [N, OH, OW, 2]: the result is [N, C, OH, OW]. Or `x` [N, C, D, H, W] and
        `grid` [N, OD, OH, OW, 3]: the result is [N, C, OD, OH, OW]. A size of 0 in the grid makes an empty
        result.

    Dtypes:
        `x` f32 or bf16, the grid f32. Interpolation counts coordinates in f64, `nearest` in f32 as PyTorch
        does, so that it takes the same pixel.

    Errors:
        `RankMismatch`; `ShapeMismatch` for a grid of another batch, or whose last size is not the number of
        spatial dimensions; `InvalidArgument` for an `x` without channels or pixels, and for `bicubic` with
        an `x` of rank 5; `UnsupportedDType`, `Overflow`, `OutOfMemory`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> grid = bt.zeros([1, 2, 2, 2])
    >>> bt.ops.grid_sample(x, grid).shape
    (1, 16, 2, 2)
    """
    return _call("grid_sample", threads, x, grid, mode, padding_mode, align_corners)


def group_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-05,
    groups: int,
    threads: int | None = None,
) -> Tensor:
    """Group norm, as `torch.nn.functional.group_norm`: the channels of each image form `groups` groups of equal
    size, and each group is normalised with its own mean and biased variance over its channels and pixels.

    Shapes:
        `x` [N, C, ...] of rank 2 to 5 (blocked: 3 to 5) with C a multiple of `groups`; weight and bias [C].
        The result has the sizes of `x`.

    Dtypes:
        `x` f32 or bf16; the parameters f32.

    Errors:
        `InvalidArgument` for groups that are 0 or do not divide C, for an eps that is NaN or negative, for C
        = 0 and for images without pixels; `ShapeMismatch` for a parameter that does not have C values;
        `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.group_norm(x, groups=4).shape
    (1, 16, 4, 4)
    """
    return _call("group_norm", threads, x, weight, bias, eps, groups)


def gt(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """1 where `a > b`, else 0, as `torch.gt`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.gt(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("gt", threads, a, b)


def gt_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """1 where `x > other`, else 0, as `torch.gt` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.gt_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("gt_scalar", threads, x, other)


def hardsigmoid(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`relu6(x + 3) / 6`, as `torch.nn.functional.hardsigmoid`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.hardsigmoid(x).shape
    (1, 16, 4, 4)
    """
    return _call("hardsigmoid", threads, x)


def hardswish(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x * relu6(x + 3) / 6`, as `torch.nn.functional.hardswish`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.hardswish(x).shape
    (1, 16, 4, 4)
    """
    return _call("hardswish", threads, x)


def hardtanh(
    x: TensorLike,
    *,
    min: float = -1.0,
    max: float = 1.0,
    threads: int | None = None,
) -> Tensor:
    """`x` limited to the range `min` to `max`, as `torch.nn.functional.hardtanh`; PyTorch's defaults are -1 and
    1.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.hardtanh(x).shape
    (1, 16, 4, 4)
    """
    return _call("hardtanh", threads, x, min, max)


def index_select(
    x: TensorLike,
    index: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """Selects the given indices of an axis, in the order given, as `torch.index_select`.

    Shapes:
        `index` `[K]`; the result has size K along `axis`, and is contiguous.

    Dtypes:
        `x` any, `index` s32.

    Errors:
        `InvalidArgument` for an axis out of range; `DTypeMismatch`; `OutOfBounds` for an index past the
        size; `UnsupportedOp` on blocked tensors.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> i = bt.zeros([3], dtype="s32")
    >>> bt.ops.index_select(x, i, axis=1).shape
    (1, 3, 4, 4)
    """
    return _call("index_select", threads, x, index, axis)


def instance_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    eps: float = 1e-05,
    threads: int | None = None,
) -> Tensor:
    """Instance norm, as `torch.nn.functional.instance_norm` without running statistics: each channel of each
    image is normalised with its own mean and biased variance over its pixels.

    Shapes:
        `x` [N, C, ...] of rank 3 to 5, with more than one pixel; weight and bias [C]. The result has the
        sizes of `x`.

    Dtypes:
        `x` f32 or bf16; the parameters f32.

    Errors:
        `InvalidArgument` for one pixel, and for an eps that is NaN or negative; `ShapeMismatch` for a
        parameter that does not have C values; `RankMismatch`, `UnsupportedDType`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.instance_norm(x).shape
    (1, 16, 4, 4)
    """
    return _call("instance_norm", threads, x, weight, bias, eps)


def layer_norm(
    x: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    *,
    normalized_shape: int | Sequence[int],
    eps: float = 1e-05,
    threads: int | None = None,
) -> Tensor:
    """Layer norm, as `torch.nn.functional.layer_norm`: normalisation with mean and biased variance over the
    last dimensions, whose sizes are `normalized_shape`. Each element of these dimensions has its own weight
    and bias.

    Shapes:
        `x` of any rank whose last sizes are `normalized_shape` (which is not empty); weight and bias 1-D,
        with one value for each element of `normalized_shape` in row-major order. The result has the sizes of
        `x`.

    Dtypes:
        `x` f32 or bf16; the parameters f32.

    Errors:
        `ShapeMismatch` if `x` does not end in `normalized_shape`, and for parameters of another length;
        `InvalidArgument` for an empty `normalized_shape`, and for an eps that is NaN or negative;
        `UnsupportedDType`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.layer_norm(x, normalized_shape=[4]).shape
    (1, 16, 4, 4)
    """
    return _call("layer_norm", threads, x, weight, bias, normalized_shape, eps)


def le(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """1 where `a <= b`, else 0, as `torch.le`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.le(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("le", threads, a, b)


def le_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """1 where `x <= other`, else 0, as `torch.le` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.le_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("le_scalar", threads, x, other)


def leaky_relu(
    x: TensorLike,
    *,
    slope: float = 0.01,
    threads: int | None = None,
) -> Tensor:
    """`x` where positive, else `slope * x`, as `torch.nn.functional.leaky_relu`; PyTorch's default slope is
    0.01.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.leaky_relu(x).shape
    (1, 16, 4, 4)
    """
    return _call("leaky_relu", threads, x, slope)


def linear(
    x: TensorLike,
    weights: TensorLike,
    bias: TensorLike | None = None,
    residual: TensorLike | None = None,
    channel: Sequence[TensorLike] | None = None,
    *,
    post_ops: str = "",
    x_zero_point: int = 0,
    threads: int | None = None,
) -> Tensor:
    """`x W^T + b`, as `torch.nn.functional.linear`.

    Shapes:
        `x` [..., K], `weights` [O, K], `bias` `[O]`; the result is [..., O], contiguous. `weights` `[K]` of
        one output come without a bias, and the result is [...].

    Dtypes:
        f32. bf16, and u8 or s8 with s8 weights, as `conv2d` takes them: a linear layer is its convolution of
        single pixels, by the same kernels, with outputs as the channels of post-ops. Their weights are
        packed on every call.

    Errors:
        `RankMismatch`, `ShapeMismatch`; `UnsupportedOp` on blocked tensors; of integers and bf16 those of
        `conv2d`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([2, 16])
    >>> w = bt.zeros([8, 16])
    >>> bt.ops.linear(x, w).shape
    (2, 8)
    """
    return _call("linear", threads, x, weights, bias, residual, channel, post_ops, x_zero_point)


def local_response_norm(
    x: TensorLike,
    *,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
    threads: int | None = None,
) -> Tensor:
    """Local response norm, as `torch.nn.functional.local_response_norm`: `x / (k + alpha * mean)^beta`, where
    `mean` is the mean of the squares of `size` neighbouring channels.

    `size / 2` of these channels are before the element's own. Channels outside the tensor count as zeros.

    Shapes:
        `x` [N, C, ...] of rank 3 to 5; the result has its sizes.

    Dtypes:
        f32 and bf16.

    Errors:
        `InvalidArgument` for a size of 0 and for C = 0; `RankMismatch`, `UnsupportedDType`,
        `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.local_response_norm(x, size=2).shape
    (1, 16, 4, 4)
    """
    return _call("local_response_norm", threads, x, size, alpha, beta, k)


def log(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The natural logarithm, as `torch.log`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.log(x).shape
    (1, 16, 4, 4)
    """
    return _call("log", threads, x)


def log_softmax(
    x: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """`x - log(sum(exp(x)))` along `axis`, as `torch.nn.functional.log_softmax`.

    Shapes:
        As `softmax`.

    Dtypes:
        f32 and bf16; a sum of exponentials is accumulated in f64.

    Errors:
        As `softmax`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.log_softmax(x, axis=1).shape
    (1, 16, 4, 4)
    """
    return _call("log_softmax", threads, x, axis)


def logit(
    x: TensorLike,
    *,
    eps: float = -1.0,
    threads: int | None = None,
) -> Tensor:
    """`log(x / (1 - x))`, the inverse of `sigmoid`, as `torch.logit`; PyTorch's default is `None`.

    Without `eps`, the result of 0 is minus infinity, that of 1 is infinity, and outside of this range it is
    NaN. With `eps`, an `x` below `eps` is replaced by `eps`, any other `x` above `1 - eps` by `1 - eps`,
    computed in f32. If `eps` is negative or NaN, results are as without `eps`. In a call by name, `eps` is
    -1 by default.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.logit(x).shape
    (1, 16, 4, 4)
    """
    return _call("logit", threads, x, eps)


def lookup(
    x: TensorLike,
    values: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The value that a table has for each integer of 8 bits: `values[x]`, where negative integers count from
    the end, as indices do.

    Any function of quantised numbers is such a table: dequantise the 256 integers, apply the function, and
    quantise.

    Shapes:
        `x` of any, `values` `[256]`. The result has the shape of `x`.

    Dtypes:
        `x` and `values` u8 or s8, each for itself. The result has the dtype of `values`.

    Errors:
        `ShapeMismatch` for another number of values; `UnsupportedDType`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4], dtype="u8")
    >>> v = bt.zeros([256], dtype="s8")
    >>> bt.ops.lookup(x, v).shape
    (1, 16, 4, 4)
    """
    return _call("lookup", threads, x, values)


def lt(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """1 where `a < b`, else 0, as `torch.lt`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.lt(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("lt", threads, a, b)


def lt_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """1 where `x < other`, else 0, as `torch.lt` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.lt_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("lt_scalar", threads, x, other)


def matmul(
    a: TensorLike,
    b: TensorLike,
    *,
    a_zero_point: int = 0,
    b_zero_point: int = 0,
    threads: int | None = None,
) -> Tensor:
    """Matrix product with broadcast batch dimensions, as `torch.matmul`.

    Shapes:
        `a` [..., M, K], `b` [..., K, N]; the result is [..., M, N] with the leading dimensions broadcast,
        contiguous. A vector `a` `[K]` is one row, a vector `b` `[K]` one column; the result has no dimension
        for it.

    Dtypes:
        f32. u8 or s8, each for itself: the sums are exact, of 32 bits, as those of `conv2d`, whose kernels
        compute them.

    Errors:
        `RankMismatch`, `ShapeMismatch`; `UnsupportedOp` on blocked tensors; `InvalidArgument` for integers
        whose sums may not fit into 32 bits.

    Keys: strided.

    >>> import blocktensor as bt
    >>> a = bt.zeros([2, 16])
    >>> b = bt.zeros([16, 8])
    >>> bt.ops.matmul(a, b).shape
    (2, 8)
    """
    return _call("matmul", threads, a, b, a_zero_point, b_zero_point)


def max_pool1d(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    threads: int | None = None,
) -> Tensor:
    """1-D max pooling, as `torch.nn.functional.max_pool1d`.

    Shapes:
        `x` [N, C, W]. All else is as `max_pool2d` has it.

    Errors:
        As `max_pool2d`.

    Dtypes:
        x: f32, bf16, u8, s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> bt.ops.max_pool1d(x, kernel=2).shape
    (1, 16, 2)
    """
    return _call("max_pool1d", threads, x, kernel, stride, padding, dilation, ceil_mode)


def max_pool2d(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    threads: int | None = None,
) -> Tensor:
    """2-D max pooling, as `torch.nn.functional.max_pool2d`.

    Padding is minus infinity. A NaN in a window is its maximum. A window that dilation leads past every
    element gives minus infinity.

    Shapes:
        `x` [N, C, H, W]; inputs without a batch are not taken. Each spatial size becomes `floor((size + both
        paddings - dilation * (kernel - 1) - 1) / stride) + 1`.

    Dtypes:
        f32, bf16, u8 and s8. A window without elements gives the least number of integers.

    Errors:
        `RankMismatch`; `InvalidArgument` for a window, stride or dilation of 0, padding of more than half a
        window, or an `x` without channels or pixels; `ShapeMismatch` for a window larger than the padded
        source; `Overflow`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.max_pool2d(x, kernel=2).shape
    (1, 16, 2, 2)
    """
    return _call("max_pool2d", threads, x, kernel, stride, padding, dilation, ceil_mode)


def max_pool3d(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    threads: int | None = None,
) -> Tensor:
    """3-D max pooling, as `torch.nn.functional.max_pool3d`.

    Shapes:
        `x` [N, C, D, H, W]. All else is as `max_pool2d` has it.

    Errors:
        As `max_pool2d`.

    Dtypes:
        x: f32, bf16, u8, s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> bt.ops.max_pool3d(x, kernel=2).shape
    (1, 16, 2, 2, 2)
    """
    return _call("max_pool3d", threads, x, kernel, stride, padding, dilation, ceil_mode)


def maximum(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The larger of the two, NaN if either is NaN, as `torch.maximum`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.maximum(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("maximum", threads, a, b)


def mean(
    x: TensorLike,
    *,
    axes: int | Sequence[int] = (),
    keepdim: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The mean over `axes`, or over all axes if none are named, as `torch.mean`. The mean of no elements is
    NaN.

    Shapes:
        As `sum`.

    Dtypes:
        f32 and bf16; accumulated in f64, and rounded to f32 and from there to bf16.

    Errors:
        As `sum`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.mean(x).shape
    ()
    """
    return _call("mean", threads, x, axes, keepdim)


def minimum(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The smaller of the two, NaN if either is NaN, as `torch.minimum`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.minimum(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("minimum", threads, a, b)


def mish(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x * tanh(softplus(x))`, as `torch.nn.functional.mish`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.mish(x).shape
    (1, 16, 4, 4)
    """
    return _call("mish", threads, x)


def mul(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The product, as `torch.mul`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.mul(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("mul", threads, a, b)


def mul_channel(
    x: TensorLike,
    values: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """Multiplies each element by the value of its channel: `x * values.view(1, C, 1, 1)` in PyTorch.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> v = bt.zeros([16])
    >>> bt.ops.mul_channel(x, v).shape
    (1, 16, 4, 4)
    """
    return _call("mul_channel", threads, x, values)


def mul_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """`x * other`, as `torch.mul` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.mul_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("mul_scalar", threads, x, other)


def narrow(
    x: TensorLike,
    *,
    axis: int,
    start: int,
    length: int,
    threads: int | None = None,
) -> Tensor:
    """The op `narrow`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.narrow(x, axis=1, start=0, length=2).shape
    (1, 2, 4, 4)
    """
    return _call("narrow", threads, x, axis, start, length)


def ne(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """1 where the two differ, else 0, as `torch.ne`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.ne(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("ne", threads, a, b)


def ne_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """1 where `x != other`, else 0, as `torch.ne` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.ne_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("ne_scalar", threads, x, other)


def neg(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`-x`, as `torch.neg`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.neg(x).shape
    (1, 16, 4, 4)
    """
    return _call("neg", threads, x)


def pad(
    x: TensorLike,
    *,
    padding: int | Sequence[int],
    mode: str = "constant",
    value: float = 0.0,
    threads: int | None = None,
) -> Tensor:
    """Adds elements before and after the last axes, or with negative numbers takes them away, as
    `torch.nn.functional.pad`.

    Shapes:
        `padding` has PyTorch's order: before and after the last axis, then the axis before it, and so on:
        left, right, top, bottom. Axes without padding values keep their size.

    Dtypes:
        Any.

    Errors:
        `InvalidArgument` for an odd number of values, more than two for each axis, more taken away than is
        there, and for a reflection as long as the size or a ring that is gone through twice; `ShapeMismatch`
        when an empty axis is to be reflected or replicated; `Overflow`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.pad(x, padding=[1, 1, 1, 1]).shape
    (1, 16, 6, 6)
    """
    return _call("pad", threads, x, padding, mode, value)


def permute(
    x: TensorLike,
    *,
    axes: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """The op `permute`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.permute(x, axes=[0, 2, 3, 1]).shape
    (1, 4, 4, 16)
    """
    return _call("permute", threads, x, axes)


def pixel_shuffle(
    x: TensorLike,
    *,
    factor: int,
    threads: int | None = None,
) -> Tensor:
    """Spreads channels over pixels: `[N, C r^2, H, W]` becomes `[N, C, H r, W r]`, as
    `torch.nn.functional.pixel_shuffle`.

    Shapes:
        `x` [N, C, H, W], where `factor^2` divides C.

    Dtypes:
        Any.

    Errors:
        `RankMismatch` for another rank, `InvalidArgument` for a factor of 0 or one that does not divide,
        `Overflow`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.pixel_shuffle(x, factor=2).shape
    (1, 4, 8, 8)
    """
    return _call("pixel_shuffle", threads, x, factor)


def pixel_unshuffle(
    x: TensorLike,
    *,
    factor: int,
    threads: int | None = None,
) -> Tensor:
    """The inverse of `pixel_shuffle`, as `torch.nn.functional.pixel_unshuffle`.

    Shapes:
        `x` [N, C, H, W], where `factor` divides H and W.

    Dtypes:
        Any.

    Errors:
        As `pixel_shuffle`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.pixel_unshuffle(x, factor=2).shape
    (1, 64, 2, 2)
    """
    return _call("pixel_unshuffle", threads, x, factor)


def pow(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`a` to the power of `b`, as `torch.pow`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.pow(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("pow", threads, a, b)


def pow_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """`x` to the power of `other`, as `torch.pow` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.pow_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("pow_scalar", threads, x, other)


def prelu(
    x: TensorLike,
    weights: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x` where positive, else `x` times the slope of its channel, as `torch.nn.functional.prelu`.

    The slopes are a parameter: a strided tensor for strided and for blocked `x`. (oneDNN has only a
    reference implementation for a plain operand beside a blocked one, so this kernel is our own.)

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> v = bt.zeros([16])
    >>> bt.ops.prelu(x, v).shape
    (1, 16, 4, 4)
    """
    return _call("prelu", threads, x, weights)


def prod(
    x: TensorLike,
    *,
    axes: int | Sequence[int] = (),
    keepdim: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The product over `axes`, or over all axes if none are named, as `torch.prod`. The product of no elements
    is 1.

    Shapes:
        As `sum`.

    Dtypes:
        f32 and bf16; accumulated in f64, and rounded to f32 and from there to bf16.

    Errors:
        As `sum`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.prod(x).shape
    ()
    """
    return _call("prod", threads, x, axes, keepdim)


def quantize(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike,
    *,
    axis: int = 1,
    dtype: str = "u8",
    threads: int | None = None,
) -> Tensor:
    """Numbers as integers of 8 bits: `round(x / scale) + zero_point`, saturated, as ONNX's `QuantizeLinear`.

    Ties are rounded to even. NaN becomes the zero point. The result does not know its scale: `quantized`
    gives it one, or keep it for `dequantize`.

    Shapes:
        `x` of any. `scale` and `zero_point` [1], or one value for each index of `axis`: of a blocked `x`
        that is axis 1. Beside one scale and one zero point `axis` is not read, as in ONNX. The result has
        the shape of `x`.

    Dtypes:
        `x` and `scale` f32, `zero_point` s32. The result is u8 or s8, as `dtype` says.

    Errors:
        `ShapeMismatch` for another number of scales or zero points. `InvalidArgument` for a scale that is
        not positive and finite, and for a zero point that `dtype` does not hold. `InvalidArgument` for a
        `dtype` that is not u8 or s8, and for an axis that is not there. `UnsupportedDType`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> s = bt.ops.exp(bt.zeros([1]))
    >>> z = bt.zeros([1], dtype="s32")
    >>> bt.ops.quantize(x, s, z).shape
    (1, 16, 4, 4)
    """
    return _call("quantize", threads, x, scale, zero_point, axis, dtype)


def quantized_add(
    a: TensorLike,
    b: TensorLike,
    *,
    a_scale: float,
    a_zero_point: int = 0,
    b_scale: float = 1.0,
    b_zero_point: int = 0,
    dst_scale: float,
    dst_zero_point: int = 0,
    dtype: str = "u8",
    threads: int | None = None,
) -> Tensor:
    """The sum of quantised numbers, quantised: what `dequantize` of both operands, `add` and `quantize`
    compute, to the bit.

    Scales and zero points are those of `a`, `b` and the result, in this order. `b` may be f32: numbers that
    stand for themselves.

    Shapes:
        `a` and `b` broadcast against each other as in PyTorch; the result has the broadcast shape.

    Dtypes:
        `a` u8 or s8, `b` u8, s8 or f32. The result is u8 or s8, as `dtype` says.

    Errors:
        `ShapeMismatch`, `RankMismatch`, `LayoutMismatch`, `KeyMismatch`, `UnsupportedDType`.
        `InvalidArgument` for a scale that is not positive and finite, and for a zero point that the dtype
        does not hold. `InvalidArgument` for a scale or zero point beside a `b` of f32, and for a `dtype`
        that is not u8 or s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4], dtype="u8")
    >>> bt.ops.quantized_add(a, a, a_scale=0.5, dst_scale=0.5).shape
    (1, 16, 4, 4)
    """
    return _call(
        "quantized_add", threads, a, b, a_scale, a_zero_point, b_scale, b_zero_point, dst_scale,
        dst_zero_point, dtype,
    )


def quantized_avg_pool(
    x: TensorLike,
    *,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    x_scale: float,
    x_zero_point: int = 0,
    dst_scale: float,
    dst_zero_point: int = 0,
    dtype: str = "u8",
    threads: int | None = None,
) -> Tensor:
    """Average pooling of quantised numbers, quantised: what `dequantize`, `avg_pool2d` and `quantize` compute,
    without the roundings of f32 between them.

    Each sum is exact, and its mean is rounded once, ties to even. Scales and zero points are those of `x`
    and of the result, in this order. A window of the size of the image is `global_avg_pool`. Padding stands
    for 0.

    Shapes:
        `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W] with `N` spatial dimensions. All else is as
        `avg_pool2d` has it.

    Dtypes:
        `x` u8 or s8. The result is u8 or s8, as `dtype` says.

    Errors:
        As `max_pool2d`. `InvalidArgument` for a scale that is not positive and finite, and for a zero point
        that the dtype does not hold, or a `dtype` that is not u8 or s8.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4], dtype="u8")
    >>> bt.ops.quantized_avg_pool(x, kernel=[2, 2], x_scale=0.5, dst_scale=0.5).shape
    (1, 16, 2, 2)
    """
    return _call(
        "quantized_avg_pool", threads, x, kernel, stride, padding, ceil_mode, count_include_pad, x_scale,
        x_zero_point, dst_scale, dst_zero_point, dtype,
    )


def quantized_mul(
    a: TensorLike,
    b: TensorLike,
    *,
    a_scale: float,
    a_zero_point: int = 0,
    b_scale: float = 1.0,
    b_zero_point: int = 0,
    dst_scale: float,
    dst_zero_point: int = 0,
    dtype: str = "u8",
    threads: int | None = None,
) -> Tensor:
    """The product of quantised numbers, quantised. All else is as of `quantized_add`.

    Shapes:
        As of `quantized_add`.

    Dtypes:
        As of `quantized_add`.

    Errors:
        As of `quantized_add`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4], dtype="u8")
    >>> bt.ops.quantized_mul(a, a, a_scale=0.5, dst_scale=0.5).shape
    (1, 16, 4, 4)
    """
    return _call(
        "quantized_mul", threads, a, b, a_scale, a_zero_point, b_scale, b_zero_point, dst_scale,
        dst_zero_point, dtype,
    )


def reciprocal(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`1 / x`, as `torch.reciprocal`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.reciprocal(x).shape
    (1, 16, 4, 4)
    """
    return _call("reciprocal", threads, x)


def relu(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """Appends a fused relu.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.relu(x).shape
    (1, 16, 4, 4)
    """
    return _call("relu", threads, x)


def relu6(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x` limited to the range 0 to 6, as `torch.nn.functional.relu6`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.relu6(x).shape
    (1, 16, 4, 4)
    """
    return _call("relu6", threads, x)


def requantize(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike,
    dst_scale: TensorLike,
    dst_zero_point: TensorLike,
    *,
    axis: int = 1,
    dtype: str = "u8",
    threads: int | None = None,
) -> Tensor:
    """Integers as integers of 8 bits with another scale and zero point: `round((x - zero_point) * scale /
    dst_scale) + dst_zero_point`, saturated.

    The quotient is exact and rounded once, ties to even. `dequantize` and `quantize` one after the other
    round to f32 between them, and so may give the integer on the other side of a tie that is very near.

    Shapes:
        `x` of any. `scale`, `zero_point`, `dst_scale` and `dst_zero_point` [1], or one value for each index
        of `axis`: of a blocked `x` that is axis 1. Beside one value of each `axis` is not read. The result
        has the shape of `x`.

    Dtypes:
        `x` u8, s8 or s32, scales f32, zero points s32. The result is u8 or s8, as `dtype` says. If `x` has
        scales and zero points of its own, they are `scale` and `zero_point`.

    Errors:
        `ShapeMismatch` for another number of scales or zero points. `InvalidArgument` for a `scale` that is
        not finite, and a `dst_scale` that is not positive and finite. `InvalidArgument` for a
        `dst_zero_point` that `dtype` does not hold, and for a `dtype` other than u8 and s8.
        `InvalidArgument` for an axis that is not there, and if `x` has other scales and zero points.
        `UnsupportedDType`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4], dtype="s32")
    >>> s = bt.ops.exp(bt.zeros([1]))
    >>> z = bt.zeros([1], dtype="s32")
    >>> bt.ops.requantize(x, s, z, s, z).shape
    (1, 16, 4, 4)
    """
    return _call("requantize", threads, x, scale, zero_point, dst_scale, dst_zero_point, axis, dtype)


def reshape(
    x: TensorLike,
    *,
    dims: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """The op `reshape`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.reshape(x, dims=[16, 16]).shape
    (16, 16)
    """
    return _call("reshape", threads, x, dims)


def roll(
    x: TensorLike,
    *,
    shifts: int | Sequence[int],
    axes: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """Shifts the elements along some axes, as `torch.roll`. Elements that leave at one end enter at the other.

    Shapes:
        Any; the result has the shape of `x`. `shifts` has one value for each of `axes`. A shift may be
        negative or exceed the size. The shifts of an axis that is named twice add up.

    Dtypes:
        Any.

    Errors:
        `InvalidArgument` for an axis out of range (a scalar has none), or another number of shifts than of
        axes.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.roll(x, shifts=1, axes=2).shape
    (1, 16, 4, 4)
    """
    return _call("roll", threads, x, shifts, axes)


def round(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The nearest integer, ties to even, as `torch.round`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.round(x).shape
    (1, 16, 4, 4)
    """
    return _call("round", threads, x)


def rsqrt(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`1 / sqrt(x)`, as `torch.rsqrt`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.rsqrt(x).shape
    (1, 16, 4, 4)
    """
    return _call("rsqrt", threads, x)


def select(
    x: TensorLike,
    *,
    axis: int,
    index: int,
    threads: int | None = None,
) -> Tensor:
    """The op `select`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.select(x, axis=1, index=0).shape
    (1, 4, 4)
    """
    return _call("select", threads, x, axis, index)


def selu(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """A scaled `elu` with the constants of its paper, as `torch.nn.functional.selu`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.selu(x).shape
    (1, 16, 4, 4)
    """
    return _call("selu", threads, x)


def sigmoid(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`1 / (1 + exp(-x))`, as `torch.sigmoid`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sigmoid(x).shape
    (1, 16, 4, 4)
    """
    return _call("sigmoid", threads, x)


def sign(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """-1, 0 or 1, as `torch.sign`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sign(x).shape
    (1, 16, 4, 4)
    """
    return _call("sign", threads, x)


def silu(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x * sigmoid(x)`, as `torch.nn.functional.silu`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.silu(x).shape
    (1, 16, 4, 4)
    """
    return _call("silu", threads, x)


def sin(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The sine, as `torch.sin`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sin(x).shape
    (1, 16, 4, 4)
    """
    return _call("sin", threads, x)


def slice(
    x: TensorLike,
    *,
    axis: int,
    start: int = 0,
    end: int = 9223372036854775807,
    step: int = 1,
    threads: int | None = None,
) -> Tensor:
    """The op `slice`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.slice(x, axis=1).shape
    (1, 16, 4, 4)
    """
    return _call("slice", threads, x, axis, start, end, step)


def softmax(
    x: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """`exp(x) / sum(exp(x))` along `axis`, as `torch.nn.functional.softmax`.

    The largest element is subtracted first, so that nothing overflows. A line of elements along `axis`
    becomes NaN if all its elements are `-inf`, or if it contains a NaN or `inf`, as in PyTorch.

    Shapes:
        Any `x`; the result has its sizes. A negative `axis` counts from the last.

    Dtypes:
        f32 and bf16; a sum of exponentials is accumulated in f64.

    Errors:
        `InvalidArgument` for an axis that `x` does not have; `UnsupportedDType`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.softmax(x, axis=1).shape
    (1, 16, 4, 4)
    """
    return _call("softmax", threads, x, axis)


def softplus(
    x: TensorLike,
    *,
    beta: float = 1.0,
    threshold: float = 20.0,
    threads: int | None = None,
) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, and `x` where `beta * x > threshold`, as `torch.nn.functional.softplus`;
    PyTorch's defaults are 1 and 20.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.softplus(x).shape
    (1, 16, 4, 4)
    """
    return _call("softplus", threads, x, beta, threshold)


def softsign(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x / (1 + |x|)`, as `torch.nn.functional.softsign`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.softsign(x).shape
    (1, 16, 4, 4)
    """
    return _call("softsign", threads, x)


def sort(
    x: TensorLike,
    *,
    axis: int,
    descending: bool = False,
    threads: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Sorts the elements along an axis, as `torch.sort(stable=True)`: the sorted elements, and the index in `x`
    of each. NaN counts as the largest.

    Shapes:
        Any; both results have the shape of `x`.

    Dtypes:
        f32; the indices are s32.

    Errors:
        `InvalidArgument` for an axis out of range; `Overflow` for an axis longer than s32 can index;
        `UnsupportedOp` on blocked tensors.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> [y.shape for y in bt.ops.sort(x, axis=1)]
    [(1, 16, 4, 4), (1, 16, 4, 4)]
    """
    return _cast("tuple[Tensor, Tensor]", _call("sort", threads, x, axis, descending))


def split(
    x: TensorLike,
    *,
    sizes: int | Sequence[int],
    axis: int = 0,
    threads: int | None = None,
) -> list[Tensor]:
    """Pieces of the given sizes along an axis, as `torch.split`.

    Shapes:
        Any `x`. The sum of `sizes` is the size of `x` along `axis`. A single size stands for as many pieces
        as there are; the last of them may be smaller.

    Dtypes:
        Any.

    Errors:
        `InvalidArgument` for an axis out of range, a single size of 0, or more than 2^20 pieces;
        `ShapeMismatch` for sizes with another sum.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> [y.shape for y in bt.ops.split(x, sizes=[8, 8], axis=1)]
    [(1, 8, 4, 4), (1, 8, 4, 4)]
    """
    return _call_list("split", threads, x, sizes, axis)


def sqrt(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The square root, as `torch.sqrt`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sqrt(x).shape
    (1, 16, 4, 4)
    """
    return _call("sqrt", threads, x)


def square(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`x * x`, as `torch.square`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.square(x).shape
    (1, 16, 4, 4)
    """
    return _call("square", threads, x)


def squeeze(
    x: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """The op `squeeze`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.squeeze(x, axis=0).shape
    (16, 4, 4)
    """
    return _call("squeeze", threads, x, axis)


def stack(
    tensors: Sequence[TensorLike],
    *,
    axis: int = 0,
    threads: int | None = None,
) -> Tensor:
    """Joins tensors of one shape along a new axis, as `torch.stack`.

    Shapes:
        One or more tensors of the same sizes. `axis` is the new axis's number in the result.

    Dtypes:
        Any, the same for all.

    Errors:
        As `cat`; on blocked `InvalidArgument` for an axis before the spatial ones, which would move the
        channels, and `RankMismatch` for a result of rank 6.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.stack([x, x], axis=0).shape
    (2, 1, 16, 4, 4)
    """
    return _call("stack", threads, tensors, axis)


def sub(
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The difference, as `torch.sub`.

    Shapes:
        a: any rank; b: any rank.

    Dtypes:
        a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> a = bt.zeros([1, 16, 4, 4])
    >>> b = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sub(a, b).shape
    (1, 16, 4, 4)
    """
    return _call("sub", threads, a, b)


def sub_scalar(
    x: TensorLike,
    *,
    other: float,
    threads: int | None = None,
) -> Tensor:
    """`x - other`, as `torch.sub` with a number.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sub_scalar(x, other=2.0).shape
    (1, 16, 4, 4)
    """
    return _call("sub_scalar", threads, x, other)


def sum(
    x: TensorLike,
    *,
    axes: int | Sequence[int] = (),
    keepdim: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The sum over `axes`, or over all axes if none are named, as `torch.sum`. The sum of no elements is 0.

    Shapes:
        Any `x`, any axes, each at most once; negative ones count from the last. With `keepdim` the reduced
        axes stay with size 1, else they are removed.

    Dtypes:
        f32 and bf16; accumulated in f64, and rounded to f32 and from there to bf16.

    Errors:
        `InvalidArgument` for an axis that does not exist or is named twice; `OpaqueLayoutError` for a
        blocked `x` without `keepdim`; `UnsupportedDType`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.sum(x).shape
    ()
    """
    return _call("sum", threads, x, axes, keepdim)


def tanh(
    x: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """The hyperbolic tangent, as `torch.tanh`.

    Shapes:
        x: any rank.

    Dtypes:
        x: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.tanh(x).shape
    (1, 16, 4, 4)
    """
    return _call("tanh", threads, x)


def to_dtype(
    x: TensorLike,
    *,
    dtype: str = "f32",
    saturate: bool = False,
    threads: int | None = None,
) -> Tensor:
    """The same numbers with another element type, as `torch.Tensor.to` with a dtype.

    To bf16 and f16: round to nearest, ties to even (from s32 by way of f32). From floating point to
    integers: towards zero; numbers outside the range are clamped and NaN becomes 0 (PyTorch leaves both
    undefined). From integer to integer: the low bits. A tensor that has the dtype is copied; a tensor's own
    `to_dtype` returns it as it is. In a call by name with `saturate`, a finite number beyond the range of
    the result becomes the nearest one in it: without, integers keep their low bits, and numbers of bf16 and
    f16 become infinite.

    Shapes:
        Any. The result has the shape of `x`.

    Dtypes:
        Any. The result is of the one that is named: `f32` (the default), `bf16`, `f16`, `u8`, `s8` or `s32`
        in a call by name.

    Errors:
        `InvalidArgument` for a name of no dtype.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.to_dtype(x).shape
    (1, 16, 4, 4)
    """
    return _call("to_dtype", threads, x, dtype, saturate)


def topk(
    x: TensorLike,
    *,
    k: int,
    axis: int,
    largest: bool = True,
    threads: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) elements along an axis, in order, and the index in `x` of each, as
    `torch.topk`. Equal elements keep the order of `x`. NaN counts as the largest.

    Shapes:
        Any; the results have size `k` along `axis`, and are contiguous.

    Dtypes:
        f32; the indices are s32.

    Errors:
        `InvalidArgument` for an axis out of range or a `k` past its size; `Overflow`; `UnsupportedOp` on
        blocked tensors.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> [y.shape for y in bt.ops.topk(x, k=2, axis=1)]
    [(1, 2, 4, 4), (1, 2, 4, 4)]
    """
    return _cast("tuple[Tensor, Tensor]", _call("topk", threads, x, k, axis, largest))


def transpose(
    x: TensorLike,
    *,
    a: int,
    b: int,
    threads: int | None = None,
) -> Tensor:
    """The op `transpose`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.transpose(x, a=1, b=2).shape
    (1, 4, 16, 4)
    """
    return _call("transpose", threads, x, a, b)


def tril(
    x: TensorLike,
    *,
    diagonal: int = 0,
    threads: int | None = None,
) -> Tensor:
    """The lower triangle of each matrix, as `torch.tril`: elements above the diagonal become zero.

    Shapes:
        `x` [..., rows, columns]; the result has its shape, and is contiguous. `diagonal` 0 is the main
        diagonal, 1 the one above it, -1 the one below.

    Dtypes:
        Any.

    Errors:
        `RankMismatch` for a tensor of fewer than two dimensions; `UnsupportedOp` on blocked tensors.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.tril(x).shape
    (1, 16, 4, 4)
    """
    return _call("tril", threads, x, diagonal)


def triu(
    x: TensorLike,
    *,
    diagonal: int = 0,
    threads: int | None = None,
) -> Tensor:
    """The upper triangle of each matrix, as `torch.triu`: elements below the diagonal become zero.

    Shapes:
        As `tril`.

    Dtypes:
        Any.

    Errors:
        As `tril`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.triu(x).shape
    (1, 16, 4, 4)
    """
    return _call("triu", threads, x, diagonal)


def unsqueeze(
    x: TensorLike,
    *,
    axis: int,
    threads: int | None = None,
) -> Tensor:
    """The op `unsqueeze`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.unsqueeze(x, axis=0).shape
    (1, 1, 16, 4, 4)
    """
    return _call("unsqueeze", threads, x, axis)


def upsample_bilinear(
    x: TensorLike,
    *,
    output: int | Sequence[int] = (),
    scale_d: float = 0.0,
    scale_h: float = 0.0,
    scale_w: float = 0.0,
    recompute_scale_factor: bool = False,
    align_corners: bool = False,
    threads: int | None = None,
) -> Tensor:
    """Linear interpolation along two spatial dimensions, as `torch.nn.functional.interpolate` with mode
    `bilinear`.

    Along each axis, index `i` of the result is at source coordinate `max((i + 0.5) * size / output - 0.5,
    0)`, with `1 / scale` in place of the quotient if a scale is given; with `align_corners` it is at `i *
    (size - 1) / (output - 1)`. The result is the mean of the neighbours on both sides, weighted by their
    closeness.

    Shapes:
        `x` [N, C, H, W]; inputs without a batch are not taken.

    Dtypes:
        f32 and bf16; coordinates are counted in f64.

    Errors:
        As `upsample_nearest`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.upsample_bilinear(x, output=[8, 8]).shape
    (1, 16, 8, 8)
    """
    return _call(
        "upsample_bilinear", threads, x, output, scale_d, scale_h, scale_w, recompute_scale_factor,
        align_corners,
    )


def upsample_linear(
    x: TensorLike,
    *,
    output: int | Sequence[int] = (),
    scale_d: float = 0.0,
    scale_h: float = 0.0,
    scale_w: float = 0.0,
    recompute_scale_factor: bool = False,
    align_corners: bool = False,
    threads: int | None = None,
) -> Tensor:
    """Linear interpolation along one spatial dimension, as `torch.nn.functional.interpolate` with mode
    `linear`.

    Shapes:
        `x` [N, C, W]. All else is as `upsample_bilinear` has it.

    Errors:
        As `upsample_nearest`.

    Dtypes:
        x: f32, bf16.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4])
    >>> bt.ops.upsample_linear(x, output=8).shape
    (1, 16, 8)
    """
    return _call(
        "upsample_linear", threads, x, output, scale_d, scale_h, scale_w, recompute_scale_factor,
        align_corners,
    )


def upsample_nearest(
    x: TensorLike,
    *,
    output: int | Sequence[int] = (),
    scale_d: float = 0.0,
    scale_h: float = 0.0,
    scale_w: float = 0.0,
    recompute_scale_factor: bool = False,
    threads: int | None = None,
) -> Tensor:
    """Nearest-neighbour resampling of 1, 2 or 3 spatial dimensions, as `torch.nn.functional.interpolate` with
    mode `nearest`.

    Index `i` of the result is source index `floor(i * size / output)`, or `floor(i / scale)`, counted in
    f32. In two dimensions, an axis that keeps its size or doubles it takes index `i` or `i / 2`, whatever
    the scale is, as PyTorch does.

    Shapes:
        `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W] with `N` spatial dimensions; inputs without a batch
        are not taken.

    Dtypes:
        Any: elements are copied.

    Errors:
        `RankMismatch`; `InvalidArgument` for an `x` without channels or pixels, a scale that is not a
        positive number, or a result without pixels; `Overflow`, `OutOfMemory`, `LayoutMismatch`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.upsample_nearest(x, scale_h=2.0, scale_w=2.0).shape
    (1, 16, 8, 8)
    """
    return _call("upsample_nearest", threads, x, output, scale_d, scale_h, scale_w, recompute_scale_factor)


def upsample_trilinear(
    x: TensorLike,
    *,
    output: int | Sequence[int] = (),
    scale_d: float = 0.0,
    scale_h: float = 0.0,
    scale_w: float = 0.0,
    recompute_scale_factor: bool = False,
    align_corners: bool = False,
    threads: int | None = None,
) -> Tensor:
    """Linear interpolation along three spatial dimensions, as `torch.nn.functional.interpolate` with mode
    `trilinear`.

    Shapes:
        `x` [N, C, D, H, W]. All else is as `upsample_bilinear` has it.

    Errors:
        As `upsample_nearest`.

    Dtypes:
        x: f32, bf16.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4, 4])
    >>> bt.ops.upsample_trilinear(x, output=[8, 8, 8]).shape
    (1, 16, 8, 8, 8)
    """
    return _call(
        "upsample_trilinear", threads, x, output, scale_d, scale_h, scale_w, recompute_scale_factor,
        align_corners,
    )


def view(
    x: TensorLike,
    *,
    dims: int | Sequence[int],
    threads: int | None = None,
) -> Tensor:
    """The op `view`.

    Shapes:
        x: any rank.

    Dtypes:
        x: any dtype.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> bt.ops.view(x, dims=[16, 16]).shape
    (16, 16)
    """
    return _call("view", threads, x, dims)


def where(
    condition: TensorLike,
    a: TensorLike,
    b: TensorLike,
    *,
    threads: int | None = None,
) -> Tensor:
    """`a` where `condition` is not 0, else `b`, as `torch.where`.

    Shapes:
        condition: any rank; a: any rank; b: any rank.

    Dtypes:
        condition: u8; a: f32, bf16; b: f32, bf16.

    Errors:
        `RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together;
        `UnsupportedDType`; `InvalidArgument`.

    Keys: strided, blocked.

    >>> import blocktensor as bt
    >>> x = bt.zeros([1, 16, 4, 4])
    >>> c = bt.zeros([1, 16, 4, 4], dtype="u8")
    >>> bt.ops.where(c, x, x).shape
    (1, 16, 4, 4)
    """
    return _call("where", threads, condition, a, b)
