"""Calls of PyTorch that are several ops of blocktensor, comparisons, sorting and indexing: entries of the table."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from .._native import Tensor, Var
from ._handles import ACTIVE
from ._told import in_pytorch
from ._values import CHOOSES_INTEGERS, ONLY_RESULTS, TABLE, Builder, Unsupported, Value, aten, held


def filled(x: float) -> torch.Tensor:
    """A constant of one element, which broadcasts."""
    return torch.tensor(float(x))


def number(argument: str, x: Any) -> Any:
    if isinstance(x, Value) or not isinstance(x, (int, float)):
        raise Unsupported(f"argument `{argument}`: got {'a tensor' if isinstance(x, Value) else x}, but it is a number in a plan")
    return x


def filler(x: Value, value: Any) -> Any:
    """What a call fills a tensor with: a number that the tensor holds, or, in a plan, a tensor."""
    if isinstance(value, Value):
        if not isinstance(value.tensor, Tensor) or isinstance(value.tensor, Var) or value.shape:
            return value
        value = value.tensor.item()
    return held(x, number("value", value))


def as_f32(b: Builder, x: Value) -> Value:
    """A mask as ones and zeros."""
    if x.dtype == "bool":
        return b.op("where", condition=x, a=filled(1), b=filled(0))
    if isinstance(x.tensor, Tensor) and x.dtype != "f32":
        is_index = x.dtype == "int64" and ACTIVE.recording is not None
        remedy = f"compute with it in PyTorch: `{in_pytorch('x')}`" if is_index else "convert it with `.float()`"
        raise Unsupported(f"an operand of {x.tensor.dtype}", remedy)
    if x.dtype == "int64":
        raise Unsupported(f"an operand of int64; {ONLY_RESULTS}")
    if x.dtype != "f32":
        raise Unsupported(f"an operand of {x.dtype}; plans compute in f32, convert it with `.float()`")
    return x


def masks(*values: Any) -> bool:
    """Whether these are masks, or True and False."""
    return all(isinstance(x, bool) or getattr(x, "dtype", None) in ("bool", torch.bool) for x in values)


def _choice(b: Builder, mask: Value, x: Any, y: Any) -> Value:
    if masks(x, y):
        x, y = (as_f32(b, one) if isinstance(one, Value) else filled(one) for one in (x, y))
        return b.op("ne_scalar", x=b.op("where", condition=mask, a=x, b=y), other=0.0)
    indices = [one for one in (x, y) if isinstance(one, Value) and one.dtype == "int64" and not isinstance(one.tensor, Tensor)]
    if indices:
        is_constant = all(isinstance(one.tensor, torch.Tensor) for one in indices)
        raise Unsupported(f"a choice of int64; {'convert it with `.float()`' if is_constant else ONLY_RESULTS}")
    if any(isinstance(one, Value) and one.dtype == "bool" for one in (x, y)):
        # Beside f32: other results are no f32, which `Lowering` and `_check_choice` find.
        x, y = (as_f32(b, one) if isinstance(one, Value) else one for one in (x, y))
    x, y = (one if isinstance(one, (Value, torch.Tensor)) else filled(number("other", one)) for one in (x, y))
    if mask.dtype != "bool" and not isinstance(mask.tensor, torch.Tensor):
        mask = b.op("ne_scalar", x=mask, other=0.0)
    return b.op("where", condition=mask, a=x, b=y)


def alike(b: Builder, tensors: Sequence[Value]) -> list[Any]:
    """Tensors of one list: masks and constants as f32, if they are not alone."""
    if len({x.dtype for x in tensors}) < 2:
        return list(tensors)
    return [x.tensor.float() if isinstance(x.tensor, torch.Tensor) and x.dtype == "int64" else as_f32(b, x) for x in tensors]


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """What `torch.norm` does of strided tensors. Its own code asks for the layout first."""
    dims = [dim] if isinstance(dim, int) else dim
    more = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    if p == "fro" and (dims is None or len(dims) <= 2):
        p = 2
    if isinstance(p, str):
        return torch.linalg.matrix_norm(input, p, list(range(input.ndim)) if dims is None else dims, keepdim, **more)
    return torch.linalg.vector_norm(input, 2 if p is None else p, dims, keepdim, **more)


def axes_of(dim: Any) -> list[int]:
    return [dim] if isinstance(dim, int) else list(dim or ())


# Comparisons.


def _comparison(op: str) -> Callable[..., Value]:
    def compare(b: Builder, x: Value, y: Any) -> Value:
        return b.op(op, a=x, b=y) if isinstance(y, Value) else b.op(f"{op}_scalar", x=x, other=number("other", y))

    return compare


for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    TABLE[_op] = _comparison(_op)
for _op, _long in (("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    TABLE[_long] = TABLE[_op]


@aten("isnan")
def isnan(b: Builder, x: Value) -> Value:
    return b.op("ne", a=x, b=x)


@aten("isinf", "isfinite")
def isinf(b: Builder, x: Value) -> Value:
    return b.op("eq_scalar" if b.name == "isinf" else "lt_scalar", x=b.op("abs", x=x), other=math.inf)


def _truth(b: Builder, x: Value) -> Value:
    """Ones and zeros: 1 where the element is true."""
    return as_f32(b, x if x.dtype == "bool" else b.op("ne_scalar", x=x, other=0.0))


def _only_masks(b: Builder, *values: Any) -> None:
    if b.name.startswith(("bitwise", "__")) and not masks(*values):
        raise Unsupported("bits of integers", "pass masks, or True and False")


def _logic(b: Builder, op: str, x: Any, y: Any) -> Value:
    """What an op makes of two masks, as a mask. One of them may be a number."""
    _only_masks(b, x, y)
    x, y = (x, y) if isinstance(x, Value) else (y, x)
    if isinstance(y, Value):
        return b.op("ne_scalar", x=b.op(op, a=_truth(b, x), b=_truth(b, y)), other=0.0)
    return b.op("ne_scalar", x=b.op(f"{op}_scalar", x=_truth(b, x), other=float(bool(y))), other=0.0)


@aten("logical_not", "bitwise_not")
def logical_not(b: Builder, x: Value) -> Value:
    _only_masks(b, x)
    return b.op("eq_scalar", x=_truth(b, x), other=0.0)


@aten("logical_and", "bitwise_and", "__and__")
def logical_and(b: Builder, x: Any, y: Any) -> Value:
    return _logic(b, "mul", x, y)


@aten("logical_or", "bitwise_or", "__or__")
def logical_or(b: Builder, x: Any, y: Any) -> Value:
    return _logic(b, "add", x, y)


@aten("logical_xor", "bitwise_xor", "__xor__")
def logical_xor(b: Builder, x: Any, y: Any) -> Value:
    return _logic(b, "sub", x, y)


@aten("where")
def where(b: Builder, condition: Value, x: Any = None, y: Any = None) -> Value:
    if x is None or y is None:
        raise Unsupported("`where` of a condition alone has sizes that depend on data; pass both values")
    is_whole = [isinstance(one, int) or (isinstance(one, Value) and one.dtype == "bool") for one in (x, y)]
    if all(is_whole) and not masks(x, y):
        raise Unsupported(CHOOSES_INTEGERS)
    return _choice(b, condition, x, y)


@aten("masked_fill")
def masked_fill(b: Builder, x: Value, mask: Value, value: Any) -> Value:
    value = filler(x, value)
    if x.dtype == "bool" and not isinstance(value, Value):
        value = bool(value)
    return _choice(b, mask, value, x)


@aten("tril", "triu")
def triangle(b: Builder, x: Value, diagonal: int = 0) -> Value:
    if isinstance(x.tensor, Tensor):
        return b.op(b.name, x=x, diagonal=diagonal)
    # `tril` has no blocked kernel, and a plan may choose to block it.
    inside = getattr(torch, b.name)(torch.ones(x.shape[-2:]), diagonal) != 0
    return b.op("where", condition=inside, a=x, b=filled(0))


# Functions of one tensor.


@aten("celu")
def celu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    return b.op("celu", x=x, alpha=alpha)


@aten("logit", "special_logit")
def logit(b: Builder, x: Value, eps: float | None = None) -> Value:
    return b.op("logit", x=x, **({} if eps is None else {"eps": eps}))


@aten("threshold")
def threshold(b: Builder, x: Value, threshold: float, value: float) -> Value:
    return _choice(b, b.op("le_scalar", x=x, other=threshold), value, x)


@aten("hardshrink")
def hardshrink(b: Builder, x: Value, lambd: float = 0.5) -> Value:
    return _choice(b, b.op("le_scalar", x=b.op("abs", x=x), other=lambd), 0, x)


@aten("softshrink")
def softshrink(b: Builder, x: Value, lambd: float = 0.5) -> Value:
    return b.op("sub", a=x, b=b.op("clamp", x=x, min=-lambd, max=lambd))


@aten("log_sigmoid")
def log_sigmoid(b: Builder, x: Value) -> Value:
    return b.op("neg", x=b.op("softplus", x=b.op("neg", x=x)))


@aten("rrelu")
def rrelu(b: Builder, x: Value, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Value:
    return b.op("leaky_relu", x=x, slope=(lower + upper) / 2)


@aten("log2", "log10")
def log_base(b: Builder, x: Value) -> Value:
    return b.op("mul_scalar", x=b.op("log", x=x), other=1 / math.log(2 if b.name == "log2" else 10))


@aten("exp2")
def exp2(b: Builder, x: Value) -> Value:
    return b.op("pow", a=filled(2), b=x)


@aten("tan")
def tan(b: Builder, x: Value) -> Value:
    return b.op("div", a=b.op("sin", x=x), b=b.op("cos", x=x))


@aten("trunc", "fix")
def trunc(b: Builder, x: Value) -> Value:
    return _choice(b, b.op("lt_scalar", x=x, other=0.0), b.op("ceil", x=x), b.op("floor", x=x))


@aten("glu")
def glu(b: Builder, x: Value, dim: int = -1) -> Value:
    left, right = b.ops("chunk", 2, x=x, chunks=2, axis=dim)
    return b.op("mul", a=left, b=b.op("sigmoid", x=right))


# Functions of several tensors.


@aten("rsub")
def rsub(b: Builder, x: Value, other: Any, alpha: float = 1) -> Value:
    x = as_f32(b, x)
    x = x if alpha == 1 else b.op("mul_scalar", x=x, other=alpha)
    if isinstance(other, Value):
        return b.op("sub", a=as_f32(b, other), b=x)
    return b.op("add_scalar", x=b.op("neg", x=x), other=number("other", other))


@aten("addcmul", "addcdiv")
def addc(b: Builder, x: Value, first: Value, second: Value, *, value: float = 1) -> Value:
    made = b.op(b.name.removeprefix("addc"), a=first, b=second)
    return b.op("add", a=x, b=made if value == 1 else b.op("mul_scalar", x=made, other=value))


@aten("lerp")
def lerp(b: Builder, x: Value, end: Value, weight: Any) -> Value:
    way = b.op("sub", a=end, b=x)
    if isinstance(weight, Value):
        return b.op("add", a=x, b=b.op("mul", a=way, b=weight))
    if weight < 0.5:
        return b.op("add", a=x, b=b.op("mul_scalar", x=way, other=weight))
    return b.op("sub", a=end, b=b.op("mul_scalar", x=way, other=1 - weight))


@aten("addmm", "baddbmm", "addmv", "addbmm")
def addmm(b: Builder, x: Value, first: Value, second: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    if b.name == "addbmm":
        raise Unsupported("a sum of products over a batch; write it as matmul and sum")
    made = b.op("matmul", a=first, b=second)
    made = made if alpha == 1 else b.op("mul_scalar", x=made, other=alpha)
    if beta == 0:
        # PyTorch does not read the first operand then: NaN in it is not passed on.
        return made
    return b.op("add", a=x if beta == 1 else b.op("mul_scalar", x=x, other=beta), b=made)


@aten("mv", "dot")
def product(b: Builder, x: Value, y: Value) -> Value:
    return b.op("matmul", a=x, b=y)


# Norms and reductions.


@aten("var", "std", "var_mean", "std_mean")
def variance(
    b: Builder, x: Value, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """The sum of squares is divided by the number of elements less the correction."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = axes_of(dim) or list(range(len(x.shape)))
    if correction is None:
        correction = 0 if unbiased is False else 1
    count = float(max(math.prod(x.shape[axis] for axis in axes) - correction, 0))

    def reduced(op: str, x: Value) -> Value:
        return b.op(op, x=x, axes=axes, keepdim=True)

    mean = reduced("mean", x)
    apart, largest = b.op("sub", a=x, b=mean), None
    if b.name.startswith("std"):
        # PyTorch sums in f64: squares of 1e20 and of 1e-25 are outside of f32, where their deviation is not.
        largest = b.op("clamp", x=reduced("amax", b.op("abs", x=apart)), min=1e-30, max=3e38)
        apart = b.op("div", a=apart, b=largest)
    total = reduced("sum", b.op("square", x=apart))
    made = b.op("div_scalar", x=total, other=count)
    if largest is not None:
        made = b.op("mul", a=b.op("sqrt", x=made), b=largest)
    results = [made]
    if b.name.endswith("_mean"):
        # The mean beside a variance is NaN where elements are infinite.
        results.append(b.op("where", condition=b.op("ne", a=total, b=total), a=total, b=mean))
    if not keepdim:
        results = [b.op("view", x=one, dims=b.result_shape()) for one in results]
    return results if len(results) > 1 else results[0]


@aten("any", "all")
def truth_of_all(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    # Sums are defined of no elements too, and none of ones rounds to 0. All are true where none is not.
    is_any = b.name == "any"
    found = b.op("sum", x=_truth(b, x if is_any else logical_not(b, x)), axes=axes_of(dim), keepdim=keepdim)
    return b.op("ne_scalar" if is_any else "eq_scalar", x=found, other=0.0)


@aten("logsumexp")
def logsumexp(b: Builder, x: Value, dim: Any, keepdim: bool = False) -> Value:
    def largest(keepdim: bool) -> Value:
        found = b.op("amax", x=x, axes=axes_of(dim), keepdim=keepdim)
        # An infinity is not subtracted from itself.
        return _choice(b, b.op("eq_scalar", x=b.op("abs", x=found), other=math.inf), 0, found)

    powers = b.op("exp", x=b.op("sub", a=x, b=largest(True)))
    total = b.op("log", x=b.op("sum", x=powers, axes=axes_of(dim), keepdim=keepdim))
    return b.op("add", a=total, b=largest(keepdim))


@aten("argmax", "argmin")
def argmax(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    x = x if b.name == "argmax" else b.op("neg", x=x)
    return b.op("argmax", x=x, axis=axes_of(dim), keepdim=keepdim)


@aten("max", "min")
def extreme(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    if isinstance(dim, Value):
        return b.op(f"{b.name}imum", a=x, b=dim)
    values = b.op(f"a{b.name}", x=x, axes=axes_of(dim), keepdim=keepdim)
    if dim is None:
        return values
    source = x if b.name == "max" else b.op("neg", x=x)
    return [values, b.op("argmax", x=source, axis=axes_of(dim), keepdim=keepdim)]


@aten("cumsum")
def cumsum(b: Builder, x: Value, dim: int, *, dtype: Any = None) -> Value:
    return b.op("cumsum", x=x, axis=dim)


@aten("sort")
def sort(b: Builder, x: Value, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> list[Value]:
    return b.ops("sort", 2, x=x, axis=dim, descending=descending)


@aten("argsort")
def argsort(b: Builder, x: Value, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Value:
    return b.ops("sort", 2, x=x, axis=dim, descending=descending)[1]


@aten("topk")
def topk(b: Builder, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    return b.ops("topk", 2, x=x, k=k, axis=dim, largest=largest)


# Indexing and moving elements.


def _positive(index: Value, size: int) -> Any:
    """A constant index without negative numbers: those count from the end. Computed ones are never negative."""
    if isinstance(index.tensor, torch.Tensor):
        return torch.where(index.tensor < 0, index.tensor + size, index.tensor).long()
    return index


@aten("index_select")
def index_select(b: Builder, x: Value, dim: int, index: Value) -> Value:
    return b.op("index_select", x=x, index=index, axis=dim)


@aten("gather")
def gather(b: Builder, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    return b.op("gather", x=x, index=index, axis=dim)


@aten("index")
def index(b: Builder, x: Value, indices: Sequence[Value | None]) -> Value:
    given = [(axis, one) for axis, one in enumerate(indices) if one is not None]
    if len(given) != 1:
        raise Unsupported(f"{len(given)} index tensors at once; index one axis after the other")
    axis, one = given[0]
    if one.dtype == "bool":
        raise Unsupported("an index that is a mask has sizes that depend on data; use `torch.where`")
    return _selected(b, x, axis, one)


@aten("embedding")
def embedding(
    b: Builder, weight: Value, indices: Value, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Value:
    return _selected(b, weight, 0, indices)


def _selected(b: Builder, x: Value, axis: int, one: Value) -> Value:
    """The parts along an axis that an index of any rank names."""
    chosen = _positive(one, x.shape[axis])
    if len(one.shape) == 1:
        return b.op("index_select", x=x, index=chosen, axis=axis)
    count = math.prod(one.shape)
    flat = chosen.reshape(-1) if isinstance(chosen, torch.Tensor) else b.op("view", x=chosen, dims=[count])
    made = b.op("index_select", x=x, index=flat, axis=axis)
    return b.op("view", x=made, dims=[*x.shape[:axis], *one.shape, *x.shape[axis + 1 :]])


@aten("repeat", "tile")
def repeat(b: Builder, x: Value, repeats: Sequence[int]) -> Value:
    rank = max(len(x.shape), len(repeats))
    times = [1] * (rank - len(repeats)) + list(repeats)
    if not all(times):
        raise Unsupported("a repeat of 0 times, which leaves no elements")
    made = x if rank == len(x.shape) else b.op("view", x=x, dims=[1] * (rank - len(x.shape)) + list(x.shape))
    for axis, n in enumerate(times):
        made = made if n == 1 else b.op("cat", tensors=[made] * n, axis=axis)
    return made


@aten("repeat_interleave")
def repeat_interleave(b: Builder, x: Value, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Value:
    number("repeats", repeats)
    if dim is None:
        count = math.prod(x.shape)
        x, dim = replace(b.op("view", x=x, dims=[count]), shape=(count,)), 0
    order = torch.arange(x.shape[dim]).repeat_interleave(repeats)
    return b.op("index_select", x=x, index=order, axis=dim)


@aten("hstack", "vstack")
def stacked(b: Builder, tensors: Sequence[Value]) -> Value:
    tensors, rank = alike(b, tensors), len(tensors[0].shape)
    if rank < 2 and (b.name == "vstack" or rank == 0):
        raise Unsupported("a stack of vectors; use `torch.stack`")
    return b.op("cat", tensors=tensors, axis=1 if b.name == "hstack" and rank > 1 else 0)


@aten("movedim", "moveaxis")
def movedim(b: Builder, x: Value, source: Any, destination: Any) -> Value:
    rank = len(x.shape)
    if rank == 0:
        return x
    taken = {d % rank: s % rank for s, d in zip(axes_of(source), axes_of(destination), strict=True)}
    rest = iter(axis for axis in range(rank) if axis not in taken.values())
    return b.op("permute", x=x, axes=[taken[d] if d in taken else next(rest) for d in range(rank)])


@aten("grid_sampler")
def grid_sample(b: Builder, x: Value, grid: Value, mode: int, padding_mode: int, align_corners: bool) -> Value:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return b.op(
        "grid_sample", x=x, grid=grid, mode=modes[mode], padding_mode=paddings[padding_mode], align_corners=align_corners
    )


# Calls without an effect: what they check is what `torch.export` found.


@aten("_assert_tensor_metadata")
def nothing(b: Builder, *args: Any, **options: Any) -> None:
    return None
