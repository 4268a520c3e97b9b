"""What training refuses, and that nothing is left behind."""

import copy

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import One
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from training import KINDS, close

X = torch.randn(2, 8, 6, 6)


class Refused(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(8)
        self.first, self.second = One(lambda s, x: torch.special.i0(x)), One(lambda s, x: torch.erfinv(x))
        self.drop = nn.AlphaDropout()

    def forward(self, x):
        return self.drop(self.second(self.first(self.norm(x)))).relu()


@pytest.mark.parametrize(("weights", "layout"), KINDS)
def test_one_error_lists_all_calls_and_changes_nothing(weights, layout):
    model = Refused().train()
    net = btt.train(model, weights=weights, layout=layout)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(bt.UnsupportedOp, match="calls cannot be recorded") as e:
        net(X)
    assert [(path, name) for path, name, _ in e.value.missing][::2] == [("first", "special_i0"), ("drop", "alpha_dropout")]
    assert "module `second`: erfinv" in str(e.value) and e.value.remedy
    for name, x in net.state_dict().items():
        close(x, before[name], 0, 0)
    with torch.no_grad(), pytest.raises(bt.UnsupportedOp, match="calls cannot be recorded"):
        net.check(X)
    # Afterwards other modules run.
    btt.train(nn.Linear(6, 6))(X).sum().backward()
    assert all(isinstance(x, nn.Parameter) for x in model.parameters())


def test_an_error_of_the_model_takes_statistics_back():
    def fails(s, x):
        s.norm(x)
        s.mean.mul_(0.9).add_(x.detach().mean())
        raise ZeroDivisionError

    net = btt.train(One(fails, norm=nn.BatchNorm2d(8), buffers={"mean": torch.ones(1)}).train(), weights="torch")
    net.train()
    with pytest.raises(bt.UnsupportedOp, match="it writes into a tensor of PyTorch"):
        net(X)
    state = net.state_dict()
    assert state["mean"] == 1
    assert state["norm.num_batches_tracked"] == 0 and state["norm.running_mean"].abs().sum() == 0


def test_backward_runs_once():
    net = btt.train(nn.Linear(6, 3))
    y = net(X).sum()
    y.backward(retain_graph=True)
    with pytest.raises(bt.InvalidArgument, match="runs back once.*call the module again"):
        y.backward()
    y = net(X).sum()
    y.backward()
    with pytest.raises((bt.Error, RuntimeError)):
        y.backward()


def test_gradients_of_gradients():
    net, x = btt.train(nn.Linear(6, 3)), X.clone().requires_grad_()
    with pytest.raises(bt.UnsupportedOp, match="create_graph=True"):
        torch.autograd.grad(net(x).sum(), x, create_graph=True)


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
def test_tensors_that_were_written_into_before_backward(weights):
    net = btt.train(nn.Linear(6, 3), weights=weights)
    x = X.clone()
    y = net(x)
    x.add_(1)
    with pytest.raises(bt.Aliasing, match="written into since"):
        y.sum().backward()
    if weights == "torch":
        y = net(X)
        with torch.no_grad():
            next(net.parameters()).mul_(2)
        with pytest.raises(bt.Aliasing, match="written into since"):
            y.sum().backward()


def test_inputs():
    net = btt.train(nn.Linear(6, 3))
    refused = [
        (X.double(), bt.DTypeMismatch, r"pass `x\.float\(\)`"),
        (X.bfloat16(), bt.DTypeMismatch, "torch.bfloat16"),
        (X.to("meta"), bt.InvalidArgument, "a tensor on meta"),
        (X.to_sparse(), bt.InvalidArgument, "to_dense"),
        (X.numpy(), bt.InvalidArgument, r"got numpy.ndarray, .*`torch\.from_dlpack\(x\)`"),
    ]
    for x, kind, text in refused:
        with pytest.raises(kind, match=text):
            net(x)
    with pytest.raises(bt.UnsupportedOp, match="autocast"), torch.autocast("cpu", torch.bfloat16):
        net(X)
    with pytest.raises(bt.Error):
        torch.func.vmap(net)(X)
    with pytest.raises(Exception, match="packed|record"):
        torch.jit.trace(net, X)


@pytest.mark.parametrize(
    "compute",
    [
        lambda m, n: m + n,
        lambda m, n: m * n,
        lambda m, n: m - n,
        lambda m, n: m + True,
        lambda m, n: m + torch.tensor([True]),
        lambda m, n: torch.add(m, n, alpha=2),
        lambda m, n: torch.cat([m, n]) + torch.cat([n, m]),
        lambda m, n: torch.ones_like(m) + n,
        lambda m, n: m.logical_not() + m,
    ],
)
def test_masks_are_no_numbers(compute):
    """PyTorch's sum of masks is their union: numbers would be other ones."""
    net = btt.train(One(lambda s, x: x * compute(x > 0, x > 0.1)))
    with pytest.raises(bt.UnsupportedOp, match=r"masks.*`a \| b`"):
        net(X.clone().requires_grad_())
    with pytest.raises(bt.UnsupportedOp, match="masks"), torch.no_grad():
        net(X)


def test_integers_of_few_bits():
    for forward in (lambda s, x: x * (x > 0).to(torch.uint8), lambda s, x: x * torch.full((8, 6, 6), 200, dtype=torch.uint8)):
        with pytest.raises(bt.UnsupportedOp, match="uint8"):
            btt.train(One(forward))(X)


@pytest.mark.parametrize("weights", ["blocktensor", "torch"])
def test_norms_are_numbers(weights):
    net = btt.train(nn.Linear(6, 3), weights=weights)
    for wrong in ("a", None, [1.0], torch.ones(2)):
        with pytest.raises(bt.InvalidArgument, match="argument `max_norm`: got "):
            net.clip_grad_norm_(wrong)


def test_options():
    refused = [
        ((nn.Linear(2, 2), "sgd"), {}, bt.InvalidArgument, "argument `optimizer`: got str"),
        ((nn.Linear(2, 2), bt.grad.SGD(0.1)), {"weights": "torch"}, bt.InvalidArgument, "torch.optim"),
        ((nn.Linear(2, 2),), {"weights": "mine"}, bt.InvalidArgument, "'blocktensor', 'torch'"),
        ((nn.Linear(2, 2),), {"layout": "nchw"}, bt.InvalidArgument, "'blocked', 'nhwc'"),
        ((nn.Linear,), {}, bt.InvalidArgument, "make one of the class"),
        ((nn.Linear(2, 2).double(),), {}, bt.DTypeMismatch, "parameter `weight`"),
        ((nn.Linear(2, 2, device="meta"),), {}, bt.UnsupportedOp, "parameter `weight`"),
        ((nn.LazyLinear(2),), {}, bt.UnsupportedOp, "run the model once"),
    ]
    for args, named, kind, text in refused:
        with pytest.raises(kind, match=text):
            btt.train(*args, **named)
    net = btt.train(nn.Linear(2, 2))
    with pytest.raises(bt.InvalidArgument, match="without an optimizer"):
        net.step()
    with pytest.raises(bt.InvalidArgument, match="torch.optim"):
        btt.train(nn.Linear(2, 2), weights="torch").step()
    with pytest.raises(bt.UnsupportedOp, match="torch.float64"):
        net.double()
    assert net.to("cpu").float() is net
    with pytest.raises(bt.UnsupportedOp, match="is not copied"):
        copy.deepcopy(net)
    torchs = btt.train(nn.Linear(2, 2), weights="torch").double()
    with pytest.raises(bt.DTypeMismatch, match="parameter `weight`"):
        torchs(torch.zeros(1, 2))


def test_packed_weights_are_no_parameters():
    # Otherwise an optimiser, or clipping, would silently do nothing.
    net = btt.train(nn.Linear(2, 2), bt.grad.SGD(0.1))
    for ask in (net.parameters, lambda: torch.optim.SGD(net.parameters(), 0.1), lambda: dict(net.named_parameters())):
        with pytest.raises(bt.UnsupportedOp, match="no tensors of PyTorch; pass `train` an optimizer"):
            list(ask())
    # Of a module around it as well, where they would be missing.
    head = nn.Linear(2, 2)
    with pytest.raises(bt.UnsupportedOp, match="packed, and no tensors of PyTorch"):
        list(nn.Sequential(net, head).parameters())


def test_state_beside_the_models():
    net = btt.train(nn.Linear(2, 2))
    calls = [
        lambda: setattr(net, "layer", nn.Linear(1, 1)),
        lambda: net.register_buffer("x", X),
        lambda: net.register_parameter("x", nn.Parameter(X)),
        lambda: net.share_memory(),
        lambda: torch.jit.script(net),
        lambda: torch.save(net, "/dev/null"),
    ]
    for call in calls:
        with pytest.raises(bt.UnsupportedOp, match="a trained module|memory that processes share"):
            call()
    assert list(net.state_dict()) == ["weight", "bias"]
    for x in (btt.EagerTensor(X), bt.from_dlpack(X)):
        with pytest.raises(bt.InvalidArgument, match="take those of PyTorch"):
            net(x)


def test_hooks_that_only_pytorchs_graph_calls():
    model = nn.Sequential(nn.Linear(6, 3))
    model[0].register_full_backward_hook(lambda *_: None)
    with pytest.raises(bt.UnsupportedOp, match="module `0` has a backward hook"):
        btt.train(model)(X)
    model = nn.Sequential(nn.Linear(6, 3))
    model[0].weight.register_hook(lambda g: g)
    with pytest.raises(bt.UnsupportedOp, match=r"parameter `0\.weight` has a hook"):
        btt.train(model)


def test_parameters_that_share_memory():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = nn.Parameter(model[0].weight.data)
    with pytest.raises(bt.UnsupportedOp, match="share memory"):
        btt.train(model)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g


REFUSED = {
    "a function with a gradient of its own": (lambda s, x: Square.apply(x), "torch.autograd.Function"),
    "a checkpoint that is such a function": (lambda s, x: checkpoint(torch.exp, x, use_reentrant=True), "use_reentrant=False"),
    "a write into an input": (lambda s, x: F.relu(x, inplace=True), "it writes into an input"),
    "a write into a parameter": (lambda s, x: x @ s.w.mul_(2), "it writes into the parameter `w`"),
    "a parameter that the module does not have": (lambda s, x: x @ OUTSIDE, "no parameter of the module"),
    "a tensor hook": (lambda s, x: x.register_hook(print) and x, "of its tape"),
    "a write into a part": (lambda s, x: (x * 1).__setitem__(0, 1.0), "torch.where"),
    "a write of a value into a constant": (lambda s, x: torch.zeros_like(x).__setitem__(0, x[0]), "torch.where"),
    "a write into a constant that has a view": (lambda s, x: _viewed(x.new_zeros(4)), "is a view of"),
    "the graph": (lambda s, x: x if x.grad_fn is None else x, "grad_fn"),
    "gradients of parameters": (lambda s, x: x if s.w.grad is None else x @ s.w, "attribute `grad` of .*after `backward`"),
    "its own backward": (lambda s, x: x.sum().backward(), "of its tape"),
    "random leaks": (lambda s, x: F.rrelu(x, training=True), "does in training mode"),
    "kept statistics of an instance norm": (lambda s, x: s.norm(x), "running statistics of an instance norm"),
}


def _viewed(x):
    view = x[:2]
    x[0] = 1
    return view


OUTSIDE = nn.Parameter(torch.randn(6, 6))


@pytest.mark.parametrize("name", REFUSED)
def test_calls(name):
    call, text = REFUSED[name]
    attributes = {"norm": nn.InstanceNorm2d(8, track_running_stats=True)} if "norm" in name else {}
    net = btt.train(One(call, w=nn.Parameter(torch.randn(6, 6)), **attributes).train())
    with pytest.raises(bt.UnsupportedOp, match=text):
        net(X.clone().requires_grad_())


def test_leaves_are_those_of_pytorch():
    """What is a leaf, and what has a gradient that is none."""
    seen = {}

    def call(s, x):
        y = x @ s.w
        parts = {"input": x, "parameter": s.w, "value": y, "constant": torch.zeros_like(x), "detached": y.detach()}
        seen["leaves"] = {name: part.is_leaf for name, part in parts.items()}
        return y

    model, x = One(call, w=nn.Parameter(torch.randn(6, 6))).train(), X.clone().requires_grad_()
    model(x)
    want = seen.pop("leaves")
    btt.train(model)(x)
    assert seen["leaves"] == want


def test_a_value_of_a_forward_that_has_ended():
    seen = []
    model = nn.Sequential(nn.Linear(6, 3))
    model.register_forward_hook(lambda module, args, result: seen.append(result))
    net = btt.train(model)
    net(X)
    with pytest.raises(bt.InvalidArgument, match="a forward that has ended"):
        torch.relu(seen[0])


def test_a_trained_module_in_another():
    with pytest.raises(bt.Error):
        btt.train(nn.Sequential(btt.train(nn.Linear(6, 3))))(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda y, k: y * k,
        lambda y, k: k + y,
        lambda y, k: y / k,
        lambda y, k: 2 - k * y,
        lambda y, k: y**k,
        lambda y, k: torch.add(y, k),
        lambda y, k: y.mul(k),
        lambda y, k: y.clone().mul_(k),
        lambda y, k: y.clamp(min=k * 0.01),
        lambda y, k: torch.maximum(y, k),
    ],
)
def test_a_number_that_requires_a_gradient_is_not_taken_without_it(call):
    """A tensor without axes is a number for PyTorch too, but one with a gradient."""
    k = torch.tensor(2.0, requires_grad=True)
    net = btt.train(One(lambda s, x: call(s.conv(x), k), conv=nn.Conv2d(8, 4, 3)).train())
    with pytest.raises(bt.UnsupportedOp, match="an operand that requires a gradient, and is no parameter of the module"):
        net(X)
    with torch.no_grad():
        state = net.state_dict()
        close(net(X), call(F.conv2d(X, state["conv.weight"], state["conv.bias"]), k), 1e-4, 1e-5)


@pytest.mark.parametrize(("weights", "layout"), KINDS)
@pytest.mark.parametrize("size", [8, 8192])
def test_a_buffer_that_is_read_and_written_then(weights, layout, size):
    """`backward` takes what was read. PyTorch refuses to run back."""

    def call(s, x):
        y = x * s.n * s.w
        s.n.add_(1)
        return y.sum()

    x = torch.randn(3, size, requires_grad=True)
    module = One(call, w=nn.Parameter(torch.ones(size)))
    module.register_buffer("n", torch.arange(size) + 2.0)
    net = btt.train(module.train(), weights=weights, layout=layout)
    if size > 4096:
        with pytest.raises(bt.Aliasing, match="writes into it after that; read a copy, `x.clone"):
            net(x)
        return
    net(x).backward()
    close(x.grad, (torch.arange(size) + 2.0).expand(3, size))
    close(net.state_dict()["n"], torch.arange(size) + 3.0)
