"""Options of `plan` and `to_blocked`, checked before a model is converted, which takes long; and that it is one."""

import sys
from operator import index
from typing import Any

import torch

from .._errors import InvalidArgument
from .._native import check_options
from ._told import error, first_line


def _refused(op: str, name: str, x: Any, rule: str, remedy: str) -> Exception:
    text = f"op `{op}`: argument `{name}`: got {first_line(repr(x))}, but {rule}"
    return error(InvalidArgument, text, remedy, op=op)


def _is_integer(x: Any) -> bool:
    try:
        return not isinstance(x, bool) and isinstance(index(x), int)
    except TypeError:
        return False


def _is_count(x: Any) -> bool:
    return _is_integer(x) and 0 <= index(x) <= sys.maxsize


def check_flag(op: str, name: str, x: Any) -> None:
    """Refuses what is neither True nor False."""
    if not isinstance(x, bool):
        raise _refused(op, name, x, "it is True or False", "pass one of them")


def check_module(model: Any, op: str | None = None) -> None:
    """Refuses what is no model."""
    if isinstance(model, torch.nn.Module):
        return
    remedy = "pass a module"
    if isinstance(model, torch.export.ExportedProgram):
        remedy = "pass its `.module()`"
    elif isinstance(model, type) and issubclass(model, torch.nn.Module):
        remedy = f"make one of the class: `{model.__name__}(...)`"
    got = f"the class `{model.__name__}`" if isinstance(model, type) else type(model).__name__
    text = f"{f'op `{op}`: ' if op else ''}argument `model`: got {got}, but models are `torch.nn.Module`s"
    raise error(InvalidArgument, text, remedy, op=op)


def checked_options(op: str, **options: Any) -> dict[str, Any]:
    """The options of `Model.plan` among them."""
    for name in ("layouts", "profiles", "precision"):
        if not isinstance(options[name], str):
            raise _refused(op, name, options[name], "it is a name", "pass one that the documentation lists, or leave it out")
    check_flag(op, "exact", options["exact"])
    threads = options["threads"]
    if threads is not None and not _is_integer(threads):
        raise _refused(op, "threads", threads, "it is a number of threads", "pass such a number, or None for the process's")
    # Which numbers of threads there are is said there.
    check_options(options["layouts"], threads, options["profiles"], options["precision"])
    return options


def autocast_text() -> str:
    """Why `torch.autocast` is refused."""
    return f"`torch.autocast` to {torch.get_autocast_dtype('cpu')} is on, but the option `precision` alone says in what a plan computes"


def check_limits(op: str, reorders: Any, partial: Any) -> None:
    """Those of `to_blocked` alone."""
    if reorders is not None and not _is_count(reorders):
        raise _refused(op, "reorders", reorders, "it is the most reorders of a run", "pass a number from 0 on, or None for any number")
    check_flag(op, "partial", partial)
