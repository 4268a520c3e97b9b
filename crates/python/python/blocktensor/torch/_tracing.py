"""`torch.export` with the model left as it was, and with errors that say what to do."""

import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch._dynamo import exc as dynamo
from torch._subclasses import fake_tensor
from torch.fx.experimental import symbolic_shapes
from torch.utils import _pytree as pytree

from .._errors import InvalidArgument, UnsupportedOp

#: The most of a text of PyTorch that an error quotes: some are a whole graph.
LONGEST = 300

_ON_DATA = (
    symbolic_shapes.GuardOnDataDependentSymNode,
    fake_tensor.DataDependentOutputException,
    fake_tensor.DynamicOutputShapeException,
    dynamo.UncapturedHigherOrderOpError,
    dynamo.UserError,
)
_QUANTISED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized", "torch.ao.nn.sparse.quantized")


def error(kind: type[Any], text: str, remedy: str, op: str | None = None) -> Exception:
    """An exception with its fields."""
    made = kind(f"{text}; {remedy}")
    made.op, made.remedy = op, remedy
    return made  # type: ignore[no-any-return]


def first_line(text: str) -> str:
    """The first line of a text, and of that no more than `LONGEST` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def _told(e: BaseException) -> str:
    line = first_line(str(e))
    return f"{type(e).__name__}: {line}" if line else type(e).__name__


#: One at a time: what `_Attributes` watches and where stderr goes is the process's.
_ONE = threading.RLock()


def trace(model: torch.nn.Module, arguments: tuple[Any, ...]) -> torch.export.ExportedProgram:
    """The model's calls for these arguments."""
    _check_model(model)
    _check_example(arguments)
    with _ONE, _Attributes(model) as kept:
        exported = _exported(model, arguments)
        first = kept.changed()
        if first:
            # Sizes and masks that a forward keeps are the same in a second run; other changes are state.
            kept.go_on(first)
            with contextlib.suppress(Exception):
                _exported(model, arguments)
            for name in kept.changed():
                text = f"`forward` changes the model's attribute `{name}`, so that a run depends on the runs before it"
                remedy = "a packed module keeps nothing between runs: pass the value as an input and return it"
                raise error(UnsupportedOp, text, remedy, op="torch.export")
    return exported


def _check_model(model: Any) -> None:
    if not isinstance(model, torch.nn.Module):
        remedy = "pass its `.module()`" if isinstance(model, torch.export.ExportedProgram) else "pass a module"
        raise error(InvalidArgument, f"argument `model`: got {type(model).__name__}, but models are `torch.nn.Module`s", remedy)
    for path, module in model.named_modules():
        name = f"module `{path or type(module).__name__}`"
        tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if any(map(torch.nn.parameter.is_lazy, tensors)):
            text = f"argument `model`: {name} is lazy, and has no weights yet"
            raise error(InvalidArgument, text, "run the model once on an example: `model(example)`")
        if isinstance(module, torch.jit.ScriptModule):
            text = f"argument `model`: {name} is TorchScript, which `torch.export` cannot follow"
            raise error(UnsupportedOp, text, "pass the Python module that it was made of", op="torch.export")
        if type(module).__module__.startswith(_QUANTISED) or any(x.is_quantized for x in tensors):
            text = f"argument `model`: {name} is quantised ({type(module).__name__}), but plans of PyTorch models compute in f32"
            raise error(UnsupportedOp, text, "pass the model as it was before it was quantised", op="torch.export")
    training = [name or type(model).__name__ for name, module in model.named_modules() if module.training]
    if training:
        text = f"argument `model`: got {', '.join(training[:3])} in training mode, but plans are for inference"
        raise error(InvalidArgument, text, "call `model.eval()` first")


def _check_example(arguments: tuple[Any, ...]) -> None:
    for x in pytree.tree_leaves(arguments):
        if not isinstance(x, torch.Tensor):
            text = f"argument `example`: got {type(x).__name__}, but inputs are f32 tensors on the CPU"
            raise error(InvalidArgument, text, "pass tensors, and make other arguments defaults of `forward`")
        if x.dtype != torch.float32 or x.device.type != "cpu" or x.layout != torch.strided:
            text = f"argument `example`: got a tensor of {x.dtype} on {x.device}, but inputs are f32 tensors on the CPU"
            remedy = "pass `x.cpu()`" if x.device.type != "cpu" else "pass `x.float()`"
            raise error(InvalidArgument, text, remedy if x.layout == torch.strided else "pass `x.to_dense()`")


def _exported(model: torch.nn.Module, arguments: tuple[Any, ...]) -> torch.export.ExportedProgram:
    captured, graph = io.StringIO(), ""
    try:
        with contextlib.redirect_stderr(captured), torch.no_grad():
            return torch.export.export(model, arguments, strict=False)
    except Exception as e:
        graph = str(getattr(e, "partial_fx_graph", ""))
        # A long text is a whole graph, and would be printed as the cause.
        cause = e if len(str(e)) < 10 * LONGEST else None
        raise _explained(e, model, arguments) from cause
    finally:
        # All that was written meanwhile, but the graph that `torch.export` prints when it fails.
        text = captured.getvalue().replace(f"{graph}\n", "") if graph else captured.getvalue()
        sys.stderr.write(text if text.strip() else "")


def _explained(e: Exception, model: torch.nn.Module, arguments: tuple[Any, ...]) -> Exception:
    own = _own_error(model, arguments)
    if own is not None:
        text = f"argument `example`: the model raises {_told(own)}"
        remedy = "pass what the model takes: a tuple has one item for each argument, anything else is one argument"
        return error(InvalidArgument, text, remedy)
    text = f"`torch.export` cannot follow the model: {_told(e)}"
    if isinstance(e, _ON_DATA):
        remedy = "control flow that depends on data has no plan: use `torch.where`, move the parts around it, or use `swap`"
    elif isinstance(e, fake_tensor.UnsupportedOperatorException):
        remedy = "give the operator a fake kernel (`torch.library.register_fake`)"
    else:
        remedy = "the model itself runs: move what is no tensor work out of its `forward`, move the parts around it, or use `swap`"
    return error(UnsupportedOp, text, remedy, op="torch.export")


def _own_error(model: torch.nn.Module, arguments: tuple[Any, ...]) -> Exception | None:
    """What the model itself raises for the example. Its buffers and the example are left as they are."""
    kept = [(x, x.detach().clone()) for _, x in attributes_of(model) if not isinstance(x, torch.nn.Parameter)]
    try:
        with torch.no_grad():
            model(*pytree.tree_map(lambda x: x.detach().clone(), arguments))
    except Exception as own:
        return own
    finally:
        _restore(kept)
    return None


def _restore(tensors: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    with torch.no_grad():
        for x, before in tensors:
            if not torch.equal(x, before):
                x.copy_(before)


_MISSING = object()
_CONTAINERS = (list, dict, set)


class _Attributes:
    """Keeps a model's attributes, those that are no weights and no modules, and tells which a forward changed."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.modules = dict(model.named_modules())
        self._paths = {id(module): path for path, module in self.modules.items()}
        attributes = dict(attributes_of(model))
        # Everything that a module's dictionary holds, and what its lists hold.
        self._kept = {path: dict(module.__dict__) for path, module in self.modules.items()}
        self._contents = {
            (path, name): (x, x.copy())
            for path, all_of_one in self._kept.items()
            for name, x in all_of_one.items()
            if type(x) in _CONTAINERS
        }
        # `torch.export` computes with tensor attributes themselves where a forward writes into them.
        self._tensors = [(x, x.detach().clone()) for x in attributes.values() if not isinstance(x, torch.nn.Parameter)]
        self._before: dict[tuple[str, str], Any] = {}
        self._assigned: dict[tuple[str, str], Any] = {}

    def __enter__(self) -> "_Attributes":
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
        for x, before in self._contents.values():
            _refill(x, before)
        _restore(self._tensors)
        for path, module in self.modules.items():
            for name in set(module.__dict__) - set(self._kept[path]):
                del module.__dict__[name]
            module.__dict__.update(self._kept[path])

    def changed(self) -> dict[str, tuple[str, str, Any]]:
        """Attributes that are not what they were: path, name and the new value, by the full name."""
        found = {}
        for (path, name), value in self._assigned.items():
            before = self._before.get((path, name), self._kept[path].get(name, _MISSING))
            if not _same(before, value):
                found[f"{path}.{name}" if path else name] = (path, name, value)
        for (path, name), (x, before) in self._contents.items():
            if not _same(self._before.get((path, name), before), x) and name not in _STANDARD:
                found[f"{path}.{name}" if path else name] = (path, name, x.copy())
        return found

    def go_on(self, changed: dict[str, tuple[str, str, Any]]) -> None:
        """Gives the model what a first run left, for a second one."""
        self._assigned.clear()
        for path, name, value in changed.values():
            # What a trace computes are no tensors to go on with.
            left = value
            if any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves(value)):
                left = pytree.tree_map_only(torch.Tensor, lambda x: torch.zeros(tuple(x.shape), dtype=x.dtype), value)
            self._before[path, name] = left
            held = self._contents.get((path, name))
            if held is not None and type(left) is type(held[0]):
                _refill(held[0], left)
                left = held[0]
                self._before[path, name] = left.copy()
            self.modules[path].__dict__[name] = left


_STANDARD = set(torch.nn.Module().__dict__)


def _refill(x: Any, contents: Any) -> None:
    if _same(x, contents):
        return
    x.clear()
    x.extend(contents) if isinstance(x, list) else x.update(contents)


def _same(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, torch.Tensor):
        return False
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(_same, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(_same(x[k], y[k]) for k in x)
    return isinstance(x, (int, float, str, bytes, bool, set, torch.dtype, torch.device)) and bool(x == y)


def attributes_of(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Parameters, buffers and tensor attributes by name."""
    for path, module in model.named_modules():
        for table in (module._parameters, module._buffers, module.__dict__):
            for name, x in table.items():
                if isinstance(x, torch.Tensor):
                    yield f"{path}.{name}" if path else name, x
