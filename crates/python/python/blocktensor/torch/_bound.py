"""A graph of `torch.compile` as a program: with weights bound to it, for sizes that are known."""

import inspect
import keyword
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import InputKind
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils import _pytree as pytree

from .._errors import Error, UnsupportedOp
from ._export import Program, program_of
from ._fused import FUSED
from ._inputs import problem
from ._told import error, told
from ._tracing import PAST, check_transforms, told_data

#: The steps of a name that dynamo gives to what it reads: `L['self']._modules['conv']._parameters['weight']`.
_STEP = re.compile(r"\['([^']*)'\]|\[(\d+)\]|\.(\w+)")
#: Steps that are no name of the user's, and what stands for the module that is compiled.
_OWN = {"_modules", "_parameters", "_buffers"}
_ROOT = re.compile(r"^L\['(self|fn)'\]")


def source_of(node: fx.Node) -> str:
    """Where the value of a placeholder comes from, as the user has it: `layer1.0.conv1.weight`."""
    argument = node.meta.get("grapharg")
    source: Any = getattr(argument, "source", None)
    if source is None:
        return str(node.name)
    # A method before torch 2.9 or so, and a property since.
    name: Any = source.name() if callable(source.name) else source.name
    return path_of(name) or str(node.name)


def path_of(name: str) -> str:
    """`L['self'].layer1.0.conv1` without what dynamo adds."""
    steps = ["".join(found) for found in _STEP.findall(_ROOT.sub("", name))]
    return ".".join(step for step in steps if step not in _OWN)


def is_number(node: fx.Node) -> bool:
    """Whether a placeholder is a number. PyTorch passes floats that differ from call to call as tensors."""
    if not isinstance(node.meta.get("example_value"), torch.Tensor):
        return True
    is_float = getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False)
    return is_float and all(user.target == "item" for user in node.users)


def number(x: Any) -> Any:
    return x.item() if isinstance(x, torch.Tensor) else x


def is_weight(node: fx.Node) -> bool:
    """Whether a placeholder is a parameter, or a tensor of a module: torch marks these as static."""
    found: Any = node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")
    return found is not None or isinstance(getattr(node.meta.get("grapharg"), "example", None), torch.nn.Parameter)


def place_of(graph: fx.GraphModule) -> str:
    """The function that a graph is of, and the line where it starts."""
    calls = [node for node in graph.graph.nodes if node.op not in ("placeholder", "output")]
    for node in calls:
        found = re.search(r'File "([^"]*)", line (\d+), in (\S+)', str(node.meta.get("stack_trace", "")))
        if found:
            path, line, name = found.groups()
            # After a graph break.
            name = re.sub(r"^torch_dynamo_resume_in_(.*)_at_\d+$", r"\1", name)
            return f"{name} ({path.split('/')[-1]}:{line})"
    # PyTorch's own modules.
    stacks = [list(node.meta["nn_module_stack"].values()) for node in calls if node.meta.get("nn_module_stack")]
    return str(getattr(stacks[0][0][1], "__name__", "the graph")) if stacks else "the graph"


class _Calls(fx.Interpreter):
    """Runs a graph while it is exported. The calls that are recorded keep the module's name."""

    def run_node(self, n: fx.Node) -> Any:
        mode: Any = get_proxy_mode()
        if mode is None:
            return super().run_node(n)
        last = next(iter(reversed(mode.tracer.graph.nodes)), None)
        made = super().run_node(n)
        stack = n.meta.get("nn_module_stack")
        if last is not None and stack:
            known = {str(key): (path_of(path), str(kind)) for key, (path, kind) in stack.items()}
            for node in _after(last):
                node.meta["nn_module_stack"] = dict(known)
        return made

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        calls: Any = FUSED.get(target, target)
        return super().call_function(calls, args, kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # A float that came as a tensor: `is_number`.
        return args[0] if target == "item" and isinstance(args[0], float) else super().call_method(target, args, kwargs)


def _after(node: fx.Node) -> Iterator[fx.Node]:
    found: Any = node.next
    while found.op != "root":
        if found.op == "call_function":
            yield found
        found = found.next


class _Bound(torch.nn.Module):
    """A graph with its weights as state, and with its numbers. Its inputs are the tensors that are neither."""

    def __init__(self, graph: fx.GraphModule, weights: dict[int, torch.Tensor], numbers: dict[int, Any], inputs: dict[int, str]) -> None:
        super().__init__()
        self.graph, self.numbers, self.inputs = graph, numbers, list(inputs)

        def forward(*inputs: torch.Tensor) -> Any:
            return self.run(inputs)

        # The trace names inputs by it.
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in inputs.values()]
        forward.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        self.forward = forward
        for i, x in weights.items():
            if x.is_inference():
                # A trace asks for its version, which it does not have.
                x = x.clone()
            if isinstance(x, torch.nn.Parameter):
                self._parameters[_key(i)] = x
            else:
                self._buffers[_key(i)] = x

    def run(self, inputs: Sequence[torch.Tensor]) -> Any:
        known = {int(key[1:]): x for key, x in [*self._parameters.items(), *self._buffers.items()]}
        known |= self.numbers | dict(zip(self.inputs, inputs, strict=True))
        results = _Calls(self.graph).run(*(known[i] for i in sorted(known)))
        return results[0] if len(results) == 1 else tuple(results)


def _key(i: int) -> str:
    return f"w{i}"


def bind(
    graph: fx.GraphModule, names: Sequence[str], weights: dict[int, torch.Tensor], numbers: dict[int, Any], inputs: dict[int, torch.Tensor]
) -> Program:
    """What a graph does with these weights and numbers, for inputs of these sizes. All are by the number of their placeholder."""
    place = place_of(graph)
    for i, x in [*weights.items(), *inputs.items()]:
        found = problem(x, (names[i], x.shape, x.dtype))
        if found is not None:
            raise found
    # Row-major: what a plan takes.
    examples = tuple(torch.zeros(x.shape, dtype=x.dtype) for x in inputs.values())

    def traced() -> torch.export.ExportedProgram:
        bound = _Bound(graph, weights, numbers, {i: _identifier(names[i], i) for i in inputs}).eval()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exported = torch.export.export(bound, examples, strict=False)
            finally:
                # It refers to itself, and would keep the weights until the next garbage collection.
                bound._parameters.clear()
                bound._buffers.clear()
        check_transforms(exported)
        _name(exported, {_key(i): names[i] for i in weights})
        return exported

    try:
        program = program_of(place, pytree.tree_structure(examples), traced)
    except Error:
        raise
    except Exception as e:
        past = _of_data(graph) if PAST in str(e) else None
        if past is not None:
            raise error(UnsupportedOp, f"{place} {past[0]}", past[1], op="torch.compile") from e
        remedy = "the model itself runs: leave the call outside of what is compiled (`torch.compiler.disable`)"
        raise error(UnsupportedOp, f"`torch.export` cannot follow {place}: {told(e)}", remedy, op="torch.compile") from e
    program.partial = 'options={"partial": True}'
    as_rows(program)
    return program


def _of_data(graph: fx.GraphModule) -> tuple[str, str] | None:
    """Why `.data` has no plan, and the remedy; `None` where the graph has none."""
    reads = [node for node in graph.graph.nodes if getattr(node.target, "__name__", "") == "_get_data_attr"]
    calls = [str(getattr(user.target, "__name__", user.target)) for node in reads for user in node.users]
    return told_data(next((name for name in calls if name.endswith("_") or name == "setitem"), "")) if reads else None


def as_rows(program: Program) -> None:
    """Has results that depend on weights alone lie in rows, as those of plans do: after a graph break they are inputs of another plan."""
    for node in program.outputs:
        found = program.constants.get(node) if isinstance(node, fx.Node) and node not in program.state else None
        if isinstance(found, torch.Tensor) and found.layout == torch.strided:
            program.constants[node] = found.contiguous()


def _identifier(name: str, i: int) -> str:
    made = re.sub(r"\W", "_", name)
    return f"input{i}" if keyword.iskeyword(made) or not made.isidentifier() else made


def _name(exported: torch.export.ExportedProgram, names: dict[str, str]) -> None:
    """Gives the state its user's names."""
    state = exported.state_dict
    for key, name in names.items():
        if key in state:
            # A tensor of its own: that of the model is not kept alive. Decompositions need a parameter where there was one.
            x = state.pop(key)
            state[name] = torch.nn.Parameter(x.detach(), requires_grad=False) if isinstance(x, torch.nn.Parameter) else x.detach()
    for spec in exported.graph_signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            spec.target = names.get(str(spec.target), spec.target)
