"""One call of PyTorch on eager tensors: its arguments are bound to aten's schema, then the table's function runs at once.

Functions that PyTorch writes in Python (`F.interpolate`, `F.pad`) run again without the check that sent the call here, so their
own calls arrive one by one.
"""

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from types import CellType, FunctionType, MethodDescriptorType
from typing import Any, NoReturn

import torch

from .. import _native
from .._errors import Error, InvalidArgument, ShapeMismatch, UnsupportedOp
from .._native import Tensor
from ._export import FACTORIES, error
from ._replay import replayed
from ._table import TABLE
from ._values import Unsupported, Value

_ARGUMENTS = {schema["name"]: [a["name"] for a in schema["args"]] for schema in _native.schemas()}

#: PyTorch's dtypes, by the names that they have here. A mask is u8, where PyTorch's is bool.
DTYPES = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "u8": torch.uint8,
    "s8": torch.int8,
    "s32": torch.int32,
}

#: Other names of aten's ops, and of Python's operators.
_NAMES = {
    "and": "bitwise_and",
    "absolute": "abs",
    "concat": "cat",
    "concatenate": "cat",
    "clip": "clamp",
    "divide": "div",
    "floordiv": "floor_divide",
    "ifloordiv": "floor_divide_",
    "greater": "gt",
    "greater_equal": "ge",
    "iadd": "add_",
    "idiv": "div_",
    "imul": "mul_",
    "invert": "bitwise_not",
    "isub": "sub_",
    "itruediv": "div_",
    "less": "lt",
    "less_equal": "le",
    "mod": "remainder",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "or": "bitwise_or",
    "radd": "add",
    "rmul": "mul",
    "special_erf": "erf",
    "special_expit": "sigmoid",
    "special_log_softmax": "log_softmax",
    "special_softmax": "softmax",
    "subtract": "sub",
    "true_divide": "div",
    "truediv": "div",
    "xor": "bitwise_xor",
}

_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}

#: Ops for which a tensor without axes is a number, and integers are promoted.
_NUMERIC = _COMPARISONS | set("add sub rsub mul div pow clamp maximum minimum floor_divide remainder".split())

#: Logic of masks, which are u8 here: other integers have bits.
_BITWISE = {"bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"}

#: Names of arguments in Python that aten's schemas do not have.
_ARGUMENT_NAMES = {"input": "self", "axis": "dim", "keepdims": "keepdim"}

#: Functions whose result is their operand itself where they change nothing.
_SAME = {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"}

#: Methods whose tensor is aten's second argument.
_SELF_SECOND = {"where", "polygamma"}

_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


#: `module`: the module of a swapped model that ran last on this thread, for errors.
LAST = threading.local()


class Handle:
    """What calls read and write: a tensor of this package, and the eager tensors that share its memory."""

    data: Tensor
    #: A view, its base and other views of it. `None` where there are none.
    family: "list[weakref.ref[Handle]] | None" = None
    #: The module of a swapped model that made it.
    module: str = ""
    #: Functions of PyTorch that are methods.
    OWN: frozenset[str] = frozenset()

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def shape(self) -> Any:
        return torch.Size(self.data.shape)


def described(x: Any) -> str:
    """An operand in an error's text, without its elements."""
    data = x.data if isinstance(x, Handle) else x
    if isinstance(data, Tensor):
        return f"{list(data.shape)} {data.dtype} {data.layout}"
    if isinstance(data, torch.Tensor):
        return f"{list(data.shape)} {data.dtype} of PyTorch"
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


def refused(name: str, target: Any, reason: str, remedy: str | None = None, kind: type[Error] = UnsupportedOp) -> Exception:
    """The error for a call that no kernel is for."""
    if remedy is None:
        remedy = "call it on `x.to_strided().torch()`, and come back with `EagerTensor(y)`"
    return error(kind, f"op `{name}` of PyTorch on {described(target)}: {reason}", remedy, op=name)


class _Now:
    """A builder that runs each op at once."""

    def __init__(self, name: str, form: "Form", arguments: list[Any], keywords: dict[str, Any]) -> None:
        self.name = name
        self._form, self._arguments, self._keywords = form, arguments, keywords
        self._results: list[torch.Tensor] | None = None

    def op(self, op: str, **arguments: Any) -> Value:
        return self.ops(op, 1, **arguments)[0]

    def ops(self, op: str, results: int, **arguments: Any) -> list[Value]:
        # In a plan a view of what is no view is a copy of its own; here `reshape` copies where it must.
        op = "reshape" if op == "view" else op
        given = [_plain(arguments.get(name)) for name in _ARGUMENTS[op]]
        if op == "where":
            given = _alike(given)
        made: Any = _native.call(op, None, *given)
        return [value_of(t) for t in (made if isinstance(made, (list, tuple)) else [made])]

    def _metas(self) -> list[torch.Tensor]:
        """What PyTorch says of the results, without computing them."""
        if self._results is None:
            keywords = {name: _meta(x) for name, x in self._keywords.items()}
            made = self._form.overload(*map(_meta, self._arguments), **keywords)
            self._results = list(made) if isinstance(made, (list, tuple)) else [made]
        return self._results

    def result_shape(self) -> list[int]:
        return list(self._metas()[0].shape)

    def result_shapes(self) -> list[Sequence[int]]:
        return [tuple(x.shape) for x in self._metas()]

    def result_dtype(self) -> str:
        dtype = self._metas()[0].dtype
        return "f32" if dtype == torch.float32 else str(dtype)


def _plain(x: Any) -> Any:
    if type(x) is Value:
        return x.tensor
    if isinstance(x, torch.Tensor):
        return _native.from_dlpack(_narrowed(x))
    return [_plain(one) for one in x] if type(x) in _LISTS and x and type(x[0]) is not int else x


def _alike(operands: list[Any]) -> list[Any]:
    """Constants of one element, blocked as the mask is."""
    mask = operands[0]
    if not mask.is_blocked:
        return operands

    def alike(x: Tensor) -> Tensor:
        if x.is_blocked or x.size != 1:
            return x
        return _native.call("add_scalar", None, _native.zeros(mask.shape, layout=mask.layout), x.item())

    return [mask, *map(alike, operands[1:])]


#: What the table calls the dtypes of masks and indices.
_TABLE_DTYPES = {"u8": "bool", "s32": "int64"}


def value_of(t: Tensor) -> Value:
    """A tensor as the table takes it."""
    dtype = t.dtype
    return Value("", t.shape, t) if dtype == "f32" else Value("", t.shape, t, _TABLE_DTYPES.get(dtype, dtype))


def _meta(x: Any) -> Any:
    if isinstance(x, Value):
        return torch.empty(x.shape, dtype=DTYPES[x.tensor.dtype], device="meta")
    return [_meta(one) for one in x] if isinstance(x, (list, tuple)) else x


def _value(x: Any) -> Any:
    """An operand as the table takes it."""
    if type(x) in _PLAIN_TYPES:
        return x
    if isinstance(x, Handle):
        return value_of(x.data)
    if isinstance(x, torch.Tensor):
        return imported(x)
    if isinstance(x, Tensor):
        return value_of(x)
    return [_value(one) for one in x] if type(x) in _LISTS and x and type(x[0]) is not int else x


#: Tensors of PyTorch that were operands before, most often weights: sharing their memory takes longer than small ops do.
_IMPORTED: dict[int, tuple[Any, Any, Value]] = {}


def imported(x: torch.Tensor) -> Value:
    """A tensor of PyTorch, whose memory is shared."""
    place = (x.data_ptr(), x.shape, x.stride(), x.dtype)
    known = _IMPORTED.get(id(x))
    if known is not None and known[0]() is x and known[1] == place:
        return known[2]
    value = value_of(shared(x))
    if x.dtype == torch.float32:
        key = id(x)
        _IMPORTED[key] = weakref.ref(x, lambda _: _IMPORTED.pop(key, None)), place, value
    return value


def shared(x: torch.Tensor) -> Tensor:
    """A tensor of this package over the memory of PyTorch's; indices and masks are converted."""
    try:
        return _native.from_dlpack(_narrowed(x.detach()))
    except Error:
        raise
    except Exception as e:
        # Sparse tensors, other devices, and tensors without elements of their own: PyTorch says why.
        remedy = "pass a dense tensor on the CPU"
        raise error(UnsupportedOp, f"op `from_dlpack`: got {described(x)}: {_first_line(e)}", remedy, op="from_dlpack") from e


def _narrowed(x: torch.Tensor) -> torch.Tensor:
    """Indices as s32 and masks as u8: dtypes that this package has."""
    if x.dtype == torch.bool:
        return x.to(torch.uint8)
    if x.dtype != torch.int64:
        return x
    if x.numel() and (x.max() > 2**31 - 1 or x.min() < -(2**31)):
        raise ValueError("its elements do not fit into s32")
    return x.to(torch.int32)


# Signatures.


@dataclass(frozen=True)
class Form:
    """How the arguments of one kind of call are passed to the table."""

    overload: Any
    #: Names and defaults, in aten's order.
    positional: tuple[tuple[str, Any], ...]
    keyword: dict[str, Any]
    #: Whether integers in a row are one list: `x.permute(0, 2, 3, 1)`.
    packed: bool
    #: Whether the result is a view of the first operand.
    is_view: bool
    #: Whether it takes a dtype.
    has_dtype: bool
    #: Whether it takes a flag for training.
    trains: bool
    #: Arguments that are lists of integers, and their lengths: PyTorch repeats one integer.
    lists: dict[str, int]

    def arranged(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments in aten's order, without those that have their default: what `torch.export` would write."""
        values = [args[0], list(args[1:])] if self.packed else list(args)
        keywords = kwargs
        if kwargs:
            named = {self.name_of(name): x for name, x in kwargs.items()}
            values += [named.get(name, default) for name, default in self.positional[len(values) :]]
            keywords = {name: x for name, x in named.items() if name in self.keyword and not _same(x, self.keyword[name])}
        if self.lists:
            for i, (name, _) in enumerate(self.positional[: len(values)]):
                if type(values[i]) is int and name in self.lists:
                    values[i] = [values[i]] * self.lists[name]
        while len(values) > 1 and _same(values[-1], self.positional[len(values) - 1][1]):
            values.pop()
        return values, keywords

    def name_of(self, name: str) -> str:
        known = name in self.keyword or any(name == one for one, _ in self.positional)
        return name if known else _ARGUMENT_NAMES.get(name, name)


_NEEDED = object()
_TRAINS = {"train", "training"}
_PLAIN_TYPES = {bool, int, float, str, type(None)}
_LISTS = {list, tuple, torch.Size}


def _same(x: Any, default: Any) -> bool:
    if isinstance(x, (list, tuple)):
        if isinstance(default, int):
            return False
        return isinstance(default, list) and list(map(type, x)) == list(map(type, default)) and list(x) == default
    return type(x) in _PLAIN_TYPES and type(x) is type(default) and bool(x == default)


def _takes(kind: str, x: Any) -> bool:
    """Whether an argument of a schema takes an object."""
    if kind.startswith("Optional["):
        return x is None or _takes(kind[len("Optional[") : -1], x)
    if kind.startswith("List["):
        inner = kind[len("List[") : -1]
        if isinstance(x, (list, tuple)):
            return all(_takes(inner, one) for one in x)
        return inner in ("int", "float") and _takes(inner, x)
    if kind == "Tensor":
        return isinstance(x, (Handle, torch.Tensor, Tensor))
    if kind == "bool" or kind == "str":
        return type(x).__name__ == kind
    if kind == "int":
        return isinstance(x, int) and not isinstance(x, bool)
    if kind in ("number", "float"):
        return isinstance(x, Real)
    return type(x).__module__.startswith("torch") and not isinstance(x, (torch.Tensor, Handle))


def _kind(x: Any) -> Any:
    kind = type(x)
    return (list, *map(_kind, x[:2])) if kind in _LISTS else kind


_FORMS: dict[Any, Form] = {}


def form_of(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Form:
    """The overload of aten's op that takes these arguments."""
    key = (name, *map(_kind, args), *((k, _kind(x)) for k, x in kwargs.items())) if kwargs else (name, *map(_kind, args))
    form = _FORMS.get(key)
    if form is None:
        form = _FORMS[key] = _found_form(name, args, kwargs)
    return form


def _found_form(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Form:
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        raise Unsupported("no op of blocktensor is for it")
    overloads = [getattr(packet, one) for one in packet.overloads()]
    for packed in (False, True):
        for overload in overloads:
            form = _form(overload, packed)
            if packed and not (len(args) > 1 and not kwargs and all(_takes("int", x) for x in args[1:])):
                continue
            given = [args[0], list(args[1:])] if packed else list(args)
            if _fits(form, overload, given, kwargs):
                return form
    signatures = "; ".join(str(o._schema) for o in overloads if "Tensor" in str(o._schema) and "out" not in o._overloadname)
    got = ", ".join([*map(described, args), *(f"{k}={described(x)}" for k, x in kwargs.items())])
    text = f"op `{name}` of PyTorch: got arguments ({got}), but its signatures are {signatures}"
    raise error(InvalidArgument, text, "pass what a signature says", op=name)


def _form(overload: Any, packed: bool) -> Form:
    arguments = overload._schema.arguments
    default = {a.name: a.default_value if a.has_default_value() else _NEEDED for a in arguments}
    positional = tuple((a.name, default[a.name]) for a in arguments if not a.kwarg_only)
    returns = overload._schema.returns
    alias = returns[0].alias_info if returns else None
    is_view = alias is not None and not alias.is_write
    keyword = {a.name: default[a.name] for a in arguments if a.kwarg_only}
    has_dtype = any("ScalarType" in str(a.real_type) for a in arguments)
    lists = {a.name: a.N or 1 for a in arguments if "List[int]" in str(a.type)}
    trains = any(a.name in _TRAINS for a in arguments)
    return Form(overload, positional, keyword, packed, is_view, has_dtype, trains, lists)


def _fits(form: Form, overload: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    kinds = {a.name: str(a.real_type) for a in overload._schema.arguments}
    names = [name for name, _ in form.positional]
    if len(args) > len(names):
        return False
    given = dict(zip(names, args, strict=False))
    for name, x in kwargs.items():
        name = form.name_of(name)
        if name not in kinds or name in given:
            return False
        given[name] = x
    defaults = {**dict(form.positional), **form.keyword}
    if any(default is _NEEDED and name not in given for name, default in defaults.items()):
        return False
    return all(_takes(kinds[name], x) or (x is None and defaults[name] is not _NEEDED) for name, x in given.items())


# Calls.


def call(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs a function or a method of PyTorch."""
    name = getattr(function, "__name__", None) or str(function)
    try:
        # A method that calls `super()` is a thin one around aten's op.
        if isinstance(function, FunctionType) and "__class__" not in function.__code__.co_freevars:
            return _body(function)(*args, **kwargs)
        if name in _SELF_SECOND and isinstance(function, MethodDescriptorType):
            args, kwargs = ((args[1], args[0], *args[2:]), kwargs) if len(args) > 1 else ((), {"self": args[0], **kwargs})
        return call_aten(name, args, kwargs)
    except Error:
        raise
    except Unsupported as e:
        raise refused(name, _target(args, kwargs), str(e)) from None
    except Exception as e:
        _raise_typed(name, _target(args, kwargs), e)


def _raise_typed(name: str, target: Any, e: Exception) -> NoReturn:
    """An error that PyTorch's own code raised, with its text."""
    first = _first_line(e)
    if isinstance(e, NotImplementedError):
        raise refused(name, target, first) from e
    raise refused(name, target, first, "pass what PyTorch's documentation says of it", kind=InvalidArgument) from e


def _first_line(e: Exception) -> str:
    return (str(e).strip() or type(e).__name__).splitlines()[0]


def _target(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The operand that an error is about."""
    given = [*args, *kwargs.values()]
    flat = [x for one in given for x in (one if isinstance(one, (list, tuple)) else [one])]
    return next((x for x in flat if isinstance(x, Handle)), given[0] if given else None)


def _never(*_: Any) -> bool:
    return False


@functools.cache
def _body(function: FunctionType) -> FunctionType:
    """PyTorch's own code of a function, without the check that sent the call here. What it dispatches to is treated alike."""
    checks = {name: _never for name in _CHECKS if name in function.__globals__}
    cells = function.__closure__ or ()
    inner = [c.cell_contents for c in cells]
    closure = tuple(CellType(_body(x)) if x is not function and _is_overridable(x) else c for x, c in zip(inner, cells, strict=True))
    if not checks and all(a is b for a, b in zip(closure, cells, strict=True)):
        raise Unsupported("no op of blocktensor is for it")
    private = {name: function.__globals__.get(name) for name in function.__code__.co_names if name.startswith("_")}
    helpers = {name: _body(x) for name, x in private.items() if x is not function and _is_overridable(x)}
    names = {**function.__globals__, **checks, **helpers}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure or None)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _is_overridable(x: Any) -> bool:
    return isinstance(x, FunctionType) and any(name in x.__globals__ for name in _CHECKS)


def call_aten(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs an op by its name in aten, or that of Python's operator."""
    if name.startswith("__"):
        name = name.strip("_")
    name = _NAMES.get(name, name)
    plain = name.rstrip("_")
    target = args[0] if args else next(iter(kwargs.values()), None)
    if isinstance(target, Handle) and name in target.OWN:
        rest = args[1:] if args else ()
        named = kwargs if args else {k: x for k, x in kwargs.items() if k not in ("input", "self")}
        return getattr(target, name)(*rest, **named)
    if kwargs.get("out") is not None:
        raise Unsupported("it writes into `out`; use its result instead")
    in_place = plain != name
    if in_place and not isinstance(target, Handle):
        raise Unsupported("it writes into a tensor of PyTorch")
    form = form_of(name, args, kwargs)
    arguments, keywords = form.arranged(args, kwargs)
    if plain in _NUMERIC:
        # Numbers of any dtype, as in PyTorch.
        arguments = [x.item() if isinstance(x, torch.Tensor) and not x.ndim else x for x in arguments]
    made = _result(plain, form, arguments, keywords)
    if in_place:
        return _written(name, target, made)
    return _wrapped(made, name, form, target, target if isinstance(target, Handle) else _target(args, kwargs))


def _result(name: str, form: Form, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    values = [_value(x) for x in arguments]
    named = {k: _value(x) for k, x in keywords.items()} if keywords else keywords
    if form.trains and any(name in _TRAINS and x is True for (name, _), x in zip(form.positional, values, strict=False)):
        raise Unsupported("training mode; call `model.eval()`, or pass `training=False`")
    if form.has_dtype:
        for x in (*values, *named.values()):
            if isinstance(x, torch.dtype) and x != torch.float32:
                raise Unsupported(f"a result of {x}; its result is f32")
    if name not in TABLE:
        if name in FACTORIES and not values[0].tensor.is_blocked:
            like = torch.empty(values[0].shape, dtype=DTYPES[values[0].tensor.dtype])
            made = _native.from_dlpack(form.overload(like, *arguments[1:], **keywords))
            return value_of(made)
        overload = form.overload
        if overload._schema.is_mutable:
            overload = getattr(getattr(torch.ops.aten, name, None), overload._overloadname, None)
            if overload is None:
                raise Unsupported("no op of blocktensor is for it")
        return replayed(name, overload, values, named, _one, value_of)
    return _tabled(name, form, values, named)


def _tabled(name: str, form: Form, values: list[Any], named: dict[str, Any]) -> Any:
    """What the table makes of a call."""
    if name in _NUMERIC:
        values = _promoted(name, values)
    elif name in _BITWISE:
        _check_masks(values)
    try:
        return TABLE[name](_Now(name, form, values, named), *values, **named)
    except TypeError as e:
        if isinstance(e, Error):
            raise
        taken = ", ".join(name for name, _ in form.positional)
        raise Unsupported(f"some of its arguments ({taken}); its op has fewer") from e


def _check_masks(values: list[Any]) -> None:
    for x in values:
        if isinstance(x, Value) and x.dtype == "bool" and x.tensor.size:
            if _native.call("amax", None, x.tensor.to_dtype("f32"), None, True).to_strided().numpy().max() > 1:
                raise Unsupported("bits of integers; masks are zeros and ones")


def _one(overload: Any, values: list[Any], named: dict[str, Any]) -> Any:
    """One op of a call that is several."""
    return _tabled(overload.overloadpacket.__name__, _form(overload, False), values, named)


def _promoted(name: str, values: list[Any]) -> list[Any]:
    """Numbers for tensors without axes beside others; f32 for masks beside f32."""
    if isinstance(values[0], Value) and values[0].shape:
        values = [x.tensor.item() if isinstance(x, Value) and not x.shape and x.tensor.key == "strided" else x for x in values]
    dtypes = {x.tensor.dtype for x in values if isinstance(x, Value)}
    if dtypes & {"u8", "s8"} and ("f32" in dtypes or name in _COMPARISONS):
        values = [value_of(x.tensor.to_dtype("f32")) if isinstance(x, Value) else x for x in values]
    return values


def _written(name: str, target: Handle, made: Value) -> Handle:
    """Writes the result of a call in place. The memory is new, so nothing else may share the old one."""
    if made.shape != target.data.shape:
        text = f"op `{name}` of PyTorch: got a result of {list(made.shape)} for {described(target)}, which it cannot be written into"
        raise error(ShapeMismatch, text, f"call `{name.rstrip('_')}`, which makes a tensor", op=name)
    if made.tensor.dtype != target.data.dtype:
        raise refused(name, target, f"its result is {made.tensor.dtype}", f"call `{name.rstrip('_')}`, which makes a tensor")
    check_alone(name, target)
    target.data = made.tensor
    return target


def check_alone(name: str, target: Handle) -> None:
    """Refuses to write where another eager tensor would have to change too."""
    others = [r() for r in target.family or ()]
    if any(x is not None and x is not target for x in others):
        remedy = f"call `{name.rstrip('_')}`, which makes a tensor, or `.clone()` one of them first"
        raise refused(name, target, "it writes into memory that another eager tensor is a view of", remedy)


def as_view(made: Handle, base: Handle) -> Handle:
    """Notes that two eager tensors share memory in PyTorch."""
    if base.family is None:
        base.family = [weakref.ref(base)]
    base.family[:] = [r for r in base.family if r() is not None]
    made.family = base.family
    made.family.append(weakref.ref(made))
    return made


def _wrapped(made: Any, name: str, form: Form, target: Any, like: Any) -> Any:
    kind = type(like)
    if isinstance(made, Value):
        if name in _SAME and isinstance(target, Handle) and made.tensor is target.data:
            return target
        result = kind(made.tensor)
        return as_view(result, target) if form.is_view and isinstance(target, Handle) else result
    if isinstance(made, (list, tuple)):
        results = [_wrapped(x, name, form, target, like) for x in made]
        named = getattr(torch.return_types, name, None)
        return named(results) if named is not None and len(results) == named.n_fields else tuple(results)
    return made
