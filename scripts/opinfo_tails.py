"""Samples that OpInfo does not have: channel counts around a block of 8 or 16, in images of rank 3 to 5, and unusual strides.

`samples()` yields the name of an OpInfo, or of one of `FUNCTIONS`, and the arguments of a sample. Used by `opinfo_samples.py`.
"""

import math

import torch
import torch.nn.functional as F

CHANNELS = [17, 3, 31, 16, 33, 1, 15]

FUNCTIONS = {
    "own.add_channel": lambda x, v: x + v.reshape(-1, *[1] * (x.dim() - 2)),
    "own.mul_channel": lambda x, v: x * v.reshape(-1, *[1] * (x.dim() - 2)),
    "own.slice": lambda x, dim, start, end, step: x[tuple([slice(None)] * dim + [slice(start, end, step)])],
    **{f"own.global_avg_pool{n}d": getattr(F, f"adaptive_avg_pool{n}d") for n in (1, 2, 3)},
    **{f"own.global_max_pool{n}d": getattr(F, f"adaptive_max_pool{n}d") for n in (1, 2, 3)},
}

SPATIAL = {3: (5,), 4: (3, 4), 5: (2, 3, 2)}


class Images:
    """Random images; channels, batches and strides change from one to the next."""

    def __init__(self):
        self.count = 0

    def __call__(self, rank, c=None, n=None, spatial=None, positive=False):
        i, self.count = self.count, self.count + 1
        c = CHANNELS[i % len(CHANNELS)] if c is None else c
        n = (2, 1, 2, 3)[i % 4] if n is None else n
        dims = (n, c, *(SPATIAL[rank] if spatial is None else spatial))
        x = torch.rand(dims) + 0.1 if positive else torch.randn(dims) * 2
        return self.strided(x, i % 5)

    @staticmethod
    def strided(x, kind):
        """The same numbers with other strides."""
        if kind == 1 and x.dim() in (4, 5):
            formats = {4: torch.channels_last, 5: torch.channels_last_3d}
            return x.contiguous(memory_format=formats[x.dim()])
        if kind == 2:
            # The first half of a tensor that is twice as wide.
            return torch.cat([x, x], -1).narrow(-1, 0, x.shape[-1])
        if kind == 3:
            return x.transpose(0, -1).contiguous().transpose(0, -1)
        return x


def unary(image):
    positive = ["log", "rsqrt", "sqrt", "reciprocal"]
    names = ["abs", "ceil", "cos", "erf", "exp", "floor", "neg", "round", "sigmoid", "sign", "sin", "square", "tanh", *positive]
    functional = ["softsign", "hardsigmoid", "hardswish", "mish", "relu", "relu6", "selu", "silu", "celu", "elu", "gelu", "hardtanh"]
    names += [f"nn.functional.{name}" for name in [*functional, "leaky_relu", "softplus"]]
    for i, name in enumerate(names):
        yield name, [image(3 + i % 3, positive=name in positive)], {}
    yield "nn.functional.gelu", [image(4)], {"approximate": "tanh"}
    yield "logit", [torch.rand(2, 17, 3)], {"eps": 0.25}
    yield "clamp", [image(4)], {"min": -0.5, "max": 0.75}
    yield "clamp", [image(5)], {"max": 0.0}
    yield "nn.functional.prelu", [image(4, c=17), torch.rand(17)], {}
    yield "nn.functional.prelu", [image(3, c=33), torch.rand(1)], {}


def binary(image):
    for i, name in enumerate(["add", "sub", "mul", "div|no_rounding_mode", "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne"]):
        x = image(3 + i % 3)
        n, c, *spatial = x.shape
        others = [(n, c, *spatial), (c, *[1] * len(spatial)), (), (spatial[-1],), (1, c, *[1] * len(spatial)), (n, 1, *spatial)]
        for shape in (others[i % 6], others[(i + 2) % 6]):
            other = (torch.randn(shape) * 2).round() if name in ("eq", "ne", "le", "ge") else torch.randn(shape) + 3
            yield name, [x.round() if name in ("eq", "ne", "le", "ge") else x, other], {}
        if name not in ("maximum", "minimum"):
            yield name, [image(3 + i % 3), 1.5], {}
        # The first operand is the smaller one.
        yield name, [torch.randn(others[(i + 1) % 6]), image(x.dim(), c=c, n=n) + 20], {}
    yield "pow", [image(4, positive=True), image(4, c=1, n=1)], {}
    yield "pow", [image(5, positive=True), -1.5], {}
    for i in range(4):
        x = image(3 + i % 3)
        n, c, *spatial = x.shape
        shape = [(n, c, *spatial), (c, *[1] * len(spatial)), (), (n, 1, *spatial)][i]
        # The OpInfo's order: the condition is the second argument.
        yield "where", [torch.randn(shape), torch.rand(x.shape) > 0.5, x], {}
    for i in (3, 4, 5):
        x = image(i)
        yield "own.add_channel", [x, torch.randn(x.shape[1])], {}
        yield "own.mul_channel", [x, torch.randn(x.shape[1])], {}


def reductions(image):
    for i, name in enumerate(["sum", "mean", "amax", "amin"]):
        yield name, [image(4), [-1, -2]], {"keepdim": True}
        yield name, [image(3 + i % 3), [1]], {"keepdim": True}
        yield name, [image(5), [0, 2]], {"keepdim": i % 2 == 0}
        yield name, [image(4), (1, 3)], {}
    yield "prod", [image(4), 1], {"keepdim": True}
    yield "prod", [image(3), -1], {"keepdim": True}
    yield "argmax", [image(4), 1], {"keepdim": True}
    yield "argmax", [image(5), -2], {"keepdim": True}
    yield "argmax", [image(3), 1], {}
    for name in ("softmax", "log_softmax"):
        for i, axis in enumerate((1, -1, 0, -2)):
            yield name, [image(3 + i % 3), axis], {}


def shapes(image):
    for i, axis in enumerate((1, -3, 0, -1)):
        spatial = (2, 3)
        parts = [(2, c, *spatial) for c in ((17, 15, 3) if axis in (1, -3) else (17, 17))]
        yield "cat", [[image.strided(torch.randn(p), (i + j) % 4) for j, p in enumerate(parts)], axis], {}
        yield "stack", [[torch.randn(2, 17, 3) for _ in range(2)], axis], {}
    for i, axis in enumerate((1, 0, 2, -1)):
        yield "split", [image(4, c=33, n=2), 2 if axis else 1, axis], {}
        yield "split|list_args", [image(3, c=48, n=3), [16, 32] if axis == 1 else [1, 2] if axis == 0 else [2, 3], axis], {}
        yield "chunk", [image(4, c=32, n=2), 2, axis], {}
        yield "flip", [image(3 + i % 3), (axis, )], {}
        yield "roll", [image(4), (1, -2), (axis, 1 if axis != 1 else 2)], {}
    for i, c in enumerate((17, 16, 3)):
        for mode, pads in (("constant", [1, 2, -1, 0, 3, 1]), ("reflect", [1, 2, 0, 1]), ("replicate", [2, 0, 1, 1]), ("circular", [1, 1, 2, 0])):
            yield f"nn.functional.pad|{mode}", [image(4, c=c), pads if mode != "constant" or i else pads[:4], mode], {}
    for factor, c in ((2, 68), (3, 27), (2, 12)):
        yield "nn.functional.pixel_shuffle", [image(4, c=c, spatial=(2, 3)), factor], {}
        yield "nn.functional.pixel_unshuffle", [image(4, c=c // 4, spatial=(2 * factor, 3 * factor)), factor], {}
    for groups, c in ((3, 33), (2, 34), (5, 15), (1, 17)):
        yield "nn.functional.channel_shuffle", [image(4, c=c, spatial=(2, 2)), groups], {}
    for dim, start, end, step in ((1, 3, 17, 2), (0, None, None, 1), (2, -3, -1, 1), (1, 5, 2, 1), (1, -100, 100, 3)):
        yield "own.slice", [image(4, c=17), dim, start, end, step], {}


def convolutions(image):
    cases = [
        # rank, in, out, groups, kernel, stride, padding, dilation
        (1, 17, 33, 1, 3, 2, 1, 1), (1, 16, 31, 1, 2, 1, 0, 2), (1, 32, 32, 32, 3, 1, 1, 1), (1, 6, 9, 3, 1, 1, 0, 1),
        (2, 3, 17, 1, 3, 1, 1, 1), (2, 17, 16, 1, 1, 1, 0, 1), (2, 15, 15, 15, 3, 2, 1, 1), (2, 32, 16, 2, 2, 1, 1, 2),
        (2, 1, 31, 1, 3, 3, 2, 1), (2, 16, 16, 1, 2, 1, 1, 1), (2, 6, 10, 2, 3, 1, 0, 1), (3, 3, 17, 1, 2, 1, 1, 1),
        (3, 16, 1, 1, 1, 2, 0, 1), (3, 17, 17, 17, 2, 1, 1, 1),
    ]  # fmt: skip
    for i, (rank, c, o, groups, k, stride, padding, dilation) in enumerate(cases):
        spatial = {1: (7,), 2: (5, 4), 3: (3, 4, 3)}[rank]
        bias = torch.randn(o) if i % 2 else None
        params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        x = image(rank + 2, c=c, spatial=spatial)
        w = torch.randn(o, c // groups, *[k] * rank)
        yield f"nn.functional.conv{rank}d", [x, w], {"bias": bias, **params}
        w = torch.randn(c, o // groups, *[k] * rank)
        x = image(rank + 2, c=c, spatial=spatial[:-1] + (3,))
        params["output_padding"] = 1 if stride > 1 and i % 3 else 0
        yield f"nn.functional.conv_transpose{rank}d", [x, w], {"bias": bias, **params}
    yield "nn.functional.conv2d", [image(4, c=17), torch.randn(16, 17, 2, 3)], {"padding": "same", "dilation": (1, 2)}
    yield "nn.functional.conv1d", [image(3, c=16, n=0), torch.randn(17, 16, 3)], {}
    yield "matmul", [torch.randn(2, 3, 5), image(3, c=5, n=2)], {}
    yield "nn.functional.linear", [image(4), torch.randn(17, 4), torch.randn(17)], {}


def pools(image):
    for rank in (1, 2, 3):
        last = {1: (7,), 2: (5, 6), 3: (3, 4, 4)}[rank]
        for i, c in enumerate((17, 1, 16, 33)[: 5 - rank]):
            x = image(rank + 2, c=c, spatial=last)
            k = (3, 2, 2, 3)[i]
            stride, padding = (None, 1, 2, 2)[i], (1, 0, 1, 1)[i]
            ceil = i % 2 == 0
            yield f"nn.functional.max_pool{rank}d", [x, k], {"stride": stride, "padding": padding, "dilation": 1, "ceil_mode": ceil}
            params = {"stride": stride, "padding": padding, "ceil_mode": ceil, "count_include_pad": i != 0}
            yield f"nn.functional.avg_pool{rank}d", [x, k], params
            for kind in ("avg", "max"):
                yield f"nn.functional.adaptive_{kind}_pool{rank}d", [x, [2 + i % 2] * rank], {}
                yield f"own.global_{kind}_pool{rank}d", [x, [1] * rank], {}


def norms(image):
    for i, rank in enumerate((3, 4, 5, 4, 4)):
        x = image(rank)
        c = x.shape[1]
        w, b = torch.randn(c), torch.randn(c)
        stats = [torch.randn(c), torch.rand(c) + 0.5]
        yield "nn.functional.batch_norm", [x, *stats], {"weight": w if i % 2 else None, "bias": b, "eps": 1e-3}
        yield "nn.functional.batch_norm", [image(rank, c=c), *stats], {"weight": w, "bias": b if i % 2 else None, "training": True, "momentum": 0.3}
        yield "nn.functional.instance_norm", [image(rank, c=c, n=2)], {"weight": w, "bias": b}
        yield "nn.functional.local_response_norm", [image(rank).contiguous(), 3], {"alpha": 0.5, "beta": 0.75, "k": 2.0}
    for c, groups in ((33, 3), (17, 1), (16, 16), (48, 2)):
        yield "nn.functional.group_norm", [image(4, c=c), groups], {"weight": torch.randn(c), "bias": torch.randn(c)}
    for rank, axes in ((3, 1), (4, 2), (4, 3), (5, 2), (3, 3)):
        x = image(rank)
        shape = list(x.shape[-axes:])
        yield "nn.functional.layer_norm", [x, shape], {"weight": torch.randn(shape), "bias": torch.randn(shape)}


def resampling(image):
    for i, c in enumerate((17, 3, 16)):
        for rank, mode in ((3, "linear"), (4, "bilinear"), (5, "trilinear")):
            name = f"nn.functional.interpolate|{mode}"
            yield name, [image(rank, c=c)], {"size": ([7], [5, 2], [3, 2, 4])[rank - 3], "mode": mode, "align_corners": i == 1}
            yield name, [image(rank, c=c)], {"scale_factor": (1.7, 0.6, 2.0)[i], "mode": mode, "recompute_scale_factor": i == 0 or None}
            yield "nn.functional.interpolate|nearest", [image(rank, c=c)], {"scale_factor": (2.0, 1.5, 0.7)[i]}
    for i, (mode, padding) in enumerate((("bilinear", "zeros"), ("nearest", "border"), ("bicubic", "reflection"), ("bilinear", "border"))):
        x = image(4)
        grid = torch.rand(x.shape[0], 3, 2, 2) * 3 - 1.5
        yield "nn.functional.grid_sample", [x, grid], {"mode": mode, "padding_mode": padding, "align_corners": i % 2 == 0}
    x = image(5)
    yield "nn.functional.grid_sample", [x, torch.rand(x.shape[0], 2, 2, 3, 3) * 3 - 1.5], {"align_corners": True}


def corners(image):
    """Scalars, empty tensors, special values."""
    special = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 88.0, -104.0, 1e-42, 3e38, -3e38])
    for name in ["relu", "gelu", "silu", "hardswish", "mish", "softplus", "elu", "leaky_relu", "hardsigmoid"]:
        yield f"nn.functional.{name}", [special.repeat(17).reshape(1, 17, 16)], {}
    for name in ["exp", "tanh", "sigmoid", "round", "sign", "erf", "sqrt", "log", "reciprocal", "abs"]:
        yield name, [special.repeat(17).reshape(1, 17, 4, 4)], {}
    for name in ["maximum", "lt", "ne", "div|no_rounding_mode", "pow"]:
        yield name, [special.reshape(1, 16, 1), special.reshape(1, 1, 16)], {}
    yield "clamp", [special.reshape(1, 16, 1)], {"min": -1.0, "max": math.inf}
    yield "amax", [special.reshape(1, 4, 4), [1]], {"keepdim": True}
    yield "sort", [special.reshape(4, 4), -2], {"descending": True}
    for name in ["nn.functional.relu", "exp"]:
        yield name, [torch.randn(0, 17, 3)], {}
        yield name, [torch.tensor(-1.25)], {}
    yield "add", [torch.tensor(2.0), torch.tensor(3.0)], {}
    yield "add", [torch.randn(2, 0, 3), torch.randn(3)], {}
    yield "sum", [torch.randn(2, 0, 3), [1]], {"keepdim": True}
    yield "softmax", [torch.tensor(2.0), 0], {}
    yield "softmax", [torch.randn(0, 17, 3), 1], {}
    yield "nn.functional.max_pool2d", [torch.randn(0, 17, 4, 4), 2], {}
    yield "nn.functional.batch_norm", [torch.randn(0, 17, 4), torch.randn(17), torch.rand(17)], {}
    yield "cat", [[torch.randn(2, 0, 3), torch.randn(2, 17, 3)], 1], {}


def samples():
    image = Images()
    for family in (unary, binary, reductions, shapes, convolutions, pools, norms, resampling, corners):
        yield from family(image)
