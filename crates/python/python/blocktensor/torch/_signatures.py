"""Signatures of aten: which overload takes a call's arguments, and in which order the table gets them."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch

from .._errors import InvalidArgument
from .._native import Tensor
from ._export import error
from ._handles import Handle, described
from ._values import TABLE, Unsupported

#: Names of arguments in Python that aten's schemas do not have.
_ARGUMENT_NAMES = {"input": "self", "axis": "dim", "keepdims": "keepdim"}


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
TRAINS = {"train", "training"}
PLAIN_TYPES = {bool, int, float, str, type(None)}
LISTS = {list, tuple, torch.Size}


def _same(x: Any, default: Any) -> bool:
    if isinstance(x, (list, tuple)):
        if isinstance(default, int):
            return False
        return isinstance(default, list) and list(map(type, x)) == list(map(type, default)) and list(x) == default
    return type(x) in PLAIN_TYPES and type(x) is type(default) and bool(x == default)


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
    return (list, *map(_kind, x[:2])) if kind in LISTS else kind


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
            made = as_form(overload, packed)
            if packed and not (len(args) > 1 and not kwargs and all(_takes("int", x) for x in args[1:])):
                continue
            given = [args[0], list(args[1:])] if packed else list(args)
            if _fits(made, overload, given, kwargs):
                return made
    if name not in TABLE and isinstance(args[0], Real):
        # PyTorch makes a tensor of the number.
        raise Unsupported("no op of blocktensor is for it")
    signatures = "; ".join(str(o._schema) for o in overloads if "Tensor" in str(o._schema) and "out" not in o._overloadname)
    got = ", ".join([*map(described, args), *(f"{k}={described(x)}" for k, x in kwargs.items())])
    text = f"op `{name}` of PyTorch: got arguments ({got}), but its signatures are {signatures}"
    raise error(InvalidArgument, text, "pass what a signature says", op=name)


def as_form(overload: Any, packed: bool = False) -> Form:
    arguments = overload._schema.arguments
    default = {a.name: a.default_value if a.has_default_value() else _NEEDED for a in arguments}
    positional = tuple((a.name, default[a.name]) for a in arguments if not a.kwarg_only)
    returns = overload._schema.returns
    alias = returns[0].alias_info if returns else None
    is_view = alias is not None and not alias.is_write
    keyword = {a.name: default[a.name] for a in arguments if a.kwarg_only}
    has_dtype = any("ScalarType" in str(a.real_type) for a in arguments)
    lists = {a.name: a.N or 1 for a in arguments if "List[int]" in str(a.type)}
    trains = any(a.name in TRAINS for a in arguments)
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
