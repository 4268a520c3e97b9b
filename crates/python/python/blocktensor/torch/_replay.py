"""Calls that are several ops: PyTorch says which, from sizes alone, and each of them runs here."""

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _native
from .._errors import Error
from ._export import FACTORIES
from ._handles import value_of
from ._promises import name_of
from ._values import TABLE, Unsupported, Value

#: Runs one op of aten: the overload, its arguments as values.
Run = Callable[[Any, list[Any], dict[str, Any]], Any]

#: What PyTorch's dtypes are stored as.
_STORED = {torch.float32: "f32", torch.bool: "u8", torch.uint8: "u8", torch.int64: "s32", torch.int32: "s32"}


class _Replay(TorchDispatchMode):
    """Takes PyTorch's decomposition of a call apart, on tensors without elements."""

    def __init__(self, name: str, run: Run) -> None:
        super().__init__()
        self.name, self.run = name, run
        #: The value of each tensor without elements, which is kept: its id names it.
        self.values: dict[int, tuple[torch.Tensor, Value]] = {}
        #: Ids of tensors that share memory in PyTorch, operands among them: nothing writes into them.
        self.shared: set[int] = set()

    def stand_in(self, value: Value, dtype: torch.dtype) -> torch.Tensor:
        meta = torch.empty(value.shape, dtype=dtype, device="meta")
        self.values[id(meta)] = meta, value
        return meta

    def value(self, x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in self.values:
            raise Unsupported("no op of blocktensor is for it")
        return self.values[id(x)][1]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = name_of(func)
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise Unsupported(self._reason(func))
        if func._schema.is_mutable:
            return self._in_place(func, name, args, kwargs)
        if not any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves((args, kwargs))):
            return self._constant(func(*args, **{**kwargs, "device": "cpu"} if "device" in kwargs else kwargs))
        if name in FACTORIES:
            like = torch.empty(args[0].shape, dtype=args[0].dtype)
            return self._constant(func(like, *args[1:], **{**kwargs, "device": "cpu", "pin_memory": False}))
        if name in TABLE:
            like = func(*args, **kwargs)
            if func._schema.returns[0].alias_info is not None:
                self.shared |= {id(args[0]), *(id(x) for x in pytree.tree_leaves(like))}
            return self._results(like, self._run(func, args, kwargs))
        if func in decomposition_table:
            with self:
                return decomposition_table[func](*args, **kwargs)
        with self:
            inner = func.decompose(*args, **kwargs)
        if inner is NotImplemented:
            raise Unsupported(self._reason(func))
        return inner

    def _run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        try:
            return self.run(func, pytree.tree_map(self.value, list(args)), pytree.tree_map(self.value, kwargs))
        except Unsupported:
            # What it says is of operands that only PyTorch's composition has.
            part = func.overloadpacket.__name__
            raise Unsupported(f"no op of blocktensor is for it, and its part `{part}` cannot run as one") from None
        except Error as e:
            # Some are a TypeError too, which PyTorch's operators would swallow.
            # Its remedy is for the operands of that part.
            raise Unsupported(f"no op of blocktensor is for it: {str(e).removesuffix(f'; {e.remedy}')}") from None

    def _in_place(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """A result of this call that a later part of it changes."""
        target, plain = args[0], getattr(torch.ops.aten, name.rstrip("_"), None)
        if id(target) in self.shared or plain is None or not hasattr(plain, func._overloadname):
            raise Unsupported(self._reason(func))
        with self:
            made = getattr(plain, func._overloadname)(*args, **kwargs)
        if made.shape != target.shape or made.dtype != target.dtype:
            raise Unsupported(self._reason(func))
        self.values[id(target)] = target, self.value(made)
        return target

    def _reason(self, func: Any) -> str:
        called = func.overloadpacket.__name__
        return "no op of blocktensor is for it" + ("" if called == self.name else f": it calls `{called}`")

    def _constant(self, made: Any) -> Any:
        if not isinstance(made, torch.Tensor):
            return made
        stored = {torch.bool: torch.uint8, torch.int64: torch.int32}.get(made.dtype, made.dtype)
        return self.stand_in(value_of(_native.from_dlpack(made.to(stored))), made.dtype)

    def _results(self, like: Any, made: Any) -> Any:
        if made is None:
            # No op computes it: reading it is an error.
            return like
        if isinstance(like, torch.Tensor):
            tensor, stored = made.tensor, _STORED.get(like.dtype)
            if tensor.dtype != stored and tensor.dtype in ("u8", "s8") and stored == "f32":
                tensor = tensor.to_dtype("f32")
            if tensor.dtype != stored or tensor.shape != tuple(like.shape):
                raise Unsupported(f"a part of it is {list(like.shape)} {like.dtype} in PyTorch")
            self.values[id(like)] = like, value_of(tensor)
            return like
        return [self._results(x, y) for x, y in zip(like, made, strict=True)]


def replayed(name: str, overload: Any, arguments: list[Any], keywords: dict[str, Any], run: Run) -> Any:
    """The results of a call, from the ops that PyTorch takes it for."""
    mode = _Replay(name, run)

    def given(x: Any) -> Any:
        if not isinstance(x, Value):
            return x
        dtype = next((dtype for dtype, stored in _STORED.items() if stored == x.tensor.dtype), None)
        if dtype is None:
            raise Unsupported("no op of blocktensor is for it")
        meta = mode.stand_in(x, dtype)
        mode.shared.add(id(meta))
        return meta

    def is_value(x: Any) -> bool:
        return isinstance(x, Value)

    args, kwargs = pytree.tree_map(given, (arguments, keywords), is_leaf=is_value)
    with torch.no_grad(), mode:
        made = overload(*args, **kwargs)
    return pytree.tree_map_only(torch.Tensor, mode.value, list(made) if isinstance(made, (list, tuple)) else made)
