"""What `state_dict` of a model has beside its weights, and what `load_state_dict` gives the weights of a packed module."""

import contextlib
import copy
import functools
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from .._errors import Error, PackMismatch


@dataclass
class Saved:
    """What the model's `state_dict` had when it was converted, beside weights."""

    #: All names, in order.
    names: list[str] = field(default_factory=list)
    #: What is no weight: `get_extra_state`, and what hooks add.
    beside: dict[str, Any] = field(default_factory=dict)
    #: The versions of modules, by path: code that loads older states asks for them.
    versions: dict[str, Any] = field(default_factory=dict)


def saved(model: torch.nn.Module, weights: Mapping[str, torch.Tensor]) -> Saved:
    """What the model's `state_dict` has beside these weights."""
    try:
        state = model.state_dict()
        found = Saved(list(state), {name: own_copy(x) for name, x in state.items() if name not in weights})
    except Exception:
        # The model cannot save itself; the packed module saves weights.
        return Saved()
    metadata: Any = getattr(state, "_metadata", None)
    found.versions = copy.deepcopy(dict(metadata)) if isinstance(metadata, Mapping) else {}
    return found


def own_copy(x: Any) -> Any:
    """A copy that later edits do not reach; what cannot be copied as it is."""
    if isinstance(x, torch.Tensor):
        return x.detach().clone()
    with contextlib.suppress(Exception):
        return copy.deepcopy(x)
    return x


def put_into(destination: Any, prefix: str, keep_vars: bool, weights: Mapping[str, torch.Tensor], model: Saved) -> Any:
    """Writes a state dict as PyTorch does: weights, what the model had beside them, and the versions of modules."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    if hasattr(destination, "_metadata"):
        destination._metadata.update((prefix + path if path else prefix[:-1], dict(x)) for path, x in model.versions.items())
    for name in dict.fromkeys((*model.names, *weights)):
        x = weights.get(name)
        destination[prefix + name] = own_copy(model.beside[name]) if x is None else x if keep_vars else x.detach()
    return destination


def same_state(a: Any, b: Any) -> bool:
    """Whether two states that are no weights say the same."""
    if a is b:
        return True
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and _same(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same_state(x, b[name]) for name, x in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_state, a, b))
    try:
        equal: Any = a == b
        # An array of numpy has one answer for each element.
        return bool(equal if isinstance(equal, bool) else equal.all())
    except Exception:
        return False


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


def only_its_own(packed: Any, path: str) -> Any:
    """The `_load_from_state_dict` of a packed module that only the model may load into: other weights are an error."""

    def load(state: Mapping[str, Any], prefix: str, _: Any, strict: bool, missing: Any, unexpected: Any, errors: list[str]) -> None:
        given = packed.named({name.removeprefix(prefix): x for name, x in state.items() if name.startswith(prefix)})
        known = packed.state_dict()
        missing += [prefix + name for name in known if name not in given]
        unexpected += [prefix + name for name in given if strict and name not in known]
        if not all(same_state(known[name], x) for name, x in given.items() if name in known):
            what = f"other weights for the packed module `{path}`, which is the model's own"
            errors.append(f"{what}; load them into the model, and train it again")

    return load


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


def _misfit(e: PackMismatch) -> PackMismatch:
    """The error of `load_plan` as `blocktensor.torch.load` has it: with the remedies of this part."""
    packed = re.search(r"`threads=(\d+)`", e.remedy)
    number = re.fullmatch(r"threads: (\d+)", (e.operands or [""])[0])
    here = f", threads={number[1]}" if number is not None else ""
    remedy = f"convert the model again here, `to_blocked(model, example{here})`"
    if packed is not None:
        remedy = f"call `blocktensor.torch.load(path, threads={packed[1]})`, or {remedy}"
    text = str(e).removesuffix(f"; {e.remedy}").replace("`blocktensor.load_plan`", "`blocktensor.torch.load`", 1)
    made = PackMismatch(f"{text}; {remedy}")
    made.op, made.operands, made.remedy = "blocktensor.torch.load", e.operands, remedy
    return made


def unread(e: Error) -> Error:
    """The error of `load_plan` for a file that it cannot read, by the names of this part."""
    if isinstance(e, PackMismatch):
        return _misfit(e)
    text, remedy = (_named_here(x) for x in (str(e).removesuffix(f"; {e.remedy}"), e.remedy))
    made = type(e)(f"{text}; {remedy}")
    made.op, made.operands, made.remedy = "blocktensor.torch.load", e.operands, remedy
    return made


def _named_here(text: str) -> str:
    for name, here in (
        ("op `load_plan`", "op `blocktensor.torch.load`"),
        ("`blocktensor.load_plan`", "`blocktensor.torch.load`"),
        ("`Plan.save`", "`BlockedModule.save`"),
        ("`safetensors.numpy.load_file`", "`safetensors.torch.load_file`"),
    ):
        text = text.replace(name, here)
    return text
