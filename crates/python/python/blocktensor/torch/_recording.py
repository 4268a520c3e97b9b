"""One forward of a module that is trained: its calls run as ops, on a tape where a gradient is wanted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import _native
from .._errors import (
    Aliasing,
    DTypeMismatch,
    Error,
    InvalidArgument,
    KeyMismatch,
    LayoutMismatch,
    OpaqueLayoutError,
    RankMismatch,
    UnsupportedDType,
    UnsupportedOp,
)
from .._native import Tape, Tensor, Var
from ._before import Before
from ._calls import call as call_torch
from ._handles import ACTIVE, Handle, check_autocast, shared, value_of
from ._lower import RESULTS
from ._parts import check_not_inside
from ._recorded import RecordedTensor
from ._told import error, first_line, in_pytorch
from ._trained_ends import check_elements
from ._values import Value, is_per_channel
from ._weights import Packing, Weight, block_of, detached

#: The arguments of each op, in order.
_ARGUMENTS = {schema["name"]: [a["name"] for a in schema["args"]] for schema in _native.schemas()}

#: What an op raises that has no kernel, or no gradient, for blocked operands.
_ONLY_STRIDED = (UnsupportedOp, KeyMismatch, LayoutMismatch, OpaqueLayoutError, InvalidArgument, RankMismatch)

_FORMATS = {3: "channels_last_1d", 4: "channels_last", 5: "channels_last_3d"}
_FLOATS = ("f32", "bf16", "f16")

#: Elements of a buffer that is copied when it is read.
_SMALL = 4096

#: Integers of few bits: u8 is a mask in a forward.
_WRAP = {torch.uint8, torch.int8, torch.int16}

#: Ops whose results are integers: comparisons and indices. They have no gradient in PyTorch either, and end what is recorded.
_ENDS = {op for op, kinds in RESULTS.items() if kinds and all(kind in ("u8", "s32") for kind in kinds)}


class Recording:
    """What a forward does, and what is left to be done when it has ended."""

    def __init__(self, module: torch.nn.Module, tape: Tape | None, layout: str, algorithm: str) -> None:
        self.module, self.tape, self.layout, self.algorithm = module, tape, layout, algorithm
        #: Whether calls are recorded now: not under `torch.no_grad()`.
        self.records = tape is not None
        #: Each reorder of an activation: the module, what was reordered, and into which layout.
        self.reorders: list[dict[str, Any]] = []
        #: Calls that cannot run, or have no gradient: the module, the call, the reason.
        self.missing: list[tuple[str, str, str]] = []
        #: The first error for a dtype: where nothing else is missing, it is raised as it is.
        self._of_dtypes: Exception | None = None
        #: Tensors of PyTorch whose memory the tape shares.
        self.shared: list[torch.Tensor] = []
        #: The same that are no small buffers of the module, with their versions when they were read.
        self._read: list[tuple[torch.Tensor, int]] = []
        #: Small buffers of the module, by their ids: of them the forward reads copies, since it may count in them after that.
        self._small: set[int] = set()
        self._reordered: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._paths: dict[int, str] | None = None

    @contextmanager
    def active(self, keeps: bool = True) -> Iterator[None]:
        """Makes it the forward of this thread. Unless it `keeps`, the module is afterwards as it was, as after an error: see `Before`."""
        check_not_inside(self.module, ACTIVE.recording)
        before = Before(self.module, all_elements=not keeps)
        self._small = {id(x) for x in before.buffers() if x.numel() <= _SMALL}
        ACTIVE.recording = self
        try:
            yield
            if self.missing:
                raise self._told()
            before.check_assigned()
            self._check_written()
            if not keeps:
                before.put_back()
        except BaseException as e:
            before.put_back()
            if isinstance(e, (TypeError, ValueError, RuntimeError)) and not isinstance(e, Error):
                self._check_taken(e)
            if self.missing and isinstance(e, Exception) and not getattr(e, "missing", None):
                # The model's code met zeros in place of results.
                if isinstance(e, UnsupportedOp):
                    self._miss(e.op or "", e)
                told = self._told()
                if told is not e:
                    raise told from e
            raise
        finally:
            ACTIVE.recording = None
            self._reordered.clear()

    def _check_taken(self, e: Exception) -> None:
        """Raises the error for code that took a value of the forward for a tensor of PyTorch, which its own error names."""
        text = f"op `train`: PyTorch took a value of the forward for a tensor of its own: {first_line(str(e))}"
        if RecordedTensor.__name__ not in str(e):
            return
        # Such as `buffer.data = y`, and functions in C++.
        remedy = "write it in calls of PyTorch's functions, or return the value from `forward`"
        if isinstance(e, (RuntimeError, ValueError)):
            remedy = "write plain Python in place of what was scripted (`torch.jit.script`) or transforms (`torch.vmap`)"
        if "not a storage" in str(e):
            # `torch.Tensor(x)`, which other values of `x` are sizes of.
            remedy = "write `torch.tensor(x.detach())`"
        raise error(UnsupportedOp, text, remedy, op="train") from e

    def _check_written(self) -> None:
        """Refuses a forward that writes into a tensor which it has read: `backward` would read what is there now."""
        written = next((x for x, version in self._read if x._version != version), None)
        if written is not None:
            text = f"op `train`: the forward reads a tensor of {list(written.shape)} {written.dtype}, and writes into it after that"
            raise error(Aliasing, text, "read a copy, `x.clone()`", op="train")

    # Calls of PyTorch.

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a function of PyTorch. One that cannot run is noted, and gives zeros, so that all such calls are found."""
        before = self.records
        self.records = self.tape is not None and torch.is_grad_enabled()
        try:
            if self.tape is not None and not self.records:
                _check_function()
            check_autocast(function, args[0] if args else None)
            check_elements((*args, *kwargs.values()))
            if function in (torch.autograd.grad, torch.autograd.backward):
                raise _in_the_graph(function)
            if _draws(function) and args and isinstance(args[0], Handle):
                # PyTorch's own numbers, which its code may write into.
                return function(torch.empty(args[0].shape, dtype=args[0].dtype), *args[1:], **kwargs)  # type: ignore[attr-defined]
            return call_torch(function, args, kwargs)
        except UnsupportedOp as e:
            if e.missing:
                # The list of an inner call, at which the search ended.
                raise
            return self.missed(_name_of(function), e, function, args, kwargs)
        except (DTypeMismatch, UnsupportedDType) as e:
            told = self._of_dtype(e, [*args, *kwargs.values()])
            if self._of_dtypes is None:
                self._of_dtypes = told
            return self.missed(_name_of(function), told, function, args, kwargs)
        finally:
            self.records = before

    def missed(self, name: str, e: Error, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Notes a call that cannot run. Zeros stand in for its result, which `function` tells the sizes of."""
        self._miss(name, e)
        return self._stand_in(function, args, kwargs, e)

    def _miss(self, name: str, e: Error) -> None:
        self.missing.append((self.path(), name, first_line(str(e))))

    def _of_dtype(self, e: DTypeMismatch | UnsupportedDType, given: list[Any]) -> Any:
        """An op's error for a dtype, with the conversion that values and tensors of PyTorch have, and the module."""
        indices = any(isinstance(x, RecordedTensor) and x.held.dtype == "s32" for x in pytree.tree_leaves(given))
        remedy = f"compute with it in PyTorch: `{in_pytorch('x')}`" if indices else "pass `x.float()`"
        text = str(e).removesuffix(f"; {e.remedy}").removeprefix(f"op `{e.op}`: ")
        made: Any = error(type(e), f"op `{e.op}` in module `{self.path()}`: {text}", remedy, op=e.op)
        made.operands = e.operands
        return made

    def _stand_in(self, function: Any, args: Any, kwargs: dict[str, Any], e: Error) -> Any:
        """Zeros of the sizes that PyTorch gives the result. Where it does not tell, the search ends here."""

        def without_elements(x: Any) -> Any:
            if isinstance(x, Handle):
                return torch.empty(x.shape, dtype=x.dtype, device="meta")  # type: ignore[attr-defined]
            return x.to("meta") if isinstance(x, torch.Tensor) else x

        def zeros(x: torch.Tensor) -> RecordedTensor:
            made = shared(torch.zeros(x.shape, dtype=x.dtype))
            return RecordedTensor(self.tape.variable(made) if self.tape is not None and x.is_floating_point() else made)

        try:
            given = pytree.tree_map(without_elements, (args, kwargs), is_leaf=lambda x: isinstance(x, Handle))
            with torch.no_grad():
                made = function(*given[0], **given[1])
            return pytree.tree_map_only(torch.Tensor, zeros, made)
        except Exception:
            told = self._told()
            raise told from None if told is e else e

    def _told(self) -> Exception:
        """One error for all calls that cannot run."""
        if self._of_dtypes is not None and len(set(self.missing)) == 1:
            return self._of_dtypes
        missing = list(dict.fromkeys(self.missing))
        lines = "\n".join(f"  module `{path}`: {name}: {reason}" for path, name, reason in missing)
        what = "cannot be recorded" if self.tape is not None else "cannot run"
        text = f"op `train`: {len(missing)} call{'s' * (len(missing) != 1)} {what}:\n{lines}\n"
        remedy = "change the model as each line says, or keep such modules out of what is trained here"
        made = UnsupportedOp(text + remedy)
        made.op, made.remedy = "train", remedy
        made.missing = missing  # type: ignore[attr-defined]
        return made

    def path(self) -> str:
        """The module whose code runs."""
        if self._paths is None:
            self._paths = {id(module): path or type(module).__name__ for path, module in self.module.named_modules()}
        frame: Any = sys._getframe(1)
        while frame is not None:
            # Of other frames the variables would be kept alive by being read.
            path = self._paths.get(id(frame.f_locals["self"])) if frame.f_code is _CALL else None
            if path is not None:
                return path
            frame = frame.f_back
        return type(self.module).__name__

    # What the calls read.

    def value(self, x: Any) -> Value:
        """An operand of a call as the table takes it."""
        if isinstance(x, Handle):
            return value_of(x.held)
        if isinstance(x, torch.Tensor):
            if x.requires_grad and self.records:
                text = "an operand that requires a gradient, and is no parameter of the module and none of its inputs"
                remedy = "make it a parameter, pass it as an input (of its own, or in a list, tuple or dict), or call `.detach()`"
                raise error(UnsupportedOp, text, remedy, op="train")
            if x.dtype in _WRAP:
                text = f"an operand of {x.dtype}, whose numbers wrap around"
                raise error(UnsupportedOp, text, "pass `x.float()`, or `x.bool()` of a mask", op="train")
            if self.records and id(x) in self._small:
                return value_of(shared(x.detach().clone()))
            self.shared.append(x)
            if self.records and not x.is_inference():
                self._read.append((x, x._version))
            return value_of(shared(x))
        return value_of(detached(x))

    def write(self, place: torch.Tensor, new: Any) -> None:
        """Writes into a buffer of the module."""
        # The op that made the new values has read a copy.
        self.shared = [x for x in self.shared if x is not place]
        self._read = [(x, version) for x, version in self._read if x is not place]
        with torch.no_grad():
            place.copy_(torch.from_dlpack(detached(new)))

    # Ops.

    def run(self, op: str, given: list[Any], call: str = "") -> Any:
        """Runs an op. Convolutions make activations blocked; what has no kernel for blocked tensors makes them strided."""
        if op == "sqrt" and call != "sqrt":
            return self._root(given[0])
        if not self.records or op in _ENDS:
            given = _mapped(detached, given)
        if op.startswith("conv"):
            given = self._of_convolution(op, given)
        given = _mapped(lambda x: x.plain() if isinstance(x, Weight) else x, given)
        op, given = self._alike(op, given)
        try:
            made = self._made(op, given)
        except _ONLY_STRIDED:
            if not any(_is_blocked(x) for x in _leaves(given)):
                raise
            made = _native.call(op, None, *_mapped(lambda x: self.plain(op, x), given))
        return _mapped(self._result, [made])[0]

    def _made(self, op: str, given: list[Any]) -> Any:
        """What an op makes. A convolution is computed by the algorithm of the training where it takes that."""
        if self.algorithm != "direct" and "algorithm" in _ARGUMENTS.get(op, ()):
            at = _ARGUMENTS[op].index("algorithm")
            try:
                return _native.call(op, None, *given[:at], self.algorithm, *given[at + 1 :])
            except InvalidArgument as e:
                if e.operands != [f"algorithm: `{self.algorithm}`"]:
                    raise
        return _native.call(op, None, *given)

    def _result(self, x: Any) -> Any:
        # A comparison or an index has no gradient, and calls that follow none of its own.
        return x.tensor if isinstance(x, Var) and x.dtype not in _FLOATS else x

    def _root(self, x: Any) -> Any:
        """A root in a call of several ops, such as a norm: at 0 PyTorch gives these a gradient of 0, and a root one of infinity."""
        apart = self.run("ne_scalar", [detached(x), 0.0]).to_dtype("f32")
        zero = self.run("add_scalar", [self.run("neg", [apart]), 1.0])
        return self.run("mul", [self.run("sqrt", [self.run("add", [x, zero])], "sqrt"), apart])

    def _of_convolution(self, op: str, given: list[Any]) -> list[Any]:
        """The operands of a convolution in the layout of the training."""
        names = _ARGUMENTS[op]
        source, weights = names.index("x"), names.index("weights")
        x = given[source]
        if x.ndim not in _FORMATS or x.dtype != "f32":
            return given
        given = list(given)
        if self.layout == "nhwc":
            if not x.is_blocked and x.layout != _FORMATS[x.ndim]:
                given[source] = self._reorder(op, x, _FORMATS[x.ndim])
            return given
        given[source] = x = x if x.is_blocked else self._reorder(op, x, "blocked")
        packing = Packing(given[names.index("groups")] or 1, "transpose" in op, block_of(x.layout))
        w = given[weights]
        given[weights] = w.packed(packing) if isinstance(w, Weight) else w if w.is_blocked else packing.pack(w)
        return given

    def _alike(self, op: str, given: list[Any]) -> tuple[str, list[Any]]:
        """Strided operands beside blocked ones of the same sizes are blocked too; one with a number for each channel has an op."""
        tensors = [x for x in _leaves(given) if isinstance(x, Tensor)]
        blocked = next((x for x in tensors if x.is_blocked), None)
        if blocked is None or all(x.is_blocked for x in tensors) or op.startswith("conv"):
            return op, given
        if op in ("add", "mul") and len(tensors) == 2:
            other = next(x for x in tensors if not x.is_blocked)
            if is_per_channel(other.shape, blocked.shape):
                return f"{op}_channel", [blocked, _native.call("reshape", None, other, [-1])]
        layout = blocked.layout

        def alike(x: Any) -> Any:
            is_other = isinstance(x, Tensor) and not x.is_blocked and x.shape == blocked.shape
            return self._reorder(op, x, layout) if is_other and x.dtype == blocked.dtype else x

        return op, _mapped(alike, given)

    def plain(self, op: str, x: Any) -> Any:
        """A tensor that is strided."""
        x = x.plain() if isinstance(x, Weight) else x
        x = x if self.records else detached(x)
        return self._reorder(op, x, "contiguous") if _is_blocked(x) else x

    def result(self, x: Any) -> tuple[Any, bool]:
        """A result of the forward in rows, and whether nothing else reads its memory."""
        is_alone = _is_blocked(x) and (id(x), "contiguous") not in self._reordered
        made = self.plain("output", x)
        return (made, is_alone) if made.layout == "contiguous" else (made.contiguous(), True)

    def _reorder(self, op: str, x: Any, to: str) -> Any:
        """Reorders a tensor once, however many calls want it."""
        known = self._reordered.get((id(x), to))
        if known is not None:
            return known[1]
        if to == "contiguous" or to in _FORMATS.values():
            made = x.to_strided(to)
        else:
            made = x.to_blocked(None if to == "blocked" else to)
        self._reordered[id(x), to] = x, made
        told = {"module": self.path(), "op": op, "from": x.layout, "to": made.layout, "shape": tuple(x.shape)}
        self.reorders.append({**told, "bytes": x.size * 4})
        return made


def _is_blocked(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_blocked


def _mapped(function: Callable[[Any], Any], given: Any) -> list[Any]:
    return [[function(x) for x in one] if isinstance(one, (list, tuple)) else function(one) for one in given]


def _leaves(given: list[Any]) -> list[Any]:
    return [x for one in given for x in (one if isinstance(one, (list, tuple)) else [one])]


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", str(function)).strip("_")


def _draws(function: Any) -> bool:
    """Whether a function makes a tensor of the sizes of another, whose elements are drawn, or are not set yet."""
    name = getattr(function, "__name__", "")
    return name in ("new_empty", "empty_like") or name.startswith("rand") and name.endswith("_like")


def _in_the_graph(function: Any) -> Exception:
    """The error for a gradient that is wanted inside of a forward."""
    name = f"torch.autograd.{function.__name__}"
    text = f"op `{name}`: a value in the forward of a trained module is of its tape, which PyTorch does not see"
    remedy = (
        "call it on what the module returned: `torch.autograd.grad(net(x).sum(), x)` for inputs; "
        "after `backward`, `net.gradients()` has those of weights"
    )
    return error(UnsupportedOp, text, remedy, op=name)


#: The code that calls a module's forward.
_CALL = torch.nn.Module._wrapped_call_impl.__code__


def _forwards() -> set[Any]:
    """The code of `forward` of all functions with a gradient of their own."""
    found, classes = set(), [torch.autograd.Function]
    while classes:
        one = classes.pop()
        classes += one.__subclasses__()
        found.add(getattr(one.forward, "__code__", None))
    return found - {torch.autograd.Function.forward.__code__}


def _check_function() -> None:
    """Refuses a function with a gradient of its own (`torch.autograd.Function`), whose forward runs without gradients."""
    forwards = _forwards()
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code in forwards:
            text = "a `torch.autograd.Function` of the model's own, whose gradient PyTorch computes"
            raise error(UnsupportedOp, text, "write it in PyTorch's functions, or pass `use_reentrant=False` to a checkpoint", op="train")
        frame = frame.f_back
