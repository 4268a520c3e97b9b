"""Where a call was made, for the ledger."""

import os
import sys

_HERE = os.path.dirname(__file__) + os.sep


def here() -> str:
    """`file:line` of the innermost frame outside of this package."""
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
