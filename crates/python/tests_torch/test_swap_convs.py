"""Convolutions of swapped models: transposed ones, single images, and those that run unpacked, with a way for blocked tensors."""

import copy
import pickle
import re

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(9)
E = btt.EagerTensor
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
CONVS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


def close(got, wanted):
    torch.testing.assert_close(got.to_strided().torch(), wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("rank", TRANSPOSED)
@pytest.mark.parametrize(
    "options",
    [dict(stride=2), dict(stride=2, padding=1, output_padding=1), dict(groups=2, dilation=2), dict(stride=2, groups=2, bias=False)],
)
def test_transposed_convolutions_are_packed(rank, options):
    conv, x = TRANSPOSED[rank](16, 32, 3, **options).eval(), torch.randn(2, 16, *[5] * rank)
    eager = btt.swap(conv)
    with torch.no_grad():
        for source in (E(x), E(x).to_blocked()):
            y = eager(source)
            with bt.record() as book:
                eager(source)
            # Of a row-major source as of one of PyTorch's calls.
            assert not source.held.is_blocked or not book.reorders
            assert y.held.is_blocked == source.held.is_blocked
            close(y, conv(x))
        # What is edited or set is seen.
        conv.weight.mul_(2)
        close(eager(E(x)), conv(x))
        conv.padding = (2,) * rank
        close(eager(E(x).to_blocked()), conv(x))


def test_sizes_that_a_call_asks_for():
    conv, x = nn.ConvTranspose2d(16, 8, 3, 2, 1).eval(), torch.randn(1, 16, 8, 8)
    eager = btt.swap(conv)
    with torch.no_grad():
        for size in (None, [15, 16], (16, 16), [1, 8, 16, 15], torch.Size([16, 16])):
            close(eager(E(x).to_blocked(), output_size=size), conv(x, size))
            assert torch.equal(eager(x, size), conv(x, size))
        with pytest.raises(bt.InvalidArgument, match=r"valid sizes range from \[15, 15\] to \[16, 16\]") as e:
            eager(E(x), [20, 20])
        assert e.value.op and e.value.remedy


@pytest.mark.parametrize("rank", CONVS)
@pytest.mark.parametrize("kinds", [CONVS, TRANSPOSED])
def test_single_images(rank, kinds):
    conv, x = kinds[rank](3, 8, 2, stride=2).eval(), torch.randn(3, *[6] * rank)
    with torch.no_grad():
        eager = btt.swap(nn.Sequential(conv).eval())
        assert eager(E(x)).shape == conv(x).shape
        close(eager(E(x)), conv(x))
        for wrong in (x[0, 0] if rank > 1 else x[0], x[None, None]):
            with pytest.raises(bt.RankMismatch, match="the batch first") as e:
                eager(E(wrong))
            assert e.value.op == "conv" and e.value.remedy


def test_a_blocked_tensor_without_a_batch_is_no_image():
    eager, x = btt.swap(nn.Conv2d(8, 8, 3).eval()), torch.randn(8, 8, 8)
    with pytest.raises(bt.RankMismatch, match=re.escape("`x[None]`, of `x.to_strided()`")):
        eager(E(x).to_blocked())
    with torch.no_grad():
        close(eager(E(x).to_blocked().to_strided()[None]), eager(x[None]))


class Shifted(nn.Conv2d):
    """A convolution of somebody's own."""

    def forward(self, x):
        return super().forward(x) + 1


UNPACKED = {
    "hook": lambda: hooked(nn.Conv2d(16, 16, 3)),
    "transposed hook": lambda: hooked(nn.ConvTranspose2d(16, 16, 3)),
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(16, 16, 3)),
    "transposed, parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.ConvTranspose2d(16, 16, 3)),
    "subclass": lambda: Shifted(16, 16, 3),
}


def hooked(conv):
    conv.register_forward_hook(lambda module, args, result: None)
    return conv


@pytest.mark.parametrize("name", UNPACKED)
def test_the_remedy_of_an_unpacked_convolution_works(name):
    model, x = nn.Sequential(nn.Conv2d(16, 16, 1), nn.ReLU(), UNPACKED[name]()).eval(), torch.randn(1, 16, 8, 8)
    with torch.no_grad():
        with pytest.raises(bt.KeyMismatch) as e:
            btt.swap(model)(E(x).to_blocked())
        (named,) = re.findall(r"`swap\(model, to_strided=\['(.*?)'\]\)`", e.value.remedy)
        assert str(e.value).endswith(e.value.remedy) and ".to_blocked(" not in e.value.remedy
        close(btt.swap(model, to_strided=[named])(E(x).to_blocked()), model(x))
        # The first of a model: there is no module before it.
        with pytest.raises(bt.KeyMismatch) as e:
            btt.swap(model[2])(E(x).to_blocked())
        assert e.value.remedy.startswith("pass `x.to_strided()`")
        close(btt.swap(model[2])(E(x).to_blocked().to_strided()), model[2](x))


def test_the_remedy_of_a_function_works():
    x, w = torch.randn(1, 16, 8, 8), nn.Parameter(torch.randn(16, 16, 3, 3))
    for call in (lambda x, w: F.conv2d(x, w), lambda x, w: F.conv2d(x, weight=w)):
        with torch.no_grad(), pytest.raises(bt.KeyMismatch) as e:
            call(E(x).to_blocked(), w)
        (code,) = re.findall(r"`(EagerTensor\(weights\)[^`]+)`", e.value.remedy)
        close(call(E(x).to_blocked(), eval(code, {"EagerTensor": E, "weights": w.detach()})), F.conv2d(x, w.detach()))
        close(call(E(x).to_blocked().to_strided(), w), F.conv2d(x, w.detach()))


class Named(nn.Conv2d):
    """A class of the user's, with nothing of its own."""


def test_packed_convolutions_are_of_their_class():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Conv2d(3, 8, 3), nn.ReLU(), Named(8, 8, 3), nn.ConvTranspose2d(8, 4, 3)])

        def forward(self, x):
            kept = []
            for layer in self.layers:
                x = layer(x)
                if isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)):
                    x = x * 2
                    kept.append(x.square().mean())
                if isinstance(layer, Named):
                    x = x + 1
            return x, sum(kept)

    model = Branches().eval()
    x = torch.randn(1, 3, 16, 16)
    with torch.no_grad():
        eager = btt.swap(model)
        for one in (eager, copy.deepcopy(eager), copy.copy(eager), pickle.loads(pickle.dumps(eager.layers))):
            if one is not eager and not hasattr(one, "layers"):
                layers, one = one, btt.swap(model)
                one.layers = layers
            for got, wanted in zip(one(btt.EagerTensor(x)), model(x), strict=True):
                torch.testing.assert_close(got.torch(), wanted, rtol=1e-5, atol=1e-5)
    assert [isinstance(layer, nn.Conv2d) for layer in eager.layers] == [True, False, True, False]
    assert isinstance(eager.layers[3], nn.ConvTranspose2d) and not isinstance(eager.layers[3], nn.ConvTranspose1d)
    assert "PackedConvolution(3, 8" in repr(eager)
    # The same kinds in a model that is swapped twice.
    again = btt.swap(eager)
    assert isinstance(again.layers[2], Named)


def test_hooks_of_all_modules_run_once_for_a_convolution():
    model, x = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval(), torch.randn(1, 3, 8, 8)
    hook = torch.nn.modules.module.register_module_forward_hook(lambda m, args, y: y * 2 if isinstance(m, nn.Conv2d) else None)
    try:
        with torch.no_grad():
            eager = btt.swap(model)
            torch.testing.assert_close(eager(btt.EagerTensor(x)).torch(), model(x), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(eager(x), model(x))
    finally:
        hook.remove()


@pytest.mark.parametrize("record", [lambda m, x: torch.export.export(m, (x,)), lambda m, x: torch.jit.script(m)], ids=["export", "script"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_swapped_model_is_not_recorded(record):
    for model in (nn.Sequential(nn.Conv2d(3, 8, 3)), nn.Conv2d(3, 8, 3)):
        with pytest.raises(bt.UnsupportedOp, match="a swapped model is for eager tensors; export or script the model itself"):
            record(btt.swap(model.eval()), torch.randn(1, 3, 8, 8))


def computes_bf16():
    """Whether the build and the machine have bf16 kernels for convolutions."""
    x = torch.randn(1, 16, 4, 4).bfloat16().to(memory_format=torch.channels_last)
    try:
        F.conv2d(E(x), torch.randn(16, 16, 1, 1).bfloat16())
    except bt.UnsupportedOp:
        return False
    return True


KINDS = {"conv2d": nn.Conv2d, "conv_transpose2d": nn.ConvTranspose2d}


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_another_dtype_than_the_input_are_an_error(kind, blocked):
    conv, x = KINDS[kind](16, 16, 3, bias=False).eval(), torch.randn(1, 16, 8, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        for weights, source in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)):
            model, given = copy.deepcopy(conv).to(weights), E(x.to(source))
            with pytest.raises(RuntimeError):
                model(x.to(source))
            with pytest.raises(bt.DTypeMismatch) as unswapped:
                model(given)
            given = given.to_blocked() if blocked else given
            with pytest.raises(bt.DTypeMismatch) as e:
                btt.swap(model)(given)
            # The same text, up to the remedy.
            told = str(unswapped.value).removesuffix(unswapped.value.remedy)
            assert str(e.value).removesuffix(e.value.remedy) == (told.replace("strided", "blocked") if blocked else told)
            assert e.value.op == kind == unswapped.value.op and ".to_dtype" not in e.value.remedy
            first, second = re.findall(r"`([^`]+)`", e.value.remedy)
            swapped, converted = eval(first, {"model": copy.deepcopy(model)}), eval(second, {"x": given})
            assert swapped.weight.dtype == given.dtype and converted.dtype == weights
            if computes_bf16():
                assert btt.swap(swapped)(given).dtype == source and btt.swap(model)(converted).dtype == weights


def test_a_bias_of_another_dtype_than_the_weights_is_an_error():
    conv, x = nn.Conv2d(16, 16, 3).eval(), torch.randn(1, 16, 8, 8)
    conv.bias.data = conv.bias.data.bfloat16()
    with torch.no_grad():
        for call in (conv, btt.swap(conv)):
            with pytest.raises(bt.UnsupportedDType, match="argument `bias`"):
                call(E(x))


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_in_bf16_is_added(kind, hook):
    if not computes_bf16():
        pytest.skip("no bf16 kernels")
    conv = KINDS[kind](16, 16, 3).bfloat16().eval()
    model, x = nn.Sequential(hooked(conv) if hook else conv, nn.ReLU()).eval(), torch.randn(1, 16, 8, 8).bfloat16()
    given = E(x.to(memory_format=torch.channels_last))
    with torch.no_grad():
        wanted = model(x)
        # A hook is for the unpacked one; the engine has no blocked transposed one in bf16 with a bias.
        for source in (given, given.to_blocked()) if kind == "conv2d" and not hook else (given,):
            made = btt.swap(model)(source)
            assert made.dtype == torch.bfloat16
            torch.testing.assert_close(made.to_strided().torch().contiguous(), wanted, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("conv", [nn.Conv1d(8, 4, 3), nn.Conv2d(8, 4, 3), nn.ConvTranspose2d(8, 4, 3)])
def test_dtypes_that_no_kernel_takes_have_a_remedy_for_swapped_models(conv, dtype):
    conv = copy.deepcopy(conv).eval().to(dtype)
    x = torch.randn(1, 8, *[6] * (conv.weight.ndim - 2))
    given = (conv, E(x.to(dtype))), (copy.deepcopy(conv).float(), E(x.half())), (conv, E(x))
    for model, source in given:
        try:
            # Processors with AVX512_BF16 have kernels for bf16.
            btt.swap(model)(source)
            assert dtype == torch.bfloat16
            continue
        except bt.UnsupportedDType as e:
            error = e
        except (bt.UnsupportedOp, bt.DTypeMismatch) as e:
            error = e
        assert "pack" not in error.remedy and str(error).endswith(error.remedy) and str(error).count(error.remedy) == 1
        words = {"model.float()": model.weight.dtype != torch.float32, "x.float()": source.dtype != torch.float32}
        if not isinstance(error, bt.DTypeMismatch):
            assert all((f"`{call}`" in error.remedy) == wanted for call, wanted in words.items()), error
            btt.swap(copy.deepcopy(model).float())(source.float())


def test_weights_that_pytorch_marks_as_negated_are_packed():
    x, marked = torch.randn(1, 3, 6, 6), torch._neg_view(torch.randn(4, 3, 1, 1))
    conv = nn.Conv2d(3, 4, 1).eval()
    conv.weight, conv.bias = nn.Parameter(marked), nn.Parameter(torch._neg_view(torch.randn(4)))
    assert conv.weight.is_neg()
    with torch.no_grad():
        close(btt.swap(conv)(E(x)), conv(x))


def test_transforms_in_a_swapped_model_are_told():
    class Mapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3)

        def forward(self, x):
            return torch.vmap(self.conv)(x)

    model, x = Mapped().eval(), torch.randn(2, 3, 6, 6)
    with pytest.raises(bt.UnsupportedOp, match="a call in the swapped model takes no EagerTensor.*`vmap`"):
        btt.swap(model)(E(x))
    assert model(x).shape == (2, 8, 4, 4)
