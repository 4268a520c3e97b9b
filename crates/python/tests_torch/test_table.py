"""Every op of the library from a call of PyTorch, and calls that users write: PyTorch's own numbers and dtypes."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from blocktensor import _native
from torch import nn
from torch.nn import functional as F

torch.manual_seed(38)
X = torch.randn(2, 4, 6, 5)
MASK = torch.tensor([True, False, True, True, False])


class One(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def converted(function, x=X, **options):
    return btt.to_blocked(One(function).eval(), x, layouts="nchw", **options)


def same(got, wanted):
    assert type(got) is type(wanted)
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        return
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    if wanted.dtype != torch.float32:
        assert torch.equal(got, wanted)
        return
    torch.testing.assert_close(got.isnan(), wanted.isnan())
    infinite = wanted.isinf()
    assert torch.equal(got[infinite], wanted[infinite])
    usual = wanted.isfinite()
    assert (got[usual] - wanted[usual]).norm() <= 1e-5 * wanted[usual].norm() + 1e-7


UNARY = "abs ceil cos erf exp floor log mish neg reciprocal relu relu6 round rsqrt selu sigmoid sign silu sin sqrt square tanh"
UNARY = {name: getattr(F, name, None) or getattr(torch, name) for name in UNARY.split()}

#: One call of PyTorch for each op of the library.
OPS = {
    **UNARY,
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x[0], 3),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x[None], (2, 3, 2)),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[0], 3),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x[None], (2, 3, 2)),
    "add": lambda x: x + x.flip(0),
    "add_scalar": lambda x: x + 2.5,
    "amax": lambda x: x.amax((1, -1)),
    "amin": lambda x: x.amin(2, keepdim=True),
    "argmax": lambda x: x.argmax(-1),
    "avg_pool1d": lambda x: F.avg_pool1d(x[0], 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "avg_pool3d": lambda x: F.avg_pool3d(x[None], 2),
    "batch_norm": lambda x: F.batch_norm(x, torch.ones(4), torch.full((4,), 2.0)),
    "cat": lambda x: torch.cat([x, x], -2),
    "celu": lambda x: F.celu(x, 0.7),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "chunk": lambda x: torch.cat(x.chunk(2, 1)[::-1], 1),
    "clamp": lambda x: x.clamp(-0.5, 0.25),
    "conv1d": lambda x: F.conv1d(x[0], torch.ones(3, 6, 2)),
    "conv2d": lambda x: F.conv2d(x, torch.ones(3, 4, 2, 2)),
    "conv3d": lambda x: F.conv3d(x[None], torch.ones(3, 2, 2, 2, 2)),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[0], torch.ones(6, 3, 2)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, torch.ones(4, 3, 2, 2)),
    "conv_transpose3d": lambda x: F.conv_transpose3d(x[None], torch.ones(2, 3, 2, 2, 2)),
    "cumsum": lambda x: x.cumsum(-1),
    "div": lambda x: x / (x.flip(0).abs() + 1),
    "div_scalar": lambda x: x / 3,
    "elu": lambda x: F.elu(x, 0.7),
    "eq": lambda x: x == x.round(),
    "eq_scalar": lambda x: x.round() == 0,
    "expand": lambda x: x.mean((2, 3), keepdim=True).expand(2, 4, 3, 2),
    "flip": lambda x: x.flip((1, -1)),
    "gather": lambda x: x.gather(1, x.argmax(1, keepdim=True)),
    "ge": lambda x: x >= x.flip(1),
    "ge_scalar": lambda x: x >= 0.1,
    "gelu": lambda x: F.gelu(x),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "grid_sample": lambda x: F.grid_sample(x, torch.linspace(-1, 1, 24).reshape(2, 3, 2, 2), align_corners=False),
    "group_norm": lambda x: F.group_norm(x, 2),
    "gt": lambda x: x > x.flip(1),
    "gt_scalar": lambda x: x > 0.1,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "index_select": lambda x: x.index_select(1, torch.tensor([2, 0, 1])),
    "instance_norm": lambda x: F.instance_norm(x, weight=torch.arange(4.0), bias=torch.ones(4)),
    "layer_norm": lambda x: F.layer_norm(x, (6, 5)),
    "le": lambda x: x <= x.flip(1),
    "le_scalar": lambda x: x <= 0.1,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "linear": lambda x: F.linear(x, torch.ones(3, 5)),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logit": lambda x: torch.logit(x.sigmoid()) + torch.logit(x, 0.1),
    "lt": lambda x: x < x.flip(1),
    "lt_scalar": lambda x: x < 0.1,
    "matmul": lambda x: x @ x.mT,
    "max_pool1d": lambda x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool3d": lambda x: F.max_pool3d(x[None], 2),
    "maximum": lambda x: torch.maximum(x, x.flip(1)),
    "mean": lambda x: x.mean((2, 3)),
    "minimum": lambda x: torch.minimum(x, x.flip(1)),
    "mul": lambda x: x * x.flip(0),
    "mul_scalar": lambda x: x * 2.5,
    "narrow": lambda x: x.narrow(1, 1, 2) * 1,
    "ne": lambda x: x != x.round(),
    "ne_scalar": lambda x: x.round() != 0,
    "pad": lambda x: F.pad(x, (1, 2, 0, -1), value=0.5),
    "permute": lambda x: x.permute(0, 2, 3, 1) * 1,
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x[..., :4], 2),
    "pow": lambda x: x.abs() ** x,
    "pow_scalar": lambda x: x**3,
    "prelu": lambda x: F.prelu(x, torch.arange(4.0)),
    "prod": lambda x: x.prod(1),
    "roll": lambda x: x.roll((1, -2), (2, 3)),
    "select": lambda x: x[:, -1] * 1,
    "slice": lambda x: x[:, 1:-1, ::2] * 1,
    "softmax": lambda x: x.softmax(1),
    "softplus": lambda x: F.softplus(x, 2),
    "sort": lambda x: x.sort(1, descending=True),
    "split": lambda x: torch.cat(x.split([1, 3], 1)[::-1], 1),
    "stack": lambda x: torch.stack([x, x.relu()], 1),
    "sub": lambda x: x - x.flip(0),
    "sub_scalar": lambda x: x - 2.5,
    "sum": lambda x: x.sum((-1, 1), keepdim=True),
    "topk": lambda x: x.topk(2, 1),
    "transpose": lambda x: x.transpose(1, -1) * 1,
    "unsqueeze": lambda x: x.unsqueeze(-1) * 1,
    "upsample_bilinear": lambda x: F.interpolate(x, (7, 9), mode="bilinear"),
    "upsample_linear": lambda x: F.interpolate(x[0], 9, mode="linear"),
    "upsample_nearest": lambda x: F.interpolate(x, scale_factor=2),
    "upsample_trilinear": lambda x: F.interpolate(x[None], (3, 7, 9), mode="trilinear"),
    "view": lambda x: x.reshape(2, -1) * 1,
    "where": lambda x: torch.where(x > 0, x, x.exp()),
}

#: Ops of the library that no call becomes, and why.
EXCEPTIONS = {
    "add_channel": "an addition that broadcasts is `add`",
    "mul_channel": "a product that broadcasts is `mul`",
    "batch_norm_train": "it updates statistics, and packed modules are for inference",
    "dropout": "it is for training",
    "feature_dropout": "it is for training",
    "flatten": "it is `view` of sizes that are known",
    "reshape": "it is `view` of sizes that are known",
    "squeeze": "it is `view` of sizes that are known",
    "global_avg_pool": "PyTorch has `adaptive_avg_pool2d(x, 1)`",
    "global_max_pool": "PyTorch has `adaptive_max_pool2d(x, 1)`",
    "hardtanh": "it is `clamp`",
    "axpby": "PyTorch's sums are `add`",
    "quantize": "PT2E's call of this name; test_quantized.py",
    "dequantize": "PT2E's call of this name; test_quantized.py",
    "requantize": "exported models have `dequantize` and `quantize`, which round twice",
    "lookup": "passes make it of functions between integers",
    "quantized_add": "passes make it of sums between integers",
    "quantized_mul": "passes make it of products between integers",
    "quantized_avg_pool": "passes make it of average pools between integers",
    "to_dtype": "models are f32; it makes constants of integers, and `precision=` adds it to plans",
    "tril": "it is `where` with a constant mask, which runs on blocked tensors too",
    "triu": "it is `where` with a constant mask, which runs on blocked tensors too",
    "softsign": "PyTorch exports it as a quotient",
    "local_response_norm": "PyTorch exports it as pads, pools and powers",
}


def test_each_op_of_the_library_has_its_call_or_a_reason():
    names = {schema["name"] for schema in _native.schemas()}
    assert set(OPS) | set(EXCEPTIONS) == names
    assert not set(OPS) & set(EXCEPTIONS)


@pytest.mark.parametrize("op", OPS)
def test_ops(op, monkeypatch):
    used = set()
    add = _native.Model.op

    class Model:
        """Keeps which ops are added."""

        def __init__(self):
            self.model = _native.Model()

        def __getattr__(self, name):
            return getattr(self.model, name)

        def op(self, node, op, *rest):
            used.add(op)
            return add(self.model, node, op, *rest)

    monkeypatch.setattr("blocktensor.torch._lower.Model", Model)
    fast = converted(OPS[op])
    assert op in used
    same(fast(X), OPS[op](X))


def test_operators_of_a_library_are_not_those_of_aten_with_their_name():
    with torch.library._scoped_library("blocktensor_tests", "FRAGMENT") as library:
        library.define("relu(Tensor x) -> Tensor")
        library.impl("relu", lambda x: x * 2, "CompositeExplicitAutograd")

        def function(x):
            return torch.ops.blocktensor_tests.relu(x) + 1

        with pytest.raises(bt.UnsupportedOp, match=r"blocktensor_tests.relu.default: no op of blocktensor is for it"):
            converted(function)
        same(converted(function, partial=True)(X), X * 2 + 1)
        with pytest.raises(bt.UnsupportedOp, match="`blocktensor_tests::relu`"):
            function(btt.EagerTensor(X))


SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 20.5, -20.5, 3e38, float("inf"), float("-inf"), float("nan")])
SPECIAL = torch.stack([SPECIAL, SPECIAL.flip(0), SPECIAL.roll(3)])

POINTS = {
    "compare": lambda x: (x == 0, x != 0, x > 0, x >= 1, x < 0.5, x <= -1, x == x.flip(0)),
    "not": lambda x: (~(x > 0), (x > 0) & (x < 1), (x < 0) | (x > 1), x.logical_not(), torch.logical_and(x, x.flip(0))),
    "nan": lambda x: (x.isnan(), x.isinf(), x.isfinite()),
    "where": lambda x: (torch.where(x > 0, x, 0.0), torch.where(x > 0, 1.0, x), torch.where(x > 0, 2.0, 3.0)),
    "float": lambda x: ((x > 0).float(), (x > 0).to(torch.float32) * x, (x > 0) * x, x + (x > 0), (x > 0).type_as(x), x.bool()),
    "masked_fill": lambda x: x.masked_fill(x > 0, float("-inf")),
    "celu": lambda x: F.celu(x, 1.3),
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "shrink": lambda x: (F.hardshrink(x, 0.7), F.softshrink(x[:, :9], 0.7), F.tanhshrink(x)),
    "logsigmoid": lambda x: F.logsigmoid(x),
    "rsub": lambda x: (1 - x, torch.rsub(x, x.flip(0), alpha=2), 1 / x),
    "trunc": lambda x: x.trunc(),
    "clamp": lambda x: (x.clamp(min=x.flip(0)), x.clamp(max=0.0), torch.clamp(x, x.flip(0), x.roll(1, 0))),
    "max": lambda x: (x.max(1), x.min(1, keepdim=True), x.max(), torch.max(x, x.flip(0)), x.argmin(0), x.argmax()),
    "sort": lambda x: (x.sort(1).values, x.sort(1, descending=True), torch.argsort(x, 0), torch.sort(x, stable=True, dim=0)),
    "logsumexp": lambda x: (x[:, :11].logsumexp(1), x[:, :9].logsumexp(0, keepdim=True)),
    "sign": lambda x: (x.sign(), x.ceil(), x.floor(), x.round()),
    "pad": lambda x: (1 / F.pad(x, (1, 2), value=-0.0), 1 / F.pad(x, (0, 1), value=0.0), 1 / F.pad(x, (1, 0))),
}


@pytest.mark.parametrize("name", POINTS)
def test_special_numbers(name):
    same(converted(POINTS[name], SPECIAL)(SPECIAL), POINTS[name](SPECIAL))


CALLS = {
    "addcmul": lambda x: torch.addcmul(x, x, x.flip(0), value=0.3) + torch.addcmul(x, x, x),
    "addcdiv": lambda x: torch.addcdiv(x, x, x.exp(), value=0.3),
    "reshape_as": lambda x: x.flatten(1).relu().reshape_as(x),
    "type_as": lambda x: x.type_as(x) * 2,
    "std": lambda x: (x.std(), x.std(1), x.std((1, -1), keepdim=True), x.std(2, correction=0), x.std(unbiased=False)),
    "var": lambda x: (x.var(), x.var(1), x.var((1, -1), keepdim=True), x.var(2, correction=2), x.var(1, unbiased=False)),
    "layer_norm_of_axes": lambda x: F.layer_norm(x, (6, 5), torch.arange(30.0).reshape(6, 5), torch.ones(6, 5)),
    "var_of_one": lambda x: (x[:, :1].var(1), x[:1].std(0, correction=3)),
    "var_mean": lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, (2, 3), keepdim=True, correction=0)),
    "glu": lambda x: (F.glu(x, 1), F.glu(x, -2)),
    "lerp": lambda x: (torch.lerp(x, x.flip(0), 0.3), x.lerp(x.exp(), 0.8), x.lerp(x.exp(), x.sigmoid())),
    "repeat": lambda x: (x.repeat(1, 2, 1, 3), x.repeat(2, 1, 1, 1, 1), x.tile(2), x.repeat_interleave(2, 1)),
    "index_list": lambda x: (x[:, [2, 0, 1]], x[:, [-1, 0]], x[..., [[0, 1], [2, -3]]]),
    "stacks": lambda x: (torch.hstack([x, x]), torch.vstack([x, x.relu()])),
    "masks": lambda x: (x.masked_fill(MASK, 1.5), torch.where(MASK, x, 0.0), x * MASK, x.tril(), x.triu(1)),
    "softsign": F.softsign,
    "softmin": lambda x: F.softmin(x, 1),
    "log_base": lambda x: (x.abs().log2(), x.abs().log10(), torch.exp2(x), x.tan()),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "norms": lambda x: (x.norm(dim=1), x.norm(), torch.linalg.vector_norm(x, 1, dim=(2, 3)), x.norm(float("inf"), 1)),
    "numbers": lambda x: (2**x, x * torch.tensor(2), x + torch.arange(5), x / torch.tensor(3.0, dtype=torch.float64)),
    "products": lambda x: (torch.addmm(x[0, 0], x[0, 1], torch.ones(5, 5), beta=0.5, alpha=2), x[0, 0] @ torch.ones(5)),
    "axes_of_a_number": lambda x: (x.sum().movedim(0, -1) * 2, x.sum().transpose(0, -1) + 1, x.sum().softmax(0)),
    "axes": lambda x: (x.movedim(1, -1), x.mT, x[0].sum(0).T, x.swapaxes(0, 1), x.squeeze(0), x[0, :3, :3, :3].permute(2, 1, 0)),
    "roll": lambda x: x.roll(3),
    "slices": lambda x: (x[:, -2:] * 1, x[:, :-1] * 1, x[:, 5:] * 1, x[..., None, -1] * 1, x.select(-1, -2) * 1),
    "pools": lambda x: (F.adaptive_max_pool2d(x, 1), F.adaptive_avg_pool2d(x, (None, 2)), F.max_pool2d(x, 3, 1, 1, ceil_mode=True)),
    "no_batch": lambda x: (
        F.conv2d(x[0], torch.ones(3, 4, 2, 2), padding="same"),
        F.conv_transpose2d(x[0], torch.ones(4, 3, 2, 2)),
        F.max_pool2d(x[0], 2),
        F.avg_pool2d(x[0], 2),
        F.adaptive_avg_pool2d(x[0], 2),
        F.adaptive_max_pool2d(x[0], 2),
    ),
    "extremes": lambda x: (torch.maximum(x, torch.tensor(0)), torch.minimum(x, torch.tensor(0.5))),
    "causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "attention_mask": lambda x: F.scaled_dot_product_attention(x, x, x, torch.eye(6).roll(1).bool()),
    "attention_masked_row": lambda x: F.scaled_dot_product_attention(x, x, x, (torch.arange(6) > 0)[:, None].expand(6, 6)),
    "attention_scale": lambda x: F.scaled_dot_product_attention(x, x, x, scale=0.0),
    "instance_norm_stats": lambda x: F.instance_norm(x, torch.ones(4), torch.ones(4) * 2, use_input_stats=False),
    "any_all": lambda x: (
        (x > 1).any(),
        (x > -2).all(1),
        (x > 0).any((1, 2), keepdim=True),
        torch.all(x, -1),
        x.round().any(2),
        torch.any((x / 0).isnan(), 1),
    ),
    "embedding": lambda x: (F.embedding(x.argmax(1), torch.arange(12.0).reshape(4, 3)), F.embedding(x.argmax(), torch.ones(480, 2))),
    "indices": lambda x: (x.topk(2).indices, x.argmax(1).flip(0), x.sort(-1).indices[:, :2], x.argmax(keepdim=True)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    same(converted(CALLS[name])(X), CALLS[name](X))


INFINITE = float("inf")
#: Rows whose squares are outside of f32, and rows with infinities.
ROWS = torch.stack(
    [
        1e20 * X[0, 0, 0],
        1e-25 * X[0, 0, 1],
        torch.tensor([1.0, INFINITE, 2.0, 3.0, 4.0]),
        torch.full((5,), -INFINITE),
        torch.tensor([1.0, float("nan"), 2.0, 3.0, 4.0]),
        torch.full((5,), 2.5),
        X[0, 0, 2],
    ]
)


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_spreads_of_rows_outside_of_f32(name):
    def spread(x):
        return getattr(torch, name)(x, -1), getattr(torch, name)(x, -1, keepdim=True)

    wanted, eager = spread(ROWS), spread(btt.EagerTensor(ROWS))
    torch.testing.assert_close(converted(spread, ROWS)(ROWS), wanted, equal_nan=True)
    plain = [x.torch() for one in eager for x in (one if isinstance(one, tuple) else [one])]
    expected = [x for one in wanted for x in (one if isinstance(one, tuple) else [one])]
    torch.testing.assert_close(plain, expected, equal_nan=True)


def test_masks_and_indices_keep_their_dtypes_in_a_file(tmp_path):
    fast = converted(lambda x: (x > 0, x.argmax(1)))
    fast.save(tmp_path / "masks.plan")
    same(btt.load(tmp_path / "masks.plan")(X), (X > 0, X.argmax(1)))


REFUSED = {
    "a_result_of_int64": (lambda x: (x > 0) * 2, r"its result is of torch.int64; .* convert its operands with `.float\(\)`"),
    "a_choice_of_integers": (lambda x: torch.where(x > 0, 1, 0), r"pass numbers as floats \(`1.0` and `0.0` for 1 and 0\)"),
    "a_sum_of_a_mask": (lambda x: (x > 0).sum(), r"argument `self`: got a tensor of torch.bool.*\.float\(\)"),
    "indices_as_numbers": (lambda x: x.argmax(1) + 1, r"an operand of int64.*outside of the model"),
    "f64": (lambda x: x.double() * 2, "a conversion from f32 to torch.float64"),
    "sum_in_f64": (lambda x: x.sum(dtype=torch.float64), "its result is of torch.float64; plans compute in f32, leave `dtype` out"),
    "softmax_in_f64": (lambda x: torch.log_softmax(x, 1, dtype=torch.float64), "plans compute in f32, leave `dtype` out"),
    "rounding_mode": (lambda x: torch.div(x, 2, rounding_mode="floor"), "argument `rounding_mode`: got 'floor'"),
    "indices_of_a_pool": (lambda x: F.max_pool2d(x, 2, return_indices=True), "the indices of a pool"),
    "two_indices": (lambda x: x[[0, 1], [1, 0]], "2 index tensors"),
    "a_mask_as_index": (lambda x: x[:, torch.tensor([True, False, True, True])], "a mask"),
    "sizes_of_data": (lambda x: x.nonzero(), "depends on data"),
    "big_numbers": (lambda x: x.index_select(1, torch.tensor([2**40]).clamp(max=2**40)), "more than 32 bits"),
    "no_op": (lambda x: torch.special.i0(x), "no op of blocktensor is for it"),
    "a_slope_of_the_data": (lambda x: F.leaky_relu(x, x.mean().item()), "a number that depends on data"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_in_pytorchs_words(name):
    function, words = REFUSED[name]
    with pytest.raises(bt.UnsupportedOp, match=words) as e:
        converted(function)
    text = str(e.value)
    assert "Value(" not in text and "unexpected keyword" not in text and "_plain" not in text
    assert all("getitem" not in call for _, call, _ in e.value.missing)


def test_a_bug_in_the_table_is_not_called_unsupported(monkeypatch):
    from blocktensor.torch import _table

    monkeypatch.setitem(_table.TABLE, "relu", lambda b, x: len(3))
    with pytest.raises(TypeError, match="has no len"):
        converted(F.relu)
