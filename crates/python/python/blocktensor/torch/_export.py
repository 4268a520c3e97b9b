"""A PyTorch model as a list of calls: `torch.export`, with what depends on weights alone computed."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from .._errors import InvalidArgument, UnsupportedOp

#: Calls whose result does not depend on the elements of their operand.
FACTORIES = {"new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like"}


def error(kind: type[Any], text: str, remedy: str, op: str | None = None) -> Exception:
    """An exception with its fields."""
    made = kind(f"{text}; {remedy}")
    made.op, made.remedy = op, remedy
    return made  # type: ignore[no-any-return]


@dataclass
class Program:
    """What a model does for inputs like the example."""

    name: str
    exported: torch.export.ExportedProgram
    #: The user's inputs, in order.
    inputs: list[fx.Node]
    #: Calls that depend on an input, in order.
    nodes: list[fx.Node]
    #: Values that depend on weights alone.
    constants: dict[fx.Node, Any]
    #: What the model returns, and how it is nested.
    outputs: list[Any]
    spec: pytree.TreeSpec
    #: The place of each call.
    position: dict[fx.Node, int] = field(default_factory=dict)


def is_in_place(node: fx.Node) -> bool:
    """Whether the call writes into its first operand: `relu_`."""
    return op_name(node).endswith("_")


def op_name(node: fx.Node) -> str:
    """`relu_` of `aten.relu_.default`."""
    target = node.target
    packet = getattr(target, "overloadpacket", None)
    return str(packet.__name__ if packet is not None else getattr(target, "__name__", target))


def module_of(node: fx.Node) -> str:
    """The module that made the call: `layer1.0.conv1`."""
    stack = node.meta.get("nn_module_stack")
    path = list(stack.values())[-1][0] if stack else ""
    return str(path)


def as_arguments(example: Any) -> tuple[Any, ...]:
    return example if isinstance(example, tuple) else (example,)


def export(model: torch.nn.Module, example: Any) -> Program:
    """Exports the model, without decompositions."""
    training = [name or type(model).__name__ for name, module in model.named_modules() if module.training]
    if training:
        text = f"argument `model`: got {', '.join(training[:3])} in training mode, but plans are for inference"
        raise error(InvalidArgument, text, "call `model.eval()` first")
    arguments = as_arguments(example)
    for x in pytree.tree_leaves(arguments):
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float32 or x.device.type != "cpu":
            text = f"argument `example`: got {type(x).__name__} {getattr(x, 'dtype', '')}, but inputs are f32 tensors on the CPU"
            raise error(InvalidArgument, text, "pass such tensors")
    try:
        with torch.no_grad():
            exported = torch.export.export(model, arguments, strict=False)
    except Exception as e:
        first = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        text = f"`torch.export` cannot follow the model: {first}"
        remedy = "control flow that depends on data has no plan: export the parts around it, or use `swap`"
        raise error(UnsupportedOp, text, remedy, op="torch.export") from e
    return _program(type(model).__name__, exported)


def _program(name: str, exported: torch.export.ExportedProgram) -> Program:
    signature = exported.graph_signature
    constants: dict[fx.Node, Any] = {}
    inputs, nodes, outputs = [], [], []
    own = set()
    for node in exported.graph.nodes:
        if node.op == "placeholder":
            weight = _weight(exported, signature, node.name)
            if weight is None:
                inputs.append(node)
            else:
                constants[node] = weight
                own.add(weight.untyped_storage().data_ptr())
        elif node.op == "output":
            outputs = list(node.args[0])
        elif _folds(node, constants, own):
            constants[node] = _computed(node, constants)
        else:
            nodes.append(node)
    # The first results are what a model's own state becomes: inference changes none.
    outputs = outputs[len(outputs) - len(signature.user_outputs) :]
    spec = exported.call_spec.out_spec
    assert spec is not None
    position = {node: i for i, node in enumerate(exported.graph.nodes)}
    return Program(name, exported, inputs, nodes, constants, outputs, spec, position)


def _weight(exported: torch.export.ExportedProgram, signature: Any, name: str) -> torch.Tensor | None:
    for table in (
        signature.inputs_to_parameters,
        signature.inputs_to_buffers,
        signature.inputs_to_lifted_tensor_constants,
    ):
        if name in table:
            key = table[name]
            found = exported.state_dict.get(key)
            return (exported.constants[key] if found is None else found).detach()
    return None


def _folds(node: fx.Node, constants: dict[fx.Node, Any], own: set[int]) -> bool:
    if node.op != "call_function":
        return False
    if op_name(node) in FACTORIES:
        return True
    if not all(x in constants for x in node.all_input_nodes):
        return False
    if is_in_place(node):
        target = constants[node.all_input_nodes[0]]
        return target.untyped_storage().data_ptr() not in own
    return True


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
