"""For tests of programs that use this package."""

from collections.abc import Callable
from typing import Any

from ._errors import UnsupportedOp


def assert_unsupported(call: Callable[..., Any], *args: Any, remedy: str | None = None, **named: Any) -> UnsupportedOp:
    """Fails unless the call raises `UnsupportedOp`, with this text in its remedy if one is given. Returns the exception.

    >>> import blocktensor as bt
    >>> xb = bt.zeros([1, 16, 4, 4], layout="nChw16c")
    >>> error = assert_unsupported(bt.ops.cumsum, xb, axis=1, remedy=".to_strided()")
    >>> error.op
    'cumsum'
    """
    try:
        result = call(*args, **named)
    except UnsupportedOp as error:
        if remedy is not None and remedy not in error.remedy:
            raise AssertionError(f"the remedy is {error.remedy!r}, without {remedy!r}") from error
        if not error.remedy:
            raise AssertionError("the error has no remedy") from error
        return error
    raise AssertionError(f"the call is supported: it returned {result!r}")
