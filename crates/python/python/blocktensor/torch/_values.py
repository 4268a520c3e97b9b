"""What the table of aten ops is written against: values, and a builder that adds ops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Unsupported(Exception):
    """A call that no op of blocktensor is for. The text says why."""


@dataclass(frozen=True)
class Value:
    """A tensor of the model that is built."""

    name: str
    shape: tuple[int, ...]
    #: What an eager builder computes with.
    tensor: Any = None


class Builder(Protocol):
    """Adds ops to a model, or runs them at once."""

    #: The name of the call, without the mark of calls in place: `relu`.
    name: str

    def op(self, op: str, **arguments: Any) -> Value: ...
    def ops(self, op: str, results: int, **arguments: Any) -> list[Value]: ...
    def result_shape(self) -> list[int]: ...
    def result_shapes(self) -> list[Sequence[int]]: ...
    def result_dtype(self) -> str: ...
