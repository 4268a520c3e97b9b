"""Swapped models: README's kind of model runs end to end, and what a blocked tensor cannot do names what to do."""

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
