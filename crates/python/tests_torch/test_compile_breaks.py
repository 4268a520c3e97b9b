"""What crosses a graph break of `torch.compile`, and how errors name it and other inputs."""

import gc
import random
import re

import blocktensor as bt
import pytest
import torch
from compiling import X, close, compiled, fresh, graphs  # noqa: F401
from torch import nn


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, 4)
        self.cls = nn.Parameter(torch.randn(1, 1, 4))

    def forward(self, x):
        y = self.conv(x).flatten(2).transpose(1, 2)
        cls = self.cls.expand(x.shape[0], -1, -1)
        torch._dynamo.graph_break()
        return self.head(torch.cat([cls, y], 1))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_views_of_parameters_cross(mode):
    model = Tokens().eval()
    fast = compiled(model)
    with mode():
        for _ in range(2):
            close(fast(X), model(X))
            close(fast(X), model(X))
            with torch.no_grad():
                model.cls.mul_(2)
    with torch.enable_grad(), pytest.raises(bt.InvalidArgument, match=r"requires a gradient.*`torch.no_grad\(\)`"):
        fast(X)


def test_code_that_turns_gradients_on_is_refused():
    model = nn.Conv2d(3, 4, 3).eval()

    def graded(x):
        with torch.enable_grad():
            return model(x)

    with pytest.raises(bt.InvalidArgument, match="requires a gradient"):
        compiled(graded)(X)


def _refused(function, *inputs):
    with pytest.raises(bt.Error) as found:
        compiled(function)(*inputs)
    return str(found.value)


def test_inputs_are_named_as_the_user_knows_them():
    conv = nn.Conv2d(3, 4, 3).eval()
    text = _refused(lambda x: conv(x) * random.random(), X)
    assert "a number of Python's `random`" in text and "random_value" not in text

    def breaks(x):
        return torch.relu(swapped(x))

    @torch.compiler.disable
    def swapped(x):
        return x.transpose(1, 2)

    text = _refused(breaks, X)
    # What the user would call on it is behind the break.
    assert text.startswith("a result of the line before a graph break of breaks (") and "stack" not in text and "contiguous" not in text
    assert 'pass `options={"partial": True}`' in text
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="copied to rows"):
        close(compiled(breaks, partial=True)(X), breaks(X))
    assert 'pass `x.contiguous()`, or `options={"partial": True}`' in _refused(lambda x: x.relu(), X.transpose(1, 2))


def test_integers_and_other_floats_have_a_remedy_that_works():
    model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4)).eval()
    ids = torch.tensor([[1, 2]])
    text = _refused(model, ids)
    assert re.search(r'inputs of a plan are f32; pass `options=\{"partial": True\}`: PyTorch', text)
    text = _refused(lambda x, i: torch.relu(x) * i, X, torch.arange(29))
    assert re.search(r'pass `i.float\(\)`, or, where these are indices, `options=\{"partial": True\}`', text)
    with pytest.warns(UserWarning):
        close(compiled(model, partial=True)(ids), model(ids))
    for dtype in (torch.bfloat16, torch.float64):
        model = nn.Sequential(nn.Conv2d(3, 4, 3)).to(dtype).eval()
        assert f"`0.weight` is {dtype} too: convert the model (`model.float()`)" in _refused(model, X.to(dtype)), dtype
        close(compiled(model.float())(X), model(X))


def test_checks_of_the_trace_are_no_calls_of_the_users():
    text = _refused(lambda x, i: torch.relu(x) * i.to(torch.float32), X, torch.arange(29))
    assert text.startswith("1 call of ") and "_assert_tensor_metadata" not in text and "aten.to.dtype" in text


def test_a_crossing_is_told_once():
    def model(x):
        y = torch.relu(x)
        return torch.special.i0(y) + torch.special.i1(y)

    with pytest.warns(UserWarning) as found:
        close(compiled(model, partial=True)(X), model(X))
    lines = str(found[0].message).splitlines()
    assert len([line for line in lines if "crossing" in line]) == 1


def test_a_program_that_was_exported_in_training_mode():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    exported = torch.export.export(model.train(), (X,)).module()
    assert "call `model.eval()` before `torch.export.export`" in _refused(exported, X)
    model.eval()
    close(compiled(torch.export.export(model, (X,)).module())(X), model(X))


def test_parameters_can_be_swapped_after_repack():
    model = nn.Sequential(nn.Conv2d(3, 4, 3)).eval()
    state, fast = {name: x.clone() * 2 for name, x in model.state_dict().items()}, compiled(model)
    fast(X)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with pytest.raises(RuntimeError, match="weakref"):
            model.load_state_dict(state)
        for graph in graphs():
            graph.repack()
        # PyTorch's traces leave references of their own in cycles.
        gc.collect()
        model.load_state_dict(state)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    close(fast(X), model(X))


def test_results_lie_in_rows():
    model = nn.Sequential(nn.Conv2d(3, 4, 3)).eval().to(memory_format=torch.channels_last)
    got, wanted = compiled(model)(X), model(X)
    close(got, wanted)
    assert got.is_contiguous() and not wanted.is_contiguous()
