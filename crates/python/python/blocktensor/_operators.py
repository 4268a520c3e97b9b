"""Python's operators, numpy's functions and PyTorch's methods on tensors: errors that name this package's calls."""

import sys
from collections.abc import Callable
from numbers import Number
from typing import Any

from . import ops
from ._compare import COMPARISONS
from ._errors import UnsupportedOp
from ._native import Tensor

#: Operators of two operands: how Python writes them, the op for them, and numpy's function.
_BINARY = {
    "add": ("+", "add", "add"),
    "sub": ("-", "sub", "subtract"),
    "mul": ("*", "mul", "multiply"),
    "truediv": ("/", "div", "divide"),
    "pow": ("**", "pow", "power"),
    "matmul": ("@", "matmul", "matmul"),
    "floordiv": ("//", None, "floor_divide"),
    "mod": ("%", None, "remainder"),
    "divmod": ("divmod", None, "divmod"),
    "and": ("&", None, "bitwise_and"),
    "or": ("|", None, "bitwise_or"),
    "xor": ("^", None, "bitwise_xor"),
    "lshift": ("<<", None, "left_shift"),
    "rshift": (">>", None, "right_shift"),
}
_UNARY = {
    "neg": ("-", "neg"),
    "abs": ("abs", "abs"),
    "pos": ("+", None),
    "invert": ("~", None),
}
#: numpy's functions that are comparisons, and those with the operands exchanged.
_COMPARED = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_EXCHANGED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NUMPYS = {numpys: name for name, (_, _, numpys) in _BINARY.items()}


class UnsupportedOperator(UnsupportedOp, TypeError):
    """An operator or a function of numpy that tensors do not have."""


class UnsupportedAttribute(UnsupportedOp, AttributeError):
    """An attribute of a tensor of another package that this one's have not."""


def _array_of(x: Any) -> str:
    """How its user makes an array of a tensor; a value on a tape leaves it by its tensor."""
    return "`x.tensor.to_strided().numpy()`" if hasattr(type(x), "tensor") else "`x.to_strided().numpy()`"


def _no_op(x: Any) -> str:
    return f"no op is for it: compute it with numpy on {_array_of(x)}, and come back with `blocktensor.from_dlpack(y)`"


def _kind(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"{list(x.shape)} {x.dtype} {x.layout}"
    return repr(x)[:60] if isinstance(x, Number) else f"{type(x).__module__}.{type(x).__qualname__}"


def _refused(op: str, operands: list[Any], rule: str, remedy: str) -> Exception:
    got = " and ".join(map(_kind, operands))
    names = "arguments `left` and `right`" if len(operands) == 2 else "argument `x`"
    error = UnsupportedOperator(f"op `{op}`: {names}: got {got}, but {rule}; {remedy}")
    error.op, error.operands, error.remedy = op, [_kind(x) for x in operands], remedy
    return error


def _with_number(op: str, left: Any, right: Any) -> str:
    """The call for a tensor and a number."""
    is_left = isinstance(left, Number)
    number: Any = left if is_left else right
    # A number of numpy is written as Python's.
    text = repr(number.item() if hasattr(number, "item") else number)
    if not is_left or op in ("add", "mul"):
        return f"call `blocktensor.ops.{op}_scalar({'right' if is_left else 'left'}, other={text})`"
    if op in ("sub", "div"):
        turned, then = {"sub": ("neg", "add"), "div": ("reciprocal", "mul")}[op]
        return f"call `blocktensor.ops.{then}_scalar(blocktensor.ops.{turned}(right), other={text})`"
    return f"call `blocktensor.ops.{op}(blocktensor.from_dlpack(numpy.float32([{text}])), right)`"


def _no_operator(name: str, left: Any, right: Any) -> Exception:
    sign, op, _ = _BINARY[name]
    rule = "tensors have no operators but comparisons: ops are functions of `blocktensor.ops`"
    if op is None:
        remedy = _no_op(left if isinstance(left, Tensor) else right)
    elif op != "matmul" and (isinstance(left, Number) or isinstance(right, Number)):
        remedy = _with_number(op, left, right)
    else:
        remedy = f"call `blocktensor.ops.{op}(left, right)`; `blocktensor.from_dlpack(x)` makes a tensor of an array"
    return _refused(sign, [left, right], rule, remedy)


def _is_operand(x: Any) -> bool:
    return isinstance(x, (Tensor, Number, memoryview)) or hasattr(x, "__dlpack__") or hasattr(x, "__array__")


def _forward(name: str) -> Callable[[Tensor, Any], Any]:
    def operator(self: Tensor, other: Any) -> Any:
        # The other operand's own answer comes first, as in Python: an eager tensor computes it.
        reflected = getattr(type(other), f"__r{name}__", None)
        if reflected is not None and not isinstance(other, Tensor):
            made = reflected(other, self)
            if made is not NotImplemented:
                return made
        if _is_operand(other):
            raise _no_operator(name, self, other)
        return NotImplemented

    operator.__name__ = f"__{name}__"
    return operator


def _reflected(name: str) -> Callable[[Tensor, Any], Any]:
    def operator(self: Tensor, other: Any) -> Any:
        if _is_operand(other):
            raise _no_operator(name, other, self)
        return NotImplemented

    operator.__name__ = f"__r{name}__"
    return operator


def _unary(name: str) -> Callable[[Tensor], Any]:
    sign, op = _UNARY[name]

    def operator(self: Tensor) -> Any:
        rule = "tensors have no operators but comparisons: ops are functions of `blocktensor.ops`"
        remedy = f"call `blocktensor.ops.{op}(x)`" if op is not None else "leave it out" if name == "pos" else _no_op(self)
        raise _refused(sign, [self], rule, remedy)

    operator.__name__ = f"__{name}__"
    return operator


def _number(x: Any) -> Any:
    """numpy passes its numbers as arrays without axes."""
    return x.item() if not isinstance(x, Tensor) and getattr(x, "shape", None) == () else x


def _function_of_numpy(self: Tensor, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What numpy does where one of the operands is a tensor: its operators arrive here, too."""
    name = function.__name__
    if method == "__call__" and len(inputs) == 2:
        left, right = map(_number, inputs)
        compared = _COMPARED.get(name)
        if compared is not None and not options:
            if not isinstance(left, Tensor):
                left, right, compared = right, left, _EXCHANGED.get(compared, compared)
            return COMPARISONS[compared](left, right)
        if name in _NUMPYS:
            raise _no_operator(_NUMPYS[name], left, right)
    known = name in ops.__all__ and method == "__call__"
    remedy = f"pass {_array_of(self)}" + (f", or call `blocktensor.ops.{name}`" if known else "")
    called = name if method == "__call__" else f"{name}.{method}"
    raise _refused(f"numpy.{called}", [self], "functions of numpy take arrays", remedy)


def _attribute(self: Tensor, name: str) -> Any:
    """What is asked of a tensor that it has not: ops are no methods, and what PyTorch has is the eager tensor's."""
    plain, remedies = name.rstrip("_"), []
    if not name.startswith("_"):
        eager = sys.modules.get("blocktensor.torch")
        if eager is not None and hasattr(sys.modules["torch"].Tensor, name):
            remedies.append(f"for a `blocktensor.torch.EagerTensor` `y` write `y.{name}` in place of `y.held.{name}`")
        if plain in ops.__all__:
            remedies.append(f"call `blocktensor.ops.{plain}(x, ...)`")
    if not remedies:
        raise AttributeError(f"a blocktensor.Tensor has no attribute `{name}`", name=name, obj=self)
    remedy = ", or ".join(reversed(remedies))
    error = UnsupportedAttribute(f"attribute `{name}`: a blocktensor.Tensor has none; {remedy}")
    error.op, error.operands, error.remedy = plain, [_kind(self)], remedy
    raise error


def install() -> None:
    """Gives tensors the operators and methods of other packages, all of which are errors."""
    setattr(Tensor, "__getattr__", _attribute)
    for name in _BINARY:
        setattr(Tensor, f"__{name}__", _forward(name))
        setattr(Tensor, f"__r{name}__", _reflected(name))
    for name in _UNARY:
        setattr(Tensor, f"__{name}__", _unary(name))
    setattr(Tensor, "__array_ufunc__", _function_of_numpy)
