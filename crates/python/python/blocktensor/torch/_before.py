"""What a forward may change of a module that is trained, as it was before: for `check`, and after an error."""

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import Any

import torch

from .._errors import UnsupportedOp
from ._beside import OfOnePlan
from ._recorded import RecordedTensor
from ._told import error, in_pytorch

#: A buffer: its path, its module's own dictionary, its name there, and what it is.
_Place = tuple[str, dict[str, Any], str, Any]

#: What every module has: its weights, its children and its hooks are not put back.
_OWN = frozenset(vars(torch.nn.Module())) - {"training"}

_CONTAINERS = (list, dict, set, deque, Counter, OrderedDict, defaultdict)


class Before:
    """Attributes of modules, the entries of lists, dictionaries and sets that these are, and the elements of tensors.

    Elements of tensors with more than one axis are kept for `all_elements` alone: a copy of each would take time in every forward.
    What containers and objects hold in turn is not kept, nor is anything outside of the module.
    """

    def __init__(self, module: torch.nn.Module, all_elements: bool) -> None:
        self._places: list[_Place] = []
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._entries: list[tuple[Any, Any]] = []
        tensors: dict[int, torch.Tensor] = {}
        for path, one in module.named_modules():
            for name, x in one._buffers.items():
                self._places.append((f"{path}.{name}" if path else name, one._buffers, name, x))
                if x is not None and not x.is_meta:
                    tensors[id(x)] = x
            if isinstance(one, OfOnePlan):
                # What it keeps is of its plan.
                continue
            own = {name: x for name, x in vars(one).items() if name not in _OWN}
            self._attributes.append((vars(one), own))
            for x in own.values():
                if isinstance(x, torch.Tensor) and x.layout == torch.strided and not x.is_meta:
                    tensors[id(x)] = x
                elif isinstance(x, _CONTAINERS) and type(x) in _CONTAINERS:
                    self._entries.append((x, x.copy()))
        self._elements = [(x, x.detach().clone()) for x in tensors.values() if x.ndim <= 1 or all_elements]

    def buffers(self) -> Iterator[torch.Tensor]:
        return (x for *_, x in self._places if x is not None)

    def check_assigned(self) -> None:
        """Refuses a forward that puts a value of its own into the place of a buffer: it would be of no use, and could not be saved."""
        assigned = [path for path, place, name, _ in self._places if isinstance(place.get(name), RecordedTensor)]
        if assigned:
            text = f"op `train`: the forward assigns a value to the buffer `{assigned[0]}`, and values are of use in their forward alone"
            name = assigned[0].split(".")[-1]
            raise error(UnsupportedOp, text, f"assign numbers: `self.{name} = {in_pytorch()}`", op="train")

    def put_back(self) -> None:
        for _, place, name, before in self._places:
            place[name] = before
        for now, own in self._attributes:
            for name in [name for name in now if name not in _OWN and name not in own]:
                del now[name]
            now.update(own)
        for x, entries in self._entries:
            x.clear()
            x.extend(entries) if isinstance(x, (list, deque)) else x.update(entries)
        with torch.no_grad():
            for x, elements in self._elements:
                # What did not change may be a tensor that nothing can be written into, such as an expanded one.
                if not torch.equal(x, elements):
                    x.copy_(elements)
