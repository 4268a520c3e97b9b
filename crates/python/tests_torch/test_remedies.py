"""Remedies of the PyTorch part, followed: tensors that are no numbers in memory, calls that no op is for, options, quoted texts."""

import re

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from blocktensor.torch import _told
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.nn import functional as F

X = torch.rand(1, 4, 6, 6, generator=torch.Generator().manual_seed(4))
COMPLEX = torch.complex(X, X)

# Tensors of PyTorch that cannot be shared as they are.

SHARED = {
    "sparse": (X.to_sparse(), "not dense", X),
    "csr": (X[0, 0].to_sparse_csr(), "not dense", X[0, 0]),
    "mkldnn": (X.to_mkldnn(), "not dense", X),
    "quantised": (torch.quantize_per_tensor(X, 0.5, 0, torch.quint8), "quantised", (X * 2).round() / 2),
    "gradient": (X.clone().requires_grad_(), "requires a gradient", X),
    "parameter": (nn.Parameter(X.clone()), "requires a gradient", X),
    "negated": (torch._neg_view(X), "negated", -X),
    "complex": (COMPLEX, "complex numbers", X),
    "conjugated": (COMPLEX.conj(), "conjugated", X),
    "meta": (X.to("meta"), "`meta`, which has no data", torch.zeros_like(X)),
    "sparse with a gradient": (X.to_sparse().requires_grad_(), "not dense", X),
    "nested": (torch.nested.nested_tensor([X[0], X[0]]), "nested", torch.cat([X, X])),
    "jagged": (torch.nested.nested_tensor([X[0], X[0]], layout=torch.jagged), "nested", torch.cat([X, X])),
}


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.filterwarnings("ignore")
def test_tensors_that_are_not_shared_are_told_their_way(kind):
    x, word, wanted = SHARED[kind]
    for _ in range(3):
        with pytest.raises(bt.DlpackUnsupported) as e:
            bt.ops.relu(x)
        assert e.value.op == "relu" and "argument `x`" in str(e.value) and word in str(e.value), str(e.value)
        # The last one, which takes the whole tensor: `unbind` is the other way for a nested one.
        code = re.findall(r"`((?:torch\.|x\.)[^`]+)`", e.value.remedy)
        code = code[-1] if "nested" in kind or kind == "jagged" else code[0]
        x = eval(code)
        try:
            made = bt.ops.relu(x)
        except bt.DlpackUnsupported as again:
            # A sparse tensor with a gradient is told one after the other.
            word = str(again).split("got ")[1][:20]
            continue
        torch.testing.assert_close(torch.from_dlpack(made), torch.relu(wanted), atol=1e-6, rtol=0)
        return
    raise AssertionError("the remedies lead nowhere")


def test_stand_ins_have_no_data():
    with FakeTensorMode():
        fake = torch.ones(2)
    with pytest.raises(bt.DlpackUnsupported, match=r"argument `x`: got a stand-in of a trace, which has no data"):
        bt.ops.relu(fake)
    with pytest.raises(bt.DlpackUnsupported, match=r"argument `x`: got a part of a tensor.*outside of the transform"):
        torch.vmap(bt.ops.relu)(X)


@pytest.mark.parametrize("kind", ["sparse", "quantised", "meta", "complex", "conjugated", "jagged"])
@pytest.mark.filterwarnings("ignore")
def test_eager_tensors_say_the_same_once(kind):
    x, word, _ = SHARED[kind]
    with pytest.raises(bt.UnsupportedOp) as e:
        btt.EagerTensor(x)
    assert word in str(e.value) and str(e.value).count("op `") == 1, str(e.value)


def test_the_nearest_pixels_are_the_same_by_whole_factors():
    for factor in (2, 3):
        exact = F.interpolate(X, scale_factor=factor, mode="nearest-exact")
        made = F.interpolate(btt.EagerTensor(X), scale_factor=factor, mode="nearest")
        assert torch.equal(made.torch(), exact)
    assert not torch.equal(F.interpolate(X, size=4), F.interpolate(X, size=4, mode="nearest-exact"))


# Calls that no op is for.

CALLS = {
    "unfold": (lambda x: F.unfold(x, 3), "`unfold`"),
    "bicubic": (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), "`mode='bicubic'`"),
    "bicubic, smoothed": (lambda x: F.interpolate(x, size=3, mode="bicubic", antialias=True), "`mode='bicubic'`"),
    "antialias": (lambda x: F.interpolate(x, size=3, mode="bilinear", antialias=True), "`antialias=True`"),
    "nearest-exact": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), "`mode='nearest-exact'`"),
    "heaviside": (lambda x: torch.heaviside(x - 0.5, x), "`heaviside`"),
    "//": (lambda x: x // 0.7, "`floor_divide`"),
    "reflected //": (lambda x: 0.7 // (x + 1), "`floor_divide`"),
    "floor": (lambda x: torch.div(x, 0.7, rounding_mode="floor"), "`rounding_mode`: got 'floor'"),
    "trunc": (lambda x: x.div(x + 1, rounding_mode="trunc"), "`rounding_mode`: got 'trunc'"),
}


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_calls_without_an_op_blame_nothing_else(name, blocked):
    call, word = CALLS[name]
    x = btt.EagerTensor(torch.cat([X] * 4, 1))
    x = x.to_blocked() if blocked else x
    with pytest.raises(bt.UnsupportedOp) as e:
        call(x)
    text = str(e.value)
    assert word in text and "no op of blocktensor" in text, text
    for blame in ("an operand of", "a conversion", "some of its arguments", "integers", "signature"):
        assert blame not in text, text
    # The remedy: the call on the tensor of PyTorch.
    assert "`x.to_strided().torch()`" in e.value.remedy and "`EagerTensor(y)`" in e.value.remedy
    made = btt.EagerTensor(call(x.to_strided().torch()))
    assert torch.equal(made.torch(), call(torch.cat([X] * 4, 1)))


def test_a_quotient_that_is_not_rounded():
    assert torch.equal(torch.div(btt.EagerTensor(X), 2, rounding_mode=None).torch(), X / 2)


def test_plans_name_the_mode_too():
    class Model(nn.Module):
        def forward(self, x):
            return torch.div(F.interpolate(x, scale_factor=2, mode="bicubic"), 2, rounding_mode="floor")

    text = str(btt.plan(Model().eval(), X))
    assert "`mode='bicubic'`" in text
    with pytest.raises(bt.UnsupportedOp, match="`mode='bicubic'`"):
        btt.to_blocked(Model().eval(), X)


# Options are checked before the model is converted.


class Untouched(nn.Module):
    def forward(self, x):
        raise AssertionError("the model was run")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("reorders", x) for x in ("a", -1, True, 1.0, [1])),
        *(("partial", x) for x in ("yes", 1, None)),
        *(("exact", x) for x in ("a", 1)),
        *(("layouts", x) for x in ("x", 3, None, "\ud800")),
        *(("profiles", x) for x in ("x", 3)),
        *(("threads", x) for x in ("a", 0, -1, True, 2**70, 2.0)),
    ],
)
def test_options_are_checked_first(option, value):
    calls = [btt.to_blocked] if option in ("reorders", "partial") else [btt.to_blocked, btt.plan]
    for call in calls:
        with pytest.raises(bt.InvalidArgument) as e:
            call(Untouched().eval(), X, **{option: value})
        assert f"argument `{option}`" in str(e.value) and e.value.remedy, str(e.value)


def test_options_that_hold():
    import numpy as np

    model = nn.Conv2d(4, 4, 1).eval()
    for options in [{"reorders": np.int64(5)}, {"reorders": None}, {"threads": 1, "exact": True}, {"layouts": "nhwc"}]:
        assert btt.to_blocked(model, X, **options)(X).shape == X.shape


# Texts of PyTorch are quoted in whole clauses.


def test_lists_that_a_line_announces_are_quoted():
    text = "eq() received an invalid combination of arguments - got (A, str), but expected one of:\n * (Tensor input)\n * (Number n)\n"
    assert _told.first_line(text).endswith("but expected one of: (Tensor input); (Number n)")
    long = text + " * (" + "x" * _told.LONGEST + ")\n"
    assert _told.first_line(long) == "eq() received an invalid combination of arguments - got (A, str)"
    assert _told.first_line("a rule:\n") == "a rule" and _told.first_line(" \n") == ""
    assert _told.first_line("one line\nanother") == "one line"
    cut = _told.first_line("first sentence. " + "word " * 100)
    assert cut == "first sentence ..."
    assert _told.first_line("word " * 100).endswith("word ...")


def test_errors_of_pytorch_are_not_cut_in_a_list():
    class Model(nn.Module):
        def forward(self, x):
            return torch.eq(x, "a")

    for call in [
        lambda: btt.plan(Model().eval(), X),
        lambda: btt.to_blocked(Model().eval(), X),
        lambda: btt.swap(Model().eval())(btt.EagerTensor(X)),
    ]:
        with pytest.raises(bt.Error) as e:
            call()
        text = str(e.value)
        assert "one of:;" not in text and not re.search(r"one of:\s*$", text), text
        assert "one of" not in text or "(Tensor input, Tensor other" in text, text


@pytest.mark.parametrize(("made", "here"), [(1, 2), (2, 1)])
def test_a_file_for_another_number_of_threads_says_what_this_door_has(tmp_path, made, here):
    model, x, path = nn.Conv2d(3, 8, 3).eval(), torch.randn(1, 3, 6, 6), tmp_path / "module.plan"
    with torch.no_grad():
        btt.to_blocked(model, x, threads=made).save(path)
        with pytest.raises(bt.PackMismatch, match="op `blocktensor.torch.load`: argument `threads`: got") as e:
            btt.load(path, threads=here)
        assert "keep_plain" not in str(e.value) and "load_plan" not in str(e.value) and str(e.value).endswith(e.value.remedy)
        names = {"blocktensor": bt, "path": path, "model": model, "example": x, "to_blocked": btt.to_blocked}
        first, second = (call for call in e.value.remedy.split("`") if "(" in call)
        for call in (first, second):
            y = eval(call, names)(x)
            assert torch.allclose(y, model(x), atol=1e-5), call


def test_an_equation_that_moves_axes_is_a_permute():
    for equation, count, call in [("ij->ji", 1, "permute"), ("ij,jk,kl->il", 3, "matmul")]:
        with pytest.raises(bt.UnsupportedOp, match=f"the equation `{equation}`; write it as {call}"):
            torch.einsum(equation, *[btt.EagerTensor(torch.ones(2, 2))] * count)


def test_numbers_of_threads():
    """One text for a number that is none, also through the doors of PyTorch."""
    model, x = nn.Linear(3, 3).eval(), torch.ones(1, 3)
    for number in (-1, 0, 10**6, 2**70):
        calls = [
            lambda: btt.to_blocked(model, x, threads=number),
            lambda: btt.plan(model, x, threads=number),
            lambda: torch.compile(model, backend="blocktensor", options={"threads": number})(x),
        ]
        for call in calls:
            with torch.no_grad(), pytest.raises(bt.InvalidArgument, match=rf"argument `threads`: got {number}, but a call here has 1 to"):
                call()


def test_a_list_that_a_line_of_one_clause_announces_is_quoted():
    text = "Error(s) in loading state_dict for Net:\n\tsize mismatch for a.\n" + "\tsize mismatch for b.\n" * 50
    assert _told.first_line(text) == "Error(s) in loading state_dict for Net: size mismatch for a."


@pytest.mark.parametrize("layer", [nn.Conv2d(4, 4, 1), nn.Linear(6, 2)])
def test_weights_that_are_not_on_the_cpu_are_named(layer):
    """The example was blamed."""
    model = layer.eval().to("meta")
    for call in (btt.to_blocked, btt.plan):
        with pytest.raises(bt.InvalidArgument, match="argument `model`: `weight` is on meta, but plans are for weights on the CPU") as e:
            call(model, X)
    (code,) = re.findall(r"`([^`]+)`", e.value.remedy)
    eval(code, {"model": model}).load_state_dict({name: torch.ones(x.shape) for name, x in model.state_dict().items()})
    torch.testing.assert_close(btt.to_blocked(model, X)(X), model(X).detach())


def test_a_step_of_0_is_no_step():
    """`torch.flip` is for negative ones."""
    x = btt.EagerTensor(X)
    for step, remedy in ((0, "pass a step from 1 on"), (-1, "call `torch.flip`")):
        with pytest.raises(bt.InvalidArgument, match="steps are positive") as e:
            x[::step]
        assert e.value.remedy == remedy
