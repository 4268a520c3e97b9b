"""What is done with a swapped model leaves the model that it was made of as it was: wrappers, conversions, weights under other names."""

import copy
import pickle
import warnings

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn
from torch.nn.utils import fuse_conv_bn_eval, parametrize, prune, weight_norm

X = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(9))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 16, 3), nn.Linear(16, 5)
        self.register_buffer("offset", torch.ones(5))

    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3))) + self.offset


class Forwarding(nn.Module):
    """A wrapper of somebody's own that forwards what is set on it, and whose copy is itself."""

    def __init__(self, model):
        super().__init__()
        self.inner = model
        self.__dict__["ready"] = True

    def __setattr__(self, name, value):
        setattr(vars(self)["_modules"]["inner"], name, value) if "ready" in vars(self) else super().__setattr__(name, value)

    def __copy__(self):
        return self

    def forward(self, x):
        return self.inner(x)


def wrapped(kind, model):
    if kind == "forwarding":
        made = Forwarding(model)
        vars(made)["training"] = False
        return made
    if kind == "in place":
        model.compile(backend="eager")
        model.conv.compile(backend="eager")
        model.fc.compile(backend="eager")
        return model
    made = torch.compile(model, backend="eager")
    return made if kind == "compiled" else nn.Sequential(made, nn.ReLU()).eval()


def seen(model):
    found = {name: (x.dtype, tuple(x.shape), x.stride(), id(x)) for name, x in model.state_dict(keep_vars=True).items()}
    hooks = [len(x._forward_hooks) + len(x._forward_pre_hooks) for x in model.modules()]
    return found, hooks, [name for name, _ in model.named_modules()], [sorted(vars(x)) for x in model.modules()]


@pytest.mark.parametrize("kind", ["compiled", "a part", "in place", "forwarding"])
def test_wrappers_are_swapped_as_what_they_wrap(kind):
    with torch.no_grad():
        net = Net().eval()
        wanted = net(X)
        model = wrapped(kind, net)
        wanted, before = torch.relu(wanted) if kind == "a part" else wanted, seen(net)
        eager = btt.swap(model)
        assert seen(net) == before
        torch.testing.assert_close(eager(btt.EagerTensor(X)).torch(), wanted)
        assert any("Packed" in type(x).__name__ for x in eager.modules())
        names = [name for name, _ in model.named_modules() if name.endswith("conv")]
        blocked = btt.swap(model, to_strided=names)(btt.EagerTensor(X).to_blocked())
        torch.testing.assert_close(blocked.torch(), wanted)
        torch.testing.assert_close(model(X), wanted)
        assert seen(net) == before


def test_hooks_on_the_wrapper_are_not_dropped():
    model = torch.compile(Net().eval(), backend="eager")
    model.register_forward_hook(lambda *_: None)
    for one, name in ((model, "the model"), (nn.Sequential(model).eval(), "module `0`")):
        with pytest.raises(bt.UnsupportedOp, match=name) as e:
            btt.swap(one)
        assert e.value.op == "swap" and e.value.remedy


CONVERSIONS = {
    "half": lambda m: m.half(),
    "double": lambda m: m.double(),
    "to dtype": lambda m: m.to(torch.bfloat16),
    "to device": lambda m: m.to("meta"),
    "to_empty": lambda m: m.to_empty(device="cpu"),
    "format": lambda m: m.to(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_of_the_copy_is_refused(name):
    model = nn.Sequential(Net(), nn.Identity()).eval()
    before, wanted = seen(model), model(X)
    eager = btt.swap(model)
    for part in (eager, eager[0], eager[0].conv, eager[0].fc, btt.swap(eager), copy.deepcopy(eager)):
        with pytest.raises(bt.UnsupportedOp, match="shares its weights") as e:
            # A part of another rank has no weights of this format.
            (CONVERSIONS[name] if part is not eager[0].fc or name != "format" else CONVERSIONS["half"])(part)
        assert "`copy.deepcopy`" in e.value.remedy
    assert seen(model) == before and torch.equal(model(X), wanted)
    # What changes nothing is taken.
    for same in (eager.float(), eager.cpu(), eager.to("cpu", torch.float32), eager.to(X)):
        assert same is eager


@pytest.mark.parametrize("part", ["conv", "fc"])
@pytest.mark.parametrize("change", ["prune", "weight_norm", "parametrize", "del", "buffer", "lazy buffer"])
@pytest.mark.filterwarnings("ignore")
def test_weights_come_and_go_on_the_model_alone(change, part):
    model = Net().eval()
    before, wanted = seen(model), model(X)
    of = getattr(btt.swap(model), part)
    if "buffer" in change:
        of.register_buffer("more", torch.ones(1), persistent=change == "buffer")
        assert "more" in dict(of.named_buffers()) and of.more == 1
        del of.more
    else:
        with pytest.raises(bt.UnsupportedOp, match="to remove `weight`") as e:
            {
                "prune": lambda: prune.random_unstructured(of, "weight", 0.5),
                "weight_norm": lambda: weight_norm(of),
                "parametrize": lambda: parametrize.register_parametrization(of, "weight", nn.Tanh()),
                "del": lambda: delattr(of, "weight"),
            }[change]()
        assert "swap it again" in e.value.remedy
    assert seen(model) == before and torch.equal(model(X), wanted)


def test_weights_that_are_set_are_set_on_both():
    model = Net().eval()
    eager = btt.swap(model)
    with torch.no_grad(), warnings.catch_warnings():
        for place, other in ((model, eager), (eager, model)):
            place.fc.bias = nn.Parameter(torch.randn(5))
            assert other.fc.bias is place.fc.bias
            torch.testing.assert_close(eager(btt.EagerTensor(X)).torch(), model(X))
        twin = copy.deepcopy(eager)
        twin.fc.weight.zero_()
        assert model.fc.weight.abs().sum() > 0


def test_a_swapped_model_is_for_inference_and_not_converted():
    model = Net().eval()
    eager = btt.swap(model)
    for part in (eager, eager.conv, eager.fc, btt.swap(eager)):
        with pytest.raises(bt.InvalidArgument, match="for inference"):
            part.train()
        assert part.eval() is part and part.train(False) is part
    for one in (eager, nn.Sequential(eager).eval(), nn.Sequential(eager.conv).eval(), eager.conv):
        with pytest.raises(bt.InvalidArgument, match="for eager tensors"):
            btt.to_blocked(one, X)
    assert torch.equal(btt.swap(eager)(X), model(X))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("change", ["set", "assign", "of the module", "fuse"])
def test_a_copy_of_a_packed_convolution_computes_with_what_is_set_on_it(change, copied):
    model = nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)).eval()
    model[1].running_mean.normal_()
    twin, apart = copied(btt.swap(model)), copy.deepcopy(model)
    before = seen(model)
    with torch.no_grad():
        twin(btt.EagerTensor(torch.randn(1, 4, 6, 6)))
        for one in (twin, apart):
            torch.manual_seed(3)
            weight = nn.Parameter(torch.randn(8, 4, 3, 3))
            if change == "set":
                one[0].weight = weight
            elif change == "assign":
                one.load_state_dict({**one.state_dict(), "0.weight": weight}, assign=True)
            elif change == "of the module":
                getattr(one[0], "module", one[0]).weight = weight
            else:
                one[0], one[1] = fuse_conv_bn_eval(one[0], one[1]), nn.Identity()
        image = torch.randn(1, 4, 6, 6)
        torch.testing.assert_close(twin(btt.EagerTensor(image)).torch(), apart(image))
        torch.testing.assert_close(twin(image), apart(image))
        assert torch.equal(twin[0].weight, apart[0].weight) and torch.equal(twin.state_dict()["0.weight"], apart[0].weight)
    assert [name for name, _ in twin.named_parameters()] == [name for name, _ in apart.named_parameters()]
    assert seen(model) == before


def test_a_copy_of_a_packed_convolution_keeps_names_of_its_own():
    eager = btt.swap(nn.Sequential(nn.Conv2d(4, 8, 3)).eval())
    eager[0].register_buffer("more", torch.ones(1))
    for twin in (copy.deepcopy(eager), pickle.loads(pickle.dumps(eager)), copy.copy(eager[0])):
        part = twin[0] if isinstance(twin, nn.Sequential) else twin
        assert part.more == 1 and [name for name, _ in part.named_buffers()] == ["more"]
