"""A PyTorch model as a packed module."""

import copy
import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils.dlpack import to_dlpack  # pyright: ignore[reportPrivateImportUsage]

from .._errors import Error, InvalidArgument, PackMismatch, UnsupportedOp
from .._native import Plan, Tensor, load_plan
from .._types import FilePath
from ._answers import Answers
from ._attributes import attributes_of
from ._beside import OfOnePlan, check_compiled, not_plain
from ._export import Program, export
from ._handles import ACTIVE, described
from ._inputs import Expected, check_count, check_symbolic, check_traced, in_order, is_dual, not_a_tensor, problem
from ._loads import loaded, put_into, same_state, unread
from ._options import check_limits, checked_options
from ._plan import ModelPlan as ModelPlan
from ._plan import checked, plan_program, views_of_results
from ._promises import written
from ._quantized import integers_of
from ._results import as_result, copied, nested, with_strides
from ._told import error
from ._unwrap import plain_name


def plan(
    model: torch.nn.Module,
    example: Any,
    *,
    layouts: str = "measured",
    threads: int | None = None,
    profiles: str = "kept",
    exact: bool = False,
    precision: str = "f32",
) -> ModelPlan:
    """What `to_blocked` would do, for inputs like `example`: print it. The model is not changed.

    Unsupported calls are listed, and the rest is planned around them.
    """
    options = checked_options(
        "plan", layouts=layouts, threads=threads, profiles=profiles, exact=exact, precision=precision
    )
    return plan_program(export(model, example), options)


def to_blocked(
    model: torch.nn.Module,
    example: Any,
    *,
    reorders: int | None = None,
    partial: bool = False,
    layouts: str = "measured",
    threads: int | None = None,
    profiles: str = "kept",
    exact: bool = False,
    precision: str = "f32",
) -> "BlockedModule":
    """The model as a packed module, for inputs like `example`: plain tensors in and out, which share their memory.

    `reorders` is the most that a run may make: measured layouts keep to it where that is possible. More are a `ReorderDenied` that
    names their places. Calls that cannot run are one `UnsupportedOp` that lists them all; with `partial=True` PyTorch runs them, and
    the plan shows each crossing. `exact` keeps convolutions to the direct algorithm where layouts are measured.
    `precision` is f32 or bf16: the type in which ops compute that have kernels for it, with casts that the plan shows.
    """
    options = checked_options(
        "to_blocked", layouts=layouts, threads=threads, profiles=profiles, exact=exact, precision=precision
    )
    check_limits("to_blocked", reorders, partial)
    program = export(model, example)
    return BlockedModule(program, checked(program, options, reorders, partial), options, reorders, partial)


def _digests(state: Mapping[str, torch.Tensor]) -> dict[str, bytes]:
    def digest(x: torch.Tensor) -> bytes:
        data: Any = x.detach().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()
        return hashlib.blake2b(data, digest_size=16).digest()

    return {name: digest(x) for name, x in state.items()}


def _is_tensor(x: Any) -> bool:
    """Whether a plan may read the tensor's memory as it is."""
    return isinstance(x, torch.Tensor) and not x.is_neg()


#: Where `torch.func.functional_call` reads the modules that names with dots go through. It takes an AttributeError for its own.
_ACCESSOR = "torch.nn.utils._named_member_accessor"

#: Attributes of a packed module that are made of its plan.
_OF_PLAN = frozenset(
    "_program _structures _names _options _reorders _partial plan _direct _packed _checks_inputs _views _constants".split()
)
#: The hooks that a call runs.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")

#: What to trace in place of a packed module.
_TRACED = "trace the model itself, or keep the packed module with `save`"

#: What `make_fx` records with.
_PROXY = torch._C._TorchDispatchModeKey.PROXY

def _check_gradients(inputs: Iterable[Any]) -> None:
    for x in inputs:
        if isinstance(x, (Answers, Tensor)):
            _check_eager(x)
        if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
            text = "argument `input`: got a tensor that requires a gradient, but packed modules are for inference"
            raise error(InvalidArgument, text, "call it under `torch.no_grad()`")
        if isinstance(x, torch.Tensor) and is_dual(x):
            text = "argument `input`: got a tensor with a tangent (`torch.autograd.forward_ad`), but packed modules are for inference"
            raise error(InvalidArgument, text, "differentiate the model itself")


def _check_eager(x: Answers | Tensor) -> None:
    """Refuses blocked tensors, which a plan cannot read, and a gradient that would be lost in the forward of a trained module."""
    if isinstance(x, Answers) and x.requires_grad:
        text = "op `train`: a packed module (`to_blocked`) is for inference, and has no gradient for its input in the forward of a trained one"
        remedy = "put the model that it was made of in its place, or pass `x.detach()`, of which no gradient is wanted"
        raise error(UnsupportedOp, text, remedy, op="train")
    if (x.held if isinstance(x, Answers) else x).is_blocked and ACTIVE.recording is None:
        text = f"argument `input`: got {described(x)}, but a packed module takes rows"
        raise error(InvalidArgument, text, f"pass `x.to_strided(){'.torch()' if isinstance(x, Answers) else ''}`")


def _direct(program: Program | None, plan: ModelPlan | Plan) -> tuple[Plan, int] | None:
    """The plan and its number of inputs, where the module takes its inputs and returns its only output."""
    if program is None or isinstance(plan, Plan) or not program.spec.is_leaf() or _difference(program, plan) is not None:
        return None
    if program.structure != pytree.tree_structure(tuple(program.inputs)):
        return None
    region = plan.regions[0]
    return (region.plan, len(region.inputs)) if region.plan is not None else None


def _difference(program: Program, plan: ModelPlan) -> str | None:
    """What a model does beside running one plan."""
    if len(plan.regions) != 1 or plan.regions[0].plan is None:
        return "a module that leaves calls to PyTorch is more than one plan" if plan.regions else "the model has no calls"
    if plan.regions[0].inputs != program.inputs or plan.regions[0].outputs != program.outputs:
        return "some results of the model are no results of its plan (an input, a weight, a number, a view, or one result twice)"
    return None


class BlockedModule(OfOnePlan):
    """A model whose weights are packed. It is for inference, and for inputs of the sizes that it was made for."""

    def __init__(
        self,
        program: Program | None,
        plan: ModelPlan | Plan,
        options: dict[str, Any],
        reorders: int | None = None,
        partial: bool = False,
        structures: tuple[pytree.TreeSpec, pytree.TreeSpec] | None = None,
        names: Sequence[str | None] = (),
    ) -> None:
        super().__init__()
        self.training = False
        self._program = program
        #: How arguments and results are nested. A packed file does not have it.
        self._structures = (program.structure, program.spec) if program is not None else structures
        self._names = program.names if program is not None else names
        self._options, self._reorders, self._partial = options, reorders, partial
        self._take(plan)

    def _take(self, plan: ModelPlan | Plan) -> None:
        self.plan = plan
        program = self._program
        self._direct = _direct(program, plan)
        self._packed: dict[str, bytes] = {}
        #: Whether PyTorch, which takes other inputs too, runs calls of the model.
        self._checks_inputs = False
        if program is None or isinstance(plan, Plan):
            return
        self._packed = _digests({name: program.constants[node] for node, name in program.state.items()})
        self._views = views_of_results(program)
        torchs = [node for region in plan.regions if region.plan is None for node in region.calls]
        read = {x for node in torchs for x in node.all_input_nodes if x in program.constants}
        # Copies, as a plan has them: an edited weight changes all calls or none.
        self._constants = {x: copied(program.constants[x]) for x in program.constants if x in read}
        # Weights of integers: only plans read them, as integers.
        kept = {*read, *program.outputs}
        program.constants |= {x: None for x in program.folded if x not in kept and integers_of(x, program.constants) is not None}
        self._checks_inputs = bool(torchs) or bool(self._views)

    def forward(self, *args: Any, **named: Any) -> Any:
        """Runs the plan. Inputs are those of the model's `forward`, in order or by name."""
        if torch.compiler.is_compiling():
            check_compiled()
        if torch._C._is_tracing() or torch._C._get_dispatch_mode(_PROXY) is not None:
            check_traced(_TRACED)
        if not isinstance(args, tuple):
            check_symbolic(args, _TRACED)
        if named:
            args = in_order(args, named, self._names)
        try:
            return self._run(args)
        except Exception as e:
            # What no plan takes is found here, so that what it takes is not looked at twice.
            check_symbolic(args, _TRACED)
            given, wanted = pytree.tree_leaves(args), self._expected()
            for x, expected in zip(given, wanted, strict=True) if len(given) == len(wanted) else ():
                found = problem(x, expected)
                if found is not None:
                    raise found from (None if isinstance(e, Error) else e)
            raise

    def _expected(self) -> list[Expected]:
        if self._program is not None:
            return [(node.name, node.meta["val"].shape, node.meta["val"].dtype) for node in self._program.inputs]
        assert isinstance(self.plan, Plan)
        return [(name, shape, torch.float32) for name, _, shape in self.plan.inputs]

    def _run(self, args: tuple[Any, ...]) -> Any:
        if self._direct is not None and len(args) == self._direct[1] and all(map(_is_tensor, args)):
            _check_gradients(args)
            return as_result(self._direct[0].run(*map(to_dlpack, args))[0], args)
        leaves = self._leaves(args)
        _check_gradients(leaves)
        # PyTorch exports no memory of a tensor with a gradient, though nothing asks for one here.
        leaves = [x.detach() if isinstance(x, torch.Tensor) and x.requires_grad else x for x in leaves]
        if isinstance(self.plan, Plan):
            results = [as_result(t, leaves) for t in self.plan.run(*leaves)]
            if self._structures is not None:
                return pytree.tree_unflatten(results, self._structures[1])
            return results[0] if len(results) == 1 else tuple(results)
        assert self._program is not None
        program = self._program
        values: dict[fx.Node, Any] = dict(zip(program.inputs, leaves, strict=True))
        for region in self.plan.regions:
            if region.plan is None:
                self._run_with_torch(region.calls, values)
                continue
            # Rows of PyTorch's own calls may lie in any order; a model's inputs are checked by the plan.
            inputs = [values[x] if x in program.inputs else values[x].contiguous() for x in region.inputs]
            results = region.plan.run(*inputs)
            values.update(zip(region.outputs, [as_result(t, inputs) for t in results], strict=True))
        copies: dict[int, Any] = {}
        with torch.no_grad():
            returned = [self._result(x, values, copies) if isinstance(x, fx.Node) else x for x in program.outputs]
        return nested(returned, program.spec)

    def _leaves(self, args: tuple[Any, ...]) -> list[Any]:
        """The tensors in the order of the model's inputs."""
        args = pytree.tree_map_only(torch.Tensor, torch.Tensor.resolve_neg, args)
        leaves: list[Any] = pytree.tree_leaves(args)
        structures = self._structures
        check_count(leaves, self._expected(), "pass one tensor for each, in this order" if structures is None else "pass inputs like the example's")
        if structures is None:
            return leaves
        structure = structures[0]
        if pytree.tree_structure(args) != structure:
            try:
                leaves = structure.flatten_up_to(args)
            except ValueError:
                text = "argument `input`: got arguments that are nested in another way than the example's"
                raise error(InvalidArgument, text, "pass inputs like the example's") from None
        for x, expected in zip(leaves, self._expected(), strict=True) if self._checks_inputs else ():
            found = problem(x, expected) if isinstance(x, torch.Tensor) else not_a_tensor(x, expected)
            if found is not None:
                raise found
        return leaves

    def _result(self, node: fx.Node, values: dict[fx.Node, Any], copies: dict[int, Any]) -> Any:
        assert self._program is not None
        program = self._program
        if node in self._views:
            root, calls = self._views[node]
            if root not in program.inputs and isinstance(values[root], torch.Tensor):
                values[root] = with_strides(values[root], root.meta["val"])
            for call in calls:
                args, kwargs = fx.node.map_arg((call.args, call.kwargs), lambda x: self._value(x, values))  # type: ignore[misc]
                values[call] = call.target(*args, **kwargs)  # type: ignore[operator]
            return values[node]
        if node in values:
            return values[node]
        found = program.constants[node]
        # A constant is made anew in each run, with the memory that it shares; the model's own tensors are returned themselves.
        return found if node in program.state else copy.deepcopy(found, copies)

    def _value(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        assert self._program is not None
        if node in values:
            return values[node]
        return self._constants[node] if node in self._constants else self._program.constants[node]

    def _run_with_torch(self, calls: list[fx.Node], values: dict[fx.Node, Any]) -> None:
        # The calls have their dtypes: a `torch.autocast` around the module is none of the model's.
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            for node in calls:
                targets = written(node)

                def value(x: fx.Node, targets: list[fx.Node] = targets) -> Any:
                    found = self._value(x, values)
                    # What is written into may be an input's memory, or a constant's: the result stands for it from here on.
                    return found.clone() if x in targets else found

                args, kwargs = fx.node.map_arg((node.args, node.kwargs), value)  # type: ignore[misc]
                values[node] = node.target(*args, **kwargs)  # type: ignore[operator]

    def train(self, mode: bool = True) -> "BlockedModule":
        """Packed modules are for inference: `train(True)` is an error."""
        if mode:
            raise error(InvalidArgument, "argument `mode`: got True, but packed modules are for inference", "train the model itself")
        return self

    def _no_part(self, name: str) -> Exception:
        asks = sys._getframe(2).f_globals.get("__name__")
        return not_plain(name) if asks == _ACCESSOR else super()._no_part(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor) and name in self._parts():
            raise not_plain(name)
        super().__setattr__(name, value)

    def _parts(self) -> set[str]:
        program: Program | None = self.__dict__.get("_program")
        return set() if program is None else {name.split(".")[0] for name in program.exported.state_dict}

    def has_plain_weights(self) -> bool:
        """Whether `state_dict` gives them: not for a packed file, nor for a copy."""
        return self._program is not None

    def check_weights(self, model: torch.nn.Module) -> None:
        """Raises `PackMismatch` if weights of the model were edited after they were packed."""
        if not isinstance(model, torch.nn.Module):
            text = f"argument `model`: got {type(model).__name__}, but weights are compared with those of a module"
            raise error(InvalidArgument, text, "pass the model that was packed")
        if self._program is None:
            text = "a packed file, or a copy of a packed module, does not know the plain weights that it was packed from"
            raise error(UnsupportedOp, text, "check the module that `to_blocked` returned")
        self._check(self.named(dict(attributes_of(model))), self._packed)

    def changed(self, tensors: Mapping[str, torch.Tensor], names: Iterable[str]) -> list[str]:
        """Which of these weights differ from the packed ones."""
        now = _digests(tensors)
        known = {name for name in names if name in now or self._is_weight(name)}
        return [name for name, digest in self._packed.items() if name in known and now.get(name) != digest]

    def _check(self, tensors: Mapping[str, torch.Tensor], names: Iterable[str]) -> None:
        changed = self.changed(tensors, names)
        if changed:
            text = f"weights differ from the packed ones: {', '.join(changed[:8])}{' ...' if len(changed) > 8 else ''}"
            raise error(PackMismatch, text, "call `load_state_dict(model.state_dict())`, which packs them again")

    def named(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors by the names that this module has for them: `torch.compile` puts a part of its own into names."""
        assert self._program is not None
        own = {plain_name(name): name for name in (*self._packed, *self._program.exported.state_dict, *self._program.saved.beside)}
        return {own.get(plain_name(name), name): x for name, x in tensors.items()}

    def _is_weight(self, name: str) -> bool:
        return self._program is not None and name in self._program.exported.state_dict

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The plain weights, by the names of the model, and what its own `state_dict` had beside them when it was converted. The arguments
        are those of `torch.nn.Module.state_dict`."""
        if self._program is None:
            text = "a packed file, or a copy of a packed module, has no plain weights"
            raise error(UnsupportedOp, text, "keep the model's own state dict")
        # PyTorch takes them in order, too.
        given: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
        destination, prefix, keep_vars = given
        state, model = self._program.exported.state_dict, self._program.saved
        # They are the model's own tensors, which the program may have edited since.
        self._check(state, state)
        return put_into(destination, prefix, keep_vars, state, model)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """What `load_state_dict` of a module around this one calls."""
        own = {name.removeprefix(prefix): x for name, x in state_dict.items() if name.startswith(prefix)}
        try:
            found = self.load_state_dict(own, strict=False)
        except Error as e:
            error_msgs.append(str(e))
            return
        missing_keys += [prefix + name for name in found.missing_keys]
        if strict:
            unexpected_keys += [prefix + name for name in found.unexpected_keys]

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Packs other weights: those of the model that this module was made of are left as they are."""
        if self._program is None:
            text = "a packed file, or a copy of a packed module, has no plain weights to replace"
            raise error(UnsupportedOp, text, "pack the model again")
        if self._program.loads is not None:
            place = f"module `{self._program.loads}`" if self._program.loads else "the model"
            text = f"{place} has code of its own for `load_state_dict` that changes what it loads, and a packed module does not run it"
            raise error(UnsupportedOp, text, "load it into the model, and convert the model again", op="load_state_dict")
        if not isinstance(state_dict, Mapping):
            text = f"argument `state_dict`: got {type(state_dict).__name__}, but weights are tensors by name"
            raise error(InvalidArgument, text, "pass the state dict of the same model")
        own, beside = self._program.exported.state_dict, self._program.saved.beside
        state_dict = self.named(state_dict)
        for name, x in state_dict.items():
            if name in beside and not same_state(beside[name], x):
                text = f"argument `state_dict`: got another `{name}` than the model had when it was converted, and a packed module has no code to load it"
                raise error(UnsupportedOp, text, "load it into the model, and convert the model again", op="load_state_dict")
            if name not in beside and not isinstance(x, torch.Tensor):
                text = f"argument `state_dict`: got {type(x).__name__} for `{name}`, but a packed module has tensors alone"
                if name in own:
                    remedy = "pass `torch.from_numpy(x)`" if hasattr(x, "__array_interface__") else "pass the state dict of the same model"
                else:
                    remedy = "leave it out; where the model computes with it, load it into the model, and convert that again"
                raise error(InvalidArgument, text, remedy)
        known = {**own, **beside}
        missing, unexpected = [name for name in known if name not in state_dict], [name for name in state_dict if name not in known]
        wrong = [*missing, *unexpected] if strict else []
        wrong += [name for name, x in own.items() if name in state_dict and state_dict[name].shape != x.shape]
        if wrong:
            text = f"argument `state_dict`: got other names or sizes for {', '.join(wrong[:8])}"
            raise error(InvalidArgument, text, "pass the state dict of the same model")
        replaced = loaded(own, state_dict)
        program = self._program
        before = dict(program.constants)
        try:
            for node, name in program.state.items():
                program.constants[node] = replaced.get(name, program.constants[node])
            program.fold()
            plan = checked(program, self._options, self._reorders, self._partial)
        except BaseException:
            program.constants.update(before)
            raise
        own.clear()
        own.update(replaced)
        self._take(plan)
        return torch.nn.modules.module._IncompatibleKeys(missing, unexpected)

    def save(self, path: FilePath) -> None:
        """Writes the packed plan into a file, for `load`."""
        hooks = [name for name, x in vars(self).items() if name in _HOOKS and x]
        if hooks:
            text = f"a packed file is one plan, but the module has hooks (`{hooks[0].strip('_')}`)"
            raise error(UnsupportedOp, text, "remove them before, and register them on what `load` returns", op="save")
        remedy = "save those of `module.plan.regions` that have a plan one by one, `region.plan.save(path)`, for `blocktensor.load_plan`"
        self._only_plan("a packed file is one plan", remedy, "save").save(path)

    def _only_plan(self, rule: str, remedy: str, op: str) -> Plan:
        if isinstance(self.plan, Plan):
            return self.plan
        assert self._program is not None
        difference = _difference(self._program, self.plan)
        if difference is not None:
            raise error(UnsupportedOp, f"{rule}, but {difference}", remedy, op=op)
        assert self.plan.regions[0].plan is not None
        return self.plan.regions[0].plan

    def __reduce__(self) -> Any:
        rule = "a copy of a packed module (`copy.copy`, `copy.deepcopy`, pickle) keeps one plan"
        plan = self._only_plan(rule, "copy the model instead, and convert the copy with `to_blocked(model, example)`", "copy")
        # Hooks, and what a program has set on the module.
        own = {name: x for name, x in vars(self).items() if name not in _OF_PLAN}
        return _of_plan, (plan, self._structures, self._names), own

    def __prepare_scriptable__(self) -> Any:
        text = "`torch.jit.script` compiles Python, and a packed module runs a plan"
        raise error(UnsupportedOp, text, "script the model itself, or call the packed module as it is", op="torch.jit.script")

    def _apply(self, fn: Any, recurse: bool = True) -> "BlockedModule":
        """What `.to(...)`, `.double()` and `.cuda()` call: weights stay packed, for f32 on the CPU."""
        made = fn(torch.zeros(1))
        if made.dtype != torch.float32 or made.device.type != "cpu":
            text = f"argument `to`: got {made.dtype} on {made.device}, but packed modules compute in f32 on the CPU"
            raise error(InvalidArgument, text, "convert the model itself")
        return self

    def extra_repr(self) -> str:
        return repr(self.plan).split("\n")[0]


def _of_plan(plan: Plan, structures: Any = None, names: Sequence[str | None] = ()) -> BlockedModule:
    return BlockedModule(None, plan, {}, structures=structures, names=names)


def load(path: FilePath, *, threads: int | None = None) -> BlockedModule:
    """The module in a file that `BlockedModule.save` wrote.

    It takes the tensors of the model's arguments one by one, in the example's order, and returns a tensor or a flat tuple: a file
    does not say how they were nested. Pickle does.
    """
    try:
        return _of_plan(load_plan(path, threads=threads))
    except Error as e:
        raise unread(e) from e
