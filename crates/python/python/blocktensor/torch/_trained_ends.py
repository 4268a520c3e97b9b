"""What a trained module takes and returns: tensors of PyTorch, by themselves or in containers that PyTorch knows."""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._subclasses.fake_tensor import FakeTensor

from .._errors import DTypeMismatch, Error, InvalidArgument, UnsupportedOp
from .._native import Tensor
from ._handles import Absent, Handle, described
from ._inputs import elsewhere, in_f32, is_dual
from ._recorded import RecordedTensor
from ._told import error, first_line

#: How deep, and in how many objects, values are searched for.
_DEPTH, _MOST = 5, 10_000

#: How PyTorch refuses to read elements that a tensor has not.
_NO_ELEMENTS = re.compile(r"meta tensor|meta device")

#: How PyTorch's parsers of arguments refuse what is no tensor.
_NO_TENSOR = re.compile(r"invalid combination of arguments|must be (a )?(Tensor|tuple of Tensors)|expected Tensor as element")


def check_input(x: Any) -> None:
    """Refuses what the tape cannot take. Integers and masks stay PyTorch's."""
    text = "op `train`: argument `input`: got"
    if isinstance(x, (Handle, Tensor)):
        what = f"{text} a tensor of this package ({described(x)}), but trained modules take those of PyTorch"
        remedy = "pass `x.to_strided().torch()`" if isinstance(x, Handle) else "pass `torch.from_dlpack(x.to_strided())`"
        raise error(InvalidArgument, what, remedy, op="train")
    if not isinstance(x, torch.Tensor):
        if hasattr(x, "__dlpack__"):
            what = f"{text} {type(x).__module__}.{type(x).__name__}, but trained modules take tensors of PyTorch"
            raise error(InvalidArgument, what, "pass `torch.from_dlpack(x)`", op="train")
        return
    if isinstance(x, FakeTensor) or is_functorch_wrapped_tensor(x):
        raise error(UnsupportedOp, f"{text} a stand-in of a trace or of `torch.func`", "call the module on tensors", op="train")
    found = elsewhere(x)
    if found is not None:
        raise error(InvalidArgument, f"{text} {found[0]}, but inputs are dense tensors on the CPU", found[1], op="train")
    if is_dual(x):
        raise error(UnsupportedOp, f"{text} a tensor with a tangent (`torch.autograd.forward_ad`)", "use the model itself", op="train")
    if (x.is_floating_point() or x.is_complex()) and x.dtype != torch.float32:
        raise error(DTypeMismatch, f"{text} {x.dtype}, but floating-point inputs are torch.float32", f"pass `{in_f32(x)}`", op="train")


@contextmanager
def told_inputs(given: tuple[Any, ...]) -> Iterator[None]:
    """Names the inputs that are no tensors where PyTorch does not take an operand for one."""
    try:
        yield
    except TypeError as e:
        others = list(dict.fromkeys(type(x).__name__ for x in given if not isinstance(x, (torch.Tensor, RecordedTensor))))
        if isinstance(e, Error) or not others or not _NO_TENSOR.search(str(e)):
            raise
        told = first_line(str(e)).replace(RecordedTensor.__name__, "Tensor")
        text = f"op `train`: argument `input`: got {', '.join(others)} among the inputs, and PyTorch refuses an operand: {told}"
        raise error(InvalidArgument, text, "pass tensors of PyTorch where the model's `forward` computes with them", op="train") from e


def without_elements(what: str) -> Exception:
    """The error for what the model computes of a weight that it has beside its parameters: the elements are packed, elsewhere."""
    text = f"op `train`: {what} is a tensor without elements (on meta), as of a weight that the model holds in a list or another object beside its parameters"
    remedy = "read it where it is a parameter (`self.conv.weight`), or register it there too: `self.w = self.conv.weight`"
    return error(UnsupportedOp, text, remedy, op="train")


def check_elements(given: Any) -> None:
    """Refuses operands of a call that have no elements."""
    for x in given:
        if isinstance(x, torch.Tensor) and x.is_meta:
            raise without_elements("an operand of a call")
        if isinstance(x, (list, tuple)):
            check_elements(x)


@contextmanager
def told_elements() -> Iterator[None]:
    """Names what has no elements where PyTorch is asked for them."""
    try:
        yield
    except (RuntimeError, NotImplementedError) as e:
        if isinstance(e, Error) or not _NO_ELEMENTS.search(str(e)):
            raise
        raise without_elements("what the forward reads a number of") from e


def check_result(x: Any) -> None:
    """Refuses what no op computes, a tensor without elements, and an object that holds values of the forward.

    It would return them without their gradients, and they end with the forward.
    """
    if isinstance(x, Absent):
        raise x.told()
    if isinstance(x, torch.Tensor) and x.is_meta:
        raise without_elements("a result of the forward")
    if isinstance(x, (RecordedTensor, torch.Tensor, int, float, str, bytes, type(None))) or not _holds_value(x):
        return
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    text = f"op `train`: the forward returns a {kind} with values of its own in it, in which PyTorch finds no tensors"
    remedy = "return tensors, tuples, lists or dicts, or call `torch.export.register_dataclass` on a dataclass first"
    raise error(UnsupportedOp, text, remedy, op="train")


def _holds_value(x: Any) -> bool:
    seen, found = {id(x)}, [x]
    for _ in range(_DEPTH):
        inner = [one for one in gc.get_referents(*found) if not isinstance(one, (type, torch.nn.Module)) and not callable(one)]
        found = list({id(one): one for one in inner if id(one) not in seen}.values())
        if any(isinstance(one, RecordedTensor) for one in found):
            return True
        seen |= {id(one) for one in found}
        if not found or len(seen) > _MOST:
            return False
    return False
