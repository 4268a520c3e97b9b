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
