"""Errors with their fields, and the texts of other libraries in them."""

from typing import Any

#: The most of a text of PyTorch that an error quotes: some are a whole graph.
LONGEST = 300


def error(kind: type[Any], text: str, remedy: str, op: str | None = None) -> Exception:
    """An exception with its fields."""
    made = kind(f"{text}; {remedy}")
    made.op, made.remedy = op, remedy
    return made  # type: ignore[no-any-return]


def first_line(text: str) -> str:
    """The first line of a text, and of that no more than `LONGEST` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def told(e: BaseException) -> str:
    """The kind of an exception, and the first line of its text."""
    line = first_line(str(e))
    return f"{type(e).__name__}: {line}" if line else type(e).__name__
