"""Inputs of packed modules: by name, tensors that no plan takes, transforms and traces; dtypes of models; memory that is shared."""

import pickle
import re
import warnings

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(38))


class Two(nn.Module):
    def forward(self, image, mask=None, /, scale=None):
        return image * 2 if scale is None else image - 2 * scale


class Named(nn.Module):
    def forward(self, x, y):
        return x.relu() - 2 * y


class InPart(nn.Module):
    def forward(self, x):
        return torch.special.i0(x) * 2


def packed(model, example=X, **options):
    return btt.to_blocked(model.eval(), example, layouts="nchw", **options)


MODULES = {
    "whole": lambda: packed(nn.Conv2d(4, 4, 1)),
    "partial": lambda: packed(InPart(), partial=True),
    "views": lambda: packed(nn.Flatten()),
}


def loaded(path):
    module = packed(nn.Conv2d(4, 4, 1))
    module.save(path)
    return btt.load(path)


# By name.


def test_inputs_are_taken_by_the_names_of_forward():
    fast, y = packed(Named(), (X, X)), X + 1
    wanted = Named()(X, y)
    for module in (fast, pickle.loads(pickle.dumps(fast))):
        for given in (module(X, y=y), module(y=y, x=X), module(x=X, y=y), module(X, y)):
            assert torch.equal(given, wanted)


def test_inputs_by_name_that_no_input_is(tmp_path):
    fast = packed(Named(), (X, X))
    for words, call in {
        "`z`: got a tensor, but this module takes `x`, `y`; leave it out": lambda: fast(X, X, z=X),
        "`x`: got it twice": lambda: fast(X, x=X),
        "`x`: got none": lambda: fast(y=X),
        "`image`: got an input by name, but this module has no names": lambda: packed(Two())(image=X),
        "`scale`: got float": lambda: packed(Scaled())(X, scale=1.0),
        "`input`: got an input by name, but this module has no names": lambda: loaded(tmp_path / "a.plan")(input=X),
    }.items():
        with pytest.raises(bt.InvalidArgument, match=words) as e:
            call()
        assert e.value.remedy


class Scaled(nn.Module):
    def forward(self, x, scale=2.0):
        return x * scale


# Tensors that no plan takes.


def fake():
    with FakeTensorMode():
        return torch.empty(1, 4, 8, 8)


UNFIT = {
    "meta": (lambda: X.to("meta"), "a tensor on meta", "that has elements"),
    "sparse": (lambda: X.to_sparse(), "layout torch.sparse_coo", r"x.to_dense\(\)"),
    "mkldnn": (lambda: X.to_mkldnn(), "layout torch._mkldnn", r"x.to_dense\(\)"),
    "quantised": (lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.qint8), "torch.qint8", r"x.dequantize\(\)"),
    "nested": (lambda: torch.nested.nested_tensor([X[0]]), "a nested tensor", "one tensor for each"),
    "f16": (lambda: X.half(), r"\[1, 4, 8, 8\] torch.float16", r"x.float\(\)"),
    "f64": (lambda: X.double(), "torch.float64", r"x.float\(\)"),
    "ints": (lambda: X.int(), "torch.int32", r"x.float\(\)"),
    "complex": (lambda: X.to(torch.complex64), "torch.complex64", r"x.real.float\(\)"),
    "size": (lambda: X[..., :4], r"got \[1, 4, 8, 4\]", "an example of these sizes"),
    "fake": (fake, "a stand-in of a trace", "export the model itself"),
}


@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize("kind", [*MODULES, "loaded"])
def test_tensors_that_no_plan_takes(kind, name, tmp_path):
    make, got, remedy = UNFIT[name]
    fast = loaded(tmp_path / "a.plan") if kind == "loaded" else MODULES[kind]()
    with pytest.raises(bt.Error, match=f"argument `.*`: .*{got}") as e, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast(make())
    assert re.search(remedy, e.value.remedy)
    assert "to_dtype" not in str(e.value)


@pytest.mark.parametrize("kind", MODULES)
def test_transforms_are_refused(kind):
    fast = MODULES[kind]()
    for call in (
        lambda: torch.vmap(fast)(X[None]),
        lambda: torch.func.grad(lambda x: fast(x).sum())(X),
        lambda: torch.func.jvp(fast, (X,), (X,)),
    ):
        with pytest.raises(bt.UnsupportedOp, match=r"`torch.func` \(`vmap`, `grad`\)") as e:
            call()
        assert "without the transform" in e.value.remedy


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("kind", MODULES)
def test_traces_are_refused(kind, check):
    fast = MODULES[kind]()
    for model in (fast, nn.Sequential(fast).eval()):
        with pytest.raises(bt.UnsupportedOp, match=r"`torch.jit.trace` .* this module's are none"):
            torch.jit.trace(model, X, check_trace=check)
    with pytest.raises(bt.UnsupportedOp, match="export the model itself"):
        torch.export.export(fast, (X,), strict=False)


# Dtypes of models.


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_remedy_for_a_model_of_another_dtype_leads_out(dtype):
    model = nn.Sequential(nn.Conv2d(4, 4, 1)).eval().to(dtype)
    for example in (X.to(dtype), X):
        with pytest.raises(bt.InvalidArgument, match=r"`0.weight` is torch\..*`model.float\(\)`.*`x.float\(\)`"):
            btt.to_blocked(model, example, layouts="blocked")
    model.float()
    assert btt.to_blocked(model, X, layouts="blocked")(X).shape == X.shape


# Memory.


def test_pytorch_does_not_write_into_a_tensor():
    t = bt.zeros((2, 3))
    for share in (torch.from_dlpack, lambda x: torch.from_dlpack(btt.EagerTensor(x)), torch.utils.dlpack.from_dlpack):
        share(t).add_(1)
        assert not t.numpy().any()
    with pytest.raises(bt.Aliasing, match=r"PyTorch writes into memory.*leave `copy` out"):
        torch.from_dlpack(t, copy=False)
    shared = np.from_dlpack(t)
    assert not shared.flags.writeable and shared.__array_interface__["data"][0] == t.data_ptr()
    eager = btt.EagerTensor(t)
    assert eager.torch().data_ptr() == t.data_ptr()
    fast = packed(nn.ReLU().eval())
    fast(X).add_(1)
    assert torch.equal(fast(X), X.relu())


def test_a_capsule_that_was_used_is_a_typed_error():
    capsule = X.__dlpack__()
    torch.from_dlpack(capsule)
    for take in (bt.from_dlpack, btt.EagerTensor, packed(nn.ReLU().eval())):
        with pytest.raises(bt.DlpackUnsupported, match="a DLPack capsule that was used.*new capsule"):
            take(capsule)


@pytest.mark.parametrize("kind", MODULES)
def test_symbolic_traces_are_refused(kind):
    fast = MODULES[kind]()
    for model in (fast, nn.Sequential(fast).eval()):
        with pytest.raises(bt.UnsupportedOp, match="`torch.fx.symbolic_trace` .*; trace the model itself"):
            torch.fx.symbolic_trace(model)
    net = btt.train(nn.Conv2d(4, 8, 3))
    for model in (net, nn.Sequential(net)):
        with pytest.raises(bt.UnsupportedOp, match="`torch.fx.symbolic_trace` .*; trace a model that has loaded"):
            torch.fx.symbolic_trace(model)


def test_make_fx_records_no_constant():
    with pytest.raises(bt.UnsupportedOp, match="`make_fx` .* this module's are none"):
        make_fx(btt.to_blocked(nn.Conv2d(4, 8, 3).eval(), X, layouts="nchw"))(X)


def test_a_tangent_is_not_lost():
    fast = btt.to_blocked(nn.Conv2d(4, 8, 3).eval(), X, layouts="nchw")
    with forward_ad.dual_level():
        with pytest.raises(bt.InvalidArgument, match="got a tensor with a tangent"):
            fast(forward_ad.make_dual(X, torch.ones_like(X)))
        fast(X)


def test_weights_that_a_call_brings_are_not_ignored():
    model = nn.Conv2d(4, 8, 3).eval()
    fast = btt.to_blocked(model, X, layouts="nchw")
    with pytest.raises(bt.UnsupportedOp, match="has no plain `weight` to set"):
        torch.func.functional_call(fast, model.state_dict(), (X,))
    with pytest.raises(AttributeError, match="state_dict"):
        _ = fast.weight
    with pytest.raises(bt.UnsupportedOp, match="has no plain `0` to set"):
        chain = nn.Sequential(model).eval()
        torch.func.functional_call(btt.to_blocked(chain, X, layouts="nchw"), chain.state_dict(), (X,))
    fast.other = torch.ones(1)
    assert fast.other == 1


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.eval()

    def forward(self, x, mask):
        return x.masked_fill(mask.to(torch.bool), 0.0)


EXAMPLES = {
    "mask": ((X, X > 0), r"pass `x.float\(\)`, and make the mask inside of `forward`: `x != 0`"),
    "sparse": ((X.to_sparse(), X), "layout torch.sparse_coo, .* pass `x.to_dense"),
    "nested": ((torch.nested.nested_tensor([X[0], X[0]]), X), "a nested tensor, .* pass one tensor for each"),
    "half": ((X.half(), X), "pass `x.float"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_that_are_no_inputs_are_refused_with_what_to_do(name, capfd):
    example, message = EXAMPLES[name]
    for call in (btt.plan, btt.to_blocked):
        with pytest.raises(bt.InvalidArgument, match=message):
            call(Masked(), example)
    fast = btt.to_blocked(Masked(), (X, (X > 0).float()), layouts="nchw")
    assert torch.equal(fast(X, (X > 0).float()), X.masked_fill(X > 0, 0.0))
    with pytest.raises(bt.InvalidArgument, match="the model raises"):
        btt.to_blocked(nn.Embedding(5, 4).eval(), X, partial=True)
    assert capfd.readouterr().err == ""


def test_a_packed_module_is_not_packed_again():
    fast = btt.to_blocked(nn.ReLU().eval(), X)
    for model in (fast, nn.Sequential(fast).eval()):
        with pytest.raises(bt.InvalidArgument, match="is packed already"):
            btt.to_blocked(model, X, partial=True)


@pytest.mark.parametrize("reorders", [2**70, -1, 1.5])
def test_a_limit_is_a_number(reorders):
    with pytest.raises(bt.InvalidArgument, match="it is the most reorders of a run"):
        btt.to_blocked(nn.ReLU().eval(), X, reorders=reorders)


class Indexed(nn.Module):
    """Class ids, pixels and a mask, each converted as the error for it says."""

    def __init__(self):
        super().__init__()
        self.table, self.conv = nn.Embedding(50, 8), nn.Conv2d(3, 8, 1)

    def forward(self, ids, image, mask):
        y = self.conv(image.float() / 255).mean((2, 3)) + self.table(ids.to(torch.int64)).mean(1)
        return torch.where(mask != 0, y, -y)


def test_the_remedies_for_integers_lead_out():
    torch.manual_seed(5)
    model = Indexed().eval()
    given = [torch.randint(0, 50, (2, 5)), torch.randint(0, 255, (2, 3, 4, 4), dtype=torch.uint8), torch.rand(2, 1) > 0.5]
    wanted, words = model(*given), ["`partial=True`", "`partial=True`", "`x != 0`"]
    for i, word in enumerate(words):
        with pytest.raises(bt.InvalidArgument, match="pass `x.float") as e:
            btt.to_blocked(model, tuple(given))
        assert word in e.value.remedy and f"{given[i].dtype}" in str(e.value)
        given[i] = given[i].float()
    with pytest.raises(bt.UnsupportedOp, match="to int64; plans compute in f32, and indices are PyTorch") as e:
        btt.to_blocked(model, tuple(given))
    assert "leave it out" not in str(e.value)
    fast = btt.to_blocked(model, tuple(given), partial=True)
    torch.testing.assert_close(fast(*given), wanted.detach())


@pytest.mark.parametrize("convert", [btt.plan, btt.to_blocked, lambda m, x: btt.to_blocked(m, x, partial=True)])
def test_a_model_is_converted_outside_of_autocast(convert):
    model = nn.Sequential(nn.Conv2d(3, 4, 1)).eval()
    x = torch.randn(1, 3, 4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        with pytest.raises(bt.UnsupportedOp, match="convert outside of `torch.autocast`"):
            convert(model, x)
        with torch.autocast("cpu", enabled=False):
            convert(model, x)


def test_weights_that_were_made_in_inference_mode():
    with torch.inference_mode():
        model, x = nn.Sequential(nn.Conv2d(3, 4, 1)).eval(), torch.randn(1, 3, 4, 4)
    for context in (torch.no_grad(), torch.enable_grad()):
        with context, pytest.raises(bt.UnsupportedOp, match="`0.weight` was made in") as e:
            btt.to_blocked(model, x)
    assert e.value.remedy == "convert inside of `torch.inference_mode()`"
    with torch.inference_mode():
        fast = btt.to_blocked(model, x)
    torch.testing.assert_close(fast(x), model(x))
    with torch.inference_mode():
        torch.testing.assert_close(fast(x), model(x))
        assert torch.equal(fast.state_dict()["0.weight"], model[0].weight)


def test_an_example_that_was_made_in_inference_mode():
    with torch.inference_mode():
        x = torch.randn(1, 3, 4, 4)
    model = nn.Sequential(nn.Conv2d(3, 4, 1)).eval()
    with torch.no_grad():
        torch.testing.assert_close(btt.to_blocked(model, x)(x), model(x))
