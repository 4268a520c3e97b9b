"""Eager work: a tensor that stays blocked while PyTorch's own functions and modules run on it."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import _native
from .._errors import UnsupportedOp
from .._native import PackedWeights, Tensor
from ._export import error
from ._table import TABLE
from ._values import Unsupported, Value

_ARGUMENTS = {schema["name"]: [a["name"] for a in schema["args"]] for schema in _native.schemas()}

#: Ops of tensors alone, which need none of the table: the number of their tensors.
_PLAIN = {
    schema["name"]: len(schema["args"])
    for schema in _native.schemas()
    if schema["name"] in TABLE and len(schema["args"]) <= 2 and all(a["kind"] == "tensor" for a in schema["args"])
}

#: What PyTorch calls functions that the table has under aten's name.
_NAMES = {"concat": "cat", "concatenate": "cat"}

#: Functions whose signature is not that of aten's op: PyTorch's own order of arguments, as keywords of the table's function.
_FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {}


class _Now:
    """A builder that runs each op at once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._asked: list[int] | None = None

    def op(self, op: str, **arguments: Any) -> Value:
        return self.ops(op, 1, **arguments)[0]

    def ops(self, op: str, results: int, **arguments: Any) -> list[Value]:
        def plain(x: Any) -> Any:
            if isinstance(x, Value):
                return x.tensor
            return [plain(one) for one in x] if isinstance(x, list) else x

        given = [plain(arguments.get(name)) for name in _ARGUMENTS[op]]
        made: Any = _native.call(op, None, *given)
        return [_value(t) for t in (made if isinstance(made, (list, tuple)) else [made])]

    def result_shape(self) -> list[int]:
        raise Unsupported("its result has sizes that only a plan knows; use `to_blocked`")

    def result_shapes(self) -> list[Sequence[int]]:
        raise Unsupported("its results have sizes that only a plan knows; use `to_blocked`")

    def result_dtype(self) -> str:
        return "f32"


def _value(x: Any) -> Any:
    """An operand as the table takes it."""
    if isinstance(x, EagerTensor):
        return Value("", x.shape, x.data)
    if isinstance(x, Tensor):
        return Value("", x.shape, x)
    if isinstance(x, torch.Tensor):
        return Value("", tuple(x.shape), _native.from_dlpack(x.detach()))
    return [_value(one) for one in x] if isinstance(x, (list, tuple)) and x and not isinstance(x[0], int) else x


def _wrapped(x: Any) -> Any:
    if isinstance(x, list):
        return [_wrapped(one) for one in x]
    return EagerTensor(x.tensor) if isinstance(x, Value) else x


class EagerTensor:
    """A tensor of this package on which PyTorch's functions work: `torch.relu(x)`, `F.conv2d(x, ...)`, modules.

    It is no `torch.Tensor`. It has no strides and no address while it is blocked; calls in place replace what it holds. What has
    no kernel raises `UnsupportedOp`: nothing is reordered or computed elsewhere.
    """

    __slots__ = ("data",)

    def __init__(self, data: Tensor | torch.Tensor) -> None:
        self.data: Tensor = data if isinstance(data, Tensor) else _native.from_dlpack(data.detach())

    def to_blocked(self, layout: str | None = None) -> "EagerTensor":
        """Reorders to a blocked layout."""
        return EagerTensor(self.data.to_blocked(layout))

    def to_strided(self, format: str = "contiguous") -> "EagerTensor":
        """Reorders to a strided tensor."""
        return EagerTensor(self.data.to_strided(format))

    def torch(self) -> torch.Tensor:
        """The elements as a PyTorch tensor that shares the memory; a blocked tensor raises `OpaqueLayoutError`."""
        return torch.from_dlpack(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> Any:
        return {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.get(self.data.dtype, self.data.dtype)

    @property
    def device(self) -> Any:
        return torch.device("cpu")

    @property
    def requires_grad(self) -> bool:
        return False

    def dim(self) -> int:
        return self.data.ndim

    def size(self, dim: int | None = None) -> Any:
        return torch.Size(self.shape) if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.data.size

    def stride(self, *_: Any) -> Any:
        return self.data.strides

    def data_ptr(self) -> int:
        return self.data.data_ptr()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.data.__array__(*args, **kwargs)

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    def __repr__(self) -> str:
        return f"Eager{self.data!r}"

    def __reduce__(self) -> Any:
        return EagerTensor, (self.data,)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> "EagerTensor":
        start, end = start_dim % max(self.ndim, 1), end_dim % max(self.ndim, 1)
        shape = [*self.shape[:start], -1, *self.shape[end + 1 :]]
        return self.reshape(shape)

    def reshape(self, *shape: Any) -> "EagerTensor":
        dims = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
        made: Any = _native.call("reshape", None, self.data, dims)
        return EagerTensor(made)

    view = reshape

    def contiguous(self) -> "EagerTensor":
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name.rstrip("_") not in TABLE:
            raise AttributeError(f"a blocktensor.torch.EagerTensor has no attribute `{name}`")
        return lambda *args, **kwargs: _call(name, (self, *args), kwargs)

    def __add__(self, other: Any) -> Any:
        return _call("add", (self, other), {})

    __radd__ = __add__

    def __iadd__(self, other: Any) -> Any:
        return _call("add_", (self, other), {})

    def __mul__(self, other: Any) -> Any:
        return _call("mul", (self, other), {})

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Any:
        return _call("mul_", (self, other), {})

    def __sub__(self, other: Any) -> Any:
        return _call("sub", (self, other), {})

    def __truediv__(self, other: Any) -> Any:
        return _call("div", (self, other), {})

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if not kwargs and len(args) == _PLAIN.get(name) and all(type(x) is EagerTensor for x in args):
            return EagerTensor(_native.call(name, None, *[x.data for x in args]))
        return _call(name or str(func), args, dict(kwargs or {}))


def _call(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = _NAMES.get(name, name)
    target = args[0] if args else kwargs.get("input")
    in_place = name.endswith("_") or bool(kwargs.pop("inplace", False))
    plain = name.rstrip("_")
    try:
        adapted = _FUNCTIONS.get(plain)
        if adapted is not None:
            kwargs = adapted(*args, **kwargs)
            args = ()
        if plain == "flatten" and isinstance(target, EagerTensor):
            rest = args[1:]
            return target.flatten(*rest, **{k: v for k, v in kwargs.items() if k != "input"})
        if plain in ("reshape", "view") and isinstance(target, EagerTensor):
            return target.reshape(*args[1:])
        function = TABLE.get(plain)
        if function is None:
            raise Unsupported("no op of blocktensor is for it")
        made = _wrapped(function(_Now(plain), *map(_value, args), **{k: _value(v) for k, v in kwargs.items()}))
    except Unsupported as e:
        remedy = "call it on `x.to_strided().torch()`, and come back with `EagerTensor(y).to_blocked()`"
        raise error(UnsupportedOp, f"op `{plain}` of PyTorch on {target!r}: {e}", remedy, op=plain) from None
    if in_place and isinstance(target, EagerTensor):
        target.data = made.data
        return target
    return made


def _functional(*names: str) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    def add(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        for name in names:
            _FUNCTIONS[name] = function
        return function

    return add


@_functional("relu", "relu6", "hardswish", "hardsigmoid", "silu", "mish", "sigmoid", "tanh")
def _unary(input: Any, inplace: bool = False) -> dict[str, Any]:
    return {"x": input}


@_functional("dropout")
def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> dict[str, Any]:
    return {"x": input, "p": p, "train": training}


@_functional("hardtanh")
def _hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> dict[str, Any]:
    return {"x": input, "low": min_val, "high": max_val}


@_functional("leaky_relu")
def _leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> dict[str, Any]:
    return {"x": input, "slope": negative_slope}


@_functional("batch_norm")
def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> dict[str, Any]:
    return dict(
        x=input, weight=weight, bias=bias, mean=running_mean, var=running_var, training=training, momentum=momentum, eps=eps
    )


@_functional("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> dict[str, Any]:
    if return_indices:
        raise Unsupported("indices of a pool")
    return dict(x=input, kernel_size=kernel_size, stride=stride or (), padding=padding, dilation=dilation, ceil_mode=ceil_mode)


@_functional("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> dict[str, Any]:
    return dict(
        x=input,
        kernel_size=kernel_size,
        stride=stride or (),
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )


@_functional("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive(input: Any, output_size: Any) -> dict[str, Any]:
    sizes = input.shape[2:]
    wanted = [output_size] * len(sizes) if isinstance(output_size, (int, type(None))) else list(output_size)
    return {"x": input, "output_size": [s if w is None else w for s, w in zip(sizes, wanted, strict=True)]}


@_functional("cat")
def _cat(tensors: Any, dim: int = 0) -> dict[str, Any]:
    return {"tensors": list(tensors), "dim": dim}


class PackedConvolution(torch.nn.Module):
    """A convolution whose weights are packed for the source that it meets first, and again where another kind comes."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self._packed: dict[Any, PackedWeights] = {}

    def forward(self, x: Any) -> Any:
        """Runs the packed convolution on an `EagerTensor`, PyTorch's own on a `torch.Tensor`."""
        if not isinstance(x, EagerTensor):
            return self.module(x)
        key = (x.shape[1:], x.data.layout)
        if key not in self._packed:
            self._packed[key] = self._pack(x.data)
        return EagerTensor(self._packed[key](x.data))

    def _pack(self, like: Tensor) -> PackedWeights:
        conv: Any = self.module
        if conv.padding_mode != "zeros" or isinstance(conv.padding, str):
            text = f"op `conv`: got padding {conv.padding!r} of mode {conv.padding_mode!r}, but packed ones pad with zeros"
            raise error(UnsupportedOp, text, "pad the source first", op="conv")
        bias = None if conv.bias is None else conv.bias.detach()
        options = dict(stride=conv.stride, padding=conv.padding, dilation=conv.dilation, groups=conv.groups)
        return _native.pack_conv(conv.weight.detach(), bias, like=like, **options)


def swap(model: torch.nn.Module) -> torch.nn.Module:
    """A copy of the model whose convolutions pack their weights, for `EagerTensor`s. All weights are shared with the model.

    The first call packs; the ledger shows it. `with blocktensor.deny_reorders()` holds from the second call on.
    """
    kinds = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    if model.training:
        raise error(UnsupportedOp, "argument `model`: got a model in training mode", "call `model.eval()` first")
    if isinstance(model, kinds):
        return PackedConvolution(model)
    swapped = copy.copy(model)
    swapped._modules = {
        name: None if module is None else swap(module) for name, module in model._modules.items()
    }
    return swapped

