"""One call of PyTorch on eager tensors: its arguments are bound to aten's schema, then the table's function runs at once.

Functions that PyTorch writes in Python (`F.interpolate`, `F.pad`) run again without the check that sent the call here, so their
own calls arrive one by one.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodDescriptorType
from typing import Any, NoReturn

import torch
from torch.utils import _pytree as pytree

from .. import _native
from .._errors import DTypeMismatch, Error, InvalidArgument, KeyMismatch, ShapeMismatch, UnsupportedDType
from .._native import Tensor, Var
from . import _core as _core  # fills the table
from ._compose import masks, norm
from ._dtypes import CONDITIONS, PRODUCTS, beside_f32, check_choice, check_masks, check_product, is_numpy_bool, promoted, widened
from ._export import FACTORIES, error
from ._handles import (
    ACTIVE,
    COMPARISONS,
    DTYPES,
    Absent,
    Handle,
    as_view,
    check_alone,
    check_gradients,
    described,
    imported,
    making,
    narrowed,
    overlap,
    refused,
    value_of,
)
from ._quantized import QUANTIZED
from ._recorded_ops import RECORDED, check_labels, check_numbers, written_as
from ._replay import replayed
from ._signatures import LISTS, PLAIN_TYPES, TRAINS, Form, as_form, form_of
from ._told import in_pytorch, told_text
from ._values import TABLE, WITHOUT_OP, Unsupported, Value, held

_ARGUMENTS = {schema["name"]: [a["name"] for a in schema["args"]] for schema in _native.schemas()}

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

#: Operators whose number comes first.
_REFLECTED = {"__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor"}

#: Ops for which a tensor without axes is a number, and integers are promoted.
_NUMERIC = set(COMPARISONS) | set("add sub rsub mul div pow clamp maximum minimum floor_divide".split())

#: Ops that are logic where both operands are masks.
_ARITHMETIC = {"add", "sub", "rsub", "mul", "pow"}

#: Ops of a list of tensors, whose masks are promoted too.
_JOINED = {"cat", "stack", "hstack", "vstack"}

#: Logic of masks, which are u8 here: other integers have bits.
_BITWISE = {"bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"}

#: Ops whose kernels take more than PyTorch: other ranks, or sizes that broadcast. PyTorch checks these.
_STRICT = set("mm bmm mv dot addmm baddbmm addmv repeat".split())

#: Functions whose result is their operand itself where they change nothing.
_SAME = {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"}

#: Methods whose tensor is aten's second argument.
_SELF_SECOND = {"where", "polygamma"}

_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class _Now:
    """A builder that runs each op at once."""

    def __init__(
        self, name: str, form: "Form", arguments: list[Any], keywords: dict[str, Any], given: list[Any] | None = None
    ) -> None:
        self.name = name
        #: The arguments as the caller passed them; `None` in a call that is a part of another one.
        self.given = given
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
        if op in ("matmul", "linear") or op.startswith("conv"):
            check_product(given[:2], f"convert both with `.float()`, or call `blocktensor.ops.{op}`")
        recording = ACTIVE.recording
        made: Any = _native.call(op, None, *given) if recording is None else recording.run(op, given, self.name)
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
        return _native.from_dlpack(narrowed(x))
    return [_plain(one) for one in x] if type(x) in LISTS and x and type(x[0]) is not int else x


def _alike(operands: list[Any]) -> list[Any]:
    """Constants of one element, blocked as the mask is."""
    mask = operands[0]
    if not mask.is_blocked:
        return operands

    def alike(x: Tensor) -> Tensor:
        if x.is_blocked or x.size != 1 or isinstance(x, Var):
            return x
        return _native.call("add_scalar", None, _native.zeros(mask.shape, layout=mask.layout), x.item())

    return [mask, *map(alike, operands[1:])]


def _meta(x: Any) -> Any:
    if isinstance(x, Value):
        return torch.empty(x.shape, dtype=DTYPES[x.tensor.dtype], device="meta")
    return [_meta(one) for one in x] if isinstance(x, (list, tuple)) else x


def _value(x: Any) -> Any:
    """An operand as the table takes it."""
    if type(x) in PLAIN_TYPES:
        return x
    if ACTIVE.recording is not None and isinstance(x, (Handle, torch.Tensor, Tensor)):
        return ACTIVE.recording.value(x)
    if isinstance(x, Handle):
        return value_of(x.held)
    if isinstance(x, torch.Tensor):
        return imported(x)
    if isinstance(x, Tensor):
        return value_of(x)
    return [_value(one) for one in x] if type(x) in LISTS and x and type(x[0]) is not int else x


def call(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs a function or a method of PyTorch."""
    try:
        return _called(function, args, kwargs)
    except Error:
        for x in (*args, *kwargs.values()):
            if isinstance(x, Absent):
                raise x.told() from None
        raise


def _called(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = getattr(function, "__name__", None) or str(function)
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        # `aten::conv2d`, which an exported program calls.
        packet: Any = getattr(function, "overloadpacket", function)
        space, _, name = str(packet._qualified_op_name).partition("::")
        name = name if space == "aten" else f"{space}::{name}"
        if space == QUANTIZED:
            reason = "it is a call of a quantised model, which runs as a plan, and not call by call"
            remedy = "pass the model to `to_blocked` or `plan`"
            if ACTIVE.recording is not None:
                remedy = "train the model before it is quantised, and pass what `convert_pt2e` makes of it to `to_blocked`"
            raise refused(name, _target(args, kwargs), reason, remedy)
    try:
        # A method that calls `super()` is a thin one around aten's op.
        if isinstance(function, FunctionType) and "__class__" not in function.__code__.co_freevars:
            return _body(function)(*args, **kwargs)
        if function is torch.result_type:
            # The replay of it would tell the dtype by a number.
            return function(*(_stand_in(x) for x in args), **{k: _stand_in(x) for k, x in kwargs.items()})
        if name in _SELF_SECOND and isinstance(function, MethodDescriptorType):
            args, kwargs = ((args[1], args[0], *args[2:]), kwargs) if len(args) > 1 else ((), {"self": args[0], **kwargs})
        return call_aten(name, args, kwargs)
    except (DTypeMismatch, UnsupportedDType) as e:
        raise _named(name, _target(args, kwargs), e) from None
    except Error:
        raise
    except Unsupported as e:
        raise refused(name, _target(args, kwargs), e.reason, e.remedy or written_as(name)) from None
    except Exception as e:
        _raise_typed(name, _target(args, kwargs), e)


def _stand_in(x: Any) -> Any:
    return torch.empty(x.shape, dtype=x.dtype, device="meta") if isinstance(x, Handle) else x  # type: ignore[attr-defined]


def _named(name: str, target: Any, e: Error) -> Exception:
    """The error for a dtype, with the name of the call, if the one of its ops that took none is another one."""
    called, op = name.strip("_"), e.op or ""
    called = _NAMES.get(called, called)
    if op in called or called in op or not isinstance(target, Handle):
        return e
    text = str(e).removesuffix(f"; {e.remedy}")
    made: Any = refused(name, target, f"in its {text}", "call it on `x.float()`" if target.held.dtype != "f32" else e.remedy, kind=type(e))
    made.operands = e.operands
    return made  # type: ignore[no-any-return]


def _raise_typed(name: str, target: Any, e: Exception) -> NoReturn:
    """An error that PyTorch's own code raised, with its text."""
    first = told_text(e)
    if isinstance(target, Handle) and target.held.dtype == "u8" and "bool" in first.lower():
        first = f"{first.rstrip('.')} (a tensor of u8 is a mask here)"
        raise refused(name, target, first, "call it on `x.float()`", kind=UnsupportedDType) from e
    if isinstance(e, (NotImplementedError, AttributeError)):
        # No call of a function that PyTorch wrote in Python is wrong, where the tensor lacks what it asks for.
        raise refused(name, target, first) from e
    raise refused(name, target, first, "pass what PyTorch's documentation says of it", kind=InvalidArgument) from e


def _target(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The operand that an error is about."""
    given = [*args, *kwargs.values()]
    found = _handles(given)
    return found[0] if found else given[0] if given else None


def _never(*_: Any) -> bool:
    return False


@functools.cache
def _body(function: FunctionType) -> Callable[..., Any]:
    """PyTorch's own code of a function, without the check that sent the call here. What it dispatches to is treated alike."""
    if function is torch.functional.norm:
        return norm
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
        name = _REFLECTED.get(name, name.strip("_"))
    name = _NAMES.get(name, name)
    if name in ("max", "min") and len(args) == 2 and isinstance(args[1], (Handle, torch.Tensor, Tensor)):
        name = f"{name}imum"
    plain = name.rstrip("_")
    if ACTIVE.recording is None:
        check_gradients(plain, [*args, *kwargs.values()])
    target = args[0] if args else kwargs.get("input", kwargs.get("self"))
    if isinstance(target, Handle) and name in target.OWN:
        rest = args[1:] if args else ()
        named = kwargs if args else {k: x for k, x in kwargs.items() if k not in ("input", "self")}
        return getattr(target, name)(*rest, **named)
    if kwargs.get("out") is not None:
        raise Unsupported("it writes into `out`", "leave `out` out, and use what the call returns")
    in_place = plain != name
    if in_place and not isinstance(target, Handle):
        remedy = f"pass numbers, `{in_pytorch()}`" if ACTIVE.recording is not None else None
        raise Unsupported("it writes into a tensor of PyTorch", remedy)
    # PyTorch's schemas know Python's Booleans.
    args = [x.item() if is_numpy_bool(x) else x for x in args]
    form = form_of(name, args, kwargs)
    arguments, keywords = form.arranged(args, kwargs)
    if plain in _NUMERIC:
        # Numbers of any dtype, as in PyTorch.
        arguments = [x.item() if _is_scalar(x) and not _is_recorded_tensor(x) else x for x in arguments]
    made = _result(plain, form, arguments, keywords)
    if in_place:
        assert isinstance(target, Handle)
        return _written(name, target, made)
    made = _wrapped(made, name, form, target, target if isinstance(target, Handle) else _target(args, kwargs))
    if name not in TABLE and not form.is_view:
        _note_views(made, _handles([*args, *kwargs.values()]))
    return made


def _is_scalar(x: Any) -> bool:
    """Whether it is a tensor without axes, or a number of numpy."""
    return isinstance(x, torch.Tensor) and not x.ndim or type(x).__module__ == "numpy" and not getattr(x, "ndim", 1)


def _is_recorded_tensor(x: Any) -> bool:
    """Whether PyTorch would give it a gradient in this forward. As a number it would get none."""
    return ACTIVE.recording is not None and ACTIVE.recording.records and isinstance(x, torch.Tensor) and x.requires_grad


def _handles(x: Any) -> list[Handle]:
    if isinstance(x, Handle):
        return [x]
    return [one for inner in x for one in _handles(inner)] if isinstance(x, (list, tuple)) else []


def _note_views(made: Any, operands: list[Handle]) -> None:
    """Compositions do not say what they return views of: their memory does."""
    for x in _handles(made):
        base = next((base for base in operands if overlap(x.held, base.held)), None)
        if base is not None:
            as_view(x, base)


def _result(name: str, form: Form, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    values = [_value(x) for x in arguments]
    named = {k: _value(x) for k, x in keywords.items()} if keywords else keywords
    # The table says of a batch norm what is wanted in place of the batch's statistics, in eval mode too.
    is_told = _is_recorded(name) or name == "batch_norm"
    if form.trains and not is_told and any(name in TRAINS and x is True for (name, _), x in zip(form.positional, values, strict=False)):
        if ACTIVE.recording is not None:
            raise Unsupported("no op of blocktensor does what it does in training mode")
        raise Unsupported("training mode; call `model.eval()`, or pass `training=False`")
    if form.has_dtype:
        dtypes = [x for x in (*values, *named.values()) if isinstance(x, torch.dtype)]
        for x in dtypes:
            if x != torch.float32:
                raise Unsupported(f"a result of {x}; its result is f32")
        if dtypes and name not in FACTORIES:
            # As PyTorch, which converts before it computes.
            values = [x if not isinstance(x, Value) or x.tensor.dtype == "f32" else value_of(x.tensor.to_dtype("f32")) for x in values]
    if name not in TABLE:
        if name in WITHOUT_OP:
            raise Unsupported(WITHOUT_OP[name])
        if name in PRODUCTS:
            check_product([x.tensor for x in pytree.tree_leaves(values) if isinstance(x, Value)], "convert its tensors with `.float()`")
        if ACTIVE.recording is not None:
            check_labels(name, values)
        if name in ("full_like", "new_full") and values[0].dtype == "bool" and keywords.get("dtype") is None:
            held(values[0], arguments[-1])
        if name in FACTORIES and not values[0].tensor.is_blocked:
            like = torch.empty(values[0].shape, dtype=DTYPES[values[0].tensor.dtype])
            return value_of(_native.from_dlpack(form.overload(like, *arguments[1:], **keywords)))
        overload = form.overload
        if overload._schema.is_mutable:
            overload = getattr(getattr(torch.ops.aten, name, None), overload._overloadname, None)
            if overload is None:
                raise Unsupported("no op of blocktensor is for it")
        return replayed(name, overload, values, named, _one)
    return _tabled(name, form, values, named, arguments)


def _is_recorded(name: str) -> bool:
    """Whether training has an entry of its own for the call."""
    return ACTIVE.recording is not None and name in RECORDED


def _tabled(name: str, form: Form, values: list[Any], named: dict[str, Any], given: list[Any] | None = None) -> Any:
    """What the table makes of a call."""
    if name in _ARITHMETIC and masks(*values[:2]):
        remedy = "write `a | b` for their sum and `a & b` for their product, or compute with `a.float()`"
        raise Unsupported("both operands are masks, which PyTorch does not compute with as numbers", remedy)
    if name in _ARITHMETIC and ACTIVE.recording is not None:
        check_numbers(name, values)
    if name in _NUMERIC:
        values = promoted(name, values)
        if name in ("maximum", "minimum"):
            check_masks(values)
    elif name in _JOINED and isinstance(values[0], list):
        if ACTIVE.recording is None:
            _check_keys(name, values[0])
        values = [widened(values[0]), *values[1:]]
    elif name in _BITWISE:
        check_masks(values)
    elif name in CONDITIONS:
        check_choice(name, values)
        if name == "where":
            values = [*values[:1], *beside_f32(values[1:], any_of=any(isinstance(x, float) for x in values[1:]))]
        check_masks(values[1:] if name == "where" else values[:1])
    builder = _Now(name, form, values, named, given)
    if name in _STRICT:
        builder.result_shape()
    try:
        return (RECORDED if _is_recorded(name) else TABLE)[name](builder, *values, **named)
    except TypeError as e:
        if isinstance(e, Error):
            raise
        raise _surplus(name, form, values, named) from e


def _surplus(name: str, form: Form, values: list[Any], named: dict[str, Any]) -> Unsupported:
    """The reason for a call with arguments that the table's function does not have."""
    parameters = list(inspect.signature(TABLE[name]).parameters)[1:]
    given = {one: x for (one, _), x in zip(form.positional[len(parameters) :], values[len(parameters) :], strict=False)}
    given |= {one: x for one, x in named.items() if one not in parameters}
    if not given:
        return Unsupported(f"some of its arguments ({', '.join(one for one, _ in form.positional)}); its op has fewer")
    told = ", ".join(f"`{one}`: got {described(x)}" for one, x in given.items())
    if name == "round":
        return Unsupported(f"argument {told}, but its op rounds to whole numbers", "call `(x * 10**n).round() / 10**n`")
    return Unsupported(f"argument {told}, which its op does not take")


def _check_keys(name: str, values: list[Value]) -> None:
    """Tensors of one list are all blocked or all strided: which of them is not."""
    first = values[0].tensor
    for i, x in enumerate(values):
        if x.tensor.key != first.key:
            blocked, strided = (0, i) if first.is_blocked else (i, 0)
            got = f"`tensors[0]`: got {described(first)}, and `tensors[{i}]`: got {described(x.tensor)}"
            text = f"op `{name}` of PyTorch: {got}, but tensors of one list are all blocked or all strided"
            remedy = f"pass `EagerTensor(tensors[{strided}]).to_blocked()`, or `tensors[{blocked}].to_strided()`"
            raise error(KeyMismatch, text, remedy, op=name)


def _one(overload: Any, values: list[Any], named: dict[str, Any]) -> Any:
    """One op of a call that is several."""
    return _tabled(overload.overloadpacket.__name__, as_form(overload), values, named)


def _written(name: str, target: Handle, made: Value) -> Handle:
    """Writes the result of a call in place. The memory is new, so nothing else may share the old one."""
    if made.shape != target.held.shape:
        text = f"op `{name}` of PyTorch: got a result of {list(made.shape)} for {described(target)}, which it cannot be written into"
        raise error(ShapeMismatch, text, making(name), op=name)
    if made.tensor.dtype != target.held.dtype:
        raise refused(name, target, f"its result is {made.tensor.dtype}", making(name))
    check_alone(name, target)
    target.hold(made.tensor)
    return target


def _wrapped(made: Any, name: str, form: Form, target: Any, like: Any) -> Any:
    kind = getattr(like, "RESULT", None) or type(like)
    if isinstance(made, Value):
        if name in _SAME and isinstance(target, Handle) and made.tensor is target.held:
            return target
        result = kind(made.tensor)
        return as_view(result, target) if form.is_view and isinstance(target, Handle) else result
    if isinstance(made, (list, tuple)):
        results = [_wrapped(x, name, form, target, like) for x in made]
        results = [Absent(name) if x is None else x for x in results]
        named = getattr(torch.return_types, name, None)
        return named(results) if named is not None and len(results) == named.n_fields else tuple(results)
    return made
