"""How a sample of PyTorch's OpInfo becomes a call by name of this library. Used by `opinfo_samples.py`.

`MAPPERS` has a function for each OpInfo that corresponds to an op here. It takes the sample's arguments under PyTorch's names, and
returns a `Call`. It raises `Unmapped` with a reason for what the op here cannot be asked for. An OpInfo may have several mappers:
`max_pool` samples of one kind, for instance, may be calls of two ops.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import torch


class Unmapped(Exception):
    """A sample that no call here corresponds to; the text is the reason."""


@dataclass
class Call:
    op: str
    tensors: dict
    params: dict = field(default_factory=dict)
    # Takes a function that converts a tensor to float64, and returns PyTorch's results. Without it: the OpInfo's own call.
    answer: Optional[Callable] = None
    # Numbers of results that are compared with nothing, because PyTorch leaves them open.
    open_results: tuple = ()


MAPPERS: dict[str, list[Callable[..., Call]]] = {}


def maps(*names):
    """Makes a function the mapper of OpInfos: `name`, or `name|variant`."""

    def add(function):
        for name in names:
            MAPPERS.setdefault(name, []).append(function)
        return function

    return add


def refuse(condition, reason):
    if condition:
        raise Unmapped(reason)


def number(value) -> float:
    refuse(not isinstance(value, (int, float)), "a complex number or a tensor where the op here takes a number")
    return float(value)


def integer(value) -> int:
    refuse(isinstance(value, torch.Tensor), "a tensor where the op here takes an integer")
    refuse(isinstance(value, float), "a float where the op here takes an integer")
    return int(value)


def ints(value) -> list[int]:
    """Axes or sizes; PyTorch takes one integer for a list of one."""
    return [integer(v) for v in value] if isinstance(value, (list, tuple)) else [integer(value)]


def given(**params):
    """The parameters that are not None."""
    return {name: value for name, value in params.items() if value is not None}


def flag(value):
    return bool(value)


# Unary


def unary(op):
    def mapper(input):
        return Call(op, {"x": input})

    return mapper


PLAIN_UNARY = [
    "abs", "ceil", "cos", "erf", "exp", "floor", "log", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt",
    "square", "tanh",
]  # fmt: skip
for _name in PLAIN_UNARY:
    maps(_name)(unary(_name))
maps("sgn")(unary("sign"))
maps("nn.functional.softsign")(unary("softsign"))


def in_place_unary(op):
    def mapper(input, inplace=False):
        return Call(op, {"x": input})

    return mapper


for _name in ["hardsigmoid", "hardswish", "mish", "relu", "relu6", "selu", "silu"]:
    maps(f"nn.functional.{_name}")(in_place_unary(_name))


@maps("nn.functional.celu")
def celu(input, alpha=1.0, inplace=False):
    return Call("celu", {"x": input}, {"alpha": number(alpha)})


@maps("nn.functional.elu")
def elu(input, alpha=1.0, inplace=False):
    return Call("elu", {"x": input}, {"alpha": number(alpha)})


@maps("nn.functional.gelu")
def gelu(input, approximate="none"):
    refuse(approximate not in ("none", "tanh"), "an unknown word")
    return Call("gelu_tanh" if approximate == "tanh" else "gelu", {"x": input})


@maps("nn.functional.hardtanh")
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return Call("hardtanh", {"x": input}, {"min": number(min_val), "max": number(max_val)})


@maps("nn.functional.leaky_relu")
def leaky_relu(input, negative_slope=0.01, inplace=False):
    return Call("leaky_relu", {"x": input}, {"slope": number(negative_slope)})


@maps("logit")
def logit(input, eps=None):
    return Call("logit", {"x": input}, given(eps=None if eps is None else number(eps)))


@maps("nn.functional.prelu")
def prelu(input, weight):
    refuse(weight.dim() != 1, "weights of prelu that are not 1-D")
    return Call("prelu", {"x": input, "weights": weight})


@maps("nn.functional.softplus")
def softplus(input, beta=1, threshold=20):
    return Call("softplus", {"x": input}, {"beta": number(beta), "threshold": number(threshold)})


@maps("clamp")
def clamp(input, min=None, max=None):
    refuse(isinstance(min, torch.Tensor) or isinstance(max, torch.Tensor), "bounds of clamp that are tensors")
    bounds = {"min": None if min is None else number(min), "max": None if max is None else number(max)}
    return Call("clamp", {"x": input}, given(**bounds))


def clamp_side(op, name):
    def mapper(input, bound=None, **kwargs):
        bound = kwargs.get(name, bound)
        if isinstance(bound, torch.Tensor):
            return Call(op, {"a": input, "b": bound})
        return Call("clamp", {"x": input}, {name: number(bound)})

    return mapper


maps("clamp_min")(clamp_side("maximum", "min"))
maps("clamp_max")(clamp_side("minimum", "max"))


# Two operands


def binary(op):
    def mapper(input, other, alpha=None, rounding_mode=None):
        refuse(alpha not in (None, 1), "alpha of add and sub")
        refuse(rounding_mode is not None, "rounding_mode of div")
        refuse(not isinstance(input, torch.Tensor), "a number as the first operand")
        if isinstance(other, torch.Tensor):
            return Call(op, {"a": input, "b": other})
        return Call(f"{op}_scalar", {"x": input}, {"other": number(other)})

    return mapper


for _name in ["add", "sub", "mul", "pow", "eq", "ne", "lt", "le", "gt", "ge"]:
    maps(_name)(binary(_name))
maps("div|no_rounding_mode", "true_divide")(binary("div"))
maps("__radd__")(binary("add"))
maps("__rmul__")(binary("mul"))


@maps("rsub", "__rsub__", "__rdiv__")
def reversed_binary(input, other, alpha=None):
    raise Unmapped("a number as the first operand")


def two_tensors(op):
    def mapper(input, other):
        return Call(op, {"a": input, "b": other})

    return mapper


maps("maximum", "max|binary")(two_tensors("maximum"))
maps("minimum", "min|binary")(two_tensors("minimum"))


@maps("where")
def where(condition, input, other):
    # OpInfo passes `input, condition, other` and its `op` swaps the first two.
    condition, input = input, condition
    refuse(not isinstance(other, torch.Tensor), "a number as an operand of where")
    return Call("where", {"condition": condition, "a": input, "b": other})


@maps("own.add_channel")
def add_channel(input, values):
    return Call("add_channel", {"x": input, "values": values})


@maps("own.mul_channel")
def mul_channel(input, values):
    return Call("mul_channel", {"x": input, "values": values})


# Reductions


def reduction(op):
    def mapper(input, dim=None, keepdim=False, dtype=None):
        refuse(dtype not in (None, torch.float32), "dtype=")
        axes = None if dim is None else ints(dim)
        return Call(op, {"x": input}, given(axes=axes, keepdim=flag(keepdim) if keepdim else None))

    return mapper


for _name in ["sum", "mean", "prod", "amax", "amin"]:
    maps(_name)(reduction(_name))
maps("max|reduction_no_dim")(reduction("amax"))
maps("min|reduction_no_dim")(reduction("amin"))


@maps("argmax")
def argmax(input, dim=None, keepdim=False):
    axis = None if dim is None else ints(dim)
    return Call("argmax", {"x": input}, given(axis=axis, keepdim=flag(keepdim) if keepdim else None))


def max_by_axis(op):
    """Both results of `max` and `min` with an axis; here the first of them is an op."""

    def mapper(input, dim, keepdim=False):
        params = {"axes": ints(dim), "keepdim": flag(keepdim)}
        torch_op = torch.amax if op == "amax" else torch.amin
        return Call(op, {"x": input}, params, lambda f64: [torch_op(f64(input), dim, keepdim)])

    return mapper


maps("max|reduction_with_dim")(max_by_axis("amax"))
maps("min|reduction_with_dim")(max_by_axis("amin"))


def along(op):
    def mapper(input, dim, dtype=None, _stacklevel=3):
        refuse(dtype not in (None, torch.float32), "dtype=")
        return Call(op, {"x": input}, {"axis": integer(dim)})

    return mapper


for _name in ["softmax", "log_softmax", "cumsum"]:
    maps(_name)(along(_name))


def triangle(op):
    def mapper(input, diagonal=0):
        return Call(op, {"x": input}, {"diagonal": integer(diagonal)})

    return mapper


for _name in ["tril", "triu"]:
    maps(_name)(triangle(_name))


# Order and indices


@maps("sort")
def sort(input, dim=-1, descending=False, stable=True):
    params = {"axis": integer(dim), "descending": flag(descending)}
    return Call("sort", {"x": input}, params, lambda f64: torch.sort(f64(input), dim=dim, descending=descending, stable=True))


@maps("topk")
def topk(input, k, dim=-1, largest=True, sorted=True):
    refuse(not sorted, "sorted=False")
    distinct = input.numel() == 0 or all(len(line.unique()) == len(line) for line in lines_of(input, dim))
    params = {"k": integer(k), "axis": integer(dim), "largest": flag(largest)}
    return Call("topk", {"x": input}, params, open_results=() if distinct else (1,))


def lines_of(x, dim):
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        return [x.reshape(-1)[:1]]
    return x.movedim(dim, -1).reshape(-1, x.shape[dim])


@maps("gather")
def gather(input, dim, index, sparse_grad=False):
    refuse(index.dim() != input.dim(), "an index of another rank")
    return Call("gather", {"x": input, "index": index}, {"axis": integer(dim)})


@maps("index_select")
def index_select(input, dim, index):
    refuse(index.dim() != 1, "an index that is not 1-D")
    return Call("index_select", {"x": input, "index": index}, {"axis": integer(dim)})


# Shapes


@maps("cat")
def cat(tensors, dim=0):
    refuse(any(list(t.shape) == [0] for t in tensors) and any(t.dim() > 1 for t in tensors), "legacy empty operands of cat")
    return Call("cat", {"tensors": list(tensors)}, {"axis": integer(dim)})


@maps("stack")
def stack(tensors, dim=0):
    return Call("stack", {"tensors": list(tensors)}, {"axis": integer(dim)})


@maps("split", "split|list_args", "split_with_sizes")
def split(input, split_size, dim=0):
    return Call("split", {"x": input}, {"sizes": ints(split_size), "axis": integer(dim)})


@maps("chunk")
def chunk(input, chunks, dim=0):
    return Call("chunk", {"x": input}, {"chunks": integer(chunks), "axis": integer(dim)})


@maps("narrow")
def narrow(input, dim, start, length):
    return Call("narrow", {"x": input}, {"axis": integer(dim), "start": integer(start), "length": integer(length)})


@maps("select")
def select(input, dim, index):
    return Call("select", {"x": input}, {"axis": integer(dim), "index": integer(index)})


@maps("slice", "own.slice")
def slice_(input, dim=0, start=None, end=None, step=1):
    return Call("slice", {"x": input}, {"axis": integer(dim), **given(start=start, end=end), "step": integer(step)})


def from_varargs(sizes):
    return ints(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple, torch.Size)) else ints(sizes)


@maps("permute")
def permute(input, *dims):
    return Call("permute", {"x": input}, {"axes": from_varargs(dims)})


@maps("transpose")
def transpose(input, dim0, dim1):
    return Call("transpose", {"x": input}, {"a": integer(dim0), "b": integer(dim1)})


@maps("view")
def view(input, *shape):
    refuse(any(isinstance(s, torch.dtype) for s in shape), "view as another dtype")
    return Call("view", {"x": input}, {"dims": from_varargs(shape)})


@maps("reshape")
def reshape(input, *shape):
    return Call("reshape", {"x": input}, {"dims": from_varargs(shape)})


@maps("expand")
def expand(input, *sizes):
    return Call("expand", {"x": input}, {"dims": from_varargs(sizes)})


@maps("squeeze")
def squeeze(input, dim=None):
    refuse(dim is None, "squeeze of all axes")
    refuse(isinstance(dim, (list, tuple)) and len(dim) != 1, "several axes of squeeze")
    return Call("squeeze", {"x": input}, {"axis": ints(dim)[0]})


@maps("unsqueeze")
def unsqueeze(input, dim):
    return Call("unsqueeze", {"x": input}, {"axis": integer(dim)})


@maps("flatten")
def flatten(input, start_dim=0, end_dim=-1):
    return Call("flatten", {"x": input}, {"start": integer(start_dim), "end": integer(end_dim)})


@maps("flip")
def flip(input, dims):
    return Call("flip", {"x": input}, {"axes": ints(dims)})


@maps("roll")
def roll(input, shifts, dims=()):
    refuse(dims == () or dims == [], "roll of all elements")
    return Call("roll", {"x": input}, {"shifts": ints(shifts), "axes": ints(dims)})


PADS = ["constant", "reflect", "replicate", "circular", "replicate_negative"]


@maps(*(f"nn.functional.pad|{p}" for p in PADS))
def pad(input, pad, mode="constant", value=None):
    refuse(not all(isinstance(p, int) for p in pad), "padding that is not integers")
    value = None if value is None else number(value)
    return Call("pad", {"x": input}, {"padding": ints(pad), "mode": mode, **given(value=value)})


@maps("nn.functional.channel_shuffle")
def channel_shuffle(input, groups):
    return Call("channel_shuffle", {"x": input}, {"groups": integer(groups)})


@maps("nn.functional.pixel_shuffle")
def pixel_shuffle(input, upscale_factor):
    refuse(input.dim() != 4, "pixel_shuffle of a rank other than 4")
    return Call("pixel_shuffle", {"x": input}, {"factor": integer(upscale_factor)})


@maps("nn.functional.pixel_unshuffle")
def pixel_unshuffle(input, downscale_factor):
    refuse(input.dim() != 4, "pixel_unshuffle of a rank other than 4")
    return Call("pixel_unshuffle", {"x": input}, {"factor": integer(downscale_factor)})
