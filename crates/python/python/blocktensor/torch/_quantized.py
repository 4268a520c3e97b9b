"""Quantised models: the calls of `torch.ops.quantized_decomposed` that PT2E (`torchao.quantization.pt2e`) leaves in an exported graph.

Each is a node of the model, as `QuantizeLinear` and `DequantizeLinear` of an ONNX file are; passes make convolutions of integers between them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ._promises import arguments, op_name
from ._values import WITHOUT_OP, Builder, Unsupported, Value, aten

#: The namespace of these calls.
QUANTIZED = "quantized_decomposed"
_SPACE = f"{QUANTIZED}::"

#: The integers of 8 bits by PyTorch's names of their dtypes: their names here, and their ranges.
BYTES = {str(torch.uint8): ("u8", 0, 255), str(torch.int8): ("s8", -128, 127)}

#: Calls that take their scale, zero point and range as numbers, or as tensors of one element.
_OF_NUMBERS = {f"{_SPACE}quantize_per_tensor", f"{_SPACE}dequantize_per_tensor"}
_DEQUANTIZE = {f"{_SPACE}dequantize_per_tensor", f"{_SPACE}dequantize_per_channel"}

#: Calls that only order the axes of their one operand, and which a graph has between weights and what reads them.
_ORDERS = set("t transpose permute squeeze unsqueeze alias detach".split())

_DYNAMIC = "scales that each run computes (dynamic quantisation); quantise with calibrated ones: `is_dynamic=False` in the quantizer's configuration"
_IN_TRAINING = "rounds as in quantisation-aware training; make the quantised model of it first: `convert_pt2e(model)`"
_OLD = (
    "it makes or reads tensors of PyTorch's own quantised dtypes (`torch.quint8`), which plans have none of; leave it out, and quantise the "
    "model with `torchao.quantization.pt2e`"
)

#: Why a model's result is not one of a plan.
RESULT_OF_BYTES = "its result, which the model returns, is quantised, and results of plans are f32; return what `dequantize` makes of it"

_TOKENS = "scales for each token; quantise per tensor"
_GROUPS = "scales for groups of an axis; quantise per tensor or per channel"

for _reason, _space, _names in (
    (_DYNAMIC, _SPACE, "choose_qparams choose_qparams_symmetric"),
    (_TOKENS, _SPACE, "choose_qparams_per_token choose_qparams_per_token_asymmetric quantize_per_token dequantize_per_token"),
    (_GROUPS, _SPACE, "quantize_per_channel_group dequantize_per_channel_group"),
    (_IN_TRAINING, _SPACE, "fake_quant_per_channel"),
    (_IN_TRAINING, "", "fake_quantize_per_tensor_affine fake_quantize_per_channel_affine fused_moving_avg_obs_fake_quant"),
    (_OLD, "", "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize int_repr"),
):
    WITHOUT_OP |= {f"{_space}{name}": _reason for name in _names.split()}


#: Modules of PyTorch's own quantised dtypes. Those that are decomposed call what PT2E calls.
_KERNELS = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized", "torch.ao.nn.sparse.quantized")
#: Modules that look for scales, or round in training, by the classes they are made of.
_CALIBRATE = {"ObserverBase", "FakeQuantizeBase"}


#: What to do about a model that was quantised in another way.
QUANTIZE_ANEW = "pass the model as it was before it was quantised, or quantise that with `torchao.quantization.pt2e`"


def is_scripted_of_kernels(module: torch.jit.ScriptModule) -> bool:
    """Whether TorchScript has calls of quantised kernels: the module that it was made of is quantised too."""
    graph = str(getattr(module, "inlined_graph", ""))
    return "quantized::" in graph or "aten::quantize_per_tensor" in graph


def refused_part(module: torch.nn.Module, tensors: Sequence[torch.Tensor]) -> tuple[str, str] | None:
    """Why plans do not compute a module that is quantised in another way, and the remedy."""
    kind = type(module)
    is_kernel = kind.__module__.startswith(_KERNELS) and not getattr(module, "is_decomposed", False)
    if is_kernel or any(x.is_quantized for x in tensors):
        return f"is quantised ({kind.__name__}) for kernels of PyTorch (`torch.ao.nn.quantized`), which plans do not call", QUANTIZE_ANEW
    if _CALIBRATE & {base.__name__ for base in kind.__mro__}:
        return f"looks for scales ({kind.__name__}): the model is prepared, and not yet quantised", "pass what `convert_pt2e` makes of it"
    for x in tensors:
        if x.is_mkldnn:
            return "has a weight that PyTorch packed for oneDNN, whose elements plans cannot read", "pass the model as it was before (what `convert_pt2e` returned)"
        if is_traceable_wrapper_subclass(x):
            return f"has a weight of the class `{type(x).__name__}`, whose elements plans cannot read", QUANTIZE_ANEW
    return None


def in_numbers(name: str, args: Sequence[Any], constants: dict[fx.Node, Any]) -> list[Any]:
    """The arguments of a call. Constant tensors that it takes in place of numbers are numbers."""
    if name not in _OF_NUMBERS:
        return list(args)
    return [args[0], *(constants[x].item() if isinstance(x, fx.Node) and x in constants else x for x in args[1:])]


def is_quantized(name: str) -> bool:
    """Whether the call quantises or dequantises: it takes integers of 8 bits, and zero points of any width."""
    return name.startswith(_SPACE)


def is_dequantize(name: str) -> bool:
    return name in _DEQUANTIZE


class Integers(NamedTuple):
    """Constant integers of 8 bits that a graph dequantises. A scale or a zero point of one element is for all of them."""

    integers: torch.Tensor
    scale: torch.Tensor
    zero_point: torch.Tensor
    axis: int


def integers_of(node: fx.Node, constants: dict[fx.Node, Any]) -> Integers | None:
    """What the constant numbers that a call gives stand for, if they are dequantised: weights of a plan stay integers."""
    calls: list[fx.Node] = []
    while node.op == "call_function" and op_name(node) in _ORDERS and node.args and isinstance(node.args[0], fx.Node):
        calls.insert(0, node)
        node = node.args[0]
    if node.op != "call_function" or not is_dequantize(op_name(node)):
        return None
    given: dict[str, Any] = {argument.name: constants.get(x) if isinstance(x, fx.Node) else x for argument, x in arguments(node)}
    x = given["input"]
    if not isinstance(x, torch.Tensor) or str(x.dtype) not in BYTES:
        return None
    is_of_channels = "scales" in given
    scale, zero_point = (given["scales"], given["zero_points"]) if is_of_channels else (given["scale"], given["zero_point"])
    # PyTorch subtracts zero points of 8 bits in 8 bits, where the difference may not fit.
    if isinstance(zero_point, torch.Tensor) and zero_point.dtype not in (torch.int32, torch.int64):
        return None
    axis: int = given["axis"] % x.ndim if is_of_channels else 1
    scale = torch.as_tensor(scale, dtype=torch.float32).reshape(-1)
    zero_point = torch.as_tensor(0 if zero_point is None else zero_point, dtype=torch.int64).reshape(-1)
    if calls:
        # It differs along the axis alone.
        marks = torch.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)]).expand(x.shape)
        for call in calls:
            function: Any = call.target
            x, marks = (function(one, *call.args[1:], **call.kwargs) for one in (x, marks))
        axis = next((i for i, stride in enumerate(marks.stride()) if stride and marks.shape[i] > 1), 0)
    return Integers(x, scale, zero_point, axis)


def is_byte(node: fx.Node) -> bool:
    """Whether the result is of integers of 8 bits."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and str(value.dtype) in BYTES


def _one(x: Any, dtype: torch.dtype, b: Builder) -> Any:
    """A number, or a tensor of one element, as a vector."""
    return b.op("view", x=x, dims=[1]) if isinstance(x, Value) else torch.tensor([x], dtype=dtype)


def _byte_of(dtype: torch.dtype) -> tuple[str, int, int]:
    if str(dtype) not in BYTES:
        raise Unsupported(f"argument `dtype`: got {dtype}, but quantised numbers of plans have 8 bits; quantise to `torch.uint8` or `torch.int8`")
    return BYTES[str(dtype)]


@aten(f"{_SPACE}quantize_per_tensor")
def quantize_per_tensor(
    b: Builder, input: Value, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: torch.dtype
) -> Value:
    name, least, largest = _byte_of(dtype)
    if (quant_min, quant_max) != (least, largest):
        if any(isinstance(x, Value) for x in (scale, zero_point, quant_min, quant_max)):
            raise Unsupported(_narrow(quant_min, quant_max, least, largest, "a scale that a run computes"))
        # Rounding keeps order, and these numbers are the bounds themselves.
        low = -torch.inf if quant_min == least else (quant_min - zero_point) * scale
        high = torch.inf if quant_max == largest else (quant_max - zero_point) * scale
        input = b.op("clamp", x=input, min=low, max=high)
    scale, zero_point = _one(scale, torch.float32, b), _one(zero_point, torch.int64, b)
    return b.op("quantize", x=input, scale=scale, zero_point=zero_point, axis=1, dtype=name)


@aten(f"{_SPACE}quantize_per_channel")
def quantize_per_channel(
    b: Builder, input: Value, scales: Value, zero_points: Value, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> Value:
    name, least, largest = _byte_of(dtype)
    if (quant_min, quant_max) != (least, largest):
        raise Unsupported(_narrow(quant_min, quant_max, least, largest, "a scale for each channel"))
    return b.op("quantize", x=input, scale=scales, zero_point=zero_points, axis=axis % len(input.shape), dtype=name)


def _narrow(low: Any, high: Any, least: int, largest: int, scale: str) -> str:
    text = f"arguments `quant_min`, `quant_max`: got {low} and {high} beside {scale}, but plans then use the whole range"
    return f"{text}; quantise to {least} to {largest}, or per tensor with a fixed scale"


@aten(f"{_SPACE}dequantize_per_tensor")
def dequantize_per_tensor(
    b: Builder,
    input: Value,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Value:
    """PyTorch reads neither the range nor the dtype of the operand here."""
    scale, zero_point = _one(scale, torch.float32, b), _one(zero_point, torch.int64, b)
    return b.op("dequantize", x=input, scale=scale, zero_point=zero_point, axis=1)


@aten(f"{_SPACE}dequantize_per_channel")
def dequantize_per_channel(
    b: Builder,
    input: Value,
    scales: Value,
    zero_points: Value | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Value:
    found = torch.zeros(scales.shape, dtype=torch.int64) if zero_points is None else zero_points
    return b.op("dequantize", x=input, scale=scales, zero_point=found, axis=axis % len(input.shape))
