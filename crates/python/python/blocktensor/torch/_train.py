"""Modules that are trained: PyTorch sees inputs, outputs and their gradients, the tape of `blocktensor.grad` the rest."""

import math
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from typing import Any

import torch
from torch.nn.modules import module as torch_modules
from torch.utils import _pytree as pytree

from .. import _native
from .._errors import Aliasing, InvalidArgument, UnsupportedOp
from .._native import AdamW, Gradients, SGD, Tensor, Var
from ._beside import OfOnePlan, check_compiled
from ._handles import ACTIVE, as_torch, overlap, shared
from ._inputs import check_traced, traced
from ._kept import Owned, Parameters
from ._options import check_module
from ._parts import check_not_inside, check_parts, check_saved, in_place_of
from ._recorded import RecordedTensor
from ._recording import Recording
from ._told import error, told_text
from ._trained_ends import check_input, check_result, told_elements, told_inputs
from ._unwrap import unwrapped
from ._weights import native_block

#: The modules there are: an optimiser keeps its state by the names of one module's weights.
_MODULES: "weakref.WeakSet[TrainedModule]" = weakref.WeakSet()

_LAYOUTS = ("blocked", "nhwc")
_WEIGHTS = ("blocktensor", "torch")
_ALGORITHMS = ("direct", "winograd2", "winograd4")

#: What to trace in place of a trained module.
TRACED = "trace a model that has loaded `net.state_dict()`"


def train(
    model: torch.nn.Module,
    optimizer: "SGD | AdamW | None" = None,
    *,
    layout: str = "blocked",
    weights: str = "blocktensor",
    algorithm: str = "direct",
) -> "TrainedModule":
    """The model as a module that is trained: `net(x)`, `loss.backward()`, `net.step()`.

    `weights="blocktensor"`: the module owns copies of the weights, packed here, and `net.step()` moves them by `optimizer`, which is a
    `blocktensor.grad.SGD` or `AdamW`. The model itself stays as it is; `model.load_state_dict(net.state_dict())` takes the weights back.
    `weights="torch"`: the model's own parameters are used and get their `grad`, for an optimiser of PyTorch. Convolutions pack them in
    every forward, which the ledger shows.
    `layout` is "blocked", or "nhwc": channels last.
    `algorithm` is how convolutions are computed, and their gradients: "direct", or "winograd2" or "winograd4" for those of 3x3 with stride
    1 in blocked layout, which take a half to a third of the multiplications and round otherwise.
    """
    check_module(model, "train")
    check_parts(model, "train", "swapped", "trained")
    check_saved(model)
    for name, given, known in (("layout", layout, _LAYOUTS), ("weights", weights, _WEIGHTS), ("algorithm", algorithm, _ALGORITHMS)):
        if given not in known:
            text = f"op `train`: argument `{name}`: got {given!r}, but it is one of {', '.join(map(repr, known))}"
            raise error(InvalidArgument, text, "pass one of them", op="train")
    if optimizer is not None:
        _check_optimizer("train", optimizer, None)
    if optimizer is not None and weights == "torch":
        text = 'op `train`: argument `optimizer`: got one beside `weights="torch"`, but weights of PyTorch are moved by its optimisers'
        raise error(InvalidArgument, text, "leave it out, and pass `net.parameters()` to one of `torch.optim`", op="train")
    if algorithm != "direct" and layout != "blocked":
        text = f"op `train`: argument `algorithm`: got {algorithm!r} beside `layout={layout!r}`, but it is for blocked tensors"
        raise error(InvalidArgument, text, 'pass "direct", or `layout="blocked"`', op="train")
    model = unwrapped(model)
    if layout == "blocked":
        # Found by a reorder, once in a process: not in a forward that may have none.
        native_block()
    kept = Owned(model, layout) if weights == "blocktensor" else Parameters(model, layout)
    return TrainedModule(kept, optimizer, layout, algorithm)


def _number(name: str, x: Any, such: str) -> float:
    try:
        return float(x)
    except (TypeError, ValueError, RuntimeError, OverflowError) as e:
        text = f"op `clip_grad_norm_`: argument `{name}`: got {x!r}, but it is a number"
        raise error(InvalidArgument, text, f"pass one such as {such}", op="clip_grad_norm_") from e


def _is_asked_by(package: str) -> bool:
    """Whether code of a package of PyTorch asks: the walk's error would name what its caller did not call.

    `torch.compile` looks at the buffers of a module that its code meets, before it finds that the module is not compiled.
    """
    frame: Any = sys._getframe(2)
    for _ in range(6):
        if frame is None or str(frame.f_globals.get("__name__")).startswith(package):
            return frame is not None
        frame = frame.f_back
    return False


def _check_optimizer(op: str, optimizer: Any, owner: "TrainedModule | None") -> None:
    """Refuses what is no optimiser of this package, and one of another module: its state is by the names of weights."""
    text = f"op `{op}`: argument `optimizer`: got"
    if not isinstance(optimizer, (SGD, AdamW)):
        what = f"{text} {type(optimizer).__name__}, but it is a `blocktensor.grad.SGD` or `AdamW`"
        raise error(InvalidArgument, what, 'pass one, or `weights="torch"` for an optimiser of PyTorch', op=op)
    if any(other is not owner and other.optimizer is optimizer for other in list(_MODULES)):
        what = f"{text} that of another trained module, but its velocities or means are of one module's weights"
        raise error(InvalidArgument, what, "make one for each module", op=op)


class TrainedModule(OfOnePlan):
    """A model that is trained by this package. `state_dict` has PyTorch's names and plain weights."""

    TOLD = ("a trained module", "the model")

    kept: Owned | Parameters
    #: What moves the weights. Its `lr` may be set between steps.
    optimizer: "SGD | AdamW | None"
    layout: str
    algorithm: str
    #: The reorders of activations in the last forward: module, op, layouts, sizes, bytes.
    reorders: list[dict[str, Any]]
    _lock: threading.Lock

    def __init__(self, kept: Owned | Parameters, optimizer: "SGD | AdamW | None", layout: str, algorithm: str) -> None:
        super().__init__()
        own: dict[str, Any] = self.__dict__
        own["kept"], own["optimizer"], own["layout"], own["algorithm"] = kept, optimizer, layout, algorithm
        own["_lock"] = threading.Lock()
        own["reorders"] = []
        own.update(kept.dictionaries())
        self.training = kept.module.training
        _MODULES.add(self)

    def _parts(self) -> set[str]:
        kept: Owned | Parameters | None = self.__dict__.get("kept")
        return set() if kept is None else kept.parts()

    def _no_part(self, name: str) -> Exception:
        remedy = 'freeze parts of the model before `train`, or pass `weights="torch"`, which keeps the model\'s own'
        return AttributeError(f"{super()._no_part(name)}; {remedy}")

    # What PyTorch's modules have.

    def train(self, mode: bool = True) -> "TrainedModule":
        # Packed modules are for inference, and stay so.
        with in_place_of("train", self.kept.module, lambda packed, _: lambda mode=True: packed):
            self.kept.module.train(mode)
        self.training = mode
        return self

    def requires_grad_(self, requires_grad: bool = True) -> "TrainedModule":
        self.kept.module.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients, which `backward` adds to."""
        self.kept.zero_grad(set_to_none)

    def named_parameters(self, *args: Any, **named: Any) -> Generator[tuple[str, torch.nn.Parameter]]:
        """Those of `weights="torch"`. Packed weights are no tensors of PyTorch."""
        self.kept.check_walk("parameters")
        yield from super().named_parameters(*args, **named)

    def named_modules(self, *args: Any, **named: Any) -> Generator[tuple[str, torch.nn.Module]]:
        """Those of `weights="torch"`. Code that walks a model would not find packed weights, nor reach the modules that are trained."""
        if _is_asked_by("torch.fx."):
            raise traced("torch.fx.symbolic_trace", TRACED)
        if not _is_asked_by("torch._dynamo."):
            self.kept.check_walk("named_modules")
        yield from super().named_modules(*args, **named)

    def named_children(self) -> Generator[tuple[str, torch.nn.Module]]:
        if _is_asked_by("torch.jit."):
            raise traced("torch.jit.trace", TRACED)
        self.kept.check_walk("named_children")
        yield from super().named_children()

    def apply(self, fn: Any) -> "TrainedModule":
        self.kept.check_walk("apply")
        super().apply(fn)
        return self

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> float:
        """Scales the gradients of all weights to this norm at most, as `torch.nn.utils.clip_grad_norm_`. Returns the norm before."""
        most, kind = _number("max_norm", max_norm, "1.0"), _number("norm_type", norm_type, "2.0 or `math.inf`")
        norm = self.kept.grad_norm(kind)
        if error_if_nonfinite and not math.isfinite(norm):
            text = f"op `clip_grad_norm_`: argument `error_if_nonfinite`: got True, and the norm of the gradients is {norm}"
            raise error(InvalidArgument, text, "pass False to scale by such a norm, or look for the gradient in `net.gradients()`", op="clip_grad_norm_")
        # What PyTorch scales by, NaN included.
        self.kept.scale_gradients(float(torch.clamp(torch.tensor(most / (norm + 1e-6), dtype=torch.float64), max=1.0)))
        return norm

    def _apply(self, fn: Any, recurse: bool = True) -> "TrainedModule":
        self.kept.apply(super()._apply, fn, recurse)
        return self

    def load_state_dict(self, *args: Any, **options: Any) -> Any:
        """As PyTorch's. With `weights="blocktensor"` an error changes nothing."""
        with self.kept.unchanged_by_errors():
            return super().load_state_dict(*args, **options)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        self.kept.save(destination, prefix, keep_vars)

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        self.kept.load(*args, **options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        text = "op `train`: a trained module is not copied: its optimiser is not"
        remedy = "keep `net.state_dict()` and `net.optimizer.state_dict()`, and make another module of the model"
        raise error(UnsupportedOp, text, remedy, op="copy")

    def __prepare_scriptable__(self) -> Any:
        text = "`torch.jit.script` compiles Python, and a trained module records it"
        raise error(UnsupportedOp, text, "script a model that has loaded `net.state_dict()`", op="torch.jit.script")

    def extra_repr(self) -> str:
        ways = f"layout={self.layout!r}, weights={self.kept.name!r}, algorithm={self.algorithm!r}"
        return f"{type(self.kept.module).__name__}, {ways}"

    # Training.

    def step(self) -> None:
        """Moves the weights by the optimiser. The gradients stay until `zero_grad`, as in PyTorch."""
        if self.optimizer is not None:
            _check_optimizer("step", self.optimizer, self)
        self.kept.step(self.optimizer)

    def gradients(self) -> dict[str, torch.Tensor | None]:
        """Copies of the weights' gradients, by PyTorch's names; `None` where there is none."""
        return self.kept.gradients()

    def check(self, *args: Any, **named: Any) -> None:
        """Raises the error that lists all calls without an op or a gradient, for inputs like these. `reorders` are those of a forward.

        It runs the model's forward once. Buffers, attributes of modules (with the entries of lists, dictionaries and sets, and the elements
        of tensors) and PyTorch's generator of random numbers are afterwards as before. Not put back are deeper objects that the forward
        writes into, what is outside of the model, and other generators.
        """
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            _unrecorded(self, args, named, False)

    def forward(self, *args: Any, **named: Any) -> Any:
        """Runs the model. Where PyTorch records gradients, the results require one."""
        if torch.compiler.is_compiling():
            check_compiled()
        if torch._C._is_tracing() or torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None:
            check_traced(TRACED)
        check_not_inside(self.kept.module, ACTIVE.recording)
        return _unrecorded(self, args, named, True)

    def _locked(self, args: Any, named: Any, keeps: bool) -> Any:
        if not self._lock.acquire(blocking=False):
            text = "op `train`: the module runs on another thread, or inside of its own forward"
            raise error(InvalidArgument, text, "make one for each thread", op="train")
        try:
            return self._forward(args, named, keeps)
        finally:
            self._lock.release()

    def _forward(self, args: Any, named: Any, keeps: bool) -> Any:
        if torch.is_autocast_enabled("cpu"):
            text = f"op `train`: `torch.autocast` to {torch.get_autocast_dtype('cpu')} is on, and modules are trained in torch.float32"
            raise error(UnsupportedOp, text, "call the module outside of it", op="train")
        _check_hooks(self.kept.module)
        leaves, structure = pytree.tree_flatten((args, named))
        for x in leaves:
            check_input(x)
        inputs = [x for x in leaves if isinstance(x, torch.Tensor)]
        # Each once: PyTorch adds up what it is told for each.
        told = list({id(x): x for x in (*inputs, *self.kept.anchors())}.values())
        wants = torch.is_grad_enabled() and any(x.requires_grad for x in told)
        tape = _native.record_gradients() if wants else None
        recording = Recording(self.kept.module, tape, self.layout, self.algorithm)
        run = _Run(recording, self.kept)
        with recording.active(keeps), self.kept.installed(recording) as variables:
            run.variables = variables
            leaves = [run.input(x) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in leaves]
            args, named = pytree.tree_unflatten(leaves, structure)
            with told_inputs((*args, *named.values())), told_elements():
                made = self.kept.module(*args, **named)
            results, spec = pytree.tree_flatten(made)
            for x in results:
                check_result(x)
            results = [run.output(x) if isinstance(x, RecordedTensor) else x for x in results]
        self.__dict__["reorders"] = recording.reorders
        results = run.attached(told, results)
        return pytree.tree_unflatten(results, spec)


def _locked(module: TrainedModule, args: Any, named: Any, keeps: bool) -> Any:
    return module._locked(args, named, keeps)


#: Outside of its graphs, `torch.compile` would record the frames of this package one by one.
_unrecorded: Callable[..., Any] = torch.compiler.disable(_locked)


class _Run:
    """What one forward took and made."""

    def __init__(self, recording: Recording, kept: Owned | Parameters) -> None:
        self.recording, self.kept, self.version = recording, kept, kept.version
        #: The variables of the weights, by name.
        self.variables: dict[Any, Any] = {}
        #: The tensors that PyTorch was told of, in order.
        self.told: list[torch.Tensor] = []
        #: The value of each input, by the id of the tensor, which `recording.shared` keeps.
        self._inputs: dict[int, RecordedTensor] = {}
        #: Results that require a gradient, and their values on the tape.
        self._outputs: dict[int, tuple[torch.Tensor, Any]] = {}
        self._made: dict[int, tuple[RecordedTensor, torch.Tensor]] = {}
        self.is_spent = False

    def input(self, x: torch.Tensor) -> RecordedTensor:
        if id(x) not in self._inputs:
            tape, data = self.recording.tape, shared(x.resolve_neg())
            self.recording.shared.append(x)
            made = RecordedTensor(tape.variable(data) if tape is not None and x.requires_grad else data)
            made.owner = "an input"
            self._inputs[id(x)] = made
        return self._inputs[id(x)]

    def output(self, x: RecordedTensor) -> torch.Tensor:
        """A result as a tensor of PyTorch's, in rows."""
        if id(x) in self._made:
            return self._made[id(x)][1]
        data, is_alone = self.recording.result(x.held)
        made = as_torch(data.tensor if isinstance(data, Var) else data)
        if data.dtype in _DTYPES:
            made = made.to(_DTYPES[data.dtype])
        elif not is_alone:
            # Else a write into the result would change what the tape keeps, or an input.
            made = made.clone()
        if isinstance(data, Var):
            self._outputs[id(made)] = made, data
        self._made[id(x)] = x, made
        return made

    def attached(self, told: list[torch.Tensor], results: list[Any]) -> list[Any]:
        """The results, with the gradient of the tape."""
        if not self._outputs:
            return results
        self.told = told
        outputs = list(self._outputs.values())
        # A result refers to its graph, and the graph to this object: results kept here would be a reference cycle.
        self._outputs, self._made = {}, {}
        made: Any = _Tape.apply(self, [x for x, _ in outputs], *told)
        self._values = [value for _, value in outputs]
        place = {id(x): i for i, (x, _) in enumerate(outputs)}
        return [made[place[id(x)]] if id(x) in place else x for x in results]

    def backward(self, diffs: tuple[torch.Tensor | None, ...]) -> Gradients | None:
        """The gradients of the variables."""
        tape = self.recording.tape
        assert tape is not None
        given = [(v, shared(_rows(d))) for v, d in zip(self._values, diffs, strict=True) if d is not None]
        self.is_spent = True
        if not given:
            return None
        if len(given) == 1:
            return tape.backward(*given[0])
        parts = [_native.call("sum", None, _native.call("mul", None, value, diff), None, None) for value, diff in given]
        loss: Any = parts[0]
        for part in parts[1:]:
            loss = _native.call("add", None, loss, part)
        return tape.backward(loss)

    def gradient_of(self, x: torch.Tensor, gradients: Gradients) -> Tensor | None:
        made = self._inputs.get(id(x))
        return gradients.get(made.held) if made is not None and isinstance(made.held, Var) else None


def _rows(x: torch.Tensor) -> torch.Tensor:
    """A copy: gradients may share its memory, and outlive it."""
    return x.detach().clone(memory_format=torch.contiguous_format)


#: What masks and indices are here, and in PyTorch.
_DTYPES = {"u8": torch.bool, "s32": torch.int64}


class _Tape(torch.autograd.Function):
    """The forward has run already: this ties its results to the inputs."""

    @staticmethod
    def forward(ctx: Any, run: _Run, outputs: list[torch.Tensor], *tensors: torch.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        ctx.run = run
        # PyTorch looks whether these were written into when `backward` asks for them.
        ctx.save_for_backward(*run.recording.shared)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *diffs: torch.Tensor | None) -> Any:
        run: _Run = ctx.run
        if torch.is_grad_enabled():
            text = "op `backward`: `create_graph=True` asks for gradients of gradients, and a tape has none"
            raise error(UnsupportedOp, text, "leave it out", op="backward")
        if run.is_spent:
            text = "op `backward`: a trained module runs back once for each forward, with `retain_graph=True` too"
            raise error(InvalidArgument, text, "call the module again, or add the losses before `backward`", op="backward")
        try:
            _ = ctx.saved_tensors
        except RuntimeError as e:
            text = f"op `backward`: a tensor that the forward read was written into since: {told_text(e)}"
            raise error(Aliasing, text, "write into it after `backward`", op="backward") from e
        if run.version != run.kept.version:
            text = "op `backward`: `step` or `load_state_dict` has changed the weights since this forward, and its gradients would be of those before"
            raise error(Aliasing, text, "call `backward` before that, or the module again", op="backward")
        gradients = run.backward(diffs)
        results: list[torch.Tensor | None] = [None] * len(run.told)
        if gradients is not None:
            run.kept.receive(run.variables, gradients)
            results = _apart([run.kept.gradient_of(run, x, gradients) for x in run.told])
        ctx.run = _Spent()
        return (None, None, *results)


class _Spent:
    """What is left of a forward after its `backward`."""

    is_spent = True


def _apart(gradients: list[Tensor | None]) -> list[torch.Tensor | None]:
    """Gradients as tensors of PyTorch, which writes into them: no two share memory."""
    made: list[torch.Tensor | None] = []
    for i, x in enumerate(gradients):
        if x is None:
            made.append(None)
        else:
            is_shared = any(y is not None and overlap(x, y) for y in gradients[:i])
            made.append(as_torch(x).clone() if is_shared else as_torch(x))
    return made


def _check_hooks(module: torch.nn.Module) -> None:
    """Refuses hooks that PyTorch's own graph would call."""
    everywhere = torch_modules._global_backward_hooks or torch_modules._global_backward_pre_hooks  # type: ignore[attr-defined]
    for path, one in module.named_modules():
        if isinstance(one, torch.jit.ScriptModule):
            text = f"op `train`: module `{path}` is compiled by TorchScript, whose code cannot be recorded"
            raise error(UnsupportedOp, text, "pass the module that was scripted or traced", op="train")
        if everywhere or one._backward_hooks or one._backward_pre_hooks:
            text = f"op `train`: module `{path or type(one).__name__}` has a backward hook, and only PyTorch's graph calls those"
            raise error(UnsupportedOp, text, "remove it, or hook the output of the trained module", op="train")
