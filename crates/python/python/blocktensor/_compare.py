"""Comparisons of tensors, element-wise, with masks of u8; and the number of a tensor with one element."""

from collections.abc import Callable
from numbers import Number, Real
from typing import Any

from ._errors import InvalidArgument
from ._native import Tensor, call


def as_real(op: str, x: Number) -> float:
    """A number as the kernels take it. Others are an error: Python's own answer to `x == 3j` would be False."""
    text, remedy = repr(x), "pass `float(other)` of its real part"
    if isinstance(x, Real):
        try:
            return float(x)
        except OverflowError:
            text, remedy = "an integer beyond the range of floats", "pass a smaller one, or `math.inf`"
    error = InvalidArgument(f"op `{op}`: argument `other`: got {text}, but a number beside a tensor is an int or a float; {remedy}")
    error.op, error.operands, error.remedy = op, ["other"], remedy
    raise error


def _comparison(op: str) -> Callable[[Tensor, Any], Any]:
    def compare(self: Tensor, other: Any) -> Any:
        if isinstance(other, Number):
            return call(f"{op}_scalar", None, self, as_real(op, other))
        if isinstance(other, Tensor) or hasattr(other, "__dlpack__"):
            return call(op, None, self, other)
        # Python compares objects: `x == None` is False.
        return NotImplemented

    compare.__name__ = f"__{op}__"
    return compare


#: The comparisons, by their names in Python.
COMPARISONS = {op: _comparison(op) for op in ("eq", "ne", "lt", "le", "gt", "ge")}


def _truth(self: Tensor) -> bool:
    """The truth of the only element: that of a comparison of many is ambiguous."""
    if self.size != 1:
        remedy = "reduce it to one element first (`bt.ops.amin`, `bt.ops.amax` of `.to_dtype('f32')`), or call `.numpy()`"
        rule = "only a tensor of one element is true or false"
        error = InvalidArgument(f"op `bool`: argument `self`: got {self.size} elements, but {rule}; {remedy}")
        error.op, error.operands, error.remedy = "bool", ["self"], remedy
        raise error
    return bool(self.item())


def _float(self: Tensor) -> float:
    return float(self.item())


def _int(self: Tensor) -> int:
    return int(self.item())


def install() -> None:
    """Gives tensors their comparisons, and numbers to those of one element. They stay keys of sets and dicts, as objects."""
    for op, compare in COMPARISONS.items():
        setattr(Tensor, f"__{op}__", compare)
    setattr(Tensor, "__bool__", _truth)
    # Python would read the elements' bytes as text.
    setattr(Tensor, "__float__", _float)
    setattr(Tensor, "__int__", _int)
    setattr(Tensor, "__hash__", object.__hash__)
