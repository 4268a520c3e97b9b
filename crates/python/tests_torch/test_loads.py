"""`load_state_dict` of packed modules: weights that share memory, code of the model's own, states that are no tensors."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn


def close(got, wanted):
    assert got.shape == wanted.shape
    assert (got - wanted).norm() <= 1e-5 * wanted.norm()


class Tied(nn.Module):
    """One weight of two layers, and a buffer that is a part of another weight."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)
        self.b.weight = self.a.weight
        self.register_buffer("part", self.c.weight.data[:2].transpose(0, 1))

    def forward(self, x):
        return self.c(self.b(self.a(x).relu())) * self.part.mean()


@pytest.mark.parametrize(
    "names", [["a.weight"], ["b.weight"], ["a.weight", "b.weight"], ["part"], ["c.weight"], ["part", "c.weight"], ["c.weight", "part"]]
)
def test_a_value_for_one_of_weights_that_share_memory_is_one_for_all(names):
    model, x = Tied().eval(), torch.randn(1, 4, 6, 6)
    with torch.no_grad():
        fast = btt.to_blocked(model, x, layouts="nchw")
        given = {name: torch.randn_like(model.state_dict()[name]) for name in names}
        packed = fast.load_state_dict(given, strict=False)
        assert packed == model.load_state_dict(given, strict=False)
        close(fast(x), model(x))
        again = fast.state_dict()
        assert list(again) == list(model.state_dict())
        for name, value in model.state_dict().items():
            assert torch.equal(again[name], value), name
        # The copies share memory as the weights do.
        given = {"b.weight": torch.randn(4, 4, 3, 3)}
        fast.load_state_dict(given, strict=False)
        model.load_state_dict(given, strict=False)
        close(fast(x), model(x))


class Doubles(nn.Conv2d):
    """Loads twice what it is given."""

    def _load_from_state_dict(self, state_dict, prefix, *more):
        state_dict[prefix + "weight"] = state_dict[prefix + "weight"] * 2
        super()._load_from_state_dict(state_dict, prefix, *more)


class Renames(nn.Conv2d):
    """Knows the names of an older version."""

    def _load_from_state_dict(self, state_dict, prefix, *more):
        if prefix + "w" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, *more)


def with_hook(layer, post):
    def before(module, state, prefix, *more):
        state[prefix + "weight"] = state[prefix + "weight"] + 1

    def after(module, keys):
        module.weight.data += 1

    if post:
        layer.register_load_state_dict_post_hook(after)
    else:
        layer.register_load_state_dict_pre_hook(before)
    return layer


LOADERS = {
    "method": lambda: Doubles(4, 4, 1),
    "hook before": lambda: with_hook(nn.Conv2d(4, 4, 1), False),
    "hook after": lambda: with_hook(nn.Conv2d(4, 4, 1), True),
}


@pytest.mark.parametrize("name", LOADERS)
def test_code_that_changes_what_a_model_loads_is_not_left_out(name):
    x = torch.randn(1, 4, 6, 6)
    model = nn.Sequential(nn.ReLU(), LOADERS[name]()).eval()
    with torch.no_grad():
        fast, wanted = btt.to_blocked(model, x, layouts="nchw"), model(x)
        state = {key: torch.rand_like(value) for key, value in model.state_dict().items()}
        with pytest.raises(bt.UnsupportedOp, match="module `1` has code of its own for `load_state_dict` that changes what it loads") as e:
            fast.load_state_dict(state)
        assert e.value.remedy == "load it into the model, and convert the model again"
        close(fast(x), wanted)
        with pytest.raises(RuntimeError, match="module `1` has code of its own"):
            nn.Sequential(fast).load_state_dict({f"0.{key}": value for key, value in state.items()})
        # The remedy.
        model.load_state_dict(state)
        close(btt.to_blocked(model, x, layouts="nchw")(x), model(x))


def test_code_for_the_names_of_older_versions_changes_nothing():
    model, x = nn.Sequential(Renames(4, 4, 1), nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 4, 1))).eval(), torch.randn(1, 4, 6, 6)
    with torch.no_grad():
        fast = btt.to_blocked(model, x, layouts="nchw")
        state = {key: torch.rand_like(value) for key, value in model.state_dict().items()}
        fast.load_state_dict(state)
        model.load_state_dict(state)
        close(fast(x), model(x))


def test_a_state_that_is_no_tensor_is_named():
    model, x = nn.Conv2d(4, 4, 1).eval(), torch.randn(1, 4, 6, 6)
    fast = btt.to_blocked(model, x, layouts="nchw")
    with pytest.raises(bt.InvalidArgument, match="got dict for `_extra_state`, but a packed module has tensors alone; leave it out"):
        fast.load_state_dict({**model.state_dict(), "_extra_state": {"scale": 2}})
    fast.load_state_dict(model.state_dict())


class Scaled(nn.Module):
    """Keeps a number in `get_extra_state`, and computes with it."""

    def __init__(self):
        super().__init__()
        self.conv, self.scale, self.notes = nn.Conv2d(4, 4, 1), 2.0, {"seen": [1, 2], "mean": torch.ones(2)}

    def forward(self, x):
        return self.conv(x) * self.scale

    def get_extra_state(self):
        return {"scale": self.scale, "notes": self.notes}

    def set_extra_state(self, state):
        self.scale, self.notes = state["scale"], state["notes"]


def test_extra_state_is_kept():
    model, x = nn.Sequential(nn.BatchNorm2d(4), Scaled()).eval(), torch.randn(1, 4, 6, 6)
    with torch.no_grad():
        fast = btt.to_blocked(model, x, layouts="nchw")
        state = fast.state_dict()
        assert list(state) == list(model.state_dict()) and "1._extra_state" in state
        assert state._metadata == model.state_dict()._metadata
        # What was converted, and not what the program edits later.
        state["1._extra_state"]["notes"]["seen"].append(3)
        model[1].notes["seen"].append(4)
        assert fast.state_dict()["1._extra_state"]["notes"]["seen"] == [1, 2]
        other = nn.Sequential(nn.BatchNorm2d(4), Scaled()).eval()
        other[1].scale = 5.0
        other.load_state_dict(fast.state_dict())
        close(other(x), model(x))
        # In a module around it, with its prefix.
        around = nn.Sequential(nn.ReLU(), fast)
        assert list(around.state_dict()) == list(nn.Sequential(nn.ReLU(), model).state_dict())
        assert around.state_dict()._metadata.keys() == nn.Sequential(nn.ReLU(), model).state_dict()._metadata.keys()
        around.load_state_dict(around.state_dict())
        # The same state loads, another is refused by name, and so is one that lacks it.
        fast.load_state_dict({**fast.state_dict(), "0.bias": torch.ones(4)})
        model[0].bias.copy_(torch.ones(4))
        close(fast(x), model(x))
        changed = fast.state_dict()
        changed["1._extra_state"]["scale"] = 3.0
        with pytest.raises(bt.UnsupportedOp, match="got another `1._extra_state` than the model had when it was converted") as e:
            fast.load_state_dict(changed)
        assert e.value.remedy == "load it into the model, and convert the model again"
        changed.pop("1._extra_state")
        with pytest.raises(bt.InvalidArgument, match="1._extra_state"):
            fast.load_state_dict(changed)
        assert fast.load_state_dict(changed, strict=False).missing_keys == ["1._extra_state"]
        close(fast(x), model(x))


def test_what_a_hook_adds_to_a_state_is_kept():
    model, x = nn.Conv2d(4, 4, 1).eval(), torch.randn(1, 4, 6, 6)
    model.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update({prefix + "made_by": "a hook"}))
    fast = btt.to_blocked(model, x, layouts="nchw")
    assert fast.state_dict()["made_by"] == "a hook" and list(fast.state_dict()) == list(model.state_dict())


def test_arguments_of_state_dict_in_order():
    model, x = nn.Conv2d(4, 4, 1).eval(), torch.randn(1, 4, 6, 6)
    fast, destination = btt.to_blocked(model, x, layouts="nchw"), {}
    assert fast.state_dict(destination, "a.") is destination and list(destination) == ["a.weight", "a.bias"]
    assert isinstance(fast.state_dict(keep_vars=True)["weight"], nn.Parameter)
    assert not isinstance(fast.state_dict()["weight"], nn.Parameter)


def test_arrays_are_no_weights():
    """They were to be left out, which is no way to load them."""
    model, x = nn.Linear(3, 2).eval(), torch.randn(1, 3)
    fast, arrays = btt.to_blocked(model, x), {name: t.detach().numpy() * 2 for name, t in model.state_dict().items()}
    with pytest.raises(bt.InvalidArgument, match="got ndarray for `weight`, but a packed module has tensors alone") as e:
        fast.load_state_dict(arrays)
    assert e.value.remedy == "pass `torch.from_numpy(x)`"
    wanted = model(x).detach() * 2
    fast.load_state_dict({name: torch.from_numpy(t) for name, t in arrays.items()})
    torch.testing.assert_close(fast(x), wanted)
    with pytest.raises(bt.InvalidArgument, match="got int for `weight`.*; pass the state dict of the same model"):
        fast.load_state_dict({**fast.state_dict(), "weight": 1})
