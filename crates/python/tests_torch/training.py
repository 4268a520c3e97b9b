"""Networks that are trained, and steps beside PyTorch."""

import copy

import blocktensor as bt
import blocktensor.torch as btt
import torch
from torch import nn
from torch.nn import functional as F

KINDS = [(weights, layout) for weights in ("blocktensor", "torch") for layout in ("blocked", "nhwc")]


class Residual(nn.Module):
    def __init__(self, c, o):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, o, 3, padding=1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, padding=1, groups=o), nn.BatchNorm2d(o, momentum=None)
        self.short = nn.Conv2d(c, o, 1)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.short(x) + self.bn2(self.conv2(y)))


class Cnn(nn.Module):
    """Convolutions of all kinds, norms, pools, a residual, and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 16, 3, padding="same"), nn.BatchNorm2d(16, track_running_stats=False)
        self.block = Residual(16, 24)
        self.grouped = nn.Conv2d(24, 32, 3, stride=2, padding=1, groups=2)
        self.up = nn.ConvTranspose2d(32, 20, 2, stride=2)
        self.scale = nn.Parameter(torch.ones(()))
        self.head = nn.Linear(20, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 2)
        x = F.relu6(self.up(self.grouped(self.block(x))))
        x = F.avg_pool2d(x, 2) * self.scale
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def made(kind, seed=0):
    torch.manual_seed(seed)
    return kind()


def batches(count, *shape, classes=5):
    torch.manual_seed(7)
    return [(torch.randn(*shape), torch.randint(classes, (shape[0],))) for _ in range(count)]


def losses_of(model, data, optimizer, scheduler=None):
    losses = []
    for x, y in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def trained(model, data, weights="blocktensor", layout="blocked", rate=0.01):
    """The losses of a training in this package, and the module."""
    if weights == "torch":
        net = btt.train(copy.deepcopy(model), weights="torch", layout=layout)
        return losses_of(net, data, torch.optim.SGD(net.parameters(), rate, momentum=0.9)), net
    net = btt.train(model, bt.grad.SGD(rate, momentum=0.9), layout=layout)
    return losses_of(net, data, net), net


def beside(model, data, rate=0.01):
    """The same in PyTorch."""
    model = copy.deepcopy(model)
    return losses_of(model, data, torch.optim.SGD(model.parameters(), rate, momentum=0.9)), model


def close(got, wanted, rtol=1e-4, atol=1e-6):
    torch.testing.assert_close(got, wanted, rtol=rtol, atol=atol)


class _One(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.conv, self.function = nn.Conv2d(4, 6, 3, padding=1), function

    def forward(self, x):
        return self.function(self.conv(x))


def beside_pytorch(function, weights="torch", layout="blocked"):
    """A function of what a convolution makes: the result and its gradient, here and in PyTorch."""
    model, x = made(lambda: _One(function)), torch.randn(2, 4, 6, 6)
    found = []
    for net in (btt.train(copy.deepcopy(model), weights=weights, layout=layout), model):
        z = x.clone().requires_grad_()
        y = net(z)
        y.sum().backward()
        found.append((y, z.grad))
    for here, there in zip(*found, strict=True):
        close(here, there, 1e-4, 1e-5)
