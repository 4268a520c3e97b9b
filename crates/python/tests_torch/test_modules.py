"""Small models through `torch.export`: PyTorch's own answers, what is refused, weights, files."""

import copy
import pickle
import re

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(24)


class Block(nn.Module):
    def __init__(self, channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1)
        self.shortcut = nn.Conv2d(channels, channels, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.conv2(y)
        y += self.shortcut(x)
        return F.hardswish(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 20, 3, 2, 1)
        self.blocks = nn.Sequential(Block(20), Block(20, 2))
        self.head = nn.Linear(40, 7)
        for name, buffer in self.named_buffers():
            if "running_" in name:
                buffer.uniform_(0.5, 1.5)

    def forward(self, x):
        y = self.blocks(F.max_pool2d(self.stem(x), 3, 2, 1))
        y = torch.cat([y, y.sigmoid() * 2], 1)
        left, right = y.chunk(2, 1)
        y = torch.cat([left, right], 1).mean([2, 3])
        return {"logits": self.head(F.dropout(y, 0.5, self.training)), "features": y}


class Odd(Net):
    """A call in the middle that has no op."""

    def forward(self, x):
        y = self.blocks(self.stem(x))
        y = torch.special.i0(y)
        return self.blocks[0](y)


@pytest.fixture
def net():
    return Net().eval()


X = torch.randn(2, 3, 33, 29)


def close(got, wanted):
    assert got.shape == wanted.shape
    assert (got - wanted).norm() <= 1e-5 * wanted.norm()


@pytest.mark.parametrize("layouts", ["nchw", "nhwc", "blocked"])
def test_a_module_gives_pytorchs_answers(net, layouts):
    fast = btt.to_blocked(net, X, layouts=layouts)
    wanted = net(X)
    got = fast(X)
    assert set(got) == {"logits", "features"}
    for name in wanted:
        close(got[name], wanted[name].detach())
    with bt.budget(len(fast.plan.reorders)):
        fast(X)


def test_results_are_tensors_of_their_own(net):
    fast = btt.to_blocked(net, X, layouts="blocked")
    first = fast(X)["logits"]
    kept = first.clone()
    fast(torch.randn_like(X))
    assert torch.equal(first, kept)
    first += 1
    assert torch.equal(fast(X)["logits"], kept)


def test_a_plan_says_what_it_costs_and_changes_nothing(net):
    before = {name: x.clone() for name, x in net.state_dict().items()}
    plan = btt.plan(net, X, layouts="blocked")
    assert all(torch.equal(x, net.state_dict()[name]) for name, x in before.items())
    text = repr(plan)
    assert text.startswith("Net: ") and "1 region," in text
    assert plan.unsupported == [] and plan.crossings == []
    for reorder in plan.reorders:
        assert reorder["bytes"] > 0 and reorder["node"] in text
    assert "blocks.0.conv1" in text
    assert any(step["fused"] for step in plan.regions[0].plan.steps)
    assert "<svg" in plan._repr_html_()


def test_more_reorders_than_allowed_name_their_places(net):
    count = len(btt.plan(net, X, layouts="blocked").reorders)
    btt.to_blocked(net, X, reorders=count, layouts="blocked")
    with pytest.raises(bt.ReorderDenied) as e:
        btt.to_blocked(net, X, reorders=count - 1, layouts="blocked")
    assert f"got {count - 1}, but a run makes {count} reorder" in str(e.value) and "bytes" in str(e.value)
    assert e.value.remedy == f"pass `reorders={count}`, or leave `layouts` out"


@pytest.mark.parametrize("partial", [False, True])
def test_measured_layouts_keep_to_the_number_of_reorders(net, partial):
    model = Odd().eval() if partial else net
    options = dict(layouts="measured", profiles="estimated")
    for most in range(len(btt.plan(model, X, **options).reorders) + 1):
        try:
            fast = btt.to_blocked(model, X, reorders=most, partial=partial, **options)
        except bt.ReorderDenied as e:
            allowed = re.search(r"`reorders=(\d+)`", e.remedy)
            assert btt.to_blocked(model, X, reorders=int(allowed[1]), partial=partial, **options), e
            fast = None
        assert fast is None or len(fast.plan.reorders) <= most
    # As many as there are without a limit are always possible.
    assert fast is not None


def test_calls_that_cannot_run_are_refused_before_reorders():
    with pytest.raises(bt.UnsupportedOp):
        btt.to_blocked(Odd().eval(), X, layouts="measured", reorders=0)


def test_training_mode_is_refused(net):
    net.blocks[1].bn1.train()
    with pytest.raises(bt.InvalidArgument, match="blocks.1.bn1 in training mode") as e:
        btt.to_blocked(net, X, layouts="blocked")
    assert e.value.remedy == "call `model.eval()` first"
    fast = btt.to_blocked(net.eval(), X, layouts="blocked")
    with pytest.raises(bt.InvalidArgument, match="for inference"):
        fast.train()
    fast.eval()
    with pytest.raises(bt.InvalidArgument, match="requires a gradient"):
        fast(X.clone().requires_grad_())


def test_unknown_calls_are_one_error_with_module_names():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Odd()

        def forward(self, x):
            return torch.cummax(self.inner(x), 1).values

    model = Two().eval()
    with pytest.raises(bt.UnsupportedOp) as e:
        btt.to_blocked(model, X, layouts="blocked")
    assert isinstance(e.value, NotImplementedError)
    modules = [module for module, *_ in e.value.missing]
    assert modules[0] == "inner" and len(modules) >= 2
    assert "special_i0" in str(e.value) and "cummax" in str(e.value)
    assert "partial=True" in e.value.remedy


def test_a_partial_plan_leaves_calls_to_pytorch():
    model = Odd().eval()
    fast = btt.to_blocked(model, X, partial=True, layouts="blocked")
    assert [region.plan is None for region in fast.plan.regions] == [False, True, False]
    assert fast.plan.crossings == [("blocks.1", "")]
    assert "crossings" in repr(fast.plan) and "special_i0" in repr(fast.plan)
    assert "`blocks.1` -> `(the model)`" in repr(fast.plan) and "``" not in repr(fast.plan)
    close(fast(X), model(X).detach())
    with pytest.raises(bt.UnsupportedOp, match="more than one plan"):
        fast.save("nowhere")


def called(fast):
    """The ops of each part of a plan, in the order in which the parts run."""
    return [[node.target.__name__.split(".")[0] for node in region.calls] for region in fast.plan.regions]


def test_a_branch_beside_a_call_of_pytorch_is_in_the_plan_before_it():
    class Beside(nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            z = torch.special.i0(y)
            return z * torch.exp(y)

    model = Beside().eval()
    fast = btt.to_blocked(model, X, partial=True, layouts="nchw")
    assert called(fast) == [["relu", "exp"], ["special_i0"], ["mul"]]
    close(fast(X), model(X).detach())


def test_nothing_moves_past_a_call_that_draws():
    class Draws(nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            z = torch.rand_like(y)
            return z * torch.exp(y) + torch.rand_like(y)

    model = Draws().eval()
    fast = btt.to_blocked(model, X, partial=True, layouts="nchw")
    assert called(fast) == [["relu"], ["rand_like"], ["exp", "mul"], ["rand_like"], ["add"]]
    torch.manual_seed(1)
    want = model(X).detach()
    torch.manual_seed(1)
    close(fast(X), want)


def test_control_flow_on_data_is_refused():
    class Branch(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(bt.UnsupportedOp, match="cannot follow the model"):
        btt.to_blocked(Branch().eval(), X, layouts="blocked")


def test_writes_are_seen_by_other_names():
    class Alias(nn.Module):
        def forward(self, x):
            y = x * 2
            y[:, :1].relu_()
            return y

    torch.testing.assert_close(btt.to_blocked(Alias().eval(), X, layouts="blocked")(X), Alias()(X))

    class Fine(nn.Module):
        def forward(self, x):
            y = x * 2
            y.relu_()
            return y + y.view(2, 3, -1).mean(2, keepdim=True)[..., None]

    model = Fine().eval()
    close(btt.to_blocked(model, X, layouts="blocked")(X), model(X))


def test_edited_weights_are_found_and_packed_again(net):
    fast = btt.to_blocked(net, X, layouts="blocked")
    fast.check_weights(net)
    wanted = fast(X)["logits"].clone()
    with torch.no_grad():
        net.head.weight.mul_(2)
    with pytest.raises(bt.PackMismatch, match="head.weight"):
        fast.check_weights(net)
    assert torch.equal(fast(X)["logits"], wanted)
    fast.load_state_dict(net.state_dict())
    fast.check_weights(net)
    close(fast(X)["logits"], net(X)["logits"].detach())
    again = Net().eval()
    again.load_state_dict(fast.state_dict())
    close(again(X)["logits"].detach(), fast(X)["logits"])
    with pytest.raises(bt.InvalidArgument, match="head.bias"):
        fast.load_state_dict({name: x for name, x in net.state_dict().items() if name != "head.bias"})


def test_files_and_pickle(net, tmp_path):
    fast = btt.to_blocked(net, X, layouts="blocked")
    wanted = fast(X)
    fast.save(tmp_path / "net.plan")
    loaded, unpickled, copied = btt.load(tmp_path / "net.plan"), pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)
    assert all(torch.equal(x, y) for x, y in zip(loaded(X), wanted.values(), strict=True))
    for again in (unpickled, copied):
        got = again(X)
        assert list(got) == list(wanted) and all(torch.equal(got[name], wanted[name]) for name in wanted)
    for again in (loaded, unpickled, copied):
        with pytest.raises(bt.UnsupportedOp, match="no plain weights"):
            again.state_dict()


def test_packed_modules_stay_f32_on_the_cpu(net):
    fast = nn.Sequential(btt.to_blocked(net, X, layouts="blocked"))
    assert fast.float().cpu() is fast
    for convert in (fast.double, lambda: fast.to("meta"), fast.half):
        with pytest.raises(bt.InvalidArgument, match="packed modules compute in f32 on the CPU"):
            convert()


def test_inputs_are_checked(net):
    fast = btt.to_blocked(net, X, layouts="blocked")
    with pytest.raises(bt.InvalidArgument, match="this plan is for"):
        fast(torch.randn(1, 3, 8, 8))
    with pytest.raises(bt.InvalidArgument, match="got 2 inputs"):
        fast(X, X)
    with pytest.raises(bt.InvalidArgument, match=".contiguous()"):
        fast(X.contiguous(memory_format=torch.channels_last))
    with pytest.raises(bt.InvalidArgument, match="f32"):
        btt.to_blocked(net, X.double(), layouts="blocked")


CALLS = {
    "conv_same": lambda x: F.conv2d(x, torch.ones(4, 3, 4, 2), padding="same", dilation=2),
    "conv_transpose": lambda x: F.conv_transpose2d(x, torch.ones(3, 4, 2, 2), stride=2),
    "avg_pool": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 5)),
    "clamp": lambda x: x.clamp(max=0.5),
    "hardtanh": lambda x: F.hardtanh(x),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "group_norm": lambda x: F.group_norm(x, 3),
    "layer_norm": lambda x: F.layer_norm(x, (33, 29)),
    "softmax": lambda x: x.softmax(-1),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "einsum": lambda x: torch.einsum("b c i d, b d c j -> c b j i", x, x.permute(0, 3, 1, 2)),
    "normalize": lambda x: F.normalize(x, dim=1).clamp_min(-0.5),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, (40, 50), mode="bilinear", align_corners=True),
    "pad": lambda x: F.pad(x, (1, 2, 3, 4), mode="reflect"),
    "constant_pad": lambda x: F.pad(x, (1, 2), value=3.0),
    "split": lambda x: torch.cat(x.split([10, 23], 2)[::-1], 2),
    "unbind": lambda x: torch.stack(x.unbind(1), 0),
    "slice": lambda x: x[:, :, 1:-1:2, 3],
    "roll": lambda x: x.roll((1, -2), (2, 3)),
    "permute": lambda x: x.permute(0, 2, 3, 1).reshape(2, -1, 3).transpose(1, 2),
    "numbers": lambda x: (2 * x + 1) / 3,
    "alpha": lambda x: torch.add(x, x, alpha=0.5),
    "expand": lambda x: x.mean((2, 3), keepdim=True).expand_as(x) + x,
    "elu": lambda x: F.elu(x, 0.7) + F.leaky_relu(x, 0.2) + F.softplus(x, 2),
    "constants": lambda x: x + torch.arange(29.0).mul_(2) + x.new_ones(1),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    class One(nn.Module):
        def forward(self, x):
            return CALLS[name](x)

    close(btt.to_blocked(One().eval(), X, layouts="blocked")(X), CALLS[name](X))


def test_packed_modules_inside_of_others_keep_their_weights():
    trunk = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU()).eval()
    x = torch.randn(1, 3, 8, 8)
    around = torch.nn.Sequential(btt.to_blocked(trunk, x, layouts="blocked"), torch.nn.Conv2d(16, 4, 1)).eval()
    plain = torch.nn.Sequential(trunk, torch.nn.Conv2d(16, 4, 1)).eval()
    assert set(around.state_dict()) == set(plain.state_dict())
    assert set(around[0].state_dict(prefix="a.")) == {"a.0.weight", "a.0.bias"}
    other = copy.deepcopy(plain)
    for p in other.parameters():
        p.data.mul_(0.5)
    found = around.load_state_dict(other.state_dict())
    assert not found.missing_keys and not found.unexpected_keys
    with torch.no_grad():
        torch.testing.assert_close(around(x), other(x))
    with pytest.raises(RuntimeError, match="0.weight"):
        around.load_state_dict({"1.weight": other[1].weight, "1.bias": other[1].bias})


def test_copies_say_that_they_know_no_plain_weights():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3)).eval()
    fast = btt.to_blocked(model, torch.randn(1, 3, 8, 8), layouts="blocked")
    for call in (lambda m: m.check_weights(model), lambda m: m.state_dict(), lambda m: m.load_state_dict({})):
        with pytest.raises(bt.UnsupportedOp, match="copy of a packed module"):
            call(copy.deepcopy(fast))
    with pytest.raises(bt.InvalidArgument, match="int"):
        fast.check_weights(3)
    for wrong in (3, {"0.weight": 3}):
        with pytest.raises(bt.InvalidArgument, match="state_dict"):
            fast.load_state_dict(wrong)


def test_negated_tensors_are_read_with_their_sign():
    negated = torch.view_as_complex(torch.randn(1, 3, 8, 8, 2)).conj().imag
    assert negated.is_neg()
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3)).eval()
    fast = btt.to_blocked(model, torch.randn(1, 3, 8, 8), layouts="blocked")
    with torch.no_grad():
        torch.testing.assert_close(fast(negated), model(negated))
    with pytest.raises(bt.Error, match="resolve_neg"):
        bt.from_dlpack(negated)
    assert bt.from_dlpack(negated.resolve_neg()).shape == (1, 3, 8, 8)


@pytest.mark.parametrize("partial", [False, True])
def test_tensors_with_gradients_are_taken_where_none_is_asked_for(partial):
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 16, 3)

        def forward(self, x):
            y = self.conv(x * 2)
            return torch.special.i0(y) if partial else y

    model, x = Mixed().eval(), torch.randn(1, 3, 8, 8, requires_grad=True)
    fast = btt.to_blocked(model, x.detach(), partial=partial, layouts="blocked")
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x))
    with pytest.raises(bt.InvalidArgument, match="no_grad"):
        fast(x)


def _relu(module, args, result):
    return result.relu()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("inside", [False, True])
def test_copies_keep_hooks_and_attributes(copied, inside):
    x = torch.randn(1, 3, 8, 8)
    fast = btt.to_blocked(nn.Sequential(nn.Conv2d(3, 8, 3)).eval(), x, layouts="nchw")
    fast.register_forward_hook(_relu)
    fast.tag = [1]
    again = copied(nn.Sequential(fast))[0] if inside else copied(fast)
    assert again.tag == [1] and (copied is copy.copy or again.tag is not fast.tag)
    torch.testing.assert_close(again(x), fast(x))
    assert fast(x).min() == 0


def test_a_file_would_lose_hooks(tmp_path):
    x = torch.randn(1, 3, 8, 8)
    fast = btt.to_blocked(nn.Sequential(nn.Conv2d(3, 8, 3)).eval(), x, layouts="nchw")
    hook = fast.register_forward_hook(_relu)
    with pytest.raises(bt.UnsupportedOp, match="`forward_hooks`"):
        fast.save(tmp_path / "x.plan")
    assert not list(tmp_path.iterdir())
    hook.remove()
    fast.save(tmp_path / "x.plan")


def test_what_reads_packed_modules_as_plain_ones_is_refused():
    x = torch.randn(1, 3, 8, 8)
    fast = btt.to_blocked(nn.Sequential(nn.Conv2d(3, 8, 3)).eval(), x, layouts="nchw")
    for model in (fast, nn.Sequential(fast)):
        with pytest.raises(bt.UnsupportedOp, match="functional_call"):
            torch.func.functional_call(model, model.state_dict(), (x,))
        with pytest.raises(bt.UnsupportedOp, match="torch.jit.script"):
            torch.jit.script(model)
    assert not hasattr(fast, "0") and not hasattr(fast, "weight")


class Sized(nn.Module):
    """A factory that looks at the dtype of a tensor in the middle."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x):
        y = self.conv(x)
        return y.relu() + y.new_zeros(8)


def test_factories_read_no_result(tmp_path):
    x = torch.randn(1, 3, 8, 8)
    fast = btt.to_blocked(Sized().eval(), x, layouts="nchw")
    assert [node.name for node in fast.plan.regions[0].outputs] == ["add"]
    fast.save(tmp_path / "x.plan")
    torch.testing.assert_close(btt.load(tmp_path / "x.plan")(x), fast(x))


class Holding(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


@pytest.mark.parametrize("inside", [False, True])
def test_compiled_models_and_their_models_have_the_same_weights(inside):
    model, x = nn.Sequential(nn.Conv2d(3, 8, 3)).eval(), torch.randn(1, 3, 8, 8)
    both = [model, torch.compile(model, backend="eager")]
    if inside:
        both = [Holding(one).eval() for one in both]
    for packed, other in (both, both[::-1]):
        fast = btt.to_blocked(packed, x)
        for one in both:
            fast.check_weights(one)
        state = {name: x + 1 for name, x in other.state_dict().items()}
        fast.load_state_dict(state)
        with torch.no_grad():
            assert torch.allclose(fast(x), torch.func.functional_call(other, state, x), atol=1e-5)
            for one in both:
                with pytest.raises(bt.PackMismatch, match="0.weight"):
                    fast.check_weights(one)


@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize("made", [lambda m: torch.compile(m, backend="eager"), torch.fx.symbolic_trace])
def test_hooks_that_a_copy_leaves_out_are_not_lost(pre, made):
    x = torch.randn(1, 3, 8, 8)
    model = made(nn.Sequential(nn.Conv2d(3, 8, 3)).eval())
    if pre:
        model.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] + 1,), kwargs), with_kwargs=True)
    else:
        model.register_forward_hook(lambda module, args, result: result * 3, always_call=True)
    with torch.no_grad():
        for one in (model, Holding(model).eval()):
            try:
                fast = btt.to_blocked(one, x)
            except bt.UnsupportedOp as e:
                # `torch.export` leaves hooks of graph modules out.
                assert made is torch.fx.symbolic_trace and "other results than a run of the model" in str(e)
            else:
                assert torch.allclose(fast(x), one(x), atol=1e-5)


class WithSizes(nn.Module):
    """Sizes, an empty list and a named tuple among the results."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        y = self.conv(x)
        return y, y.shape, {"a": [x.size(), []], "b": (1, 2), "c": torch.max(y, 1)}


@pytest.mark.parametrize("partial", [False, True])
def test_results_have_the_types_of_the_models(partial):
    model, x = WithSizes().eval(), torch.randn(1, 3, 8, 8)
    y, size, rest = btt.to_blocked(model, x, partial=partial)(x)
    wanted = model(x)
    assert type(size) is torch.Size and size == wanted[1] and size.numel() == y.numel()
    assert type(rest["a"][0]) is torch.Size and rest["a"] == wanted[2]["a"] and rest["b"] == (1, 2) and type(rest["b"]) is tuple
    assert type(rest["c"]) is type(wanted[2]["c"]) and torch.equal(rest["c"].indices, wanted[2]["c"].indices)


class Bessel(nn.Module):
    def forward(self, x):
        return torch.special.i0(x)


@pytest.mark.parametrize("partial", [False, True])
def test_what_no_copy_is_made_of_says_what_to_do(partial, tmp_path):
    model, x = (nn.Sequential(nn.Conv2d(3, 4, 1), Bessel(), nn.Conv2d(4, 2, 1)) if partial else WithSizes()).eval(), torch.rand(1, 3, 8, 8)
    fast = btt.to_blocked(model, x, partial=partial)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(bt.UnsupportedOp, match="a copy of a packed module .* keeps one plan, but") as e:
            copied(fast)
        assert e.value.op == "copy" and "`to_blocked(model, example)`" in e.value.remedy and "regions" not in str(e.value)
    # As the remedy says.
    torch.testing.assert_close(btt.to_blocked(pickle.loads(pickle.dumps(model)), x, partial=partial)(x), model(x))
    with pytest.raises(bt.UnsupportedOp, match="a packed file is one plan, but") as e:
        fast.save(tmp_path / "a.plan")
    assert "`region.plan.save(path)`" in e.value.remedy
    for i, region in enumerate(fast.plan.regions):
        if region.plan is not None:
            region.plan.save(tmp_path / f"{i}.plan")
            assert len(bt.load_plan(tmp_path / f"{i}.plan").outputs) == len(region.outputs)
