"""What a model's code notices of a trace: errors that it catches, and text of numbers."""

import contextlib
import json
import logging
import sys

import blocktensor as bt
import pytest
import torch
import torch.utils.checkpoint
from models import One, X, converted, equal
from torch import nn


def branches(x):
    try:
        return x * 2 if x.sum() > 0 else x * 4
    except Exception:
        return x * 3


def suppressed(x):
    with contextlib.suppress(Exception):
        if x.sum() < 0:
            return x * 2
    return x * 3


def in_another_function(x):
    try:
        return x * (2 if positive(x) else 3)
    except RuntimeError:
        return x * 3


def positive(x):
    return float(x.mean()) > 0


def looked_up(x):
    try:
        return x * {True: 2.0}[bool(x.mean().item() > 0)]
    except KeyError:
        return x * 3
    except Exception:
        return x * 2


def with_numpy(x):
    try:
        return x * (2 if x.numpy().mean() > 0 else 3)
    except RuntimeError:
        return x * 3


@torch.no_grad()
@torch.autocast("cpu", enabled=False)
@torch.compiler.disable
def decorated(x):
    return in_another_function(x)


def checkpointed(x):
    return torch.utils.checkpoint.checkpoint(branches, x, use_reentrant=False)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("function", [branches, suppressed, in_another_function, looked_up, with_numpy, decorated])
@pytest.mark.parametrize("sign", [1, -1])
def test_errors_that_only_a_trace_raises_are_not_caught_unnoticed(function, sign, partial):
    with pytest.raises(bt.UnsupportedOp, match="`forward` catches an error that a trace raises and a run does not"):
        converted(function, X * sign, partial=partial)


class Branches(nn.Module):
    def forward(self, x):
        return branches_on_data(x)


def branches_on_data(x):
    return x * 2 if x.sum() > 0 else x * 4


class Guarded(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Branches()

    def forward(self, x):
        try:
            return self.part(x)
        except Exception:
            return x * 3


def test_what_a_model_catches_is_told_where_the_trace_fails_after_it():
    with pytest.raises(bt.UnsupportedOp, match="`forward` catches an error that a trace raises and a run does not"):
        converted(Guarded().eval())
    # Without the `try` it is what the trace fails with.
    with pytest.raises(bt.UnsupportedOp, match="control flow that depends on data") as e:
        converted(Branches().eval())
    assert "catches" not in str(e.value)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_checkpoint_hides_no_error(sign):
    with pytest.raises(bt.UnsupportedOp, match="other results than a run"):
        converted(checkpointed, X * sign, partial=True)


def inverse(x):
    try:
        return torch.linalg.inv(x) * 1
    except torch.linalg.LinAlgError:
        return x * 1


def factor(x):
    try:
        return torch.linalg.cholesky(x) * 1
    except RuntimeError:
        return x * 1


def of_a_constant(x):
    try:
        return x @ torch.linalg.inv(torch.zeros(8, 8))
    except torch.linalg.LinAlgError:
        return x * 1


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("function", [inverse, factor, of_a_constant])
def test_errors_of_linear_algebra_that_a_model_catches_are_refused(function, partial):
    with pytest.raises(bt.UnsupportedOp, match="`forward` catches (_?LinAlgError).*a plan has no `except`"):
        converted(function, partial=partial)


POSITIVE = torch.eye(8).expand(1, 4, 8, 8) * 2


def bare(x):
    try:
        return torch.inverse(x) * 1
    except:  # noqa: E722
        return x * 1


def one_of_several(x):
    try:
        return torch.linalg.solve(x, x) * 1
    except (KeyError, RuntimeError):
        return x * 1


def without_one(x):
    with contextlib.suppress(RuntimeError):
        return torch.linalg.inv(x) * 1
    return x * 1


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("function", [inverse, factor, bare, one_of_several, without_one])
def test_errors_of_linear_algebra_that_later_data_raise_are_not_caught_unnoticed(function, partial):
    with pytest.raises(bt.UnsupportedOp, match=f"`{function.__name__}` of `forward` catches LinAlgError of `aten.*a plan has no `except`"):
        converted(function, POSITIVE, partial=partial)


def test_other_errors_around_linear_algebra_are_taken():
    def forward(x):
        try:
            if x.ndim != 4:
                raise RuntimeError("four axes")
            with torch.no_grad():
                x = torch.linalg.inv(x)
        except (KeyError, ValueError):
            return x
        finally:
            len("done")
        return x * 2

    def with_numbers(x):
        try:
            made, info = torch.linalg.inv_ex(x)
        except RuntimeError:
            return x
        return torch.where(info[..., None, None] == 0, made, x)

    for function in (forward, with_numbers):
        equal(converted(function, POSITIVE, partial=True)(POSITIVE), function(POSITIVE))


def test_errors_that_a_run_raises_too_are_taken():
    def forward(s, x):
        try:
            x = x.view(3, 7)
        except RuntimeError:
            x = x * 2
        try:
            return x * s.missing
        except AttributeError:
            return x * s.table.get("a", 3.0) if "b" not in s.table else x

    model = One(forward, table={})
    equal(converted(model)(X), X * 6)


def test_a_debugger_goes_on():
    seen = []

    def forward(x):
        return x * 2

    def watch(frame, event, arg):
        if frame.f_code is forward.__code__:
            seen.append(event)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        fast = converted(forward)
    finally:
        assert sys.gettrace() is watch
        sys.settrace(before)
    assert {"call", "line", "return"} <= set(seen)
    equal(fast(X), X * 2)


TEXTS = {
    "str": lambda x: x * (2 if str(x.mean().item()).startswith("-") else 3),
    "repr": lambda x: x * (2 if repr(x.mean().item()).startswith("-") else 3),
    "f-string": lambda x: x * (2 if f"{x.mean().item()}".startswith("-") else 3),
    "%s": lambda x: x * (2 if ("%s" % x.mean().item()).startswith("-") else 3),  # noqa: UP031
    "format": lambda x: x * (2 if "{}".format(x.mean().item()).startswith("-") else 3),  # noqa: UP032
    "in a list": lambda x: x * (2 if str(x.mean((0, 2, 3)).tolist()).startswith("[-") else 3),
    "by map": lambda x: x * (2 if ",".join(map(str, [x.mean().item()])).startswith("-") else 3),
    "tensor": lambda x: x * (2 if "-" in str(x.mean()) else 3),
    "tensor in an f-string": lambda x: x * (2 if "-" in f"{x.mean()}" else 3),
    "integer": lambda x: x * {"1": 2.0}.get(str((x.sum() > 0).int().item()), 3.0),
    "by a package of Python's": lambda x: x * (2 if json.dumps(str(x.mean().item())).startswith('"-') else 3),
}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_text_of_data_is_refused(name, partial):
    with pytest.raises(bt.UnsupportedOp, match="`forward` makes text of a number or a tensor"):
        converted(TEXTS[name], partial=partial)


def test_text_that_goes_into_no_result_is_taken(capsys):
    def forward(x):
        print("mean", x.mean())
        logging.getLogger("h").warning("mean %s", x.mean())
        return x * len(f"{x.shape[0]} {tuple(x.shape)} {x.dtype}")

    equal(converted(forward)(X), forward(X))
    assert print.__module__ == "builtins" and "mean" in capsys.readouterr().out


def test_code_that_asks_for_the_kind_of_a_number_is_refused_whatever_the_sign_of_the_example():
    for sign in (1, -1):
        with pytest.raises(bt.UnsupportedOp, match="other results than a run"):
            converted(lambda x: x * (2 if (x.mean() > 0).item() is True else 3), X.abs() * sign)


def test_errors_that_a_model_raises_for_some_data_are_not_caught_by_it():
    def forward(x):
        # Negative numbers have no such factor: of the conversion's runs one raises.
        return x @ torch.linalg.cholesky(torch.eye(8) * x.mean())

    equal(converted(forward, X.abs(), partial=True)(X.abs()), forward(X.abs()))
