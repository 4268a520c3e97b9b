"""What a model computes does not change: state, random numbers, writes into inputs, shared memory, what PyTorch keeps."""

import copy
import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from models import One, X, converted, equal, places
from torch import nn
from torch.nn import functional as F

# Random numbers.

RANDOM = {
    "randn": lambda x: x + torch.randn(1, 4, 8, 8),
    "rand": lambda x: x * torch.rand(1),
    "rand_like": lambda x: x + torch.rand_like(x),
    "randint": lambda x: x + torch.randint(0, 100, (8,)).float(),
    "randperm": lambda x: x + torch.randperm(8).float(),
    "normal": lambda x: x + torch.normal(torch.zeros(8), torch.ones(8)),
    "bernoulli": lambda x: x * torch.bernoulli(torch.full((8,), 0.5)),
    "multinomial": lambda x: x + torch.multinomial(torch.ones(8), 8).float(),
    "in_place": lambda x: x + torch.empty(8).uniform_(),
    "dropout": lambda x: F.dropout(x, 0.5, training=True),
    "dropout2d": lambda x: F.dropout2d(x, 0.5, training=True),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "trained_noise": lambda x: x + torch.zeros(8).add_(torch.randn(8)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_calls_are_refused_by_name_or_drawn_in_each_run(name):
    with pytest.raises(bt.UnsupportedOp, match="draws random numbers"):
        converted(RANDOM[name])
    fast = converted(RANDOM[name], partial=True)
    assert "draws random numbers" in repr(fast.plan)
    torch.manual_seed(7)
    got = [fast(X) for _ in range(2)]
    torch.manual_seed(7)
    wanted = [RANDOM[name](X) for _ in range(2)]
    assert not torch.equal(got[0], got[1])
    equal(got, wanted)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(
    ("source", "function"),
    [
        ("random", lambda x: x * random.random()),
        ("numpy.random", lambda x: x * float(np.random.rand())),
        ("seeds PyTorch's generator", lambda x: (torch.manual_seed(0), x + torch.rand(8))[1]),
    ],
)
def test_generators_outside_of_the_graph_are_refused_and_left_as_they_were(source, function, partial):
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    with pytest.raises(bt.UnsupportedOp, match=source):
        converted(function, partial=partial)
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())


def test_factories_that_are_not_random_and_dropout_in_inference_are_folded():
    def forward(x):
        y = x + torch.arange(8.0) + torch.linspace(0, 1, 8) + torch.full((8,), 2.0) + torch.zeros(1) + torch.ones_like(x)
        return y * F.dropout(torch.ones(8), 0.5, training=False) + x.new_empty(8).fill_(3)

    equal(converted(forward)(X), forward(X))


# State.

STATE = {
    "buffer": One(lambda s, x: (s.n.add_(1), x * s.n)[1], {"n": torch.zeros(1)}),
    "view_of_a_buffer": One(lambda s, x: (s.n.view(-1)[:1].add_(1), x * s.n)[1], {"n": torch.zeros(1, 8)}),
    "assigned_buffer": One(lambda s, x: (setattr(s, "n", s.n + 1), x * s.n)[1], {"n": torch.zeros(1)}),
    "buffer_by_copy": One(lambda s, x: (s.n.copy_(x), x * 2)[1], {"n": torch.zeros(1, 4, 8, 8)}),
    "tensor_attribute": One(lambda s, x: (s.n.add_(1), x * s.n)[1], n=torch.zeros(1)),
    "parameter": One(lambda s, x: (s.n.detach().add_(1), x * s.n)[1], n=nn.Parameter(torch.zeros(1))),
    "batch_norm": One(
        lambda s, x: F.batch_norm(x, s.n, s.v, training=True), {"n": torch.zeros(4), "v": torch.ones(4)}
    ),
    "instance_norm": One(
        lambda s, x: F.instance_norm(x, s.n, s.v, use_input_stats=True), {"n": torch.zeros(4), "v": torch.ones(4)}
    ),
    "number": One(lambda s, x: (setattr(s, "n", s.n + 1), x * s.n)[1], n=1),
    "first_number": One(lambda s, x: (setattr(s, "n", getattr(s, "n", 0) + 1), x * s.n)[1]),
    "memory": One(lambda s, x: (setattr(s, "n", x if s.n is None else s.n * 0.5 + x), s.n * 1)[1], n=None),
    "list": One(lambda s, x: (s.n.append(1), x * len(s.n))[1], n=[]),
    "nested": One(lambda s, x: (s.n["k"][0].append(1), x * len(s.n["k"][0]))[1], n={"k": [[]]}),
    "object": One(lambda s, x: (setattr(s.n, "count", s.n.count + 1), x * s.n.count)[1], n=SimpleNamespace(count=0)),
    "tensors_in_a_list": One(lambda s, x: (s.n[0].add_(1), x * s.n[0])[1], n=[torch.zeros(1)]),
    "dict": One(lambda s, x: (s.n.update(k=s.n["k"] + 1), x * s.n["k"])[1], n={"k": 0}),
}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("name", STATE)
def test_a_model_with_state_is_refused_and_left_as_it_was(name, partial):
    model = STATE[name]
    before, attributes = copy.deepcopy(model.state_dict()), copy.deepcopy(getattr(model, "n", "none"))
    with pytest.raises(bt.UnsupportedOp, match="`(n|v|tensor)`.* depends on the runs before it"):
        converted(model, partial=partial)
    assert all(torch.equal(x, before[key]) for key, x in model.state_dict().items())
    assert torch.equal(model.n, attributes) if isinstance(attributes, torch.Tensor) else getattr(model, "n", "none") == attributes


def test_what_a_forward_keeps_and_finds_again_is_no_state():
    def forward(s, x):
        if s.mask is None:
            s.mask = torch.ones(8)
        if 8 not in s.table:
            s.table[8] = torch.arange(8.0)
        s.height, s.last = x.shape[2], x.shape
        return x * s.mask + s.table[8]

    model = One(forward, mask=None, table={})
    fast = converted(model)
    assert model.mask is None and model.table == {} and not hasattr(model, "height")
    equal(fast(X), model(X))


def test_the_weights_of_an_rnn_are_no_state():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(8, 6)

        def forward(self, x):
            return self.rnn(x[0])[0].relu()

    model = Recurrent().eval()
    weights = [x.clone() for x in model.rnn._flat_weights]
    with pytest.raises(bt.UnsupportedOp, match="lstm"):
        btt.to_blocked(model, X, layouts="blocked")
    fast = btt.to_blocked(model, X, partial=True, layouts="blocked")
    assert all(isinstance(x, nn.Parameter) and torch.equal(x, y) for x, y in zip(model.rnn._flat_weights, weights, strict=True))
    with torch.no_grad():
        equal(fast(X), model(X))


def test_models_are_converted_on_several_threads():
    original = nn.Module.__setattr__
    with ThreadPoolExecutor(3) as pool:
        for fast in pool.map(lambda _: converted(lambda x: x * 2), range(6)):
            equal(fast(X), X * 2)
    assert nn.Module.__setattr__ is original


# Results that share memory, and results that are not computed.


def aliases(x):
    y = x * 2
    return x, x.view(-1), x[:, 1], y, y[:, :2], F.dropout(x, 0.5, False), x.clone(), y.permute(0, 2, 3, 1).chunk(2, -1)[1]


def test_results_share_memory_as_in_pytorch():
    got, wanted = converted(aliases)(X), aliases(X)
    equal(got, wanted)

    assert places(got, X) == places(wanted, X)
    assert got[0] is X


def test_a_result_is_not_memory_of_the_caller():
    for function in (lambda x: x.clone(), lambda x: x.clone().view(-1)):
        x = X.clone()
        fast = converted(function)
        fast(x).add_(1)
        assert torch.equal(x, X)


def test_results_that_are_no_calls_are_there_in_each_run():
    model = One(lambda s, x: (torch.ones(3), s.b, 5, None, "a", x + 1, {"k": x + 1}), {"b": torch.ones(2)})
    fast = btt.to_blocked(model, X, layouts="blocked")
    first = fast(X)
    first[0].add_(1)
    again = fast(X)
    assert torch.equal(again[0], torch.ones(3)) and again[2:5] == (5, None, "a")
    assert again[1].data_ptr() == model.b.data_ptr()
    equal(again[6]["k"], X + 1)


def test_constants_share_memory_as_in_pytorch():
    def forward(x):
        table = torch.arange(32.0).view(4, 8)
        return x * 2, table, table.T, table[1:], torch.ones(2).expand(3, 2)

    fast = converted(forward)
    for _ in range(2):
        got = fast(X)
        equal(got, forward(X))
        assert places(got, X) == places(forward(X), X)
        got[1].zero_()


def test_inputs_in_another_order_are_not_mixed_up():
    def forward(inputs):
        return inputs["b"] - inputs["a"] * 2

    fast, y = converted(forward, ({"a": X, "b": X + 1},)), torch.ones_like(X)
    equal(fast({"b": y, "a": X}), forward({"a": X, "b": y}))
    equal(pickle.loads(pickle.dumps(fast))({"b": y, "a": X}), forward({"a": X, "b": y}))
    with pytest.raises(bt.InvalidArgument, match="nested in another way"):
        fast(X, y)


def test_a_file_keeps_the_order_of_inputs_and_results(tmp_path):
    def forward(x, y, unused):
        return y.exp(), y - x * 2

    three = (X, X + 1, X)
    fast = converted(forward, three)
    fast.save(tmp_path / "two.plan")
    equal(btt.load(tmp_path / "two.plan")(*three), forward(*three))


@pytest.mark.parametrize(
    "function", [lambda x: (x, x * 2), lambda x: (x * 2, 5), lambda x: (lambda y: (y, y))(x * 2), lambda x: (x * 2, torch.ones(1))]
)
def test_a_file_that_would_lose_results_is_refused(function, tmp_path):
    with pytest.raises(bt.UnsupportedOp, match="no results of its plan"):
        converted(function).save(tmp_path / "lost.plan")
    assert not list(tmp_path.iterdir())


def test_calls_of_pytorch_check_their_sizes():
    fast = converted(lambda x: torch.special.i0(x) * x.shape[2], partial=True)
    equal(fast(X), torch.special.i0(X) * 8)
    for wrong in (torch.ones(1, 4, 4, 4), X.double()):
        with pytest.raises(bt.InvalidArgument, match="this plan is for"):
            fast(wrong)


def test_a_number_of_the_data_is_computed_in_each_run():
    def forward(x):
        return x * x.sum().item()

    with pytest.raises(bt.UnsupportedOp, match="a number that depends on data"):
        converted(forward)
    fast = converted(forward, partial=True)
    for x in (X, X + 1):
        equal(fast(x), forward(x))


# Weights.


def test_what_is_computed_from_weights_is_computed_again():
    model = One(lambda s, x: F.conv2d(x, s.w * 2), w=nn.Parameter(torch.ones(3, 4, 1, 1)))
    fast = btt.to_blocked(model, X, layouts="blocked")
    with torch.no_grad():
        model.w.mul_(3)
    kept = fast.load_state_dict(model.state_dict())
    assert kept == ([], [])
    with torch.no_grad():
        equal(fast(X), model(X))
    loaded = fast.load_state_dict({"other": torch.ones(1)}, strict=False)
    assert loaded.missing_keys == ["w"] and loaded.unexpected_keys == ["other"]


def test_an_edited_weight_changes_no_call_that_pytorch_runs():
    model = One(lambda s, x: torch.hypot(x, s.w) * s.w, w=nn.Parameter(torch.ones(8)))
    fast = btt.to_blocked(model, X, partial=True, layouts="blocked")
    wanted = fast(X)
    with torch.no_grad():
        model.w.add_(1)
    assert torch.equal(fast(X), wanted)
    with pytest.raises(bt.PackMismatch, match="`?w"):
        fast.check_weights(model)


def test_edits_of_buffers_outside_of_the_state_are_found():
    model = One(lambda s, x: x * s.scale, scale=torch.ones(8))
    fast = btt.to_blocked(model, X, layouts="blocked")
    fast.check_weights(model)
    model.scale.add_(1)
    with pytest.raises(bt.PackMismatch, match="scale"):
        fast.check_weights(model)


def test_a_state_dict_is_that_of_the_packed_weights():
    model = One(lambda s, x: x * s.w, w=nn.Parameter(torch.ones(8)))
    fast = btt.to_blocked(model, X, layouts="blocked")
    assert set(fast.state_dict()) == {"w"}
    with torch.no_grad():
        model.w.add_(1)
    with pytest.raises(bt.PackMismatch, match="w"):
        fast.state_dict()
    fast.load_state_dict(model.state_dict())
    assert torch.equal(fast.state_dict()["w"], torch.full((8,), 2.0))


def test_weights_that_cannot_be_packed_change_nothing():
    model = One(lambda s, x: x.index_select(1, s.index), {"index": torch.tensor([1, 0])})
    fast = btt.to_blocked(model, X, layouts="blocked")
    with pytest.raises(bt.UnsupportedOp, match="more than 32 bits"):
        fast.load_state_dict({"index": torch.tensor([1, 2**40])})
    equal(fast(X), model(X))
    assert torch.equal(fast.state_dict()["index"], torch.tensor([1, 0]))


def test_weights_that_pytorch_marks_as_negated_are_packed():
    marked = torch._neg_view(torch.randn(3, 4, 1, 1)), torch.randn(4, dtype=torch.complex64).conj().imag
    assert all(x.is_neg() for x in marked)
    model = One(lambda s, x: F.conv2d(x * s.scale.view(4, 1, 1), s.w), {"scale": marked[1]}, w=nn.Parameter(marked[0]))
    fast = btt.to_blocked(model, X, layouts="blocked")
    with torch.no_grad():
        equal(fast(X), model(X))
        fast.check_weights(model)
        model.w.mul_(2)
        with pytest.raises(bt.PackMismatch, match="w"):
            fast.check_weights(model)
        fast.load_state_dict(model.state_dict())
        equal(fast(X), model(X))
        compiled = torch.compile(model, backend="blocktensor", options={"layouts": "nchw"})
        equal(compiled(X), model(X))


# Graphs inside a graph.


class Contexts(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        with torch.autocast("cpu", enabled=False), torch.enable_grad():
            left, right = self.conv(x).chunk(2, 1)
        return torch.cat([right, left.relu()], 1)


def test_contexts_that_change_no_number_are_taken_in():
    model = Contexts().eval()
    fast = btt.to_blocked(model, X, layouts="blocked")
    assert len(fast.plan.regions) == 1
    with torch.no_grad():
        equal(fast(X), model(X))
    assert "conv" in repr(fast.plan)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("transform", [torch.func.vmap, lambda f: torch.func.grad(lambda y: f(y).sum())])
def test_transforms_are_refused_by_name(transform, partial):
    with pytest.raises(bt.UnsupportedOp, match="`torch.func`"):
        converted(lambda x: transform(lambda y: y * y)(x), partial=partial)


def in_bfloat16(x):
    y = x * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = torch.matmul(y, x)
    return z.float() + 1


def conditional(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)) * 2


@pytest.mark.parametrize(("function", "words"), [(in_bfloat16, "autocast"), (conditional, "control flow that depends on data")])
def test_other_graphs_are_refused_by_name_or_run_by_pytorch(function, words):
    with pytest.raises(bt.UnsupportedOp, match=words) as e:
        converted(function)
    assert all("getitem" not in call for _, call, _ in e.value.missing)
    fast = converted(function, partial=True)
    for x in (X, X.abs(), -X.abs()):
        equal(fast(x), function(x))


def test_names_of_results_and_of_children_are_told_apart():
    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.mixed = nn.ModuleList([nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 3, padding=1)])

        def forward(self, output):
            return torch.cat([conv(part) for conv, part in zip(self.mixed, output.split(2, 1), strict=True)], 1)

    class Wrapped(nn.Sequential):
        def forward(self, x):
            parts = x.split(2, 1)
            return torch.cat([self[0](parts[0]), self[1](parts[1])], 1)

    for model in (nn.Sequential(Split()).eval(), nn.Sequential(Wrapped(nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1))).eval()):
        with torch.no_grad():
            equal(btt.to_blocked(model, X, layouts="blocked")(X), model(X))


# Failures of `torch.export`.


def test_models_that_cannot_be_exported_are_told_what_to_do():
    def refused(kind, words, model, example=X):
        with pytest.raises(kind, match=words) as e:
            btt.to_blocked(model, example, layouts="blocked")
        assert e.value.remedy and len(str(e.value)) < 800
        return e.value

    conv = nn.Conv2d(4, 4, 1).eval()
    refused(bt.InvalidArgument, "the model raises TypeError: .*a tuple has one item for each argument", conv, [X])
    refused(bt.InvalidArgument, "the model raises RuntimeError: ", conv, torch.ones(1, 3, 8, 8))
    refused(bt.InvalidArgument, r"module `0` is lazy.*run the model once", nn.Sequential(nn.LazyConv2d(4, 1)).eval())
    refused(bt.UnsupportedOp, "module `0` is TorchScript", nn.Sequential(torch.jit.script(nn.ReLU())).eval())
    refused(bt.InvalidArgument, "got function", lambda x: x)
    refused(bt.InvalidArgument, r"pass `x.float\(\)`", conv, X.double())
    refused(bt.InvalidArgument, "got int", conv, (X, 3))
    data = refused(bt.UnsupportedOp, "control flow that depends on data", One(lambda s, x: x + 1 if x.sum() > 0 else x))
    assert "torch.where" in data.remedy
    numpy = refused(bt.UnsupportedOp, "cannot follow the model", One(lambda s, x: x + torch.from_numpy(x.numpy())))
    assert "control flow" not in str(numpy) and "the model itself runs" in numpy.remedy


def test_quantised_modules_are_refused():
    quantised = pytest.importorskip("torch.ao.nn.quantized")
    with pytest.raises(bt.UnsupportedOp, match="module `0` is quantised"):
        btt.to_blocked(nn.Sequential(quantised.Conv2d(4, 4, 1)).eval(), X, layouts="blocked")


def test_a_failed_export_prints_no_graph_and_leaves_buffers(capfd):
    def forward(s, x):
        s.n.add_(1)
        return x + 1 if x.sum() > 0 else x

    model = One(forward, {"n": torch.zeros(1)})
    with pytest.raises(bt.UnsupportedOp) as e:
        btt.to_blocked(model, X, layouts="blocked")
    written = capfd.readouterr()
    assert "torch.ops.aten" not in written.out + written.err + str(e.value)
    assert model.n == 0


def test_what_the_model_writes_on_stderr_is_kept(capsys):
    import sys

    converted(lambda x: (print("a word of the model", file=sys.stderr), x + 1)[1])
    assert "a word of the model" in capsys.readouterr().err


def test_attributes_of_recurrent_layers_cause_no_warning() -> None:
    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = torch.nn.LSTM(4, 4, batch_first=True)
            self.conv = torch.nn.Conv1d(4, 4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(self.rnn(x)[0].transpose(1, 2))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = btt.plan(Recurrent().eval(), torch.randn(1, 3, 4), layouts="blocked")
    assert "lstm" in repr(plan)


@pytest.mark.parametrize("low", [-float("inf"), -2.0, None])
def test_bounds_of_hardtanh(low):
    bounds = {} if low is None else {"min_val": low, "max_val": 0.5}
    model = One(lambda s, x: F.hardtanh(x * 3, **bounds)).eval()
    torch.testing.assert_close(btt.to_blocked(model, X, layouts="blocked")(X), model(X))


# Calls that count elements in memory.

COUNTED = {
    "as_strided": lambda y: torch.as_strided(y, (3, 4), (4, 1), 5),
    "as_strided_scatter": lambda y: torch.as_strided_scatter(y, torch.zeros(3, 4), (3, 4), (4, 1), 5),
    "resize_": lambda y: y.resize_(2, 128),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("model", [lambda y: y.contiguous(memory_format=torch.channels_last), lambda y: y[:, 1:], lambda y: y.mT])
def test_calls_that_count_elements_in_memory_are_refused_where_it_has_no_rows(name, model):
    for function in (lambda x: COUNTED[name](model(x * 2)), lambda x: COUNTED[name](model(torch.special.i0(x)))):
        with pytest.raises(bt.UnsupportedOp, match=f"{name}.*: it counts elements in memory.* call `.contiguous\\(\\)` before"):
            converted(function, partial=True)


@pytest.mark.parametrize("name", COUNTED)
def test_calls_that_count_elements_in_memory_read_rows(name):
    for function in (lambda x: COUNTED[name](x * 2), lambda x: COUNTED[name](x.mT.contiguous() + torch.special.i0(x.mT.contiguous()))):
        equal(converted(function, partial=True)(X), function(X))


PAST = {
    "input": (lambda m, x: m.conv(x) if x.data.mul_(2) is not None else x, "mul_"),
    "weight": (lambda m, x: m.conv(x) if m.conv.weight.data.mul_(0.5) is not None else x, "mul_"),
    "part": (lambda m, x: _written_part(m.conv(x)), "setitem"),
    "read": (lambda m, x: m.conv(x).data * 2, None),
}


def _written_part(y):
    y.data[:, 0] = 1
    return y


class Past(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.conv, self.call = nn.Conv2d(4, 4, 1), call

    def forward(self, x):
        return self.call(self, x)


@pytest.mark.parametrize("way", ["to_blocked", "partial", "compile"])
@pytest.mark.parametrize("name", PAST)
def test_data_of_a_tensor_is_refused_by_name(name, way):
    """PyTorch's text was that of a fault of its own, and the remedy was `swap`."""
    call, write = PAST[name]
    model, x = Past(call).eval(), torch.randn(1, 4, 5, 5)
    before, weight = x.clone(), model.conv.weight.detach().clone()
    reason = f"writes through `.data` of a tensor (`{write}`" if write is not None else "reads `.data` of a tensor"
    with pytest.raises(bt.UnsupportedOp) as e, torch.no_grad():
        if way == "compile":
            torch.compile(model, backend="blocktensor")(x)
        else:
            btt.to_blocked(model, x, partial=way == "partial")
    torch._dynamo.reset()
    assert reason.replace("setitem", "__setitem__" if way != "compile" else "setitem") in str(e.value)
    assert ("y = x * 2" if write is not None else "x.detach()") in e.value.remedy and "file an issue" not in str(e.value)
    assert torch.equal(x, before) and torch.equal(model.conv.weight, weight)
    # The remedy.
    model.call = (lambda m, x: m.conv(x * 2) * 0.5) if write is not None else lambda m, x: m.conv(x).detach() * 2
    torch.testing.assert_close(btt.to_blocked(model, x)(x), model(x).detach(), rtol=1e-4, atol=1e-5)
