"""Training beside PyTorch: losses, gradients, statistics, states."""

import copy

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from training import KINDS, Cnn, batches, beside, close, losses_of, made, trained

DATA = batches(20, 4, 3, 16, 16)
MODEL = made(Cnn)


@pytest.fixture(scope="module")
def wanted():
    return beside(MODEL, DATA)


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_losses_states_and_evaluation_are_as_in_pytorch(weights, layout, wanted):
    before = {name: x.clone() for name, x in MODEL.state_dict().items()}
    losses, net = trained(MODEL, DATA, weights, layout)
    close(torch.tensor(losses), torch.tensor(wanted[0]))
    # The model that was passed is as it was.
    for name, x in MODEL.state_dict().items():
        close(x, before[name], 0, 0)
    state, want = net.state_dict(), wanted[1].state_dict()
    assert list(state) == list(want)
    for name, x in want.items():
        close(state[name], x, 1e-3, 1e-5)
    net.eval()
    model = wanted[1].eval()
    x = DATA[0][0]
    with torch.no_grad():
        y = net(x)
    assert not y.requires_grad
    close(y, model(x), 1e-3, 1e-5)
    assert state["block.bn2.num_batches_tracked"] == 20
    wanted[1].train()


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_gradients_are_pytorchs(weights, layout):
    net = btt.train(made(Cnn), weights=weights, layout=layout)
    model = made(Cnn)
    x = DATA[0][0].clone().requires_grad_()
    z = x.detach().clone().requires_grad_()
    # Layers of PyTorch before and after.
    (net(x * 2).tanh() * torch.arange(5.0)).sum().backward()
    (model(z * 2).tanh() * torch.arange(5.0)).sum().backward()
    close(x.grad, z.grad, 1e-3, 1e-5)
    gradients = net.gradients()
    assert list(gradients) == [name for name, _ in model.named_parameters()]
    for name, p in model.named_parameters():
        close(gradients[name], p.grad, 1e-3, 1e-5)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_states_load_both_ways(layout):
    first, second = made(Cnn, 1), made(Cnn, 2)
    net = btt.train(first, layout=layout).eval()
    x = DATA[0][0]
    assert net.load_state_dict(second.state_dict()) == second.load_state_dict(second.state_dict())
    with torch.no_grad():
        close(net(x), second.eval()(x))
        first.load_state_dict(net.state_dict())
        close(first.eval()(x), second(x), 0, 0)
    # Packing loses nothing.
    for name, value in second.state_dict().items():
        close(net.state_dict()[name], value, 0, 0)
    state = dict(second.state_dict())
    del state["head.bias"]
    state["other"] = torch.zeros(1)
    found = net.load_state_dict(state, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["head.bias"], ["other"])
    with pytest.raises(RuntimeError, match="head.bias"):
        net.load_state_dict(state)
    state["head.bias"] = torch.zeros(9)
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict(state, strict=False)
    close(net.state_dict()["head.bias"], second.head.bias.detach(), 0, 0)
    # As a part of a larger model.
    outer = nn.Sequential(net, nn.Linear(5, 2))
    assert list(outer.state_dict())[0] == "0.scale"
    outer.load_state_dict({name: x + 1 if name == "0.head.bias" else x for name, x in outer.state_dict().items()})
    close(net.state_dict()["head.bias"], second.head.bias.detach() + 1, 0, 0)


def test_a_state_that_is_kept_stays():
    net = btt.train(made(Cnn), bt.grad.SGD(0.1))
    state = net.state_dict()
    kept = state["stem.weight"].clone()
    F.cross_entropy(net(DATA[0][0]), DATA[0][1]).backward()
    net.step()
    close(state["stem.weight"], kept, 0, 0)
    assert not torch.equal(net.state_dict()["stem.weight"], kept)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_adamw(layout):
    data, model, other = DATA[:8], made(Cnn), made(Cnn)
    net = btt.train(model, bt.grad.AdamW(1e-3, weight_decay=0.1), layout=layout)
    adamw = torch.optim.AdamW(other.parameters(), 1e-3, weight_decay=0.1)
    for x, y in data:
        net.zero_grad()
        adamw.zero_grad()
        losses = [F.cross_entropy(one(x), y) for one in (net, other)]
        for loss in losses:
            loss.backward()
        net.step()
        adamw.step()
        close(*losses, 1e-3, 1e-5)


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_gradients_add_up_until_they_are_forgotten(weights, layout):
    net, model = btt.train(made(Cnn), weights=weights, layout=layout), made(Cnn)
    for x, y in DATA[:2]:
        for one in (net, model):
            F.cross_entropy(one(x), y).backward()
    for name, p in model.named_parameters():
        close(net.gradients()[name], p.grad, 1e-3, 1e-5)
    net.zero_grad()
    assert set(net.gradients().values()) == {None}


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_resnet18(weights, layout):
    torchvision = pytest.importorskip("torchvision")
    model = made(lambda: torchvision.models.resnet18(num_classes=5))
    for block in model.modules():
        if hasattr(block, "bn2"):
            # From others, rounding errors of 1e-7 change the loss within a few steps.
            nn.init.constant_(block.bn2.weight, 0.25)
    data = batches(3, 8, 3, 32, 32)
    losses, net = trained(model, data, weights, layout)
    close(torch.tensor(losses), torch.tensor(beside(model, data)[0]))
    assert net.reorders
    if layout == "blocked":
        # The images in, what the classifier takes out.
        assert [(r["module"], r["from"], r["to"]) for r in net.reorders] == [
            ("conv1", "contiguous", net.reorders[0]["to"]),
            ("ResNet", net.reorders[0]["to"], "contiguous"),
        ]


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
def test_every_reorder_is_in_the_ledger(weights):
    net = btt.train(made(Residual16), bt.grad.SGD(0.1) if weights == "blocktensor" else None, weights=weights)
    x = torch.randn(2, 16, 8, 8)
    with bt.record() as book:
        y = net(x)
        y.sum().backward()
    forward = [(r["from"], r["to"]) for r in book.reorders if not r["backward"]]
    activations = [(r["from"], r["to"]) for r in net.reorders]
    weights_packed = [r for r in forward if "OI" in r[1]]
    assert [r for r in forward if r not in weights_packed] == activations and len(activations) == 2
    assert len(weights_packed) == (weights == "torch")
    # The gradient of the result; that of the input is not asked for. Of PyTorch's weights their gradients.
    assert len(book.reorders) - len(forward) == 1 + (weights == "torch")
    if weights == "blocktensor":
        net.step()
        with bt.deny_reorders(), pytest.raises(bt.ReorderDenied):
            net(x)


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
@pytest.mark.parametrize("algorithm", ["winograd2", "winograd4"])
def test_convolutions_that_have_the_algorithm_are_trained_by_it(weights, algorithm, wanted):
    given = {"weights": weights, "algorithm": algorithm}
    net = btt.train(copy.deepcopy(MODEL), None if weights == "torch" else bt.grad.SGD(0.01, momentum=0.9), **given)
    with bt.record() as book:
        losses = losses_of(net, DATA, torch.optim.SGD(net.parameters(), 0.01, momentum=0.9) if weights == "torch" else net)
    close(torch.tensor(losses), torch.tensor(wanted[0]))
    runs = [run["backward"] for run in book.runs if run["op"] == "conv2d" and algorithm in run["implementation"]]
    # The stem and the block's first convolution; not the depthwise, the 1x1, and the strided one. Images need no gradient.
    assert (runs.count(False), runs.count(True)) == (2 * len(DATA), len(DATA))
    assert algorithm in repr(net)


def test_algorithms_that_are_not_there():
    for given, text in [
        ({"algorithm": "winograd"}, "'direct', 'winograd2', 'winograd4'"),
        ({"algorithm": "measured"}, "'direct', 'winograd2', 'winograd4'"),
        ({"algorithm": None}, "'direct', 'winograd2', 'winograd4'"),
        ({"algorithm": "winograd4", "layout": "nhwc"}, "for blocked tensors"),
    ]:
        with pytest.raises(bt.InvalidArgument, match=text):
            btt.train(made(Cnn), **given)


class Residual16(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())


@pytest.mark.parametrize(("weights", "layout"), KINDS)
@pytest.mark.parametrize("most", [0.01, 1e3])
def test_gradients_are_clipped(weights, layout, most):
    net, model = btt.train(made(Cnn), weights=weights, layout=layout), made(Cnn)
    for one in (net, model):
        F.cross_entropy(one(DATA[0][0]), DATA[0][1]).backward()
    close(torch.tensor(net.clip_grad_norm_(most)), torch.nn.utils.clip_grad_norm_(model.parameters(), most).detach())
    for name, p in model.named_parameters():
        close(net.gradients()[name], p.grad, 1e-3, 1e-5)


@pytest.mark.parametrize("layout", ["blocked", "nhwc"])
def test_gradients_of_inputs_alone_leave_those_of_the_weights(layout):
    net = btt.train(made(Cnn), bt.grad.SGD(0.1), layout=layout)
    x = DATA[0][0].clone().requires_grad_()
    z = x.detach().clone().requires_grad_()
    (wanted,) = torch.autograd.grad(made(Cnn)(z).square().sum(), z)
    (got,) = torch.autograd.grad(net(x).square().sum(), x)
    close(got, wanted, 1e-3, 1e-5)
    net(x).square().sum().backward(inputs=[x])
    close(x.grad, wanted, 1e-3, 1e-5)
    assert set(net.gradients().values()) == {None}
    # Beside them they come.
    x.grad = None
    net(x).square().sum().backward()
    close(x.grad, wanted, 1e-3, 1e-5)
    assert None not in net.gradients().values()


class Last(nn.Module):
    """Keeps a value of its forward in a buffer."""

    def __init__(self, write):
        super().__init__()
        self.conv, self.write = nn.Conv2d(3, 8, 3), write
        self.register_buffer("last", torch.zeros(8))

    def forward(self, x):
        y = self.conv(x)
        self.write(self, y.detach().mean((0, 2, 3)))
        return y


def assign(module, y):
    module.last = y


def set_data(module, y):
    module.last.data = y


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
@pytest.mark.parametrize(("write", "told"), [(assign, "the buffer `last`"), (set_data, "a value of the forward")])
def test_a_value_of_the_forward_in_a_buffer_is_refused(weights, write, told):
    net = btt.train(Last(write), weights=weights)
    before = net.state_dict()["last"]
    for run in (net.check, net):
        with pytest.raises(bt.UnsupportedOp, match=told):
            run(torch.randn(2, 3, 8, 8))
    assert torch.equal(net.state_dict()["last"], before)


def test_a_walk_over_packed_weights_is_refused():
    net = btt.train(made(Cnn), bt.grad.SGD(0.1))
    outer = nn.Sequential(net, nn.Linear(5, 2))
    walks = [
        lambda: list(net.modules()),
        lambda: list(net.children()),
        lambda: list(net.buffers()),
        lambda: net.apply(print),
        lambda: list(outer.parameters()),
        outer.zero_grad,
        lambda: outer.requires_grad_(False),
        lambda: outer.apply(print),
    ]
    for walk in walks:
        with pytest.raises(bt.UnsupportedOp, match='weights="torch"'):
            walk()
    # What reaches a module in another one still does.
    assert not outer.eval()[0].training
    assert list(outer.state_dict())[-1] == "1.bias"
    both = btt.train(made(Cnn), weights="torch")
    assert len(list(both.modules())) > 1


def test_an_optimizer_is_of_one_module():
    optimizer = bt.grad.SGD(0.1, momentum=0.9)
    net = btt.train(made(Cnn), optimizer)
    with pytest.raises(bt.InvalidArgument, match="another trained module"):
        btt.train(made(Cnn), optimizer)
    other = btt.train(made(Cnn), bt.grad.SGD(0.1))
    for wrong, told in ((optimizer, "another trained module"), (torch.optim.SGD(nn.Linear(1, 1).parameters(), 0.1), "SGD")):
        other.optimizer = wrong
        with pytest.raises(bt.InvalidArgument, match=told):
            other.step()
    del other
    net(DATA[0][0]).sum().backward()
    net.step()


def test_torch_compile_runs_it_outside_of_its_graphs():
    net = btt.train(made(Cnn), bt.grad.SGD(0.1))
    x = DATA[0][0]
    net.eval()
    wanted = net(x)
    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(lambda x: net(x) * 2, backend="blocktensor")
        close(compiled(x), wanted.detach() * 2)
    torch._dynamo.reset()
