"""A tensor in the forward of a module that is trained, on which PyTorch's functions work."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .. import _native
from .._errors import InvalidArgument, UnsupportedOp
from .._native import Tensor
from ._answers import CONVERSIONS, Answers
from ._handles import ACTIVE, TABLE_DTYPES, as_torch, as_view, check_alone, overlap, refused, shared
from ._index import indexed
from ._told import error, in_pytorch
from ._weights import Weight, detached


def call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs a function of PyTorch in the forward that runs on this thread."""
    recording = ACTIVE.recording
    if recording is None:
        text = f"op `{getattr(function, '__name__', function)}` of PyTorch: got a value of a forward that has ended"
        raise error(InvalidArgument, text, "return it from `forward`, which makes a tensor of PyTorch")
    return recording.call(function, args, kwargs)


#: What is done in place of asking a value for an attribute.
_INSTEAD = {
    "grad": "read it after `backward`, outside of the forward",
    "grad_fn": "ask `x.requires_grad`: the graph of a trained module is its tape",
    **dict.fromkeys(("_base", "_version"), "leave it out: views and writes of a forward are those of its tape"),
}


#: What is done in place of a write through `x.data`.
WRITES = "write it as a function (`y = x.detach() * 2`); change weights between steps, by `net.load_state_dict`"


class RecordedTensor(Answers):
    """A value of a forward. It is no `torch.Tensor`, and it is of use in its forward alone."""

    __hash__ = object.__hash__
    __array_priority__ = 1000

    OWN = frozenset((*"getitem setitem to type cpu cuda size dim numel item tolist".split(), *CONVERSIONS))

    def __setattr__(self, name: str, value: Any) -> None:
        # In PyTorch the gradient would stay that of the old elements.
        if name == "data":
            raise error(UnsupportedOp, "op `data` of PyTorch: a forward writes into no value and no parameter through `x.data`", WRITES, op="data")
        super().__setattr__(name, value)

    def hold(self, data: Any) -> None:
        self.held = data

    @property
    def data(self) -> "RecordedTensor":
        """Without its gradient, as `x.detach()`. PyTorch writes through it beside the graph, which a tape does not see."""
        made = self.detach()
        made.owner, made.way = "a value or a parameter of the forward through `x.data`", WRITES
        return made

    def detach(self) -> "RecordedTensor":
        if ACTIVE.recording is None:
            # Kept for later: it can be read.
            held = self.held.read() if isinstance(self.held, Weight) else self.held
            return RecordedTensor(detached(held))
        return call(torch.Tensor.detach, (self,), {})  # type: ignore[no-any-return]

    # Copies. Those of PyTorch get no gradient, and their original gets none through them.

    def __copy__(self) -> "RecordedTensor":
        return as_view(RecordedTensor(self._unrecorded("copy.copy")), self)  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> "RecordedTensor":
        made = memo[id(self)] = RecordedTensor(self._unrecorded("copy.deepcopy").__deepcopy__({}))
        return made

    def _unrecorded(self, name: str) -> Tensor:
        if self.requires_grad:
            raise _refused(name, "write `x.clone()`, which has a gradient, or copy `x.detach()`, which has none")
        return self.held

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise _refused("pickle", "pickle `x.detach().numpy()`")

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        return isinstance(self.held, (_native.Var, Weight))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def dtype(self) -> Any:
        """PyTorch's: a mask is `torch.bool`, and indices are `torch.int64`."""
        name = TABLE_DTYPES.get(self.held.dtype)
        return super().dtype if name is None else getattr(torch, name)

    def item(self) -> Any:
        number = self.held.item()
        return bool(number) if self.dtype == torch.bool else number

    def tolist(self) -> Any:
        return as_torch(self._read("tolist")).to(self.dtype).tolist()

    def numpy(self) -> Any:
        made = as_torch(self._read("numpy", self.requires_grad)).to(self.dtype).numpy()
        if self._is_read_as_copy():
            # PyTorch's array is the value's memory. A write into a copy would be lost without a word.
            made.flags.writeable = False
        return made

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        read = self._read("__array__", self.requires_grad)
        return (self.numpy() if read.dtype in TABLE_DTYPES else read).__array__(*args, **kwargs)

    def __dlpack__(self, **options: Any) -> Any:
        read: Any = self._read("__dlpack__", self.requires_grad)
        if read.dtype in TABLE_DTYPES:
            # A copy, which is read-only where the caller can be told so.
            version = options.get("max_version")
            read = self.numpy() if version is not None and version >= (1, 0) else as_torch(read).to(self.dtype)
        return read.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        # Asked first: `__dlpack__` then says why a value is refused, or reorders one that is blocked.
        return torch.zeros(()).__dlpack_device__()  # type: ignore[no-any-return]

    def _read(self, name: str, is_lost: bool = False) -> Tensor:
        """The numbers in rows. What would get no gradient is refused, as PyTorch refuses it."""
        if is_lost:
            raise _refused(name, "write it in PyTorch's functions, or call it on `x.detach()`, of which no gradient is wanted")
        data, recording = detached(self.held), ACTIVE.recording
        made: Tensor = (data.to_strided() if data.is_blocked else data) if recording is None else recording.plain(name, data)
        return made

    def _is_read_as_copy(self) -> bool:
        """Whether its numbers in rows are no memory of its own, or of what it is a view of."""
        alike = [x.held for r in self.family or () if isinstance(x := r(), RecordedTensor)]
        if self.held.dtype in TABLE_DTYPES or any(isinstance(x, Weight) for x in (self.held, *alike)):
            return True
        own, *others = (detached(x) for x in (self.held, *alike))
        return own.is_blocked or bool(others) and not overlap(own, max(others, key=lambda x: x.size))

    @property
    def layout(self) -> Any:
        """PyTorch's: how it lies in memory is no question of the model's."""
        return torch.strided

    def stride(self, dim: int | None = None) -> Any:
        self._check_rows("stride")
        return super().stride(dim)

    def data_ptr(self) -> int:
        self._check_rows("data_ptr")
        return super().data_ptr()

    def _check_rows(self, name: str) -> None:
        """Refuses to say where elements lie that are in blocks."""
        if getattr(self.held, "is_blocked", False):
            raise _refused(name, f"leave it out, or ask numbers in rows: `{in_pytorch()}.{name}()`")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        is_view = isinstance(self.held, Tensor) and self.held.layout.startswith("strides")
        return memory_format in (None, torch.contiguous_format) and not is_view

    def requires_grad_(self, requires_grad: bool = True) -> "RecordedTensor":
        if requires_grad != self.requires_grad:
            raise _refused("requires_grad_", "set it on parameters and inputs, before the forward")
        return self

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        return bool(self.owner) or not self.requires_grad

    @property
    def grad(self) -> Any:  # type: ignore[override]
        return self.__getattr__("grad") if self.owner and not self.way else None

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        return self.__getattr__("grad_fn")

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Masks become f32. Other dtypes and devices are an `UnsupportedOp`."""
        given = [*args, kwargs.get("dtype"), kwargs.get("device")]
        given = [y for x in given for y in ((x.dtype, x.device) if isinstance(x, (torch.Tensor, Answers)) else (x,))]
        device = next((x for x in given if isinstance(x, (str, torch.device))), "cpu")
        if torch.device(device).type != "cpu":
            raise _refused("to", "leave it out: weights and activations are on the CPU")
        dtype = next((x for x in given if isinstance(x, torch.dtype)), self.dtype)
        made = self._converted("to", dtype)
        return self.clone() if made is self and kwargs.get("copy") else made

    def _converted(self, name: str, dtype: torch.dtype) -> Any:
        """What a call of PyTorch makes of another dtype."""
        if dtype == self.dtype:
            return self
        if self.dtype == torch.bool and dtype == torch.float32:
            return call(torch.ops.aten._to_copy.default, (self,), {"dtype": dtype})
        is_float, is_wanted_float = self.dtype == torch.float32, dtype.is_floating_point or dtype.is_complex
        if dtype == torch.bool:
            remedy = "write `x != 0`" if is_float else f"write `{in_pytorch('x')}.bool()`"
        elif is_wanted_float and self.dtype != torch.int64:
            remedy = f"{'leave it out' if is_float else 'write `x.float()`'}: modules are trained in torch.float32"
        else:
            numbers = in_pytorch("x.detach()" if self.requires_grad else "x")
            remedy = f"write `{numbers}.to({dtype})`, a tensor of PyTorch, which has no gradient there either"
        text = f"a conversion of {self.dtype} to {dtype}; values in the forward of a trained module are torch.float32, or masks and indices"
        # Another float in its place would be refused again by the calls that follow.
        stand_in = torch.float32 if is_wanted_float else dtype
        return ACTIVE.recording.missed(name, refused(name, self, text, remedy), torch.Tensor.to, (self, stand_in), {})

    def cuda(self, device: Any = "cuda", *_: Any, **__: Any) -> Any:
        return self.to("cuda")

    def cpu(self) -> "RecordedTensor":
        return self

    def getitem(self, index: Any) -> "RecordedTensor":
        """The part that an index names, as a view."""
        strided = RecordedTensor(ACTIVE.recording.plain("getitem", self.held))
        return as_view(RecordedTensor(indexed(strided, index)), self)  # type: ignore[return-value]

    def setitem(self, index: Any, value: Any) -> None:
        """Writes into a part of a constant, such as a mask that the model makes."""
        if self.requires_grad or any(isinstance(x, Answers) for x in (value, *(index if isinstance(index, tuple) else (index,)))):
            raise _refused("setitem", "write it with `torch.where` or `torch.cat`")
        check_alone("setitem", self)
        # In PyTorch's dtype: any number but 0 is true in a mask.
        made = as_torch(ACTIVE.recording.plain("setitem", self.held)).to(self.dtype, copy=True)
        made[index] = value
        self.hold(shared(made))

    def __iter__(self) -> Iterator[Any]:
        return (call(torch.Tensor.__getitem__, (self, i), {}) for i in range(len(self)))

    def __reversed__(self) -> Any:
        return call(torch.Tensor.flip, (self, 0), {}) if self.ndim else self

    def __contains__(self, x: Any) -> bool:
        raise _refused("in", "call `(tensor == x).any()`")

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else getattr(torch.Tensor, name, None)
        if found is None or name.startswith("_") and callable(found):
            raise AttributeError(f"a value of a trained module has no attribute `{name}`")
        if callable(found):
            return lambda *args, **kwargs: call(found, (self, *args), kwargs)
        text = f"attribute `{name}` of a torch.Tensor: a value of a trained module has none"
        # No AttributeError: `hasattr` would say that a tensor has none, and `nn.Module` would hide the error of a property.
        raise error(UnsupportedOp, text, _INSTEAD.get(name, "compute it outside of the module"), op=name)

    def __rmul__(self, other: Any) -> Any:
        return call(torch.Tensor.mul, (self, other), {})

    def __rtruediv__(self, other: Any) -> Any:
        return self.reciprocal() * other

    def __pow__(self, other: Any) -> Any:
        # That of PyTorch's tensors makes NotImplemented of errors.
        return call(torch.pow, (self, other), {})

    def __rpow__(self, other: Any) -> Any:
        return call(torch.pow, (other, self), {})

    def __rmatmul__(self, other: Any) -> Any:
        return call(torch.matmul, (other, self), {})

    def __pos__(self) -> "RecordedTensor":
        return self

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(func, args, kwargs or {})

    def __repr__(self) -> str:
        data = self.held
        told = f"{list(data.shape)} {data.dtype} {data.layout}" if isinstance(data, Tensor) else repr(data)
        return f"RecordedTensor({told})"


def _refused(name: str, remedy: str) -> Exception:
    of = "" if name.startswith(("copy.", "pickle")) else " of PyTorch"
    text = f"op `{name}`{of}: a value in the forward of a trained module is of its tape, which PyTorch does not see"
    return error(UnsupportedOp, text, remedy, op=name)


def _no_graph(name: str) -> Callable[..., Any]:
    remedy = "call it on what the module returned" + ("" if name == "backward" else ", or on an input, outside of the forward")

    def method(self: RecordedTensor, *_: Any, **__: Any) -> Any:
        raise _refused(name, remedy)

    return method


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: RecordedTensor, *others: Any) -> Any:
        return call(getattr(torch.Tensor, name), (self, *others), {})

    return operator


#: Operators of PyTorch's tensors.
_OPERATORS = (
    "add radd sub rsub mul truediv matmul floordiv rfloordiv mod rmod and rand or ror xor rxor invert lshift rshift neg abs "
    "eq ne lt le gt ge iadd isub imul itruediv ipow getitem setitem"
).split()
for _name in _OPERATORS:
    setattr(RecordedTensor, f"__{_name}__", _operator(f"__{_name}__"))
for _name, _dtype in CONVERSIONS.items():
    setattr(RecordedTensor, _name, lambda self, memory_format=None, _name=_name, _dtype=_dtype: self._converted(_name, _dtype))
for _name in "backward register_hook register_post_accumulate_grad_hook retain_grad".split():
    setattr(RecordedTensor, _name, _no_graph(_name))
