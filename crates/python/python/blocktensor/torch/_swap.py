"""A model whose modules run on eager tensors."""

import copy
import copyreg
import inspect
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import _native
from .._errors import DTypeMismatch, Error, InvalidArgument, RankMismatch, UnsupportedDType, UnsupportedOp
from .._native import PackedWeights, Tensor
from ._eager import EagerTensor
from ._edits import steps_of
from ._export import error
from ._handles import LAST, check_autocast, check_gradients, described, shared
from ._options import check_module
from ._parts import check_parts
from ._sharing import SharedNames, limit, shared_again
from ._told import told_text
from ._unwrap import in_training, plain_name, swappable
from ._values import pair
from ._weights import CONVOLUTIONS, TRANSPOSED

#: It takes eager tensors too.
_pad: Any = torch.nn.functional.pad


class PackedConvolution(torch.nn.Module):
    """A convolution whose weights are packed for the source that it meets first, and again where another kind comes.

    Its parameters, their names and its settings are the convolution's own: what is set here is set there, and seen here. It says that
    it is of the convolution's class (`isinstance(x, nn.Conv2d)`), on which models and hooks branch.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        module = vars(self).get("module")
        return PackedConvolution if module is None else type(module)

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        # No child: names in `state_dict` stay those of the model.
        self.__dict__["module"] = module
        for name in ("_parameters", "_buffers", "_modules"):
            self.__dict__[name] = SharedNames(vars(module)[name])
        limit(self)
        self.training = module.training
        self._packed: dict[Any, PackedWeights] = {}
        self._weights: Any = None
        self._kept: Any = None

    def __getattr__(self, name: str) -> Any:
        """The convolution's own: models read `conv.weight` and `conv.stride`."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(self.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        if name not in own and name in vars(own.get("module", self)):
            setattr(self.module, name, value)
        else:
            super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        # A copy packs its own.
        return {**vars(self), "_packed": {}, "_weights": None, "_kept": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name in ("_parameters", "_buffers", "_modules"):
            # Copies of a convolution have weights of their own, which are those of its copy again.
            self.__dict__[name] = shared_again(self.__dict__[name], vars(self.module)[name])

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Python's own asks for the class, which is not that of the object.
        return _empty, (), self.__getstate__()

    def _get_name(self) -> str:
        return str(PackedConvolution.__name__)

    def _save_to_state_dict(self, *args: Any, **named: Any) -> None:
        self.module._save_to_state_dict(*args, **named)

    def _load_from_state_dict(self, *args: Any, **named: Any) -> None:
        self.module._load_from_state_dict(*args, **named)

    def extra_repr(self) -> str:
        return str(self.module.extra_repr())

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Runs the packed convolution on an `EagerTensor`, PyTorch's own on a `torch.Tensor`."""
        conv: Any = self.module
        sizes = () if output_size is None else (output_size,)
        if not isinstance(x, EagerTensor) or not _is_plain_conv(conv):
            # Hooks of all modules ran for this one.
            call = conv if conv._forward_hooks or conv._forward_pre_hooks else conv.forward
            return call(x, *sizes)
        check_autocast("conv", x)
        rank = conv.weight.ndim
        if x.ndim == rank - 1 and not x.held.is_blocked:
            # A single image, as PyTorch takes it.
            return self.forward(x.unsqueeze(0), *sizes).squeeze(0)
        if x.ndim != rank:
            text = f"op `conv`: got {described(x)}, but `{type(conv).__name__}` takes {rank} axes, the batch first"
            remedy = "add the batch's axis: `x[None]`" if x.ndim == rank - 1 else f"pass a tensor of {rank} axes"
            remedy = f"{remedy}, of `x.to_strided()`" if x.held.is_blocked else remedy
            raise error(RankMismatch, text, remedy, op="conv")
        self._check_dtype(x)
        weights = _state(conv.weight), _state(conv.bias)
        if weights != self._weights:
            # Weights that were edited are packed again. They are kept, so that no others can have their address.
            self._packed, self._weights, self._kept = {}, weights, (conv.weight, conv.bias)
        options = dict(stride=conv.stride, padding=conv.padding, dilation=conv.dilation, groups=conv.groups)
        if isinstance(conv, TRANSPOSED):
            options["output_padding"] = _output_padding(conv, x, output_size)
        elif conv.padding_mode != "zeros" or isinstance(conv.padding, str):
            # What PyTorch's own module does: pad first.
            is_zeros = conv.padding_mode == "zeros"
            pads = _named_padding(conv) if is_zeros else conv._reversed_padding_repeated_twice
            if any(pads):
                x = _pad(x, pads, mode="constant" if is_zeros else conv.padding_mode)
            options["padding"] = 0
        data = x.held
        if not data.is_blocked and data.layout.startswith("strides"):
            # A part of a tensor: packed weights are for dense sources.
            data = data.contiguous()
        key = (data.shape[1:], data.layout, data.dtype, *map(_frozen, options.values()))
        packed = self._packed.get(key)
        if packed is None:
            packed = self._packed[key] = self._pack(data, options)
        return EagerTensor(packed(data))

    def _check_dtype(self, x: EagerTensor) -> None:
        """Refuses weights of the other float, as eager calls and PyTorch do: packing would convert them."""
        conv: Any = self.module
        if x.dtype == conv.weight.dtype or x.dtype not in _PACKED or not conv.weight.is_floating_point():
            # Other dtypes cannot be packed, which is an error there.
            return
        op = f"{'conv_transpose' if isinstance(conv, TRANSPOSED) else 'conv'}{conv.weight.ndim - 2}d"
        rule = f"the kernel for key `{x.held.key}` takes {x.held.dtype} beside `x` of {x.held.dtype}"
        text = f"op `{op}`: argument `weights`: got {described(shared(conv.weight))}, but {rule}"
        of_x, of_weights = ("bfloat16", "float") if x.dtype == torch.bfloat16 else ("float", "bfloat16")
        # No kernel takes other weights, whatever the source.
        others = f", or pass `x.{of_weights}()`" if conv.weight.dtype in _PACKED else ""
        raise error(DTypeMismatch, text, f"swap `model.{of_x}()`{others}", op=op)

    def _pack(self, like: Tensor, options: dict[str, Any]) -> PackedWeights:
        conv: Any = self.module
        bias = None if conv.bias is None else conv.bias.detach()
        if bias is not None and bias.dtype == conv.weight.dtype == torch.bfloat16:
            # Kernels add it in f32.
            bias = bias.float()
        pack = _native.pack_conv_transpose if isinstance(conv, TRANSPOSED) else _native.pack_conv
        try:
            return pack(conv.weight.detach().resolve_neg(), None if bias is None else bias.resolve_neg(), like=like, **options)
        except (UnsupportedDType, UnsupportedOp) as e:
            calls = ["swap `model.float()`"] if conv.weight.dtype != torch.float32 else []
            calls += ["pass `x.float()`"] if like.dtype != "f32" else []
            if not calls:
                raise
            # The user of a swapped model does not pack.
            text = str(e).removesuffix(str(e.remedy)).rstrip("; ")
            raise error(type(e), text, ", and ".join(calls), op=e.op) from None


def _empty() -> PackedConvolution:
    return object.__new__(PackedConvolution)


def _output_padding(conv: Any, x: EagerTensor, output_size: Any) -> Any:
    if output_size is None:
        return conv.output_padding
    count = conv.weight.ndim - 2
    settings = (pair(value, count) for value in (conv.stride, conv.padding, conv.kernel_size))
    try:
        return conv._output_padding(x, list(output_size), *settings, count, pair(conv.dilation, count))
    except ValueError as e:
        raise error(InvalidArgument, f"op `conv_transpose`: argument `output_size`: {told_text(e)}", "pass one of these", op="conv") from e


def _named_padding(conv: Any) -> list[int]:
    """The zeros of `same` and `valid` on each side, the last axis first."""
    sizes = conv.weight.shape[2:]
    if conv.padding not in ("same", "valid"):
        text = f"op `conv`: argument `padding`: got {conv.padding!r}, but its names are 'same' and 'valid'"
        raise error(InvalidArgument, text, "pass one of them, or numbers", op="conv")
    if conv.padding == "valid":
        return [0] * (2 * len(sizes))
    if any(stride != 1 for stride in pair(conv.stride, len(sizes))):
        text = f"op `conv`: argument `padding`: got 'same' with a stride of {conv.stride}, but it is for a stride of 1"
        raise error(InvalidArgument, text, "pass numbers", op="conv")
    totals = [d * (size - 1) for d, size in zip(pair(conv.dilation, len(sizes)), sizes, strict=True)]
    return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]


def _frozen(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


def _state(x: torch.Tensor | None) -> Any:
    """What changes when a weight is edited in place or replaced."""
    if x is None:
        return None
    return id(x), x.data_ptr(), 0 if x.is_inference() else x._version, steps_of(x), x.shape, x.stride(), x.dtype


class _After:
    """Runs after a module: notes its name on the result, for errors, and reorders it if the user asked for that."""

    def __init__(self, name: str, to_strided: bool) -> None:
        self.name, self.to_strided = name, to_strided

    def __call__(self, module: torch.nn.Module, args: Any, result: Any) -> Any:
        if type(result) is EagerTensor:
            return self._done(result)
        return pytree.tree_map_only(EagerTensor, self._done, result)

    def _done(self, x: EagerTensor) -> EagerTensor:
        if self.to_strided and x.held.is_blocked:
            x = x.to_strided()
        LAST.module = x.module = self.name
        return x


class _Masks:
    """Runs before a module of PyTorch that takes masks: its own code reads them as PyTorch's tensors, sharing their memory."""

    def __init__(self, parameters: list[str]) -> None:
        self.parameters = parameters

    def __call__(self, module: torch.nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        given = [(name, self._mask(name, x)) for name, x in zip(self.parameters, args, strict=False)]
        return (*(x for _, x in given), *args[len(given) :]), {name: self._mask(name, x) for name, x in named.items()}

    @staticmethod
    def _mask(name: str, x: Any) -> Any:
        if not name.endswith("mask") or type(x) is not EagerTensor:
            return x
        if x.held.is_blocked:
            text = f"argument `{name}`: got {described(x)}, but PyTorch's code reads it, which needs a strided one"
            raise error(UnsupportedOp, text, "pass `x.to_strided()`", op="multi_head_attention_forward")
        # A mask of this package is u8.
        return x.torch() != 0 if x.dtype == torch.uint8 else x.torch()


def _mask_parameters(module: torch.nn.Module) -> list[str]:
    """The parameters of a forward that PyTorch wrote, if it takes masks."""
    forward = type(module).forward
    if not (getattr(forward, "__module__", None) or "").startswith("torch.nn.modules."):
        return []
    names = list(inspect.signature(forward).parameters)[1:]
    return names if any(name.endswith("mask") for name in names) else []


def swap(model: torch.nn.Module, *, to_strided: Iterable[str] = ()) -> torch.nn.Module:
    """A copy of the model whose convolutions pack their weights, for `EagerTensor`s. All weights are shared with the model.

    Names in `state_dict` are the model's; of what `torch.compile` made, those of the module that it compiled. Settings of a convolution,
    and what is hung on it, are seen where they change later; other modules are copied as they are now.

    The first call packs; the ledger shows it. `with blocktensor.deny_reorders()` holds from the second call on. A blocked tensor
    has no views, so `flatten` before a classifier is an error: `to_strided` names the modules whose results are reordered
    (`swap(resnet, to_strided=["avgpool"])`), and the ledger shows these reorders too.
    """
    check_module(model, "swap")
    check_parts(model, "swap", "packed", "trained")
    training, remedy = in_training(model, "swap")
    if training and model.training:
        raise error(UnsupportedOp, "argument `model`: got a model in training mode", remedy, op="swap")
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            what = f"module `{name}` is" if name else "the model is"
            text = f"op `swap`: argument `model`: {what} compiled by TorchScript, which takes no eager tensors"
            raise error(UnsupportedOp, text, "pass the module that was scripted or traced", op="swap")
    names = {plain_name(name) for name, _ in model.named_modules(remove_duplicate=False)}
    wanted = {plain_name(name) for name in _listed(to_strided)}
    unknown = sorted(wanted - names)
    if unknown:
        text = f"op `swap`: argument `to_strided`: got {', '.join(map(repr, unknown))}, but the model has no such module"
        raise error(InvalidArgument, text, "pass names of `model.named_modules()`", op="swap")
    made = _swapped(model, "", wanted, {})
    made.register_forward_hook(_forget, always_call=True)
    made.__dict__["forward"] = _Typed(made)
    return made


def _listed(to_strided: Any) -> list[str]:
    """The names of modules that a caller gave."""
    is_list = isinstance(to_strided, Iterable) and not isinstance(to_strided, str)
    given: list[Any] = list(to_strided) if is_list else [to_strided]
    for name in given:
        if not isinstance(name, str):
            text = f"op `swap`: argument `to_strided`: got {name!r}, but it is a list of names of modules"
            raise error(InvalidArgument, text, "pass names of `model.named_modules()`", op="swap")
    return given


def _forget(module: torch.nn.Module, args: Any, result: Any) -> None:
    """After the whole model, and after its errors: calls outside of it are no module's."""
    LAST.module = ""


#: How Python and PyTorch write the type.
_OURS = f"{Tensor.__module__}.{Tensor.__name__}"


class _UnsupportedCode(UnsupportedOp, AttributeError):
    """Code was asked of what has none: `hasattr` says so."""


class _Typed:
    """The forward of a swapped model: what takes no eager tensor is an error of this package."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model, self.own = model, vars(model).get("forward")

    def __getattr__(self, name: str) -> Any:
        if name not in ("__code__", "__globals__"):
            raise AttributeError(name)
        # What reads the code of `forward` compiles it.
        text = "`torch.export` and `torch.jit.script` record a model for PyTorch, and a swapped model is for eager tensors"
        raise error(_UnsupportedCode, text, "export or script the model itself", op="torch.export")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not LAST.inside:
            _check_gradients(pytree.tree_leaves((args, kwargs)))
        LAST.inside += 1
        try:
            return self.own(*args, **kwargs) if self.own is not None else type(self.model).forward(self.model, *args, **kwargs)
        except Error:
            raise
        except (AttributeError, RuntimeError, TypeError, ValueError) as e:
            _check_given(args, kwargs, e)
            # Scripted functions and other code in C++ name the type that they were given.
            if _OURS in str(e):
                text = f"a call in the swapped model takes no {_OURS}, which `x.held` of an EagerTensor is: {told_text(e)}"
                raise error(UnsupportedOp, text, "write `x` or `x.detach()` in place of `x.held`", op="swap") from e
            if isinstance(e, AttributeError) or EagerTensor.__name__ not in str(e):
                raise
            text = f"a call in the swapped model takes no EagerTensor: {told_text(e)}"
            remedy = "call it on `x.to_strided().torch()`, or replace what was scripted, or is a transform (`vmap`), by plain Python code"
            raise error(UnsupportedOp, text, remedy, op="swap") from e
        finally:
            LAST.inside -= 1


def _check_gradients(inputs: list[Any]) -> None:
    """Refuses a tensor of PyTorch whose gradient would be lost beside an eager one. Of PyTorch's tensors alone PyTorch computes."""
    if any(isinstance(x, EagerTensor) for x in inputs):
        check_gradients("swap", inputs)


def _check_given(args: Any, kwargs: Any, e: Exception) -> None:
    """Raises the error for arrays and tensors of other kinds among the inputs, if it is such a kind that PyTorch's own error names."""
    for x in pytree.tree_leaves((args, kwargs)):
        kind = type(x)
        if not isinstance(x, (torch.Tensor, EagerTensor)) and hasattr(x, "__dlpack__") and kind.__name__ in str(e):
            text = f"op `swap`: argument `input`: got {kind.__module__}.{kind.__name__}, but a swapped model takes EagerTensors"
            raise error(InvalidArgument, text, "pass `EagerTensor(x)`, or `EagerTensor(x).to_blocked()`", op="swap") from e


#: Dtypes of weights that can be packed.
_PACKED = {torch.float32, torch.bfloat16}


def _is_plain_conv(model: torch.nn.Module) -> bool:
    """Whether the module does what PyTorch's own convolution does, and nothing else."""
    kind: Any = next((kind for kind in CONVOLUTIONS if isinstance(model, kind)), None)
    if kind is None or model._forward_hooks or model._forward_pre_hooks or model._modules:
        return False
    own, set_on_it = type(model), vars(model)
    if "forward" in set_on_it or "_conv_forward" in set_on_it or not isinstance(model._parameters.get("weight"), torch.Tensor):
        return False
    if isinstance(model, TRANSPOSED) and model.padding_mode != "zeros":
        # PyTorch's own refuses it.
        return False
    names = ("forward", "_conv_forward", "_output_padding", "__call__")
    return all(getattr(own, name, None) is getattr(kind, name, None) for name in names)


def _shallow(model: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares all attributes. None of the class's own code runs: it might write into the model."""
    if isinstance(model, PackedConvolution):
        return copy.copy(model)
    copied = object.__new__(type(model))
    for name in copyreg._slotnames(type(model)):  # type: ignore[attr-defined]
        if hasattr(model, name):
            object.__setattr__(copied, name, getattr(model, name))
    own = vars(copied)
    own.update(vars(model))
    # What `module.compile()` set calls the model itself.
    own.pop("_compiled_call_impl", None)
    return copied


def _swapped(
    model: torch.nn.Module, name: str, to_strided: set[str], made: dict[torch.nn.Module, torch.nn.Module]
) -> torch.nn.Module:
    model = swappable(model, name)
    if model in made:
        return made[model]
    is_conv = _is_plain_conv(model)
    swapped: torch.nn.Module = PackedConvolution(model) if is_conv else _shallow(model)
    made[model] = swapped
    if not is_conv:
        for key, value in vars(model).items():
            if key.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called", "_non_persistent_buffers_set")):
                swapped.__dict__[key] = copy.copy(value)
        if isinstance(vars(model).get("forward"), _Typed):
            # Swapped before: this copy's own follows.
            del swapped.__dict__["forward"]
        prefix = f"{name}." if name else ""
        for key in ("_parameters", "_buffers"):
            swapped.__dict__[key] = SharedNames(vars(model)[key])
        limit(swapped)
        parameters = _mask_parameters(model)
        if parameters:
            swapped.register_forward_pre_hook(_Masks(parameters), with_kwargs=True)
        # Past the class's `__setattr__`, which may forward to the model.
        swapped.__dict__["_modules"] = {
            child: module if module is None or child == "parametrizations" else _swapped(module, prefix + child, to_strided, made)
            for child, module in vars(model)["_modules"].items()
        }
    if name in to_strided or not swapped._modules.keys() - {"parametrizations"} or is_conv:
        swapped.register_forward_hook(_After(name, name in to_strided))
    return swapped
