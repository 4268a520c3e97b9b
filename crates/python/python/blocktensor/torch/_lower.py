"""From an exported program to a model of this package."""

import dataclasses
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg

from .. import _native
from .._errors import Error
from .._native import Model
from . import _core as _core  # fills the table
from ._export import Program, module_of, op_name
from ._inputs import DRAWN, told_input
from ._promises import arguments, is_random
from ._quantized import BYTES, Integers, in_numbers, integers_of, is_byte, is_dequantize, is_quantized
from ._told import first_line
from ._values import ONLY_RESULTS, TABLE, WITHOUT_OP, Unsupported, Value

#: The tensor arguments of each op, in the order of its schema.
TENSORS: dict[str, list[str]] = {
    schema["name"]: [a["name"] for a in schema["args"] if a["kind"].split()[-1] in ("tensor", "tensors", "param", "params", "plain")]
    for schema in _native.schemas()
}

_ARITHMETIC = set("add sub rsub mul div pow maximum minimum".split())

#: Calls that take masks and indices, beside those that move elements.
_TAKE_ANY = {"where", "masked_fill", "gather", "index_select", "index", "to", "_to_copy", "type_as", "scaled_dot_product_attention"}
_TAKE_ANY |= {"logical_not", "bitwise_not", "logical_and", "logical_or", "__and__", "__or__", "bitwise_and", "bitwise_or"}
_TAKE_ANY |= {"logical_xor", "bitwise_xor", "__xor__"}
_TAKE_ANY |= {"any", "all", "embedding", "copy", "index_fill", "index_put", "select_scatter", "slice_scatter"} | _ARITHMETIC
_MOVE = set(
    "alias contiguous clone detach lift_fresh_copy dropout flatten view reshape unflatten _unsafe_view view_as reshape_as squeeze "
    "unsqueeze permute transpose swapaxes swapdims movedim t numpy_T expand expand_as cat stack hstack vstack chunk split "
    "split_with_sizes unbind getitem slice select narrow roll flip repeat tile repeat_interleave broadcast_to moveaxis "
    "constant_pad_nd pad _assert_tensor_metadata".split()
)

#: The dtype of each result of an op, or the argument that it is the dtype of.
RESULTS: dict[str, list[str]] = {
    schema["name"]: [text.rpartition("[")[2].rstrip("]").removeprefix("as ") for _, text, _ in schema["outputs"]]
    for schema in _native.schemas()
}
_DTYPES = {"u8": "bool", "s32": "int64", "f32": "f32"}
#: The dtypes that an argument of an op names.
_NAMED = {"f32": "f32"} | {name: dtype for dtype, (name, _, _) in BYTES.items()}

#: What cannot be told from a call's name alone.
_REASONS = {
    "cond": "control flow that depends on data; use `torch.where`",
    "while_loop": "control flow that depends on data",
    "wrap_with_autocast": "a region of `torch.autocast`, which computes in other dtypes; leave it out, plans compute in f32",
    "item": "a number that depends on data; keep it a tensor",
    "sym_size": "a size that depends on data",
}
_SYMBOLIC = set("nonzero masked_select unique unique_consecutive bincount _assert_scalar _assert_async".split())

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
        #: Calls that read what PyTorch computes and a plan does not take: they stay with PyTorch.
        self.followers: set[fx.Node] = set()
        self.name = ""
        self._node: fx.Node | None = None
        #: The name of ops that are made for a constant: those of a call have its module's.
        self._label = ""
        self._names: set[str] = set()

    def input(self, node: fx.Node) -> None:
        """Makes what a call outside of the model computes an input."""
        value = node.meta["val"]
        name = self._unique(node.name)
        self.model.input(name, list(value.shape))
        self.values[node] = Value(name, tuple(value.shape))

    def lower(self, node: fx.Node) -> bool:
        """Adds a call. One that cannot be added is noted."""
        name = op_name(node)
        self._node, self.name = node, name if name.endswith("__") else name.rstrip("_")
        known = self.values.keys() | self.program.constants.keys()
        unknown = [x for x in node.all_input_nodes if x not in known]
        if unknown:
            self.followers.add(node)
            self.missing += [(node, _foreign(self.program, x, self.name)) for x in unknown if x in self.program.inputs][:1]
            return False
        try:
            function = TABLE.get(self.name)
            if is_random(node):
                raise Unsupported(f"it draws random numbers, and a plan would repeat them; {_draw(self.name)}")
            if function is None:
                raise Unsupported(_without_op(node, self.name))
            args, kwargs = bind(function, node)
            args = map_arg(tuple(in_numbers(self.name, args, self.program.constants)), self._value)
            kwargs = map_arg(kwargs, self._value)
            self._check_dtypes(node)
            made = function(self, *args, **kwargs)
            self.values[node] = self._typed(node, made)
        except (Unsupported, Error) as e:
            called = node.args[0] if node.target is operator.getitem else node
            assert isinstance(called, fx.Node)
            self.missing.append((called, first_line(str(e))))
            if called is not node:
                self.followers.add(node)
            return False
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
        dtypes: dict[str, str] = {}
        for name in tensors:
            given = arguments.pop(name, None)
            for x in given if isinstance(given, list) else [given]:
                if isinstance(x, torch.Tensor):
                    x = self._constant(x)
                if x is not None and not isinstance(x, Value):
                    raise Unsupported(f"argument `{name}`: got {x}, but it is a tensor; pass `torch.tensor({x})`")
                if x is not None:
                    inputs.append((name, x.name))
                    dtypes.setdefault(name, x.dtype)
        for name, given in arguments.items():
            if any(isinstance(x, Value) for x in (given if isinstance(given, (list, tuple)) else [given])):
                raise Unsupported(f"argument `{name}`: got a tensor, but it is a number in a plan; pass a number")
        node = self._unique(self._label or module_of(self._node) or self._node.name)
        outputs = [node] if results == 1 else [self._unique(f"{node}[{i}]") for i in range(results)]
        self.model.op(node, op, inputs, arguments, outputs)
        self.origin[node] = self._node
        shapes = self.result_shapes()
        # Only the last op of a call has its shape; those before it are looked at by the table itself.
        kinds = [_DTYPES.get(kind) or dtypes.get(kind) or _NAMED[arguments["dtype"]] for kind in RESULTS[op]]
        return [
            Value(name, tuple(shapes[i] if i < len(shapes) else ()), dtype=kinds[min(i, len(kinds) - 1)])
            for i, name in enumerate(outputs)
        ]

    def result_shapes(self) -> list[Sequence[int]]:
        assert self._node is not None
        value = self._node.meta["val"]
        values = value if isinstance(value, (list, tuple)) else [value]
        return [tuple(v.shape) for v in values]

    def result_shape(self) -> list[int]:
        return list(self.result_shapes()[0])

    def result_dtype(self) -> str:
        assert self._node is not None
        return _dtype(self._node.meta["val"])

    # Values.

    def _value(self, node: fx.Node) -> Any:
        if node in self.values:
            return self.values[node]
        constant = self.program.constants[node]
        stands_for = integers_of(node, self.program.constants)
        if stands_for is not None:
            self.values[node] = dataclasses.replace(self._dequantized(node, stands_for), tensor=constant)
            return self.values[node]
        if self.name in _ARITHMETIC and isinstance(constant, torch.Tensor) and constant.dtype != torch.float32:
            # PyTorch converts these to the other operand's dtype; of a scalar it takes the number.
            return constant.item() if constant.ndim == 0 else self._constant(constant.float(), node.name)
        if isinstance(constant, torch.Tensor):
            made = self._constant(constant, node.name)
            if constant.dtype == torch.float32 or not is_quantized(self.name):
                # Kept: a weight that two calls use is one constant.
                self.values[node] = made
            return made
        if isinstance(constant, (list, tuple)):
            return [self._constant(x, node.name) if isinstance(x, torch.Tensor) else x for x in constant]
        return constant

    def _dequantized(self, node: fx.Node, of: Integers) -> Value:
        """Constant numbers as what `dequantize` makes of integers."""
        calling, self._node, self._label = self._node, node, node.name
        try:
            x = self._bytes(of.integers, node.name)
            made = self.op("dequantize", x=x, scale=of.scale, zero_point=of.zero_point, axis=of.axis)
        finally:
            self._node, self._label = calling, ""
        return dataclasses.replace(made, shape=tuple(of.integers.shape))

    def _bytes(self, tensor: torch.Tensor, name: str) -> Value:
        """Constant integers of 8 bits. A model's constants are f32 or s32."""
        name = self._unique(name)
        self.model.constant(name, tensor.detach().float().contiguous())
        return self.op("to_dtype", x=Value(name, tuple(tensor.shape)), dtype=BYTES[str(tensor.dtype)][0])

    def _constant(self, tensor: torch.Tensor, name: str = "constant") -> Value:
        dtype = _dtype(tensor)
        if dtype in BYTES and is_dequantize(self.name):
            return self._bytes(tensor, name)
        name = self._unique(name)
        if dtype == str(torch.int32) and is_quantized(self.name):
            tensor, dtype = tensor.long(), "int64"
        if dtype not in ("f32", "bool", "int64"):
            raise Unsupported(f"a constant of {dtype}; plans compute in f32, convert it with `.float()`")
        if dtype == "int64":
            small = tensor.to(torch.int32)
            if not torch.equal(small.long(), tensor):
                raise Unsupported("a constant of int64 whose values need more than 32 bits; use smaller numbers")
            tensor = small
        # The model takes a copy: what is edited later is found by `check_weights`, and never half of a plan's constants.
        kept = tensor.float() if dtype == "bool" else tensor.detach().contiguous().resolve_neg()
        self.model.constant(name, kept)
        made = Value(name, tuple(tensor.shape))
        if dtype == "bool":
            # A model's constants are f32 or s32, a mask is what a comparison gives.
            made = self.op("ne_scalar", x=made, other=0.0)
        return Value(made.name, tuple(tensor.shape), kept, dtype)

    def _unique(self, name: str) -> str:
        found, count = name, 1
        while found in self._names:
            count += 1
            found = f"{name}/{count}"
        self._names.add(found)
        return found

    def _check_dtypes(self, node: fx.Node) -> None:
        """Refuses masks and indices as operands of a call that computes, and integers of 8 bits."""
        if self.name in _MOVE or is_quantized(self.name):
            return
        for argument, value in arguments(node):
            for x in value if isinstance(value, (list, tuple)) else [value]:
                tensor = x.meta.get("val") if isinstance(x, fx.Node) else None
                if isinstance(x, fx.Node) and x not in self.program.constants and is_byte(x):
                    raise Unsupported(f"argument `{argument.name}`: got quantised numbers, but plans compute with what `dequantize` makes of them")
                if self.name in _TAKE_ANY:
                    continue
                if isinstance(tensor, torch.Tensor) and tensor.dtype != torch.float32:
                    text = f"argument `{argument.name}`: got a tensor of {tensor.dtype}, but plans compute in f32"
                    raise Unsupported(f"{text}; {ONLY_RESULTS if self._is_index(x) else 'convert it with `.float()`'}")

    def _is_index(self, node: Any) -> bool:
        """Whether a run computes these indices: constants can be converted."""
        return node not in self.program.constants and node.meta["val"].dtype == torch.int64

    def _typed(self, node: fx.Node, made: Any) -> Any:
        """The results with PyTorch's dtypes."""
        like = node.meta.get("val")
        if isinstance(made, list):
            assert isinstance(like, (list, tuple))
            return [self._typed_one(x, value) for x, value in zip(made, like, strict=True)]
        return self._typed_one(made, like)

    def _typed_one(self, made: Any, like: Any) -> Any:
        if not isinstance(made, Value) or not isinstance(like, torch.Tensor):
            return made
        if _dtype(like) != made.dtype:
            assert self._node is not None
            is_index = any(map(self._is_index, self._node.all_input_nodes))
            is_asked = any(isinstance(x, torch.dtype) for x in (*self._node.args, *self._node.kwargs.values()))
            way = "leave `dtype` out" if is_asked else "convert its operands with `.float()`"
            remedy = ONLY_RESULTS if is_index else f"plans compute in f32, {way}"
            raise Unsupported(f"its result is of {like.dtype}; {remedy}")
        return dataclasses.replace(made, shape=tuple(like.shape))


def _dtype(tensor: torch.Tensor) -> str:
    return {torch.float32: "f32", torch.bool: "bool", torch.int64: "int64"}.get(tensor.dtype, str(tensor.dtype))


#: Calls whose operands of integers are indices.
_TAKE_INDICES = set("embedding gather index index_select index_add index_fill take take_along_dim scatter one_hot".split())


def _foreign(program: Program, node: fx.Node, call: str) -> str:
    """Why a plan does not take an input of a call, and what to pass."""
    if DRAWN.match(node.name):
        return "a number of Python's `random`, which each run draws; draw it outside of what is compiled, and pass it in a f32 tensor"
    dtype, (what, name) = node.meta["val"].dtype, told_input(node.name)
    text = f"{what} is {dtype}, and inputs of a plan are f32"
    if dtype.is_floating_point:
        for weight, target in program.state.items():
            x = program.constants[weight]
            if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype != torch.float32:
                return f"{text}; `{target}` is {x.dtype} too: convert the model (`model.float()`) and its inputs (`x.float()`)"
    leave = f"`{program.partial}`: PyTorch then runs the calls that take indices"
    if call in _TAKE_INDICES:
        return f"{text}; pass {leave}"
    text += f"; pass `{name}.float()`"
    if dtype == torch.bool:
        return f"{text}, and write `{name} != 0` where the model takes the mask"
    is_index = not dtype.is_floating_point and not dtype.is_complex
    return f"{text}, or, where these are indices, {leave}" if is_index else text


def _draw(name: str) -> str:
    if "dropout" in name or name in ("rrelu", "scaled_dot_product_attention"):
        return "call `model.eval()`, or pass `training=False` or `dropout_p=0.0`"
    return "draw them outside, and pass them as an input"


def _without_op(node: fx.Node, name: str) -> str:
    if name in _REASONS or name in WITHOUT_OP:
        return _REASONS.get(name) or WITHOUT_OP[name]
    if name in _SYMBOLIC or not isinstance(node.target, torch._ops.OpOverload):
        return "its result depends on data in more than its elements; plans have fixed sizes and no checks"
    return "no op of blocktensor is for it"


def bind(function: Callable[..., Any], node: fx.Node) -> tuple[list[Any], dict[str, Any]]:
    """The call's arguments as a function of the table takes them: in the order of the schema of aten's op.

    An argument that the function does not have may only be passed with its default.
    """
    if node.target is operator.getitem:
        return list(node.args), {}
    parameters = list(inspect.signature(function, follow_wrapped=True).parameters.values())[1:]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    options = any(p.kind is p.VAR_KEYWORD for p in parameters)
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and not p.name.startswith("_")]
    named = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    schema = list(node.target._schema.arguments) if hasattr(node.target, "_schema") else []  # type: ignore[union-attr]
    for argument, value in arguments(node):
        place = schema.index(argument)
        if not argument.kwarg_only and (place < len(positional) or rest):
            args += [skipped.default_value for skipped in schema[len(args) : place]]
            args.append(value)
        elif argument.name in named or options:
            kwargs[argument.name] = value
        elif not argument.has_default_value() or argument.default_value != value:
            raise Unsupported(f"argument `{argument.name}`: got {_shown(value)}, which no op of blocktensor takes; leave it out")
    for p in positional[len(args) :]:
        if p.default is p.empty and p.name not in kwargs:
            raise Unsupported(f"a call without `{p.name}`; pass it")
    return args, kwargs


def _shown(value: Any) -> str:
    return "a tensor" if isinstance(value, fx.Node) else first_line(repr(value))
