"""Which calls of a model run as plans, and what moving the model costs."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from .._errors import InvalidArgument, ReorderDenied, UnsupportedOp
from .._native import Plan, schedule
from ._export import Program, is_in_place, module_of
from ._lower import Lowering, Missing
from ._promises import is_random, is_view, storages, trains
from ._quantized import RESULT_OF_BYTES, is_byte
from ._told import error
from ._values import Value


@dataclass
class Region:
    """Calls that run as one plan, or one call that stays with PyTorch."""

    inputs: list[fx.Node]
    outputs: list[fx.Node]
    calls: list[fx.Node]
    #: `None` for a call that stays with PyTorch.
    plan: Plan | None


def _is_plain(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32 and all(isinstance(n, int) for n in value.shape)


def _unsupported(program: Program) -> tuple[list[Missing], set[fx.Node]]:
    """Every call that cannot run, with the reason; and those that read what only PyTorch has."""
    lowering = Lowering(program)
    for node in filter(_is_plain, program.inputs):
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
            if isinstance(one, Value):
                lowering.output(f"{i}.{j}", one)
    refused = {lowering.origin[name]: reason for name, _, reason in lowering.model.missing() if name in lowering.origin}
    outputs = [node for node in results if node in program.outputs and is_byte(node)]
    missing = [*lowering.missing, *refused.items(), *((node, RESULT_OF_BYTES) for node in outputs)]
    return sorted(missing, key=lambda m: program.position[m[0]]), lowering.followers


def views_of_results(program: Program) -> dict[fx.Node, tuple[fx.Node, list[fx.Node]]]:
    """The results that share memory with an input or with each other: whose views they are, and the calls that make them.

    PyTorch makes these views, so that they share memory here too.
    """
    results = list(dict.fromkeys(x for x in program.outputs if isinstance(x, fx.Node) and x not in program.constants))
    found = {}
    for node in results:
        root, calls = node, list[fx.Node]()
        while root not in program.inputs and is_view(root):
            calls.insert(0, root)
            root = next(x for x in root.all_input_nodes if storages(x) & storages(root))
        shared = any(other is not node and storages(other) & storages(node) for other in results)
        if calls and root not in program.constants and (root in program.inputs or shared):
            found[node] = (root, calls)
    return found


def _returned(program: Program) -> list[fx.Node]:
    """What the plans compute for the results."""
    views = views_of_results(program)
    nodes = [views[x][0] if x in views else x for x in program.outputs if isinstance(x, fx.Node)]
    return list(dict.fromkeys(nodes))


def _parts(program: Program, torchs: set[fx.Node]) -> list[tuple[bool, list[fx.Node]]]:
    """The calls of each plan, and each call that stays with PyTorch, in an order in which they can run.

    PyTorch's calls keep their order. Nothing moves past a call that writes or draws, whoever runs it.
    """
    number = {node: i for i, node in enumerate(program.nodes)}
    reads = list[list[int]]()
    stayed, barrier = list[int](), list[int]()
    for i, node in enumerate(program.nodes):
        before = {number[x] for x in node.all_input_nodes if x in number}
        if node in torchs:
            before.update(stayed)
            stayed = [i]
        if is_random(node) or is_in_place(node):
            before.update(range(barrier[0] if barrier else 0, i))
            barrier = [i]
        else:
            before.update(barrier)
        reads.append(sorted(before))
    parts = schedule(reads, [node not in torchs for node in program.nodes])
    return [(program.nodes[part[0]] in torchs, [program.nodes[i] for i in part]) for part in parts]


def _inputs(program: Program, calls: list[fx.Node]) -> list[fx.Node]:
    inside = set(calls)
    read = {x for node in calls for x in node.all_input_nodes if x not in inside and x not in program.constants}
    return [x for x in program.position if x in read]


def _is_read(program: Program, inside: set[fx.Node], user: fx.Node) -> bool:
    """Whether the user runs, and elsewhere: `y.new_zeros(8)`, which reads only the dtype of `y`, is a constant."""
    return user not in inside and user.op != "output" and user not in program.constants


def _leaves(program: Program, inside: set[fx.Node], node: fx.Node) -> bool:
    return node in program.outputs or any(_is_read(program, inside, user) for user in node.users)


def _regions(
    program: Program, torchs: set[fx.Node], options: dict[str, Any], reorders: int | None, like: "ModelPlan | None" = None
) -> list[Region]:
    """The calls in an order in which they can run, as few plans as there can be. Measured layouts keep to the number of reorders where they can."""
    while True:
        parts = _parts(program, torchs)
        # A plan's inputs are f32 tensors.
        outside = {x for stays, calls in parts if not stays for x in _inputs(program, calls) if not _is_plain(x)}
        more = {node for stays, calls in parts if not stays for node in calls if outside & (set(node.all_input_nodes) - set(calls))}
        # What leaves it are floats, masks and indices.
        more |= {node for stays, calls in parts if not stays for node in calls if is_byte(node) and _leaves(program, set(calls), node)}
        if not more:
            break
        torchs = torchs | more
    returned = _returned(program)
    reorders = reorders if options["layouts"] == "measured" else None
    count = sum(not stays for stays, _ in parts)
    chosen = _chosen(options, like, count)
    alone = reorders if count == 1 else None
    regions, each = [], iter(chosen)
    for stays, calls in parts:
        inside = set(calls)
        # A plan that is the whole model takes all inputs, in the model's order, and returns results in that order.
        inputs = list(program.inputs) if len(parts) == 1 and not stays else _inputs(program, calls)
        outputs = [x for x in returned if x in inside]
        outputs += [n for n in calls if n not in returned and any(_is_read(program, inside, user) for user in n.users)]
        region = Region(inputs, outputs, calls, None)
        if not stays:
            region.plan = _planned(program, region, next(each), alone)
        regions.append(region)
    if reorders is not None and alone is None:
        _share(program, _planned_of(regions), chosen, reorders)
    return regions


def _planned_of(regions: list[Region]) -> list[tuple[Region, Plan]]:
    return [(region, region.plan) for region in regions if region.plan is not None]


def _chosen(options: dict[str, Any], like: "ModelPlan | None", count: int) -> list[dict[str, Any]]:
    """The options of each of the plans: as the plan at its place in another model's did, by estimated times where there is none."""
    if like is None:
        return [options] * count
    plans = [plan for _, plan in _planned_of(like.regions)]
    if len(plans) != count:
        return [options | {"profiles": "estimated"}] * count
    return [options | {"like": plan} for plan in plans]


def _share(program: Program, plans: list[tuple[Region, Plan]], chosen: list[dict[str, Any]], reorders: int) -> None:
    """Plans regions again, one after another, until together they make no more reorders than are allowed."""
    excess = sum(len(plan.reorders) for _, plan in plans) - reorders
    for (region, plan), options in zip(plans, chosen, strict=True):
        count = len(plan.reorders)
        for most in range(max(count - excess, 0), count):
            try:
                region.plan = _planned(program, region, options, most)
            except ReorderDenied:
                continue
            excess -= count - len(region.plan.reorders)
            break


def _planned(program: Program, region: Region, options: dict[str, Any], reorders: int | None) -> Plan:
    lowering = Lowering(program)
    for node in region.inputs:
        lowering.input(node)
    for node in region.calls:
        lowering.lower(node)
    for i, node in enumerate(region.outputs):
        lowering.output(f"output{i}" if len(region.outputs) > 1 else "output", lowering.values[node])
    try:
        return lowering.model.plan(**options, reorders=reorders)
    except InvalidArgument as e:
        if not any(operand.startswith("reorders: ") for operand in e.operands):
            raise
        made = ReorderDenied(str(e))
        made.op, made.remedy, made.operands = e.op, e.remedy, e.operands
    raise made


def told_module(path: str) -> str:
    """A module in a text: calls of the model itself have no path."""
    return f"`{path or '(the model)'}`"


def _line(missing: Missing) -> str:
    node, reason = missing
    return f"module {told_module(module_of(node))}: {_call(node)}: {reason}"


def _call(node: fx.Node) -> str:
    target = node.target
    return str(target) if isinstance(target, torch._ops.OpOverload) else str(getattr(target, "__name__", target))


class ModelPlan:
    """What moving a model costs: its text has regions, fusions, every reorder, and what is unsupported."""

    def __init__(self, program: Program, missing: list[Missing], regions: list[Region]) -> None:
        self.program = program
        self.regions = regions
        #: Calls that cannot run: module, call, reason.
        self.unsupported = [(module_of(node), _call(node), reason) for node, reason in missing]
        self._missing = missing

    @property
    def reorders(self) -> list[dict[str, Any]]:
        """Every reorder of one run: node (a module's name), from, to, shape, bytes, in_kernel."""
        return [r for region in self.regions if region.plan is not None for r in region.plan.reorders]

    @property
    def crossings(self) -> list[tuple[str, str]]:
        """Tensors that pass between PyTorch and a plan in the middle of the model: what made them, what reads them, each pair once."""
        found: dict[tuple[str, str], None] = {}
        for region in self.regions:
            for x in region.inputs if region.plan is None else []:
                found[module_of(x) or x.name, module_of(region.calls[0])] = None
        return list(found)

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
            lines += [f"  {told_module(source)} -> {told_module(reader)}" for source, reader in self.crossings]
        if self._missing:
            lines += ["", "unsupported:", *(f"  {_line(m)}" for m in self._missing)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = repr(self).replace("&", "&amp;").replace("<", "&lt;")
        drawings = [region.plan.svg() for region in self.regions if region.plan is not None]
        return f"<pre>{text}</pre>{''.join(drawings)}"

    def refuse(self, partial: bool = False) -> None:
        """Raises one error that lists every unsupported call; with `partial` only those that PyTorch cannot run either."""
        effects = {node for node, _ in self.program.refused}
        refused = [m for m in self._missing if not partial or m[0] in effects]
        if not refused:
            return
        lines = "\n".join(f"  {_line(m)}" for m in refused)
        count = len(refused)
        text = f"{count} call{'s' if count > 1 else ''} of `{self.program.name}` cannot run:\n{lines}\n"
        option = self.program.partial
        remedy = f"replace these modules, or pass `{option}` to leave them to PyTorch"
        if any(node in effects for node, _ in refused):
            remedy = f"change `forward` as each line says; `{option}` does not help where a call changes an input or the model"
        if any(node in effects and trains(node) for node, _ in refused):
            remedy = "call `model.eval()`, or change `forward` as each line says"
        made = UnsupportedOp(text + remedy)
        made.op, made.remedy = _call(refused[0][0]), remedy
        made.missing = [(module_of(node), _call(node), reason) for node, reason in refused]
        raise made


def plan_program(program: Program, options: dict[str, Any]) -> ModelPlan:
    """The plan, with everything that cannot run listed."""
    listed, stays = _listed(program)
    return ModelPlan(program, listed, _regions(program, stays, options, None))


def _listed(program: Program) -> tuple[list[Missing], set[fx.Node]]:
    """Every call that cannot run; and those that stay with PyTorch."""
    missing, followers = _unsupported(program)
    effects = dict(program.refused)
    listed = [*program.refused, *(m for m in missing if m[0] not in effects)]
    listed.sort(key=lambda m: program.position[m[0]])
    stays = {node for node, _ in listed} | followers
    return listed, stays


def checked(
    program: Program, options: dict[str, Any], reorders: int | None, partial: bool, like: ModelPlan | None = None
) -> ModelPlan:
    """The plan of a model that can run, with at most so many reorders. `like` is one for other sizes, whose choices it takes."""
    listed, stays = _listed(program)
    # Before anything is measured.
    ModelPlan(program, listed, []).refuse(partial)
    made = ModelPlan(program, listed, _regions(program, stays, options, reorders, like))
    found = made.reorders
    if reorders is not None and len(found) > reorders:
        places = "\n".join(f"  {r['node']}: {r['from']} -> {r['to']} {r['shape']} {r['bytes']} bytes" for r in found)
        count = f"{len(found)} reorder{'s' * (len(found) != 1)}"
        text = f"argument `reorders`: got {reorders}, but a run makes {count}:\n{places}\n"
        remedy = f"pass `reorders={len(found)}`{'' if options['layouts'] == 'measured' else ', or leave `layouts` out'}"
        raise error(ReorderDenied, text.rstrip(), remedy)
    return made
