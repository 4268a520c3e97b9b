"""`torch.compile(model, backend="blocktensor")`: each graph that PyTorch makes is a plan."""

import dataclasses
import inspect
import itertools
import math
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NoReturn

import torch
from torch import fx
from torch._dynamo.convert_frame import compile_lock

from .._errors import Error, InvalidArgument, PackMismatch, UnsupportedOp
from ._bound import as_rows, bind, is_number, is_weight, number, place_of, source_of
from ._edits import bits_of, in_parts, is_statistics, steps_of, total_steps
from ._export import Program
from ._inputs import is_left, told_input
from ._module import BlockedModule, to_blocked
from ._options import autocast_text, check_flag, check_limits, check_module, checked_options
from ._plan import ModelPlan, checked, told_module
from ._told import error
from ._unwrap import training_call

#: The plans of a graph that are kept: one for each size of its inputs.
MOST_PLANS = 16

#: After this many calls that all planned anew, a warning says so.
MOST_IN_A_ROW = 8

#: The options that there are, those of `to_blocked` and one more, with what they are where left out.
_OPTIONS: dict[str, Any] = {
    name: option.default for name, option in inspect.signature(to_blocked).parameters.items() if option.kind is option.KEYWORD_ONLY
}
_OPTIONS["measure_new_shapes"] = False

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
    own = {name: found.pop(name) for name in ("reorders", "partial", "measure_new_shapes")}
    check_limits("torch.compile", own["reorders"], own["partial"])
    check_flag("torch.compile", "measure_new_shapes", own["measure_new_shapes"])
    return checked_options("torch.compile", **found) | own


def compiled_graphs(model: torch.nn.Module | None = None) -> list["CompiledGraph"]:
    """The graphs that `torch.compile(..., backend="blocktensor")` made and still has, in order; only those with weights of `model`.

    PyTorch's graph breaks show here: a model in several graphs is several plans.
    """
    found = [graph for ref in _GRAPHS.valuerefs() if (graph := ref()) is not None]
    if model is None:
        return found
    check_module(model)
    own = {id(x) for x in itertools.chain(model.parameters(), model.buffers())}
    return [graph for graph in found if graph._has(own)]


#: How PyTorch marks weights.
_MARK = "_dynamo_static_input_type"

_version, _place = attrgetter("_version"), torch.Tensor.data_ptr


class _Packed:
    """A plan, and what tells the weights that it was packed from."""

    def __init__(self, key: Any, shapes: list[list[int]], weights: Sequence[torch.Tensor], own: Sequence[torch.Tensor]) -> None:
        self.key, self.shapes, self.own = key, shapes, own
        self.ids, self.weight_sizes = list(map(id, weights)), [x.shape for x in weights]
        # They are not kept alive. Others may have their addresses when one is gone, and the plan is not used any more.
        self.alive = alive = [True]
        self.weights = [weakref.ref(x, lambda _: alive.clear()) for x in weights]
        self._versioned = _items([i for i, x in enumerate(weights) if not x.is_inference()])
        # They share their memory, which is small. One that gets other memory has another place.
        self._statistics = in_parts(list(filter(is_statistics, [*weights, *own])))
        # Before the weights are looked at: a step meanwhile is seen at the next call.
        self._total, self._steps = total_steps(), [*map(steps_of, weights), *map(steps_of, own)]
        self._state, self._bits = self._state_of(weights), bits_of(self._statistics)
        self.program: Program
        self.module: BlockedModule

    def _state_of(self, weights: Sequence[torch.Tensor]) -> list[Any]:
        versions = [*map(_version, self._versioned(weights)), *map(_version, self.own)]
        return [versions, [*map(_place, weights), *map(_place, self.own)]]

    def is_current(self, weights: Sequence[torch.Tensor]) -> bool:
        """Whether the tensors are as they were when they were packed. It takes 0.1 to 0.2 us for each, and 0.5 us for statistics."""
        if self._state_of(weights) != self._state:
            return False
        total = total_steps()
        if total != self._total:
            if [*map(steps_of, weights), *map(steps_of, self.own)] != self._steps:
                return False
            self._total = total
        return all(map(torch.equal, bits_of(self._statistics), self._bits))

    def differs(self, other: "_Packed", places: Sequence[int]) -> list[int]:
        """The places of the weights that were replaced; of all, where they were edited in place."""
        return [i for i, x, y in zip(places, self.ids, other.ids, strict=True) if x != y] or list(places)


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
        measured = self._options.pop("measure_new_shapes") or self._options["profiles"] == "estimated"
        #: Whether a new plan takes the choices of one that is there.
        self._is_like = self._options["layouts"] == "measured" and not measured
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
        #: Whether the code turns gradients on, where they are off around it.
        self._turns_on = any(node.target is torch._C._set_grad_enabled and node.args[:1] == (True,) for node in graph.graph.nodes)
        self._training_call = next(filter(None, map(training_call, graph.graph.nodes)), None)
        #: The last one used first. Replaced as a whole: threads read it without a lock.
        self._plans: list[_Packed] = []
        #: The calls in a row that planned.
        self._planned = 0
        self._lock, self._list = threading.RLock(), threading.Lock()
        _GRAPHS[next(_COUNT)] = self

    def __call__(self, *args: Any) -> Sequence[Any]:
        """What PyTorch calls."""
        weights, inputs = self._take_weights(args), self._take_inputs(args)
        key = tuple(map(_size_or_number, self._is_number, inputs)) if self._varies else None
        found = self._found(key, weights) or self._pack(key, inputs, weights)
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

    def _found(self, key: Any, weights: Sequence[torch.Tensor]) -> _Packed | None:
        ids, plans = list(map(id, weights)), self._plans
        for packed in plans:
            if packed.key == key and packed.ids == ids and packed.alive:
                if not packed.is_current(weights):
                    return None
                if packed is not plans[0]:
                    self._put_first(packed)
                self._planned = 0
                return packed
        return None

    def _put_first(self, packed: _Packed, instead: _Packed | None = None) -> None:
        with self._list:
            # A plan whose weights are gone is not found again.
            others = [x for x in self._plans if x is not packed and x is not instead and x.alive]
            self._plans = [packed, *others][:MOST_PLANS]

    def _pack(self, key: Any, inputs: Sequence[Any], weights: Sequence[torch.Tensor]) -> _Packed:
        self._check_state()
        with self._lock, torch.inference_mode(False), torch.no_grad():
            found = self._found(key, weights)
            if found is not None:
                # Another thread packed it meanwhile.
                return found
            tensors = self._tensors(inputs)
            copied = self._checked(tensors)
            # Before the weights are read: what is edited meanwhile is seen at the next call.
            made = _Packed(key, [list(x.shape) for x in tensors.values()], weights, self._own)
            known = [x for x in self._plans if x.key == key]
            made.program = self._program(known, inputs, weights)
            plan = checked(made.program, self._options, self._reorders, self._partial, self._nearest(made))
            if not known:
                self._warn(plan, copied)
            made.module = BlockedModule(made.program, plan, self._options, self._reorders, self._partial)
            self._planned += 1
            if self._planned == MOST_IN_A_ROW:
                self._warn_of_planning(made)
            # Instead of that of the same weights before they were edited. Another model of the same code has its own.
            self._put_first(made, next((x for x in known if x.ids == made.ids), None))
            self.packed += 1
        return made

    def _nearest(self, made: _Packed) -> ModelPlan | None:
        """The plan for the nearest sizes, whose choices a call takes that would wait for measuring otherwise.

        PyTorch may have made several graphs of the code, for a size and for any.
        """
        if not self._is_like:
            return None
        own = (self.name, self._options, self._reorders, self._partial)
        graphs = [x for x in compiled_graphs() if (x.name, x._options, x._reorders, x._partial) == own]
        plans = [x for graph in graphs for x in graph._plans if graph._weights_of(x) == self._weights_of(made)]
        nearest = min(plans, key=lambda x: _distance(x.shapes, made.shapes), default=None)
        return nearest.module.plan if nearest is not None and isinstance(nearest.module.plan, ModelPlan) else None

    def _weights_of(self, packed: _Packed) -> list[tuple[str, torch.Size]]:
        """The names and sizes of the weights of a plan."""
        return sorted(zip([self._names[i] for i in self._weights], packed.weight_sizes, strict=True))

    def _program(self, known: Sequence[_Packed], inputs: Sequence[Any], weights: Sequence[torch.Tensor]) -> Program:
        names = [self._names[i] for i in self._weights]
        now = dict(zip(names, weights, strict=True))
        for one in known:
            state = {name: node for node, name in one.program.state.items()}
            if all(_is_alike(x, one.program.constants[state[name]]) for name, x in now.items() if name in state):
                # The calls are the same for other weights.
                program = dataclasses.replace(one.program, constants=dict(one.program.constants))
                program.constants |= {state[name]: x.detach() for name, x in now.items() if name in state}
                program.fold()
                as_rows(program)
                return program
        tensors = self._tensors(inputs)
        numbers = {i: number(x) for i, x in zip(self._inputs, inputs, strict=True) if i not in tensors}
        # Exports and traces change settings of the process: one at a time.
        with compile_lock:
            return bind(self._graph, self._names, dict(zip(self._weights, weights, strict=True)), numbers, tensors)

    def _tensors(self, inputs: Sequence[Any]) -> dict[int, torch.Tensor]:
        """The inputs that are no numbers."""
        return {i: x for i, is_number, x in zip(self._inputs, self._is_number, inputs, strict=True) if not is_number}

    def _checked(self, tensors: Mapping[int, torch.Tensor]) -> list[str]:
        """The inputs that are copied, because their elements are in another order than a plan reads them in."""
        found = {i: x for i, x in tensors.items() if x.layout == torch.strided and not x.is_contiguous()}
        for i, x in found.items() if not self._partial else ():
            what, name = told_input(self._names[i])
            text = f"{what} of {self.name} has the strides {list(x.stride())}, but plans read rows: sizes {list(x.shape)}"
            own = "" if is_left(self._names[i]) else f"`{name}.contiguous()`, or "
            remedy = f"pass {own}`options={{\"partial\": True}}`, which copies it in each call"
            raise error(InvalidArgument, text, remedy, op="torch.compile")
        return [self._names[i] for i in found]

    def _check_state(self) -> None:
        """Refuses what a plan would leave out. PyTorch makes another graph where these settings change."""
        # Under `no_grad` PyTorch says so of a parameter's views alone.
        if self._has_gradient and (torch.is_grad_enabled() or self._turns_on):
            text = f"a result of {self.name} requires a gradient, but plans are for inference"
            remedy = "call `model.eval()`, and call the model under `torch.no_grad()` or `torch.inference_mode()`"
            raise error(InvalidArgument, text, remedy, op="torch.compile")
        if self._training_call is not None:
            text = f"{self.name} has a call of training mode (`{self._training_call}`), as of a program that was exported in it"
            remedy = "call `model.eval()` before `torch.export.export`, or pass `training=False`"
            raise error(InvalidArgument, text, remedy, op="torch.compile")
        if torch.is_autocast_enabled("cpu"):
            offers_bf16 = torch.get_autocast_dtype("cpu") == torch.bfloat16 and self._options["precision"] == "f32"
            remedy = "leave `torch.autocast` out" + (', and pass `options={"precision": "bf16"}` for bf16' if offers_bf16 else "")
            raise error(UnsupportedOp, autocast_text(), remedy, op="torch.compile")
        # Inductor's freezing puts weights into the graph too, and has PyTorch check which they are: those are marked.
        hidden = any(isinstance(x, torch.nn.Parameter) and getattr(x, _MARK, None) != "guarded" for x in self._own)
        if hidden:
            text = "PyTorch put the weights into the graph (`torch._dynamo.config.prepare_freezing`), where replaced ones are not found"
            raise error(UnsupportedOp, text, "leave the setting out: weights are packed without it", op="torch.compile")

    def _warn(self, plan: ModelPlan, copied: Sequence[str]) -> None:
        if not plan.unsupported and not copied:
            return
        lines = [f"  module {told_module(module)}: {call}: {reason}" for module, call, reason in plan.unsupported]
        lines += [f"  crossing: {told_module(source)} -> {told_module(reader)}" for source, reader in plan.crossings]
        lines += [f"  copied to rows: `{name}`" for name in copied]
        warnings.warn("\n".join([f"PyTorch runs calls of {self.name}:", *lines]), stacklevel=2)

    def _warn_of_planning(self, made: _Packed) -> None:
        text = f"each of the last {MOST_IN_A_ROW} calls of {self.name} planned anew, which takes longer than a run"
        last = self._plans[0] if self._plans else None
        if last is not None and last.key == made.key:
            changed = [self._names[i] for i in made.differs(last, self._weights)]
            text += f": {', '.join(changed[:8])} differ{'s' if len(changed) == 1 else ''} from call to call; pass what changes as an input"
        else:
            text += f": sizes or numbers differ from call to call, and {MOST_PLANS} plans are kept"
        warnings.warn(text, stacklevel=2)

    def _has(self, ids: set[int]) -> bool:
        if any(id(x) in ids for x in self._own):
            return True
        return any(bool(packed.alive) and not ids.isdisjoint(packed.ids) for packed in self._plans)

    @property
    def plans(self) -> list[ModelPlan]:
        """The plans that it has now, the last one used first: print one."""
        return [packed.module.plan for packed in self._plans if isinstance(packed.module.plan, ModelPlan)]

    def check_weights(self) -> None:
        """Raises `PackMismatch` if the bytes of weights are not those that were packed, and the next call would not see it.

        Such elements were written through `.data` or numpy, or are of tensors that were made in `torch.inference_mode`.
        """
        for packed in self._plans:
            weights = [x for ref in packed.weights if (x := ref()) is not None]
            if not packed.alive or not packed.is_current(weights):
                # The next call packs them.
                continue
            names = [self._names[i] for i in self._weights]
            now = {**packed.program.exported.state_dict, **dict(zip(names, weights, strict=True))}
            changed = packed.module.changed(now, now)
            if changed:
                text = f"weights of {self.name} differ from the packed ones: {', '.join(changed[:8])}{' ...' if len(changed) > 8 else ''}"
                raise error(PackMismatch, text, "call `repack()`, after which the next call packs them")

    def repack(self) -> None:
        """Drops the plans: the next call packs the weights as they are then."""
        with self._list:
            self._plans = []

    def __repr__(self) -> str:
        count = len(self._plans)
        text = f"{self.name}: {count} plan{'' if count == 1 else 's'}, weights packed {self.packed} time{'' if self.packed == 1 else 's'}"
        lines = [f"  {', '.join(map(str, packed.shapes))}: {packed.module.extra_repr()}" for packed in self._plans]
        return "\n".join([text, *lines])


def _size_or_number(is_number: bool, x: Any) -> Any:
    if not is_number:
        return x.shape
    found = number(x)
    # 0.0 and -0.0 are equal, and not the same.
    return found.hex() if isinstance(found, float) else found


def _distance(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> float:
    """How far sizes are from each other: the sum of the logarithms of their ratios. Other numbers of sizes are the furthest."""
    if list(map(len, a)) != list(map(len, b)):
        return math.inf
    pairs = zip(itertools.chain(*a), itertools.chain(*b), strict=True)
    return sum(abs(math.log(max(x, 1) / max(y, 1))) for x, y in pairs)


def _is_symbolic(node: fx.Node) -> bool:
    """Whether a placeholder is a number, or a tensor whose sizes are."""
    return is_number(node) or not all(isinstance(n, int) for n in node.meta["example_value"].shape)


def _requires_grad(x: Any) -> bool:
    value: Any = x.meta.get("example_value") if isinstance(x, fx.Node) else None
    return isinstance(value, torch.Tensor) and bool(value.requires_grad)


def _is_alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    return bool(x.shape == y.shape and x.dtype == y.dtype and x.layout == y.layout)


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        count, made = 1, name
        while made in found:
            count += 1
            made = f"{name}/{count}"
        found.append(made)
    return found
