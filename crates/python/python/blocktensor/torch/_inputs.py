"""Inputs of a packed module: in order or by name, and errors for tensors that no plan takes."""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.autograd.forward_ad as forward_ad
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._subclasses import FakeTensor
from torch.fx import Proxy
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .._errors import InvalidArgument, UnsupportedOp
from ._told import error

#: An input that a plan is for: its name, its sizes, its dtype.
Expected = tuple[str, Sequence[int], torch.dtype]


#: How dynamo names what the code before a graph break left on the stack.
_LEFT = re.compile(r"_+stack\d")
#: And numbers of Python's `random`.
DRAWN = re.compile(r"random_value_\d+$")


def is_left(name: str) -> bool:
    """Whether an input is what the code before a graph break left: no code of the user's can change it before."""
    return _LEFT.match(name) is not None


def told_input(name: str) -> tuple[str, str]:
    """An input in an error's text, and what to call it in a remedy."""
    return ("a result of the line before a graph break", "y") if is_left(name) else (f"the input `{name}`", name)


def names_of(model: torch.nn.Module, count: int) -> tuple[str | None, ...]:
    """The names of the arguments that an example of this many is; `None` for those that are passed by place alone."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return ()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(p.name if p.kind is p.POSITIONAL_OR_KEYWORD else None for p in places[:count])


def in_order(args: tuple[Any, ...], named: Mapping[str, Any], names: Sequence[str | None]) -> tuple[Any, ...]:
    """The arguments in the order of the model's `forward`."""
    known = [f"`{name}`" for name in names if name is not None]
    for name in named:
        if name in names and names.index(name) >= len(args):
            continue
        if name in names:
            text, remedy = f"argument `{name}`: got it twice, by place and by name", "pass it once"
        elif known:
            text = f"argument `{name}`: got {_kind(named[name])}, but this module takes {', '.join(known)}"
            remedy = "leave it out: other arguments are what they were when the model was converted"
        else:
            text = f"argument `{name}`: got an input by name, but this module has no names of its inputs"
            remedy = "pass the inputs in order"
        raise error(InvalidArgument, text, remedy)
    rest = names[len(args) : len(args) + len(named)]
    missing = [name for name in rest if name not in named]
    if missing:
        raise error(InvalidArgument, f"argument `{missing[0]}`: got none", "pass all inputs, in order or by name")
    return (*args, *(named[name] for name in rest if name is not None))


#: How many inputs an error lists.
_LISTED = 6


def check_count(given: Sequence[Any], expected: Sequence[Expected], remedy: str) -> None:
    """Refuses more inputs, or fewer, and says what came."""
    if len(given) == len(expected):
        return
    told = [f"{list(x.shape)} {x.dtype}" if isinstance(x, torch.Tensor) else _kind(x) for x in given[:_LISTED]]
    told += [f"{len(given) - _LISTED} more"] if len(given) > _LISTED else []
    what = f"{len(given)} input{'s' * (len(given) != 1)} ({', '.join(told)})" if given else "no inputs"
    wanted = [f"`{name}` of {list(shape)}" for name, shape, _ in expected[:_LISTED]]
    wanted += [f"{len(expected) - _LISTED} more"] if len(expected) > _LISTED else []
    raise error(InvalidArgument, f"argument `input`: got {what}, but the module takes {len(expected)}: {', '.join(wanted)}", remedy)


def check_traced(remedy: str) -> None:
    """Refuses `torch.jit.trace` and `make_fx`, which would keep the results of the example as constants."""
    raise traced("torch.jit.trace" if torch._C._is_tracing() else "make_fx", remedy)


def check_symbolic(args: Any, remedy: str) -> None:
    """Refuses `torch.fx.symbolic_trace`, whose stand-ins are no tensors: one for each argument, or for all together."""
    if any(isinstance(x, Proxy) for x in pytree.tree_leaves(args)):
        raise traced("torch.fx.symbolic_trace", remedy)


def traced(name: str, remedy: str) -> Exception:
    """The error for a module that is traced."""
    text = f"`{name}` records calls of PyTorch, and this module's are none"
    return error(UnsupportedOp, text, remedy, op=name)


def is_dual(x: torch.Tensor) -> bool:
    """Whether the tensor carries a tangent, which a plan would lose."""
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None


def problem(x: Any, expected: Expected) -> Exception | None:
    """The error for an input that the plan does not take; `None` for one that it takes, and for other libraries' tensors."""
    name, shape, dtype = expected
    if not isinstance(x, torch.Tensor):
        return None
    if is_functorch_wrapped_tensor(x):
        text = f"argument `{name}`: got a part of a tensor inside of `torch.func` (`vmap`, `grad`), but a plan runs on whole tensors"
        remedy = "call the module without the transform, for an example with these rows in its batch"
        return error(UnsupportedOp, text, remedy, op="torch.func")
    if isinstance(x, FakeTensor):
        text = f"argument `{name}`: got a stand-in of a trace (`torch.export`), but a plan computes with elements"
        remedy = "export the model itself; inside of another model, put the model that this module was made of in its place"
        return error(UnsupportedOp, text, remedy, op="torch.export")
    found = elsewhere(x)
    if found is not None:
        return _refused(name, *found)
    if x.dtype != dtype or x.shape != tuple(shape):
        text = f"argument `{name}`: got {list(x.shape)} {x.dtype}, but this plan is for {list(shape)} {dtype}"
        if x.shape != tuple(shape):
            return error(InvalidArgument, text, "make a module for an example of these sizes")
        return error(InvalidArgument, text, f"pass `{in_f32(x)}`")
    return None


def elsewhere(x: torch.Tensor) -> tuple[str, str] | None:
    """A tensor without dense elements in this memory: what it is, and the remedy."""
    if x.is_nested:
        return "a nested tensor", "pass one tensor for each, or `x.to_padded_tensor(0)`"
    if is_traceable_wrapper_subclass(x):
        return f"a tensor of the class `{type(x).__name__}`", "pass a plain one; of a model whose weights are such tensors, the model as it was before"
    if x.layout != torch.strided:
        return f"a tensor of the layout {x.layout}", "pass `x.to_dense()`"
    if x.device.type != "cpu":
        return f"a tensor on {x.device}", "pass a tensor that has elements" if x.is_meta else "pass `x.cpu()`"
    return None


def in_f32(x: torch.Tensor) -> str:
    """The call that makes f32 of a tensor of another dtype."""
    return "x.dequantize()" if x.is_quantized else "x.real.float()" if x.is_complex() else "x.float()"


def not_a_tensor(x: Any, expected: Expected) -> Exception:
    return _refused(expected[0], _kind(x), "pass a `torch.Tensor`")


def _refused(name: str, got: str, remedy: str) -> Exception:
    return error(InvalidArgument, f"argument `{name}`: got {got}, but inputs are dense f32 tensors on the CPU", remedy)


def _kind(x: Any) -> str:
    return "a tensor" if isinstance(x, torch.Tensor) else type(x).__name__
