"""The architectures that `compare_onnx.py` exports, and their random weights.

`MODELS` maps `<family>/<name>` to a `Model`. The families: `tv` is torchvision, `timm` and `smp` (segmentation_models_pytorch) are
packages, `hand` and `small` are in `onnx_nets.py`, `small` for the test suite. No weights are downloaded.
"""

import copy
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

import onnx_nets


@dataclass(frozen=True)
class Model:
    """How to build a network, and the shape of its input."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...] = (1, 3, 224, 224)
    # Sizes that the exported file leaves open: axis of the input to name. Only `small` uses it.
    open_axes: tuple[tuple[int, str], ...] = ()


def seed_of(name):
    """A seed that depends on the name alone."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")


def make(name, batch=None):
    """The network in evaluation mode with random weights, and its input: of `batch` images, or of as many as `MODELS` says."""
    torch.manual_seed(seed_of(name))
    model = MODELS[name]
    net = First(model.build()).eval()
    randomise(net)
    calibrate(net, model.shape)
    return net, (images((batch or model.shape[0], *model.shape[1:])),)


def images(shape):
    """Noise over smooth shapes: mirroring or shifting such an image changes a network's result, unlike that of noise alone."""
    batch, channels, *size = shape
    coarse = torch.randn(batch, channels, *(3 for _ in size))
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(size)]
    return 1.5 * F.interpolate(coarse, size=size, mode=mode, align_corners=True) + 0.5 * torch.randn(shape)


class First(nn.Module):
    """Gives the results as a flat tuple of tensors, or as one tensor."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, image):
        flat = []
        collect(self.net(image), flat)
        return flat[0] if len(flat) == 1 else tuple(flat)


def collect(value, into):
    if isinstance(value, torch.Tensor):
        into.append(value)
    elif isinstance(value, dict):
        # torchvision's segmentation networks give `out` and an auxiliary result.
        for key in ("out",) if "out" in value else value:
            collect(value[key], into)
    else:
        for item in value:
            collect(item, into)


@torch.no_grad()
def randomise(net):
    """Replaces what initialisation leaves constant: biases, affine weights of norms, layer scales, heads of zeros."""
    for module in net.modules():
        for name, p in module.named_parameters(recurse=False):
            values = p.detach()
            constant = values.numel() > 1 and bool((values == values.flatten()[0]).all())
            if name == "bias" and values.ndim == 1:
                if constant:
                    p.normal_(0, 0.1)
            elif "gamma" in name or "layer_scale" in name or name in ("scale", "res_scale"):
                p.uniform_(0.1, 0.5)
            elif constant and values.ndim <= 1:
                p.uniform_(0.7, 1.3)
            elif constant:
                p.normal_(0, values[0].numel() ** -0.5)


@torch.no_grad()
def calibrate(net, shape):
    """Makes activations of order 1: scales the weights of linear layers and sets the running statistics of batch norms.

    Both come from one pass over random images.
    """
    linear = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.Linear)
    hooks = [m.register_forward_hook(scale_weights) for m in net.modules() if type(m) in linear]
    hooks += [m.register_forward_pre_hook(set_statistics) for m in net.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    net(images((8, *shape[1:])))
    for hook in hooks:
        hook.remove()


def set_statistics(norm, arguments):
    """Sets a batch norm's statistics near those of its input."""
    (x,) = arguments
    var, mean = torch.var_mean(x, [axis for axis in range(x.ndim) if axis != 1])
    # The least variance keeps a norm after global pooling from amplifying rounding errors.
    var = torch.maximum(var, 0.02 * (mean**2).mean() + 0.3 * var.mean() + 1e-3)
    norm.running_mean.copy_(mean + 0.2 * var.sqrt() * torch.randn_like(mean))
    norm.running_var.copy_(var * torch.empty_like(var).uniform_(0.7, 1.4))


def scale_weights(module, _, result):
    """Divides a layer's weights by the root mean square of what they give, so that they give one of 1."""
    bias = 0
    if module.bias is not None:
        bias = module.bias if isinstance(module, nn.Linear) else module.bias.view(-1, *(1 for _ in result.shape[2:]))
    change = result - bias
    scale = change.square().mean().sqrt().clamp(min=1e-6)
    module.weight.div_(scale)
    return change / scale + bias


def answers_in_f64(net, inputs):
    """The network's results computed in f64."""
    with torch.no_grad():
        results = copy.deepcopy(net).double()(*(x.double() for x in inputs))
    return results if isinstance(results, tuple) else (results,)


# The tables.


def torchvision_net(name, **options):
    def build():
        import torchvision

        return torchvision.models.get_model(name, weights=None, **options)

    return build


def timm_net(name, **options):
    def build():
        import timm

        return timm.create_model(name, pretrained=False, **options)

    return build


def smp_net(architecture, encoder="resnet18", **options):
    def build():
        import segmentation_models_pytorch as smp

        return smp.create_model(architecture, encoder, encoder_weights=None, classes=5, **options)

    return build


# Others use these first.
EARLY = {
    "tv/resnet18": Model(torchvision_net("resnet18")),
    "tv/resnet50": Model(torchvision_net("resnet50")),
    "tv/mobilenet_v2": Model(torchvision_net("mobilenet_v2")),
    "tv/mobilenet_v3_small": Model(torchvision_net("mobilenet_v3_small")),
    "tv/squeezenet1_1": Model(torchvision_net("squeezenet1_1")),
    "tv/densenet121": Model(torchvision_net("densenet121")),
    "hand/unet": Model(onnx_nets.UNet, (1, 3, 128, 128)),
    "tv/vgg11": Model(torchvision_net("vgg11")),
    "tv/efficientnet_b0": Model(torchvision_net("efficientnet_b0")),
    "tv/shufflenet_v2_x1_0": Model(torchvision_net("shufflenet_v2_x1_0")),
    "tv/convnext_tiny": Model(torchvision_net("convnext_tiny")),
    "tv/vit_b_16": Model(torchvision_net("vit_b_16")),
}

HAND = {
    "hand/unet_bilinear": Model(lambda: onnx_nets.UNet((24, 48, 96), True), (1, 3, 100, 116)),
    "hand/yolo": Model(onnx_nets.Yolo, (1, 3, 320, 320)),
    "hand/yolo_heads": Model(lambda: onnx_nets.Yolo(16, 11, (192, 320), True), (1, 3, 192, 320)),
    "hand/espcn": Model(onnx_nets.Espcn, (1, 1, 120, 128)),
    "hand/edsr": Model(onnx_nets.edsr, (1, 3, 64, 72)),
    "hand/fsrcnn": Model(onnx_nets.fsrcnn, (1, 1, 96, 96)),
    "hand/dncnn": Model(onnx_nets.dncnn, (1, 1, 96, 96)),
    "hand/esrgan": Model(onnx_nets.esrgan, (1, 3, 40, 48)),
    "hand/style_transfer": Model(onnx_nets.style_transfer, (1, 3, 128, 128)),
    "hand/lrn_alexnet": Model(onnx_nets.LrnAlexNet),
    "hand/arcface": Model(onnx_nets.ArcFace, (1, 3, 112, 112)),
}

TORCHVISION = {
    f"tv/{name}": Model(torchvision_net(name, **options), shape)
    for name, shape, options in [
        ("alexnet", (1, 3, 224, 224), {}),
        ("vgg16", (1, 3, 224, 224), {}),
        ("googlenet", (1, 3, 224, 224), {"init_weights": False, "aux_logits": False}),
        ("inception_v3", (1, 3, 299, 299), {"init_weights": False, "aux_logits": False}),
        ("mnasnet1_0", (1, 3, 224, 224), {}),
        ("mobilenet_v3_large", (1, 3, 224, 224), {}),
        ("regnet_x_400mf", (1, 3, 224, 224), {}),
        ("regnet_y_400mf", (1, 3, 224, 224), {}),
        ("resnext50_32x4d", (1, 3, 224, 224), {}),
        ("efficientnet_v2_s", (1, 3, 224, 224), {}),
        ("swin_t", (1, 3, 224, 224), {}),
        ("maxvit_t", (1, 3, 224, 224), {}),
        ("deeplabv3_mobilenet_v3_large", (1, 3, 224, 224), {"weights_backbone": None}),
        ("lraspp_mobilenet_v3_large", (1, 3, 224, 224), {"weights_backbone": None}),
        ("fcn_resnet50", (1, 3, 160, 192), {"weights_backbone": None}),
        ("r3d_18", (1, 3, 8, 64, 64), {}),
    ]
}

TIMM = {
    f"timm/{name}": Model(timm_net(name), (1, 3, size, size))
    for name, size in [
        ("resnet50d", 224), ("seresnet50", 224), ("ecaresnet50t", 224), ("resnetv2_50", 224), ("res2net50_26w_4s", 224), ("skresnet18", 224),
        ("resnest14d", 224), ("ghostnet_100", 224), ("mixnet_s", 224), ("tf_efficientnet_b0", 224), ("tf_mobilenetv3_small_075", 224),
        ("mobilenetv4_conv_small", 224), ("lcnet_100", 224), ("mobileone_s0", 224), ("repvgg_a0", 224), ("hrnet_w18_small", 224),
        ("cs3darknet_focus_s", 224), ("dla34", 224), ("dpn68", 224), ("rexnet_100", 224), ("regnetz_b16", 224), ("eca_nfnet_l0", 224),
        ("xception41", 224), ("convnext_femto", 224), ("convnextv2_atto", 224), ("inception_next_atto", 224), ("poolformer_s12", 224),
        ("starnet_s1", 224), ("fastvit_t8", 256), ("edgenext_xx_small", 256), ("mobilevit_xxs", 256), ("mobilevitv2_050", 256),
        ("efficientvit_b0", 224), ("levit_128s", 224), ("vit_tiny_patch16_224", 224), ("resmlp_12_224", 224), ("visformer_tiny", 224),
        ("lambda_resnet26t", 256), ("halonet26t", 256), ("botnet26t_256", 256), ("inception_v4", 299), ("nasnetalarge", 331),
    ]
}  # fmt: skip

SMP = {
    "smp/unet": Model(smp_net("unet"), (1, 3, 128, 160)),
    "smp/unetplusplus": Model(smp_net("unetplusplus"), (1, 3, 96, 128)),
    "smp/fpn": Model(smp_net("fpn"), (1, 3, 128, 128)),
    "smp/linknet": Model(smp_net("linknet"), (1, 3, 128, 128)),
    "smp/manet": Model(smp_net("manet"), (1, 3, 128, 128)),
    "smp/pan": Model(smp_net("pan"), (1, 3, 128, 128)),
    "smp/pspnet": Model(smp_net("pspnet"), (1, 3, 128, 128)),
    "smp/deeplabv3plus": Model(smp_net("deeplabv3plus"), (1, 3, 128, 128)),
    "smp/upernet": Model(smp_net("upernet"), (1, 3, 128, 128)),
    "smp/segformer": Model(smp_net("segformer", "mit_b0"), (1, 3, 128, 128)),
}

SMALL = {
    "small/resnet": Model(onnx_nets.SmallResNet, (2, 3, 44, 60), ((0, "batch"),)),
    "small/mobilenet": Model(onnx_nets.small_mobilenet, (1, 3, 56, 48)),
    "small/unet": Model(onnx_nets.SmallUNet, (2, 3, 32, 44), ((0, "batch"),)),
    "small/densenet": Model(onnx_nets.SmallDenseNet, (1, 3, 40, 32)),
    "small/hybrid": Model(lambda: onnx_nets.SmallHybrid(20), (2, 3, 32, 40), ((0, "batch"),)),
}

MODELS = {**EARLY, **HAND, **TORCHVISION, **TIMM, **SMP, **SMALL}
