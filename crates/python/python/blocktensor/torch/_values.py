"""What the table of aten ops is written against: values, a builder that adds ops, and the table itself."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from .._native import Tensor
from ._told import in_pytorch


class Unsupported(Exception):
    """A call that no op of blocktensor is for. The text says why, and what to do where that is not the usual."""

    def __init__(self, reason: str, remedy: str | None = None) -> None:
        super().__init__(reason if remedy is None else f"{reason}; {remedy}")
        self.reason, self.remedy = reason, remedy


@dataclass(frozen=True)
class Value:
    """A tensor of the model that is built."""

    name: str
    shape: tuple[int, ...]
    #: What an eager builder computes with; of a plan's constant its elements.
    tensor: Any = None
    #: PyTorch's dtype: `f32`, or `bool` for a mask (u8 here), or `int64` for indices (s32 here).
    dtype: str = "f32"


class Builder(Protocol):
    """Adds ops to a model, or runs them at once."""

    #: The name of the call, without the mark of calls in place: `relu`.
    name: str

    def op(self, op: str, **arguments: Any) -> Value: ...
    def ops(self, op: str, results: int, **arguments: Any) -> list[Value]: ...
    def result_shape(self) -> list[int]: ...
    def result_shapes(self) -> list[Sequence[int]]: ...
    def result_dtype(self) -> str: ...


#: From the name of an aten op to a function that takes the builder, then the call's arguments.
TABLE: dict[str, Callable[..., Any]] = {}


#: Aten ops that no op is for, and what the caller wrote: its own name does not say it.
WITHOUT_OP: dict[str, str] = {
    **dict.fromkeys(("im2col", "col2im"), "no op of blocktensor is for `unfold` and `fold`"),
    **dict.fromkeys(
        ("upsample_bicubic2d", "_upsample_bicubic2d_aa"),
        "no op of blocktensor is for `mode='bicubic'`, and `mode='bilinear'` gives other numbers",
    ),
    "_upsample_bilinear2d_aa": "no op of blocktensor is for `antialias=True`",
    **dict.fromkeys(
        ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
        "no op of blocktensor is for `mode='nearest-exact'`; `mode='nearest'` is the same where sizes grow by whole factors",
    ),
    **dict.fromkeys(
        ("_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_mask"),
        "`nn.TransformerEncoder` makes a nested tensor of a padding mask, which this package has none of; with `encoder.use_nested_tensor "
        "= False` it computes without one, and gives numbers at the padding where it gave zeros",
    ),
}


#: Why a batch norm in training mode, or one without running statistics, has no op of inference.
OF_THE_BATCH = (
    "a batch norm of the batch's own statistics, and norms for inference have kept ones; call `model.eval()`, and in place of a norm with "
    "`track_running_stats=False` put one that keeps them (the default), and run `model.train()` over data once"
)


#: Calls that no op is for, and what computes the same, of an eager tensor and in the forward of a trained module.
WRITTEN_AS = {
    "one_hot": f"pass indices of PyTorch: `F.one_hot({in_pytorch('x')}.long(), classes)`",
    "nanmean": "write `torch.where(x == x, x, 0.0).sum() / (x == x).float().sum()`, with the axes of the mean in both sums",
    "nansum": "write `torch.where(x == x, x, 0.0).sum()`, with the axes of the sum, and of a blocked tensor with `keepdim=True`",
}


def adds_to(table: dict[str, Callable[..., Any]]) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """What adds a function to a table, under names of aten."""

    def under(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            table.update(dict.fromkeys(names, function))
            return function

        return add

    return under


aten = adds_to(TABLE)


#: The floats by their names here.
_FLOATS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
_LARGEST = {"int64": (-(2**31), 2**31 - 1), "s8": (-128, 127), "torch.int8": (-128, 127), "torch.uint8": (0, 255)}


#: `torch.where` of a mask and two integers, which is of int64.
CHOOSES_INTEGERS = "a result of integers; pass numbers as floats (`1.0` and `0.0` for 1 and 0), whose result is f32"
#: What a plan does with indices.
ONLY_RESULTS = "indices are results of a plan, or choose elements (`gather`), and are no operands: compute with them outside of the model"


def held(x: Value, number: float) -> float:
    """A number as an element of the tensor: true or false in a mask, whole in a tensor of integers. PyTorch refuses what does not fit."""
    if x.dtype == "bool":
        # Only a plan knows that its u8 is a mask.
        if isinstance(x.tensor, Tensor) and number not in (0, 1):
            reason = f"the number {number} in u8, which may be a mask: those hold 0 and 1"
            raise Unsupported(reason, "pass True or False, or call it on `x.float()`")
        return float(bool(number))
    if x.dtype in _FLOATS:
        if math.isfinite(number) and abs(number) > torch.finfo(_FLOATS[x.dtype]).max:
            raise Unsupported(f"the number {number}, which {x.dtype} cannot hold", "pass a smaller one, or `math.inf`")
        return float(number)
    low, high = _LARGEST[x.dtype]
    if not math.isfinite(number) or not low <= int(number) <= high:
        reason = f"the number {number} in a tensor of integers, which are from {low} to {high} here"
        raise Unsupported(reason, "pass one of them, or call it on `x.float()`" if isinstance(x.tensor, Tensor) else "pass one of them")
    return float(int(number))


def pair(x: int | Sequence[int], n: int) -> list[int]:
    values = [x] if isinstance(x, int) else list(x)
    return values * n if len(values) == 1 else values


def is_per_channel(shape: Sequence[int], of: Sequence[int]) -> bool:
    """Whether a tensor has one value for each channel of another: [C, 1, 1] or [1, C, 1, 1]."""
    return tuple(shape) in ((of[1], *[1] * (len(of) - 2)), (1, of[1], *[1] * (len(of) - 2)))
