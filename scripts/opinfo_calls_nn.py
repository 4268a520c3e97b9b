"""Mappers of layers: convolutions, products, pools, norms, resampling. See `opinfo_calls.py`."""

import torch

from opinfo_calls import Call, flag, given, integer, ints, maps, number, refuse


# Convolutions and products


def spatial(value, count):
    """A parameter for each spatial axis, as PyTorch takes it: one integer may stand for all."""
    values = ints(value)
    refuse(len(values) not in (1, count), "a list of another length than there are spatial axes")
    return values


def conv(op, rank):
    def mapper(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        refuse(input.dim() != rank + 2, "an unbatched image")
        stride, dilation = spatial(stride, rank), spatial(dilation, rank)
        if padding == "valid":
            padding = 0
        if padding == "same":
            refuse(any(s != 1 for s in stride), "padding=same with a stride")
            steps = dilation * rank if len(dilation) == 1 else dilation
            total = [d * (k - 1) for d, k in zip(steps, weight.shape[2:])]
            padding = [t // 2 for t in total] + [t - t // 2 for t in total]
        else:
            padding = spatial(padding, rank)
        params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": integer(groups)}
        return Call(op, {"x": input, "weights": weight, **given(bias=bias)}, params)

    return mapper


def conv_transpose(op, rank):
    def mapper(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        refuse(input.dim() != rank + 2, "an unbatched image")
        params = {
            "stride": spatial(stride, rank),
            "padding": spatial(padding, rank),
            "dilation": spatial(dilation, rank),
            "groups": integer(groups),
            "output_padding": spatial(output_padding, rank),
        }
        return Call(op, {"x": input, "weights": weight, **given(bias=bias)}, params)

    return mapper


for _rank in (1, 2, 3):
    maps(f"nn.functional.conv{_rank}d")(conv(f"conv{_rank}d", _rank))
    maps(f"nn.functional.conv_transpose{_rank}d")(conv_transpose(f"conv_transpose{_rank}d", _rank))


@maps("nn.functional.linear")
def linear(input, weight, bias=None):
    refuse(bias is not None and bias.dim() != 1, "a bias that is not 1-D")
    return Call("linear", {"x": input, "weights": weight, **given(bias=bias)})


@maps("matmul", "mm", "bmm", "mv", "dot")
def matmul(input, other):
    return Call("matmul", {"a": input, "b": other})


@maps("__rmatmul__")
def rmatmul(input, other):
    return Call("matmul", {"a": other, "b": input})


# Pools


def batched(input, rank):
    refuse(input.dim() == rank + 1, "an unbatched image")


def max_pool(op, rank):
    def mapper(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        batched(input, rank)
        refuse(return_indices, "return_indices")
        params = {
            "kernel": spatial(kernel_size, rank),
            "stride": None if stride in (None, (), []) else spatial(stride, rank),
            "padding": spatial(padding, rank),
            "dilation": spatial(dilation, rank),
            "ceil_mode": flag(ceil_mode),
        }
        return Call(op, {"x": input}, given(**params))

    return mapper


def avg_pool(op, rank):
    def mapper(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        batched(input, rank)
        refuse(divisor_override is not None, "divisor_override")
        params = {
            "kernel": spatial(kernel_size, rank),
            "stride": None if stride in (None, (), []) else spatial(stride, rank),
            "padding": spatial(padding, rank),
            "ceil_mode": flag(ceil_mode),
            "count_include_pad": flag(count_include_pad),
        }
        return Call(op, {"x": input}, given(**params))

    return mapper


def adaptive_pool(op, rank):
    def mapper(input, output_size, return_indices=False):
        batched(input, rank)
        refuse(return_indices, "return_indices")
        sizes = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * rank
        refuse(len(sizes) != rank, "a list of another length than there are spatial axes")
        sizes = [input.shape[i - rank] if size is None else integer(size) for i, size in enumerate(sizes)]
        return Call(op, {"x": input}, {"output": sizes})

    return mapper


def global_pool(op, rank):
    """An adaptive pool to one pixel."""

    def mapper(input, output_size, return_indices=False):
        batched(input, rank)
        refuse(return_indices or any(s != 1 for s in ints(output_size)), "not a pool to one pixel")
        return Call(op, {"x": input})

    return mapper


for _rank in (1, 2, 3):
    maps(f"nn.functional.max_pool{_rank}d")(max_pool(f"max_pool{_rank}d", _rank))
    maps(f"nn.functional.avg_pool{_rank}d")(avg_pool(f"avg_pool{_rank}d", _rank))
    for _kind in ("avg", "max"):
        _name = f"adaptive_{_kind}_pool{_rank}d"
        maps(f"nn.functional.{_name}")(adaptive_pool(_name, _rank))
        maps(f"own.global_{_kind}_pool{_rank}d")(global_pool(f"global_{_kind}_pool", _rank))


# Norms


@maps("nn.functional.batch_norm", "nn.functional.batch_norm|without_cudnn")
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    refuse(running_mean is None or running_var is None, "batch_norm without running statistics")
    affine = given(weight=weight, bias=bias)
    if not training:
        return Call("batch_norm", {"x": input, "mean": running_mean, "var": running_var, **affine}, {"eps": number(eps)})

    def answer(f64):
        mean, var = f64(running_mean).clone(), f64(running_var).clone()
        w, b = (None if t is None else f64(t) for t in (weight, bias))
        y = torch.nn.functional.batch_norm(f64(input), mean, var, w, b, True, momentum, eps)
        return [y, mean, var]

    tensors = {"x": input, "running_mean": running_mean, "running_var": running_var, **affine}
    return Call("batch_norm_train", tensors, {"momentum": number(momentum), "eps": number(eps)}, answer)


@maps("nn.functional.group_norm")
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    params = {"groups": integer(num_groups), "eps": number(eps)}
    return Call("group_norm", {"x": input, **given(weight=weight, bias=bias)}, params)


@maps("nn.functional.instance_norm")
def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    refuse(not use_input_stats, "instance_norm with running statistics")
    # PyTorch updates the running statistics in place; the result does not depend on them.
    return Call("instance_norm", {"x": input, **given(weight=weight, bias=bias)}, {"eps": number(eps)})


@maps("nn.functional.layer_norm")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    flat = {name: t.reshape(-1) for name, t in given(weight=weight, bias=bias).items()}
    return Call("layer_norm", {"x": input, **flat}, {"normalized_shape": ints(normalized_shape), "eps": number(eps)})


@maps("nn.functional.local_response_norm")
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    params = {"size": integer(size), "alpha": number(alpha), "beta": number(beta), "k": number(k)}
    return Call("local_response_norm", {"x": input}, params)


# Resampling


def resample(input, mode, size, scale_factor, align_corners, recompute):
    ops = {"nearest": "upsample_nearest", "linear": "upsample_linear", "bilinear": "upsample_bilinear", "trilinear": "upsample_trilinear"}
    refuse(mode not in ops, f"interpolate in mode {mode}")
    rank = input.dim() - 2
    params = {}
    if size is not None:
        params["output"] = ints(size) * rank if not isinstance(size, (list, tuple)) else ints(size)
    if scale_factor is not None:
        scales = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * rank
        for axis, scale in zip("whd", reversed(scales)):
            params[f"scale_{axis}"] = number(scale)
    if recompute:
        params["recompute_scale_factor"] = True
    if mode != "nearest" and align_corners:
        params["align_corners"] = True
    return Call(ops[mode], {"x": input}, params)


@maps(*(f"nn.functional.interpolate|{mode}" for mode in ["nearest", "linear", "bilinear", "trilinear", "bicubic", "area", "nearest-exact"]))
def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    refuse(antialias, "antialias")
    return resample(input, mode, size, scale_factor, align_corners, recompute_scale_factor)


@maps("nn.functional.upsample_bilinear")
def upsample_bilinear(input, size=None, scale_factor=None):
    return resample(input, "bilinear", size, scale_factor, True, None)


@maps("nn.functional.upsample_nearest")
def upsample_nearest(input, size=None, scale_factor=None):
    return resample(input, "nearest", size, scale_factor, None, None)


@maps("nn.functional.grid_sample")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    refuse(mode == "bicubic" and input.dim() == 5, "bicubic grid_sample of volumes")
    params = {"mode": mode, "padding_mode": padding_mode, "align_corners": flag(align_corners)}
    return Call("grid_sample", {"x": input, "grid": grid}, params)
