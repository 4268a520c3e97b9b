"""What an eager tensor says of itself: sizes, dtype, strides, its numbers, its memory."""

from typing import Any

import torch

from .._errors import InvalidArgument, RankMismatch, UnsupportedDType
from ._export import error
from ._handles import DTYPES, Handle, as_torch, described, with_owner

#: Dtypes between which a conversion gives PyTorch's numbers.
FLOATS = {"f32", "bf16", "f16"}

#: Methods that convert, and to what.
CONVERSIONS = {name: getattr(torch, name) for name in "float double half bfloat16 int long bool short".split()}
CONVERSIONS |= {"byte": torch.uint8, "char": torch.int8}


class Answers(Handle):
    """The questions to a `torch.Tensor` that make no tensor. A blocked tensor has no answer to some: `OpaqueLayoutError`."""

    requires_grad = retains_grad = is_sparse = is_sparse_csr = is_nested = is_quantized = False
    is_cuda = is_ipu = is_maia = is_meta = is_mkldnn = is_mps = is_mtia = is_vulkan = is_xla = is_xpu = False
    is_leaf = is_cpu = True
    grad = grad_fn = name = None
    output_nr = 0

    @property
    def ndim(self) -> int:
        return self.held.ndim

    @property
    def dtype(self) -> Any:
        """PyTorch's dtype. A mask is `torch.uint8`."""
        return DTYPES[self.held.dtype]

    @property
    def device(self) -> Any:
        return torch.device("cpu")

    @property
    def layout(self) -> Any:
        self.held.strides  # a blocked tensor has none, which is an error
        return torch.strided

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> Any:
        text = f"op `imag` of PyTorch: got {described(self)}, but only complex tensors have an imaginary part"
        raise error(UnsupportedDType, text, "write `torch.zeros_like(x)`", op="imag")

    @property
    def T(self) -> Any:
        x: Any = self
        return x if self.ndim < 2 else x.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Any:
        x: Any = self
        return x.transpose(-2, -1)

    @property
    def H(self) -> Any:
        """Of a matrix, as PyTorch has it."""
        if self.ndim not in (0, 2):
            text = f"op `H` of PyTorch: got {described(self)}, but it is of matrices (2 axes)"
            raise error(RankMismatch, text, "write `x.mH` for a batch of matrices", op="H")
        return self.T

    @property
    def mH(self) -> Any:
        return self.mT

    def element_size(self) -> int:
        return self.itemsize

    def get_device(self) -> int:
        return -1

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def dim(self) -> int:
        return self.held.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.held.size

    nelement = numel

    def is_floating_point(self) -> bool:
        return self.held.dtype in FLOATS

    def is_complex(self) -> bool:
        return False

    def stride(self, dim: int | None = None) -> Any:
        return self.held.strides if dim is None else self.held.strides[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        memory_format = memory_format or torch.contiguous_format
        like = torch.empty_strided(self.shape, self.held.strides, device="meta")
        return bool(like.is_contiguous(memory_format=memory_format))

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def numpy(self) -> Any:
        return self._lent(self.held.numpy())

    def item(self) -> Any:
        return self.held.item()

    def tolist(self) -> Any:
        return as_torch(self.held).tolist()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._lent(self.held.__array__(*args, **kwargs))

    def __dlpack__(self, **options: Any) -> Any:
        # What reads it keeps PyTorch's tensor alive, which is noted: it tells how long others have the memory.
        made: Any = self
        return made.torch().__dlpack__(**options)

    def _lent(self, made: Any) -> Any:
        """Notes an array that has the memory now."""
        if made.size and made.ctypes.data == self.held.data_ptr():
            with_owner(self, made)
        return made

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.held.__dlpack_device__()

    def type(self, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        """The name of PyTorch's class for the dtype, or a conversion to one, which may be given by that name."""
        if dtype is None:
            return torch.empty(0, dtype=self.dtype).type()
        return self._converted("type", dtype if isinstance(dtype, torch.dtype) else torch.empty(0).type(dtype).dtype)

    def _converted(self, name: str, dtype: torch.dtype) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Eager{self.held!r}"

    def __format__(self, spec: str) -> str:
        """That of its number, for a tensor without axes; as PyTorch has it."""
        if not self.ndim:
            return format(self.item(), spec)
        if spec:
            text = f"op `format`: got {described(self)} and {spec!r}, but only a tensor without axes is formatted as a number"
            raise error(InvalidArgument, text, "format `x[0]` or `x.item()`", op="format")
        return str(self)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.numel() != 1:
            text = f"op `bool`: got {described(self)}, but only a tensor of one element is true or false"
            raise error(InvalidArgument, text, "call `.any()` or `.all()`, or use `torch.where`", op="bool")
        return bool(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            # `torch.tensor` asks it of what is in a list, where it knows tensors of PyTorch alone.
            remedy = "call `.numel()`, or write `x.item()` for it in a list of numbers (`torch.tensor([x.item(), 2.0])`)"
            raise error(InvalidArgument, "op `len`: got a tensor without axes", remedy, op="len")
        return self.held.shape[0]
