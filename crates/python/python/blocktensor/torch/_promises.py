"""What a call does beside its results: it writes into memory, or draws random numbers.

PyTorch's own records decide, not lists of names: schemas say which arguments a call writes into, tags say what is random, and
the example tensors of an exported graph share storages where the model's tensors share memory.
"""

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import fx

Refused = tuple[fx.Node, str]


def op_name(node: fx.Node) -> str:
    """`relu_` of `aten.relu_.default`, `library::relu` of an operator of another library."""
    return name_of(node.target)


def name_of(target: Any) -> str:
    """The same of what a node calls."""
    packet = getattr(target, "overloadpacket", None)
    if packet is None:
        return str(getattr(target, "__name__", target))
    space, _, name = str(packet._qualified_op_name).partition("::")
    return name if space in ("aten", "prims") else f"{space}::{name}"


def is_random(node: fx.Node) -> bool:
    """Whether the call draws from a generator."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    # Dropout and its kin draw in training alone.
    given = _given(node)
    return not any(given.get(name) is False for name in ("train", "training")) and given.get("dropout_p") != 0


def trains(node: fx.Node) -> bool:
    """Whether the call is one of training mode: a norm that updates its statistics, dropout."""
    given = _given(node)
    return any(given.get(name) is True for name in ("train", "training", "use_input_stats"))


def _given(node: fx.Node) -> dict[str, Any]:
    """The arguments by name, with defaults."""
    schema = getattr(node.target, "_schema", None)
    given = {argument.name: argument.default_value for argument in schema.arguments} if schema is not None else {}
    return given | {argument.name: value for argument, value in arguments(node)}


def arguments(node: fx.Node) -> Iterator[tuple[Any, Any]]:
    """The arguments that were passed, each with its entry of the schema."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return
    for i, argument in enumerate(schema.arguments):
        if i < len(node.args):
            yield argument, node.args[i]
        elif argument.name in node.kwargs:
            yield argument, node.kwargs[argument.name]


def written(node: fx.Node) -> list[fx.Node]:
    """The operands that the call writes into."""
    given = {argument.name: value for argument, value in arguments(node)}
    found: list[fx.Node] = []
    for argument, value in arguments(node):
        writes = argument.alias_info is not None and argument.alias_info.is_write
        # Norms that update running statistics have a schema without it.
        if argument.name.startswith("running_") and (given.get("training") or given.get("use_input_stats")):
            writes = True
        if writes:
            found += [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, fx.Node)]
    return found + list(_written_by_parts(node))


def _written_by_parts(node: fx.Node) -> Iterator[fx.Node]:
    """The operands that graphs inside the call write into: the branches of `torch.cond`."""
    parts = [x for x in node.all_input_nodes if x.op == "get_attr" and isinstance(_module(x), fx.GraphModule)]
    others = [x for x in node.all_input_nodes if x not in parts]
    for part in parts:
        graph = _module(part).graph
        placeholders = [x for x in graph.nodes if x.op == "placeholder"]
        places = {place for x in placeholders for place in storages(x)}
        for inner in graph.nodes:
            if any(storages(target) & places for target in written(inner)):
                # Which one is not told apart: the operands of a branch are few.
                yield from others


def _module(node: fx.Node) -> Any:
    found: Any = node.graph.owning_module
    for name in str(node.target).split("."):
        found = getattr(found, name, None)
    return found


def storages(node: fx.Node) -> set[int]:
    """The memory of the call's results."""
    return {place for x in _tensors(node) if (place := _storage(x)) is not None}


def is_unknown(node: fx.Node) -> bool:
    """Whether the memory of the call's results cannot be told: tensors inside `torch.func.vmap`, sparse tensors."""
    return any(_storage(x) is None for x in _tensors(node))


def _tensors(node: fx.Node) -> list[torch.Tensor]:
    value = node.meta.get("val")
    return [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, torch.Tensor)]


def _storage(x: torch.Tensor) -> int | None:
    try:
        return int(x.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None


def overlap(x: fx.Node, y: fx.Node) -> bool:
    """Whether two tensors of one storage have an element in common. If it cannot be told, they have."""
    a, b = x.meta.get("val"), y.meta.get("val")
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or a.dtype != b.dtype:
        return True
    try:
        marks = torch.zeros(a.untyped_storage().nbytes() // a.element_size(), dtype=torch.bool)
        marks.as_strided(a.shape, a.stride(), a.storage_offset()).fill_(True)
        return bool(marks.as_strided(b.shape, b.stride(), b.storage_offset()).any())
    except (RuntimeError, TypeError):
        return True


def only_changes_metadata(node: fx.Node) -> bool:
    """`squeeze_` changes sizes, `detach_` and `requires_grad_` nothing that a plan has."""
    return torch.Tag.inplace_view in getattr(node.target, "tags", ()) or op_name(node) in ("detach_", "requires_grad_")


def read_later(node: fx.Node, target: fx.Node, members: Iterable[fx.Node], position: dict[fx.Node, int]) -> fx.Node | None:
    """A tensor that shares elements with `target` by another name, and is read after the call that writes into it."""
    here = position[node]
    for other in members:
        if other in (target, node) or position[other] > here:
            continue
        if any(position[user] > here for user in other.users) and overlap(target, other):
            return other
    return None


def is_view(node: fx.Node) -> bool:
    """Whether the call's results are memory of an operand, and nothing is written."""
    is_call = isinstance(node.target, torch._ops.OpOverload) or node.target is operator.getitem
    return is_call and not written(node) and any(storages(x) & storages(node) for x in node.all_input_nodes)
