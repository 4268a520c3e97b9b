"""Plans that compute in bf16, and bf16 tensors in ops."""

import blocktensor as bt
import numpy as np
import pytest

RANDOM = np.random.default_rng(26)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


X, W1, W2 = normal(1, 3, 9, 7), normal(16, 3, 3, 3), normal(8, 16, 1, 1)


def model():
    m = bt.Model()
    m.input("x", [1, 3, 9, 7])
    m.constant("w1", W1)
    m.constant("w2", W2)
    m.op("first", "conv2d", [("x", "x"), ("weights", "w1")], {"padding": 1}, ["a"])
    m.op("active", "mish", [("x", "a")], {}, ["b"])
    m.op("second", "conv2d", [("x", "b"), ("weights", "w2")], {}, ["c"])
    m.output("y", "c")
    return m


def planned(**options):
    """A plan in bf16. The test ends, after a look at the error, where this machine or build has no kernel for it."""
    # The engine's name has the instructions that it uses.
    if any(isa in bt.build_info() for isa in ("avx512_core_bf16", "avx512_core_amx", "avx512_core_fp16", "avx10")):
        return model().plan(precision="bf16", **options)
    with pytest.raises(bt.InvalidArgument, match="precision: got bf16; .*leave it out"):
        model().plan(precision="bf16", **options)
    pytest.skip("no kernels for bf16")


@pytest.mark.parametrize("layouts", ["nhwc", "blocked", "measured"])
def test_plans_compute_in_bf16_between_f32_inputs_and_outputs(layouts):
    (wanted,) = model().plan(layouts="nchw").run(X)
    plan = planned(layouts=layouts)
    (got,) = plan.run(X)
    assert got.dtype == "f32"
    error = np.linalg.norm(np.asarray(got) - np.asarray(wanted)) / np.linalg.norm(np.asarray(wanted))
    assert "precision: bf16" in str(plan)
    assert 1e-5 < error < 0.02
    assert "x to bf16: to_dtype" in str(plan)


def test_a_plan_in_bf16_is_saved_without_plain_weights(tmp_path):
    plan = planned(layouts="nhwc")
    text = "`Plan.save`: argument `keep_plain`: got a plan in bf16, but its weights are rounded"
    with pytest.raises(bt.InvalidArgument, match=text):
        plan.save(tmp_path / "a.plan", keep_plain=True)
    plan.save(tmp_path / "a.plan")
    assert np.array_equal(np.asarray(bt.load_plan(tmp_path / "a.plan").run(X)[0]), np.asarray(plan.run(X)[0]))
    model().plan(layouts="nhwc").save(tmp_path / "a.plan", keep_plain=True)


def test_another_precision_is_refused_with_the_names():
    with pytest.raises(bt.InvalidArgument, match="got `int8`, but precisions are f32, bf16"):
        model().plan(precision="int8")


def test_elementwise_ops_round_once():
    x = bt.from_dlpack(X).to_dtype("bf16")
    for op in (bt.ops.tanh, bt.ops.gelu, bt.ops.square):
        got = op(x)
        assert got.dtype == "bf16"
        wanted = op(x.to_dtype("f32")).to_dtype("bf16")
        assert np.array_equal(np.asarray(got.to_dtype("f32")), np.asarray(wanted.to_dtype("f32")))
    with pytest.raises(bt.DTypeMismatch, match='to_dtype\\("bf16"\\)'):
        bt.ops.add(x, bt.from_dlpack(X))
    assert bt.ops.to_dtype(X, dtype="s8").dtype == "s8"
    with pytest.raises(bt.InvalidArgument, match="use f32, bf16"):
        bt.ops.to_dtype(X, dtype="half")
