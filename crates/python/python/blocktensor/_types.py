"""Types of arguments."""

from os import PathLike
from typing import Any, Protocol, TypeAlias

from ._native import Tensor


class SupportsDLPack(Protocol):
    """Another library's tensor or array: numpy's, torch's ..."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


#: What ops take: a tensor of this package, or another library's, which shares its memory.
TensorLike: TypeAlias = Tensor | SupportsDLPack

#: What names a file, as for `open`.
FilePath: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
