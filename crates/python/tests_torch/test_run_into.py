"""Plans that run into memory of PyTorch's tensors."""

import blocktensor as bt
import pytest
import torch


def plan():
    model = bt.Model()
    model.input("x", [3])
    model.op("y", "neg", [("x", "x")], {}, ["y"])
    model.output("y", "y")
    return model.plan(layouts="nchw")


def test_a_plan_runs_into_a_tensor():
    y = torch.zeros(2, 3)
    plan().run_into(torch.tensor([1.0, 2.0, 3.0]), y[1])
    assert y.tolist() == [[0, 0, 0], [-1, -2, -3]]


def test_gradients_that_need_what_is_overwritten_are_refused():
    weights, y = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    loss = (weights * y).sum()
    plan().run_into(torch.ones(3), y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


REFUSED = {
    "an input of another dtype": lambda y: ([torch.ones(3, dtype=torch.float64)], [y]),
    "an input of other sizes": lambda y: ([torch.ones(4)], [y]),
    "too many outputs": lambda y: ([torch.ones(3)], [y, torch.zeros(3)]),
    "an output of other sizes": lambda y: ([torch.ones(3)], [torch.zeros(3), y[:2]]),
    "memory of an input": lambda y: ([y], [torch.zeros(3), y]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_run_leaves_versions_and_gradients_alone(name):
    model = bt.Model()
    model.input("x", [3])
    for output in ("y", "z") if "outputs" not in name and "input of" not in name else ("y",):
        model.op(output, "neg", [("x", "x")], {}, [output])
        model.output(output, output)
    refused = model.plan(layouts="nchw")
    weights, y = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    loss = (weights * y).sum()
    inputs, outputs = REFUSED[name](y)
    versions = [x._version for x in (*outputs, y)]
    with pytest.raises(bt.Error):
        refused.run_into(inputs, outputs)
    assert [x._version for x in (*outputs, y)] == versions
    assert y.tolist() == [2, 2, 2]
    loss.backward()
    assert weights.grad.tolist() == [2, 2, 2]


def test_a_plan_without_steps_writes_too():
    model = bt.Model()
    model.input("x", [3])
    model.output("y", "x")
    copies = model.plan(layouts="nchw")
    y = torch.zeros(3)
    copies.run_into(torch.ones(3), y)
    assert y.tolist() == [1, 1, 1] and y._version == 1
    with pytest.raises(bt.Error):
        copies.run_into(torch.ones(4), y)
    assert y._version == 1
    plan().run_into(torch.ones(3), y)
    assert y._version == 2


def test_inference_tensors_have_no_versions():
    with torch.inference_mode():
        y = torch.zeros(3)
    plan().run_into(torch.ones(3), y)
    assert y.tolist() == [-1, -1, -1]


def test_memory_that_two_libraries_have_is_found():
    y = torch.zeros(3)
    with pytest.raises(bt.Aliasing, match="input `x` has too"):
        plan().run_into(y.numpy(), y)
