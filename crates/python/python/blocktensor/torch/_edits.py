"""Edits of weights that PyTorch's versions of tensors do not count: those of fused optimizers, and of statistics in training mode."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

#: How often an optimizer stepped on what lies in a storage, by its address. An address that another storage gets later counts on,
#: so that what is packed from it looks edited at worst.
_STEPS: dict[int, int] = {}
#: Of all optimizers, so that most calls look at one number.
_total = 0

#: More elements in one dimension are no statistics of channels.
_MOST_CHANNELS = 1 << 16

#: PyTorch gives fewer elements to one thread (`at::internal::GRAIN_SIZE` is 32768).
_MOST_AT_ONCE = (1 << 15) - 1


def _stepped(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    """Runs after each step. In a graph of `torch.compile` the numbers would be constants."""
    global _total
    for group in optimizer.param_groups:
        for x in group["params"]:
            if isinstance(x, torch.Tensor) and x.requires_grad:
                place = _storage(x)
                _STEPS[place] = _STEPS.get(place, 0) + 1
    # After the counts: who sees it sees them.
    _total += 1


_hook: Any = torch.compiler.disable(_stepped)
register_optimizer_step_post_hook(_hook)


def _storage(x: torch.Tensor) -> int:
    try:
        return int(x.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):
        # Without memory of its own: sparse, or elsewhere.
        return 0


def total_steps() -> int:
    return _total


def steps_of(x: torch.Tensor) -> int:
    """How often an optimizer stepped on the tensor's memory."""
    return _STEPS.get(_storage(x), 0) if _STEPS else 0


def is_statistics(x: torch.Tensor) -> bool:
    """Whether the tensor may be running statistics, which a forward in training mode changes past their version."""
    is_plain = not isinstance(x, torch.nn.Parameter) and x.layout == torch.strided and x.device.type == "cpu"
    return is_plain and x.ndim == 1 and x.dtype == torch.float32 and x.numel() <= _MOST_CHANNELS


def in_parts(tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Statistics in parts that PyTorch copies and compares on one thread.

    Threads of its own would spin for milliseconds, while a plan runs on theirs.
    """
    parts: list[list[torch.Tensor]] = []
    room = 0
    for x in tensors:
        if x.numel() > room or not parts:
            parts.append([])
            room = _MOST_AT_ONCE
        parts[-1].append(x.detach())
        room -= x.numel()
    return parts


def bits_of(parts: Sequence[list[torch.Tensor]]) -> list[torch.Tensor]:
    """The elements of statistics, as integers: a NaN is equal to itself."""
    return [torch.cat(part).view(torch.int32) for part in parts]
