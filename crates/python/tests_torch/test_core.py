"""Models after `run_decompositions()`: their calls are those of core ATen."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

torch.manual_seed(5)
X = torch.randn(1, 4, 16, 16)


class Two(nn.Module):
    """Attention-like calls, and padding by hand."""

    def forward(self, x):
        y = F.pad(x, (1, 2, 3, 0), mode="reflect") + F.pad(x, (1, 2, 3, 0), mode="replicate")
        grid = F.affine_grid(torch.eye(2, 3)[None], [1, 4, 8, 8], align_corners=False)
        return torch.log_softmax(y, 1).mean((2, 3)), F.grid_sample(x, grid, align_corners=False)


MODELS = {
    "conv": nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1, groups=2, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2)),
    "transposed": nn.Sequential(nn.ConvTranspose2d(4, 8, 3, 2, 1, 1), nn.GroupNorm(2, 8), nn.Hardswish(), nn.AvgPool2d(2)),
    "vectors": nn.Sequential(nn.Flatten(2), nn.Conv1d(4, 8, 3), nn.ConvTranspose1d(8, 4, 3), nn.LayerNorm(256), nn.Softmax(-1)),
    "volumes": nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Conv3d(2, 4, (1, 3, 3)), nn.AdaptiveAvgPool3d((1, 2, 2))),
    "head": nn.Sequential(nn.AdaptiveAvgPool2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3), nn.Softmax(1)),
    "instances": nn.Sequential(nn.InstanceNorm2d(4, affine=True), nn.PReLU(4), nn.PReLU(), nn.Upsample(scale_factor=2, mode="bilinear")),
    "two": Two(),
    "resnet18": torchvision.models.resnet18(),
}


@pytest.mark.parametrize("name", MODELS)
def test_decomposed_models_run(name):
    model = MODELS[name].eval()
    x = torch.randn(1, 3, 64, 64) if name == "resnet18" else X
    with torch.no_grad():
        wanted = model(x)
        fast = btt.to_blocked(torch.export.export(model, (x,)).run_decompositions().module(), x, layouts="nchw")
        torch.testing.assert_close(fast(x), wanted, rtol=1e-4, atol=1e-4)


def test_means_that_are_written_with_strides_are_views():
    model = torchvision.models.convnext_tiny().eval()
    x = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        exported = torch.export.export(model, (x,)).run_decompositions()
        assert any("as_strided" in str(node.target) for node in exported.graph.nodes)
        torch.testing.assert_close(btt.to_blocked(exported.module(), x, layouts="nchw")(x), model(x), rtol=1e-4, atol=1e-4)


def test_other_strides_are_refused():
    class Strided(nn.Module):
        def __init__(self, *strides):
            super().__init__()
            self.strides = strides

        def forward(self, x):
            return torch.relu(x).as_strided(*self.strides)

    for strides in (((4, 256), (1, 4)), ((2, 256), (256, 1)), ((2, 256), (256, 1), 512), ((1024, 2), (1, 0))):
        with pytest.raises(bt.UnsupportedOp, match="as_strided"):
            btt.to_blocked(Strided(*strides).eval(), X)


def test_a_norm_of_a_batchs_statistics_is_refused():
    model = nn.InstanceNorm2d(4).eval()
    with pytest.raises(bt.Error, match="own statistics|training"):
        norm = nn.BatchNorm2d(4, track_running_stats=False).eval()
        x = X.repeat(2, 1, 1, 1)
        btt.to_blocked(torch.export.export(norm, (x,)).run_decompositions().module(), x)
    with torch.no_grad():
        x = X.repeat(2, 1, 1, 1) * 3
        exported = torch.export.export(model, (x,)).run_decompositions().module()
        torch.testing.assert_close(btt.to_blocked(exported, x, layouts="nchw")(x), model(x), rtol=1e-4, atol=1e-4)


def test_a_native_batch_norm_has_no_statistics_of_its_own():
    """Its second and third results had the sizes of the statistics; PyTorch's are empty."""
    x, weight, mean, var = torch.randn(2, 4, 3, 3), torch.randn(4), torch.randn(4), torch.rand(4) + 0.5
    wanted, *empty = torch.native_batch_norm(x, weight, None, mean, var, False, 0.1, 1e-5)
    made, *rest = torch.native_batch_norm(btt.EagerTensor(x), weight, None, mean, var, False, 0.1, 1e-5)
    torch.testing.assert_close(made.torch(), wanted)
    assert [len(one) for one in empty] == [0, 0]
    for one in rest:
        with pytest.raises(bt.UnsupportedOp, match="no op of blocktensor computes this result"):
            one + 1


class NativeNorm(torch.nn.BatchNorm2d):
    def forward(self, x):
        return torch.native_batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, self.training, 0.1, 1e-5)[0]


def test_a_native_batch_norm_has_a_plan():
    model, x = NativeNorm(4).eval(), torch.randn(2, 4, 3, 3)
    torch.testing.assert_close(btt.to_blocked(model, x)(x), model(x).detach())
