"""Columns of a batch: a dict of arrays, or a table of pyarrow. Rows and columns that are not ours stay as they are."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._images import invalid
from ._packages import package


class Columns:
    """The column that is read, and those that are added."""

    def __init__(self, input: str, added: Sequence[str], keep_input: bool) -> None:
        self.input, self.added, self.keep_input = input, added, keep_input

    def images(self, batch: Any) -> Sequence[Any]:
        """The images of a batch, one for each row."""
        if isinstance(batch, Mapping):
            names = list(batch)
        elif _is_table(batch):
            names = batch.column_names
        else:
            rule = "a batch is a dict of arrays or a `pyarrow.Table`"
            raise invalid("batch", type(batch).__name__, rule, 'pass `batch_format="numpy"` or "pyarrow" to `map_batches`')
        if self.input not in names:
            said = ", ".join(f"`{name}`" for name in names)
            raise invalid("input", repr(self.input), f"the batch has the columns {said}", "pass one of these as `input`")
        taken = [name for name in names if name in self.added and (self.keep_input or name != self.input)]
        if taken:
            said = ", ".join(f"`{name}`" for name in taken)
            remedy = "rename the columns, or pass other names for `output` and `error`, or `report=False`"
            raise invalid("batch", f"columns {said}", "results have these names", remedy)
        column = batch[self.input]
        if isinstance(column, np.ndarray) or not hasattr(column, "to_pylist"):
            return column  # type: ignore[no-any-return]
        return _of_arrow(column)

    def joined(self, batch: Any, made: Mapping[str, NDArray[Any]]) -> Any:
        """The batch with these columns, in its own kind."""
        if isinstance(batch, Mapping):
            return {name: column for name, column in batch.items() if self.keep_input or name != self.input} | dict(made)
        if not self.keep_input:
            batch = batch.drop_columns([self.input])
        for name, column in made.items():
            batch = batch.append_column(name, _to_arrow(column))
        return batch


def _is_table(batch: Any) -> bool:
    return hasattr(batch, "column_names") and hasattr(batch, "append_column")


def _of_arrow(column: Any) -> Sequence[Any]:
    """Rows of a column of pyarrow: bytes and structs as Python's, tensors as arrays."""
    if not hasattr(column.type, "storage_type"):
        return column.to_pylist()  # type: ignore[no-any-return]
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    rows: list[Any] = []
    for chunk in chunks:
        rows.extend(chunk.to_numpy_ndarray() if hasattr(chunk, "to_numpy_ndarray") else chunk.to_numpy(zero_copy_only=False))
    return rows


def _to_arrow(column: NDArray[Any]) -> Any:
    pyarrow = package("pyarrow", "blocktensor.ray.Predictor on tables")
    if column.dtype == object:
        return pyarrow.array(column, pyarrow.string())
    if column.ndim == 1:
        return pyarrow.array(column)
    # Ray gives lists of a fixed size as arrays of objects, and these as arrays of numbers.
    shape = column.shape[1:]
    kind = pyarrow.fixed_shape_tensor(pyarrow.from_numpy_dtype(column.dtype), shape)
    rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(column.reshape(-1)), math.prod(shape))
    return pyarrow.ExtensionArray.from_storage(kind, rows)
