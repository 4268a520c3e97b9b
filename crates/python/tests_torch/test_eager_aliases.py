"""Random programs that write in place and take views: they agree with PyTorch, or raise an error of this package."""

import copy
import random

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

VIEWS = """{a}.view(-1); {a}[0]; {a}[:, 1:]; {a}[...]; {a}.detach(); {a}.data; {a}.contiguous(); {a}.flatten(); {a}.unsqueeze(0); {a}.squeeze()
{a}.chunk(2, 0)[0]; {a}.split(1)[0]; {a}.unbind(0)[0]; {a}.expand_as({a}); {a}.mT; {a}.movedim(0, -1); {a}.narrow(0, 0, 1)
{a}.transpose(0, -1); {a}.select(0, 0); {a}.unflatten(0, (1, -1)); {a}.reshape_as({a}); {a}.ravel(); torch.flatten({a})
torch.swapaxes({a}, 0, 1); torch.broadcast_to({a}, {a}.shape); torch.atleast_3d({a}); torch.broadcast_tensors({a}, {b})[1]
F.dropout({a}, 0.5, False); nn.Identity()({a}); nn.Flatten(0)({a}); {a}.to(torch.float32); {a}.float(); {a}.cpu(); +{a}; copy.copy({a})"""
COPIES = """{a}.clone(); F.relu({a}); F.pad({a}, (0, 0)); {a}.repeat(*[1] * {a}.dim()); {a}.clamp(min=-9); torch.cat([{a}]); {a} * {b}"""
WRITES = """{a}.relu_(); {a}.add_(1); {a}.mul_({b}); {a} += 1; {a} *= 2; {a} -= {b}; {a} **= 2; F.relu({a}, inplace=True)
{a}.clamp_(-1, 1); {a}.sigmoid_(); F.hardtanh_({a}); F.elu({a}, inplace=True); nn.ReLU(inplace=True)({a}); torch.relu_({a})
{a}.zero_(); {a}.fill_(2); {a}.squeeze_(); {a}.t_(); {a}.unsqueeze_(0); {a}.copy_({b}); {a}.lerp_({b}, 0.5); {a}[0] = 1
torch.add({a}, 1, out={b}); {a}.set_({b}); {a}.resize_(3); {a}.masked_fill_({a} > 0, 1.0)"""


def steps(text):
    return [step.strip() for line in text.splitlines() for step in line.split(";")]


def program(seed):
    rng, lines, count = random.Random(seed), [], 1
    for _ in range(rng.randint(2, 5)):
        names = dict(a=f"v{rng.randrange(count)}", b=f"v{rng.randrange(count)}")
        kind = rng.choices([VIEWS, COPIES, WRITES], [4, 1, 4])[0]
        step = rng.choice(steps(kind)).format(**names)
        lines.append(step if kind is WRITES else f"v{count} = {step}")
        count += kind is not WRITES
    return lines


def values(lines, x):
    names = dict(torch=torch, F=F, nn=nn, copy=copy, v0=x)
    with torch.no_grad():
        exec("\n".join(lines), names)
    return {name: value for name, value in names.items() if name[1:].isdigit()}


@pytest.mark.filterwarnings("ignore")
def test_programs_in_place_agree_or_are_refused():
    ran = 0
    for seed in range(2000):
        lines, x = program(seed), torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(seed))
        try:
            wanted = values(lines, x.clone())
        except (RuntimeError, IndexError):
            # Sizes that a step does not take.
            continue
        try:
            got = values(lines, btt.EagerTensor(x.clone()))
        except bt.Error as e:
            assert e.op and e.remedy
            continue
        ran += 1
        for name, value in wanted.items():
            mine = got[name].torch()
            same = mine.shape == value.shape and torch.allclose(mine, value, rtol=1e-5, atol=1e-5)
            assert same, f"{name} differs after\n" + "\n".join(lines)
    assert ran > 500


def test_writes_into_parts_share_no_memory_with_what_they_take():
    x, rows, row, number = torch.zeros(1, 1, 2, 3), torch.ones(1, 1, 2, 3), torch.ones(1, 2, 3), torch.tensor(1.0)
    made = [
        torch.slice_scatter(btt.EagerTensor(x), rows, 1, 0, 1),
        torch.select_scatter(btt.EagerTensor(x), row, 1, 0),
        btt.EagerTensor(x.clone()).fill_(number),
    ]
    for source in (rows, row, number):
        source.zero_()
    for one in made:
        assert torch.equal(one.torch(), torch.ones(1, 1, 2, 3))
    with pytest.raises(bt.UnsupportedOp, match="a copy into a tensor"):
        made[0].copy_(rows)


class CopiesAndWrites(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        y = self.conv(x)
        z = copy.copy(y)
        z.relu_()
        return y


@pytest.mark.parametrize("blocked", [False, True])
def test_a_shallow_copy_shares_memory(blocked):
    """As in PyTorch, whose copy has the same storage."""
    x = btt.EagerTensor(-torch.ones(1, 4, 2, 2))
    x = x.to_blocked() if blocked else x
    for copies in (copy.copy, lambda x: copy.copy(copy.copy(x)), lambda x: copy.copy(x.data)):
        copied = copies(x)
        assert copied is not x and copied.held.layout == x.held.layout
        for target in (x, copied):
            with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
                target.add_(1)
            with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
                target.relu_()
        del copied, target
    # Nobody else has it now, and a deep copy has memory of its own.
    apart = copy.deepcopy(x)
    x.add_(1)
    assert not x.to_strided().torch().any() and (apart.to_strided().torch() == -1).all()
    image = btt.EagerTensor(torch.randn(1, 3, 6, 6))
    image = image.to_blocked() if blocked else image
    with torch.no_grad(), pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
        btt.swap(CopiesAndWrites().eval())(image)


def test_writes_into_views_name_a_call_that_makes_a_tensor():
    x = btt.EagerTensor(torch.ones(1, 4, 2, 2))
    given = {"zero_": (), "fill_": (2.0,), "relu_": ()}
    for name, args in given.items():
        part = x[:, :2]
        with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of") as e:
            getattr(part, name)(*args)
        call = e.value.remedy.split("`")[1]
        made = eval(call, {"torch": torch, "x": part, "value": 2.0}) if "(" in call else getattr(part, call)()
        assert made.shape == part.shape and torch.equal(x.torch(), torch.ones(1, 4, 2, 2))


def test_data_that_is_set_is_a_tensor_of_this_package():
    x, y = torch.tensor([-1.0, 2.0, -3.0]), torch.tensor([[-4.0, 5.0]])
    for value in (y, btt.EagerTensor(y), bt.from_dlpack(y)):
        eager = btt.EagerTensor(x)
        eager.data = value
        assert isinstance(eager.held, bt.Tensor) and repr(eager.data) == repr(eager) == repr(btt.EagerTensor(y))
        assert torch.equal((eager + 1).relu().torch(), (y + 1).relu())
        assert torch.equal(eager.to_strided().torch(), y)
    with pytest.raises(bt.Error):
        eager.data = None
    assert torch.equal(eager.torch(), y)


def test_gradients_are_refused_as_attributes_too():
    eager = btt.EagerTensor(torch.ones(2))
    eager.requires_grad = False
    with pytest.raises(bt.UnsupportedOp, match="gradients; eager tensors are for inference; train the model with `blocktensor.torch.train`"):
        eager.requires_grad = True
    assert not eager.requires_grad


def test_memory_of_other_tensors_is_not_left_behind_by_a_write():
    """PyTorch changes what shares memory with the target of a write; calls in place give an eager tensor other memory."""
    writes = [lambda e: e.add_(1), lambda e: e.relu_(), lambda e: F.relu(e, inplace=True), lambda e: e.mul_(torch.ones(2, 3))]
    x, array = -torch.ones(2, 3), -np.ones((2, 3), np.float32)
    rows, weight = -torch.ones(4, 2, 3), nn.Parameter(-torch.ones(2, 3))
    base = btt.EagerTensor(-torch.ones(2, 3))
    shared = base.torch()
    for made in (x, array, rows[1], weight):
        for write in writes:
            with pytest.raises(bt.UnsupportedOp, match=r"memory of a (torch\.|numpy\.|torch\.nn\.parameter\.)(Tensor|ndarray|Parameter), which would not change") as e:
                with torch.no_grad():
                    eager = btt.EagerTensor(made)
                write(eager)
            assert e.value.remedy.endswith("or write into `x.clone()`")
    for write in writes:
        with pytest.raises(bt.UnsupportedOp, match="memory of a torch.Tensor, which would not change"):
            write(base)
        with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
            write(btt.EagerTensor(base))
    # Copies, converted ones, and memory that nobody else has.
    del shared
    base.add_(1)
    assert torch.equal(base.torch(), torch.zeros(2, 3))
    assert torch.equal(btt.EagerTensor(x).clone().add_(2).torch(), torch.ones(2, 3))
    btt.EagerTensor(x > 0).zero_()
    made = btt.EagerTensor(x)
    made.data = torch.ones(2, 3)
    made.add_(1)
    assert torch.equal(made.torch(), torch.full((2, 3), 2.0)) and torch.equal(x, -torch.ones(2, 3))


def test_writes_into_a_shared_tensor_are_seen_by_gradients():
    x = torch.ones(3)
    weights = torch.ones(3, requires_grad=True)
    loss = (weights * x).sum()
    btt.EagerTensor(x).torch().add_(1)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


class ReadsData(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.conv, self.call = nn.Conv2d(4, 4, 1), call

    def forward(self, x):
        return self.call(self.conv(x))


HELD_METHODS = [lambda x: x.held.abs(), lambda x: x.held.add_(1)]
HELD_CALLS = [lambda x: torch.relu(x.held), lambda x: F.max_pool2d(x.held, 2), lambda x: nn.Linear(6, 2)(x.held)]


@pytest.mark.parametrize("call", HELD_METHODS + HELD_CALLS)
def test_the_librarys_tensor_inside_of_a_forward_is_refused_by_name(call):
    eager = btt.swap(ReadsData(call).eval())
    with torch.no_grad(), pytest.raises(bt.UnsupportedOp) as e:
        eager(btt.EagerTensor(torch.ones(1, 4, 6, 6)))
    text = str(e.value)
    if call in HELD_METHODS:
        assert "a blocktensor.Tensor has none" in text and "in place of `y.held." in text
    else:
        assert "takes no blocktensor.Tensor, which `x.held` of an EagerTensor is" in text
        assert e.value.remedy == "write `x` or `x.detach()` in place of `x.held`"


READS = {
    "dtype": lambda x: x * 2 if x.data.dtype == torch.float32 and x.data.size(1) == 4 and not x.data.requires_grad else x,
    "operators": lambda x: x * x.data + 1 - x.data.abs(),
    "calls": lambda x: F.max_pool2d(x.data, 2),
    "a mask": lambda x: x * (x.data > 0).data.float(),
    "data of data": lambda x: x.data.data.relu(),
    "attributes": lambda x: x if x.data.grad is None and x.data.is_leaf else x * 2,
}


@pytest.mark.parametrize("name", READS)
def test_data_is_a_detached_tensor_in_a_swapped_model(name):
    torch.manual_seed(0)
    model, x = ReadsData(READS[name]).eval(), torch.rand(1, 4, 6, 6) - 0.5
    with torch.no_grad():
        wanted = model(x)
        for made in (btt.swap(model)(btt.EagerTensor(x)), btt.swap(model)(btt.EagerTensor(x).to_blocked()).to_strided()):
            assert torch.allclose(made.torch(), wanted, atol=1e-5)


THROUGH_DATA = [lambda x: x.data.mul_(2), lambda x: F.relu(x.data, inplace=True), lambda x: x.data.relu_(), lambda x: x.data.zero_()]


@pytest.mark.parametrize("write", THROUGH_DATA)
def test_a_write_through_data_is_refused_and_changes_nothing(write):
    given = torch.tensor([[-1.0, 2.0]])
    for x in (btt.EagerTensor(given) * 1, btt.EagerTensor(given[..., None, None]).to_blocked()):
        before = x.to_strided().tolist()
        with pytest.raises(bt.UnsupportedOp) as e:
            write(x)
        assert e.value.remedy == "write into `x` itself in place of `x.data`"
        assert x.to_strided().tolist() == before


def test_what_only_the_librarys_tensor_has_is_told():
    x = btt.EagerTensor(torch.ones(1, 16, 2, 2)).to_blocked()
    for name in ("is_blocked", "key", "as_blocks"):
        assert not hasattr(x, name) and hasattr(x.held, name)
        with pytest.raises(AttributeError, match=f"has no attribute `{name}`; the tensor that it holds has: `x.held.{name}`"):
            getattr(x.data, name)
    with pytest.raises(AttributeError, match="has no attribute `nothing`$"):
        x.data.nothing


def test_data_of_what_is_gone_is_written_and_data_that_is_set_is_another_tensors():
    x = btt.EagerTensor(torch.ones(2)) * 1
    y, z = x.data, x.data
    z.data = torch.ones(2) * 3
    del x
    assert y.mul_(2).tolist() == [2, 2]
    with pytest.raises(bt.UnsupportedOp, match="memory of a torch.Tensor"):
        value = torch.ones(2)
        z.data = value
        z.mul_(2)


def _computed():
    return torch.ones(3, requires_grad=True) * 2


LOST = {
    "EagerTensor": lambda e: btt.EagerTensor(_computed()),
    "EagerTensor of a parameter": lambda e: btt.EagerTensor(nn.Parameter(torch.ones(3))),
    "data": lambda e: setattr(e, "data", _computed()),
    "+": lambda e: e + _computed(),
    "reflected": lambda e: _computed() + e,
    "torch.mul": lambda e: torch.mul(e, _computed()),
    "a number": lambda e: e * _computed()[0],
    "function": lambda e: torch.clamp(e, max=_computed()),
    "list": lambda e: torch.cat([e, _computed()]),
    "linear": lambda e: torch.nn.functional.linear(e[None], _computed()[None]),
    "in place": lambda e: e.clone().add_(_computed()),
    "swapped": lambda e: btt.swap(Adds().eval())(e, _computed()),
}


class Adds(nn.Module):
    def forward(self, x, y):
        return x + y


@pytest.mark.parametrize("name", LOST)
def test_a_tensor_whose_gradient_would_be_lost_is_refused(name):
    """Its gradient lacked what came back through the eager tensor."""
    eager = btt.EagerTensor(torch.zeros(3))
    with pytest.raises(bt.InvalidArgument, match="requires a gradient, but eager tensors are for inference, and would drop it") as e:
        LOST[name](eager)
    assert e.value.remedy == "pass `x.detach()`, or call it under `torch.no_grad()`" and e.value.op in str(e.value)
    # A mask has no gradient in PyTorch.
    assert (eager != _computed()).tolist() == [1, 1, 1] and (_computed() > eager).tolist() == [1, 1, 1]
    # The remedy.
    with torch.no_grad():
        LOST[name](eager)
    assert btt.EagerTensor(_computed().detach()).tolist() == [2, 2, 2]


def test_parameters_are_constants_of_eager_calls():
    """Those of modules, and weights that a swapped model computes of them."""
    x = torch.randn(1, 4, 6, 6)
    conv = torch.nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 4, 3))
    model = nn.Sequential(conv, nn.PReLU(), nn.Flatten(), nn.Linear(64, 2)).eval()
    made = btt.swap(model)(btt.EagerTensor(x))
    torch.testing.assert_close(made.torch(), model(x).detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model[3](btt.EagerTensor(torch.ones(1, 64))).torch(), model[3](torch.ones(1, 64)).detach())
    scale = nn.Parameter(torch.full((3,), 2.0))
    assert (scale * btt.EagerTensor(torch.ones(3))).tolist() == [2, 2, 2]
    # Of PyTorch's tensors alone PyTorch computes, with the gradient.
    assert btt.swap(Adds().eval())(_computed(), _computed()).requires_grad


LENT = {
    "numpy": lambda y: y.numpy(),
    "part of numpy": lambda y: y.numpy()[:1],
    "asarray": np.asarray,
    "memoryview": lambda y: memoryview(y.numpy()),
    "numpy's from_dlpack": np.from_dlpack,
    "from_dlpack": torch.from_dlpack,
    "part of from_dlpack": lambda y: torch.from_dlpack(y)[0],
    "as_tensor": torch.as_tensor,
}


@pytest.mark.parametrize("name", LENT)
def test_memory_that_others_were_lent_is_not_left_behind_by_a_write(name):
    """In PyTorch they see the write, as long as they are there."""
    y = btt.EagerTensor(torch.ones(2, 2))
    lent = LENT[name](y)
    with pytest.raises(bt.UnsupportedOp, match=r"it writes into memory of a (numpy\.ndarray|torch\.Tensor), which would not change"):
        y.add_(1)
    assert (np.asarray(lent) == 1).all()
    del lent
    y.add_(1)
    assert y.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("copied", [np.array, torch.tensor, lambda y: np.asarray(y, dtype=np.float64)])
def test_copies_are_lent_no_memory(copied):
    y = btt.EagerTensor(torch.ones(2, 2))
    made = copied(y)
    y.add_(1)
    assert y.sum().item() == 8 and made.sum() == 4


def _others_of_an_operand():
    t = torch.zeros(3)
    yield "detached", btt.EagerTensor(t.detach()), t
    t = torch.zeros(3)
    yield "data", btt.EagerTensor(t.data), t
    layer = torch.nn.Linear(2, 2)
    yield "a parameter", btt.EagerTensor(layer.weight.detach()), layer.weight
    array = np.zeros(3, np.float32)
    yield "an array", btt.EagerTensor(torch.from_numpy(array)), array
    t = torch.zeros(3)
    x, other = btt.EagerTensor(t), t.detach()
    del t
    yield "the operand is gone", x, other
    t = torch.zeros(3)
    x, other = btt.EagerTensor(t), btt.EagerTensor(t.detach())
    del t
    yield "two eager tensors", x, other


def _others_of_a_result():
    made = [btt.EagerTensor(torch.zeros(3)) + 0 for _ in range(6)]
    yield "the array of a tensor", made[0], made[0].torch().numpy()
    yield "detached", made[1], made[1].torch().detach()
    yield "bits", made[2], made[2].torch().view(torch.int32)
    yield "storage", made[3], made[3].torch().untyped_storage()
    yield "eager again", made[4], btt.EagerTensor(made[4].torch())
    yield "the other way", btt.EagerTensor(torch.as_tensor(made[5])), made[5]


@pytest.mark.parametrize("cases", [_others_of_an_operand, _others_of_a_result])
def test_writes_into_memory_that_pytorch_shares_are_refused(cases):
    for name, x, other in cases():
        for write in (lambda x: x.add_(1), F.relu_, lambda x: x.mul_(0)):
            with pytest.raises(bt.UnsupportedOp, match=r"call `(torch\.)?(add|relu|mul)`.*`x\.clone\(\)`$|\.clone\(\)` one of them first"):
                write(x)
        assert x.clone().add_(1).torch().ravel()[0] == x.torch().ravel()[0] + 1, name
        del other


def test_memory_that_nobody_shares_any_more_is_written():
    x = btt.EagerTensor(torch.zeros(3))
    assert x.add_(1).tolist() == [1, 1, 1]
    y = x + 0
    y.torch().numpy()
    assert y.add_(1).tolist() == [2, 2, 2]
    t = torch.zeros(3)
    x, other = btt.EagerTensor(t), t.detach()
    del t, other
    assert x.add_(1).tolist() == [1, 1, 1]
