"""What a run of a model leaves behind outside of its graph: attributes, and the state of random generators."""

import copyreg
import functools
import io
import random
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.utils import _pytree as pytree

from ._state import moves_on, owner_of, parts_of, put_back, state_of

_MISSING = object()
_STANDARD = set(torch.nn.Module().__dict__)
#: Objects whose attributes are not followed.
_OPAQUE = (torch.nn.Module, torch.Tensor, type, FunctionType, MethodType, BuiltinFunctionType, ModuleType)
#: What keeps values, and is given others in place.
_KINDS = (list, dict, set, deque, OrderedDict, defaultdict, Counter)
#: Packages whose objects are no state of a model.
_NOT_FOLLOWED = {"torch", "logging", "weakref"}
#: How far lists in lists, and objects in objects, are followed.
_DEEPEST = 4


def attributes_of(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Parameters, buffers and tensor attributes by name."""
    for path, module in model.named_modules():
        for table in (module._parameters, module._buffers, module.__dict__):
            for name, x in table.items():
                if isinstance(x, torch.Tensor):
                    yield f"{path}.{name}" if path else name, x


def kept_tensors(tensors: Iterable[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The tensors whose elements `restore` puts back; weights, which a forward does not change, are none of them."""
    plain = (x for x in tensors if type(x) is torch.Tensor and x.layout == torch.strided and x.device.type == "cpu")
    return [(x, x.detach().clone()) for x in plain if not is_functorch_wrapped_tensor(x)]


def tensors_in(values: Iterable[Any]) -> dict[int, torch.Tensor]:
    """The tensors in lists and dictionaries, by their ids. Lists may hold themselves."""
    found: dict[int, torch.Tensor] = {}
    seen: set[int] = set()
    left = list(values)
    while left:
        x = left.pop()
        if isinstance(x, torch.Tensor):
            found[id(x)] = x
        elif isinstance(x, (list, tuple, dict, deque)) and id(x) not in seen:
            seen.add(id(x))
            left += x.values() if isinstance(x, dict) else x
    return found


def restore(tensors: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    with torch.no_grad():
        for x, before in tensors:
            if not torch.equal(x, before):
                x.copy_(before)


class Contents:
    """What an object holds that is no container of the kinds above: an object with slots, bytes or text that change, an iterator."""

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self.copy, self.write = read, write

    def __iter__(self) -> Iterator[Any]:
        found = self.copy()
        return iter(found.values() if isinstance(found, dict) else ())


def _contents(x: Any) -> Contents | None:
    kind = type(x)
    if moves_on(x):
        return Contents(lambda: state_of(x), lambda before: put_back(x, before))
    if kind is bytearray or (kind.__module__, kind.__name__) == ("array", "array"):
        return Contents(lambda: bytes(memoryview(x)), lambda before: _write_bytes(x, before))
    if kind in (io.StringIO, io.BytesIO):
        return Contents(lambda: None if x.closed else (x.getvalue(), x.tell()), lambda before: _write_text(x, before))
    slots = copyreg._slotnames(kind)  # type: ignore[attr-defined]
    if not slots or kind.__module__.split(".")[0] in _NOT_FOLLOWED:
        return None

    def read() -> dict[str, Any]:
        return {name: getattr(x, name) for name in slots if hasattr(x, name)}

    def write(before: dict[str, Any]) -> None:
        for name in slots:
            if name in before:
                object.__setattr__(x, name, before[name])
            elif hasattr(x, name):
                object.__delattr__(x, name)

    return Contents(read, write)


def _write_bytes(x: Any, before: bytes) -> None:
    del x[:]
    x.extend(before) if isinstance(x, bytearray) else x.frombytes(before)


def _write_text(x: Any, before: tuple[Any, int] | None) -> None:
    if before is not None and not x.closed:
        x.seek(0)
        x.truncate()
        x.write(before[0])
        x.seek(before[1])


def containers(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The lists, dictionaries, sets, arrays and plain objects' attributes that are reached from a value."""
    if depth > _DEEPEST:
        return
    if isinstance(value, functools.partial) or owner_of(value) is not None:
        for x in parts_of(value):
            yield from containers(x, name, depth + 1)
    if isinstance(value, _OPAQUE):
        return
    if type(value) in _KINDS or _is_array(value):
        yield name, value
    elif hasattr(value, "__dict__") and type(value).__module__.split(".")[0] not in _NOT_FOLLOWED:
        yield from containers(vars(value), name, depth)
    held = _contents(value)
    if held is not None:
        yield name, held
        for x in held:
            yield from containers(x, name, depth + 1)
    if isinstance(value, (list, tuple, deque)):
        for x in value:
            yield from containers(x, name, depth + 1)
    elif type(value) in _KINDS and isinstance(value, dict):
        for x in value.values():
            yield from containers(x, name, depth + 1)


def _is_array(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(x) is numpy.ndarray and x.dtype != object


class Attributes:
    """Keeps a model's attributes, those that are no weights and no modules, and tells which a forward changed."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.modules = dict(model.named_modules())
        self._paths = {id(module): path for path, module in self.modules.items()}
        # Everything that a module's dictionary holds, and what its lists hold.
        self._kept = {path: dict(module.__dict__) for path, module in self.modules.items()}
        found = {
            id(x): (label, x)
            for path, kept in self._kept.items()
            for name, value in kept.items()
            if name not in _STANDARD
            for label, x in containers(value, f"{path}.{name}" if path else name)
        }
        self._contents = [(label, x, x.copy()) for label, x in found.values()]
        self._expected = [before for _, _, before in self._contents]
        # `torch.export` computes with tensor attributes themselves where a forward writes into them.
        tensors = {id(x): x for _, x in attributes_of(model)}
        tensors |= tensors_in(held for _, held, _ in self._contents)
        self._tensors = kept_tensors(tensors.values())
        self._before: dict[tuple[str, str], Any] = {}
        self._assigned: dict[tuple[str, str], Any] = {}

    def __enter__(self) -> "Attributes":
        self._original = original = torch.nn.Module.__setattr__

        def setattr_(module: torch.nn.Module, name: str, value: Any) -> None:
            path = self._paths.get(id(module))
            if path is not None and name not in module._buffers and name not in module._parameters:
                if not isinstance(getattr(type(module), name, None), property) and name not in module._modules:
                    self._assigned[path, name] = value
            original(module, name, value)

        torch.nn.Module.__setattr__ = setattr_  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        torch.nn.Module.__setattr__ = self._original  # type: ignore[method-assign]
        for _label, x, before in self._contents:
            refill(x, before)
        restore(self._tensors)
        for path, module in self.modules.items():
            for name in set(module.__dict__) - set(self._kept[path]):
                del module.__dict__[name]
            module.__dict__.update(self._kept[path])

    def changed(self) -> list[str]:
        """The names of attributes that are not what they were."""
        found = []
        for (path, name), value in self._assigned.items():
            if not same(self._before.get((path, name), self._kept[path].get(name, _MISSING)), value):
                found.append(f"{path}.{name}" if path else name)
        for (label, x, _), expected in zip(self._contents, self._expected, strict=True):
            if not same(expected, x):
                found.append(label)
        # PyTorch's own modules keep lists of their weights, into which a trace puts others. They have no state.
        own = {path for path, module in self.modules.items() if type(module).__module__.startswith("torch.nn.")}
        return [name for name in dict.fromkeys(found) if name.rpartition(".")[0] not in own]

    def go_on(self) -> None:
        """Gives the model what a first run left, for a second one."""
        # `torch.export` leaves copies of what it found.
        for path, module in self.modules.items():
            module.__dict__.update(self._kept[path])
        for i, (_, x, _) in enumerate(self._contents):
            refill(x, _computed(x))
            self._expected[i] = x.copy()
        for (path, name), value in self._assigned.items():
            self._before[path, name] = self.modules[path].__dict__[name] = _computed(value)
        self._assigned.clear()


class HeldState:
    """What the attributes of a model hold between two runs, to tell what a run changed: attributes that a first run made, too."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        # PyTorch's own modules compute weights anew, and keep lists of them: these are no state.
        modules = [module for module in model.modules() if type(module).__module__.startswith("torch.nn.")]
        self._ignored = {(module, name) for module in modules for name in vars(module)}
        self._before: dict[str, tuple[Any, list[tuple[Any, Any]]]] = {}

    def keep(self) -> None:
        """Before the run that is looked at."""
        self._before = {label: (value, [(x, x.copy()) for _, x in containers(value, label)]) for label, value in self._values()}

    def _values(self) -> Iterator[tuple[str, Any]]:
        for path, module in _all_modules(self._model):
            prefix = f"{path}." if path else ""
            yield f"{prefix}training", module.training
            yield f"{prefix}_modules", tuple(module._modules)
            for name, value in vars(module).items():
                if name.endswith(("_hooks", "_pre_hooks")):
                    yield f"{prefix}{name}", tuple(value or ())
                elif name in ("_parameters", "_buffers"):
                    yield from ((f"{prefix}{one}", x) for one, x in value.items())
                elif name not in _STANDARD and not ((module, name) in self._ignored and _are_tensors(value)):
                    yield f"{prefix}{name}", value

    def changed(self) -> list[str]:
        now = dict(self._values())
        found = [label for label in now if label not in self._before]
        for label, (value, contents) in self._before.items():
            if not _alike(value, now.get(label, _MISSING)) or not all(same(before, x) for x, before in contents):
                found.append(label)
        return found


def _all_modules(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """The modules by name, and those that attributes hold without being their children."""
    seen = set(model.modules())
    yield from model.named_modules()
    left = [(path, module) for path, module in model.named_modules()]
    while left:
        path, module = left.pop()
        for name, value in vars(module).items():
            for one in _modules_in(value) if name not in _STANDARD else ():
                if one not in seen:
                    inner = [(f"{path}.{name}" if path else name, one)]
                    inner += [(f"{inner[0][0]}.{child}", x) for child, x in one.named_modules() if child and x not in seen]
                    seen.update(x for _, x in inner)
                    yield from inner
                    left += inner


def _modules_in(value: Any, depth: int = 0) -> Iterator[torch.nn.Module]:
    if isinstance(value, torch.nn.Module):
        yield value
    elif depth < _DEEPEST and isinstance(value, (list, tuple, deque, dict)):
        for x in value.values() if isinstance(value, dict) else value:
            yield from _modules_in(x, depth + 1)


def _alike(x: Any, y: Any) -> bool:
    """Whether an attribute has the same value: of a tensor that was made anew, the same elements."""
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and x is not y:
        return bool(x.shape == y.shape and x.dtype == y.dtype and x.device == y.device and torch.equal(x, y))
    return same(x, y)


def _are_tensors(x: Any) -> bool:
    return isinstance(x, torch.Tensor) or (isinstance(x, list) and bool(x) and all(isinstance(one, torch.Tensor) for one in x))


def _computed(value: Any) -> Any:
    """A value with zeros for the tensors in it: what a trace computes are no tensors to go on with."""

    def zeros(x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(tuple(x.shape), dtype=x.dtype) if isinstance(x, torch._subclasses.FakeTensor) else x

    is_traced = any(isinstance(x, torch._subclasses.FakeTensor) for x in pytree.tree_leaves(value))
    return pytree.tree_map_only(torch.Tensor, zeros, value) if is_traced else value


def refill(x: Any, contents: Any) -> None:
    if x is contents or same(x, contents):
        return
    if isinstance(x, Contents):
        x.write(contents)
        return
    contents = contents.copy()
    if _is_array(x):
        x[...] = contents
        return
    x.clear()
    x.extend(contents) if isinstance(x, (list, deque)) else x.update(contents)


def same(x: Any, y: Any) -> bool:
    x, y = (z.copy() if isinstance(z, Contents) else z for z in (x, y))
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, torch.Tensor):
        return False
    if isinstance(x, (list, tuple, deque)):
        return len(x) == len(y) and all(map(same, x, y))
    if _is_array(x):
        return bool(x.shape == y.shape and x.tobytes() == y.tobytes())
    if isinstance(x, dict):
        return list(x) == list(y) and all(same(x[k], y[k]) for k in x)
    return isinstance(x, (int, float, str, bytes, bool, set, torch.dtype, torch.device)) and bool(x == y)


#: What a call sets for the process: its name, how it is read, and how it is put back.
SETTINGS: list[tuple[str, Callable[[], Any], Callable[[Any], Any]]] = [
    ("torch.set_num_threads", torch.get_num_threads, torch.set_num_threads),
    ("torch.set_default_dtype", torch.get_default_dtype, torch.set_default_dtype),
    ("torch.use_deterministic_algorithms", torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
]


class Generators:
    """Keeps the state of the process's random generators and PyTorch's settings, and tells which of them a forward used.

    What is drawn from Python's or numpy's generators is a number in the graph. PyTorch's own draws are calls of the graph, so that
    only a seed changes its generator.
    """

    def __enter__(self) -> "Generators":
        self._kept: list[tuple[str, Callable[[], Any], Callable[[Any], Any], Any]] = []
        sources: list[tuple[str, Callable[[], Any], Callable[[Any], Any]]] = [
            ("torch.manual_seed", torch.get_rng_state, torch.set_rng_state),
            ("random", random.getstate, random.setstate),
            *SETTINGS,
        ]
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            sources.append(("numpy.random", numpy.random.get_state, numpy.random.set_state))
        self._kept = [(name, state, restored, state()) for name, state, restored in sources]
        return self

    def used(self) -> list[str]:
        """The names of the generators whose state is not what it was."""
        return [name for name, state, _, before in self._kept if not _same_state(state(), before)]

    def __exit__(self, *_: object) -> None:
        for _name, state, restored, before in self._kept:
            if not _same_state(state(), before):
                restored(before)


def _same_state(x: Any, y: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(_same_state, x, y))
    made = x == y
    return bool(made.all()) if hasattr(made, "all") else bool(made)
