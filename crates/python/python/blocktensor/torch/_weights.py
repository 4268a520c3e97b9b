"""Weights of convolutions: as a module has them, and packed for blocked tensors."""

import functools
import re
from dataclasses import dataclass
from typing import Any

import torch

from .. import _native

#: Modules whose `weight` is that of a convolution, and those that are transposed.
TRANSPOSED: Any = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)
CONVOLUTIONS: Any = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, *TRANSPOSED)

_SPATIAL = {1: "w", 2: "hw", 3: "dhw"}


@functools.cache
def native_block() -> int:
    """Channels of a block on this machine."""
    return block_of(_native.zeros([1, 1, 1, 1]).to_blocked().layout)


def block_of(layout: str) -> int:
    """Channels of a block: 16 of `nChw16c`."""
    found = re.search(r"\d+", layout)
    assert found is not None, layout
    return int(found[0])


def _call(op: str, *arguments: Any) -> Any:
    return _native.call(op, None, *arguments)


def detached(x: Any) -> Any:
    """The tensor alone, of a variable of a tape or a weight."""
    x = x.plain() if isinstance(x, Weight) else x
    return x.tensor if isinstance(x, _native.Var) else x


@dataclass(frozen=True)
class Packing:
    """How weights of a convolution are packed. A call on a variable of a tape is recorded, so the gradient comes back unpacked."""

    groups: int
    is_transposed: bool
    block: int

    def pack(self, t: Any) -> Any:
        """Blocked weights [O, C, k...], or [groups, O / groups, C / groups, k...]."""
        dims, axis = list(t.shape), 0
        if self.groups > 1:
            dims = [self.groups, dims[0] // self.groups, *dims[1:]]
            t, axis = _call("reshape", t, dims), 1
        if self.is_transposed:
            t = _call("transpose", t, axis, axis + 1)
        return t.to_blocked(self._layout(t.shape[axis:]))

    def _layout(self, dims: tuple[int, ...]) -> str:
        spatial, block = _SPATIAL[len(dims) - 2], self.block
        if self.groups == 1:
            return f"OI{spatial}{block}i{block}o"
        if dims[0] == dims[1] == 1:
            return f"Goi{spatial}{block}g"
        return f"gOI{spatial}{block}i{block}o"

    def unpack(self, t: Any) -> Any:
        """The inverse of `pack`: row-major weights as the module has them."""
        t, axis = t.to_strided(), min(self.groups - 1, 1)
        if self.is_transposed:
            t = _call("transpose", t, axis, axis + 1)
        if axis:
            dims = list(t.shape)
            t = _call("reshape", t, [dims[0] * dims[1], *dims[2:]])
        return t.contiguous()


class Weight:
    """Weights of a convolution in a forward. What was not given of both forms is made when it is first asked for.

    Beside that it is a tensor of the module's own sizes, as code of a module reads it.
    """

    dtype = "f32"

    def __init__(self, shape: tuple[int, ...], packing: Packing, *, plain: Any = None, packed: Any = None) -> None:
        self.shape, self.ndim, self.packing = shape, len(shape), packing
        self._plain, self._packed = plain, packed

    def packed(self, packing: Packing) -> Any:
        """What a blocked convolution takes."""
        if packing != self.packing:
            return packing.pack(self.plain())
        if self._packed is None:
            self._packed = packing.pack(self._plain)
        return self._packed

    def plain(self) -> Any:
        """Row-major weights as the module has them."""
        if self._plain is None:
            self._plain = self.packing.unpack(self._packed)
        return self._plain

    def read(self) -> Any:
        """The same without its gradient, also when the forward has ended: nothing is recorded."""
        return detached(self._plain) if self._plain is not None else self.packing.unpack(detached(self._packed))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain(), name)

    def __repr__(self) -> str:
        return f"{list(self.shape)} f32, weights of a convolution"
