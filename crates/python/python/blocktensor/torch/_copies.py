"""Copies of a model for conversion: the model itself is left as it was, and runs that follow each other are compared."""

import copy
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.utils import _pytree as pytree

from .._errors import UnsupportedOp
from ._attributes import Generators, HeldState, attributes_of, containers
from ._noticed import Errors, Place
from ._outside import Outside
from ._parts import check_held
from ._promises import is_random
from ._told import error, told

#: Relative L2 differences of two runs that are no rounding.
_DIFFERENT = 1e-4
#: Relative differences of inputs and weights that are about those of rounding, how often they are drawn, and by how much more than for them
#: a result that is itself rounding may differ.
_NEARBY, _DRAWS, _MORE = 1e-6, 8, 10
#: What no copy can be made of, and which keeps nothing that a result depends on.
_STATELESS = (type(threading.Lock()), type(threading.RLock()), ModuleType)


def with_own_tensors(model: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares nothing with the model. A model that cannot be copied is an `UnsupportedOp`."""
    # PyTorch copies no tensor that was computed, such as the weight that `torch.nn.utils.weight_norm` sets.
    return _copied(model, {id(x): x.detach().clone() for _, x in attributes_of(model) if not x.is_leaf})


def with_shared_tensors(model: torch.nn.Module) -> torch.nn.Module:
    """A copy with the model's own weights and tensor attributes. A model that cannot be copied is an `UnsupportedOp`."""
    return _copied(model, {id(x): x for _, x in attributes_of(model)})


def _copied(model: torch.nn.Module, known: dict[int, Any]) -> torch.nn.Module:
    known |= {id(x): x for x in _held(model) if isinstance(x, _STATELESS)}
    # `known` may not lose the tensors: their ids are its keys.
    memo = dict(known)
    try:
        made = copy.deepcopy(model, memo)
        _give_hooks(model, made, memo)
        return made
    except Exception as e:
        check_held(model, None, "trained")
        text = f"argument `model`: {_uncopyable(model, known)} cannot be copied ({told(e)}), and conversion runs copies of a model"
        remedy = "give its class a `__deepcopy__`, or keep it outside of the model"
        raise error(UnsupportedOp, text, remedy, op="deepcopy") from e


#: The hooks that a call of a module runs, and how.
_HOOKS = "_forward_hooks _forward_pre_hooks _forward_hooks_with_kwargs _forward_pre_hooks_with_kwargs _forward_hooks_always_called".split()


def _give_hooks(model: torch.nn.Module, made: torch.nn.Module, memo: dict[int, Any]) -> None:
    """Gives the copies of modules the hooks that copying leaves out: those of graph modules, and of what `torch.compile` made."""
    copies = dict(made.named_modules())
    for path, module in model.named_modules():
        if isinstance(module, fx.GraphModule) and path in copies:
            # What its hooks may read.
            lost = {name: x for name, x in vars(module).items() if name not in vars(copies[path])}
            copies[path].__dict__.update(copy.deepcopy(lost, memo))
        for name in _HOOKS:
            if path in copies and len(vars(module).get(name, ())) > len(vars(copies[path]).get(name, ())):
                copies[path].__dict__[name] = copy.deepcopy(vars(module)[name], memo)


def _held(model: torch.nn.Module) -> Iterator[Any]:
    """What the attributes of modules hold, themselves or in lists, dictionaries and objects."""
    for module in model.modules():
        for value in vars(module).values():
            yield value
            for _, held in containers(value, ""):
                yield from held.values() if isinstance(held, dict) else held


def _uncopyable(model: torch.nn.Module, known: dict[int, Any]) -> str:
    """The attribute that cannot be copied."""
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            try:
                copy.deepcopy(value, dict(known)) if name != "_modules" else None
            except Exception:
                return f"attribute `{path}.{name}`" if path else f"attribute `{name}`"
    return type(model).__name__


def state_error(what: str, model: torch.nn.Module, arguments: tuple[Any, ...]) -> Exception:
    """The error for a forward that changes something which is there after the run."""
    runs = runs_of(model, arguments)
    if runs.first is not None and runs.later is not None and _agree(runs.first, runs.later):
        text = f"`forward` changes {what}, which a packed module leaves as it is"
        remedy = "return the value as a result of the model, or leave the change out"
    else:
        text = f"`forward` changes {what}, so that a run depends on the runs before it"
        remedy = "a packed module keeps nothing between runs: pass the value as an input and return it"
    return error(UnsupportedOp, text, remedy, op="torch.export")


class Runs(NamedTuple):
    """What runs of copies of a model gave, `None` if it raises: a first run, and one after another run."""

    #: For inputs that are not the example, so that nothing of the example stands for them.
    arguments: tuple[Any, ...]
    first: list[Any] | None
    later: list[Any] | None
    #: What the later run changed outside of the model, and of its attributes.
    changed: list[str]
    #: A first run for inputs of the other sign, where code that looks at data goes another way: the inputs, and what it gave.
    mirrored: tuple[tuple[Any, ...], list[Any] | None]
    #: Where errors reached the model's code: in any of the runs, and in the later one.
    caught: set[Place]
    caught_later: set[Place]


def check_runs(model: torch.nn.Module, runs: Runs, arguments: tuple[Any, ...]) -> None:
    """Refuses a model whose results depend on the runs before, on the clock, or on random numbers that a graph does not show.

    A first run, and a run after another one, of copies that begin alike, give the same results for the same inputs. Each
    conversion asks anew: nothing tells whether the model's code and what it reaches are what they were.
    """
    if runs.changed:
        raise state_error(runs.changed[0], model, arguments)
    if runs.first is None or runs.later is None or _agree(runs.first, runs.later):
        return
    text = "two runs of the model with the same inputs give different results: they depend on the runs before, or on random numbers"
    remedy = "a packed module keeps nothing between runs: pass what changes as an input"
    raise error(UnsupportedOp, text, remedy, op="torch.export")


def check_draws(model: torch.nn.Module, exported: torch.export.ExportedProgram, constants: dict[fx.Node, Any], arguments: Any) -> None:
    """Refuses a model that seeds PyTorch's generator, or puts its state back: a graph shows the draws alone.

    The graph and a copy of the model draw the same numbers after the same seed, and leave the generator in the same state.
    """
    if not any(is_random(node) for node in exported.graph.nodes):
        return
    with Outside(model), Generators(), torch.no_grad():
        torch.manual_seed(1)
        wanted = with_own_tensors(model)(*arguments)
        state = torch.get_rng_state()
        torch.manual_seed(1)
        made = _made(exported, constants, arguments)
        if torch.equal(state, torch.get_rng_state()) and _agree(pytree.tree_leaves(made), pytree.tree_leaves(wanted)):
            return
    text = "`forward` seeds PyTorch's generator (`torch.manual_seed`, `fork_rng`) and draws random numbers, and a packed module has no seed"
    raise error(UnsupportedOp, text, "make them once with a generator of their own, and keep them as a buffer", op="torch.export")


def check_graph(exported: torch.export.ExportedProgram, constants: dict[fx.Node, Any], runs: Runs) -> None:
    """Refuses a graph that computes something else than the model does.

    `torch.export` runs a model in a way that its code can tell from a usual run (`torch.compiler.is_exporting`, the type of a tensor).
    """
    if any(is_random(node) for node in exported.graph.nodes):
        return
    if all(_gives(exported, constants, inputs, wanted) for inputs, wanted in ((runs.arguments, runs.first), runs.mirrored)):
        return
    text = "the calls that `torch.export` records give other results than a run of the model"
    remedy = (
        "leave out of `forward` what tells a trace from a run (`torch.compiler.is_compiling()`, the type of a tensor), and writes into "
        "memory that the same call reads (`y[..., ::2] += y[..., :1]`)"
    )
    raise error(UnsupportedOp, text, remedy, op="torch.export")


def _gives(exported: torch.export.ExportedProgram, constants: dict[fx.Node, Any], arguments: Any, wanted: list[Any] | None) -> bool:
    """Whether the graph returns what a run of the model did; a model that raised has nothing to compare with."""
    if wanted is None:
        return True
    try:
        made = pytree.tree_leaves(_made(exported, constants, arguments))
        return _agree(made, wanted) or _agree_but_for_rounding(exported, constants, arguments, made, wanted)
    except Exception:
        # A call raises where the model's code went on.
        return False


def _agree_but_for_rounding(
    exported: torch.export.ExportedProgram, constants: dict[fx.Node, Any], arguments: Any, made: list[Any], wanted: list[Any]
) -> bool:
    """Whether results differ by no more than inputs and weights beside them change them.

    A result of which little is left, such as the mean of a normalised tensor, has rounding of the size of its operands.
    """
    if len(made) != len(wanted):
        return False
    generator = torch.Generator().manual_seed(0)

    def nearby(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        return x * (1 + _NEARBY * torch.randn(x.shape, generator=generator)).to(x.dtype)

    moved = [pytree.tree_leaves(_made(exported, constants, arguments, nearby)) for _ in range(_DRAWS)]
    return all(_same(x, y) or _is_rounding(x, y, others) for x, y, *others in zip(made, wanted, *moved, strict=True))


def _is_rounding(x: Any, y: Any, moved: list[Any]) -> bool:
    if not all(isinstance(one, torch.Tensor) and one.is_floating_point() for one in (x, y)):
        return False
    if x.shape != y.shape or x.dtype != y.dtype or not torch.equal(x.isfinite(), y.isfinite()):
        return False
    x, y, *moved = (one.double().nan_to_num(0.0, 0.0, 0.0) for one in (x, y, *moved))
    return bool((x - y).norm() <= _MORE * max((one - x).norm() for one in moved))


def _made(
    exported: torch.export.ExportedProgram,
    constants: dict[fx.Node, Any],
    arguments: tuple[Any, ...],
    change: Callable[[Any], Any] = lambda x: x,
) -> Any:
    """What the graph returns, for inputs and weights that were changed so."""
    inputs = iter(pytree.tree_map(lambda x: x.detach().clone(), pytree.tree_leaves(arguments)))
    given = [change(constants[x] if x in constants else next(inputs)) for x in exported.graph.nodes if x.op == "placeholder"]
    with torch.no_grad():
        return fx.Interpreter(exported.graph_module).run(*given)


def runs_of(model: torch.nn.Module, arguments: tuple[Any, ...]) -> Runs:
    """Runs the model. What its code caches is cached here as in any run, and not by a trace, whose tensors are stand-ins."""
    others = pytree.tree_map(lambda x: x.detach() * 0.75 + 0.125, arguments)
    opposite = pytree.tree_map(torch.neg, others)
    caught: set[Place] = set()
    with Outside(model), Generators():
        first, _, places = _results(model, [others])
        mirrored, _, more = _results(model, [opposite])
        later, changed, last = _results(model, [arguments, others])
    return Runs(others, first, later, changed, (opposite, mirrored), caught.union(places, more, last), last)


def _results(model: torch.nn.Module, runs: list[tuple[Any, ...]]) -> tuple[list[Any] | None, list[str], set[Place]]:
    """What a copy of the model returns in the last of the runs, `None` if it raises; what that run changed; and where errors reached
    the model's code in the runs."""
    errors = Errors()
    with Outside(model) as outside:
        made, result = with_own_tensors(model), None
        held = HeldState(made)
        try:
            with torch.no_grad(), errors:
                for i, arguments in enumerate(runs):
                    outside.go_on()
                    held.keep()
                    # Draws that the graph shows are PyTorch's to make: the last run has the same ones after any other.
                    torch.manual_seed(len(runs) - i)
                    result = made(*pytree.tree_map(lambda x: x.detach().clone(), arguments))
            leaves: list[Any] = pytree.tree_leaves(result)
            kept = held.changed() if len(runs) > 1 else []
            changed = [*outside.changed(), *(f"the model's attribute `{name}`" for name in kept)]
            return leaves, changed, errors.caught()
        except Exception as e:
            # What the model raises for its example is told by the export; it need not take other numbers.
            return None, [], errors.caught(e)


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
