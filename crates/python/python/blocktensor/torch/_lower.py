"""From an exported program to a model of this package."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from .. import _native
from .._errors import Error
from .._native import Model
from ._export import Program, is_in_place, module_of, op_name
from ._table import TABLE
from ._values import Unsupported, Value

#: The tensor arguments of each op, in the order of its schema.
TENSORS: dict[str, list[str]] = {
    schema["name"]: [a["name"] for a in schema["args"] if a["kind"].split()[-1] in ("tensor", "tensors", "param", "params", "plain")]
    for schema in _native.schemas()
}

#: Calls whose result shares memory with their operand in PyTorch.
VIEWS = set("view reshape flatten unflatten permute transpose swapaxes expand select slice squeeze unsqueeze alias".split())
VIEWS |= {"chunk", "split", "split_with_sizes", "getitem", "t", "detach", "contiguous", "dropout", "to", "unbind"}

Missing = tuple[fx.Node, str]


class Lowering:
    """A model that grows call by call."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.model = Model()
        self.values: dict[fx.Node, Any] = {}
        #: The call that each of the model's nodes is made for.
        self.origin: dict[str, fx.Node] = {}
        self.missing: list[Missing] = []
        self.name = ""
        self._node: fx.Node | None = None
        self._names: set[str] = set()
        self._root: dict[fx.Node, fx.Node] = {}

    def input(self, node: fx.Node) -> None:
        """Makes what a call outside of the model computes an input."""
        value = node.meta["val"]
        name = self._unique(node.name)
        self.model.input(name, list(value.shape))
        self.values[node] = Value(name, tuple(value.shape))

    def lower(self, node: fx.Node) -> bool:
        """Adds a call. One that cannot be added is noted, and its results become inputs."""
        self._node, self.name = node, op_name(node).rstrip("_")
        try:
            function = TABLE.get(self.name)
            if function is None:
                raise Unsupported("no op of blocktensor is for it")
            self._check_aliases(node)
            args = fx.node.map_arg(node.args, self._value)
            kwargs = fx.node.map_arg(node.kwargs, self._value)
            made = function(self, *args, **kwargs)  # type: ignore[arg-type, misc]
        except (Unsupported, Error, TypeError, KeyError) as e:
            self.missing.append((node, str(e)))
            return False
        self.values[node] = made
        if is_in_place(node):
            self.values[node.all_input_nodes[0]] = made
        return True

    def output(self, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            value = self._constant(value)
        self.model.output(name, value.name)

    # What the table calls.

    def op(self, op: str, **arguments: Any) -> Value:
        return self.ops(op, 1, **arguments)[0]

    def ops(self, op: str, results: int, **arguments: Any) -> list[Value]:
        assert self._node is not None
        tensors = TENSORS[op]
        inputs: list[tuple[str, str]] = []
        for name in tensors:
            given = arguments.pop(name, None)
            for x in given if isinstance(given, list) else [given]:
                if isinstance(x, torch.Tensor):
                    x = self._constant(x)
                if x is not None:
                    inputs.append((name, x.name))
        node = self._unique(module_of(self._node) or self._node.name)
        outputs = [node] if results == 1 else [f"{node}.{i}" for i in range(results)]
        self.model.op(node, op, inputs, arguments, outputs)
        self.origin[node] = self._node
        shapes = self.result_shapes()
        # Only the last op of a call has its shape; those before it are looked at by the table itself.
        return [Value(name, tuple(shapes[i] if i < len(shapes) else ())) for i, name in enumerate(outputs)]

    def result_shapes(self) -> list[Sequence[int]]:
        assert self._node is not None
        value = self._node.meta["val"]
        values = value if isinstance(value, (list, tuple)) else [value]
        return [tuple(v.shape) for v in values]

    def result_shape(self) -> list[int]:
        return list(self.result_shapes()[0])

    def result_dtype(self) -> str:
        assert self._node is not None
        dtype = self._node.meta["val"].dtype
        return "f32" if dtype == torch.float32 else str(dtype)

    # Values.

    def _value(self, node: fx.Node) -> Any:
        if node in self.values:
            return self.values[node]
        constant = self.program.constants[node]
        if isinstance(constant, torch.Tensor):
            # Kept: a weight that two calls use is one constant.
            self.values[node] = self._constant(constant, node.name)
            return self.values[node]
        return constant

    def _constant(self, tensor: torch.Tensor, name: str = "constant") -> Value:
        if tensor.dtype in (torch.int64, torch.bool):
            tensor = tensor.to(torch.int32)
        elif tensor.dtype != torch.float32:
            raise Unsupported(f"a constant of {tensor.dtype}; plans compute in f32")
        name = self._unique(name)
        # A copy: what is edited later is found by `check_weights`, and never half of a plan's constants.
        self.model.constant(name, tensor.detach().clone(memory_format=torch.contiguous_format))
        return Value(name, tuple(tensor.shape))

    def _unique(self, name: str) -> str:
        found, count = name, 1
        while found in self._names:
            count += 1
            found = f"{name}/{count}"
        self._names.add(found)
        return found

    def _check_aliases(self, node: fx.Node) -> None:
        """Refuses a call that writes into memory that a later call reads by another name."""
        inputs = node.all_input_nodes
        if not inputs:
            return
        first = inputs[0]
        root = self._root.get(first, first)
        if self.name in VIEWS or is_in_place(node):
            self._root[node] = root
        if not is_in_place(node):
            return
        here = self.program.position[node]
        # The target itself stands for the result from here on.
        family = [n for n, r in self._root.items() if r is root and n not in (node, first)] + [root]
        for other in family:
            if other is not first and any(self.program.position[user] > here for user in other.users):
                raise Unsupported(f"it writes into a view of `{other.name}`, which is used later; clone the view first")
