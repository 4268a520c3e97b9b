"""`torch.compile(model, backend="blocktensor")`: each graph that PyTorch makes is a plan."""

import contextlib
import dataclasses
import itertools
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NoReturn

import torch
from torch import fx

from .._errors import Error, InvalidArgument, PackMismatch, UnsupportedOp
from ._bound import bind, is_number, is_weight, number, place_of, source_of
from ._export import Program
from ._module import BlockedModule
from ._options import check_limits, check_module, checked_options
from ._plan import ModelPlan, checked
from ._told import error

#: The plans of a graph that are kept: one for each size of its inputs.
MOST_PLANS = 16

#: The options that there are, with what they are where left out.
_OPTIONS: dict[str, Any] = {
    "partial": False,
    "reorders": None,
    "layouts": "measured",
    "threads": None,
    "profiles": "kept",
    "exact": False,
}

#: Exports change settings of the process: one at a time.
_EXPORTS = threading.Lock()

_GRAPHS: "weakref.WeakValueDictionary[int, CompiledGraph]" = weakref.WeakValueDictionary()
_COUNT = itertools.count()


def blocktensor(
    graph: fx.GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **others: Any
) -> Callable[..., Any]:
    """The backend: PyTorch calls it with a graph, and calls what it returns.

    Planning is part of that call, so that errors reach the user as they are: raised here they would be wrapped.
    """
    try:
        return CompiledGraph(graph, _checked(options, others))
    except Error as e:
        refused = e

    def refuse(*args: Any) -> NoReturn:
        raise refused.with_traceback(None)

    return refuse


def _checked(options: Mapping[str, Any] | None, others: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(options or {})
    unknown = [name for name in given if name not in _OPTIONS]
    known = ", ".join(f"`{name}`" for name in _OPTIONS)
    if unknown:
        text = f"argument `options`: got `{unknown[0]}`, but the options of the backend `blocktensor` are {known}"
        raise error(InvalidArgument, text, "pass one of them", op="torch.compile")
    # A name is for PyTorch's own logs.
    if others.keys() - {"name"}:
        name = min(others.keys() - {"name"})
        text = f"argument `{name}`: got {others[name]!r}, but the backend `blocktensor` has no modes"
        raise error(InvalidArgument, text, f"leave it out, and pass `options=` with {known}", op="torch.compile")
    found = _OPTIONS | given
    check_limits("torch.compile", found["reorders"], found["partial"])
    return found | checked_options("torch.compile", **{name: found[name] for name in ("layouts", "threads", "profiles", "exact")})


def compiled_graphs(model: torch.nn.Module | None = None) -> list["CompiledGraph"]:
    """The graphs that `torch.compile(..., backend="blocktensor")` made and still has, in order; only those with weights of `model`.

    PyTorch's graph breaks show here: a model in several graphs is several plans.
    """
    found = [_GRAPHS[i] for i in sorted(_GRAPHS.keys()) if i in _GRAPHS]
    if model is None:
        return found
    check_module(model)
    own = {id(x) for x in itertools.chain(model.parameters(), model.buffers())}
    return [graph for graph in found if graph._has(own)]


_version, _place = attrgetter("_version"), torch.Tensor.data_ptr


@dataclasses.dataclass
class _Packed:
    """A plan, and the weights that it was packed from."""

    module: BlockedModule
    program: Program
    shapes: list[list[int]]
    #: Kept, so that no other tensors can have their addresses.
    weights: list[torch.Tensor]
    ids: list[int]
    #: Those with a version: not the ones that were made in `torch.inference_mode`.
    versioned: list[torch.Tensor]
    versions: list[int]
    places: list[int]

    def is_of(self, weights: Sequence[torch.Tensor]) -> bool:
        """Whether the weights are those that were packed. It takes 0.1 us for each."""
        return (
            list(map(id, weights)) == self.ids
            and list(map(_version, self.versioned)) == self.versions
            and list(map(_place, self.weights)) == self.places
        )


def _items(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda args: [args[i] for i in places]


class CompiledGraph:
    """A graph of `torch.compile`, and its plans: one for each size of its inputs, the last 16."""

    def __init__(self, graph: fx.GraphModule, options: dict[str, Any]) -> None:
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self.name = place_of(graph)
        #: How often weights were packed: more often than there are plans, if they were edited.
        self.packed = 0
        self._graph, self._options = graph, dict(options)
        self._partial, self._reorders = self._options.pop("partial"), self._options.pop("reorders")
        self._names = _unique([source_of(node) for node in placeholders])
        self._weights = [i for i, node in enumerate(placeholders) if is_weight(node)]
        self._inputs = [i for i in range(len(placeholders)) if i not in self._weights]
        self._is_number = [is_number(placeholders[i]) for i in self._inputs]
        self._take_weights, self._take_inputs = _items(self._weights), _items(self._inputs)
        #: Tensors that PyTorch put into the graph itself.
        self._own = [x for x in [*graph.parameters(), *graph.buffers()] if not x.is_inference()]
        #: Whether sizes or numbers are known only when it is called.
        self._varies = any(map(_is_symbolic, placeholders))
        (results,) = next(node for node in reversed(graph.graph.nodes) if node.op == "output").args
        self._has_gradient = any(_requires_grad(x) for x in results)
        self._plans: OrderedDict[Any, _Packed] = OrderedDict()
        self._lock = threading.RLock()
        _GRAPHS[next(_COUNT)] = self

    def __call__(self, *args: Any) -> Sequence[Any]:
        """What PyTorch calls."""
        weights, inputs = self._take_weights(args), self._take_inputs(args)
        key = tuple(map(_size_or_number, self._is_number, inputs)) if self._varies else None
        found = self._plans.get(key)
        if found is None or not found.is_of(weights):
            found = self._pack(key, inputs, weights)
        elif self._varies:
            with contextlib.suppress(KeyError):
                self._plans.move_to_end(key)
        if self._varies:
            inputs = list(self._tensors(inputs).values())
        if self._partial:
            inputs = [x.contiguous() for x in inputs]
        if torch.is_grad_enabled():
            # No result has a gradient, though an input may.
            with torch.no_grad():
                made = found.module.forward(*inputs)
        else:
            made = found.module.forward(*inputs)
        return made if isinstance(made, tuple) else (made,)

    def _pack(self, key: Any, inputs: Sequence[Any], weights: Sequence[torch.Tensor]) -> _Packed:
        self._check_state()
        with self._lock, torch.inference_mode(False), torch.no_grad():
            found = self._plans.get(key)
            if found is not None and found.is_of(weights):
                # Another thread packed it meanwhile.
                return found
            tensors = self._tensors(inputs)
            copied = self._checked(tensors)
            kept = [*weights, *self._own]
            versioned = [x for x in kept if not x.is_inference()]
            # Before they are read: what is edited meanwhile is seen at the next call.
            versions, places = list(map(_version, versioned)), list(map(_place, kept))
            program = self._program(found, inputs, weights)
            plan = checked(program, self._options, self._reorders, self._partial)
            if found is None:
                self._warn(plan, copied)
            module = BlockedModule(program, plan, self._options, self._reorders, self._partial)
            shapes = [list(x.shape) for x in tensors.values()]
            made = _Packed(module, program, shapes, kept, list(map(id, weights)), versioned, versions, places)
            self._plans[key] = made
            self._plans.move_to_end(key)
            self.packed += 1
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return made

    def _program(self, found: _Packed | None, inputs: Sequence[Any], weights: Sequence[torch.Tensor]) -> Program:
        if found is not None and all(_is_alike(x, y) for x, y in zip(weights, found.weights, strict=False)):
            # The calls are the same for other weights.
            now = dict(zip((self._names[i] for i in self._weights), weights, strict=True))
            program = dataclasses.replace(found.program, constants=dict(found.program.constants))
            for node, name in program.state.items():
                program.constants[node] = now[name].detach() if name in now else program.constants[node]
            program.fold()
            return program
        tensors = self._tensors(inputs)
        numbers = {i: number(x) for i, x in zip(self._inputs, inputs, strict=True) if i not in tensors}
        with _EXPORTS:
            return bind(self._graph, self._names, dict(zip(self._weights, weights, strict=True)), numbers, tensors)

    def _tensors(self, inputs: Sequence[Any]) -> dict[int, torch.Tensor]:
        """The inputs that are no numbers."""
        return {i: x for i, is_number, x in zip(self._inputs, self._is_number, inputs, strict=True) if not is_number}

    def _checked(self, tensors: Mapping[int, torch.Tensor]) -> list[str]:
        """The inputs that are copied, because their elements are in another order than a plan reads them in."""
        found = {i: x for i, x in tensors.items() if x.layout == torch.strided and not x.is_contiguous()}
        for i, x in found.items() if not self._partial else ():
            name = self._names[i]
            text = f"the input `{name}` of {self.name} has the strides {list(x.stride())}, but plans read rows: sizes {list(x.shape)}"
            remedy = f"pass `{name}.contiguous()`, or `options={{\"partial\": True}}`, which copies it in each call"
            raise error(InvalidArgument, text, remedy, op="torch.compile")
        return [self._names[i] for i in found]

    def _check_state(self) -> None:
        """Refuses what a plan would leave out. PyTorch makes another graph where these settings change."""
        if self._has_gradient:
            text = f"a result of {self.name} requires a gradient, but plans are for inference"
            remedy = "call `model.eval()`, and call the model under `torch.no_grad()` or `torch.inference_mode()`"
            raise error(InvalidArgument, text, remedy, op="torch.compile")
        if torch.is_autocast_enabled("cpu"):
            text = f"`torch.autocast` to {torch.get_autocast_dtype('cpu')} is on, but plans compute in f32"
            raise error(UnsupportedOp, text, "leave `torch.autocast` out", op="torch.compile")
        if self._own and getattr(torch._dynamo.config, "prepare_freezing", False):
            text = "`torch._dynamo.config.prepare_freezing` is set, which keeps replaced parameters from being found"
            raise error(UnsupportedOp, text, "leave it out: the weights are packed without it", op="torch.compile")

    def _warn(self, plan: ModelPlan, copied: Sequence[str]) -> None:
        if not plan.unsupported and not copied:
            return
        lines = [f"  module `{module or '(the model)'}`: {call}: {reason}" for module, call, reason in plan.unsupported]
        lines += [f"  crossing: `{source or '(the model)'}` -> `{reader or '(the model)'}`" for source, reader in plan.crossings]
        lines += [f"  copied to rows: `{name}`" for name in copied]
        warnings.warn("\n".join([f"PyTorch runs calls of {self.name}:", *lines]), stacklevel=2)

    def _has(self, ids: set[int]) -> bool:
        return any(id(x) in ids for packed in list(self._plans.values()) for x in packed.weights)

    @property
    def plans(self) -> list[ModelPlan]:
        """The plans that it has now, the last one used last: print one."""
        return [packed.module.plan for packed in list(self._plans.values()) if isinstance(packed.module.plan, ModelPlan)]

    def check_weights(self) -> None:
        """Raises `PackMismatch` if the bytes of the weights of the last call are not those that were packed.

        It also finds what a call does not: elements that were written through `.data`, or in `torch.inference_mode`.
        """
        for packed in list(self._plans.values()):
            names = [self._names[i] for i in self._weights]
            now = {**packed.program.exported.state_dict, **dict(zip(names, packed.weights, strict=False))}
            changed = packed.module.changed(now, now)
            if changed:
                text = f"weights of {self.name} differ from the packed ones: {', '.join(changed[:8])}{' ...' if len(changed) > 8 else ''}"
                raise error(PackMismatch, text, "call `repack()`, after which the next call packs them")

    def repack(self) -> None:
        """Drops the plans: the next call packs the weights as they are then."""
        with self._lock:
            self._plans.clear()

    def __repr__(self) -> str:
        count = len(self._plans)
        text = f"{self.name}: {count} plan{'' if count == 1 else 's'}, weights packed {self.packed} time{'' if self.packed == 1 else 's'}"
        lines = [f"  {', '.join(map(str, packed.shapes))}: {packed.module.extra_repr()}" for packed in list(self._plans.values())]
        return "\n".join([text, *lines])


def _size_or_number(is_number: bool, x: Any) -> Any:
    return number(x) if is_number else x.shape


def _is_symbolic(node: fx.Node) -> bool:
    """Whether a placeholder is a number, or a tensor whose sizes are."""
    return is_number(node) or not all(isinstance(n, int) for n in node.meta["example_value"].shape)


def _requires_grad(x: Any) -> bool:
    value: Any = x.meta.get("example_value") if isinstance(x, fx.Node) else None
    return isinstance(value, torch.Tensor) and value.requires_grad


def _is_alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype and x.layout == y.layout


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        count, made = 1, name
        while made in found:
            count += 1
            made = f"{name}/{count}"
        found.append(made)
    return found
