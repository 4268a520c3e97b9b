"""What the table of aten ops is written against: values, a builder that adds ops, and the table itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Unsupported(Exception):
    """A call that no op of blocktensor is for. The text says why."""


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
        "no op of blocktensor is for `mode='bicubic'`; the nearest is `mode='bilinear'`",
    ),
    "_upsample_bilinear2d_aa": "no op of blocktensor is for `antialias=True`",
    **dict.fromkeys(
        ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
        "no op of blocktensor is for `mode='nearest-exact'`; the nearest is `mode='nearest'`",
    ),
}


def aten(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function to the table, under these names of aten."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE[name] = function
        return function

    return add


def pair(x: int | Sequence[int], n: int) -> list[int]:
    values = [x] if isinstance(x, int) else list(x)
    return values * n if len(values) == 1 else values
