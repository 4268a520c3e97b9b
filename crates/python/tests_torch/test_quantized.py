"""Quantised models of PyTorch: what PT2E leaves in an exported graph runs on integers, and other kinds are refused by name."""

import copy
import re
from pathlib import Path

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import One, equal
from torch import nn
from torch.nn import functional as F

pytest.importorskip("torch.ao.quantization.fx._decomposed")
qd = torch.ops.quantized_decomposed

X = torch.randn(2, 4, 9, 9, generator=torch.Generator().manual_seed(21))
RANGES = {torch.uint8: (0, 255), torch.int8: (-128, 127)}
#: Elsewhere plans compute in f32 between the roundings.
HAS_BYTE_PRODUCTS = bool(re.search(r"\bavx512_vnni\b|\bavx_vnni\b", Path("/proc/cpuinfo").read_text()))


def rounded(x, scale, zero_point=0, dtype=torch.uint8, ends=None):
    ends = ends or RANGES[dtype]
    q = qd.quantize_per_tensor(x, scale, zero_point, *ends, dtype)
    return qd.dequantize_per_tensor(q, scale, zero_point, *ends, dtype)


def per_channel(w):
    """Weights as int8, with a scale for each output channel, and as a plan gets them."""
    scales = w.flatten(1).abs().amax(1) / 127
    zero = torch.zeros(len(w), dtype=torch.int64)
    return qd.quantize_per_channel(w, scales, zero, 0, -127, 127, torch.int8), scales, zero


class Net(nn.Module):
    """A network as PT2E leaves it: weights of integers, with the numbers that they stand for made in the graph."""

    def __init__(self, dtype=torch.uint8, zero_point=128):
        super().__init__()
        torch.manual_seed(5)
        self.dtype, self.at = dtype, zero_point
        for name, layer in (("a", nn.Conv2d(4, 16, 3, padding=1)), ("b", nn.Conv2d(16, 16, 3, groups=4, padding=1)), ("c", nn.Linear(16, 5))):
            for part, x in zip("wsz", per_channel(layer.weight.detach()), strict=True):
                self.register_buffer(f"{name}_{part}", x)
            self.register_buffer(f"{name}_bias", layer.bias.detach())
        self.eval()

    def weight(self, name):
        w, scales, zero = (getattr(self, f"{name}_{part}") for part in "wsz")
        return qd.dequantize_per_channel(w, scales, zero, 0, -127, 127, torch.int8), getattr(self, f"{name}_bias")

    def rounded(self, x, scale):
        return rounded(x, scale, self.at, self.dtype)

    def forward(self, x):
        x = self.rounded(torch.relu(F.conv2d(self.rounded(x, 0.03), *self.weight("a"), padding=1)), 0.02)
        y = self.rounded(F.conv2d(x, *self.weight("b"), padding=1, groups=4), 0.015)
        x = F.max_pool2d(self.rounded(torch.relu(x + y), 0.025), 2)
        x = self.rounded(F.adaptive_avg_pool2d(x, 1), 0.02).flatten(1)
        return F.linear(x, *self.weight("c"))


def check_on_integers(plan, convolutions):
    (region,) = plan.regions
    found = [step for step in region.plan.steps if step["op"] == "conv2d"]
    if HAS_BYTE_PRODUCTS:
        assert len(found) == convolutions and all(step["implementation"] == "blocktensor:int8" for step in found), str(plan)


def close(got, wanted, step):
    """Equal but for numbers beside a tie, which are a step away."""
    difference = (got - wanted).abs()
    assert difference.max() <= 1.01 * step and (difference > 0.5 * step).float().mean() <= 0.02, difference.max() / step


@pytest.mark.parametrize(("dtype", "zero_point"), [(torch.uint8, 128), (torch.int8, 0), (torch.int8, -7)])
def test_exported_graphs_of_quantised_models_run_on_integers(dtype, zero_point):
    net = Net(dtype, zero_point)
    with torch.no_grad():
        wanted = net(X)
        fast = btt.to_blocked(net, X)
        check_on_integers(fast.plan, 3)
        assert ("u8" if dtype == torch.uint8 else "s8") in str(fast.plan)
        torch.testing.assert_close(fast(X), wanted, rtol=0, atol=0.02 * wanted.abs().max().item())
        fast.check_weights(net)
        assert set(fast.state_dict()) == set(net.state_dict())
        decomposed = torch.export.export(net, (X,)).run_decompositions().module()
        again = btt.to_blocked(decomposed, X, layouts="blocked")
        check_on_integers(again.plan, 3)
        torch.testing.assert_close(again(X), wanted, rtol=0, atol=0.02 * wanted.abs().max().item())


def test_torch_compile_takes_them_and_finds_edits():
    net = Net()
    fast = torch.compile(net, backend="blocktensor", options={"layouts": "blocked"})
    with torch.no_grad():
        equal(fast(X), btt.to_blocked(net, X, layouts="blocked")(X))
        (graph,) = btt.compiled_graphs(net)
        check_on_integers(graph.plans[0], 3)
        net.c_w.neg_()
        equal(fast(X), btt.to_blocked(net, X, layouts="blocked")(X))
        assert graph.packed == 2


def test_other_weights_are_packed_and_files_keep_integers(tmp_path):
    net, other = Net(), Net()
    with torch.no_grad():
        for x in other.buffers():
            x.neg_() if x.dtype == torch.int8 else None
        fast = btt.to_blocked(net, X, layouts="blocked")
        first = fast(X)
        fast.load_state_dict(other.state_dict())
        equal(fast(X), btt.to_blocked(other, X, layouts="blocked")(X))
        with pytest.raises(bt.PackMismatch):
            fast.check_weights(net)
        fast.load_state_dict(net.state_dict())
        equal(fast(X), first)
        fast.save(tmp_path / "net.plan")
        equal(btt.load(tmp_path / "net.plan")(X), first)
        equal(copy.deepcopy(fast)(X), first)


def test_numbers_of_weights_are_not_kept_beside_their_integers():
    fast = btt.to_blocked(Net(), X, layouts="blocked")
    kept = [x for x in fast._program.constants.values() if isinstance(x, torch.Tensor) and x.ndim > 1]
    assert kept and all(x.dtype == torch.int8 for x in kept)


CALLS = {
    "numbers": lambda x: rounded(x, 0.02, 3),
    "tensors": lambda x: qd.dequantize_per_tensor.tensor(
        qd.quantize_per_tensor.tensor(x, torch.tensor(0.02, dtype=torch.float64), torch.tensor(-5), -128, 127, torch.int8),
        torch.tensor([0.02]), torch.tensor([-5], dtype=torch.int32), -128, 127, torch.int8,
    ),
    "tensors for the range too": lambda x: qd.dequantize_per_tensor.tensor2(
        qd.quantize_per_tensor.tensor2(x, torch.tensor(0.02), torch.tensor(9), torch.tensor(0), torch.tensor(127), torch.uint8),
        torch.tensor(0.02), torch.tensor(9), torch.tensor(0), torch.tensor(127), torch.uint8,
    ),
    "by name": lambda x: qd.dequantize_per_tensor(
        qd.quantize_per_tensor(x, scale=0.02, zero_point=0, quant_min=-128, quant_max=127, dtype=torch.int8),
        scale=0.02, zero_point=0, quant_min=-128, quant_max=127, dtype=torch.int8, out_dtype=torch.float32,
    ),
    "a scale of the run": lambda x: qd.dequantize_per_tensor.tensor(
        qd.quantize_per_tensor.tensor(x, x.abs().amax() / 127, torch.tensor(0), -128, 127, torch.int8),
        x.abs().amax() / 127, torch.tensor(0), -128, 127, torch.int8,
    ),
    "channels": lambda x: qd.dequantize_per_channel(
        qd.quantize_per_channel(x, torch.tensor([0.01, 0.02, 0.03, 0.005]), torch.tensor([0, 1, -2, 3]), 1, -128, 127, torch.int8),
        torch.tensor([0.01, 0.02, 0.03, 0.005]), torch.tensor([0, 1, -2, 3]), 1, -128, 127, torch.int8,
    ),
    "channels from the last": lambda x: qd.dequantize_per_channel(
        qd.quantize_per_channel(x, torch.full([9], 0.02), torch.zeros(9, dtype=torch.int64), -1, 0, 255, torch.uint8),
        torch.full([9], 0.02), None, -1, 0, 255, torch.uint8,
    ),
    "moved as integers": lambda x: qd.dequantize_per_tensor(
        qd.quantize_per_tensor(x, 0.02, 7, 0, 255, torch.uint8).flatten(1).t(), 0.02, 7, 0, 255, torch.uint8
    ),
    "padded as integers": lambda x: qd.dequantize_per_tensor(
        F.pad(qd.quantize_per_tensor(x, 0.02, 7, 0, 255, torch.uint8), (1, 0, 2, 1), value=7), 0.02, 7, 0, 255, torch.uint8
    ),
    "joined as integers": lambda x: qd.dequantize_per_tensor(
        torch.cat([q := qd.quantize_per_tensor(x, 0.02, 7, 0, 255, torch.uint8), q.flip(1)], 1), 0.02, 7, 0, 255, torch.uint8
    ),
    "half of the range": lambda x: rounded(x, 0.02, 64, ends=(0, 127)),
    "from -127": lambda x: rounded(x, 0.01, 0, torch.int8, (-127, 127)),
    "4 bits": lambda x: rounded(x, 0.2, 3, torch.int8, (-8, 7)),
}


@pytest.mark.parametrize("kind", CALLS)
def test_calls_give_what_pytorch_gives(kind):
    fast = btt.to_blocked(One(lambda s, x: CALLS[kind](x)), X, layouts="nchw")
    for x in (X, X * 100, torch.full_like(X, torch.inf), torch.full_like(X, -torch.inf)):
        if x.isfinite().all() or "run" not in kind:
            wanted = CALLS[kind](x)
            step = 0.2 if kind == "4 bits" else 0.03 if x is X else wanted.abs().max().item() / 127
            assert fast(x).shape == wanted.shape
            close(fast(x), wanted, step)


def test_ties_are_rounded_to_even():
    x = torch.arange(-300, 300).float().reshape(1, 4, 15, 10) / 4
    fast = btt.to_blocked(One(lambda s, x: rounded(x, 0.5, 3, torch.int8, (-100, 90))), x, layouts="nchw")
    assert torch.equal(fast(x), rounded(x, 0.5, 3, torch.int8, (-100, 90)))


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (1, 0, 2, 3), (2, 3, 0, 1)])
@pytest.mark.parametrize("sizes", [(8, 4, 1, 1), (8, 4, 3, 3), (1, 4, 1, 1)])
def test_scales_follow_the_axes_of_weights(axes, sizes):
    order = [axes.index(i) for i in range(4)]
    w = torch.randint(-127, 128, [sizes[i] for i in axes], dtype=torch.int8)
    scales = torch.rand(sizes[0]) * 0.002 + 0.001

    def forward(s, x):
        weight = qd.dequantize_per_channel(input=s.w, scales=s.scales, zero_points=None, axis=axes.index(0) - 4, quant_min=-128, quant_max=127, dtype=torch.int8)
        return rounded(F.conv2d(rounded(x, 0.03, 120), weight.permute(order)), 0.05, 128)

    model = One(forward, {"w": w, "scales": scales})
    fast = btt.to_blocked(model, X, layouts="blocked")
    check_on_integers(fast.plan, 1)
    close(fast(X), model(X), 0.05)


WEIGHTS = {
    "bytes around 128": (torch.uint8, torch.tensor([128])),
    "bytes around 128 of channels": (torch.uint8, torch.full([16], 128)),
    "zero points of 32 bits": (torch.int8, torch.zeros(16, dtype=torch.int32)),
    "one scale": (torch.int8, torch.tensor([0])),
    # No integers with a sign: the plan computes in f32.
    "around 3": (torch.int8, torch.tensor([3])),
    # PyTorch subtracts in 8 bits.
    "zero points of 8 bits": (torch.int8, torch.full([16], 3, dtype=torch.int8)),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_all_kinds(kind):
    dtype, zero = WEIGHTS[kind]
    least, largest = RANGES[dtype]
    w = torch.randint(least + 1, largest, (16, 4, 3, 3), dtype=dtype)
    scales, bias = torch.rand(len(zero)) * 0.002 + 0.001, torch.randint(-9999, 9999, (16,), dtype=torch.int32)

    def forward(s, x):
        if len(zero) == 1:
            weight = qd.dequantize_per_tensor.tensor(s.w, s.scales, s.zero, least, largest, dtype)
        else:
            weight = qd.dequantize_per_channel(s.w, s.scales, s.zero, 0, least, largest, dtype)
        # A bias of 32 bits, in units of the sums.
        units = s.scales.expand(16) * 0.03
        bias = qd.dequantize_per_channel(s.bias, units, torch.zeros(16, dtype=torch.int64), 0, -(2**31), 2**31 - 1, torch.int32)
        return rounded(F.conv2d(rounded(x, 0.03, 120), weight, bias), 0.05, 128)

    model = One(forward, {"w": w, "scales": scales, "zero": zero, "bias": bias})
    fast = btt.to_blocked(model, X, layouts="blocked")
    close(fast(X), model(X), 0.05)
    if kind not in ("around 3", "zero points of 8 bits"):
        check_on_integers(fast.plan, 1)
        if HAS_BYTE_PRODUCTS:
            # Whole numbers of such units are added to the sums.
            assert "add_channel" not in str(fast.plan)


def sized(x):
    return x.abs().amax(), torch.tensor(0)


REFUSED = {
    "dynamic": (
        lambda x: qd.dequantize_per_tensor.tensor(
            qd.quantize_per_tensor.tensor(x, *(q := qd.choose_qparams(x, -128, 127, 1e-5, torch.int8)), -128, 127, torch.int8), *q, -128, 127, torch.int8
        ),
        "choose_qparams.tensor: scales that each run computes .dynamic quantisation.*`is_dynamic=False`",
    ),
    "tokens": (lambda x: qd.choose_qparams_per_token(x, torch.int8)[0], "choose_qparams_per_token.default: scales for each token"),
    "groups": (
        lambda x: qd.quantize_per_channel_group(x.flatten(1)[:, :324], torch.ones(2, 81), torch.zeros(2, 81), -8, 7, torch.int8, 4).float(),
        "quantize_per_channel_group.default: scales for groups of an axis",
    ),
    "16 bits": (
        lambda x: rounded(x, 0.01, 0, torch.int16, (-32768, 32767)), "argument `dtype`: got torch.int16, but quantised numbers of plans have 8 bits"
    ),
    "part of the range of channels": (
        lambda x: qd.dequantize_per_channel(
            qd.quantize_per_channel(x, torch.full([4], 0.02), torch.zeros(4, dtype=torch.int64), 1, -127, 127, torch.int8),
            torch.full([4], 0.02), torch.zeros(4, dtype=torch.int64), 1, -127, 127, torch.int8,
        ),
        "got -127 and 127 beside a scale for each channel, but plans then use the whole range; quantise to -128 to 127, or per tensor",
    ),
    "part of the range, and a scale of the run": (
        lambda x: qd.quantize_per_tensor.tensor(x, *sized(x), -127, 127, torch.int8).float(), "got -127 and 127 beside a scale that a run computes"
    ),
    "integers as results": (lambda x: qd.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8), "results of plans are f32; return what `dequantize` makes"),
    "sums of integers": (
        lambda x: qd.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8) + 200, "argument `self`: got quantised numbers, but plans compute with"
    ),
    "conversions of integers": (lambda x: qd.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8).float() * 0.1, "got quantised numbers"),
    "in training": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127), "convert_pt2e"),
    "PyTorch's dtypes": (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize(), r"own quantised dtypes .`torch.quint8`."),
    "another result": (
        lambda x: qd.dequantize_per_tensor(qd.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8), 0.1, 3, 0, 255, torch.uint8, out_dtype=torch.bfloat16),
        "its result is of torch.bfloat16",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_no_plan_computes_is_refused_by_name(kind):
    function, text = REFUSED[kind]
    model = One(lambda s, x: function(torch.relu(x) - 0.25))
    with pytest.raises(bt.UnsupportedOp) as e:
        btt.to_blocked(model, X, layouts="nchw")
    assert re.search(text, str(e.value)), str(e.value)
    # PyTorch runs the call, and those that take its integers.
    made, wanted = btt.to_blocked(model, X, layouts="nchw", partial=True)(X), model(X)
    assert made.dtype == wanted.dtype
    equal(made, wanted)


@pytest.mark.filterwarnings("ignore")
def test_other_kinds_of_quantised_models_are_told_what_to_do():
    def told(model, call=lambda m: btt.to_blocked(m, X, layouts="blocked")):
        with pytest.raises(bt.UnsupportedOp) as e:
            call(model)
        return str(e.value)

    kernels = pytest.importorskip("torch.ao.nn.quantized")
    old = nn.Sequential(kernels.Quantize(0.1, 0, torch.quint8), kernels.Conv2d(4, 4, 1), kernels.DeQuantize()).eval()
    for model in (old, torch.jit.script(old)):
        assert "before it was quantised, or quantise that with `torchao.quantization.pt2e`" in told(model)
    assert "the Python module that it was made of" in told(torch.jit.script(nn.Sequential(nn.ReLU())))
    observers = pytest.importorskip("torch.ao.quantization")
    prepared = nn.Sequential(observers.HistogramObserver(), nn.Conv2d(4, 4, 1)).eval()
    assert "module `0` looks for scales (HistogramObserver)" in told(prepared) and "`convert_pt2e`" in told(prepared)


def test_weights_of_other_classes_are_refused():
    two_tensors = pytest.importorskip("torch.testing._internal.two_tensor")
    model = nn.Conv2d(4, 4, 1).eval()
    model.weight = nn.Parameter(two_tensors.TwoTensor(model.weight.detach(), model.weight.detach()), requires_grad=False)
    with pytest.raises(bt.UnsupportedOp, match="module `Conv2d` has a weight of the class `TwoTensor`"):
        btt.to_blocked(model, X, layouts="blocked")


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Conv2d(4, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Conv2d(16, 16, 3, padding=1)
        self.pool, self.fc = nn.MaxPool2d(2), nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.a(x)))
        x = self.pool(torch.relu(self.b(x) + x))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


@pytest.mark.parametrize("kind", ["u8", "u8, 7 bits", "s8"])
@pytest.mark.filterwarnings("ignore")
def test_models_that_torchao_quantises_run_on_integers(kind):
    pt2e = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    if kind == "s8":
        xnnpack = pytest.importorskip("torchao.testing.pt2e._xnnpack_quantizer")
        quantizer = xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config(is_per_channel=True))
    else:
        x86 = pytest.importorskip("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
        quantizer = x86.X86InductorQuantizer()
        quantizer.set_global(x86.get_default_x86_inductor_quantization_config(reduce_range=kind != "u8"))
    torch.manual_seed(6)
    net = Small()
    with torch.no_grad():
        net(torch.randn(8, 4, 9, 9))
        prepared = pt2e.prepare_pt2e(torch.export.export(net.eval(), (X,), strict=True).module(), quantizer)
        for _ in range(3):
            prepared(torch.randn(2, 4, 9, 9))
        with pytest.raises(bt.UnsupportedOp, match="looks for scales"):
            btt.plan(prepared, X)
        model = pt2e.convert_pt2e(prepared)
        fast = btt.to_blocked(model, X, layouts="blocked")
        check_on_integers(fast.plan, 3)
        x = torch.randn(2, 4, 9, 9)
        floats = net(x)
        error = (model(x) - floats).norm()
        assert (fast(x) - floats).norm() <= 1.05 * error and (fast(x) - model(x)).norm() <= 0.3 * error


def test_a_quantised_model_runs_as_a_plan_alone():
    """Call by call it had "no op of blocktensor", which told nothing of `to_blocked`."""
    reason = "op `quantized_decomposed::quantize_per_tensor` of PyTorch on .*: it is a call of a quantised model, which runs as a plan"
    with pytest.raises(bt.UnsupportedOp, match=reason) as e:
        btt.swap(Net())(btt.EagerTensor(X))
    assert e.value.remedy == "pass the model to `to_blocked` or `plan`"
    assert btt.to_blocked(Net(), X)(X).shape == (2, 5)
    with pytest.raises(bt.UnsupportedOp, match=f"{reason}.*; train the model before it is quantised"):
        btt.train(Net())(X)
