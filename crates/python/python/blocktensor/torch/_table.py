"""What each call of PyTorch becomes: a table from aten ops to ops of blocktensor.

Each function takes the builder, then the call's arguments; tensors are values of the builder. It raises `Unsupported` for
arguments that no op has.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import _scatter as _scatter  # adds its entries to the table
from . import _windows as _windows  # the same
from ._compose import alike, as_f32, filled, masks, number
from ._values import TABLE as TABLE
from ._values import OF_THE_BATCH, ONLY_RESULTS, Builder, Unsupported, Value, aten, held, pair

# Ops that take one tensor and no parameters, under the same name.
for _name in (
    "relu relu6 sigmoid tanh hardswish hardsigmoid silu mish softsign exp log sqrt rsqrt abs neg square reciprocal floor ceil "
    "round sin cos erf sign selu"
).split():

    def _plain(b: Builder, x: Value, _op: str = _name) -> Value:
        return b.op(_op, x=x)

    TABLE[_name] = _plain


@aten("alias", "contiguous", "clone", "detach", "lift_fresh_copy")
def identity(b: Builder, x: Value, **options: Any) -> Value:
    return x


@aten("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
def dropout(b: Builder, x: Value, p: float, train: bool) -> Value:
    if train:
        raise Unsupported("dropout in training mode; call `model.eval()`")
    return x


_INTEGERS = {"int64", "torch.int32", "torch.int16", "torch.int8", "torch.uint8"}


@aten("to", "_to_copy", "type_as")
def to(b: Builder, x: Value, *args: Any, **options: Any) -> Value:
    wanted = b.result_dtype()
    if x.dtype == wanted:
        return x
    if x.dtype == "bool" and wanted == "f32":
        return as_f32(b, x)
    if x.dtype == "f32" and wanted == "bool":
        return b.op("ne_scalar", x=x, other=0.0)
    if x.dtype == "int64":
        raise Unsupported(f"a conversion from int64 to {wanted}; {ONLY_RESULTS}")
    if wanted in _INTEGERS:
        # Class ids and the like.
        raise Unsupported(f"a conversion from {x.dtype} to {wanted}; plans compute in f32, and indices are PyTorch's")
    raise Unsupported(f"a conversion from {x.dtype} to {wanted}; plans compute in f32, leave it out")


@aten("batch_norm", "instance_norm")
def batch_norm(
    b: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    uses_own: bool,
    momentum: float,
    eps: float,
    cudnn: bool = False,
) -> Value:
    """With statistics of the input itself, or with those that were kept."""
    if not uses_own and mean is not None and var is not None:
        return b.op("batch_norm", x=x, mean=mean, var=var, weight=weight, bias=bias, eps=eps)
    if b.name == "instance_norm":
        return b.op("instance_norm", x=x, weight=weight, bias=bias, eps=eps)
    raise Unsupported(OF_THE_BATCH)


@aten("layer_norm")
def layer_norm(
    b: Builder,
    x: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn: bool = False,
) -> Value:
    sizes = list(normalized_shape)
    if len(sizes) == 1 or weight is None and bias is None:
        return b.op("layer_norm", x=x, weight=weight, bias=bias, normalized_shape=sizes, eps=eps)
    # Weights of several axes are those of one axis that holds them all.
    dims, count = b.result_shape(), math.prod(sizes)
    rows = b.op("view", x=x, dims=[*dims[: len(dims) - len(sizes)], count])
    flat = [None if y is None else b.op("view", x=y, dims=[count]) for y in (weight, bias)]
    made = b.op("layer_norm", x=rows, weight=flat[0], bias=flat[1], normalized_shape=[count], eps=eps)
    return b.op("view", x=made, dims=dims)


@aten("group_norm")
def group_norm(
    b: Builder,
    x: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn: bool = False,
) -> Value:
    return b.op("group_norm", x=x, weight=weight, bias=bias, groups=num_groups, eps=eps)


@aten("linear")
def linear(b: Builder, x: Value, weight: Value, bias: Value | None = None) -> Value:
    return b.op("linear", x=x, weights=weight, bias=bias)


@aten("matmul", "bmm", "mm")
def matmul(b: Builder, x: Value, other: Value) -> Value:
    return b.op("matmul", a=x, b=other)


@aten("einsum")
def einsum(b: Builder, equation: str, operands: Sequence[Value], *, path: Any = None) -> Value:
    """A product of two operands with one contracted axis: any batch, rows and columns."""
    left, result = equation.replace(" ", "").split("->") if "->" in equation else (equation, "")
    terms = left.split(",")
    if "," not in left and len(set(left)) == len(left) and sorted(left) == sorted(result):
        raise Unsupported(f"the equation `{equation}`; write it as permute")
    if len(terms) != 2 or "." in equation or any(len(set(term)) != len(term) for term in [*terms, result]):
        raise Unsupported(f"the equation `{equation}`; write it as matmul")
    x, y = terms
    batch = [c for c in result if c in x and c in y]
    rows, columns = [c for c in result if c not in y], [c for c in result if c not in x]
    inner = [c for c in x if c in y and c not in result]
    if not len(rows) == len(columns) == len(inner) == 1 or len(x) != len(batch) + 2 or len(y) != len(batch) + 2:
        raise Unsupported(f"the equation `{equation}`; write it as matmul")

    def ordered(value: Value, have: str, want: list[str]) -> Value:
        return value if list(have) == want else b.op("permute", x=value, axes=[have.index(c) for c in want])

    product = b.op(
        "matmul",
        a=ordered(operands[0], x, batch + rows + inner),
        b=ordered(operands[1], y, batch + inner + columns),
    )
    return ordered(product, "".join(batch + rows + columns), list(result))


@aten("scaled_dot_product_attention")
def attention(
    b: Builder,
    q: Value,
    k: Value,
    v: Value,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    dropped: Callable[..., Value] | None = None,
) -> Value:
    """`dropped` is what training makes of the weights."""
    if enable_gqa or dropout_p and dropped is None:
        raise Unsupported("grouped attention, or attention with dropout; write it as matmul and softmax")
    weights = _attention_weights(b, q, k, attn_mask, is_causal, scale)
    if dropped is not None and dropout_p:
        weights = dropped(b, "dropout", weights, dropout_p)
    return b.op("matmul", a=weights, b=v)


def _attention_weights(b: Builder, q: Value, k: Value, attn_mask: Any, is_causal: bool, scale: float | None) -> Value:
    """What attention multiplies its values by."""
    if is_causal:
        attn_mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    rank = len(k.shape)
    keys = b.op("transpose", x=k, a=rank - 2, b=rank - 1)
    scores = b.op("matmul", a=q, b=keys)
    scores = b.op("mul_scalar", x=scores, other=1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if attn_mask is None:
        return b.op("softmax", x=scores, axis=rank - 1)
    if getattr(attn_mask, "dtype", None) in ("bool", torch.bool):
        scores = b.op("where", condition=attn_mask, a=scores, b=filled(-math.inf))
    else:
        scores = b.op("add", a=scores, b=attn_mask)
    # A row that is masked everywhere has no weights: the softmax alone makes it NaN.
    masked = b.op("eq_scalar", x=scores, other=-math.inf)
    return b.op("where", condition=masked, a=filled(0.0), b=b.op("softmax", x=scores, axis=rank - 1))


@aten("hardtanh", "clamp", "clip")
def clamp(b: Builder, x: Value, low: Any = None, high: Any = None) -> Value:
    if isinstance(low, Value) or isinstance(high, Value):
        x = x if low is None else b.op("maximum", a=x, b=low)
        return x if high is None else b.op("minimum", a=x, b=high)
    if b.name == "hardtanh":
        low, high = (-1.0 if low is None else low), (1.0 if high is None else high)
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    return b.op("clamp", x=x, min=low, max=high)


@aten("clamp_min", "clamp_max")
def clamp_one(b: Builder, x: Value, bound: Any) -> Value:
    if isinstance(bound, Value):
        return b.op("maximum" if b.name == "clamp_min" else "minimum", a=x, b=bound)
    return b.op("clamp", x=x, **{b.name.removeprefix("clamp_"): bound})


@aten("linalg_vector_norm", "norm")
def vector_norm(b: Builder, x: Value, ord: Any = 2, dim: Any = (), keepdim: bool = False, *, dtype: Any = None) -> Value:
    axes = [dim] if isinstance(dim, int) else list(dim or ())
    if ord in (1, math.inf, -math.inf):
        op = {1: "sum", math.inf: "amax", -math.inf: "amin"}[ord]
        return b.op(op, x=b.op("abs", x=x), axes=axes, keepdim=keepdim)
    if ord not in (2, None):
        raise Unsupported(f"argument `ord`: got {ord}; write the norm with powers and sums")
    return b.op("sqrt", x=b.op("sum", x=b.op("square", x=x), axes=axes, keepdim=keepdim))


@aten("gelu")
def gelu(b: Builder, x: Value, approximate: str = "none") -> Value:
    return b.op("gelu" if approximate == "none" else "gelu_tanh", x=x)


@aten("leaky_relu")
def leaky_relu(b: Builder, x: Value, slope: float = 0.01) -> Value:
    return b.op("leaky_relu", x=x, slope=slope)


@aten("elu")
def elu(b: Builder, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    if scale != 1 or input_scale != 1:
        raise Unsupported("elu with scales")
    return b.op("elu", x=x, alpha=alpha)


@aten("prelu")
def prelu(b: Builder, x: Value, weight: Value) -> Value:
    return b.op("prelu", x=x, weights=weight)


@aten("softplus")
def softplus(b: Builder, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    return b.op("softplus", x=x, beta=beta, threshold=threshold)


@aten("softmax", "log_softmax")
def softmax(b: Builder, x: Value, dim: int, dtype: Any = None) -> Value:
    return b.op(b.name, x=x, axis=dim)


def _binary(op: str) -> Callable[..., Value]:
    def binary(b: Builder, x: Any, y: Any, alpha: float = 1) -> Value:
        x, y = (as_f32(b, one) if isinstance(one, Value) else one for one in (x, y))
        if not isinstance(x, Value):
            if op not in ("add", "mul"):
                return b.op(op, a=filled(number("self", x)), b=y)
            x, y = y, x
        if isinstance(y, Value):
            y = y if alpha == 1 else b.op("mul_scalar", x=y, other=alpha)
            return b.op(op, a=x, b=y)
        return b.op(f"{op}_scalar", x=x, other=number("other", y) * alpha)

    return binary


for _name in ("add", "sub", "mul", "pow"):
    TABLE[_name] = _binary(_name)
_divided = _binary("div")


@aten("div")
def div(b: Builder, x: Any, y: Any, *, rounding_mode: str | None = None) -> Value:
    if rounding_mode is not None:
        raise Unsupported(f"argument `rounding_mode`: got {rounding_mode!r}, and no op of blocktensor rounds a quotient")
    return _divided(b, x, y)


TABLE |= {"subtract": TABLE["sub"], "multiply": TABLE["mul"], "divide": TABLE["div"], "true_divide": TABLE["div"]}


@aten("maximum", "minimum")
def extremum(b: Builder, x: Any, y: Any) -> Value:
    is_mask = masks(x, y)
    x, y = (as_f32(b, one) if isinstance(one, Value) else filled(number("other", one)) for one in (x, y))
    made = b.op(b.name, a=x, b=y)
    return b.op("ne_scalar", x=made, other=0.0) if is_mask else made


@aten("mean", "sum", "amax", "amin", "prod")
def reduce(b: Builder, x: Value, dim: Any = (), keepdim: bool = False, *, dtype: Any = None) -> Value:
    axes = [dim] if isinstance(dim, int) else list(dim or ())
    return b.op(b.name, x=x, axes=axes, keepdim=keepdim)


@aten("flatten", "view", "reshape", "unflatten", "_unsafe_view", "view_as", "reshape_as", "squeeze")
def reshape(b: Builder, x: Value, *args: Any, **options: Any) -> Value:
    # In a plan a view of what is no view is a copy of its own, and passes look for views.
    return b.op("view", x=x, dims=b.result_shape())


@aten("unsqueeze")
def unsqueeze(b: Builder, x: Value, dim: int) -> Value:
    return b.op("unsqueeze", x=x, axis=dim)


@aten("permute")
def permute(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    return b.op("permute", x=x, axes=list(dims))


@aten("transpose", "swapaxes", "swapdims")
def transpose(b: Builder, x: Value, dim0: int, dim1: int) -> Value:
    return b.op("transpose", x=x, a=dim0, b=dim1)


@aten("t", "numpy_T")
def matrix_transpose(b: Builder, x: Value) -> Value:
    rank = len(x.shape)
    return b.op("permute", x=x, axes=list(reversed(range(rank)))) if rank > 1 else x


@aten("mT", "adjoint")
def last_transpose(b: Builder, x: Value) -> Value:
    return b.op("transpose", x=x, a=-2, b=-1)


@aten("expand", "expand_as", "broadcast_to")
def expand(b: Builder, x: Value, size: Any = None, *, implicit: bool = False) -> Value:
    return b.op("expand", x=x, dims=b.result_shape())


@aten("cat", "stack")
def cat(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    return b.op(b.name, tensors=alike(b, tensors), axis=dim)


@aten("chunk")
def chunk(b: Builder, x: Value, chunks: int, dim: int = 0) -> list[Value]:
    return b.ops("chunk", len(b.result_shapes()), x=x, chunks=chunks, axis=dim)


@aten("split", "split_with_sizes")
def split(b: Builder, x: Value, size: Any, dim: int = 0) -> list[Value]:
    sizes = [shape[dim] for shape in b.result_shapes()]
    return b.ops("split", len(sizes), x=x, sizes=sizes, axis=dim)


@aten("unbind")
def unbind(b: Builder, x: Value, dim: int = 0) -> list[Value]:
    return [b.op("select", x=x, axis=dim, index=i) for i in range(x.shape[dim])]


@aten("getitem")
def getitem(b: Builder, values: Sequence[Value | None], index: int) -> Value:
    value = values[index]
    if value is None:
        raise Unsupported("the indices of a pool, which plans do not compute; use the values alone")
    return value


@aten("slice")
def slice_(b: Builder, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    size = x.shape[dim]
    if (start in (None, 0)) and (end is None or end >= size) and step == 1:
        return x
    return b.op("slice", x=x, axis=dim, start=start or 0, end=min(end, size) if end is not None else size, step=step)


@aten("select")
def select(b: Builder, x: Value, dim: int, index: int) -> Value:
    return b.op("select", x=x, axis=dim, index=index)


@aten("roll")
def roll(b: Builder, x: Value, shifts: Any, dims: Any = ()) -> Value:
    if not dims:
        flat = b.op("view", x=x, dims=[math.prod(x.shape)])
        return b.op("view", x=b.op("roll", x=flat, shifts=pair(shifts, 1), axes=[0]), dims=list(x.shape))
    return b.op("roll", x=x, shifts=pair(shifts, 1), axes=pair(dims, 1))


@aten("narrow")
def narrow(b: Builder, x: Value, dim: int, start: int, length: int) -> Value:
    return b.op("narrow", x=x, axis=dim, start=number("start", start), length=length)


@aten("flip")
def flip(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    return b.op("flip", x=x, axes=list(dims))


@aten("pad", "constant_pad_nd")
def pad(b: Builder, x: Value, pad: Sequence[int], *options: Any) -> Value:
    mode, value = ("constant", options[0] if options else 0.0) if b.name == "constant_pad_nd" else (*options, None, None)[:2]
    if not any(pad):
        return x
    mode = mode or "constant"
    if mode != "constant" or value is None:
        return b.op("pad", x=x, padding=list(pad), mode=mode, value=0.0)
    return b.op("pad", x=x, padding=list(pad), mode=mode, value=held(x, number("value", value)))


@aten("pixel_shuffle", "pixel_unshuffle")
def pixel_shuffle(b: Builder, x: Value, factor: int) -> Value:
    return b.op(b.name, x=x, factor=factor)


@aten("channel_shuffle")
def channel_shuffle(b: Builder, x: Value, groups: int) -> Value:
    return b.op("channel_shuffle", x=x, groups=groups)


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(b: Builder, x: Value, output_size: Any = None, *scales: Any) -> Value:
    return b.op("upsample_nearest", x=x, **_resampled(b, x, output_size, scales))


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear(b: Builder, x: Value, output_size: Any, align_corners: bool, *scales: Any) -> Value:
    op = {3: "upsample_linear", 4: "upsample_bilinear", 5: "upsample_trilinear"}[len(x.shape)]
    return b.op(op, x=x, align_corners=align_corners, **_resampled(b, x, output_size, scales))


def _resampled(b: Builder, x: Value, output_size: Any, scales: Sequence[Any]) -> dict[str, Any]:
    """Where to: sizes, or the factors that PyTorch computes coordinates with."""
    factors = scales[0] if scales and isinstance(scales[0], (list, tuple)) else [s for s in scales if s is not None]
    if output_size is None and factors:
        names = ["scale_d", "scale_h", "scale_w"][-len(factors) :]
        return dict(zip(names, map(float, factors), strict=True))
    return {"output": b.result_shape()[2:]}
