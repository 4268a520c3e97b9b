"""Networks that `compare_onnx.py` exports and that no package has. `onnx_models.py` gives them their weights."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn


def conv(i, o, k=3, s=1, g=1, act: Callable[[], nn.Module] | None = nn.SiLU):
    """Convolution, batch norm, activation."""
    layers = [nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act else []))


class UNet(nn.Module):
    """U-Net with transposed convolutions, or with bilinear upsampling and pads for sizes that do not divide."""

    def __init__(self, widths=(32, 64, 128, 256), bilinear=False, classes=4):
        super().__init__()
        self.bilinear = bilinear
        self.down = nn.ModuleList(self.twice(i, o) for i, o in zip((3, *widths), widths, strict=False))
        pairs = list(zip(widths[::-1], widths[-2::-1], strict=False))
        self.up = nn.ModuleList(
            nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(i, o, 1))
            if bilinear
            else nn.ConvTranspose2d(i, o, 2, 2)
            for i, o in pairs
        )
        self.join = nn.ModuleList(self.twice(2 * o, o) for _, o in pairs)
        self.head = nn.Conv2d(widths[0], classes, 1)

    @staticmethod
    def twice(i, o):
        return nn.Sequential(conv(i, o, act=nn.ReLU), conv(o, o, act=nn.ReLU))

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            skips.append(x)
        for up, join, skip in zip(self.up, self.join, skips[-2::-1], strict=True):
            x = up(x)
            dy, dx = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
            if self.bilinear and (dy or dx):
                x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            x = join(torch.cat([skip, x], 1))
        return self.head(x)


class Split(nn.Module):
    """A block of a YOLO: splits the channels in two, refines one part repeatedly, concatenates every step."""

    def __init__(self, i, o, n=1, residual=True):
        super().__init__()
        self.half = o // 2
        self.residual = residual
        self.first = conv(i, o, 1)
        self.steps = nn.ModuleList(nn.Sequential(conv(self.half, self.half), conv(self.half, self.half)) for _ in range(n))
        self.last = conv((2 + n) * self.half, o, 1)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            y = step(parts[-1])
            parts.append(parts[-1] + y if self.residual else y)
        return self.last(torch.cat(parts, 1))


class PoolPyramid(nn.Module):
    """Three maximum pools of size 5 in a row, concatenated."""

    def __init__(self, c):
        super().__init__()
        self.first, self.last = conv(c, c // 2, 1), conv(2 * c, c, 1)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """A detector in the manner of YOLO: three scales, top-down and bottom-up paths, boxes as distributions over 16 bins.

    With `heads` it gives the feature maps of the three heads instead of boxes and scores.
    """

    def __init__(self, w=24, classes=20, size=(320, 320), heads=False):
        super().__init__()
        self.heads = heads
        self.bins = 16
        self.classes = classes
        self.stem = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), Split(2 * w, 2 * w))
        self.to3 = nn.Sequential(conv(2 * w, 4 * w, 3, 2), Split(4 * w, 4 * w, 2))
        self.to4 = nn.Sequential(conv(4 * w, 8 * w, 3, 2), Split(8 * w, 8 * w, 2))
        self.to5 = nn.Sequential(conv(8 * w, 8 * w, 3, 2), Split(8 * w, 8 * w), PoolPyramid(8 * w))
        self.up4, self.up3 = Split(16 * w, 8 * w, 1, False), Split(12 * w, 4 * w, 1, False)
        self.down3, self.down4 = conv(4 * w, 4 * w, 3, 2), conv(8 * w, 8 * w, 3, 2)
        self.out4, self.out5 = Split(12 * w, 8 * w, 1, False), Split(16 * w, 8 * w, 1, False)
        widths = (4 * w, 8 * w, 8 * w)
        self.boxes = nn.ModuleList(nn.Sequential(conv(c, 64), conv(64, 64), nn.Conv2d(64, 4 * self.bins, 1)) for c in widths)
        self.kinds = nn.ModuleList(
            nn.Sequential(conv(c, c, 3, g=c), conv(c, 80, 1), nn.Conv2d(80, classes, 1)) for c in widths
        )
        self.register_buffer("bin_values", torch.arange(self.bins, dtype=torch.float32).view(1, -1, 1, 1))
        anchors, strides = [], []
        for stride in (8, 16, 32):
            h, wd = size[0] // stride, size[1] // stride
            y, x = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(wd) + 0.5, indexing="ij")
            anchors.append(torch.stack([x.flatten(), y.flatten()]))
            strides.append(torch.full((h * wd,), float(stride)))
        self.register_buffer("anchors", torch.cat(anchors, 1))
        self.register_buffer("strides", torch.cat(strides))

    def forward(self, x):
        p3 = self.to3(self.stem(x))
        p4 = self.to4(p3)
        p5 = self.to5(p4)
        n4 = self.up4(torch.cat([F.interpolate(p5, scale_factor=2.0), p4], 1))
        n3 = self.up3(torch.cat([F.interpolate(n4, scale_factor=2.0), p3], 1))
        n4 = self.out4(torch.cat([self.down3(n3), n4], 1))
        n5 = self.out5(torch.cat([self.down4(n4), p5], 1))
        levels = []
        for feature, box, kind in zip((n3, n4, n5), self.boxes, self.kinds, strict=True):
            levels.append(torch.cat([box(feature), kind(feature)], 1))
        if self.heads:
            return levels
        box, kind = torch.cat([level.flatten(2) for level in levels], 2).split([4 * self.bins, self.classes], 1)
        box = box.view(box.shape[0], 4, self.bins, -1).transpose(1, 2).softmax(1)
        near, far = (box * self.bin_values).sum(1).chunk(2, 1)
        near, far = self.anchors - near, self.anchors + far
        box = torch.cat([(near + far) / 2, far - near], 1) * self.strides
        return torch.cat([box, kind.sigmoid()], 1)


class Espcn(nn.Module):
    """Super-resolution with a sub-pixel shuffle."""

    def __init__(self, scale=3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(),
            nn.Conv2d(32, scale**2, 3, padding=1), nn.PixelShuffle(scale),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)


class Residual(nn.Module):
    """Adds the scaled result of `body` to its input."""

    def __init__(self, body, scale=1.0):
        super().__init__()
        self.body, self.factor = body, scale

    def forward(self, x):
        return x + self.body(x) * self.factor


def plain(i, o, k=3, s=1):
    return nn.Conv2d(i, o, k, s, k // 2)


def edsr(scale=2, width=64, blocks=8):
    body = [Residual(nn.Sequential(plain(width, width), nn.ReLU(), plain(width, width)), 0.1) for _ in range(blocks)]
    upsample = [plain(width, width * scale**2), nn.PixelShuffle(scale)]
    return nn.Sequential(plain(3, width), Residual(nn.Sequential(*body, plain(width, width))), *upsample, plain(width, 3))


def fsrcnn(scale=2):
    middle = [layer for _ in range(4) for layer in (plain(12, 12), nn.PReLU(12))]
    return nn.Sequential(
        plain(1, 56, 5), nn.PReLU(56), plain(56, 12, 1), nn.PReLU(12), *middle, plain(12, 56, 1), nn.PReLU(56),
        nn.ConvTranspose2d(56, 1, 9, scale, 4, scale - 1),
    )  # fmt: skip


def dncnn(depth=10):
    middle = [layer for _ in range(depth) for layer in (nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU())]
    return Residual(nn.Sequential(plain(1, 64), nn.ReLU(), *middle, plain(64, 1)), -1.0)


class Dense(nn.Module):
    """The residual dense block of ESRGAN."""

    def __init__(self, c=64, g=32):
        super().__init__()
        self.steps = nn.ModuleList(plain(c + i * g, g) for i in range(4))
        self.last = plain(c + 4 * g, c)

    def forward(self, x):
        parts = [x]
        for step in self.steps:
            parts.append(F.leaky_relu(step(torch.cat(parts, 1)), 0.2))
        return x + 0.2 * self.last(torch.cat(parts, 1))


def esrgan():
    up = [layer for _ in range(2) for layer in (nn.Upsample(scale_factor=2), plain(64, 64), nn.LeakyReLU(0.2))]
    return nn.Sequential(plain(3, 64), Residual(nn.Sequential(Dense(), Dense(), Dense()), 0.2), *up, plain(64, 64), nn.LeakyReLU(0.2), plain(64, 3))


def style_transfer(width=32, blocks=5):
    def layer(i, o, k, s=1, act=True):
        norm = [nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, s), nn.InstanceNorm2d(o, affine=True)]
        return norm + ([nn.ReLU()] if act else [])

    w = width
    body = [Residual(nn.Sequential(*layer(4 * w, 4 * w, 3), *layer(4 * w, 4 * w, 3, act=False))) for _ in range(blocks)]
    return nn.Sequential(
        *layer(3, w, 9), *layer(w, 2 * w, 3, 2), *layer(2 * w, 4 * w, 3, 2), *body,
        nn.Upsample(scale_factor=2), *layer(4 * w, 2 * w, 3), nn.Upsample(scale_factor=2), *layer(2 * w, w, 3),
        nn.ReflectionPad2d(4), nn.Conv2d(w, 3, 9),
    )  # fmt: skip


class ChannelNorm(nn.Module):
    """Layer norm over the channels of an image."""

    def __init__(self, c):
        super().__init__()
        self.norm = nn.LayerNorm(c, eps=1e-6)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class SqueezeExcite(nn.Module):
    """Scales channels by a function of their means."""

    def __init__(self, c, r):
        super().__init__()
        self.first, self.second = nn.Conv2d(c, r, 1), nn.Conv2d(r, c, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.second(F.relu(self.first(F.adaptive_avg_pool2d(x, 1)))))


class LrnAlexNet(nn.Module):
    """AlexNet as published: local response norms and grouped convolutions."""

    def __init__(self, classes=100):
        super().__init__()
        lrn = [nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0), nn.MaxPool2d(3, 2)]
        self.features = nn.Sequential(
            nn.Conv2d(3, 96, 11, 4), nn.ReLU(), *lrn, nn.Conv2d(96, 256, 5, 1, 2, groups=2), nn.ReLU(), *lrn,
            plain(256, 384), nn.ReLU(), nn.Conv2d(384, 256, 3, 1, 1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(256 * 5 * 5, 512), nn.ReLU(), nn.Dropout(), nn.Linear(512, classes))

    def forward(self, x):
        return self.head(self.features(x)).softmax(1)


class ArcFace(nn.Module):
    """A face embedding: PReLU, batch norms, a result of length 1."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            plain(3, 48, 3, 2), nn.BatchNorm2d(48), nn.PReLU(48),
            Residual(nn.Sequential(nn.BatchNorm2d(48), plain(48, 48), nn.PReLU(48), plain(48, 48))),
            conv(48, 96, 3, 2, act=lambda: nn.PReLU(96)), conv(96, 96, 7, 4, 96, act=None),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(96 * 49, 128), nn.BatchNorm1d(128))

    def forward(self, x):
        return F.normalize(self.head(self.features(x)))


# Small networks for the test suite: channel counts that are no multiples of 16, images that are not square.


class SmallResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 12, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1))
        self.one = nn.Sequential(conv(12, 12, act=nn.ReLU), conv(12, 12, act=None))
        self.two = nn.Sequential(conv(12, 28, 3, 2, act=nn.ReLU), conv(28, 28, act=None))
        self.skip = conv(12, 28, 1, 2, act=None)
        self.three = nn.Sequential(conv(28, 20, 1, act=nn.ReLU), conv(20, 20, 3, 1, 5, act=nn.ReLU), conv(20, 28, 1, act=None))
        self.head = nn.Linear(28, 10)

    def forward(self, x):
        x = self.stem(x)
        x = F.relu(x + self.one(x))
        x = F.relu(self.skip(x) + self.two(x))
        x = F.relu(x + self.three(x))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Inverted(nn.Module):
    """MobileNetV3's block."""

    def __init__(self, i, e, o, k, s, act, excite):
        super().__init__()
        layers = [conv(i, e, 1, act=act), conv(e, e, k, s, e, act=act)]
        self.body = nn.Sequential(*layers, *([SqueezeExcite(e, 8)] if excite else []), conv(e, o, 1, act=None))
        self.residual = i == o and s == 1

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


def small_mobilenet():
    hard = nn.Hardswish
    return nn.Sequential(
        conv(3, 10, 3, 2, act=hard), Inverted(10, 24, 10, 3, 1, nn.ReLU, False), Inverted(10, 36, 18, 5, 2, nn.ReLU, True),
        Inverted(18, 50, 18, 5, 1, hard, True), Inverted(18, 54, 30, 3, 2, hard, True), conv(30, 72, 1, act=hard),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(72, 40), hard(), nn.Dropout(0.2), nn.Linear(40, 10),
    )  # fmt: skip


class SmallUNet(nn.Module):
    """One transposed convolution, one bilinear resize."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = (UNet.twice(i, o) for i, o in ((3, 9), (9, 18), (18, 34)))
        self.up = nn.ConvTranspose2d(34, 18, 2, 2)
        self.join2, self.join1 = UNet.twice(36, 18), UNet.twice(27, 9)
        self.head = nn.Conv2d(9, 2, 1)

    def forward(self, x):
        one = self.one(x)
        two = self.two(F.max_pool2d(one, 2))
        x = self.join2(torch.cat([two, self.up(self.three(F.max_pool2d(two, 2)))], 1))
        x = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.head(self.join1(torch.cat([one, x], 1)))


class SmallDenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = plain(3, 14, 3, 2)
        widths, self.blocks, self.transitions, c = 6, nn.ModuleList(), nn.ModuleList(), 14
        for _ in range(2):
            self.blocks.append(nn.ModuleList(self.layer(c + i * widths, widths) for i in range(4)))
            c += 4 * widths
            self.transitions.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c // 2, 1, bias=False), nn.AvgPool2d(2)))
            c //= 2
        self.norm, self.head = nn.BatchNorm2d(c), nn.Linear(c, 10)

    @staticmethod
    def layer(i, o):
        inner = [nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, 4 * o, 1, bias=False)]
        return nn.Sequential(*inner, nn.BatchNorm2d(4 * o), nn.ReLU(), nn.Conv2d(4 * o, o, 3, padding=1, bias=False))

    def forward(self, x):
        x = self.stem(x)
        for block, transition in zip(self.blocks, self.transitions, strict=True):
            parts = [x]
            for layer in block:
                parts.append(layer(torch.cat(parts, 1)))
            x = transition(torch.cat(parts, 1))
        return self.head(F.relu(self.norm(x)).mean((2, 3)))


class NextBlock(nn.Module):
    """ConvNeXt's block."""

    def __init__(self, c):
        super().__init__()
        self.depth, self.norm = nn.Conv2d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c, eps=1e-6)
        self.first, self.second = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
        self.gamma = nn.Parameter(torch.ones(c))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = self.gamma * self.second(F.gelu(self.first(y)))
        return x + y.permute(0, 3, 1, 2)


class Attention(nn.Module):
    """A transformer's block with its norms."""

    def __init__(self, c, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.mlp = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, n, c))
        return x + self.mlp(self.norm2(x))


class SmallHybrid(nn.Module):
    """ConvNeXt blocks, then a transformer over the remaining positions."""

    def __init__(self, tokens):
        super().__init__()
        c = 36
        self.stem = nn.Sequential(nn.Conv2d(3, 20, 4, 4), ChannelNorm(20), NextBlock(20), ChannelNorm(20), nn.Conv2d(20, c, 2, 2))
        self.position = nn.Parameter(torch.randn(1, tokens, c) * 0.2)
        self.blocks = nn.Sequential(Attention(c, 3), Attention(c, 3))
        self.norm, self.head = nn.LayerNorm(c), nn.Linear(c, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2) + self.position
        return self.head(self.norm(self.blocks(x)).mean(1))
