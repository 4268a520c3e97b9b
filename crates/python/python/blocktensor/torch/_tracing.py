"""`torch.export` with the model left as it was, and with errors that say what to do."""

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch._dynamo import exc as dynamo
from torch._subclasses import FakeTensor, fake_tensor
from torch.fx.experimental import symbolic_shapes
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from .._errors import Error, InvalidArgument, UnsupportedOp
from ._attributes import SETTINGS, Attributes, Generators, attributes_of
from ._copies import state_error, with_own_tensors, with_shared_tensors
from ._inputs import elsewhere, in_f32
from ._noticed import Errors, Place, Texts, check_caught, check_linalg, raises_linalg
from ._options import autocast_text, check_module
from ._parts import check_parts
from ._outside import Outside
from ._quantized import QUANTIZE_ANEW, is_scripted_of_kernels, refused_part
from ._told import LONGEST, error, told
from ._unwrap import in_training

_ON_DATA = (
    symbolic_shapes.GuardOnDataDependentSymNode,
    fake_tensor.DataDependentOutputException,
    fake_tensor.DynamicOutputShapeException,
    dynamo.UncapturedHigherOrderOpError,
    dynamo.UserError,
)
_LOG = logging.getLogger(fake_tensor.__name__)


def check(model: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    """Refuses what has no plan, before anything runs."""
    if torch.is_autocast_enabled("cpu"):
        remedy = "convert outside of `torch.autocast`: the packed module runs inside of it, as it does outside"
        raise error(UnsupportedOp, autocast_text(), remedy, op="torch.export")
    _check_model(model)
    _check_example(model, arguments)


def trace(
    model: torch.nn.Module, arguments: tuple[Any, ...], caught: set[Place], caught_later: set[Place]
) -> torch.export.ExportedProgram:
    """The model's calls for these arguments. Errors reached its code in runs at `caught`, in the last one at `caught_later`."""
    # `torch.export` takes one tensor in two places for one input.
    arguments = pytree.tree_map(lambda x: x.detach().view_as(x), arguments)
    # What a forward leaves behind while it is traced is left in a copy.
    traced = with_shared_tensors(model)
    # One at a time: what `Attributes` watches and where stderr goes is the process's, as is what `Outside` keeps.
    with Outside(traced), Attributes(traced) as kept, Generators() as generators:
        with Errors() as errors, Texts() as texts:
            exported = _exported(traced, arguments, lambda e: check_caught(errors, caught, caught_later, e))
        check_caught(errors, caught, caught_later)
        check_linalg(errors, [str(x.target) for x in exported.graph.nodes if raises_linalg(str(x.target))])
        texts.check()
        _check_generators(generators.used())
        if kept.changed():
            # Sizes and masks that a forward keeps are the same in a second run; other changes are state.
            kept.go_on()
            with contextlib.suppress(Exception):
                _exported(traced, arguments)
            for name in kept.changed():
                raise state_error(f"the model's attribute `{name}`", model, arguments)
    return exported


def check_transforms(exported: torch.export.ExportedProgram) -> None:
    """Refuses graphs whose tensors are stand-ins of `torch.func`, or of the trace itself."""
    calls = any(str(getattr(node.target, "__module__", "")).startswith("torch._functorch") for node in exported.graph.nodes)
    constants = [x for x in exported.constants.values() if isinstance(x, torch.Tensor)]
    if calls or any(isinstance(x, FakeTensor) or is_functorch_wrapped_tensor(x) for x in constants):
        text = "`forward` uses `torch.func` (`vmap`, `grad`), whose calls are recorded for parts of tensors"
        raise error(UnsupportedOp, text, "write the calls for whole tensors", op="torch.export")


def _check_generators(used: list[str]) -> None:
    for name in used:
        if any(name == setting for setting, _, _ in SETTINGS):
            text = f"`forward` calls `{name}`, which sets it for the whole process, and a packed module would leave that out"
            raise error(UnsupportedOp, text, "call it outside of the model", op="torch.export")
        # PyTorch's own draws are calls of the graph; `check_draws` looks at its seeds.
        if name != "torch.manual_seed":
            text = f"`forward` draws random numbers from `{name}`, and a packed module would repeat them"
            raise error(UnsupportedOp, text, "draw them outside, and pass them as an input", op="torch.export")


def _check_model(model: Any) -> None:
    check_module(model)
    check_parts(model, None, "packed", "swapped", "trained")
    for path, module in model.named_modules():
        name = f"module `{path or type(module).__name__}`"
        tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if any(map(torch.nn.parameter.is_lazy, tensors)):
            text = f"argument `model`: {name} is lazy, and has no weights yet"
            raise error(InvalidArgument, text, "run the model once on an example: `model(example)`")
        if isinstance(module, torch.jit.ScriptModule):
            text = f"argument `model`: {name} is TorchScript, which `torch.export` cannot follow"
            remedy = QUANTIZE_ANEW if is_scripted_of_kernels(module) else "pass the Python module that it was made of"
            raise error(UnsupportedOp, text, remedy, op="torch.export")
        found = refused_part(module, tensors)
        if found is not None:
            raise error(UnsupportedOp, f"argument `model`: {name} {found[0]}", found[1], op="torch.export")
    made_in_inference = [name for name, x in attributes_of(model) if x.is_inference()]
    if made_in_inference and not torch.is_inference_mode_enabled():
        text = f"argument `model`: `{made_in_inference[0]}` was made in `torch.inference_mode()`, and `torch.export` takes it there alone"
        raise error(UnsupportedOp, text, "convert inside of `torch.inference_mode()`", op="torch.export")
    training, remedy = in_training(model)
    if training:
        text = f"argument `model`: got {', '.join(training[:3])} in training mode, but plans are for inference"
        raise error(InvalidArgument, text, remedy)


def _elsewhere(model: torch.nn.Module) -> tuple[str, str] | None:
    """A weight that is not on the CPU, and the remedy."""
    for name, x in attributes_of(model):
        if x.device.type != "cpu":
            remedy = "call `model.to_empty(device='cpu')`, and load its weights" if x.is_meta else "pass `model.cpu()`"
            return f"argument `model`: `{name}` is on {x.device}, but plans are for weights on the CPU", remedy
    return None


def _other_dtype(model: torch.nn.Module) -> str | None:
    """What to do about weights that are floats, but not f32."""
    for name, x in attributes_of(model):
        if x.is_floating_point() and x.dtype != torch.float32:
            return f"plans compute in f32, and `{name}` is {x.dtype}: convert the model (`model.float()`) and the example (`x.float()`)"
    return None


def _check_example(model: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    for x in pytree.tree_leaves(arguments):
        if not isinstance(x, torch.Tensor):
            text = f"argument `example`: got {type(x).__name__}, but inputs are f32 tensors on the CPU"
            raise error(InvalidArgument, text, "pass tensors, and make other arguments defaults of `forward`")
        found = _refused_example(model, x)
        if found is not None:
            got, remedy = found
            raise error(InvalidArgument, f"argument `example`: got {got}, but inputs are dense f32 tensors on the CPU", remedy)


def _refused_example(model: torch.nn.Module, x: torch.Tensor) -> tuple[str, str] | None:
    """What no input is, and what to do about it."""
    found = elsewhere(x)
    if found is not None or x.dtype == torch.float32:
        return found
    remedy = f"pass `{in_f32(x)}`"
    if x.is_floating_point():
        remedy = _other_dtype(model) or remedy
    elif x.dtype == torch.bool:
        remedy += ", and make the mask inside of `forward`: `x != 0`"
    elif not x.is_complex() and not x.is_quantized:
        remedy += "; where `forward` takes them for indices, convert them in it (`x.to(torch.int64)`), and pass `partial=True`: PyTorch "
        remedy += "then runs the calls that take indices"
    return f"a tensor of {x.dtype} on {x.device}", remedy


def _exported(
    model: torch.nn.Module, arguments: tuple[Any, ...], check_failed: Callable[[Exception], None] = lambda _: None
) -> torch.export.ExportedProgram:
    captured, graph = io.StringIO(), ""
    # It writes what calls raise, though the error tells it.
    log, _LOG.disabled = _LOG.disabled, True
    try:
        with contextlib.redirect_stderr(captured), warnings.catch_warnings(), torch.no_grad():
            # `Attributes` tells which attributes change, by name.
            warnings.filterwarnings("ignore", message=r"The tensor attributes? .* assigned during export")
            exported = torch.export.export(model, arguments, strict=False)
        check_transforms(exported)
        return exported
    except Error:
        raise
    except Exception as e:
        check_failed(e)
        graph = str(getattr(e, "partial_fx_graph", ""))
        # A long text is a whole graph, and would be printed as the cause.
        cause = e if len(str(e)) < 10 * LONGEST else None
        raise _explained(e, model, arguments) from cause
    finally:
        _LOG.disabled = log
        # All that was written meanwhile, but the graph that `torch.export` prints when it fails.
        text = captured.getvalue().replace(f"{graph}\n", "") if graph else captured.getvalue()
        sys.stderr.write(text if text.strip() else "")


def _explained(e: Exception, model: torch.nn.Module, arguments: tuple[Any, ...]) -> Exception:
    # First: some calls run on weights without elements.
    weights = _elsewhere(model)
    if weights is not None:
        return error(InvalidArgument, *weights)
    own = _own_error(model, arguments)
    if own is not None:
        text = f"argument `example`: the model raises {told(own)}"
        remedy = _other_dtype(model) or "pass what the model takes: a tuple has one item for each argument, anything else is one argument"
        return error(InvalidArgument, text, remedy)
    past = _of_data(lambda: _own_error(model, arguments)) if PAST in str(e) else None
    if past is not None:
        return error(UnsupportedOp, f"`forward` {past[0]}", past[1], op="torch.export")
    text = f"`torch.export` cannot follow the model: {told(e)}"
    if isinstance(e, _ON_DATA):
        remedy = "control flow that depends on data has no plan: use `torch.where`, move the parts around it, or use `swap`"
    elif isinstance(e, fake_tensor.UnsupportedOperatorException):
        remedy = "give the operator a fake kernel (`torch.library.register_fake`)"
    else:
        remedy = "the model itself runs: move what is no tensor work out of its `forward`, move the parts around it, or use `swap`"
    return error(UnsupportedOp, text, remedy, op="torch.export")


#: What `torch.export` says of a tensor that it did not see being made.
PAST = "found a fake tensor in the exported program constant's list"


class _Data(TorchFunctionMode):
    """Notes what a run reads through `.data`, and the call that writes into that."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[torch.Tensor] = []
        self.writes = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        of_data = bool(args) and any(args[0] is x for x in self.read)
        if of_data and not self.writes and (name in _WRITES or name.endswith("_") and not name.startswith("_")):
            self.writes = name
        made = func(*args, **(kwargs or {}))
        is_view = of_data and isinstance(made, torch.Tensor) and made.untyped_storage().data_ptr() == args[0].untyped_storage().data_ptr()
        if is_view or func == torch.Tensor.data.__get__:  # type: ignore[attr-defined]
            self.read.append(made)
        return made


#: Python's calls that write into their first operand.
_WRITES = {"__setitem__", *(f"__i{name}__" for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split())}


def _of_data(run: Callable[[], Any]) -> tuple[str, str] | None:
    """Why a run that reads or writes through `.data` has no graph, and the remedy; `None` where it does not."""
    with _Data() as data:
        run()
    return told_data(data.writes) if data.read else None


def told_data(writes: str) -> tuple[str, str]:
    """The reason and the remedy for `.data`, with the call that writes through it."""
    if writes:
        remedy = "write `y = x * 2` in place of `x.data.mul_(2)`, and read `y`; change weights before the conversion"
        return f"writes through `.data` of a tensor (`{writes}`), past what `torch.export` records", remedy
    return "reads `.data` of a tensor, past what `torch.export` records", "write `x.detach()` in place of `x.data`"


def _own_error(model: torch.nn.Module, arguments: tuple[Any, ...]) -> Exception | None:
    """What the model itself raises for the example. The model and the example are left as they are."""
    try:
        with Outside(model), Generators(), torch.no_grad():
            with_own_tensors(model)(*pytree.tree_map(lambda x: x.detach().clone(), arguments))
    except Exception as own:
        return own
    return None
