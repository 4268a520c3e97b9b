"""What a model's code reaches outside of its modules: variables of closures, attributes of classes, globals.

All copies of a model share them, so a run of a copy changes them for the program.
"""

import copy
import copyreg
import dis
import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import UnsupportedOp
from ._attributes import containers, kept_tensors, refill, restore, same
from ._state import moves_on, state_of
from ._told import error

_MISSING: Any = object()
#: Python's own packages, and those whose functions keep nothing that a result depends on.
_LIBRARIES = sys.stdlib_module_names | {"torch", "numpy", "blocktensor"}
_MODULE = set(vars(torch.nn.Module()))


class _Place:
    """A variable: its name in errors, and what it holds."""

    def __init__(self, label: str, read: Callable[[], Any], write: Callable[[Any], None], remove: Callable[[], None]) -> None:
        self.label, self._read, self.write, self.remove = label, read, write, remove

    def value(self) -> Any:
        try:
            return self._read()
        except (AttributeError, KeyError, ValueError):
            return _MISSING


def _cell(label: str, cell: CellType) -> _Place:
    def write(value: Any) -> None:
        cell.cell_contents = value

    def remove() -> None:
        del cell.cell_contents

    return _Place(label, lambda: cell.cell_contents, write, remove)


def _item(label: str, table: dict[str, Any], name: str) -> _Place:
    return _Place(label, lambda: table[name], lambda value: table.__setitem__(name, value), lambda: table.__delitem__(name))


def _attribute(label: str, owner: Any, name: str) -> _Place:
    read = (lambda: vars(owner)[name]) if isinstance(owner, type) else (lambda: getattr(owner, name))
    return _Place(label, read, lambda value: setattr(owner, name, value), lambda: delattr(owner, name))


def _is_of_the_program(x: Any) -> bool:
    return str(getattr(x, "__module__", None) or "torch").split(".")[0] not in _LIBRARIES


@functools.lru_cache(maxsize=4096)
def _globals(code: CodeType) -> tuple[str, ...]:
    """The globals that a function reads and writes."""
    found = [x.argval for x in dis.get_instructions(code) if x.opname.endswith("_GLOBAL")]
    inner = [name for x in code.co_consts if isinstance(x, CodeType) for name in _globals(x)]
    return tuple(dict.fromkeys([*found, *inner]))


class _Reached:
    """The places that a model's code reaches."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.places: list[_Place] = []
        self.containers: dict[int, tuple[str, Any]] = {}
        #: Classes, and the names that they have.
        self.classes: dict[type, set[str]] = {}
        self._seen: set[Any] = set()
        for module in model.modules():
            self._class(type(module))
            for name, value in vars(module).items():
                # Hooks are code; weights and children are the model's own.
                if name not in _MODULE or name.endswith(("_hooks", "_hooks_with_kwargs")):
                    for one in value.values() if isinstance(value, dict) else [value]:
                        self._code(one)

    def _class(self, kind: type) -> None:
        for one in kind.__mro__:
            if one in self.classes or not _is_of_the_program(one):
                continue
            self.classes[one] = set(vars(one))
            for name, value in list(vars(one).items()):
                if isinstance(value, (staticmethod, classmethod)):
                    self._code(value.__func__)
                elif isinstance(value, property):
                    self._code(value.fget)
                elif isinstance(value, FunctionType):
                    self._code(value)
                elif not name.startswith("__") and not isinstance(value, type) and not hasattr(type(value), "__get__"):
                    self._place(_attribute(f"the attribute `{name}` of the class `{one.__name__}`", one, name))

    def _code(self, x: Any) -> None:
        """What a function reaches, if it is one of the program."""
        if isinstance(x, functools.partial):
            for one in (x.func, *x.args, *x.keywords.values()):
                self._code(one)
            return
        function = x.__func__ if isinstance(x, MethodType) else x
        if not isinstance(function, FunctionType) or function in self._seen or not _is_of_the_program(function):
            return
        self._seen.add(function)
        name = function.__qualname__
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if variable != "__class__" and id(cell) not in self._seen:
                self._seen.add(id(cell))
                self._place(_cell(f"the variable `{variable}` of `{name}`", cell))
        self._contents(f"an attribute of the function `{name}`", function.__dict__)
        for value in [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]:
            self._contents(f"a default of `{name}`", value)
        table = function.__globals__
        for variable in _globals(function.__code__):
            if (id(table), variable) not in self._seen:
                self._seen.add((id(table), variable))
                self._place(_item(f"the global `{variable}`", table, variable))

    def _place(self, place: _Place) -> None:
        value = place.value()
        self.places.append(place)
        self._code(value)
        if isinstance(value, type):
            self._class(value)
        else:
            self._contents(place.label, value)
            if type(value).__dictoffset__ == 0 and "__slots__" in vars(type(value)) and _is_of_the_program(type(value)):
                self.places += [_attribute(place.label, value, name) for name in copyreg._slotnames(type(value))]  # type: ignore[attr-defined]

    def _contents(self, label: str, value: Any) -> None:
        for name, x in containers(value, label):
            self.containers.setdefault(id(x), (name, x))


#: One run at a time: what is put back is the process's.
_ONE = threading.RLock()


class Outside:
    """Keeps what a model's code reaches outside of its modules, and tells which of it a run changes. One thread at a time does."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model

    def __enter__(self) -> "Outside":
        _ONE.acquire()
        try:
            self._keep()
        except BaseException:
            _ONE.release()
            raise
        return self

    def _keep(self) -> None:
        reached = _Reached(self._model)
        self._places, self._classes = reached.places, reached.classes
        self._containers = list(reached.containers.values())
        self._kept = [place.value() for place in self._places]
        held = [*self._kept, *(x for _, x in self._containers)]
        tensors = {id(x): x for one in held for x in pytree.tree_leaves(one) if isinstance(x, torch.Tensor)}
        self._tensors = kept_tensors(tensors.values())
        self._contents = [x.copy() for _, x in self._containers]
        #: Copies of iterators and generators, which are read in place of the program's own.
        self._moving: list[tuple[str, Any]] = []
        writes: list[tuple[Callable[[Any], None], Any]] = []
        for place, value in zip(self._places, self._kept, strict=True):
            if moves_on(value):
                self._moving.append((place.label, _another(place.label, value)))
                writes.append((place.write, self._moving[-1][1]))
        for (label, x), before in zip(self._containers, self._contents, strict=True):
            copied = _with_others(label, before)
            if copied is not None:
                self._moving += copied[1]
                writes.append((functools.partial(refill, x), copied[0]))
        # Only now, as one that cannot be copied is an error.
        for write, other in writes:
            write(other)
        self.go_on()

    def go_on(self) -> None:
        """From here on, changes are told."""
        self._values = [place.value() for place in self._places]
        self._expected = [x.copy() for _, x in self._containers]
        self._states = [state_of(x) for _, x in self._moving]

    def changed(self) -> list[str]:
        """The names of what is not as it was."""
        places = zip(self._places, self._values, strict=True)
        found = [place.label for place, value in places if not same(place.value(), value)]
        found += [label for (label, x), before in zip(self._containers, self._expected, strict=True) if not same(x, before)]
        found += [label for (label, x), before in zip(self._moving, self._states, strict=True) if not same(state_of(x), before)]
        return list(dict.fromkeys(found))

    def __exit__(self, *_: object) -> None:
        try:
            self._put_back()
        finally:
            _ONE.release()

    def _put_back(self) -> None:
        for place, value in zip(self._places, self._kept, strict=True):
            now = place.value()
            if now is not value:
                place.remove() if value is _MISSING else place.write(value)
        for (_label, x), before in zip(self._containers, self._contents, strict=True):
            refill(x, before)
        for kind, names in self._classes.items():
            for name in set(vars(kind)) - names:
                if not name.startswith("__"):
                    delattr(kind, name)
        restore(self._tensors)


def _with_others(label: str, contents: Any) -> tuple[Any, list[tuple[str, Any]]] | None:
    """What a list or dictionary holds, with copies of the iterators and generators in it; `None` where there are none."""
    if not isinstance(contents, (list, dict, deque)):
        return None
    items = list(contents.items()) if isinstance(contents, dict) else list(enumerate(contents))
    others = {key: _another(label, x) for key, x in items if moves_on(x)}
    if not others:
        return None
    made = contents.copy()
    for key, other in others.items():
        made[key] = other
    return made, [(label, other) for other in others.values()]


def _another(label: str, x: Any) -> Any:
    try:
        return copy.deepcopy(x)
    except Exception:
        text = f"`forward` reads {label}, a {type(x).__name__} that cannot be copied, and conversion would move it on"
        raise error(UnsupportedOp, text, "read it outside, and pass the value as an input", op="torch.export") from None
