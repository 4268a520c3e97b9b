"""Errors with their fields, and the texts of other libraries in them."""

from typing import Any

#: The most of a text of PyTorch that an error quotes: some are a whole graph.
LONGEST = 300


def error(kind: type[Any], text: str, remedy: str, op: str | None = None) -> Exception:
    """An exception with its fields."""
    made = kind(f"{text}; {remedy}")
    made.op, made.remedy = op, remedy
    return made  # type: ignore[no-any-return]


def in_pytorch(x: str = "x.detach()") -> str:
    """How a remedy writes a tensor of PyTorch with these numbers: a copy. Arrays are read-only here, of which `from_numpy` warns."""
    return f"torch.tensor({x}.numpy())"


def first_line(text: str) -> str:
    """The first line of a text, with the list that it announces, and of that no more than `LONGEST` characters: whole clauses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[0]
    if line.endswith(":"):
        rest = [one.removeprefix("*").strip() for one in lines[1:]]
        line = f"{line} {'; '.join(rest)}" if rest else line.removesuffix(":")
        if len(line) > LONGEST:
            # Without the list, the clause that announces it says nothing.
            line = lines[0].removesuffix(":")
            line = _clauses(line) if any(mark in line for mark in _MARKS) else f"{line}: {rest[0]}"
    return line if len(line) <= LONGEST else f"{_clauses(line[:LONGEST])} ..."


#: Where clauses end.
_MARKS = (". ", "; ", ", but ", ": ")


def _clauses(text: str) -> str:
    """The text without its last clause, or without its last word."""
    end = max(text.rfind(mark) for mark in _MARKS)
    return text[:end] if end > 0 else text.rsplit(" ", 1)[0]


def told_text(e: BaseException) -> str:
    """The first line of an exception's text, or its kind if it has none."""
    return first_line(str(e)) or type(e).__name__


def told(e: BaseException) -> str:
    """The kind of an exception, and the first line of its text."""
    line = first_line(str(e))
    return f"{type(e).__name__}: {line}" if line else type(e).__name__
