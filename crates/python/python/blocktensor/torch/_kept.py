"""The weights of a module that is trained: packed ones of this package, or PyTorch's own parameters."""

import copy
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch.nn.parameter import UninitializedParameter

from .. import _native
from .._errors import DTypeMismatch, Error, InvalidArgument, UnsupportedOp
from .._native import SGD, AdamW, Gradients, Tensor, Var
from ._before import Before
from ._handles import as_torch, shared
from ._loads import only_its_own
from ._parts import check_held, in_place_of, packed_parts
from ._recorded import RecordedTensor
from ._recording import Recording
from ._told import error, told_text
from ._weights import CONVOLUTIONS, TRANSPOSED, Packing, Weight, native_block

#: A place of a parameter: the module's own dictionary, the name there, and the name in `state_dict`.
Slot = tuple[dict[str, Any], str, str]


def packing_of(places: list[tuple[torch.nn.Module, Slot]]) -> Packing | None:
    """How a parameter is packed for blocked convolutions; `None` for one that is not only the weights of such."""
    packings = {
        Packing(module.groups, isinstance(module, TRANSPOSED), native_block())  # type: ignore[arg-type]
        if isinstance(module, CONVOLUTIONS) and slot[1] == "weight"
        else None
        for module, slot in places
    }
    return packings.pop() if len(packings) == 1 else None


class Kept:
    """What a trained module asks of its weights."""

    #: The option's name.
    name = ""

    def __init__(self, module: torch.nn.Module, layout: str) -> None:
        self.module, self.layout = module, layout

    def parts(self) -> set[str]:
        """The names of the model's children and tensors that the trained module has not."""
        return set()

    def slots(self) -> Iterator[tuple[torch.Tensor, list[tuple[torch.nn.Module, Slot]]]]:
        """Each parameter with its places."""
        found: dict[int, tuple[torch.Tensor, list[tuple[torch.nn.Module, Slot]]]] = {}
        for path, module in self.module.named_modules():
            for name, x in module._parameters.items():
                if x is not None:
                    slot = module._parameters, name, f"{path}.{name}" if path else name
                    found.setdefault(id(x), (x, []))[1].append((module, slot))  # type: ignore[arg-type]
        yield from found.values()

    def packing(self, x: torch.Tensor, places: list[tuple[torch.nn.Module, Slot]]) -> Packing | None:
        """How a parameter is packed; `None` for one that is not only the weights of a convolution."""
        return packing_of(places) if self.layout == "blocked" else None

    def handle(self, data: Any, x: torch.Tensor, name: str, packing: Packing | None, is_packed: bool) -> RecordedTensor:
        """What the module's code finds in place of its parameter."""
        if packing is not None:
            data = Weight(tuple(x.shape), packing, **{"packed" if is_packed else "plain": data})
        made = RecordedTensor(data)
        made.owner = f"the parameter `{name}`"
        return made

    #: Counts what changes weights that `backward` cannot see: 0 for those of PyTorch, which counts itself.
    version = 0

    def receive(self, variables: Mapping[Any, Any], gradients: Gradients) -> None:
        """Keeps the gradients of the weights."""

    def unchanged_by_errors(self) -> AbstractContextManager[None]:
        """For `load_state_dict`. That of PyTorch's own weights is PyTorch's: what fits is loaded before the error."""
        return nullcontext()

    def gradient_of(self, run: Any, x: torch.Tensor, gradients: Gradients) -> Tensor | None:
        """The gradient of a tensor that PyTorch was told of."""
        return run.gradient_of(x, gradients)  # type: ignore[no-any-return]


@contextmanager
def swapped(entries: list[tuple[Slot, Any]]) -> Iterator[None]:
    """Puts other objects into the places of parameters."""
    before = [(slot, slot[0][slot[1]]) for slot, _ in entries]
    try:
        for (place, name, _), x in entries:
            place[name] = x
        yield
    finally:
        for (place, name, _), x in before:
            place[name] = x


def norm_of(tensors: Iterable[torch.Tensor], norm_type: float) -> float:
    """The norm of the norms, in f64, as `torch.nn.utils.get_total_norm`."""
    norms = [torch.linalg.vector_norm(x.detach().double(), norm_type) for x in tensors]
    return float(torch.linalg.vector_norm(torch.stack(norms), norm_type)) if norms else 0.0


def _check(x: torch.Tensor, name: str) -> None:
    text = f"op `train`: parameter `{name}`: got"
    if isinstance(x, UninitializedParameter):
        raise error(UnsupportedOp, f"{text} one without sizes", "run the model once in PyTorch first", op="train")
    if x.device.type != "cpu" or x.layout != torch.strided:
        raise error(UnsupportedOp, f"{text} one on {x.device}, {x.layout}", "pass a dense model on the CPU", op="train")
    if x.dtype != torch.float32:
        raise error(DTypeMismatch, f"{text} {x.dtype}, but weights are trained in torch.float32", "pass `model.float()`", op="train")


class Owned(Kept):
    """Weights of this package. The module is a copy without elements of its own."""

    name = "blocktensor"

    def __init__(self, model: torch.nn.Module, layout: str) -> None:
        super().__init__(model, layout)
        # Packed modules are the model's own: a copy has no plain weights.
        memo: dict[int, Any] = {id(x): x for x in packed_parts(model).values()}
        plain: dict[str, torch.Tensor] = {}
        memory: dict[int, str] = {}
        for x, places in self.slots():
            name = places[0][1][2]
            _check(x, name)
            if x._backward_hooks or getattr(x, "_post_accumulate_grad_hooks", None):
                text = f"op `train`: parameter `{name}` has a hook for its gradient, which PyTorch does not see here"
                raise error(UnsupportedOp, text, 'remove it, or pass `weights="torch"`', op="train")
            other = memory.setdefault(x.untyped_storage().data_ptr(), name) if x.numel() else name
            if other != name:
                text = f"op `train`: parameters `{other}` and `{name}` share memory, and a step would change one of them"
                raise error(UnsupportedOp, text, 'use one parameter in both places, or pass `weights="torch"`', op="train")
            memo[id(x)] = torch.nn.Parameter(torch.empty_like(x, device="meta"), requires_grad=x.requires_grad)
            plain[name] = x
        try:
            self.module = copy.deepcopy(model, memo)
        except Exception as e:
            check_held(model, "train", "trained")
            text = f"op `train`: argument `model`: it cannot be copied: {told_text(e)}"
            raise error(UnsupportedOp, text, 'pass `weights="torch"`, which trains the model itself', op="train") from e
        self._slots = list(self.slots())
        self._packings = {places[0][1][2]: self.packing(x, places) for x, places in self._slots}
        self.weights: dict[str, Tensor] = {name: self._packed(name, x) for name, x in plain.items()}
        self._gradients: dict[str, Tensor] = {}
        self._anchor = torch.zeros((), requires_grad=True)
        #: The optimizer of the last step.
        self._stepped: SGD | AdamW | None = None

    def _packed(self, name: str, x: torch.Tensor) -> Tensor:
        packing, own = self._packings[name], shared(x.detach().clone(memory_format=torch.contiguous_format))
        return own if packing is None else packing.pack(own)  # type: ignore[no-any-return]

    def _plain(self, name: str, t: Tensor) -> torch.Tensor:
        packing = self._packings[name]
        return as_torch(t if packing is None else packing.unpack(t)).clone()

    def dictionaries(self) -> dict[str, Any]:
        return {}

    def parts(self) -> set[str]:
        return {*self.module._modules, *self.module._parameters, *self.module._buffers}

    def anchors(self) -> list[torch.Tensor]:
        """What makes results require a gradient where no input does."""
        return [self._anchor] if any(x.requires_grad for x, _ in self._slots) else []

    @contextmanager
    def installed(self, recording: Recording) -> Iterator[dict[Any, Var]]:
        """The module with its weights, and their variables."""
        entries: list[tuple[Slot, Any]] = []
        variables: dict[Any, Var] = {}
        for x, places in self._slots:
            name = places[0][1][2]
            data: Any = self.weights[name]
            if recording.tape is not None and x.requires_grad:
                data = variables[name] = recording.tape.variable(data)
            made = self.handle(data, x, name, self._packings[name], is_packed=True)
            entries += [(slot, made) for _, slot in places]
        with swapped(entries):
            yield variables

    def receive(self, variables: Mapping[Any, Any], gradients: Gradients) -> None:
        for name, variable in variables.items() if variables and self.is_asked() else ():
            made, before = gradients.get(variable), self._gradients.get(name)
            if made is not None:
                self._gradients[name] = made if before is None else _native.call("add", None, before, made)

    def is_asked(self) -> bool:
        """Whether the `backward` that runs is to reach the weights: `torch.autograd.grad(loss, x)` and `inputs=[x]` are not."""
        node = torch.autograd.graph.get_gradient_edge(self._anchor).node
        return bool(torch._C._will_engine_execute_node(node))  # type: ignore[attr-defined]

    def zero_grad(self, set_to_none: bool) -> None:
        if set_to_none:
            self._gradients = {}
        else:
            self._gradients = {name: _native.call("mul_scalar", None, t, 0.0) for name, t in self._gradients.items()}

    def check_walk(self, op: str) -> None:
        """Refuses code that walks over modules and parameters: it would find nothing, and change nothing."""
        text = f"op `{op}`: the weights of this module are packed, and no tensors of PyTorch"
        remedy = 'pass `train` an optimizer, call `state_dict()` or `gradients()` for copies, or train with `weights="torch"`'
        raise error(UnsupportedOp, text, remedy, op=op)

    def grad_norm(self, norm_type: float) -> float:
        # Reductions take activations: the norm is that of plain copies.
        return norm_of((self._plain(name, t) for name, t in self._gradients.items()), norm_type)

    def scale_gradients(self, scale: float) -> None:
        self._gradients = {name: _native.call("mul_scalar", None, t, scale) for name, t in self._gradients.items()}

    def step(self, optimizer: "SGD | AdamW | None") -> None:
        if optimizer is None:
            text = "op `step`: the module was made without an optimizer"
            raise error(InvalidArgument, text, "pass `blocktensor.grad.SGD(...)` to `train`, or set `net.optimizer`", op="step")
        if optimizer is not self._stepped:
            self._check_state(optimizer)
        try:
            self.weights = optimizer.step(self.weights, self._gradients)
        except Error:
            # After it the optimiser is as it was.
            before = optimizer.state_dict()
            after = {name: self._laid_out(name, t) for name, t in before.items()}
            if all(after[name] is t for name, t in before.items()):
                raise
            optimizer.load_state_dict(after)
            self.weights = optimizer.step(self.weights, self._gradients)
        self._stepped = optimizer
        self.version += bool(self._gradients)

    def _check_state(self, optimizer: "SGD | AdamW") -> None:
        """Refuses before a first step the state of only some of the weights that it moves."""
        known = {name.rpartition(".")[0] for name in optimizer.state_dict()}
        missing = [name for name in self._gradients if name not in known]
        if known & self._gradients.keys() and missing:
            told = ", ".join(f"`{name}`" for name in missing[:4]) + (f" and {len(missing) - 4} others" if len(missing) > 4 else "")
            text = f"op `step`: the optimizer has the state of other weights, and none of {told}, which would begin anew"
            remedy = "load what `state_dict()` gave whole; for weights that are to begin anew pass zeros under their names (of AdamW `steps` too)"
            raise error(InvalidArgument, text, remedy, op="step")

    def _laid_out(self, name: str, t: Tensor) -> Tensor:
        """A state of the optimiser in the layout of its weights: one that was saved may be of a module with another layout."""
        name = name.rpartition(".")[0]
        weights = self.weights.get(name)
        if weights is None or not t.ndim or (t.layout, t.shape) == (weights.layout, weights.shape):
            return t
        if t.is_blocked:
            places = next(places for _, places in self._slots if places[0][1][2] == name)
            packing = packing_of(places)
            t = t.to_strided() if packing is None else packing.unpack(t)
        packing = self._packings[name]
        return t if packing is None else packing.pack(t)  # type: ignore[no-any-return]

    def gradients(self) -> dict[str, torch.Tensor | None]:
        return {name: self._plain(name, self._gradients[name]) if name in self._gradients else None for name in self.weights}

    def apply(self, _apply: Any, fn: Any, recurse: bool) -> None:
        with torch.no_grad():
            made = fn(torch.zeros(1))
        if made.dtype != torch.float32 or made.device.type != "cpu" or made.is_shared():
            what = "memory that processes share" if made.is_shared() else f"{made.dtype} on {made.device}"
            text = f"op `train`: a conversion to {what}, but weights are trained in torch.float32, in memory of their own on the CPU"
            raise error(UnsupportedOp, text, "convert a model that has loaded `net.state_dict()`", op="train")

    @contextmanager
    def _with_parameters(self) -> Iterator[None]:
        """The module with plain copies of its weights, as PyTorch's own code reads and writes them."""
        entries: list[tuple[Slot, Any]] = []
        for x, places in self._slots:
            name = places[0][1][2]
            made = torch.nn.Parameter(self._plain(name, self.weights[name]), requires_grad=x.requires_grad)
            entries += [(slot, made) for _, slot in places]
        with swapped(entries):
            yield

    def save(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        with self._with_parameters():
            self.module.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        # Weights are copies: statistics beside them too, or a state that is kept would get those of later steps.
        for name, x in self.module.named_buffers(remove_duplicate=False):
            if f"{prefix}{name}" in destination:
                destination[f"{prefix}{name}"] = x.detach().clone()

    @contextmanager
    def unchanged_by_errors(self) -> Iterator[None]:
        before, weights, version = Before(self.module, all_elements=True), self.weights, self.version
        try:
            yield
        except BaseException:
            before.put_back()
            self.weights, self.version = weights, version
            raise

    def load(
        self, state: Any, prefix: str, metadata: Any, strict: bool, missing: list[str], unexpected: list[str], errors: list[str]
    ) -> None:
        given: Any = OrderedDict((name[len(prefix) :], x) for name, x in state.items() if name.startswith(prefix))
        versions = getattr(state, "_metadata", None)
        if versions is not None:
            given._metadata = {f"{name}."[len(prefix) : -1]: v for name, v in versions.items() if f"{name}.".startswith(prefix)}
        with self._with_parameters(), in_place_of("_load_from_state_dict", self.module, only_its_own):
            try:
                with self.unchanged_by_errors():
                    found = self.module.load_state_dict(given, strict=False, assign=metadata.get("assign_to_params_buffers", False))
            except RuntimeError as e:
                errors += _told_errors(e, prefix)
                return
            missing += [f"{prefix}{name}" for name in found.missing_keys]
            unexpected += [f"{prefix}{name}" for name in found.unexpected_keys]
            plain = {places[0][1][2]: places[0][1][0][places[0][1][1]] for _, places in self._slots}
            self.weights = {name: self._packed(name, x) for name, x in plain.items()}
            self.version += 1


#: How PyTorch names the entry that an error is about.
_OF_ENTRY = re.compile(r"^(size mismatch for |While copying the parameter named \")")


def _told_errors(e: RuntimeError, prefix: str) -> list[str]:
    """The errors that PyTorch lists below its first line, with the names that entries have in the state dict that was given."""
    first, *rest = [line.strip() for line in str(e).splitlines() if line.strip()]
    return [_OF_ENTRY.sub(lambda found: f"{found[1]}{prefix}", line) for line in rest or [first]]


class Parameters(Kept):
    """The model's own parameters, which get their `grad`. Convolutions pack them in each forward."""

    name = "torch"

    def dictionaries(self) -> dict[str, Any]:
        """What the trained module shares with the model: names of parameters and of `state_dict` are the model's."""
        return {name: x for name, x in vars(self.module).items() if name in _SHARED}

    def anchors(self) -> list[torch.Tensor]:
        return [x for x, _ in self.slots() if x.requires_grad]

    @contextmanager
    def installed(self, recording: Recording) -> Iterator[dict[Any, Var]]:
        entries: list[tuple[Slot, Any]] = []
        variables: dict[Any, Var] = {}
        for x, places in self.slots():
            name = places[0][1][2]
            _check(x, name)
            recording.shared.append(x)
            data: Any = shared(x)
            if recording.tape is not None and x.requires_grad:
                data = variables[id(x)] = recording.tape.variable(data)
            made = self.handle(data, x, name, self.packing(x, places), is_packed=False)
            entries += [(slot, made) for _, slot in places]
        with swapped(entries):
            yield variables

    def gradient_of(self, run: Any, x: torch.Tensor, gradients: Gradients) -> Tensor | None:
        variable = run.variables.get(id(x))
        found = [super().gradient_of(run, x, gradients), None if variable is None else gradients.get(variable)]
        made = [g for g in found if g is not None]
        # A parameter may be an input too.
        return _native.call("add", None, *made) if len(made) == 2 else made[0] if made else None

    def zero_grad(self, set_to_none: bool) -> None:
        self.module.zero_grad(set_to_none)

    def check_walk(self, op: str) -> None:
        """They are PyTorch's."""

    def grad_norm(self, norm_type: float) -> float:
        return norm_of((x.grad for x in self.module.parameters() if x.grad is not None), norm_type)

    def scale_gradients(self, scale: float) -> None:
        with torch.no_grad():
            for x in self.module.parameters():
                if x.grad is not None:
                    x.grad.mul_(scale)

    def step(self, optimizer: "SGD | AdamW | None") -> None:
        text = 'op `step`: with `weights="torch"` PyTorch\'s optimisers move the weights'
        raise error(InvalidArgument, text, "pass `net.parameters()` to one of `torch.optim`, and call its `step`", op="step")

    def gradients(self) -> dict[str, torch.Tensor | None]:
        return {name: None if x.grad is None else x.grad.clone() for name, x in self.module.named_parameters()}

    def apply(self, _apply: Any, fn: Any, recurse: bool) -> None:
        _apply(fn, recurse)

    def save(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        self.module._save_to_state_dict(destination, prefix, keep_vars)

    def load(self, *arguments: Any) -> None:
        self.module._load_from_state_dict(*arguments)


#: The dictionaries of a module that its `state_dict`, `parameters` and `modules` read.
_SHARED = frozenset(
    "_parameters _buffers _modules _non_persistent_buffers_set _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks "
    "_load_state_dict_post_hooks".split()
)
