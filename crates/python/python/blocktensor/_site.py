"""Where a call was made, for the ledger."""

import os
import sys
from types import FrameType

_HERE = os.path.dirname(__file__) + os.sep


def _outside() -> FrameType:
    """The innermost frame outside of this package."""
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def here() -> str:
    """`file:line` of the innermost frame outside of this package."""
    frame = _outside()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def is_torch() -> bool:
    """Whether `torch.from_dlpack` is the caller. It takes memory that is marked as read-only for its own."""
    return _outside().f_globals.get("__name__") == "torch.utils.dlpack"
