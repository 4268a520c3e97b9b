"""Eager work: a tensor that stays blocked while PyTorch's own functions and modules run on it."""

import math
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any

import torch

from .. import _native
from .._compare import as_real
from .._errors import DTypeMismatch, InvalidArgument, KeyMismatch, OpaqueLayoutError, UnsupportedDType, UnsupportedOp
from .._native import Tensor
from ._answers import CONVERSIONS, FLOATS, Answers
from ._calls import call
from ._dtypes import check_range, is_numpy_bool
from ._export import error
from ._handles import (
    COMPARISONS,
    DTYPES,
    OWN_STATE,
    Absent,
    Handle,
    again,
    as_torch,
    as_view,
    check_alone,
    check_autocast,
    check_gradient,
    described,
    family_of,
    gradient_error,
    imported,
    owner_of,
    refused,
    shared,
    with_owner,
)
from ._index import indexed
from ._values import is_per_channel
from ._ways import with_module, with_way_for_weights

#: Ops of tensors alone, which need none of the table: the number of their tensors.
_PLAIN = {
    schema["name"]: len(schema["args"])
    for schema in _native.schemas()
    if len(schema["args"]) <= 2 and all(a["kind"] == "tensor" for a in schema["args"])
}

#: The same ops as PyTorch's functions, which arrive most often.
_FUNCTIONS: dict[Any, tuple[str, int]] = {
    getattr(place, name): (name, count)
    for name, count in _PLAIN.items()
    for place in (torch, torch.nn.functional, torch.Tensor)
    if hasattr(place, name)
}

_call = _native.call

#: The same in place.
_IN_PLACE: dict[Any, str] = {
    getattr(place, f"{name}_"): name
    for name, count in _PLAIN.items()
    for place in (torch, torch.Tensor)
    if count == 1 and hasattr(place, f"{name}_")
}

_OUT_OF_PLACE, _INPLACE = {"inplace": False}, {"inplace": True}


class EagerTensor(Answers):
    """A tensor of this package on which PyTorch's functions work: `torch.relu(x)`, `F.conv2d(x, ...)`, modules.

    It is no `torch.Tensor`. It has no strides and no address while it is blocked; calls in place replace what it holds. What has
    no kernel raises `UnsupportedOp`: nothing is reordered or computed elsewhere. Comparisons are element-wise, and their masks
    are u8.
    """

    # A comparison is a mask, so tensors are told apart as objects.
    __hash__ = object.__hash__
    # numpy's operators leave these tensors to theirs.
    __array_priority__ = 1000

    #: Functions of PyTorch that are methods here.
    OWN = frozenset(
        (*"flatten reshape view contiguous clone to type size dim numel item tolist any all cpu cuda".split(), *CONVERSIONS)
    )

    def __init__(self, data: "Tensor | torch.Tensor | EagerTensor") -> None:
        self.held: Tensor = data  # type: ignore[assignment]

    @property
    def data(self) -> "EagerTensor":
        """As `x.detach()`; what is set here replaces what the tensor holds. The tensor of this package is `x.held`."""
        made = self._view(self.held)
        made.way = "write into `x` itself in place of `x.data`"
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "requires_grad" and value:
            raise refused("requires_grad", self, "gradients; eager tensors are for inference", "train the model with `blocktensor.torch.train`, or in PyTorch")
        if name not in ("held", "data"):
            super().__setattr__(name, value)
            return
        own = vars(self)
        own["held"] = _held(value)
        own.pop("way", None)
        # It shares memory with what it is made of now.
        if self.family is not None:
            self.family[:] = [r for r in self.family if r() is not self]
            own["family"] = None
        if isinstance(value, EagerTensor):
            as_view(self, value)
        elif not isinstance(value, Tensor) and getattr(value, "dtype", None) not in _CONVERTED:
            with_owner(self, value, is_imported=True)

    @property
    def __blocktensor__(self) -> Tensor:
        """The tensor that functions of this package take in its place."""
        return self.held

    def to_blocked(self, layout: str | None = None) -> "EagerTensor":
        """Reorders to a blocked layout."""
        return EagerTensor(self.held.to_blocked(layout))

    def to_strided(self, format: str = "contiguous") -> "EagerTensor":
        """Reorders to a strided tensor."""
        return EagerTensor(self.held.to_strided(format))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What copies and pickle keep, as PyTorch's do: the class, attributes of the user, and which copies share memory."""
        made = object.__reduce_ex__(self, 2)
        if type(self).__reduce__ is not object.__reduce__:
            return made
        state: Any = made[2]
        if isinstance(state, dict):
            state = {name: x for name, x in state.items() if name not in OWN_STATE} or None
        return again, (type(self), self.held, family_of(self)), state

    def __iter__(self) -> Iterator["EagerTensor"]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, x: Any) -> bool:
        raise refused("in", self, "a search", "call `(tensor == x).any()`")

    def __getitem__(self, index: Any) -> "EagerTensor":
        return self._view(indexed(self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise refused("setitem", self, "it writes into a part of a tensor", "use `torch.where` or `torch.cat`")

    # What PyTorch has as methods.

    def _view(self, data: Tensor) -> "EagerTensor":
        made = EagerTensor(data)
        as_view(made, self)
        return made

    def _replaced(self, op: str) -> "EagerTensor":
        """Applies a plain op in place."""
        made = _call(op, None, self.held)
        if self.family is not None:
            check_alone(f"{op}_", self)
        self.held = made
        return self

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> "EagerTensor":
        rank = max(self.ndim, 1)
        if not (-rank <= start_dim < rank and -rank <= end_dim < rank and start_dim % rank <= end_dim % rank):
            text = f"op `flatten`: got axes {start_dim} to {end_dim}, but the tensor is {described(self)}"
            raise error(InvalidArgument, text, "pass axes that it has, in order", op="flatten")
        shape = self.held.shape
        middle = math.prod(shape[start_dim % rank : end_dim % rank + 1])
        return self.reshape([*shape[: start_dim % rank], middle, *shape[end_dim % rank + 1 :]])

    def reshape(self, *shape: Any, **named: Any) -> "EagerTensor":
        shape = shape or (named.get("shape", named.get("size")),)
        dims = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else list(shape)
        if any(isinstance(d, (torch.dtype, type(None))) for d in dims):
            raise refused("view", self, "a view as another dtype", "call `.to(dtype)`")
        try:
            made: Any = _call("reshape", None, self.held, dims)
        except UnsupportedOp as e:
            raise with_module(e, self) from None
        return self._view(made)

    view = reshape

    def contiguous(self, memory_format: Any = None) -> "EagerTensor":
        """A dense tensor: itself if it is one, or if it is blocked."""
        format = "contiguous" if memory_format in (None, torch.contiguous_format) else str(memory_format).removeprefix("torch.")
        if self.held.is_blocked:
            if format == "contiguous":
                return self
            raise refused("contiguous", self, f"a blocked tensor is not {format}", f"call `x.to_strided({format!r})`")
        made = self.held.contiguous(format)
        return self if made.data_ptr() == self.held.data_ptr() else EagerTensor(made)

    def clone(self, memory_format: Any = None) -> "EagerTensor":
        made = self if memory_format in (None, torch.preserve_format) else self.contiguous(memory_format)
        return EagerTensor(made.held.__deepcopy__({}))

    def to(self, *args: Any, **kwargs: Any) -> "EagerTensor":
        """Converts between f32, bf16 and f16, or a mask to one of them. Other dtypes and devices are an `UnsupportedOp`."""
        kwargs = dict(kwargs)
        dtype, device, rest = kwargs.pop("dtype", None), kwargs.pop("device", None), list(args)
        if rest and isinstance(rest[0], (torch.Tensor, EagerTensor)):
            other = rest.pop(0)
            dtype, device = other.dtype, other.device
        if rest and isinstance(rest[0], (str, int, torch.device)) and not isinstance(rest[0], bool):
            device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
        if not all(isinstance(x, bool) for x in rest):
            text = f"op `to`: got {', '.join(map(described, args))}, but it takes a dtype, a device or a tensor"
            raise error(InvalidArgument, text, "pass one of them", op="to")
        try:
            is_here = device is None or torch.device(device).type == "cpu"
        except RuntimeError as e:
            raise refused("to", self, f"PyTorch has no device {device!r}", "pass 'cpu'", kind=InvalidArgument) from e
        if not is_here:
            remedy = f"call `x.to_strided().torch().to({str(device)!r})`, which leaves this package"
            raise refused("to", self, f"the device {device}; tensors are on the CPU", remedy)
        made = self if dtype is None else self._converted("to", dtype)
        format = kwargs.get("memory_format")
        if format is not None and format != torch.preserve_format:
            made = made.contiguous(format)
        return made.clone() if made is self and (kwargs.get("copy") or rest[1:2] == [True]) else made

    def _converted(self, name: str, dtype: Any) -> "EagerTensor":
        if dtype == self.dtype:
            return self
        known = next((known for known, one in DTYPES.items() if one == dtype), None)
        if known not in FLOATS:
            reason = f"a conversion of {self.held.dtype} to {dtype}; conversions are to float32, bfloat16 and float16"
            if dtype == torch.bool:
                remedy = "write `x != 0`"
            else:
                remedy = f"convert the tensor of PyTorch: `x.to_strided().torch().to({dtype})`"
                if known is not None or dtype == torch.int64:
                    remedy += ", and come back with `EagerTensor(y)`"
            raise refused(name, self, reason, remedy)
        return EagerTensor(self.held.to_dtype(known))

    def to_dtype(self, dtype: str) -> "EagerTensor":
        """As `blocktensor.Tensor.to_dtype`, by the library's own name of a dtype (`"f32"`)."""
        return EagerTensor(self.held.to_dtype(dtype))

    def type_as(self, other: Any) -> "EagerTensor":
        return self._converted("type_as", other.dtype)

    def cpu(self) -> "EagerTensor":
        return self

    def cuda(self, device: Any = "cuda", **_: Any) -> "EagerTensor":
        return self.to("cuda")

    def any(self, dim: Any = (), keepdim: bool = False, *, axis: Any = ()) -> "EagerTensor":
        """A mask (u8): where elements along the axes are not all 0."""
        # Sums are defined of no elements too, and none of ones rounds to 0.
        return self._where("ne").sum(axis if dim == () else dim, keepdim) != 0  # type: ignore[no-any-return]

    def all(self, dim: Any = (), keepdim: bool = False, *, axis: Any = ()) -> "EagerTensor":
        """A mask (u8): where elements along the axes are all other than 0."""
        return self._where("eq").sum(axis if dim == () else dim, keepdim) == 0  # type: ignore[no-any-return]

    def _where(self, comparison: str) -> Any:
        """Ones and zeros: how elements compare with 0."""
        return EagerTensor(_two(comparison, self, 0).held.to_dtype("f32"))

    def requires_grad_(self, requires_grad: bool = True) -> "EagerTensor":
        if requires_grad:
            raise refused("requires_grad_", self, "gradients; eager tensors are for inference", "train the model with `blocktensor.torch.train`, or in PyTorch")
        return self

    def backward(self, *_: Any, **__: Any) -> None:
        raise refused("backward", self, "gradients; eager tensors are for inference", "train the model with `blocktensor.torch.train`, or in PyTorch")

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else getattr(torch.Tensor, name, None)
        if found is None or name.startswith("_") and callable(found):
            way = f"; the tensor that it holds has: `x.held.{name}`" if not name.startswith("_") and hasattr(Tensor, name) else ""
            raise AttributeError(f"a blocktensor.torch.EagerTensor has no attribute `{name}`{way}")
        if callable(found):
            return lambda *args, **kwargs: _run(found, (self, *args), kwargs)
        remedy = "ask `x.to_strided().torch()` for it"
        # As of values in a trained forward: no AttributeError, which `hasattr` and properties of modules hide.
        raise error(UnsupportedOp, f"attribute `{name}` of a torch.Tensor: an eager tensor has none", remedy, op=name)

    # Operators.

    def __rsub__(self, other: Any) -> Any:
        return self.__neg__() + other

    def __neg__(self) -> "EagerTensor":
        return EagerTensor(_call("neg", None, self.held))

    def __pos__(self) -> "EagerTensor":
        return self

    def __abs__(self) -> "EagerTensor":
        return EagerTensor(_call("abs", None, self.held))

    def __rtruediv__(self, other: Any) -> Any:
        return EagerTensor(_call("reciprocal", None, self.held)) * other

    def __rpow__(self, other: Any) -> Any:
        if not isinstance(other, Number):
            return NotImplemented
        base = _native.from_dlpack(torch.tensor(as_real("pow", other), dtype=torch.float32))
        if self.held.is_blocked:
            raise refused("pow", self, "a number to the power of a blocked tensor", "call `x.to_strided()` first")
        return EagerTensor(_call("pow", None, base, self.held))

    def __matmul__(self, other: Any) -> Any:
        return _run(torch.matmul, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return _run(torch.matmul, (other, self), {})

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = _FUNCTIONS.get(func)
        if plain is not None and len(args) == plain[1] and type(args[0]) is EagerTensor:
            check_autocast(func, args[0])
            if plain[1] == 1:
                if not kwargs or kwargs == _OUT_OF_PLACE:
                    return EagerTensor(_call(plain[0], None, args[0].held))
                if kwargs == _INPLACE:
                    return args[0]._replaced(plain[0])
            elif not kwargs and plain[0] in _SCALARS:
                return _two(plain[0], *args)
            elif not kwargs and type(args[1]) is EagerTensor and args[0].held.dtype == args[1].held.dtype != "u8":
                return EagerTensor(_call(plain[0], None, args[0].held, args[1].held))
        elif plain is not None and len(args) == 2 and plain[0] in _SCALARS and isinstance(args[0], torch.Tensor) and not kwargs:
            check_gradient(plain[0], args[0])
            return _two(plain[0], EagerTensor(shared(args[0])), args[1])
        elif func in _IN_PLACE and len(args) == 1 and not kwargs:
            return args[0]._replaced(_IN_PLACE[func])
        return _run(func, args, kwargs or {})

    # Last: its name hides PyTorch's own in this class.
    def torch(self) -> torch.Tensor:
        """The elements as a PyTorch tensor that shares the memory; a blocked tensor raises `OpaqueLayoutError`."""
        if self.family is not None and not self.held.is_blocked:
            # PyTorch counts writes into the one as writes into the other.
            owner = owner_of(self)
            if owner is not None:
                return owner.detach()
        made = as_torch(self.held)
        with_owner(self, made)
        return made


EagerTensor.RESULT = EagerTensor

#: Dtypes of which a tensor is converted, and shares no memory.
_CONVERTED = (torch.bool, torch.int64)


def _held(data: Any) -> Tensor:
    """The tensor of this package that an eager tensor of an object holds."""
    if type(data) is Tensor and not data.is_quantized:
        return data
    if isinstance(data, _native.Var):
        text = f"op `EagerTensor`: got {described(data)} on a tape, but eager tensors are for inference, and would hide its gradient"
        raise error(InvalidArgument, text, "pass `x.tensor`, or call functions of `blocktensor.ops` on `x`", op="EagerTensor")
    if isinstance(data, Tensor):
        if data.is_quantized:
            text = f"op `EagerTensor`: got {described(data)} with scales and zero points, which eager tensors do not have"
            remedy = "pass its integers, `.without_quantization()`, or its numbers, `.dequantized()`"
            raise error(UnsupportedDType, text, remedy, op="EagerTensor")
        return data
    if isinstance(data, EagerTensor):
        return data.held
    if not isinstance(data, torch.Tensor):
        return _native.from_dlpack(data)
    if data.requires_grad and torch.is_grad_enabled():
        raise gradient_error("EagerTensor", data)
    return shared(data)


def _run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    try:
        check_autocast(function, args[0] if args else None)
        return call(function, args, kwargs)
    except (UnsupportedOp, OpaqueLayoutError) as e:
        target = next((x for x in args if type(x) is EagerTensor), None)
        raise (with_module(e, target) if target is not None else e) from e.__cause__
    except (KeyMismatch, DTypeMismatch, UnsupportedDType) as e:
        raise with_way_for_weights(e, [*args, *kwargs.values()]) from e.__cause__


#: Ops of two tensors that have a form for a tensor and a number.
_SCALARS = {op: f"{op}_scalar" for op in ("add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge")}


def _two(name: str, x: EagerTensor, other: Any) -> Any:
    """An op of two tensors, or of a tensor and a number. Masks are promoted to f32, as PyTorch promotes its own."""
    data = x.held
    if isinstance(other, (Handle, Tensor)):
        right = other.held if isinstance(other, Handle) else other
    elif isinstance(other, Number):
        if name in COMPARISONS:
            check_range(name, data.dtype, other)
        other = as_real(name, other)
        data = data.to_dtype("f32") if name in COMPARISONS and data.dtype == "u8" else data
        return EagerTensor(_call(_SCALARS[name], None, data, other))
    elif isinstance(other, torch.Tensor):
        check_gradient(name, other)
        if not other.ndim:
            return _two(name, x, other.item())
        right = imported(other).tensor
    elif isinstance(other, Absent):
        raise other.told()
    elif is_numpy_bool(other):
        return _two(name, x, other.item())
    else:
        return _two(name, x, torch.as_tensor(other)) if hasattr(other, "__dlpack__") else NotImplemented
    if data.is_blocked and not right.is_blocked and name in ("add", "mul") and is_per_channel(right.shape, data.shape):
        return EagerTensor(_call(f"{name}_channel", None, data, right.reshape([-1])))
    if data.dtype != right.dtype or name in COMPARISONS:
        wide = {"u8"} if "f32" not in (data.dtype, right.dtype) else {"u8", "s8", "s32"}
        data, right = (one.to_dtype("f32") if one.dtype in wide else one for one in (data, right))
    try:
        return EagerTensor(_call(name, None, data, right))
    except KeyMismatch as e:
        raise with_way_for_weights(e, [x, other]) from e.__cause__


def _operator(name: str) -> Callable[[EagerTensor, Any], Any]:
    """An operator of two tensors, or of a tensor and a number."""
    scalar = _SCALARS[name]

    def operator(self: EagerTensor, other: Any) -> Any:
        kind = type(other)
        if self.held.dtype == "f32":
            if kind is EagerTensor and other.held.dtype == "f32":
                return EagerTensor(_call(name, None, self.held, other.held))
            if kind is float or kind is int:
                return EagerTensor(_call(scalar, None, self.held, other))
        return _two(name, self, other)

    return operator


def _in_place(name: str) -> Callable[[EagerTensor, Any], Any]:
    method = getattr(torch.Tensor, f"{name}_")

    def operator(self: EagerTensor, other: Any) -> Any:
        return _run(method, (self, other), {})

    return operator


def _other(name: str) -> Callable[..., Any]:
    """An operator that no op is for as it is: PyTorch may take it for several, else it is an error."""

    def operator(self: EagerTensor, *others: Any) -> Any:
        return _run(getattr(torch.Tensor, name), (self, *others), {})

    return operator


def _method(name: str) -> Callable[..., Any]:
    """A method of a plain op."""
    method = getattr(torch.Tensor, name)

    def plain(self: EagerTensor, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            return _run(method, (self, *args), kwargs)
        return EagerTensor(_call(name, None, self.held))

    def general(self: EagerTensor, *args: Any, **kwargs: Any) -> Any:
        return _run(method, (self, *args), kwargs)

    return plain if _PLAIN[name] == 1 else general


def _conversion(name: str, dtype: torch.dtype) -> Callable[..., Any]:
    def method(self: EagerTensor, memory_format: Any = None) -> EagerTensor:
        made = self._converted(name, dtype)
        return made if memory_format in (None, torch.preserve_format) else made.contiguous(memory_format)

    return method


for _name in _SCALARS:
    _python = "truediv" if _name == "div" else _name
    setattr(EagerTensor, f"__{_python}__", _operator(_name))
    if _name in ("add", "mul"):
        setattr(EagerTensor, f"__r{_python}__", _operator(_name))
    if _name in ("add", "sub", "mul", "div", "pow"):
        setattr(EagerTensor, f"__i{_python}__", _in_place(_name))
for _name in "floordiv mod and or xor invert lshift rshift rfloordiv rmod rand ror rxor".split():
    setattr(EagerTensor, f"__{_name}__", _other(f"__{_name}__"))
for _name, _dtype in CONVERSIONS.items():
    setattr(EagerTensor, _name, _conversion(_name, _dtype))
for _name in _PLAIN:
    if hasattr(torch.Tensor, _name):
        setattr(EagerTensor, _name, _method(_name))
