"""Errors with their fields."""

from typing import Any


def error(kind: type[Any], text: str, remedy: str, op: str | None = None) -> Exception:
    """An exception with its fields."""
    made = kind(f"{text}; {remedy}")
    made.op, made.remedy = op, remedy
    return made  # type: ignore[no-any-return]
