"""What a packed module does not take: state beside its plan, and recordings of `torch.compile`."""

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch._dynamo import exc as dynamo
from torch._dynamo.comptime import comptime

from .._errors import UnsupportedOp
from ._told import error

#: What registers state, or code that runs with `state_dict` and `load_state_dict`.
_REGISTERS = (
    "register_buffer register_parameter register_module add_module set_submodule set_extra_state register_state_dict_pre_hook "
    "register_state_dict_post_hook _register_state_dict_hook register_load_state_dict_pre_hook _register_load_state_dict_pre_hook "
    "register_load_state_dict_post_hook"
).split()


class OfOnePlan(torch.nn.Module):
    """A module whose state is that of its plan: `state_dict`, `load_state_dict` and files would leave other state out."""

    #: What it is, and what its state is that of.
    TOLD = ("a packed module", "its plan")

    def _parts(self) -> set[str]:
        """The names of the model's children and tensors that are none of this module's."""
        return set()

    def _no_part(self, name: str) -> Exception:
        """The error for one of them."""
        return AttributeError(f"{self.TOLD[0]} has no plain `{name}`: `state_dict()` has its weights")

    def _check_path(self, path: str) -> None:
        # PyTorch's own error would only say that there is no such attribute.
        name = path.split(".")[0]
        if name in self._parts():
            raise self._no_part(name)

    def __getattr__(self, name: str) -> Any:
        if name in self._parts():
            raise self._no_part(name)
        return super().__getattr__(name)

    def get_submodule(self, target: str) -> torch.nn.Module:
        self._check_path(target)
        return super().get_submodule(target)

    def get_parameter(self, target: str) -> torch.nn.Parameter:
        self._check_path(target)
        return super().get_parameter(target)

    def get_buffer(self, target: str) -> torch.Tensor:
        self._check_path(target)
        return super().get_buffer(target)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (torch.nn.Module, torch.nn.Parameter, torch.nn.Buffer)):
            raise _beside(self, f"a {type(value).__name__} as `{name}`", "setattr")
        super().__setattr__(name, value)


def _beside(module: OfOnePlan, what: str, op: str) -> Exception:
    (kind, of), what = module.TOLD, what.removeprefix("a ")
    text = f"{kind} takes no {what}: its state is that of {of}, and `state_dict` would leave that out"
    return error(UnsupportedOp, text, f"keep it in a module around the {kind.split()[1]} one", op=op)


def _register(name: str) -> Callable[..., NoReturn]:
    def register(self: OfOnePlan, *args: Any, **kwargs: Any) -> NoReturn:
        raise _beside(self, f"`{name.removeprefix('_')}`", name)

    return register


for _name in _REGISTERS:
    if hasattr(torch.nn.Module, _name):
        setattr(OfOnePlan, _name, _register(_name))


class UnsupportedRecording(UnsupportedOp, dynamo.Unsupported):
    """An error of this package that `torch.compile` takes for its own: it raises it, or runs the module outside of its graph."""

    def __init__(self) -> None:
        self.op, self.remedy = "torch.compile", "compile or export the model itself, or leave out `fullgraph=True`"
        text = "`torch.compile` and `torch.export` record calls of PyTorch, and this module runs ops of blocktensor"
        dynamo.Unsupported.__init__(self, f"{text}; {self.remedy}")


def _refuse(_context: Any) -> NoReturn:
    raise UnsupportedRecording


def check_compiled() -> None:
    """Refuses to be recorded in a graph of `torch.compile`. Called where `torch.compiler.is_compiling()`; it runs in no other place."""
    comptime(_refuse)


def not_plain(name: str) -> Exception:
    """The error for code that sets a weight of a packed module."""
    text = f"a packed module has no plain `{name}` to set, for `torch.func.functional_call` either"
    return error(UnsupportedOp, text, "pack other weights with `load_state_dict`, or call the model itself", op="setattr")
