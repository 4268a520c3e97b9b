"""A model whose modules run on eager tensors."""

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import _native
from .._errors import InvalidArgument, UnsupportedOp
from .._native import PackedWeights, Tensor
from ._eager import EagerTensor
from ._export import error
from ._handles import LAST

#: It takes eager tensors too.
_pad: Any = torch.nn.functional.pad


class PackedConvolution(torch.nn.Module):
    """A convolution whose weights are packed for the source that it meets first, and again where another kind comes."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self.training = module.training
        self._packed: dict[Any, PackedWeights] = {}
        self._weights: Any = None

    def __getattr__(self, name: str) -> Any:
        """The convolution's own: models read `conv.weight` and `conv.stride`."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(self.module, name)

    def forward(self, x: Any) -> Any:
        """Runs the packed convolution on an `EagerTensor`, PyTorch's own on a `torch.Tensor`."""
        if not isinstance(x, EagerTensor):
            return self.module(x)
        conv: Any = self.module
        weights = _state(conv.weight), _state(conv.bias)
        if weights != self._weights:
            # Weights that were edited are packed again.
            self._packed, self._weights = {}, weights
        padding = conv.padding
        if conv.padding_mode != "zeros" or isinstance(padding, str):
            # What PyTorch's own module does: pad first.
            pads: Any = conv._reversed_padding_repeated_twice
            if any(pads):
                x = _pad(x, pads, mode="constant" if conv.padding_mode == "zeros" else conv.padding_mode)
            padding = 0
        data = x.data
        if not data.is_blocked and data.layout.startswith("strides"):
            # A part of a tensor: packed weights are for dense sources.
            data = data.contiguous()
        key = (data.shape[1:], data.layout)
        packed = self._packed.get(key)
        if packed is None:
            packed = self._packed[key] = self._pack(data, padding)
        return EagerTensor(packed(data))

    def _pack(self, like: Tensor, padding: Any) -> PackedWeights:
        conv: Any = self.module
        bias = None if conv.bias is None else conv.bias.detach()
        options = dict(stride=conv.stride, padding=padding, dilation=conv.dilation, groups=conv.groups)
        return _native.pack_conv(conv.weight.detach(), bias, like=like, **options)


def _state(x: torch.Tensor | None) -> Any:
    """What changes when a weight is edited in place or replaced."""
    if x is None:
        return None
    return x.data_ptr(), 0 if x.is_inference() else x._version


class _After:
    """Runs after a module: notes its name on the result, for errors, and reorders it if the user asked for that."""

    def __init__(self, name: str, to_strided: bool) -> None:
        self.name, self.to_strided = name, to_strided

    def __call__(self, module: torch.nn.Module, args: Any, result: Any) -> Any:
        LAST.module = self.name
        if type(result) is EagerTensor:
            return self._done(result)
        return pytree.tree_map_only(EagerTensor, self._done, result)

    def _done(self, x: EagerTensor) -> EagerTensor:
        if self.to_strided and x.data.is_blocked:
            x = x.to_strided()
        x.module = self.name
        return x


def swap(model: torch.nn.Module, *, to_strided: Iterable[str] = ()) -> torch.nn.Module:
    """A copy of the model whose convolutions pack their weights, for `EagerTensor`s. All weights are shared with the model.

    The first call packs; the ledger shows it. `with blocktensor.deny_reorders()` holds from the second call on. A blocked tensor
    has no views, so `flatten` before a classifier is an error: `to_strided` names the modules whose results are reordered
    (`swap(resnet, to_strided=["avgpool"])`), and the ledger shows these reorders too.
    """
    if model.training:
        raise error(UnsupportedOp, "argument `model`: got a model in training mode", "call `model.eval()` first", op="swap")
    names = {name for name, _ in model.named_modules(remove_duplicate=False)}
    wanted = {to_strided} if isinstance(to_strided, str) else set(to_strided)
    unknown = sorted(wanted - names)
    if unknown:
        text = f"op `swap`: argument `to_strided`: got {', '.join(map(repr, unknown))}, but the model has no such module"
        raise error(InvalidArgument, text, "pass names of `model.named_modules()`", op="swap")
    made = _swapped(model, "", wanted, {})
    made.register_forward_hook(_forget, always_call=True)
    return made


def _forget(module: torch.nn.Module, args: Any, result: Any) -> None:
    """After the whole model, and after its errors: calls outside of it are no module's."""
    LAST.module = ""


def _is_plain_conv(model: torch.nn.Module) -> bool:
    """Whether the module does what PyTorch's own convolution does, and nothing else."""
    kinds = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    kind: Any = next((kind for kind in kinds if isinstance(model, kind)), None)
    if kind is None or model._forward_hooks or model._forward_pre_hooks:
        return False
    own: Any = type(model)
    return own.forward is kind.forward and own._conv_forward is kind._conv_forward


def _swapped(
    model: torch.nn.Module, name: str, to_strided: set[str], made: dict[torch.nn.Module, torch.nn.Module]
) -> torch.nn.Module:
    if model in made:
        return made[model]
    is_conv = _is_plain_conv(model)
    swapped: torch.nn.Module = PackedConvolution(model) if is_conv else copy.copy(model)
    made[model] = swapped
    if not is_conv:
        swapped._forward_hooks = copy.copy(model._forward_hooks)
        prefix = f"{name}." if name else ""
        swapped._modules = {
            child: None if module is None else _swapped(module, prefix + child, to_strided, made)
            for child, module in model._modules.items()
        }
    if name in to_strided or not swapped._modules or is_conv:
        swapped.register_forward_hook(_After(name, name in to_strided))
    return swapped
