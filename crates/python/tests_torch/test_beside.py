"""What a packed module refuses beside its plan: state, hooks of state, recordings; and what files and autocast leave out."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import X
from torch import nn


def packed():
    return btt.to_blocked(nn.Sequential(nn.Conv2d(4, 4, 1)).eval(), X, layouts="nchw")


STATE = {
    "module": lambda f: setattr(f, "head", nn.Linear(2, 2)),
    "parameter": lambda f: setattr(f, "scale", nn.Parameter(torch.ones(1))),
    "buffer": lambda f: setattr(f, "mean", nn.Buffer(torch.ones(1))),
    "register_buffer": lambda f: f.register_buffer("mean", torch.ones(1)),
    "register_parameter": lambda f: f.register_parameter("scale", nn.Parameter(torch.ones(1))),
    "no parameter": lambda f: f.register_parameter("scale", None),
    "add_module": lambda f: f.add_module("head", nn.Linear(2, 2)),
    "register_module": lambda f: f.register_module("head", nn.Linear(2, 2)),
    "set_submodule": lambda f: f.set_submodule("head", nn.Linear(2, 2)),
    "state_dict pre-hook": lambda f: f.register_state_dict_pre_hook(lambda *a: None),
    "state_dict post-hook": lambda f: f.register_state_dict_post_hook(lambda *a: None),
    "load_state_dict pre-hook": lambda f: f.register_load_state_dict_pre_hook(lambda *a: None),
    "load_state_dict post-hook": lambda f: f.register_load_state_dict_post_hook(lambda *a: None),
}


@pytest.mark.parametrize("name", STATE)
def test_state_beside_the_plan_is_refused(name):
    fast = packed()
    with pytest.raises(bt.UnsupportedOp, match="keep it in a module around the packed one") as e:
        STATE[name](fast)
    assert e.value.remedy and e.value.op
    around = nn.Sequential(fast)
    assert list(around.state_dict()) == ["0.0.weight", "0.0.bias"] and not list(around.parameters())
    # The remedy.
    around.head = nn.Linear(2, 2)
    around.load_state_dict(around.state_dict())


def test_plain_attributes_and_hooks_of_forward_are_taken():
    fast = packed()
    fast.tag, fast.seen = torch.ones(1), []
    fast.register_forward_hook(lambda module, args, result: module.seen.append(1))
    fast.register_forward_pre_hook(lambda module, args: module.seen.append(0))
    fast(X)
    assert fast.seen == [0, 1] and torch.equal(fast.tag, torch.ones(1))


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.fast = packed()

    def forward(self, x):
        return self.fast(x + 1) * 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [packed, Around])
def test_recordings_are_refused(make):
    module = make().eval()
    for record in (
        lambda: torch.export.export(module, (X,), strict=True),
        lambda: torch.export.export(module, (X,)),
        lambda: torch.compile(module, backend="eager", fullgraph=True)(X),
    ):
        torch._dynamo.reset()
        with pytest.raises(bt.UnsupportedOp, match="export") as e:
            record()
        assert e.value.remedy and e.value.op
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(module, backend="eager")(X), module(X))


def test_autocast_leaves_a_packed_module_as_it_is():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 1)

        def forward(self, x):
            # No op is for the product.
            return torch.einsum("abcd,abcd->acd", self.conv(x), x) * 2

    odd = btt.to_blocked(Odd().eval(), X, layouts="nchw", partial=True)
    assert len(odd.plan.regions) > 1
    for fast in (packed(), odd):
        wanted = fast(X)
        with torch.autocast("cpu", torch.bfloat16):
            made = fast(X)
        assert made.dtype == torch.float32 and torch.equal(made, wanted)


class Nested(nn.Module):
    def forward(self, x):
        return {"a": x * 2, "b": [x.relu(), x + 1]}


def test_a_file_returns_flat_results(tmp_path):
    fast = btt.to_blocked(Nested().eval(), X, layouts="nchw")
    fast.save(tmp_path / "a.plan")
    made, wanted = btt.load(tmp_path / "a.plan")(X), Nested()(X)
    assert type(made) is tuple
    torch.testing.assert_close(list(made), [wanted["a"], *wanted["b"]])
