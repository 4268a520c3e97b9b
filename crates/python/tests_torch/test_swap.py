"""Swapped models: README's kind of model runs end to end, and what a blocked tensor cannot do names what to do."""

import copy
import re

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

torch.manual_seed(38)
IMAGE = torch.randn(1, 3, 64, 64)


def error_of(got, wanted):
    return float((got - wanted).norm() / wanted.norm())


@pytest.fixture(scope="module")
def resnet():
    return torchvision.models.resnet18().eval()


def test_resnet_runs_on_strided_tensors(resnet):
    with torch.no_grad():
        assert error_of(btt.swap(resnet)(btt.EagerTensor(IMAGE)).torch(), resnet(IMAGE)) < 1e-5


@pytest.mark.parametrize("made", [nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm])
def test_parametrized_convolutions_run_unpacked(made):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), made(nn.Conv2d(8, 4, 3))).eval()
    swapped = btt.swap(model)
    for _ in range(2):
        with torch.no_grad():
            assert error_of(swapped(btt.EagerTensor(IMAGE)).torch(), model(IMAGE)) < 1e-5
            # What is set on the model is seen.
            model[2].parametrizations.weight.original0.mul_(2) if made is nn.utils.parametrizations.weight_norm else None
    assert not model[2]._forward_hooks


def test_resnet_runs_on_blocked_tensors_as_the_error_says(resnet):
    with torch.no_grad():
        with pytest.raises(bt.UnsupportedOp) as e:
            btt.swap(resnet)(btt.EagerTensor(IMAGE).to_blocked())
        assert "swap(model, to_strided=['avgpool'])" in e.value.remedy
        eager = btt.swap(resnet, to_strided=["avgpool"])
        x = btt.EagerTensor(IMAGE).to_blocked()
        eager(x)
        with bt.record() as book:
            y = eager(x)
        assert [(r["op"], r["shape"]) for r in book.reorders] == [("to_strided", [1, 512, 1, 1])]
        assert error_of(y.torch(), resnet(IMAGE)) < 1e-5
        assert torch.equal(eager(IMAGE), resnet(IMAGE))


class Functional(nn.Module):
    """Functions between the last module and the classifier, as in MobileNetV2 and DenseNet."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU6(inplace=True))
        self.classifier = nn.Linear(16, 5)

    def forward(self, x):
        x = F.relu(self.features(x), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1))


def test_the_named_module_is_the_last_that_ran():
    model = Functional().eval()
    with torch.no_grad():
        with pytest.raises(bt.UnsupportedOp) as e:
            btt.swap(model)(btt.EagerTensor(IMAGE).to_blocked())
        (name,) = re.findall(r"to_strided=\['(.*?)'\]", e.value.remedy)
        y = btt.swap(model, to_strided=[name])(btt.EagerTensor(IMAGE).to_blocked())
        assert error_of(y.torch(), model(IMAGE)) < 1e-5
        # Outside of the model no module is named.
        with pytest.raises(bt.UnsupportedOp) as e:
            btt.EagerTensor(IMAGE).to_blocked().flatten(1)
        assert "swap(" not in e.value.remedy


def test_unknown_names_are_refused(resnet):
    with pytest.raises(bt.InvalidArgument, match="'no_such'"):
        btt.swap(resnet, to_strided=["no_such", "avgpool"])
    for wrong in (3, None, [3], ["avgpool", None]):
        with pytest.raises(bt.InvalidArgument, match="it is a list of names of modules; pass names of"):
            btt.swap(resnet, to_strided=wrong)
    with pytest.raises(bt.UnsupportedOp):
        btt.swap(nn.ReLU())


@pytest.mark.parametrize("options", [dict(padding="same"), dict(padding=2, padding_mode="circular"), dict(padding="same", padding_mode="reflect")])
def test_convolutions_pad_as_pytorch_does(options):
    conv = nn.Conv2d(3, 8, 4, **options).eval()
    with torch.no_grad():
        assert error_of(btt.swap(conv)(btt.EagerTensor(IMAGE)).torch(), conv(IMAGE)) < 1e-5


def test_edited_weights_are_packed_again():
    conv = nn.Conv2d(3, 8, 3).eval()
    eager, x = btt.swap(conv), btt.EagerTensor(IMAGE)
    with torch.no_grad():
        eager(x)
        conv.weight.mul_(2)
        assert error_of(eager(x).torch(), conv(IMAGE)) < 1e-5
        conv.load_state_dict(nn.Conv2d(3, 8, 3).state_dict())
        assert error_of(eager(x).torch(), conv(IMAGE)) < 1e-5
        conv.bias = nn.Parameter(torch.ones(8))
        assert error_of(eager(x).torch(), conv(IMAGE)) < 1e-5


def test_packed_convolutions_read_like_convolutions():
    conv = nn.Conv2d(3, 8, 3, stride=2).eval()
    eager = btt.swap(conv)
    assert eager.weight is conv.weight and eager.stride == (2, 2) and eager.out_channels == 8
    with pytest.raises(AttributeError):
        eager.no_such_name


def test_parts_of_tensors_are_sources():
    conv = nn.Conv2d(2, 8, 3).eval()
    with torch.no_grad():
        for part in (lambda x: x[:, 1:], lambda x: x[:, :, :, ::2][:, :2], lambda x: x.transpose(2, 3)[:, :2]):
            assert error_of(btt.swap(conv)(part(btt.EagerTensor(IMAGE))).torch(), conv(part(IMAGE))) < 1e-5


class Shifted(nn.Conv2d):
    """A convolution of somebody's own."""

    def forward(self, x):
        return super().forward(x) + 1


def test_convolutions_with_code_of_their_own_keep_it():
    model = nn.Sequential(Shifted(3, 8, 3), nn.Conv2d(8, 4, 1)).eval()
    model[1].register_forward_hook(lambda module, args, result: result * 3)
    with torch.no_grad():
        assert error_of(btt.swap(model)(btt.EagerTensor(IMAGE)).torch(), model(IMAGE)) < 1e-5
    assert len(model[1]._forward_hooks) == 1 and not model._forward_hooks


@pytest.mark.parametrize("place", ["model", "swapped"])
@pytest.mark.parametrize(
    "settings",
    [
        dict(stride=(2, 2)),
        dict(stride=[1, 2]),
        dict(padding=2),
        dict(padding="same"),
        dict(padding="valid"),
        dict(dilation=(2, 1)),
        dict(padding_mode="reflect"),
        dict(groups=2, weight=nn.Parameter(torch.randn(8, 2, 3, 3))),
    ],
)
def test_settings_that_change_are_seen(settings, place):
    model = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1)).eval()
    eager, x = btt.swap(model), torch.randn(1, 4, 9, 9)
    with torch.no_grad():
        eager(btt.EagerTensor(x))
        for name, value in settings.items():
            setattr((model if place == "model" else eager)[0], name, value)
            assert getattr(model[0], name) is value and getattr(eager[0], name) is value
        wanted, got = model(x), eager(btt.EagerTensor(x)).torch()
    assert got.shape == wanted.shape and error_of(got, wanted) < 1e-5


def test_settings_in_a_list_are_compared_by_value():
    conv, x = nn.Conv2d(3, 8, 3).eval(), btt.EagerTensor(IMAGE)
    conv.stride = [1, 1]
    eager = btt.swap(conv)
    with torch.no_grad():
        eager(x)
        conv.stride[0] = 2
        assert eager(x).shape == conv(IMAGE).shape
        conv.padding = "same"
        with pytest.raises(bt.InvalidArgument, match="stride"):
            eager(x)
        conv.padding = "full"
        with pytest.raises(bt.InvalidArgument, match="'full'"):
            eager(x)


def test_weights_at_the_address_of_others_are_packed_again():
    conv, x = nn.Conv2d(3, 3, 3).eval(), btt.EagerTensor(IMAGE)
    eager = btt.swap(conv)
    with torch.no_grad():
        eager(x)
        conv.weight.data = conv.weight.data.transpose(2, 3)
        assert error_of(eager(x).torch(), conv(IMAGE)) < 1e-5
        for seed in range(20):
            weights = {"weight": torch.randn(3, 3, 3, 3, generator=torch.Generator().manual_seed(seed)), "bias": torch.zeros(3)}
            wanted = torch.func.functional_call(conv, weights, IMAGE)
            assert error_of(torch.func.functional_call(eager, weights, x).torch(), wanted) < 1e-5
            del weights


def test_code_and_hooks_that_are_added_later_run():
    model = nn.Sequential(nn.Conv2d(3, 8, 3)).eval()
    eager, x = btt.swap(model), btt.EagerTensor(IMAGE)
    with torch.no_grad():
        eager(x)
        for add in (
            lambda conv: conv.register_forward_hook(lambda module, args, result: result * 3),
            lambda conv: conv.register_forward_pre_hook(lambda module, args: args[0] + 1),
            lambda conv: setattr(conv, "forward", lambda x: torch.relu(x)),
            lambda conv: delattr(conv, "forward") or nn.utils.parametrize.register_parametrization(conv, "weight", nn.Tanh()),
        ):
            add(model[0])
            assert error_of(eager(x).torch(), model(IMAGE)) < 1e-5


def test_hooks_of_the_copy_are_not_the_models():
    model = nn.Sequential(nn.ReLU()).eval()
    eager = btt.swap(model)
    eager.register_forward_pre_hook(lambda module, args: None, with_kwargs=False)
    eager[0].register_forward_hook(lambda module, args, result: None, always_call=True)
    for module in model.modules():
        assert not any(value for key, value in vars(module).items() if "_hooks" in key)


def test_names_in_state_dict_are_the_models(resnet):
    eager = btt.swap(resnet)
    assert list(eager.state_dict()) == list(resnet.state_dict())
    assert [name for name, _ in eager.named_modules()] == [name for name, _ in resnet.named_modules()]
    with torch.no_grad():
        other = torchvision.models.resnet18().eval()
        x = btt.EagerTensor(IMAGE)
        eager(x)
        wanted = torch.func.functional_call(resnet, dict(other.named_parameters()), IMAGE)
        assert error_of(torch.func.functional_call(eager, dict(other.named_parameters()), x).torch(), wanted) < 1e-5
        own = copy.deepcopy(resnet)
        eager = btt.swap(own)
        eager(x)
        eager.load_state_dict(other.state_dict())
        assert error_of(eager(x).torch(), other(IMAGE)) < 1e-5 and torch.equal(own(IMAGE), other(IMAGE))


def test_copies_of_swapped_models_have_their_own_weights():
    conv, x = nn.Conv2d(3, 8, 3).eval(), btt.EagerTensor(IMAGE)
    eager = btt.swap(conv)
    with torch.no_grad():
        eager(x)
        twin, wanted = copy.deepcopy(eager), conv(IMAGE)
        conv.weight.zero_()
        assert error_of(twin(x).torch(), wanted) < 1e-5 and error_of(eager(x).torch(), conv(IMAGE)) < 1e-5
        again = btt.swap(eager)
        assert error_of(again(x).torch(), conv(IMAGE)) < 1e-5


@torch.jit.script
def scripted(x: torch.Tensor):
    return x + 1


class CallsScripted(nn.Module):
    def forward(self, x):
        return scripted(x)


def test_scripted_code_is_a_typed_error():
    inner = torch.jit.script(nn.Sequential(nn.Conv2d(3, 3, 1)).eval())
    for model, name in ((inner, "the model"), (nn.Sequential(inner).eval(), "`0`")):
        with pytest.raises(bt.UnsupportedOp, match=name) as e:
            btt.swap(model)
        assert e.value.op == "swap" and e.value.remedy
    eager = btt.swap(nn.Sequential(CallsScripted()).eval())
    assert torch.equal(eager(IMAGE), IMAGE + 1)
    with pytest.raises(bt.UnsupportedOp, match="takes no EagerTensor") as e:
        eager(btt.EagerTensor(IMAGE))
    assert e.value.op == "swap" and e.value.remedy


class Attends(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x, **masks):
        made = self.part(x, x, x, **masks) if isinstance(self.part, nn.MultiheadAttention) else self.part(x, *masks.values())
        return made[0] if isinstance(made, tuple) else made


ADDED, HIDDEN = torch.randn(5, 5), torch.tensor([[False, False, True, False, True], [False] * 5])
MASKS = {
    "none": {},
    "added": {"attn_mask": ADDED},
    "hidden": {"attn_mask": ADDED > 1},
    "padding": {"attn_mask": None, "key_padding_mask": HIDDEN},
    "both": {"attn_mask": torch.ones(5, 5).triu(1) != 0, "key_padding_mask": HIDDEN},
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("kind", ["attention", "layer", "encoder"])
def test_attention_takes_masks(kind, masks, wrapped):
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    kinds = {"attention": nn.MultiheadAttention(16, 2, batch_first=True), "layer": layer, "encoder": encoder}
    model = Attends(kinds[kind]).eval()
    x, given = torch.randn(2, 5, 16), MASKS[masks]
    eager = {name: btt.EagerTensor(x) if wrapped and x is not None else x for name, x in given.items()}
    # With gradients PyTorch leaves its fast way for layers, which takes masks of numbers for other ones.
    wanted = model(x, **given).detach()
    assert error_of(btt.swap(model)(btt.EagerTensor(x), **eager).torch(), wanted) < 1e-5


def test_a_blocked_mask_is_told():
    eager = btt.swap(Attends(nn.MultiheadAttention(16, 2, batch_first=True)).eval())
    with pytest.raises(bt.UnsupportedOp, match=r"argument `attn_mask`: got .*nChw16c.*pass `x.to_strided\(\)`"):
        eager(btt.EagerTensor(torch.randn(2, 5, 16)), attn_mask=btt.EagerTensor(torch.zeros(1, 1, 5, 5)).to_blocked("nChw16c"))


def test_the_librarys_tensor_in_place_is_told():
    class Doubles(nn.Module):
        def forward(self, x):
            x.held.mul_(2)
            return x

    with pytest.raises(bt.UnsupportedOp, match=re.escape("write `y.mul_` in place of `y.held.mul_`")):
        btt.swap(Doubles().eval())(btt.EagerTensor(IMAGE))


def test_a_write_into_shared_memory_has_no_remedy_of_layouts():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3)

        def forward(self, x):
            y = self.conv(x)
            return y.data.clamp_(0, 1)

    with torch.no_grad(), pytest.raises(bt.UnsupportedOp, match="op `clamp_`") as e:
        btt.swap(Writes().eval())(btt.EagerTensor(IMAGE).to_blocked())
    assert e.value.remedy == "write into `x` itself in place of `x.data`"


def test_autocast_is_refused():
    model = nn.Sequential(nn.Conv2d(3, 3, 1), nn.Linear(64, 4)).eval()
    for part in (model, model[0], model[1]):
        eager = btt.swap(part)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            with pytest.raises(bt.UnsupportedOp, match="autocast") as e:
                eager(btt.EagerTensor(IMAGE))
            assert "torch.autocast('cpu', enabled=False)" in e.value.remedy and "bfloat16()" not in e.value.remedy
            with torch.autocast("cpu", enabled=False):
                assert error_of(eager(btt.EagerTensor(IMAGE)).torch(), part(IMAGE)) < 1e-5


def test_what_is_no_model_is_told():
    for x, got in ((nn.Sequential, "the class `Sequential`"), (None, "NoneType"), (3, "int"), (F.relu, "function")):
        for call in (btt.swap, lambda x: btt.to_blocked(x, IMAGE)):
            with pytest.raises(bt.InvalidArgument, match="argument `model`") as e:
                call(x)
            assert got in str(e.value)
    with pytest.raises(bt.InvalidArgument, match=re.escape("make one of the class: `Sequential(...)`")):
        btt.swap(nn.Sequential)
