"""Copies of a model for conversion: the model itself is left as it was, and runs that follow each other are compared."""

import copy
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import UnsupportedOp
from ._attributes import Generators, attributes_of
from ._told import error

#: Relative L2 differences of two runs that are no rounding.
_DIFFERENT = 1e-4


def with_own_tensors(model: torch.nn.Module) -> torch.nn.Module | None:
    """A copy that shares nothing with the model; `None` for a model that cannot be copied."""
    # PyTorch copies no tensor that was computed, such as the weight that `torch.nn.utils.weight_norm` sets.
    return _copied(model, {id(x): x.detach().clone() for _, x in attributes_of(model) if not x.is_leaf})


def with_shared_tensors(model: torch.nn.Module) -> torch.nn.Module | None:
    """A copy with the model's own weights and tensor attributes; `None` for a model that cannot be copied."""
    return _copied(model, {id(x): x for _, x in attributes_of(model)})


def _copied(model: torch.nn.Module, known: dict[int, Any]) -> torch.nn.Module | None:
    try:
        # The dictionary may not lose the tensors: their ids are its keys.
        return copy.deepcopy(model, dict(known))
    except Exception:
        return None


def check_runs(model: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    """Refuses a model whose results depend on the runs before, on the clock, or on random numbers that a graph does not show.

    A first run, and a run after another one, of copies that begin alike, give the same results for the same inputs.
    """
    others = pytree.tree_map(lambda x: x.detach() * 0.75 + 0.125, arguments)
    with Generators():
        first = _results(model, [others])
        later = _results(model, [arguments, others])
    if first is None or later is None or _agree(first, later):
        return
    text = "two runs of the model with the same inputs give different results: they depend on the runs before, or on random numbers"
    remedy = "a packed module keeps nothing between runs: pass what changes as an input"
    raise error(UnsupportedOp, text, remedy, op="torch.export")


def _results(model: torch.nn.Module, runs: list[tuple[Any, ...]]) -> list[Any] | None:
    """What a copy of the model returns in the last of the runs; `None` if there is no copy, or it raises."""
    made = with_own_tensors(model)
    if made is None:
        return None
    try:
        with torch.no_grad():
            for i, arguments in enumerate(runs):
                # Draws that the graph shows are PyTorch's to make: the last run has the same ones after any other.
                torch.manual_seed(len(runs) - i)
                result = made(*pytree.tree_map(lambda x: x.detach().clone(), arguments))
            leaves: list[Any] = pytree.tree_leaves(result)
            return leaves
    except Exception:
        # What the model raises for its example is told by the export; it need not take other numbers.
        return None


def _agree(x: list[Any], y: list[Any]) -> bool:
    return len(x) == len(y) and all(map(_same, x, y))


def _same(x: Any, y: Any) -> bool:
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        return type(x) is type(y) and (isinstance(x, torch.Tensor) or bool(x == y))
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if torch.equal(x, y):
        return True
    x, y = x.double(), y.double()
    if not torch.equal(x.isfinite(), y.isfinite()):
        return False
    x, y = x.nan_to_num(0.0, 0.0, 0.0), y.nan_to_num(0.0, 0.0, 0.0)
    return bool((x - y).norm() <= _DIFFERENT * y.norm())
