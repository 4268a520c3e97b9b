"""What `load_state_dict` gives the weights of a packed module."""

import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import torch


def loaded(own: Mapping[str, torch.Tensor], given: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies of weights with the values that are given. Those that share memory share it in the copies too: a value for one of them is
    one for all, and of two values the later stands, as where a model loads them."""
    memory: dict[tuple[int, int], torch.UntypedStorage] = {}
    made = {}
    for name, x in own.items():
        repeats = any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))
        if repeats or x.is_neg():
            made[name] = x.detach().clone(memory_format=torch.contiguous_format)
            continue
        place = x.untyped_storage()
        key = place.data_ptr(), place.nbytes()
        if key not in memory:
            memory[key] = place.clone()
        made[name] = torch.empty(0, dtype=x.dtype).set_(memory[key], x.storage_offset(), x.shape, x.stride())
    with torch.no_grad():
        for name, x in made.items():
            if name in given:
                x.copy_(given[name].detach())
    return made


def changes_what_it_loads(model: torch.nn.Module) -> str | None:
    """The path of a module whose own code gives weights other values than those that it loads. Code that renames what older versions
    saved does not: it is found by loading the values that are there."""
    path: str
    for path, module in model.named_modules():
        if not any(map(_is_own, _loaders(module))):
            continue
        try:
            copied = copy.deepcopy(module)
            state = copied.state_dict()
            for name, x in state.items():
                if isinstance(x, torch.Tensor):
                    state[name] = x.detach().clone()
            given = dict(state)
            copied.load_state_dict(state, strict=False)
            kept = copied.state_dict()
        except Exception:
            return path
        if not all(_same(kept.get(name), x) for name, x in given.items()):
            return path
    return None


def _loaders(module: torch.nn.Module) -> Iterator[Any]:
    """The code that `load_state_dict` of a model runs for a module of it."""
    yield module._load_from_state_dict
    yield module.load_state_dict
    for hook in (*module._load_state_dict_pre_hooks.values(), *module._load_state_dict_post_hooks.values()):
        yield getattr(hook, "hook", hook)


def _is_own(code: Any) -> bool:
    """Whether the code is none of PyTorch's."""
    while isinstance(code, functools.partial):
        code = code.func
    of = getattr(code, "__module__", None) or getattr(type(code), "__module__", None) or ""
    return of.split(".")[0] != "torch"


def _same(kept: Any, given: Any) -> bool:
    if not isinstance(given, torch.Tensor):
        # A state that is no tensor is none of a packed module's.
        return True
    if not isinstance(kept, torch.Tensor) or kept.shape != given.shape or kept.dtype != given.dtype:
        return False
    return bool(((kept == given) | ((kept != kept) & (given != given))).all())
