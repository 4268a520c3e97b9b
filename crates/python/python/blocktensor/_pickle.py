"""What is pickled: plans as packed files, strided tensors with the order of their axes in memory. And what is not, by name."""

import copyreg
import os
import tempfile
from collections.abc import Callable
from typing import Any

from . import _native, ops
from ._errors import UnsupportedOp
from ._native import Plan, Tensor, Var, _plan_from_bytes

#: What is neither pickled nor copied: why, and what to do.
_REFUSED: dict[type, tuple[str, str]] = {
    **dict.fromkeys(
        (_native.SGD, _native.AdamW),
        ("an optimiser is of one training", "keep its `state_dict()` and its `lr`, and load them into one that is made with the same arguments"),
    ),
    _native.Tape: ("a tape refers to the calls of its block", "record them in a `blocktensor.grad.record()` of its own"),
    _native.Gradients: ("gradients are of the variables of one tape", "pickle the tensors in it: `{name: gradients.get(v) for name, v in w.items()}`"),
    _native.PackedWeights: ("packed weights are for this machine and its threads", "pickle the plain weights, and pack them again"),
    _native.Ledger: ("a ledger is of one block", "pickle its `.reorders` and `.runs`, or keep its `chrome_trace()`"),
    _native.Budget: ("a budget is of one block", "make another one"),
    _native.Model: ("a model has no form in a file", "pickle its plan (`model.plan()`), or read the ONNX file again"),
}


def install() -> None:
    """Tells Python how to pickle the classes of the extension module."""
    copyreg.pickle(Tensor, _reduce_tensor)
    copyreg.pickle(Var, _reduce_tensor)  # type: ignore[arg-type]
    for kind in _REFUSED:
        copyreg.pickle(kind, _refuse)


def _reduce_tensor(x: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    # What cannot be pickled is an error there: an opaque tensor, and a value that depends on a variable.
    made: Any = x.__reduce__()
    x = x.tensor if isinstance(x, Var) else x
    if x.is_blocked or x.layout == "contiguous" or 0 in x.strides:
        # Elements that are broadcast have no order in memory.
        return made  # type: ignore[no-any-return]
    strides = x.strides
    order = sorted(range(x.ndim), key=lambda axis: -strides[axis])
    permuted: Any = ops.permute(x, axes=order).__reduce__()
    return _in_order, (permuted[1], [order.index(axis) for axis in range(x.ndim)])


def _in_order(pickled: tuple[Any, ...], order: list[int]) -> Tensor:
    """A dense tensor whose axes lie in memory in another order than they are named."""
    return ops.permute(_native._from_bytes(*pickled), axes=order)


#: What makes a tensor of pickled elements: it checks them, and runs no code of the pickle.
SAFE: list[Callable[..., Tensor]] = [_native._from_bytes, _in_order]


def _refuse(x: Any) -> Any:
    kind = type(x)
    why, remedy = _REFUSED[kind]
    error = UnsupportedOp(f"op `pickle`: argument `x`: got a {kind.__module__}.{kind.__name__}, but {why}, and is neither pickled nor copied; {remedy}")
    error.op, error.remedy = "pickle", remedy
    raise error


def reduce_plan(plan: Plan) -> tuple[Callable[[bytes, int | None], Plan], tuple[bytes, int | None]]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan")
        plan.save(path)
        with open(path, "rb") as file:
            return plan_of_bytes, (file.read(), plan.threads)


def plan_of_bytes(packed: bytes, threads: int | None) -> Plan:
    return _plan_from_bytes(packed, threads)
