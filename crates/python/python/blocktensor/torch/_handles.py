"""Tensors of this package beside PyTorch's: what a call reads and writes, and how errors describe it."""

import contextlib
import threading
import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .. import _native
from .._errors import DlpackUnsupported, Error, InvalidArgument, UnsupportedOp
from .._native import Tensor
from ._told import error, told_text
from ._values import Value

#: PyTorch's dtypes, by the names that they have here. A mask is u8, where PyTorch's is bool.
DTYPES = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "u8": torch.uint8,
    "s8": torch.int8,
    "s32": torch.int32,
}


class _Last(threading.local):
    """What ran last on this thread, for errors: the module of a swapped model, and how many forwards of swapped models run on it now."""

    module = ""
    inside = 0


LAST = _Last()


class _Active(threading.local):
    """The forward of a trained module that runs on this thread (`_recording.Recording`)."""

    recording: Any = None


ACTIVE = _Active()


class Family(list["weakref.ref[Any]"]):
    """Tensors that share memory. Copies of several of them that are made or pickled together share memory too, and have one family."""

    def __init__(self, members: Iterable["weakref.ref[Any]"] = ()) -> None:
        super().__init__(members)
        #: Storages of PyTorch over the memory, and how many hold each that are no other tensors.
        self.storages: list[tuple[StorageWeakRef, int]] = []
        #: Whether PyTorch has the memory of another library, which does not tell who else has it.
        self.is_foreign = False

    def add(self, x: Any) -> None:
        """Adds an object, and forgets those that are gone."""
        if len(self) > 8:
            self[:] = [r for r in self if r() is not None]
        self.append(weakref.ref(x))

    def note(self, x: torch.Tensor, is_imported: bool) -> None:
        """Notes a tensor of PyTorch that the memory came from, or that it was given to."""
        storage = x.untyped_storage()
        if len(self.storages) > 8:
            self.storages = [held for held in self.storages if not held[0].expired()]
        # The object of the storage is one holder; what is imported is held here too.
        self.storages.append((StorageWeakRef(storage), 2 if is_imported else 0))
        self.is_foreign |= is_imported and not storage.resizable()

    def is_held_elsewhere(self) -> bool:
        """Whether memory is in use that no known tensor has: by `x.detach()`, `x.numpy()`, a parameter."""
        held = ((ref, own) for ref, own in self.storages if not ref.expired())
        return self.is_foreign or any(_holders(ref) > own for ref, own in held)

    def __reduce__(self) -> Any:
        return Family, ()


def _holders(storage: StorageWeakRef) -> int:
    """How many tensors and objects hold a storage."""
    count: Any = getattr(torch._C, "_storage_Use_Count", None)
    # Where PyTorch does not tell, there may be others.
    return count(storage.cdata) if count else 1 << 30


#: What a handle notes of itself, and copies do not take over as they are.
OWN_STATE = {"held", "family", "module", "owner", "way"}


class Handle:
    """What calls read and write: a tensor of this package, and the tensors that share its memory."""

    #: The tensor of this package; in a trained forward also a variable of its tape, or a weight.
    held: Tensor
    #: A view, its base and other views of it, and other libraries' tensors over its memory. `None` where there are none.
    family: Family | None = None
    #: The module of a swapped model that made it.
    module: str = ""
    #: What it is where nothing may write into it: a parameter, an input.
    owner: str = ""
    #: What is done in place of a write into it.
    way: str = ""
    #: Functions of PyTorch that are methods.
    OWN: frozenset[str] = frozenset()
    #: The class of results, where it is not that of the operand: the user's own class may take more than a tensor.
    RESULT: "type[Handle] | None" = None

    def __init__(self, data: Any) -> None:
        self.held = data

    def hold(self, data: Any) -> None:
        """Puts another tensor in the place of its own, as calls in place do."""
        self.held = data

    @property
    def shape(self) -> Any:
        return torch.Size(self.held.shape)


def described(x: Any) -> str:
    """An operand in an error's text, without its elements."""
    data = x.held if isinstance(x, Handle) else x
    if isinstance(data, Tensor):
        return f"{list(data.shape)} {data.dtype} {data.layout}"
    if isinstance(data, torch.Tensor):
        return f"{list(data.shape)} {data.dtype} of PyTorch"
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


def refused(name: str, target: Any, reason: str, remedy: str | None = None, kind: type[Error] = UnsupportedOp) -> Exception:
    """The error for a call that no kernel is for."""
    if remedy is None and ACTIVE.recording is not None:
        remedy = "compute it outside of the trained module"
    if remedy is None:
        remedy = "call it on `x.to_strided().torch()`, and come back with `EagerTensor(y)`"
    return error(kind, f"op `{name}` of PyTorch on {described(target)}: {reason}", remedy, op=name)


#: Their masks have no gradient in PyTorch.
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")

#: Bound once: it is asked at every call.
_is_autocast_enabled = torch.is_autocast_enabled


def check_autocast(function: Any, target: Any) -> None:
    """Refuses to compute in another dtype than PyTorch would."""
    if _is_autocast_enabled("cpu"):
        reason = f"`torch.autocast` to {torch.get_autocast_dtype('cpu')} is on, and eager calls keep the dtypes of their operands"
        remedy = "call it outside of `torch.autocast`, or inside of `torch.autocast('cpu', enabled=False)`"
        raise refused(getattr(function, "__name__", str(function)), target, reason, remedy)


def check_gradient(op: str, x: Any) -> None:
    """Refuses a tensor whose gradient would be lost. Parameters, and what a swapped model computes of them, are constants here."""
    if x.requires_grad and torch.is_grad_enabled() and op not in COMPARISONS:
        if not isinstance(x, torch.nn.Parameter) and not LAST.inside:
            raise gradient_error(op, x)


def check_gradients(op: str, operands: Iterable[Any]) -> None:
    """As `check_gradient`, of all operands of a call, in lists too."""
    for x in operands:
        if isinstance(x, torch.Tensor):
            check_gradient(op, x)
        elif type(x) in (list, tuple) and x and type(x[0]) is not int:
            check_gradients(op, x)


def gradient_error(op: str, x: Any) -> Exception:
    text = f"op `{op}`: got {described(x)}, which requires a gradient, but eager tensors are for inference, and would drop it"
    return error(InvalidArgument, text, "pass `x.detach()`, or call it under `torch.no_grad()`", op=op)


class Absent:
    """A result of a call that no op computes, such as the indices of a pool: using it is an error."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        raise self.told()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise next(x for x in (*args, *(kwargs or {}).values()) if isinstance(x, cls)).told()

    def told(self) -> Exception:
        """The error for its use."""
        remedy = "call it on `x.to_strided().torch()`" if ACTIVE.recording is None else "compute it outside of the trained module"
        return error(UnsupportedOp, f"op `{self._name}` of PyTorch: no op of blocktensor computes this result", remedy, op=self._name)

    def __repr__(self) -> str:
        return f"<a result of {self._name} that no op computes>"

    __hash__ = object.__hash__


def _used(self: Absent, *_: Any) -> Any:
    raise self.told()


#: What Python and numpy ask of an operand: without these a comparison is false, and the others name this class.
_USES = "eq ne lt le gt ge getitem setitem len iter contains bool int float index array neg abs invert".split()
_TWO = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
for _name in (*_USES, *_TWO, *(f"r{name}" for name in _TWO), *(f"i{name}" for name in _TWO)):
    setattr(Absent, f"__{_name}__", _used)


#: What the table calls the dtypes of masks and indices.
TABLE_DTYPES = {"u8": "bool", "s32": "int64"}


def value_of(t: Tensor) -> Value:
    """A tensor as the table takes it."""
    dtype = t.dtype
    return Value("", t.shape, t) if dtype == "f32" else Value("", t.shape, t, TABLE_DTYPES.get(dtype, dtype))


#: Tensors of PyTorch that were operands before, most often weights: sharing their memory takes longer than small ops do.
_IMPORTED: dict[int, tuple[Any, Any, Value]] = {}


def imported(x: torch.Tensor) -> Value:
    """A tensor of PyTorch, whose memory is shared."""
    place = (x.data_ptr(), x.shape, x.stride(), x.dtype)
    known = _IMPORTED.get(id(x))
    if known is not None and known[0]() is x and known[1] == place:
        return known[2]
    value = value_of(shared(x))
    if x.dtype == torch.float32:
        key = id(x)
        _IMPORTED[key] = weakref.ref(x, lambda _: _IMPORTED.pop(key, None)), place, value
    return value


def shared(x: torch.Tensor) -> Tensor:
    """A tensor of this package over the memory of PyTorch's; indices and masks are converted."""
    try:
        return _native.from_dlpack(narrowed(x.detach()))
    except DlpackUnsupported as e:
        raise error(UnsupportedOp, str(e).removesuffix(f"; {e.remedy}"), e.remedy, op=e.op) from e
    except Error as e:
        if is_traceable_wrapper_subclass(x):
            text = f"op `from_dlpack`: got a tensor of the class `{type(x).__name__}`, whose elements cannot be shared"
            raise error(UnsupportedOp, text, "pass a plain tensor; in place of a model with such weights the model as it was before", op="from_dlpack") from e
        raise
    except Exception as e:
        # Tensors without elements of their own: PyTorch says why.
        remedy = "pass a dense tensor on the CPU"
        raise error(UnsupportedOp, f"op `from_dlpack`: got {described(x)}: {told_text(e)}", remedy, op="from_dlpack") from e


def as_torch(t: Tensor) -> torch.Tensor:
    """A tensor of PyTorch over the memory of this package's. It may be written into, which `torch.from_dlpack(t)` prevents."""
    return torch.from_dlpack(t.__dlpack__(max_version=(1, 1)))


def narrowed(x: torch.Tensor) -> torch.Tensor:
    """Indices as s32 and masks as u8: dtypes that this package has."""
    if x.dtype == torch.bool:
        return x.to(torch.uint8)
    if x.dtype != torch.int64:
        return x
    if x.numel() and (x.max() > 2**31 - 1 or x.min() < -(2**31)):
        text = f"op `from_dlpack`: got {described(x)}: its elements do not fit into s32, which indices have here"
        raise error(UnsupportedOp, text, "pass `x.float()`, or smaller numbers", op="from_dlpack")
    return x.to(torch.int32)


#: Writes whose call that makes a tensor has another name.
_MAKING = {"zero_": "torch.zeros_like(x)", "fill_": "torch.full_like(x, value)", "copy_": "other.clone()"}


def making(name: str) -> str:
    """The call that makes a tensor in place of a write."""
    call = _MAKING.get(name, name.rstrip("_"))
    return f"call `{call}`, which makes a tensor"


def check_alone(name: str, target: Handle) -> None:
    """Refuses to write where another tensor would have to change too."""
    if target.owner:
        raise refused(name, target, f"it writes into {target.owner}", target.way or f"{making(name)}, or leave `inplace=True` out")
    others = [x for r in target.family or () if (x := r()) is not None and x is not target]
    if any(isinstance(x, Handle) for x in others):
        remedy = target.way or f"{making(name)}, or `.clone()` one of them first"
        raise refused(name, target, "it writes into memory that another eager tensor is a view of", remedy)
    if others:
        whose = f"of a {type(others[0]).__module__}.{type(others[0]).__name__}".replace("builtins.", "")
    elif target.family is not None and target.family.is_held_elsewhere():
        whose = "that PyTorch shares with another tensor or array"
    else:
        return
    raise refused(name, target, f"it writes into memory {whose}, which would not change", f"{making(name)}, or write into `x.clone()`")


def with_owner(made: Handle, x: Any, is_imported: bool = False) -> None:
    """Notes that an eager tensor has the memory of another library's tensor: it was made of that one, or gave its memory to it."""
    owners = [x, x._base] if isinstance(x, torch.Tensor) else [x]
    family = family_of(made)
    if isinstance(x, torch.Tensor):
        family.note(x, is_imported)
    for owner in owners:
        if owner is not None:
            # Objects without weak references keep no memory that is written elsewhere, such as `bytes`.
            with contextlib.suppress(TypeError):
                family.add(owner)


def owner_of(x: Handle) -> torch.Tensor | None:
    """The tensor of PyTorch whose memory and shape an eager tensor has, while it lives."""
    data = x.held
    for r in x.family or ():
        one = r()
        if not isinstance(one, torch.Tensor) or type(one) not in (torch.Tensor, torch.nn.Parameter):
            continue
        is_alike = one.shape == x.shape and one.stride() == data.strides and one.dtype == DTYPES[data.dtype]
        if is_alike and one.data_ptr() == data.data_ptr():
            return one
    return None


def as_view(made: Handle, base: Handle) -> Handle:
    """Notes that two eager tensors share memory in PyTorch."""
    join(made, family_of(base))
    return made


def family_of(x: Handle) -> Family:
    """The tensors that share memory with it, itself among them."""
    if x.family is None:
        x.family = Family([weakref.ref(x)])
    return x.family


def join(made: Handle, family: Family) -> None:
    vars(made)["family"] = family
    family.add(made)


def again(kind: type[Any], data: Tensor, family: Family) -> Any:
    """A copy of a tensor, without its attributes. None of the class's own code runs, as for copies of PyTorch's tensors."""
    made = object.__new__(kind)
    vars(made)["held"] = data
    join(made, family)
    return made


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two strided tensors lie in the same memory."""
    if a.is_blocked or b.is_blocked or not a.size or not b.size:
        return False

    def end(x: Tensor) -> int:
        steps = sum((size - 1) * stride for size, stride in zip(x.shape, x.strides, strict=True))
        return int(x.data_ptr() + (steps + 1) * DTYPES[x.dtype].itemsize)

    return a.data_ptr() < end(b) and b.data_ptr() < end(a)
