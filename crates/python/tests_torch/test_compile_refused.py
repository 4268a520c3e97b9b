"""`torch.compile(model, backend="blocktensor")`: what is refused, or left to PyTorch, and how it is told."""

import re
import warnings

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from blocktensor.torch._plan import _chosen
from compiling import Net, X, close, compiled, fresh
from torch import nn
from torch.nn import functional as F

__all__ = ["fresh"]


class Odd(Net):
    """Calls in the middle that have no op."""

    def forward(self, x):
        y = torch.special.i0(self.stem(x))
        return self.blocks(torch.special.i1(y))


def test_one_error_lists_all_calls():
    fast = compiled(Odd().eval())
    with pytest.raises(bt.UnsupportedOp) as found:
        fast(X)
    text = str(found.value)
    assert text.startswith("2 calls of `forward (test_compile_refused.py:") and 'pass `options={"partial": True}`' in text
    assert "aten.special_i0.default: no op" in text and "aten.special_i1.default: no op" in text
    assert [call for _, call, _ in found.value.missing] == ["aten.special_i0.default", "aten.special_i1.default"]
    # Again, not only at the first call.
    with pytest.raises(bt.UnsupportedOp, match="2 calls of"):
        fast(X)


def test_the_lines_name_the_users_modules():
    model = nn.Sequential(Net(), nn.Softmax(1))
    with pytest.raises(bt.UnsupportedOp, match="1 call of `Bilinear` cannot run"):
        compiled(nn.Bilinear(29, 29, 2))(X, X)

    class Holds(nn.Module):
        def __init__(self):
            super().__init__()
            self.fn = Odd()

        def forward(self, x):
            return self.fn(x)

    with pytest.raises(bt.UnsupportedOp, match=r"module `fn`: aten\.special_i0\.default"):
        compiled(Holds().eval())(X)
    model[0].blocks[1] = nn.Module()
    model[0].blocks[1].forward = torch.special.i0
    with pytest.raises(bt.UnsupportedOp, match=r"module `0\.blocks\.1`: aten\.special_i0\.default"):
        compiled(model.eval())(X)


def test_partial_leaves_calls_to_pytorch_and_says_so():
    model = Odd().eval()
    fast = compiled(model, partial=True)
    with pytest.warns(UserWarning, match=r"(?s)PyTorch runs calls of forward.*special_i0.*special_i1.*crossing: `stem` -> "):
        close(fast(X), model(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(fast(X), model(X))
    model.stem.weight.mul_(2)
    close(fast(X), model(X))
    (graph,) = btt.compiled_graphs(model)
    assert len(graph.plans[0].regions) == 4 and graph.packed == 2


def test_inputs_of_other_dtypes_and_orders():
    def model(x, i):
        return F.relu(x) * i.sum()

    i = torch.arange(4)
    with pytest.raises(bt.UnsupportedOp, match=r"the input `i` is torch.int64, and inputs of a plan are f32; pass `i.float\(\)`"):
        compiled(model)(X, i)
    last = X.to(memory_format=torch.channels_last)
    with pytest.raises(bt.InvalidArgument, match=r"the input `x` of model .* has the strides .*; pass `x.contiguous\(\)`"):
        compiled(model)(last, i.float())
    with pytest.warns(UserWarning, match=r"(?s)the input `i` is torch.int64.*copied to rows: `x`"):
        close(compiled(model, partial=True)(last, i), model(X, i))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"partal": True}, "got `partal`, but the options of the backend `blocktensor` are `reorders`, `partial`, `layouts`, "),
        ({"partial": 3}, "argument `partial`: got 3, but it is True or False"),
        ({"measure_new_shapes": 1}, "argument `measure_new_shapes`: got 1, but it is True or False"),
        ({"threads": -1}, "argument `threads`: got -1"),
        ({"exact": 1}, "argument `exact`: got 1"),
        ({"reorders": "few"}, "argument `reorders`: got 'few'"),
        ({"layouts": "nChw"}, "layouts"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(bt.InvalidArgument, match=re.escape(words)):
        torch.compile(Net().eval(), backend="blocktensor", options=options)(X)


def test_parts_of_a_model_take_the_choices_of_their_likes():
    model = Odd().eval()
    fast = compiled(model, layouts="measured", partial=True, dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in (2, 3):
            x = torch.randn(rows, 3, 33, 29)
            close(fast(x), model(x))
    (graph,) = btt.compiled_graphs(model)
    assert [repr(plan).count("chosen as in the plan for") for plan in graph.plans] == [2, 0]
    # Another number of parts has none.
    assert _chosen({"threads": 1}, graph.plans[0], 3) == [{"threads": 1, "profiles": "estimated"}] * 3


def test_modes_are_refused():
    with pytest.raises(bt.InvalidArgument, match="argument `mode`: got 'reduce-overhead', but the backend `blocktensor` has no modes"):
        torch.compile(Net().eval(), backend="blocktensor", mode="reduce-overhead")(X)


def test_options_are_those_of_to_blocked():
    model = Net().eval()
    fast = compiled(model, layouts="nhwc", threads=1, exact=True)
    close(fast(X), model(X))
    (graph,) = btt.compiled_graphs(model)
    with bt.budget(len(graph.plans[0].reorders)):
        fast(X)
    torch._dynamo.reset()
    with pytest.raises(bt.ReorderDenied, match="argument `reorders`: got 0, but a run makes"):
        compiled(model, layouts="blocked", reorders=0)(X)


def test_training_is_refused():
    for options in ({}, {"partial": True}):
        with pytest.raises(bt.UnsupportedOp, match=r"(?s)`bn.running_mean` of the model, .*as in training; call `model.eval\(\)`"):
            compiled(Net(), **options)(X)


def test_gradients_are_refused():
    model = Net().eval()
    fast = compiled(model)
    with torch.enable_grad(), pytest.raises(bt.InvalidArgument, match=r"requires a gradient.*`model.eval\(\)`.*`torch.no_grad\(\)`"):
        fast(X)
    close(fast(X), model(X))
    # An input with a gradient, where no result has one.
    with torch.enable_grad():
        compiled(lambda x: F.relu(x))(X)
        with pytest.raises(bt.InvalidArgument, match="requires a gradient"):
            compiled(lambda x: F.relu(x) * 2)(X.clone().requires_grad_())

        @torch.compile(backend="blocktensor")
        def inner(x):
            with torch.no_grad():
                return model(x)

        close(inner(X), model(X).detach())
        close(inner(X.clone().requires_grad_()), model(X).detach())
    with torch.inference_mode():
        assert fast(X).is_inference()
        close(fast(X), model(X))
    for x in model.parameters():
        x.requires_grad_(False)
    with torch.enable_grad():
        close(fast(X), model(X))
        model.head.weight.requires_grad_(True)
        with pytest.raises(bt.InvalidArgument, match="requires a gradient"):
            fast(X)


def _input(x):
    return x.add_(1)


def _view(x):
    x[:, 0].mul_(2)
    return x + 1


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        return x + self.seen


@pytest.mark.parametrize(
    "model, words",
    [
        (_input, "it changes the model's input `x` in place"),
        (_view, "it changes the model's input `x` in place"),
        (Counts().eval(), "it changes `seen` of the model"),
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_writes_into_inputs_and_buffers_are_refused_by_name(model, words, partial):
    x = X.clone()
    with pytest.raises(bt.UnsupportedOp, match=re.escape(words)):
        compiled(model, partial=partial)(x)
    assert torch.equal(x, X)


@pytest.mark.parametrize("partial", [False, True])
def test_the_remedy_for_a_write_into_a_view_keeps_the_result(partial):
    def writes(x):
        y = x * 2
        y[:, :2].mul_(3)
        return y + 1

    def whole(x):
        y = x * 2
        y = torch.cat([y[:, :2] * 3, y[:, 2:]], 1)
        return y + 1

    def beside_another(x):
        x.add_(0)
        return writes(x)

    with pytest.raises(bt.UnsupportedOp, match="into a view of `mul`, which is used later and changes with it") as e:
        compiled(beside_another, partial=partial)(X)
    assert "make a new tensor with `torch.cat` or `torch.where`, and use it for both" in str(e.value)
    # A clone of the view would leave `y` as it was.
    assert "clone the view" not in str(e.value)
    close(compiled(whole, partial=partial)(X), writes(X))


def test_random_numbers_are_refused_or_drawn_by_pytorch():
    def model(x):
        return F.relu(x) + torch.rand(())

    with pytest.raises(bt.UnsupportedOp, match="it draws random numbers"):
        compiled(model)(X)
    fast = compiled(model, partial=True)
    with pytest.warns(UserWarning, match="draws random numbers"):
        first = fast(X)
    assert not torch.equal(fast(X), first)
    torch.manual_seed(1)
    got = fast(X)
    torch.manual_seed(1)
    close(got, model(X))


def test_autocast_and_control_flow_are_refused():
    fast = compiled(Net().eval())
    for _ in range(2):
        with torch.autocast("cpu"), pytest.raises(bt.UnsupportedOp, match="`torch.autocast` to torch.bfloat16 is on"):
            fast(X)
        fast(X)

    # A plan in bf16 has no other remedy.
    halves = torch.compile(Net().eval(), backend="blocktensor", options={"precision": "bf16", "layouts": "nhwc"})
    for one, code in ((fast, 'options={"precision": "bf16"}'), (halves, None)):
        with torch.autocast("cpu"), pytest.raises(bt.UnsupportedOp, match="the option `precision` alone says") as e:
            one(X)
        assert "f32" not in str(e.value)
        assert re.findall("`(options=.*?)`", e.value.remedy) == ([code] if code else [])
    halves(X)

    def branches(x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,))

    with pytest.raises(bt.UnsupportedOp, match="cond: control flow that depends on data"):
        compiled(branches)(X)

    def rows(x):
        return torch.vmap(lambda row: F.relu(row) * 2)(x)

    with pytest.raises(bt.UnsupportedOp, match=r"`torch.func` \(`vmap`"):
        compiled(rows)(X)


CHOICES = {
    "masked_fill": lambda x, mask: F.relu(x).masked_fill(mask, -1.0),
    "where": lambda x, mask: torch.where(mask, F.relu(x), 2.0),
    "not": lambda x, mask: F.relu(x) * ~mask,
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_remedy_for_a_mask_as_an_input_works(name):
    mask = X > 0

    def chosen(x, mask):
        return CHOICES[name](x, mask)

    with pytest.raises(bt.UnsupportedOp, match="the input `mask` is torch.bool") as e:
        compiled(chosen)(X, mask)
    ((_, _, reason),) = e.value.missing
    passed, written = re.findall("`(mask[^`]+)`", reason)
    code = {"CHOICES": CHOICES, "name": name}
    # The argument, and what is written in the compiled code.
    fast = compiled(eval(f"lambda x, mask: CHOICES[name](x, {written})", code))
    close(fast(X, eval(passed, {"mask": mask})), CHOICES[name](X, mask))


def test_a_setting_that_hides_replaced_parameters_is_refused():
    with torch._dynamo.config.patch(prepare_freezing=True):
        with pytest.raises(bt.UnsupportedOp, match="prepare_freezing"):
            compiled(Net().eval())(X)
