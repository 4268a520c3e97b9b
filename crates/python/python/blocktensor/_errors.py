"""The exceptions: one class for each kind of error of the library, below `Error`.

Each is also one of Python's own classes, so that code that knows nothing of this package can catch it.
"""


class Error(Exception):
    """Any error of this package. Its text names the op, the argument, what was passed, the rule, and last the remedy."""

    #: The op or function that was called.
    op: str | None = None
    #: The operands or arguments that the error is about.
    operands: list[str] = []
    #: What to do instead.
    remedy: str = ""
    #: Nodes of a model that cannot run: name, op, reason.
    missing: list[tuple[str, str, str]] = []


class UnsupportedOp(Error, NotImplementedError):
    """No kernel for operands of this key, or only one that is refused because it is slow. Or nodes of a model cannot run."""


class KeyMismatch(Error, TypeError):
    """Data operands of different dispatch keys."""


class LayoutMismatch(Error, ValueError):
    """The right key, but a layout that does not fit the other operands or the kernel."""


class UnsupportedDType(Error, TypeError):
    """The kernel does not take this dtype."""


class DTypeMismatch(Error, TypeError):
    """Operands whose dtypes must agree and do not."""


class RankMismatch(Error, ValueError):
    """A tensor of the wrong rank."""


class ShapeMismatch(Error, ValueError):
    """Sizes that do not match."""


class InvalidArgument(Error, ValueError):
    """A parameter outside its range, or a value of another kind."""


class Overflow(Error, OverflowError):
    """A size that overflows the machine's integers."""


class OutOfBounds(Error, IndexError):
    """Strides or an offset that reach past the storage."""


class UnsupportedStride(Error, ValueError):
    """Strides that the op does not take, or a view that strides cannot express."""


class OverlappingOutput(Error, ValueError):
    """A result whose elements share memory with each other."""


class Aliasing(Error, ValueError):
    """A result whose storage another tensor shares."""


class OpaqueLayoutError(Error, BufferError):
    """Strides, an address, an array or DLPack were asked of a tensor that has none. Reorder it with `.to_strided()`."""


class PackMismatch(Error, ValueError):
    """Packed weights used with a source, machine or number of threads that they were not packed for."""


class ReorderDenied(Error, RuntimeError):
    """A reorder inside `deny_reorders`, or beyond a `budget`."""


class Registration(Error, ValueError):
    """A registration that clashes with an existing one, or names an op that does not exist."""


class Misaligned(Error, ValueError):
    """Data whose address is not a multiple of its element's size."""


class DlpackUnsupported(Error, BufferError):
    """A tensor of another library with a device or dtype that is not supported."""


class DlpackVersion(Error, BufferError):
    """A DLPack tensor of another major version."""


class Panicked(Error, RuntimeError):
    """A defect of the library: please report it."""


class ForkedProcess(Error, RuntimeError):
    """A call in a forked child of a process that had used the library."""


class StackTooSmall(Error, RuntimeError):
    """A call on a thread with too little stack."""


class FileAccess(Error, OSError):
    """A file that cannot be opened or written."""


class CorruptFile(Error, ValueError):
    """A file whose content is inconsistent."""


class OutOfMemory(Error, MemoryError):
    """Memory could not be allocated."""


class Backend(Error, RuntimeError):
    """The engine failed in a way that no check foresaw."""


class ScopeError(Error, RuntimeError):
    """A scope that was closed on another thread, out of order, or twice."""


class MissingPackage(Error, ImportError):
    """A package of Python that a part of this one needs and that is not installed."""
