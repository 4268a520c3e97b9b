"""Graphs inside a graph, as `torch.export` makes them of `with torch.no_grad()` and `with torch.autocast(...)` in a forward."""

import operator
from typing import Any

from torch import fx

#: Calls of a graph whose context changes nothing here: packed modules run without gradients.
_GRAD = "wrap_with_set_grad_enabled"
_AUTOCAST = "wrap_with_autocast"


def inline(module: fx.GraphModule) -> None:
    """Puts the calls of inner graphs into the graph itself, where their context changes no number."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op == "call_function" and _is_plain(node):
            first = 1 if _name(node) == _GRAD else 4
            part, *operands = node.args[first:]
            if isinstance(part, fx.Node) and isinstance(_attribute(module, str(part.target)), fx.GraphModule):
                _replace(module, node, part, operands)


def _name(node: fx.Node) -> str:
    return str(getattr(node.target, "__name__", ""))


def _is_plain(node: fx.Node) -> bool:
    # The arguments of the second: device, dtype, enabled, cache_enabled.
    return _name(node) == _GRAD or (_name(node) == _AUTOCAST and node.args[2] is False)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def _replace(module: fx.GraphModule, node: fx.Node, part: fx.Node, operands: list[Any]) -> None:
    inner: fx.GraphModule = _attribute(module, str(part.target))
    inline(inner)
    placeholders = [x for x in inner.graph.nodes if x.op == "placeholder"]
    values: dict[fx.Node, Any] = dict(zip(placeholders, operands, strict=True))
    for x in inner.graph.nodes:
        if x.op == "get_attr":
            # Parts of parts are reached from the outermost module.
            name = f"{part.target}_{str(x.target).replace('.', '_')}"
            while hasattr(module, name):
                name += "_"
            setattr(module, name, _attribute(inner, str(x.target)))
            with module.graph.inserting_before(node):
                values[x] = module.graph.get_attr(name)
                values[x].meta = dict(x.meta)
    for x in inner.graph.nodes:
        if x.op == "call_function":
            with module.graph.inserting_before(node):
                values[x] = module.graph.node_copy(x, lambda y: values[y])
                _keep_path(values[x], node)
    (results,) = next(x for x in inner.graph.nodes if x.op == "output").args
    for user in list(node.users):
        assert user.target is operator.getitem
        made = results[user.args[1]]
        user.replace_all_uses_with(values[made] if isinstance(made, fx.Node) else made)
        module.graph.erase_node(user)
    module.graph.erase_node(node)
    if not part.users:
        module.graph.erase_node(part)


def _keep_path(node: fx.Node, outer: fx.Node) -> None:
    if not node.meta.get("nn_module_stack") and outer.meta.get("nn_module_stack"):
        node.meta["nn_module_stack"] = outer.meta["nn_module_stack"]


def put_getitems_first(graph: fx.Graph) -> None:
    """Moves what takes a list apart behind the call that makes the list, so that no list leaves a region.

    Items that nothing reads are removed: the indices of a pool whose values alone are used.
    """
    for node in list(graph.nodes):
        last = node
        for user in list(node.users):
            if user.op == "call_function" and user.target is operator.getitem and user.args[0] is node:
                if user.users:
                    last.append(user)
                    last = user
                else:
                    graph.erase_node(user)
