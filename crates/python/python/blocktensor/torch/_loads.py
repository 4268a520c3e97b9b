"""What `load_state_dict` gives the weights of a packed module."""

from collections.abc import Mapping

import torch


def loaded(own: Mapping[str, torch.Tensor], given: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies of weights with the values that are given. Those that share memory share it in the copies too: a value for one of them is
    one for all, and of two values the later stands, as where a model loads them."""
    memory: dict[int, torch.UntypedStorage] = {}
    made = {}
    for name, x in own.items():
        repeats = any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))
        if repeats or x.is_neg():
            made[name] = x.detach().clone(memory_format=torch.contiguous_format)
            continue
        place = x.untyped_storage()
        if place.data_ptr() not in memory:
            memory[place.data_ptr()] = place.clone()
        made[name] = torch.empty(0, dtype=x.dtype).set_(memory[place.data_ptr()], x.storage_offset(), x.shape, x.stride())
    with torch.no_grad():
        for name, x in made.items():
            if name in given:
                x.copy_(given[name].detach())
    return made
