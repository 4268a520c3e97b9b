"""State that objects of Python's own and numpy's keep where no attribute shows it: how far iterators are, and what generators draw."""

import io
import random
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch


def moves_on(x: Any) -> bool:
    """Whether reading from the object changes it, and nothing that it holds tells so."""
    return isinstance(x, (Iterator, random.Random, torch.Generator, *_of_numpy())) and not isinstance(x, io.IOBase)


def _of_numpy() -> tuple[type, ...]:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return ()
    return numpy.random.Generator, numpy.random.RandomState, numpy.random.BitGenerator


def state_of(x: Any) -> Any:
    """What tells whether such an object moved on: equal before and after if it did not. `None` where it does not say."""
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
    if isinstance(x, random.Random):
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
    if isinstance(x, (type, FunctionType, BuiltinFunctionType)) or not moves_on(x):
        return x
    return [type(x), state_of(x)]
