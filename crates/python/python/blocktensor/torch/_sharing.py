"""What the modules of a swapped model share with the model: its weights, but not the names that it has."""

import copy
from collections.abc import Iterator
from typing import Any

import torch

from .._errors import InvalidArgument, UnsupportedOp
from ._told import error


class SharedNames(dict[str, Any]):
    """The weights of a module of the model, for its counterpart. What is set under a name of the model's is set on both.

    Other names are the counterpart's own; the model's are not removed here.
    """

    def __init__(self, of: dict[str, Any]) -> None:
        super().__init__()
        self.of = of

    def _all(self) -> dict[str, Any]:
        return {**self.of, **{name: dict.__getitem__(self, name) for name in dict.keys(self)}}

    def __reduce__(self) -> Any:
        # A copy has weights of its own.
        return dict, (self._all(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(self._all(), memo)

    def __getitem__(self, name: str) -> Any:
        return self.of[name] if name in self.of else super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return name in self.of or super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, SharedNames) else other)

    def __repr__(self) -> str:
        return repr(self._all())

    def keys(self) -> Any:
        return self._all().keys()

    def values(self) -> Any:
        return self._all().values()

    def items(self) -> Any:
        return self._all().items()

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def copy(self) -> dict[str, Any]:
        return self._all()

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self.of:
            self.of[name] = value
        else:
            super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self._check_own(name)
        super().__delitem__(name)

    def pop(self, name: str, *default: Any) -> Any:
        self._check_own(name)
        return super().pop(name, *default)

    def popitem(self) -> Any:
        for name in self.of:
            self._check_own(name)
        return super().popitem()

    def clear(self) -> None:
        for name in self.of:
            self._check_own(name)
        super().clear()

    def update(self, *args: Any, **named: Any) -> None:
        for name, value in dict(*args, **named).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def _check_own(self, name: str) -> None:
        if name in self.of:
            text = f"a swapped model shares its weights with the model, and to remove `{name}` here would change the model too"
            raise error(UnsupportedOp, text, "change the model itself, and swap it again", op="swap")


def shared_again(copied: dict[str, Any], of: dict[str, Any]) -> SharedNames:
    """What a copy of `SharedNames` became, over the names that its module's copy has."""
    if isinstance(copied, SharedNames):
        return copied
    made = SharedNames(of)
    made.update((name, x) for name, x in copied.items() if name not in of)
    return made


def _check_conversion(module: torch.nn.Module, fn: Any) -> None:
    """Refuses what `.half()`, `.to(...)` and `.to_empty()` would make of the weights, which are the model's own."""
    for dtype in {x.dtype for x in (*module.parameters(), *module.buffers())}:
        probe = torch.zeros(2, 2, 2, 2, dtype=dtype)
        made = fn(probe)
        if made is not probe:
            is_moved = made.dtype != dtype or made.device != probe.device
            what = f"{made.dtype} on {made.device}" if is_moved else "others"
            text = f"a swapped model shares its weights with the model, and to make {what} of them would convert the model too"
            raise error(UnsupportedOp, text, "leave it in f32 on the CPU, or convert a `copy.deepcopy` of the model", op="to")


class _Applied:
    """The `_apply` of a module of a swapped model: what `.half()` and `.to(...)` call."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module

    def __call__(self, fn: Any, *args: Any, **named: Any) -> Any:
        _check_conversion(self.module, fn)
        return type(self.module)._apply(self.module, fn, *args, **named)


class _Evaluated:
    """The `train` of a module of a swapped model: in training mode it would write into the model's buffers."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module

    def __call__(self, mode: bool = True) -> Any:
        if mode:
            text = "argument `mode`: got True, but swapped models are for inference"
            raise error(InvalidArgument, text, "train the model itself", op="train")
        return type(self.module).train(self.module, mode)


def limit(module: torch.nn.Module) -> None:
    """Refuses on a module of a swapped model what would change the model."""
    vars(module).update(_apply=_Applied(module), train=_Evaluated(module))


def is_swapped(module: torch.nn.Module) -> bool:
    return isinstance(vars(module).get("_apply"), _Applied)
