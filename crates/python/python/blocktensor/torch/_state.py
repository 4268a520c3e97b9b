"""State that objects of Python's own and numpy's keep where no attribute shows it: how far iterators are, and what generators draw."""

import copy
import functools
import io
import random
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import torch


def owner_of(x: Any) -> Any:
    """The object that a bound method is of, `None` for anything else: of `it.__next__` the iterator."""
    owner = x.__self__ if isinstance(x, (BuiltinFunctionType, MethodWrapperType, MethodType)) else None
    # `Generators` keeps those of the process.
    return None if isinstance(owner, (ModuleType, type)) or any(owner is one for one in _of_the_process()) else owner


def _of_the_process() -> list[Any]:
    numpy = sys.modules.get("numpy")
    return [random.seed.__self__, torch.default_generator, *([] if numpy is None else [numpy.random.rand.__self__])]  # type: ignore[attr-defined]


def parts_of(x: Any) -> tuple[Any, ...]:
    """What a `functools.partial`, a tuple or a bound method is made of."""
    if isinstance(x, functools.partial):
        return x.func, *x.args, *x.keywords.values()
    if type(x) is tuple:
        return x
    owner = owner_of(x)
    return () if owner is None else (owner,)


def moves_on(x: Any) -> bool:
    """Whether reading from the object, or calling it, changes it, and nothing that it holds tells so."""
    if any(map(moves_on, parts_of(x))):
        return True
    return isinstance(x, (Iterator, random.Random, torch.Generator, *_of_numpy())) and not isinstance(x, io.IOBase)


def _of_numpy() -> tuple[type, ...]:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return ()
    return numpy.random.Generator, numpy.random.RandomState, numpy.random.BitGenerator


def state_of(x: Any) -> Any:
    """What tells whether such an object moved on: equal before and after if it did not. `None` where it does not say."""
    parts = parts_of(x)
    if parts:
        return [state_of(one) for one in parts if moves_on(one)]
    try:
        if isinstance(x, random.Random):
            return x.getstate()
        if isinstance(x, torch.Generator):
            return x.get_state().numpy().tobytes()
        if isinstance(x, Iterator):
            return _parts(x.__reduce_ex__(2))
        # numpy's.
        found: Callable[..., Any] | None = getattr(x, "get_state", None)
        return found(legacy=False) if found is not None else getattr(x, "bit_generator", x).state
    except TypeError:
        # An iterator that cannot be copied.
        return None


def put_back(x: Any, state: Any) -> None:
    """Gives a generator of random numbers its state again. Iterators cannot be moved back: where that matters, a copy is read."""
    if isinstance(x, Iterator) or state is None:
        return
    parts = parts_of(x)
    if parts:
        for one, before in zip(filter(moves_on, parts), state, strict=True):
            put_back(one, before)
    elif isinstance(x, random.Random):
        x.setstate(state)
    elif isinstance(x, torch.Generator):
        x.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif hasattr(x, "set_state"):
        x.set_state(state)
    else:
        getattr(x, "bit_generator", x).state = state


def _parts(x: Any) -> Any:
    """What an object is made of again, with the state of the iterators in it."""
    if isinstance(x, (tuple, list)):
        return [_parts(one) for one in x]
    if isinstance(x, dict):
        return {name: _parts(one) for name, one in x.items()}
    return [type(x), state_of(x)] if moves_on(x) else x


def another(x: Any, known: dict[int, Any]) -> Any:
    """A copy of such an object. What is in `known` is not copied twice: two that share an iterator share its copy."""
    if not moves_on(x):
        return x
    if type(x) is tuple:
        return tuple(another(one, known) for one in x)
    if isinstance(x, functools.partial):
        named = {name: another(one, known) for name, one in x.keywords.items()}
        return type(x)(another(x.func, known), *(another(one, known) for one in x.args), **named)
    owner = owner_of(x)
    if owner is None:
        return copy.deepcopy(x, known)
    made = another(owner, known)
    return MethodType(x.__func__, made) if isinstance(x, MethodType) else getattr(made, x.__name__)
