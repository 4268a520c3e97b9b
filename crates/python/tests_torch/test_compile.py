"""`torch.compile(model, backend="blocktensor")`: PyTorch's answers, edited weights, sizes, threads."""

import re
import sys
import threading
import time
import warnings

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import timm
import torch
import torch._inductor.config
import torchvision
from compiling import Net, X, close, compiled, fresh, graphs
from torch import nn
from torch.nn import functional as F

__all__ = ["fresh"]


class Several(Net):
    """Many results, nested, with an input by name."""

    def forward(self, x, *, scale=None):
        y = self.blocks(self.stem(x))
        y = y if scale is None else y * scale
        left, right = y.chunk(2, 1)
        return {"maps": [left, right], "logits": self.head(y.mean([2, 3])), "best": y.argmax(1), "mask": y > 0, "rows": x.shape[0], "x": x}


class Views(nn.Module):
    def forward(self, x):
        return x.view(-1), x[:1], F.relu(x).flatten(1)


class Writes(nn.Module):
    def forward(self, x):
        y = F.relu(x)
        y[:, 0] = 1
        return y * 2


class WritesOfWeights(Net):
    def forward(self, x):
        y = self.stem(x)
        y[:, :4].mul_(3)
        y.select(3, 1).copy_(self.bn.running_mean[:, None])
        return y


MODELS = {
    "net": Net,
    "several": Several,
    "views": Views,
    "writes": Writes,
    "writes_of_weights": WritesOfWeights,
    "unet": lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.GELU(), nn.ConvTranspose2d(8, 4, 2, 2), nn.GroupNorm(2, 4)),
    "bare": lambda: nn.Conv2d(3, 8, 3),
    "resnet18": lambda: torchvision.models.resnet18(num_classes=10),
    "mobilenet_v3": lambda: torchvision.models.mobilenet_v3_small(num_classes=10),
    "squeezenet": lambda: torchvision.models.squeezenet1_1(num_classes=10),
    "shufflenet": lambda: torchvision.models.shufflenet_v2_x0_5(num_classes=10),
    "convnext": lambda: timm.create_model("convnext_atto", num_classes=10),
    "efficientnet": lambda: timm.create_model("efficientnet_b0", num_classes=10),
    "repvgg": lambda: timm.create_model("repvgg_a0", num_classes=10),
    "vit": lambda: timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=10),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_gives_pytorchs_answers(name):
    model = MODELS[name]().eval()
    x = torch.randn(1, 3, 64, 64) if name == "vit" else torch.randn(2, 3, 64, 64)
    fast = compiled(model, layouts="measured" if name == "net" else "blocked", fullgraph=True)
    for _ in range(2):
        close(fast(x), model(x))
    (graph,) = graphs()
    assert graph.packed == 1 and len(graph.plans) == 1


def test_results_are_nested_as_the_models_and_inputs_go_by_name():
    model = Several().eval()
    fast = compiled(model)
    for named in ({}, {"scale": torch.rand(16, 1, 1)}):
        got, wanted = fast(X, **named), model(X, **named)
        close(got, wanted)
        assert got["x"] is X and got["rows"] == 2 and got["best"].dtype == torch.int64 and got["mask"].dtype == torch.bool


def test_a_function_is_compiled():
    weight = nn.Parameter(torch.randn(4, 3, 3, 3))

    @torch.compile(backend="blocktensor", options={"layouts": "blocked"}, fullgraph=True)
    def run(x, times):
        return F.relu(F.conv2d(x, weight)) * times

    for times in (2, 0.5, 0.75, 0.9):
        close(run(X, times), F.relu(F.conv2d(X, weight)) * times)
    # Packed, and no input of the plan.
    assert all(len(region.inputs) == 1 for graph in graphs() for plan in graph.plans for region in plan.regions)


def _in_place(model):
    model.stem.weight.mul_(2)


def _buffer(model):
    model.bn.running_mean.add_(1)


def _replaced(model):
    model.head.weight = nn.Parameter(torch.randn_like(model.head.weight))


def _state(model):
    model.load_state_dict({name: torch.rand_like(x) for name, x in model.state_dict().items() if x.is_floating_point()}, strict=False)


def _assigned(model):
    model.load_state_dict({name: torch.rand_like(x, dtype=torch.float32) for name, x in model.state_dict().items()}, assign=True)


def _other_memory(model):
    model.head.bias.data = torch.randn(5)


def _step(model):
    for x in model.parameters():
        x.grad = torch.ones_like(x)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


@pytest.mark.parametrize("edit", [_in_place, _buffer, _replaced, _state, _assigned, _other_memory, _step])
def test_edited_weights_are_packed_again(edit):
    model = Net().eval()
    fast = compiled(model)
    before = fast(X)
    close(before, model(X))
    edit(model)
    wanted = model(X)
    assert not torch.allclose(before, wanted, atol=1e-3)
    close(fast(X), wanted)
    close(fast(X), wanted)
    assert sum(graph.packed for graph in btt.compiled_graphs(model)) == 2
    # And what is edited after that. No plan of other weights is kept.
    _in_place(model)
    close(fast(X), model(X))
    assert all(len(graph.plans) == 1 for graph in btt.compiled_graphs(model))


def test_weights_that_depend_on_others_are_computed_again():
    class Scaled(Net):
        def forward(self, x):
            return F.conv2d(x, self.stem.weight * self.bn.running_var[:, None, None, None])

    model = Scaled().eval()
    fast = compiled(model)
    close(fast(X), model(X))
    model.bn.running_var.mul_(3)
    close(fast(X), model(X))


def test_what_escapes_is_found_by_its_bytes():
    model = Net().eval()
    fast = compiled(model)
    fast(X)
    (graph,) = btt.compiled_graphs(model)
    graph.check_weights()
    # What the next call sees is no mismatch.
    _in_place(model)
    graph.check_weights()
    before = fast(X)
    model.head.weight.data.mul_(2)
    assert torch.equal(fast(X), before), "the documentation says that this is not found"
    with pytest.raises(bt.PackMismatch, match=r"head\.weight; call `repack\(\)`"):
        graph.check_weights()
    graph.repack()
    close(fast(X), model(X))
    graph.check_weights()
    assert btt.compiled_graphs(Net()) == []


def test_weights_without_versions_are_packed():
    with torch.inference_mode():
        model = Net().eval()
        fast = compiled(model)
        close(fast(X), model(X))
        model.head.weight = nn.Parameter(torch.randn(5, 16))
        close(fast(X), model(X))


def test_the_check_of_weights_reads_no_weights():
    model = torchvision.models.resnet50().eval()
    fast = compiled(model)
    fast(torch.randn(1, 3, 64, 64))
    (graph,) = btt.compiled_graphs(model)
    (packed,) = graph._plans
    weights = [ref() for ref in packed.weights]
    steps = 0

    def count(frame, event, arg):
        nonlocal steps
        steps += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        is_current = packed.is_current(weights)
    finally:
        sys.setprofile(before)
    # 267 tensors, 106 of them statistics: the elements of these alone are compared.
    assert is_current and len(weights) == 267
    assert steps < 6 * len(weights)
    assert sum(x.numel() for x in packed._bits) == sum(x.numel() for name, x in model.named_buffers() if x.ndim == 1)
    # PyTorch gives no part to several threads, which would spin while the plan runs.
    assert len(packed._bits) == 2 and all(x.numel() < 32768 for x in packed._bits)


def test_each_size_has_a_plan_and_the_last_16_are_kept():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    fast = compiled(model, dynamic=True)
    sizes = [*range(2, 22), 2]
    for rows in sizes:
        for _ in range(2):
            x = torch.randn(rows, 8)
            close(fast(x), model(x))
    (graph,) = graphs()
    # That of 2 rows was packed again.
    assert len(graph.plans) == 16 and graph.packed == len(sizes)
    # That of 7 rows is used, and stays.
    for rows in [7, *range(30, 45), 7]:
        fast(torch.randn(rows, 8))
    assert graph.packed == len(sizes) + 15


def test_sizes_that_turn_out_to_differ():
    model = Net().eval()
    fast = compiled(model)
    for rows, high in [(1, 17), (2, 17), (3, 20), (4, 17), (2, 17)]:
        x = torch.randn(rows, 3, high, 17)
        close(fast(x), model(x))
    x = torch.randn(5, 3, 19, 19)
    torch._dynamo.mark_dynamic(x, 0)
    close(fast(x), model(x))


def _whose(model):
    """For each plan of a model, by its rows, those of the plan whose choices it has."""
    found = {}
    for graph in btt.compiled_graphs(model):
        for plan in graph.plans:
            (region,) = plan.regions
            like = re.search(r"chosen as in the plan for \S+ \[(\d+), .*\]: (\d+) of (\d+) nodes\n.*; nothing was measured", repr(plan))
            assert like is None or like[2] == like[3], repr(plan)
            found[region.plan.inputs[0][2][0]] = like and int(like[1])
    return found


@pytest.mark.parametrize("measures", [False, True])
def test_new_sizes_take_the_choices_of_the_nearest_plan_unless_an_option_measures(measures):
    model = Net().eval()
    fast = compiled(model, layouts="measured", **({"measure_new_shapes": True} if measures else {}))
    x = torch.randn(8, 3, 33, 29)
    for rows in (1, 2, 8, 3, 4, 6):
        for _ in range(2):
            close(fast(x[:rows]), model(x[:rows]))
    # PyTorch makes two graphs: one for 1 row, one for any number.
    assert len(btt.compiled_graphs(model)) == 2
    nearest = {1: None, 2: 1, 8: 2, 3: 2, 4: 3, 6: 8}
    assert _whose(model) == (dict.fromkeys(nearest) if measures else nearest)


def test_edited_weights_take_the_choices_of_those_before():
    model = Net().eval()
    fast = compiled(model, layouts="measured")
    for edit in (lambda _: None, _in_place, _replaced):
        edit(model)
        close(fast(X), model(X))
    assert [each and each == len(X) for each in map(_whose(model).get, [len(X)])] == [True]
    # Nor do they keep the plan before alive.
    assert all(len(graph.plans) == 1 for graph in btt.compiled_graphs(model))


def test_other_weights_and_other_options_measure():
    class Sized(Net):
        def __init__(self, classes):
            super().__init__()
            self.head = nn.Linear(16, classes)

    kept = []
    for classes, options in ((5, {}), (6, {}), (5, {"exact": True}), (5, {"threads": 1})):
        torch._dynamo.reset()
        model = Sized(classes).eval()
        fast = compiled(model, layouts="measured", **options)
        close(fast(X), model(X))
        kept += btt.compiled_graphs(model)
        assert _whose(model) == {len(X): None}, options


def test_numbers_of_python_are_part_of_a_plan():
    fast = compiled(lambda x, size: F.interpolate(x, size=(size, size)) * size, dynamic=True)
    for size in (3, 5, 3):
        close(fast(X, size), F.interpolate(X, size=(size, size)) * size)
    fast = compiled(lambda x, by: x / (x * by))
    for by in (1.5, 2.5, 3.5, 0.0, -0.0, 0.0):
        wanted = torch.ones(4) / torch.full((4,), by)
        assert torch.equal(fast(torch.ones(4), by), wanted), by
    with pytest.warns(UserWarning, match="each of the last 8 calls of .*: sizes or numbers differ from call to call"):
        for by in range(20):
            fast(torch.ones(4), by + 0.5)


def test_each_graph_is_a_plan():
    def model(x):
        y = F.relu(x)
        torch._dynamo.graph_break()
        return y * 2

    close(compiled(model)(X), F.relu(X) * 2)
    first, second = graphs()
    assert len(first.plans) == len(second.plans) == 1 and first.name.startswith("model (test_compile.py:")
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.reset()
        compiled(model, fullgraph=True)(X)


def test_state_of_python_is_kept_as_in_pytorch():
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.count, self.sum = 0, torch.zeros(())

        def forward(self, x):
            self.count += 1
            self.sum = self.sum + x.sum()
            return x * self.sum

    one, other = Keeps().eval(), Keeps().eval()
    fast = compiled(one)
    for _ in range(3):
        close(fast(X), other(X))
    assert one.count == other.count == 3
    close(one.sum, other.sum)


def test_weights_that_differ_from_call_to_call_are_told():
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.sum = torch.zeros(())

        def forward(self, x):
            self.sum = self.sum + x.sum()
            return x * self.sum

    one, other = Sums().eval(), Sums().eval()
    fast = compiled(one)
    with pytest.warns(UserWarning, match="each of the last 8 calls of forward .*: sum differs from call to call; pass"):
        for _ in range(9):
            close(fast(X), other(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Net().eval()
        fast = compiled(model)
        for _ in range(9):
            _in_place(model)
            for _ in range(2):
                fast(X)


@pytest.mark.parametrize("edit", [_in_place, _buffer, _replaced])
def test_weights_that_inductors_freezing_puts_into_the_graph(edit):
    model = Net().eval()
    with torch._inductor.config.patch(freezing=True):
        fast = compiled(model)
        close(fast(X), model(X))
        assert len(btt.compiled_graphs(model)) == 1
        edit(model)
        close(fast(X), model(X))
    assert len(btt.compiled_graphs(model)) == 1 + (edit is _replaced)


def test_two_threads_call_at_once():
    model = Net().eval()
    fast = compiled(model, dynamic=True)
    inputs = [torch.randn(rows, 3, 33, 29) for rows in (2, 3, 4, 5)]
    wanted = [model(x) for x in inputs]
    start, wrong = threading.Barrier(4), []

    def run(own):
        with torch.no_grad():
            start.wait()
            for i in [*range(own, 4), *range(own)] * 5:
                try:
                    close(fast(inputs[i]), wanted[i])
                except Exception as e:
                    wrong.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_models_of_one_class_share_a_graph_and_have_plans_of_their_own():
    models = [Net().eval() for _ in range(3)]
    fast = [compiled(model) for model in models]
    for _ in range(3):
        for one, model in zip(fast, models, strict=True):
            close(one(X), model(X))
    (graph,) = {graph for model in models for graph in btt.compiled_graphs(model)}
    assert graph.packed == 3 and len(graph.plans) == 3
    _replaced(models[1])
    close(fast[1](X), models[1](X))
    close(fast[0](X), models[0](X))
    assert graph.packed == 4 and len(graph.plans) == 3
    # All weights at once: those that are gone take their plan along.
    _assigned(models[2])
    close(fast[2](X), models[2](X))
    assert graph.packed == 5 and len(graph.plans) == 3


def test_models_that_share_weights_keep_their_plans():
    one, other = Net().eval(), Net().eval()
    other.stem = one.stem
    fast = [compiled(one), compiled(other)]
    for _ in range(3):
        close(fast[0](X), one(X))
        close(fast[1](X), other(X))
    (graph,) = btt.compiled_graphs(other)
    assert graph.packed == 2
    _in_place(one)
    close(fast[0](X), one(X))
    close(fast[1](X), other(X))
    assert graph.packed == 4 and len(graph.plans) == 2


def test_a_plan_of_inference_mode_is_for_other_modes_too():
    def model(x):
        return F.relu(x), torch.arange(4.0)

    fast = compiled(model)
    with torch.inference_mode():
        close(fast(X), model(X))
    for y in fast(X):
        assert not y.is_inference()
        y.add_(1)
    close(fast(X), model(X))


def test_what_a_graph_says():
    model = Net().eval()
    fast = compiled(model)
    fast(X)
    (graph,) = btt.compiled_graphs(model)
    text = repr(graph)
    assert re.match(r"forward \(compiling.py:\d+\): 1 plan, weights packed 1 time\n  \[2, 3, 33, 29\]: ", text)
    assert "stem: conv2d" in repr(graph.plans[0])
    with pytest.raises(bt.InvalidArgument, match="argument `model`"):
        btt.compiled_graphs(3)
