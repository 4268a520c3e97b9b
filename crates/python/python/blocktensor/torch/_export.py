"""A PyTorch model as a list of calls: `torch.export`, with what depends on weights alone computed."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from .._errors import UnsupportedOp
from ._copies import check_draws, check_graph, check_runs, runs_of
from ._inline import inline, put_getitems_first
from ._inputs import names_of
from ._loads import Saved, changes_what_it_loads, saved
from ._promises import Refused, is_random, is_unknown, only_changes_metadata, op_name, read_later, storages, trains, written
from ._told import error
from ._tracing import check, trace
from ._unwrap import unwrapped

#: Calls whose result does not depend on the elements of their operand.
FACTORIES = set("new_zeros new_ones new_full new_empty zero zeros_like ones_like full_like empty_like".split())

#: How the reason for a write begins which a function of the whole tensor can stand for.
_INTO_A_VIEW = "it writes into a view of"

_STATE = "it changes `{}` of the model, so that a run depends on the runs before it"

__all__ = ["Program", "error", "export", "is_in_place", "module_of", "op_name"]


@dataclass
class Program:
    """What a model does for inputs like the example."""

    name: str
    exported: torch.export.ExportedProgram
    #: How the user's arguments are nested, and their tensors in order.
    structure: pytree.TreeSpec
    inputs: list[fx.Node]
    #: Calls that depend on an input, or are random, in order.
    nodes: list[fx.Node]
    #: Values that depend on weights alone.
    constants: dict[fx.Node, Any]
    #: The calls that computed them, in order.
    folded: list[fx.Node]
    #: What the model returns, and how it is nested.
    outputs: list[Any]
    spec: pytree.TreeSpec
    #: Calls whose effect a packed module cannot have: not even where PyTorch runs them.
    refused: list[Refused]
    #: The model's own name of a parameter, a buffer, or a tensor attribute.
    state: dict[fx.Node, str] = field(default_factory=dict)
    #: The place of each call.
    position: dict[fx.Node, int] = field(default_factory=dict)
    #: The calls whose results share a memory.
    sharing: dict[int, list[fx.Node]] = field(default_factory=dict)
    #: What `forward` calls the arguments of the example.
    names: tuple[str | None, ...] = ()
    #: How its user leaves calls to PyTorch.
    partial: str = "partial=True"
    #: The module that changes what it loads, which a packed module would not.
    loads: str | None = None
    #: What the model's `state_dict` has beside weights.
    saved: Saved = field(default_factory=Saved)

    def family(self, node: fx.Node) -> list[fx.Node]:
        """All that shares memory with the results of a call, and the call itself."""
        return list(dict.fromkeys(x for place in storages(node) for x in self.sharing.get(place, [])))

    def fold(self) -> None:
        """Computes the constants again, after those of the model's state were replaced."""
        for node in self.folded:
            self.constants[node] = _computed(node, self.constants)


def is_in_place(node: fx.Node) -> bool:
    """Whether the call writes into an operand: `relu_`."""
    return bool(written(node))


def module_of(node: fx.Node) -> str:
    """The module that made the call: `layer1.0.conv1`."""
    stack = node.meta.get("nn_module_stack")
    path = list(stack.values())[-1][0] if stack else ""
    return str(path)


def as_arguments(example: Any) -> tuple[Any, ...]:
    return example if isinstance(example, tuple) else (example,)


def export(model: torch.nn.Module, example: Any) -> Program:
    """Exports the model, without decompositions."""
    arguments = as_arguments(example)
    model = unwrapped(model)
    check(model, arguments)
    runs = runs_of(model, arguments)
    program = program_of(type(model).__name__, pytree.tree_structure(arguments), lambda: trace(model, arguments, runs.caught, runs.caught_later))
    program.names = names_of(model, len(arguments))
    state = program.exported.state_dict
    program.saved = saved(model, state)
    # In the model's order: `torch.export` has all parameters before all buffers.
    given = dict(state)
    state.clear()
    state.update((name, given[name]) for name in dict.fromkeys((*program.saved.names, *given)) if name in given)
    program.loads = changes_what_it_loads(model)
    if not program.refused:
        check_runs(model, runs, arguments)
        check_graph(program.exported, program.constants, runs)
        check_draws(model, program.exported, program.constants, arguments)
    return program


def program_of(name: str, structure: pytree.TreeSpec, traced: Callable[[], torch.export.ExportedProgram]) -> Program:
    """What an exported model does. It is exported again if its writes into parts of tensors need functions of whole tensors."""
    program = _of_graph(name, structure, traced())
    if program.refused and all(reason.startswith(_INTO_A_VIEW) for _, reason in program.refused):
        program = _without_writes(name, structure, traced()) or program
    return program


def _of_graph(name: str, structure: pytree.TreeSpec, exported: torch.export.ExportedProgram) -> Program:
    _drop_failed(exported.graph)
    _name_views(exported.graph)
    inline(exported.graph_module)
    put_getitems_first(exported.graph)
    return _program(name, exported, structure)


def _drop_failed(graph: fx.Graph) -> None:
    """Drops calls that raised, where the model's code went on (`try: y.view(...)`): they have no result. And checks of the trace's own."""
    for node in reversed(graph.nodes):
        returns = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.returns
        is_check = node.target is torch.ops.aten._assert_tensor_metadata.default
        if (is_check or returns and node.meta.get("val") is None) and not node.users:
            graph.erase_node(node)


def _name_views(graph: fx.Graph) -> None:
    """Writes `as_strided` of rows to rows, which decompositions make of a mean, as the `view` that it is."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.as_strided.default):
        x, made = node.args[0].meta["val"], node.meta["val"]
        is_whole = x.numel() == made.numel() and x.storage_offset() == made.storage_offset()
        if is_whole and x.is_contiguous() and made.is_contiguous():
            node.target, node.args, node.kwargs = torch.ops.aten.view.default, (node.args[0], list(made.shape)), {}


def _without_writes(name: str, structure: pytree.TreeSpec, exported: torch.export.ExportedProgram) -> Program | None:
    """The model with functions of whole tensors for its writes into parts of them; `None` where some remain."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            exported = exported.run_decompositions({})
    except Exception:
        # The error of the graph that writes says what to do.
        return None
    if any(s.kind != OutputKind.USER_OUTPUT for s in exported.graph_signature.output_specs):
        return None
    program = _of_graph(name, structure, exported)
    return None if program.refused else program


def _program(name: str, exported: torch.export.ExportedProgram, structure: pytree.TreeSpec) -> Program:
    spec = exported.call_spec.out_spec
    assert spec is not None
    position = {node: i for i, node in enumerate(exported.graph.nodes)}
    program = Program(name, exported, structure, [], [], {}, [], [], spec, [], {}, position)
    for node in exported.graph.nodes:
        for place in storages(node):
            program.sharing.setdefault(place, []).append(node)
    specs = iter(exported.graph_signature.input_specs)
    for node in list(exported.graph.nodes):
        if node.op == "placeholder":
            _placeholder(program, node, next(specs))
        elif node.op == "output":
            program.outputs = list(node.args[0])
        elif node.op == "get_attr":
            program.constants[node] = _attribute(exported.graph_module, str(node.target))
        else:
            _call(program, node)
    kinds = {s.kind for s in exported.graph_signature.output_specs} - {OutputKind.USER_OUTPUT}
    # The undecomposed graph writes in place, and returns the model's own results alone.
    assert not kinds, kinds
    return program


def _placeholder(program: Program, node: fx.Node, spec: Any) -> None:
    if spec.kind == InputKind.USER_INPUT:
        program.inputs.append(node)
    elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
        found: Any = program.exported.state_dict.get(spec.target)
        found = program.exported.constants[spec.target] if found is None else found
        program.constants[node] = found.detach()
        program.state[node] = spec.target
    else:
        text = f"`torch.export` makes {spec.kind.name.lower().replace('_', ' ')} `{spec.target or node.name}` an input of the model"
        raise error(UnsupportedOp, text, "keep such objects out of the model's `forward`", op="torch.export")


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _call(program: Program, node: fx.Node) -> None:
    targets = written(node)
    reason = _reason(program, node, targets) or _reads_by_strides(program, node)
    if reason is not None:
        program.refused.append((node, reason))
    if _folds(program, node, targets):
        program.folded.append(node)
        program.constants[node] = _computed(node, program.constants)
    else:
        program.nodes.append(node)
    # From here on the result stands for the target: nothing reads a tensor before and after a write by one name.
    if targets and targets[0] is not node and storages(node) >= storages(targets[0]):
        here = program.position[node]
        targets[0].replace_all_uses_with(node, delete_user_cb=lambda user: program.position[user] > here)


def _reason(program: Program, node: fx.Node, targets: list[fx.Node]) -> str | None:
    """Why a packed module cannot have the effect of the call."""
    if not targets:
        return None
    for target in targets:
        if op_name(node) in ("detach_", "requires_grad_"):
            continue
        if is_unknown(target):
            return "it writes into memory that cannot be followed; write the call without the context around it, or out of place"
        family = program.family(target)
        for owner in family:
            if owner in program.inputs:
                name = owner.name
                return (
                    f"it changes the model's input `{name}` in place, but a packed module does not change its inputs; work on a "
                    f"copy (`{name}.clone()`), or leave `inplace=True` out"
                )
            if owner in program.state and not only_changes_metadata(node):
                name = program.state[owner]
                name = "tensor" if name.startswith("lifted_tensor") else name
                if trains(node) or name.endswith("num_batches_tracked"):
                    return f"{_STATE.format(name)}, as in training; call `model.eval()`, or pass `training=False`"
                return (
                    f"{_STATE.format(name)}, but a packed module keeps nothing between runs; pass `{name}` as an input and return it, "
                    f"or compute with a copy"
                )
        other = None if only_changes_metadata(node) else read_later(node, target, family, program.position)
        if other is not None and not _folds(program, node, targets):
            # A clone of the view would leave what is used later as it was.
            return (
                f"{_INTO_A_VIEW} `{other.name}`, which is used later and changes with it; make a new tensor with `torch.cat` or "
                f"`torch.where`, and use it for both"
            )
    if len(targets) > 1:
        return "it writes into several tensors; write the calls one by one"
    return None


def _reads_by_strides(program: Program, node: fx.Node) -> str | None:
    """Why a call of PyTorch's would read other elements than in the model: it counts them in memory, where a plan has rows."""
    schema = getattr(node.target, "_schema", None)
    counts = schema is not None and any(argument.name == "storage_offset" for argument in schema.arguments)
    operand = node.args[0] if node.args else None
    if not isinstance(operand, fx.Node) or operand in program.constants or not (counts or op_name(node).startswith("resize")):
        return None
    x = operand.meta.get("val")
    if isinstance(x, torch.Tensor) and x.is_contiguous() and x.nbytes == x.untyped_storage().nbytes():
        return None
    return "it counts elements in memory, and those of its operand are no rows of their own; call `.contiguous()` before, or index it"


def _folds(program: Program, node: fx.Node, targets: list[fx.Node]) -> bool:
    if node.op != "call_function" or is_random(node):
        return False
    if op_name(node) in FACTORIES:
        return True
    if not all(x in program.constants for x in node.all_input_nodes):
        return False
    if not targets:
        return True
    family = [x for target in targets for x in program.family(target)]
    if any(x in program.state for x in family):
        return False
    # All constants are computed before a run: what a run reads of this memory would be read after the write.
    here = program.position[node]
    readers = {user for x in family if x in program.constants for user in x.users if program.position[user] < here}
    return all(user in program.constants for user in readers)


def _computed(node: fx.Node, constants: dict[fx.Node, Any]) -> Any:
    like = node.meta.get("val")

    def value(x: fx.Node) -> Any:
        if x in constants:
            return constants[x]
        # Only a factory has such an operand: it looks at sizes and dtype.
        shape = x.meta["val"]
        return torch.empty(tuple(shape.shape), dtype=shape.dtype)

    args, kwargs = fx.node.map_arg((node.args, node.kwargs), value)  # type: ignore[misc]
    with torch.no_grad():
        made = node.target(*args, **kwargs)  # type: ignore[operator]
    assert like is None or not isinstance(made, torch.Tensor) or made.shape == like.shape
    return made
