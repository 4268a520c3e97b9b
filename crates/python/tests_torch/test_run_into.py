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


def test_inference_tensors_have_no_versions():
    with torch.inference_mode():
        y = torch.zeros(3)
    plan().run_into(torch.ones(3), y)
    assert y.tolist() == [-1, -1, -1]


def test_memory_that_two_libraries_have_is_found():
    y = torch.zeros(3)
    with pytest.raises(bt.Aliasing, match="input `x` has too"):
        plan().run_into(y.numpy(), y)
