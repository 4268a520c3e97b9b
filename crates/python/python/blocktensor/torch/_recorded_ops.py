"""Calls that are other ops where they are recorded: what training changes, and gradients that PyTorch defines in its own way."""

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.checkpoint

from .._native import Var
from ._handles import ACTIVE, as_torch, shared, value_of
from ._told import in_pytorch
from ._values import TABLE, WRITTEN_AS, Builder, Unsupported, Value, adds_to
from ._weights import Weight, detached

#: As the table: from the name of an aten op to a function that takes the builder, then the call's arguments.
RECORDED: dict[str, Callable[..., Any]] = {}


recorded = adds_to(RECORDED)

#: Losses of labels, which are integers, by their names in aten.
_OF_LABELS = {"cross_entropy_loss": "cross_entropy", **dict.fromkeys(("nll_loss", "nll_loss_nd", "nll_loss2d"), "nll_loss")}

#: What is left of a loss for each label by aten's numbers for `reduction`.
_REDUCED = {0: ".squeeze(1)", 1: ".mean()", 2: ".sum()"}


def check_labels(name: str, values: list[Any]) -> None:
    """Refuses a loss of labels, which PyTorch takes for comparisons and choices of integers."""
    if name in _OF_LABELS and len(values) > 1 and getattr(values[1], "dtype", "f32") != "f32":
        raise Unsupported("labels that are integers: a loss of them has no op", _for_labels(_OF_LABELS[name], *values))


def _for_labels(loss: str, x: Value, labels: Value, weight: Any = None, reduction: int = 1, ignored: int = -100, *_: Any) -> str:
    """What computes the same: in the forward too, where no label has a weight of its own, or counts for nothing."""
    way = f"call `F.{loss}(net(x), y)`, with its other arguments, on what the module returns"
    if weight is not None or len(x.shape) < 2 or bool((as_torch(labels.tensor.to_strided()) == ignored).any()):
        return way
    if loss == "cross_entropy":
        return f"{way}, or pass `F.one_hot(y, {x.shape[1]}).movedim(-1, 1).float()` in place of `y`"
    return f"{way}, or write `-x.gather(1, y[:, None]){_REDUCED[reduction]}`"


#: Calls whose sizes depend on data, or whose results have no gradient: what computes them in a forward.
_IN_PYTORCH = f"call it on `{in_pytorch()}`, where it has no gradient in PyTorch either"
_RECORDED_AS = {
    "masked_select": f"write `x.flatten()[{in_pytorch('mask')}.flatten().nonzero().squeeze(1)]` for a mask of the same sizes",
    **dict.fromkeys(
        "nonzero argwhere unique unique_consecutive unique_dim _unique2 bincount histc searchsorted bucketize".split(), _IN_PYTORCH
    ),
}


def written_as(name: str) -> str | None:
    """What computes the same as a call that no op is for."""
    recorded_as = _RECORDED_AS.get(name) if ACTIVE.recording is not None else None
    return recorded_as or WRITTEN_AS.get(name)


def check_numbers(name: str, values: list[Any]) -> None:
    """Refuses arithmetic of a mask whose result PyTorch has in int64, or refuses itself."""
    is_mask = [isinstance(x, Value) and x.dtype == "bool" for x in values[:2]]
    if not any(is_mask):
        return
    if name in ("sub", "rsub"):
        raise Unsupported("PyTorch has no difference of a mask", "compute with `m.float()`, or write `~m`, or `m ^ n`")
    if any(type(x) is int for x in values[:2]):
        raise Unsupported("a mask and a whole number, whose result is of torch.int64 in PyTorch", "compute with `m.float()`")


def _check_checkpoint() -> None:
    """Refuses running statistics inside of a checkpoint: PyTorch's `backward` runs the part again, and updates them a second time."""
    frame: Any = sys._getframe(1)
    while frame is not None and ACTIVE.recording.records:
        if frame.f_globals.get("__name__") == torch.utils.checkpoint.__name__:
            reason = "running statistics inside of `torch.utils.checkpoint`, which PyTorch updates again in `backward`, and a tape does not"
            raise Unsupported(reason, "call the part without the checkpoint, or pass `track_running_stats=False` to the norm")
        frame = frame.f_back


@recorded("batch_norm")
def batch_norm(
    b: Any,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    uses_own: bool,
    momentum: float,
    eps: float,
    cudnn: bool = False,
) -> Any:
    """With statistics of the batch. The running ones are written back, into the buffers of the module."""
    if not uses_own:
        return TABLE["batch_norm"](b, x, weight, bias, mean, var, uses_own, momentum, eps, cudnn)
    if b.given is None:
        raise Unsupported("a batch norm that a part of another call is")
    kept = b.given[3:5]
    if any(x is not None for x in kept):
        _check_checkpoint()
    # Copies: the next forward writes into the buffers, perhaps before this one's backward.
    before = [shared(x.detach().clone()) for x in kept if x is not None]
    if len(before) < 2:
        before = [shared(torch.zeros(x.shape[1])), shared(torch.ones(x.shape[1]))]
    y, *after = b.ops(
        "batch_norm_train",
        3,
        x=x,
        running_mean=value_of(before[0]),
        running_var=value_of(before[1]),
        weight=weight,
        bias=bias,
        momentum=momentum,
        eps=eps,
    )
    for place, new in zip(kept, after, strict=True):
        if place is not None:
            ACTIVE.recording.write(place, new.tensor)
    return y


@recorded("instance_norm")
def instance_norm(b: Builder, x: Value, *rest: Any) -> Any:
    mean, uses_own = rest[2], rest[4]
    if uses_own and mean is not None:
        raise Unsupported("running statistics of an instance norm", "pass `track_running_stats=False`")
    return TABLE["instance_norm"](b, x, *rest)


@recorded("dropout", "feature_dropout")
def dropout(b: Builder, x: Value, p: float, train: bool) -> Value:
    return _dropped(b, b.name, x, p) if train else x


def _dropped(b: Builder, op: str, x: Value, p: float) -> Value:
    """The seed is drawn from PyTorch's generator, the mask by this package: it is another one than PyTorch's."""
    if p == 0:
        return x
    seed = int(torch.empty((), dtype=torch.int64).random_())
    return b.op(op, x=x, p=float(p), seed=seed, training=True)


@recorded("scaled_dot_product_attention")
def attention(b: Builder, *args: Any, **options: Any) -> Any:
    return TABLE[b.name](b, *args, **options, dropped=_dropped)


@recorded("detach")
def detach(b: Builder, x: Value) -> Value:
    return value_of(detached(x.tensor))


@recorded("fill", "zero")
def fill(b: Builder, x: Value, value: Any = 0) -> Value:
    """The filled tensor depends on the one before: its gradient is zero, also where that holds NaN."""
    made: Value = TABLE["fill"](b, x, value)
    if not isinstance(x.tensor, (Var, Weight)):
        return made
    # Where `x` is no NaN the outer choice takes the value, and elsewhere the inner one does.
    is_number = b.op("eq", a=x, b=x)
    return b.op("where", condition=is_number, a=made, b=b.op("where", condition=is_number, a=x, b=made))


@recorded("max", "min")
def extreme(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Any:
    """Along an axis, the gradient is that of one place, also where several have the value."""
    if dim is None or isinstance(dim, Value) or not x.shape:
        return TABLE[b.name](b, x, dim, keepdim)
    source = x if b.name == "max" else b.op("neg", x=x)
    index = b.op("argmax", x=source, axis=[dim], keepdim=True)
    values = b.op("gather", x=x, index=index, axis=dim)
    if keepdim:
        return [values, index]
    return [b.op("squeeze", x=one, axis=dim) for one in (values, index)]


@recorded("embedding")
def embedding(
    b: Any, weight: Value, indices: Value, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Value:
    """The row of the padding has no gradient."""
    if scale_grad_by_freq or sparse:
        raise Unsupported("`scale_grad_by_freq` and `sparse` of an embedding", "leave them out")
    rows: Value = TABLE["embedding"](b, weight, indices)
    if padding_idx < 0:
        return rows
    ids = b.given[1] if b.given is not None else None
    if not isinstance(ids, torch.Tensor):
        raise Unsupported("`padding_idx` for indices that the model computes", "leave it out")
    return b.op("where", condition=(ids != padding_idx)[..., None], a=rows, b=detach(b, rows))  # type: ignore[no-any-return]
