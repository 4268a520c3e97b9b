"""What a model's code reaches outside of its modules: variables of closures, attributes of classes, globals.

All copies of a model share them, so a run of a copy changes them for the program.
"""

import copyreg
import dis
import functools
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any, NamedTuple

import torch

from .._errors import UnsupportedOp
from ._attributes import containers, kept_tensors, refill, restore, same, tensors_in
from ._state import another, moves_on, parts_of, state_of
from ._told import error

_MISSING: Any = object()
#: Python's own packages, and those whose functions keep nothing that a result depends on.
LIBRARIES = sys.stdlib_module_names | {"torch", "numpy", "blocktensor", "functorch", "mpmath", "sympy", "typing_extensions"}
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
    return str(getattr(x, "__module__", None) or "torch").split(".")[0] not in LIBRARIES


class _Names(NamedTuple):
    """The globals that a function reads and writes, the modules that it imports, and the attributes that it reads and sets."""

    globals: list[str]
    imports: list[str]
    read: list[str]
    set: list[str]


#: Python's instructions, by what they name.
_INSTRUCTIONS = (("_GLOBAL",), ("IMPORT_NAME",), ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"), ("STORE_ATTR",))


@functools.lru_cache(maxsize=4096)
def _names(code: CodeType) -> _Names:
    found = [(x.opname, x.argval) for x in dis.get_instructions(code)]
    inner = [_names(x) for x in code.co_consts if isinstance(x, CodeType)]
    lists = []
    for i, ends in enumerate(_INSTRUCTIONS):
        own = [name for op, name in found if op.endswith(ends)]
        lists.append(list(dict.fromkeys([*own, *(name for one in inner for name in one[i])])))
    return _Names(*lists)


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
                    # A copy of the model has the same one.
                    if isinstance(value, (BuiltinFunctionType, MethodWrapperType)) and moves_on(value):
                        self._place(_attribute(f"the attribute `{name}` of the model", module, name))

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
                elif name.startswith("__") or isinstance(value, type):
                    continue
                elif not hasattr(type(value), "__get__") or _is_of_the_program(type(value)):
                    self._place(_attribute(f"the attribute `{name}` of the class `{one.__name__}`", one, name))

    def _code(self, x: Any) -> None:
        """What a function reaches, if it is one of the program."""
        if isinstance(x, (functools.partial, tuple)):
            for one in parts_of(x):
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
        if function.__defaults__:
            self._place(_attribute(f"a default of `{name}`", function, "__defaults__"))
        self._contents(f"a default of `{name}`", function.__kwdefaults__)
        table, names = function.__globals__, _names(function.__code__)
        for variable in names.globals:
            self._item(f"the global `{variable}`", table, variable)
        held = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
        for one in [*map(table.get, names.globals), *map(sys.modules.get, names.imports), *held]:
            self._module(one, names)

    def _item(self, label: str, table: dict[str, Any], variable: str) -> None:
        if (id(table), variable) not in self._seen:
            self._seen.add((id(table), variable))
            self._place(_item(label, table, variable))

    def _module(self, module: Any, names: _Names, depth: int = 0) -> None:
        """What a function reaches of a module of the program: all that has the name of an attribute in the function's code."""
        if depth > 3 or not isinstance(module, ModuleType) or module.__name__.split(".")[0] in LIBRARIES:
            return
        table = vars(module)
        for name in dict.fromkeys([*names.read, *names.set]):
            if name in table or name in names.set:
                self._item(f"the variable `{name}` of the module `{module.__name__}`", table, name)
                self._module(table.get(name), names, depth + 1)

    def _place(self, place: _Place) -> None:
        value = place.value()
        self.places.append(place)
        self._code(value)
        if isinstance(value, type):
            self._class(value)
        else:
            if _is_of_the_program(type(value)):
                self._class(type(value))
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
        self._contents = [x.copy() for _, x in self._containers]
        self._tensors = kept_tensors(tensors_in([*self._kept, *self._contents]).values())
        #: Copies of iterators and generators, which are read in place of the program's own.
        self._moving: list[tuple[str, Any]] = []
        known: dict[int, Any] = {}
        writes: list[tuple[Callable[[Any], None], Any]] = []
        for place, value in zip(self._places, self._kept, strict=True):
            if moves_on(value):
                self._moving.append((place.label, _another(place.label, value, known)))
                writes.append((place.write, self._moving[-1][1]))
        for (label, x), before in zip(self._containers, self._contents, strict=True):
            copied = _with_others(label, before, known)
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
        self._named = {kind: _attributes(kind) for kind in self._classes}

    def changed(self) -> list[str]:
        """The names of what is not as it was."""
        places = zip(self._places, self._values, strict=True)
        found = [place.label for place, value in places if not same(place.value(), value)]
        found += [label for (label, x), before in zip(self._containers, self._expected, strict=True) if not same(x, before)]
        found += [label for (label, x), before in zip(self._moving, self._states, strict=True) if not same(state_of(x), before)]
        for kind, before in self._named.items():
            now = _attributes(kind)
            changed = [name for name in {**before, **now} if not same(before.get(name, _MISSING), now.get(name, _MISSING))]
            found += [f"the attribute `{name}` of the class `{kind.__name__}`" for name in changed]
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


def _attributes(kind: type) -> dict[str, Any]:
    """What a class has: of lists and dictionaries, what they hold now."""
    found = {name: x for name, x in vars(kind).items() if not name.startswith("__")}
    return {name: x.copy() if type(x) in (list, dict, set) else x for name, x in found.items()}


def _with_others(label: str, contents: Any, known: dict[int, Any]) -> tuple[Any, list[tuple[str, Any]]] | None:
    """What a list or dictionary holds, with copies of the iterators and generators in it; `None` where there are none."""
    if not isinstance(contents, (list, dict, deque)):
        return None
    items = list(contents.items()) if isinstance(contents, dict) else list(enumerate(contents))
    others = {key: _another(label, x, known) for key, x in items if moves_on(x)}
    if not others:
        return None
    made = contents.copy()
    for key, other in others.items():
        made[key] = other
    return made, [(label, other) for other in others.values()]


def _another(label: str, x: Any, known: dict[int, Any]) -> Any:
    try:
        return another(x, known)
    except Exception:
        text = f"`forward` reads {label}, a {type(x).__name__} that cannot be copied, and conversion would move it on"
        raise error(UnsupportedOp, text, "read it outside, and pass the value as an input", op="torch.export") from None
