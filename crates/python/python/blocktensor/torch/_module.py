"""A PyTorch model as a packed module."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils.dlpack import to_dlpack

from .._errors import InvalidArgument, PackMismatch, ReorderDenied, UnsupportedOp
from .._native import Plan, Tensor, load_plan
from ._export import Program, error, export, module_of
from ._lower import Lowering, Missing


@dataclass
class Region:
    """Calls in a row that run as one plan, or one call that stays with PyTorch."""

    inputs: list[fx.Node]
    outputs: list[fx.Node]
    calls: list[fx.Node]
    #: `None` for a call that stays with PyTorch.
    plan: Plan | None


def _is_plain(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _unsupported(program: Program) -> list[Missing]:
    """Every call that cannot run, with the reason."""
    lowering = Lowering(program)
    for node in program.inputs:
        lowering.input(node)
    results: list[fx.Node] = []
    for node in program.nodes:
        if not lowering.lower(node):
            if _is_plain(node):
                lowering.input(node)
        else:
            results.append(node)
    # What is known only with sizes: an op that refuses its operands.
    for i, node in enumerate(results):
        value = lowering.values[node]
        for j, one in enumerate(value if isinstance(value, list) else [value]):
            lowering.output(f"{i}.{j}", one)
    refused = {lowering.origin[name]: reason for name, _, reason in lowering.model.missing() if name in lowering.origin}
    missing = lowering.missing + list(refused.items())
    return sorted(missing, key=lambda m: program.position[m[0]])


def _regions(program: Program, torchs: set[fx.Node], options: dict[str, Any]) -> list[Region]:
    """The calls in order, cut where one stays with PyTorch."""
    runs: list[tuple[bool, list[fx.Node]]] = []
    for node in program.nodes:
        stays = node in torchs
        if not runs or stays or runs[-1][0]:
            runs.append((stays, []))
        runs[-1][1].append(node)
    returned = {x for x in program.outputs if isinstance(x, fx.Node)}
    regions = []
    for stays, calls in runs:
        inside = set(calls)
        inputs = [x for node in calls for x in node.all_input_nodes if x not in inside and x not in program.constants]
        inputs = list(dict.fromkeys(inputs))
        outputs = [n for n in calls if n in returned or any(user not in inside for user in n.users)]
        plan = None if stays else _planned(program, inputs, calls, outputs, options)
        regions.append(Region(inputs, outputs, calls, plan))
    return regions


def _planned(
    program: Program, inputs: list[fx.Node], calls: list[fx.Node], outputs: list[fx.Node], options: dict[str, Any]
) -> Plan:
    lowering = Lowering(program)
    for node in inputs:
        lowering.input(node)
    for node in calls:
        lowering.lower(node)
    for i, node in enumerate(outputs):
        lowering.output(f"output{i}" if len(outputs) > 1 else "output", lowering.values[node])
    return lowering.model.plan(**options)


def _line(missing: Missing) -> str:
    node, reason = missing
    return f"module `{module_of(node) or '(the model)'}`: {node.target}: {reason}"


class ModelPlan:
    """What moving a model costs: its text has regions, fusions, every reorder, and what is unsupported."""

    def __init__(self, program: Program, missing: list[Missing], regions: list[Region]) -> None:
        self.program = program
        self.regions = regions
        #: Calls that cannot run: module, call, reason.
        self.unsupported = [(module_of(node), str(node.target), reason) for node, reason in missing]
        self._missing = missing

    @property
    def reorders(self) -> list[dict[str, Any]]:
        """Every reorder of one run: node (a module's name), from, to, shape, bytes, in_kernel."""
        return [r for region in self.regions if region.plan is not None for r in region.plan.reorders]

    @property
    def crossings(self) -> list[tuple[str, str]]:
        """Tensors that pass between PyTorch and a plan in the middle of the model: what made them, what reads them."""
        found = []
        for region in self.regions:
            for x in region.inputs if region.plan is None else []:
                found.append((module_of(x) or x.name, module_of(region.calls[0])))
        return found

    def __repr__(self) -> str:
        planned = [region for region in self.regions if region.plan is not None]
        calls, steps = len(self.program.nodes), sum(len(r.plan.steps) for r in planned if r.plan is not None)
        counts = [(calls, "call"), (len(planned), "region"), (steps, "step"), (len(self.reorders), "reorder")]
        counted = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts)
        lines = [f"{self.program.name}: {counted}"]
        for region in planned:
            assert region.plan is not None
            lines += ["", region.plan.explain().rstrip()]
        if self.crossings:
            lines += ["", "crossings between PyTorch and plans:"]
            lines += [f"  `{source}` -> `{reader}`" for source, reader in self.crossings]
        if self._missing:
            lines += ["", "unsupported:", *(f"  {_line(m)}" for m in self._missing)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = repr(self).replace("&", "&amp;").replace("<", "&lt;")
        drawings = [region.plan.svg() for region in self.regions if region.plan is not None]
        return f"<pre>{text}</pre>{''.join(drawings)}"

    def refuse(self) -> None:
        """Raises one error that lists every unsupported call."""
        if not self._missing:
            return
        lines = "\n".join(f"  {_line(m)}" for m in self._missing)
        count = len(self._missing)
        text = f"{count} call{'s' if count > 1 else ''} of `{self.program.name}` cannot run:\n{lines}\n"
        remedy = "replace these modules, or pass `partial=True` to leave them to PyTorch"
        made = UnsupportedOp(text + remedy)
        made.op, made.remedy = str(self._missing[0][0].target), remedy
        made.missing = [(module, call, reason) for module, call, reason in self.unsupported]
        raise made


def plan(
    model: torch.nn.Module,
    example: Any,
    *,
    layouts: str = "blocked",
    threads: int | None = None,
    profiles: str = "kept",
    exact: bool = False,
) -> ModelPlan:
    """What `to_blocked` would do, for inputs like `example`: print it. The model is not changed.

    Unsupported calls are listed, and the rest is planned around them.
    """
    program = export(model, example)
    return _plan(program, dict(layouts=layouts, threads=threads, profiles=profiles, exact=exact))


def _plan(program: Program, options: dict[str, Any]) -> ModelPlan:
    missing = _unsupported(program)
    return ModelPlan(program, missing, _regions(program, _with_results(program, missing), options))


def _with_results(program: Program, missing: list[Missing]) -> set[fx.Node]:
    """The calls that stay with PyTorch: those that cannot run, and those that take their lists apart."""
    stays = {node for node, _ in missing}
    for node in program.nodes:
        if any(x in stays and not isinstance(x.meta.get("val"), torch.Tensor) for x in node.all_input_nodes):
            stays.add(node)
    return stays


def to_blocked(
    model: torch.nn.Module,
    example: Any,
    *,
    reorders: int | None = None,
    partial: bool = False,
    layouts: str = "blocked",
    threads: int | None = None,
    profiles: str = "kept",
    exact: bool = False,
) -> "BlockedModule":
    """The model as a packed module, for inputs like `example`: plain tensors in and out, which share their memory.

    `reorders` is the most that a run may make; more are a `ReorderDenied` that names their places. Calls that cannot run are one
    `UnsupportedOp` that lists them all; with `partial=True` PyTorch runs them, and the plan shows each crossing. `exact` keeps
    convolutions to the direct algorithm where layouts are measured.
    """
    program = export(model, example)
    options = dict(layouts=layouts, threads=threads, profiles=profiles, exact=exact)
    return BlockedModule(program, _checked(_plan(program, options), reorders, partial), options, reorders, partial)


def _checked(made: ModelPlan, reorders: int | None, partial: bool) -> ModelPlan:
    if not partial:
        made.refuse()
    found = made.reorders
    if reorders is not None and len(found) > reorders:
        places = "\n".join(f"  {r['node']}: {r['from']} -> {r['to']} {r['shape']} {r['bytes']} bytes" for r in found)
        text = f"a run makes {len(found)} reorders, but {reorders} are allowed:\n{places}\n"
        remedy = "allow as many, or choose other layouts (`layouts='nhwc'`, `'measured'`)"
        raise error(ReorderDenied, text.rstrip(), remedy)
    return made


def _digests(state: Mapping[str, torch.Tensor]) -> dict[str, bytes]:
    def digest(x: torch.Tensor) -> bytes:
        data = x.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
        return hashlib.blake2b(data, digest_size=16).digest()

    return {name: digest(x) for name, x in state.items()}


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _shared(t: Tensor) -> torch.Tensor:
    return torch.from_dlpack(t.__dlpack__(max_version=(1, 1)))


def _direct(program: Program | None, plan: ModelPlan | Plan) -> tuple[Plan, int] | None:
    """The plan and its number of inputs, where the module takes its inputs and returns its only output."""
    if program is None or isinstance(plan, Plan) or len(plan.regions) != 1:
        return None
    region = plan.regions[0]
    is_plain = region.inputs == program.inputs and region.outputs == program.outputs and program.spec.is_leaf()
    return (region.plan, len(region.inputs)) if region.plan is not None and is_plain else None


class BlockedModule(torch.nn.Module):
    """A model whose weights are packed. It is for inference, and for inputs of the sizes that it was made for."""

    def __init__(
        self,
        program: Program | None,
        plan: ModelPlan | Plan,
        options: dict[str, Any],
        reorders: int | None = None,
        partial: bool = False,
    ) -> None:
        super().__init__()
        self.training = False
        self.plan = plan
        self._program = program
        self._options, self._reorders, self._partial = options, reorders, partial
        self._packed = _digests(program.exported.state_dict) if program is not None else {}
        self._direct = _direct(program, plan)

    def forward(self, *args: Any) -> Any:
        """Runs the plan."""
        if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in args):
            text = "argument `input`: got a tensor that requires a gradient, but packed modules are for inference"
            raise error(InvalidArgument, text, "call it under `torch.no_grad()`")
        if self._direct is not None and len(args) == self._direct[1] and all(map(_is_tensor, args)):
            return _shared(self._direct[0].run(*map(to_dlpack, args))[0])
        leaves = pytree.tree_leaves(args)
        if isinstance(self.plan, Plan):
            results = [_shared(t) for t in self.plan.run(*leaves)]
            return results[0] if len(results) == 1 else tuple(results)
        assert self._program is not None
        program = self._program
        if len(leaves) != len(program.inputs):
            text = f"argument `input`: got {len(leaves)} tensors, but the module takes {len(program.inputs)}"
            raise error(InvalidArgument, text, "pass inputs like the example's")
        values: dict[fx.Node, Any] = dict(zip(program.inputs, leaves, strict=True))
        for region in self.plan.regions:
            if region.plan is None:
                self._run_with_torch(region.calls, values)
                continue
            # Rows of PyTorch's own calls may lie in any order; a model's inputs are checked by the plan.
            inputs = [values[x] if x in program.inputs else values[x].contiguous() for x in region.inputs]
            results = region.plan.run(*inputs)
            values.update(zip(region.outputs, map(_shared, results), strict=True))
        returned = [self._value(x, values) if isinstance(x, fx.Node) else x for x in program.outputs]
        return pytree.tree_unflatten(returned, program.spec)

    def _value(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        assert self._program is not None
        return values[node] if node in values else self._program.constants[node]

    def _run_with_torch(self, calls: list[fx.Node], values: dict[fx.Node, Any]) -> None:
        for node in calls:
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda x: self._value(x, values))  # type: ignore[misc]
            with torch.no_grad():
                values[node] = node.target(*args, **kwargs)  # type: ignore[operator]

    def train(self, mode: bool = True) -> "BlockedModule":
        """Packed modules are for inference: `train(True)` is an error."""
        if mode:
            raise error(InvalidArgument, "argument `mode`: got True, but packed modules are for inference", "train the model itself")
        return self

    def check_weights(self, model: torch.nn.Module) -> None:
        """Raises `PackMismatch` if weights of the model were edited after they were packed."""
        now = _digests({**dict(model.named_parameters()), **dict(model.named_buffers())})
        changed = [name for name, digest in self._packed.items() if now.get(name) != digest]
        if changed:
            text = f"weights differ from the packed ones: {', '.join(changed[:8])}{' ...' if len(changed) > 8 else ''}"
            raise error(PackMismatch, text, "call `load_state_dict(model.state_dict())`, which packs them again")

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The plain weights, by the names of the model."""
        if self._program is None:
            raise error(UnsupportedOp, "a module of a packed file has no plain weights", "keep the model's own state dict")
        return {name: x.detach() for name, x in self._program.exported.state_dict.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Packs other weights: those of the model that this module was made of are left as they are."""
        if self._program is None:
            raise error(UnsupportedOp, "a module of a packed file has no plain weights", "pack the model again")
        own = self._program.exported.state_dict
        wrong = sorted(set(own) ^ set(state_dict)) if strict else []
        wrong += [name for name, x in own.items() if name in state_dict and state_dict[name].shape != x.shape]
        if wrong:
            text = f"argument `state_dict`: got other names or sizes for {', '.join(wrong[:8])}"
            raise error(InvalidArgument, text, "pass the state dict of the same model")
        replaced = {name: state_dict.get(name, x).detach().clone() for name, x in own.items()}
        by_node = _by_node(self._program)
        for node, name in by_node.items():
            self._program.constants[node] = replaced[name]
        own.clear()
        own.update(replaced)
        self.plan = _checked(_plan(self._program, self._options), self._reorders, self._partial)
        self._direct = _direct(self._program, self.plan)
        self._packed = _digests(replaced)
        return torch.nn.modules.module._IncompatibleKeys([], [])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the packed plan into a file, for `load`."""
        self._only_plan().save(path)

    def _only_plan(self) -> Plan:
        if isinstance(self.plan, Plan):
            return self.plan
        if len(self.plan.regions) != 1 or self.plan.regions[0].plan is None:
            text = "a module that leaves calls to PyTorch is more than one plan"
            raise error(UnsupportedOp, text, "save the regions' plans one by one (`module.plan.regions`)")
        return self.plan.regions[0].plan

    def __reduce__(self) -> Any:
        return _of_plan, (self._only_plan(),)

    def extra_repr(self) -> str:
        return repr(self.plan).split("\n")[0]


def _by_node(program: Program) -> dict[fx.Node, str]:
    signature = program.exported.graph_signature
    tables = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    state = program.exported.state_dict
    nodes = program.exported.graph.nodes
    return {n: tables[n.name] for n in nodes if n.op == "placeholder" and tables.get(n.name) in state}


def _of_plan(plan: Plan) -> BlockedModule:
    return BlockedModule(None, plan, {})


def load(path: str | os.PathLike[str], *, threads: int | None = None) -> BlockedModule:
    """The module in a file that `BlockedModule.save` wrote. Its outputs are a tensor, or a tuple."""
    return _of_plan(load_plan(path, threads=threads))
