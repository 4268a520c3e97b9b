"""Dtypes of a call's operands: what PyTorch promotes, which are masks, and products that no op has in their dtype."""

import functools
from typing import Any

import torch

from .. import _native
from .._errors import InvalidArgument, UnsupportedDType
from .._native import Var
from ._compose import masks
from ._export import error
from ._handles import COMPARISONS, DTYPES, described, value_of
from ._values import CHOOSES_INTEGERS, Unsupported, Value

#: Ops that choose by a mask: its place among the arguments.
CONDITIONS = {"where": 0, "masked_fill": 1}

#: Products of tensors that PyTorch takes apart into others. The table's own are told by their ops.
PRODUCTS = set("addr chain_matmul ger inner kron linalg_matmul linalg_matrix_power linalg_multi_dot matrix_power outer tensordot vdot".split())

_RANGES = {name: (torch.iinfo(dtype).min, torch.iinfo(dtype).max) for name, dtype in DTYPES.items() if name in ("u8", "s8", "s32")}


def is_numpy_bool(x: Any) -> bool:
    """Whether it is a Boolean of numpy, which is no number of Python as its other scalars are."""
    return type(x).__module__ == "numpy" and type(x).__name__ in ("bool", "bool_")


def check_product(operands: list[Any], remedy: str) -> None:
    """Refuses bytes. Ops make exact sums of 32 bits of them; PyTorch's products keep the operands' type, and wrap around."""
    dtypes = list(dict.fromkeys(x.dtype for x in operands))
    if dtypes and all(dtype in ("u8", "s8") for dtype in dtypes):
        raise Unsupported(f"a product of {' and '.join(dtypes)}, which PyTorch has in the type of its operands", remedy)


def check_masks(values: list[Any]) -> None:
    for x in values:
        if isinstance(x, Value) and x.dtype == "bool" and x.tensor.size:
            if _native.call("amax", None, x.tensor.to_dtype("f32"), None, True).to_strided().numpy().max() > 1:
                raise Unsupported("a u8 tensor of other numbers than zeros and ones, which is no mask", "call it on `x.float()`")


def check_choice(name: str, values: list[Any]) -> None:
    """Conditions are masks, and the result is f32: PyTorch refuses the first, and has integers where the second is not."""
    mask = values[CONDITIONS[name]]
    if mask.dtype != "bool":
        text = f"op `{name}` of PyTorch: its condition is a mask, but got {described(mask.tensor)}"
        raise error(UnsupportedDType, text, "pass `x != 0`", op=name)
    if name == "where" and len(values) == 3 and any(isinstance(x, (bool, int)) for x in values[1:]):
        if not masks(*values[1:]) and not any(isinstance(x, float) or (isinstance(x, Value) and x.dtype == "f32") for x in values[1:]):
            raise Unsupported(CHOOSES_INTEGERS)


def promoted(name: str, values: list[Any]) -> list[Any]:
    """Numbers for tensors without axes beside others; f32 for masks beside f32."""
    if isinstance(values[0], Value) and values[0].shape:
        values = [x.tensor.item() if isinstance(x, Value) and not x.shape and _is_number(x.tensor) else x for x in values]
    if name in COMPARISONS:
        dtype = next((x.tensor.dtype for x in values if isinstance(x, Value)), "")
        for x in values:
            check_range(name, dtype, x)
    return beside_f32(values, any_of=name in COMPARISONS)


def check_range(name: str, dtype: str, number: Any) -> None:
    """Refuses a comparison of integers with a whole number that their dtype does not have: PyTorch takes it modulo their range."""
    if type(number) is not int or dtype not in _RANGES:
        return
    low, high = _RANGES[dtype]
    if not low <= number <= high:
        text = f"op `{name}` of PyTorch: {dtype} holds {low} to {high}, but is compared with {number}"
        raise error(InvalidArgument, text, f"compare with `{float(number)}`", op=name)


def _is_number(x: Any) -> bool:
    """Whether a tensor without axes may stand for its number: it has no gradient."""
    return x.key == "strided" and not isinstance(x, Var)


def beside_f32(values: list[Any], any_of: bool = False) -> list[Any]:
    """Masks and integers as f32 where one of the operands is f32; masks, with `any_of`, in any case."""
    dtypes = {x.tensor.dtype for x in values if isinstance(x, Value)}
    if ("f32" in dtypes and dtypes & {"u8", "s8", "s32"}) or (any_of and dtypes & {"u8", "s8"}):
        return [value_of(x.tensor.to_dtype("f32")) if isinstance(x, Value) else x for x in values]
    return values


def widened(values: list[Value]) -> list[Value]:
    """Tensors of one list in the dtype that holds them all, as in PyTorch."""
    dtypes = {x.tensor.dtype for x in values}
    if len(dtypes) < 2:
        return values
    wide = functools.reduce(torch.promote_types, (DTYPES[dtype] for dtype in dtypes))
    # PyTorch has 16 bits for u8 beside s8.
    name = next((name for name, dtype in DTYPES.items() if dtype == wide), "s32")
    return [value_of(x.tensor.to_dtype(name)) for x in values]
