"""What calls of a model do while it is trained: statistics, dropout, gradients where PyTorch defines them in its own way."""

import copy
import gc
import weakref

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import One
from torch import nn
from torch.nn import functional as F
from training import KINDS, close

X = torch.randn(4, 8, 6, 6, generator=torch.Generator().manual_seed(3))


def gradients(function, x, *, weights="blocktensor", layout="blocked", **attributes):
    """The result and the gradients of input and parameters, here and in PyTorch."""
    found = []
    for is_net in (True, False):
        model = One(function, **copy.deepcopy(attributes)).train()
        net = btt.train(model, weights=weights, layout=layout) if is_net else model
        z = x.clone().requires_grad_()
        y = net(z)
        (y * torch.linspace(-1, 2, y.numel()).reshape(y.shape)).sum().backward()
        grads = net.gradients() if is_net else {name: p.grad for name, p in model.named_parameters()}
        found.append((y.detach(), z.grad, grads))
    return found


def alike(function, x=X, **attributes):
    (y, dx, grads), (wanted, dz, others) = gradients(function, x, **attributes)
    close(y, wanted, 1e-4, 1e-5)
    close(dx, dz, 1e-3, 1e-5)
    assert list(grads) == list(others)
    for name, g in others.items():
        close(grads[name], g, 1e-3, 2e-5)


CALLS = {
    "element-wise": lambda s, x: F.gelu(x) * torch.sigmoid(x) + x.abs().sqrt().exp() - 2 / (x * x + 1) + 2**x,
    "in place": lambda s, x: F.relu_((x + 0).mul_(2).add_(x)),
    "masks": lambda s, x: torch.where(x > 0.5, x * 3, x) * (x < 1) + x.masked_fill(x.abs() > 1, 2.0),
    "views": lambda s, x: x[:, 2:5].permute(0, 2, 3, 1).reshape(4, -1) @ x[0, :, :3, 1:].flatten()[:108][:, None],
    "reduce": lambda s, x: x.mean((2, 3)) + x.amax((2, 3)) + x.var((2, 3)) + x.std((2, 3)) + x.sum((2, 3)),
    "softmax": lambda s, x: F.log_softmax(x, 1) + x.softmax(-1),
    "pools": lambda s, x: F.adaptive_max_pool2d(x, 2) + F.max_pool2d(x, 3) * F.avg_pool2d(x, 3),
    "resample": lambda s, x: F.interpolate(x, scale_factor=2, mode="bilinear") + F.interpolate(x, scale_factor=2, mode="nearest"),
    "cat": lambda s, x: torch.cat([x[:, :4] * 2, x], 1).chunk(3, 1)[1],
    "norms": lambda s, x: F.layer_norm(F.group_norm(x, 2) + F.instance_norm(x), [6]),
    "clamp": lambda s, x: x.clamp(-0.5, 0.5) + F.hardtanh(x, -0.3, 0.4),
    "detach": lambda s, x: x * x.detach() + (x.round() - x).detach() + x,
    "data": lambda s, x: x * x.data + x,
    "no_grad": lambda s, x: x * _without(x),
    "attention": lambda s, x: F.scaled_dot_product_attention(x, x * 2, x + 1),
    "a power": lambda s, x: (x.abs() + 1) ** (x * 0.5),
    "numbers that are drawn": lambda s, x: x * _drawn(x) + torch.randn_like(x),
    "a mask that is made": lambda s, x: x.masked_fill(_mask(x) != 0, -1.0) + _mask(x),
    "stack": lambda s, x: torch.stack([x, x * 2], 1).sum(1),
    "pad": lambda s, x: F.pad(x, (1, 1, 2, 0)) + F.pad(x, (1, 1, 1, 1), mode="reflect")[:, :, :8],
}


def _drawn(x):
    torch.manual_seed(9)
    return x.new_empty(4, 1, 1, 1).bernoulli_(0.5).div_(0.5)


def _mask(x):
    made = x.new_zeros(x.shape[2:])
    made[1:3, 2:] = 2
    return made


def _without(x):
    with torch.no_grad():
        return x.exp() + 1


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_calls(name, layout):
    torch.manual_seed(2)
    # Behind a convolution, so that the calls find a blocked tensor.
    conv = nn.Conv2d(8, 8, 1)
    alike(lambda s, x: CALLS[name](s, s.conv(x)), conv=conv, layout=layout)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_parameters_of_all_kinds(layout):
    torch.manual_seed(4)

    def call(s, x):
        x = s.prelu(F.conv2d(x * s.scale, s.kernel, s.bias, padding=1))
        x = torch.where(x > 1, x, s.scale).masked_fill(x < -1, s.scale * 2)
        return x * s.gamma[:, None, None] + s.gamma.view(1, -1, 1, 1) + s.conv1(x.flatten(2)).reshape(x.shape)

    alike(
        call,
        layout=layout,
        scale=nn.Parameter(torch.tensor(1.5)),
        kernel=nn.Parameter(torch.randn(8, 8, 3, 3) / 8),
        bias=nn.Parameter(torch.randn(8)),
        gamma=nn.Parameter(torch.rand(8)),
        prelu=nn.PReLU(8),
        conv1=nn.Conv1d(8, 8, 3, padding=1),
    )


def test_numbers_for_each_channel_reorder_nothing():
    conv, gamma = nn.Conv2d(8, 8, 3), nn.Parameter(torch.rand(8, 1, 1))
    net = btt.train(One(lambda s, x: s.conv(x) * s.gamma + s.gamma[None], conv=conv, gamma=gamma))
    net(X)
    assert [r["op"] for r in net.reorders] == ["conv2d", "output"]


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_frozen_and_shared_parameters(layout):
    torch.manual_seed(5)
    conv = nn.Conv2d(8, 8, 3, padding=1)
    conv.bias.requires_grad_(False)
    other = nn.Conv2d(8, 8, 3, padding=1)
    other.weight = conv.weight
    alike(lambda s, x: s.other(s.conv(x)), conv=conv, other=other, layout=layout)
    net = btt.train(nn.Sequential(conv, other), bt.grad.SGD(0.1), layout=layout)
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    net(X).sum().backward()
    net.step()
    state = net.state_dict()
    close(state["0.weight"], state["1.weight"], 0, 0)
    close(state["0.bias"], conv.bias.detach(), 0, 0)
    assert net.gradients()["0.bias"] is None


CONVOLUTIONS = {
    "grouped": lambda: nn.Conv2d(8, 12, 3, groups=4),
    "depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8, stride=2),
    "depthwise with more results": lambda: nn.Conv2d(8, 16, 3, groups=8),
    "transposed": lambda: nn.ConvTranspose2d(8, 20, 3, stride=2, output_padding=1),
    "transposed in groups": lambda: nn.ConvTranspose2d(8, 12, 3, groups=4),
    "transposed depthwise": lambda: nn.ConvTranspose2d(8, 8, 3, groups=8),
    "reflecting": lambda: nn.Conv2d(8, 8, 3, padding=2, padding_mode="reflect"),
}


@pytest.mark.parametrize(("weights", "layout"), KINDS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, weights, layout):
    torch.manual_seed(12)
    # Its weights are an operand of other calls, too.
    alike(lambda s, x: s.conv(x).sum((2, 3)) + s.conv.weight.square().sum(), conv=CONVOLUTIONS[name](), weights=weights, layout=layout)
    net = btt.train(CONVOLUTIONS[name](), weights=weights, layout=layout)
    for name, x in net.state_dict().items():
        wanted = x + 1
        net.load_state_dict({**net.state_dict(), name: wanted})
        close(net.state_dict()[name], wanted, 0, 0)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_attention_layers(layout):
    torch.manual_seed(13)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    alike(lambda s, x: s.layer(s.conv(x).flatten(2).transpose(1, 2)), conv=nn.Conv2d(8, 8, 3), layer=layer, layout=layout)


# Gradients at places where several are possible.


@pytest.mark.parametrize(
    "call",
    [
        lambda s, x: x.relu().max(1)[0],
        lambda s, x: x.min(2, keepdim=True).values,
        lambda s, x: x.relu().max() + x,
        lambda s, x: F.hardtanh(x, 0.0, 1.0) + F.relu6(x),
        lambda s, x: x.clamp(0.0, 1.0) + x.clamp_min(1.0),
        lambda s, x: x.norm(dim=1) + torch.linalg.vector_norm(x, 1, dim=1),
        lambda s, x: F.normalize(x, dim=1),
        lambda s, x: (x * 0 + 3).std(1),
        lambda s, x: torch.maximum(x, x.relu()) + x.abs(),
    ],
)
def test_gradients_at_ties_and_bounds(call):
    x = torch.tensor([-1.0, 0.0, 1.0, 0.0, 1.0, 2.0]).repeat(2, 8, 1, 1)
    x[:, :, :, 3:4] = 0
    alike(call, x)


class Classifier(nn.Module):
    """What it makes a view of is gone when it is written into."""

    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(8, 8, 3), nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.conv(x)
        x = torch.flatten(x, 1)
        return self.relu(x)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_a_view_that_is_written_into(layout):
    torch.manual_seed(8)
    alike(lambda s, x: s.model(x), model=Classifier(), layout=layout)
    # Here the result would change, and PyTorch takes it back in `backward`.
    net = btt.train(One(lambda s, x: (y := s.conv(x), y.flatten(1).mul_(2), y)[2], conv=nn.Conv2d(8, 8, 3)).train(), layout=layout)
    with pytest.raises(bt.UnsupportedOp, match="is a view of"):
        net(X)


# Statistics.


@pytest.mark.parametrize(("weights", "layout"), KINDS)
@pytest.mark.parametrize("options", [{}, {"momentum": 0.3}, {"momentum": None}, {"track_running_stats": False}, {"affine": False}])
def test_statistics_of_norms(options, weights, layout):
    model = nn.Sequential(nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6, **options)).train()
    other = copy.deepcopy(model)
    net = btt.train(model, weights=weights, layout=layout)
    for i in range(3):
        close(net(X * (i + 1)), other(X * (i + 1)))
    with torch.no_grad():
        close(net(X), other(X))
    for name, x in other.state_dict().items():
        close(net.state_dict()[name], x)
    net.eval()
    other.eval()
    y, z = net(X), other(X)
    close(y, z)
    for one in (y, z):
        (one * X[:, :6]).sum().backward()
    for name, p in other.named_parameters():
        close(net.gradients()[name], p.grad, 1e-3, 1e-4)
    assert net.train().training


def test_two_forwards_before_one_backward():
    model = nn.Sequential(nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6))
    other = copy.deepcopy(model)
    net = btt.train(model)
    for one in (net, other):
        (one(X) * one(X + 1)).sum().backward()
    for name, p in other.named_parameters():
        close(net.gradients()[name], p.grad, 1e-3, 1e-4)


# Dropout.


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
@pytest.mark.parametrize("kind", [nn.Dropout, nn.Dropout2d])
def test_dropout(kind, layout):
    net = btt.train(nn.Sequential(nn.Conv2d(8, 8, 1), kind(0.5)), layout=layout)
    x = X.clone().requires_grad_()
    torch.manual_seed(11)
    y = net(x)
    torch.manual_seed(11)
    close(net(X), y.detach(), 0, 0)
    assert not torch.equal(net(X), y)
    assert 0.2 < (y == 0).float().mean() < 0.8
    net.eval()
    kept = y != 0
    plain = net(X).detach()
    close(y[kept], plain[kept] * 2)
    # The gradient has the mask of its forward.
    y.backward(torch.ones_like(y))
    bias = net.gradients()["0.bias"]
    close(bias, (kept * 2.0).sum((0, 2, 3)))
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize("is_causal", [False, True])
def test_dropout_in_attention(is_causal):
    x, eye = X[:, 0], torch.eye(6).expand(4, 6, 6)
    net = btt.train(One(lambda s, x: F.scaled_dot_product_attention(x, s.linear(x), eye, dropout_p=s.p, is_causal=is_causal), linear=nn.Linear(6, 6), p=0.5))
    torch.manual_seed(15)
    y = net(x)
    assert not torch.equal(net(x), y)
    torch.manual_seed(15)
    close(net(x), y, 0, 0)
    net.kept.module.p = 0.0
    plain, kept = net(x), y != 0
    close(y[kept], plain[kept] * 2)
    assert 0.2 < kept.sum() / (plain != 0).sum() < 0.8
    y.sum().backward()
    # The default layer, which has dropout.
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
    btt.train(layer)(x).sum().backward()


def test_a_check_changes_nothing():
    model = nn.Sequential(nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6), nn.Dropout(0.5)).train()
    net = btt.train(model)
    state, seed = copy.deepcopy(net.state_dict()), torch.get_rng_state()
    assert net.check(X) is None and len(net.reorders) == 2
    close(net.state_dict(), state, 0, 0)
    assert torch.equal(torch.get_rng_state(), seed)
    net(X)
    assert net.state_dict()["1.num_batches_tracked"] == 1


@pytest.mark.parametrize("ends", ["dropped", "backward", "error"])
def test_what_was_saved_is_freed(ends):
    net = btt.train(One(lambda s, x, y: torch.erfinv(s.conv(x)) if ends == "error" else s.conv(x) * y, conv=nn.Conv2d(8, 8, 3)))
    factor = torch.rand(1)
    kept = weakref.ref(factor)
    gc.collect()
    gc.disable()
    try:
        if ends == "error":
            with pytest.raises(bt.UnsupportedOp):
                net(X, factor)
        else:
            y = net(X, factor)
            del factor
            assert kept() is not None
            if ends == "backward":
                y.sum().backward()
            else:
                del y
            assert kept() is None
    finally:
        gc.enable()
    factor = None
    gc.collect()
    assert kept() is None


# Inputs and results.


def test_results_of_several_tensors():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(8, 8, 3)

        def forward(self, x, other=None, scale=1):
            y = self.conv(x) * scale
            return {"y": y, "sum": [y.sum((2, 3)), other], "mask": y > 0, "same": y}

    torch.manual_seed(6)
    model = Heads()
    found = []
    for net in (btt.train(copy.deepcopy(model)), model):
        x = X.clone().requires_grad_()
        made = net(x, scale=2)
        assert list(made) == ["y", "sum", "mask", "same"] and made["sum"][1] is None
        assert made["mask"].dtype == torch.bool and not made["mask"].requires_grad
        assert made["same"] is made["y"]
        (made["y"].square().sum() + made["sum"][0].sum() * 3).backward()
        found.append((made["y"].detach(), x.grad))
        x.grad = None
        # One of the results alone.
        net(x)["sum"][0].sum().backward()
        found[-1] += (x.grad,)
    for got, wanted in zip(*found, strict=True):
        close(got, wanted)


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
def test_inputs_in_any_order_and_twice(weights):
    torch.manual_seed(14)
    model = One(lambda s, x, y: s.conv(x) * s.conv(y), conv=nn.Conv2d(8, 4, 3))
    net = btt.train(copy.deepcopy(model), weights=weights)
    calls = [
        lambda m, x: m(x, x),
        lambda m, x: m(x.transpose(2, 3), x[1:2]),
        lambda m, x: m(x.to(memory_format=torch.channels_last), x.detach()),
        lambda m, x: m(x[:0], x[:0]),
        lambda m, x: m(x[0], x),
        lambda m, x: m(x, x).sum((2, 3), keepdim=True).expand(4, 4, 3, 3),
        lambda m, x: m(x, x).mul_(2).relu_(),
    ]
    for call in calls:
        found = []
        for one in (net, model):
            x = X.clone().requires_grad_()
            y = call(one, x)
            y.sum().backward()
            found.append((y.detach(), x.grad))
        for got, wanted in zip(*found, strict=True):
            close(got, wanted, 1e-3, 1e-5)
    # A parameter that is an input as well.
    if weights == "torch":
        for one in (net, model):
            one.zero_grad()
            (one(X, X).sum() + one(one.conv.weight if one is model else next(net.parameters()), X[:, :, :3, :3]).sum()).backward()
        for name, p in model.named_parameters():
            close(net.gradients()[name], p.grad, 1e-3, 1e-4)


def test_sizes_may_change():
    model = nn.Sequential(nn.Conv2d(8, 4, 3), nn.ReLU())
    net = btt.train(model)
    for shape in [(1, 8, 5, 5), (3, 8, 7, 4)]:
        x = torch.randn(shape)
        close(net(x), model(x))


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}])
def test_integers_are_inputs_too(options):
    model = nn.Sequential(nn.Embedding(10, 8, **options), nn.Linear(8, 3))
    other = copy.deepcopy(model)
    net = btt.train(model)
    ids = torch.tensor([[1, 2, 2], [9, 0, 1]])
    for one in (net, other):
        one(ids).square().sum().backward()
    for name, p in other.named_parameters():
        close(net.gradients()[name], p.grad)


def test_a_write_into_a_result_changes_nothing_else():
    net, x = btt.train(nn.Linear(4, 4)), torch.randn(2, 4)
    y = net(x)
    wanted = y.detach().clone()
    with torch.no_grad():
        y.zero_()
    close(net(x), wanted)
    for z in (btt.train(One(lambda s, x: x))(x), btt.train(One(lambda s, x: x[:1]))(x)):
        z.zero_()
        assert x.abs().sum() > 0


def test_nothing_shares_memory_with_gradients_and_weights():
    def summed(s, x):
        return x + s.first + s.second + s.linear(x)

    attributes = {"first": nn.Parameter(X * 2), "second": nn.Parameter(X * 3), "linear": nn.Linear(6, 6)}
    model = One(summed, **attributes)
    net, g = btt.train(model), torch.ones_like(X)
    wanted = net(X)
    wanted.backward(g)
    g.zero_()
    close(net.gradients()["first"], torch.ones_like(X), 0, 0)
    net.gradients()["second"].zero_()
    net.state_dict()["linear.weight"].zero_()
    with torch.no_grad():
        model.linear.weight.zero_()
        model.first.zero_()
    close(net(X), wanted, 0, 0)
    close(net.gradients()["second"], torch.ones_like(X), 0, 0)
    # PyTorch writes into its own gradients.
    btt.train(model, weights="torch")(X).backward(torch.ones_like(X))
    model.first.grad.zero_()
    close(model.second.grad, torch.ones_like(X), 0, 0)


def test_hooks_of_modules_and_parameters_of_pytorch_run():
    seen = []
    model = nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU())
    model[0].register_forward_hook(lambda module, args, result: seen.append(result.shape))
    model[0].weight.register_hook(lambda g: seen.append(g.shape))
    net = btt.train(model, weights="torch")
    net(X).sum().backward()
    assert seen == [(4, 4, 6, 6), (4, 8, 1, 1)]
    assert list(net.named_parameters()) == list(model.named_parameters())
    net.eval()
    assert not model.training and not model[1].training


def test_what_a_forward_asks_of_its_values():
    """As PyTorch's tensors answer: dtypes, numbers of masks, elements without their gradients, an order that is turned around."""
    seen = []

    def forward(s, x):
        m = x > 0
        seen.append((m.dtype, m.any().item(), m[0, 0, 0].tolist(), x.argmax(1).dtype, x[0, 0, 0].tolist()))
        seen.append(tuple(x.detach().numpy().shape))
        return torch.stack(list(reversed(x))) * float(2) + reversed(x) * __import__("numpy").float32(0.5)

    alike(forward)
    ours, shape, theirs, _ = seen
    assert ours[:4] == theirs[:4] and ours[4] == pytest.approx(theirs[4]) and shape == tuple(X.shape)
    with pytest.raises(bt.UnsupportedOp, match=r"call it on `x\.detach\(\)`"):
        btt.train(One(lambda s, x: x * float(x.numpy().max())))(X.clone().requires_grad_())


def test_a_state_that_is_kept_stays_as_it_was():
    net = btt.train(nn.Sequential(nn.Conv2d(8, 4, 1), nn.BatchNorm2d(4)), bt.grad.SGD(0.1))
    kept = net.state_dict()
    before = copy.deepcopy(kept)
    net(X).square().mean().backward()
    net.step()
    assert list(kept) == list(before) and all(torch.equal(kept[name], x) for name, x in before.items())
    assert not torch.equal(net.state_dict()["1.running_mean"], before["1.running_mean"])
    assert kept._metadata == before._metadata and kept._metadata["1"] == nn.BatchNorm2d(4).state_dict()._metadata[""]
