"""ONNX models and plans: PyTorch's stored answers, texts, drawings, packed files, Ctrl-C."""

import copy
import functools
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import blocktensor as bt
import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[3] / "tests/data/onnx_models"
NAMES = sorted(path.name.removesuffix(".image.npy") for path in DATA.glob("*.image.npy"))
#: The networks that are there in other forms than PyTorch's first exporter's.
FILES = {"quantised": "quantised.qdq.onnx"}


def image_of(name):
    return np.load(DATA / f"{name}.image.npy")


def plan_of(name, file=None, **options):
    model = bt.load_onnx(DATA / (file or FILES.get(name, f"{name}.onnx")))
    image = image_of(name)
    sizes = {}
    for (_, _, dims), array in zip(model.inputs, [image], strict=True):
        sizes |= {dim: size for dim, size in zip(dims, array.shape, strict=True) if dim in model.named_sizes}
    return model.plan(**{"layouts": "blocked", "sizes": sizes, **options})


@pytest.mark.parametrize("layouts", ["nchw", "nhwc", "blocked", "measured"])
@pytest.mark.parametrize("name", NAMES)
def test_models_give_pytorchs_answers(name, layouts):
    plan = plan_of(name, layouts=layouts, profiles="estimated")
    with bt.budget(len(plan.reorders)):
        results = plan.run(image_of(name))
    wanted = np.load(DATA / f"{name}.output.npy")
    got = results[0].numpy()
    assert got.shape == wanted.shape
    assert np.linalg.norm(got - wanted) <= 1e-5 * np.linalg.norm(wanted)


def test_what_a_model_and_its_plan_say():
    model = bt.load_onnx(DATA / "resnet.onnx")
    assert len(model.nodes) > 5 and len(model.outputs) == 1
    assert repr(model).startswith("Model(")
    plan = plan_of("resnet")
    (name, dtype, shape) = plan.inputs[0]
    assert (dtype, shape) == ("f32", list(image_of("resnet").shape))
    assert f"{len(plan.reorders)} reorder" in repr(plan)
    text = plan.explain()
    for reorder in plan.reorders:
        assert reorder["bytes"] > 0
        assert reorder["node"] in text
    assert str(plan) == text
    assert plan._repr_svg_().startswith("<svg") or "<svg" in plan._repr_svg_()
    assert "<svg" in plan._repr_html_() and "<pre>" in plan._repr_html_()
    assert plan.dot().startswith("digraph")
    assert any(step["fused"] for step in plan.steps)
    results, seconds = plan.run_timed(image_of("resnet"))
    assert len(seconds) == len(plan.steps) and len(results) == len(plan.outputs)
    with_constants = plan_of("resnet", keep_constants=True)
    assert "relative L2" in with_constants.errors(image_of("resnet"))


def test_plans_in_files_pickled_and_copied(tmp_path):
    plan = plan_of("resnet")
    image = image_of("resnet")
    wanted = plan.run(image)[0].numpy()
    path = tmp_path / "resnet.plan"
    plan.save(path, keep_plain=True)
    for again in [
        bt.load_plan(path),
        bt.load_plan(path, replan=True),
        pickle.loads(pickle.dumps(plan)),
        copy.copy(plan),
        copy.deepcopy(plan),
    ]:
        np.testing.assert_array_equal(again.run(image)[0].numpy(), wanted)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(bt.CorruptFile):
        bt.load_plan(path)
    with pytest.raises(bt.FileAccess) as e:
        bt.load_plan(tmp_path / "nothing")
    assert isinstance(e.value, OSError)


def test_a_mapped_plan_is_the_file(tmp_path):
    plan, image, path = plan_of("resnet"), image_of("resnet"), tmp_path / "resnet.plan"
    plan.save(path, keep_plain=True)
    wanted = plan.run(image)[0].numpy()
    for options in ({}, {"replan": True}, {"keep_constants": True}):
        mapped = bt.load_plan(path, mapped=True, **options)
        assert str(path) in Path("/proc/self/maps").read_text()
        np.testing.assert_array_equal(mapped.run(image)[0].numpy(), wanted)
        # A file that is renamed over it leaves the plan as it was.
        plan.save(path, keep_plain=True)
        np.testing.assert_array_equal(mapped.run(image)[0].numpy(), wanted)
        del mapped
        assert str(path) not in Path("/proc/self/maps").read_text()
    assert str(path) not in Path("/proc/self/maps").read_text()
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(bt.CorruptFile):
        bt.load_plan(path, mapped=True)


def test_a_damaged_pickle_is_told_as_one(monkeypatch, tmp_path):
    pickled = pickle.dumps(plan_of("resnet"))
    start = pickled.index(b'{"__metadata__')
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for at in [start - 8, start, start + 300, len(pickled) // 2, len(pickled) - 40]:
        damaged = bytearray(pickled)
        damaged[at] ^= 0x80
        with pytest.raises(bt.CorruptFile, match="op `unpickle`: argument `bytes`: got `the pickled plan`: ") as e:
            pickle.loads(bytes(damaged))
        assert e.value.op == "unpickle" and "tmp" not in str(e.value)
        assert e.value.remedy == "pickle the plan again, or copy the pickle again"
    build, (packed, threads) = plan_of("resnet").__reduce__()
    with pytest.raises(bt.CorruptFile, match="the pickled plan"):
        build(packed[:1000], threads)
    with pytest.raises(bt.InvalidArgument, match="op `unpickle`: argument `threads`: got 0"):
        build(packed, 0)
    _, (packed, threads) = plan_of("resnet", threads=1).__reduce__()
    assert threads == 1
    with pytest.raises(bt.PackMismatch, match="op `unpickle`: argument `bytes`: got a plan packed for 1 thread, but a run here has 2 threads") as misfit:
        build(packed, 2)
    assert misfit.value.remedy == "plan the model again on this machine, or with `threads=`, which the pickle keeps"
    # Nothing is written to unpickle.
    assert list(tmp_path.iterdir()) == []


def test_a_plan_for_one_thread():
    plan = plan_of("resnet", threads=1)
    assert plan.threads == 1
    image = image_of("resnet")
    wanted = np.load(DATA / "resnet.output.npy")
    assert np.linalg.norm(plan.run(image)[0].numpy() - wanted) <= 1e-5 * np.linalg.norm(wanted)
    results = []
    threads = [threading.Thread(target=lambda: results.append(plan.run(image)[0].numpy())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[0], r) for r in results) and len(results) == 4


def test_errors_of_models_and_runs(tmp_path):
    with pytest.raises(bt.FileAccess):
        bt.load_onnx(tmp_path / "nothing.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(bt.CorruptFile, match="not an ONNX model"):
        bt.load_onnx(tmp_path / "bad.onnx")
    plan = plan_of("resnet")
    with pytest.raises(bt.InvalidArgument, match="this plan is for"):
        plan.run(np.zeros((1, 3, 5, 5), np.float32))
    with pytest.raises(bt.InvalidArgument, match="inputs"):
        plan.run()
    with pytest.raises(bt.InvalidArgument, match="layouts are nchw"):
        plan_of("resnet", layouts="nope")
    with pytest.raises(bt.OpaqueLayoutError, match=r"argument `\w+`: got .*nChw16c.*; pass `x.to_strided\(\)`") as e:
        plan.run(bt.zeros([1, 16, 4, 4], layout="nChw16c"))
    assert "`self`" not in str(e.value)
    x = np.zeros((1, 3, 32, 32), np.float32)
    for given in ([x], (x,), iter([x]), (x for _ in range(1))):
        with pytest.raises(bt.InvalidArgument, match=r"argument `inputs`: got a \w+ for all, but .*; pass its tensors one by one: `\*tensors`"):
            plan.run(given)


def graph(op="relu", **params):
    model = bt.Model()
    model.input("x", ["batch", 3, 8, 8])
    model.constant("w", np.full((16, 3, 3, 3), 0.1, np.float32))
    model.op("conv", "conv2d", [("x", "x"), ("weights", "w")], {"padding": 1}, ["conv"])
    model.op("last", op, [("x", "conv")], params, ["last"])
    model.output("y", "last")
    return model


def test_a_measured_plan_compares_quantised_nodes_with_f32():
    model = bt.Model()
    model.input("x", [1, 16, 12, 12])
    model.constant("scale", np.array([0.02], np.float32))
    model.constant("zero", np.array([0], np.int32))
    model.constant("w", np.full((16, 16, 3, 3), 3, np.int8))
    of = [("scale", "scale"), ("zero_point", "zero")]
    model.op("q", "quantize", [("x", "x"), *of], {"dtype": "u8"}, ["q"])
    model.op("dq", "dequantize", [("x", "q"), *of], {}, ["dq"])
    model.op("weights", "dequantize", [("x", "w"), *of], {}, ["dw"])
    model.op("conv", "conv2d", [("x", "dq"), ("weights", "dw")], {"padding": 1}, ["conv"])
    model.op("q2", "quantize", [("x", "conv"), *of], {"dtype": "u8"}, ["y"])
    model.output("y", "y")
    plan = model.plan(profiles="measured")
    text = str(plan)
    assert text.count(" in 8 bits, ") == len(plan.faster_in_f32) <= 1
    for node in plan.faster_in_f32:
        assert node["name"] == "conv" and node["seconds"] > node["f32_seconds"] > 0
    if "blocktensor:int8" in text:
        assert "faster in f32" in text or "not compared with f32" in text
    assert model.plan(layouts="blocked").faster_in_f32 == []


def test_measured_layouts_are_the_default_and_keep_to_a_number_of_reorders():
    model = graph()
    plan = model.plan(sizes={"batch": 1})
    assert plan.layouts == "measured" and "layouts: measured" in plan.explain()
    for layouts in ["measured", "blocked"]:
        count = len(model.plan(sizes={"batch": 1}, layouts=layouts, profiles="estimated").reorders)
        plan = model.plan(sizes={"batch": 1}, layouts=layouts, profiles="estimated", reorders=count)
        assert len(plan.reorders) <= count
        with pytest.raises(bt.InvalidArgument, match=r"^reorders: got .*; at most 0 may be; allow that with `reorders=\d+`") as e:
            model.plan(sizes={"batch": 1}, layouts=layouts, profiles="estimated", reorders=0)
        allowed = int(re.search(r"`reorders=(\d+)`", e.value.remedy)[1])
        assert len(model.plan(sizes={"batch": 1}, layouts=layouts, profiles="estimated", reorders=allowed).reorders) == allowed
    with pytest.raises(bt.InvalidArgument, match="reorders"):
        model.plan(sizes={"batch": 1}, reorders=-1)


@pytest.mark.parametrize("layouts", ["nchw", "nhwc", "blocked"])
def test_a_plan_takes_the_choices_of_one_at_other_sizes(layouts):
    model = graph()
    first = model.plan(sizes={"batch": 1}, layouts=layouts)
    plan = model.plan(sizes={"batch": 3}, like=first)
    layouts_of = [[step["layouts"] for step in each.steps] for each in (first, plan)]
    assert layouts_of[0] == layouts_of[1] and plan.layouts == "measured"
    assert "chosen as in the plan for x [1, 3, 8, 8]: 1 of 1 node\n" in plan.explain() and "nothing was measured" in plan.explain()
    x = np.random.default_rng(0).standard_normal((3, 3, 8, 8), np.float32)
    wanted = model.plan(sizes={"batch": 3}, layouts="nchw").run(x)[0].numpy()
    np.testing.assert_allclose(plan.run(x)[0].numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_what_no_choices_can_be_taken_of_is_refused():
    model = graph()
    first = model.plan(sizes={"batch": 1}, layouts="nchw")
    with pytest.raises(bt.InvalidArgument, match=r"`like`: got 'one', but it is a plan of the same model at other sizes; pass what `plan`"):
        model.plan(sizes={"batch": 2}, like="one")
    with pytest.raises(bt.InvalidArgument, match="`like`: got a plan, but nhwc layouts leave nothing to choose; leave `like` out, or") as e:
        model.plan(sizes={"batch": 2}, like=first, layouts="nhwc")
    assert e.value.op == "plan" and "measured" in e.value.remedy
    assert model.plan(sizes={"batch": 2}, like=first, layouts="measured").layouts == "measured"


def test_a_size_may_be_0():
    plan = graph().plan(sizes={"batch": 0})
    assert plan.run(np.zeros((0, 3, 8, 8), np.float32))[0].shape == (0, 16, 8, 8)
    with pytest.raises(bt.InvalidArgument, match="got -1, but a size is 0 or more"):
        graph().plan(sizes={"batch": -1})


def test_graphs_by_hand():
    model = graph()
    assert model.named_sizes == ["batch"] and model.outputs == ["y"]
    plan = model.plan(sizes={"batch": 2}, layouts="nchw")
    x = np.ones((2, 3, 8, 8), np.float32)
    y = plan.run(x)[0].numpy()
    np.testing.assert_allclose(y[:, :, 1:-1, 1:-1], 2.7, rtol=1e-6)
    with pytest.raises(bt.InvalidArgument):
        model.plan()
    with pytest.raises(bt.InvalidArgument, match="no such parameter"):
        graph(slope=2)
    with pytest.raises(bt.InvalidArgument, match="no op has this name"):
        graph("rellu")
    with pytest.raises(bt.InvalidArgument, match="no value of the model"):
        model.op("n", "relu", [("x", "nothing")], {}, ["n"])
    conv = model.with_outputs(["conv"]).plan(sizes={"batch": 1}, layouts="nchw")
    assert conv.outputs[0][0] == "conv"
    assert model.missing({"batch": 1}) == []


LOOP = """
import sys, time, numpy as np, blocktensor as bt
model = bt.Model()
model.input("x", [1, 64, 512, 512])
value = "x"
for i in range(400):
    model.op(f"n{i}", "exp", [("x", value)], {}, [f"n{i}"])
    value = f"n{i}"
model.output("y", value)
plan = model.plan(threads=1, layouts="nchw")
x = np.zeros((1, 64, 512, 512), np.float32)
print("running", flush=True)
began = time.monotonic()
try:
    plan.run(x)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - began, flush=True)
    sys.exit(7)
"""


def test_ctrl_c_ends_a_run_between_two_steps():
    # A job in the background may have been started with the signal ignored.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, text=True, preexec_fn=heard)
    assert child.stdout.readline() == "running\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 7
    assert out.startswith("interrupted") and float(out.split()[1]) < 5


def test_the_command_line():
    run = lambda *args: subprocess.run(
        [sys.executable, "-m", "blocktensor", *map(str, args)], capture_output=True, text=True, timeout=120
    )
    shown = run("plan", DATA / "resnet.onnx", "--size", "batch=1")
    assert shown.returncode == 0 and "conv" in shown.stdout
    assert run("run", DATA / "resnet.onnx", "--no-such-option").returncode == 2
    assert run("--help").stdout.startswith("Runs ONNX models")
    missing = run("plan", "nothing.onnx")
    assert missing.returncode == 2 and missing.stderr.startswith("error: ")
    closed = ["sh", "-c", 'exec "$0" -m blocktensor --version >&-', sys.executable]
    closed = subprocess.run(closed, stderr=subprocess.PIPE, text=True, timeout=120)
    assert closed.returncode == 1 and "the standard output: it is closed" in closed.stderr


def test_index_has_all_models():
    assert len(NAMES) == 6 and json.loads((DATA / "index.json").read_text())
    assert os.path.exists(DATA / "README.md")


def test_a_plan_runs_into_memory_of_numpy():
    graph = bt.load_onnx(DATA / "resnet.onnx")
    image = image_of("resnet")
    plan = graph.plan(sizes={"batch": len(image)}, layouts="nhwc")
    wanted = plan.run(image)[0].numpy()
    memory = np.full((6, 10), 7, np.float32)
    place = memory[2 : 2 + len(image)]
    for inputs, outputs in ((image, place), ([image], (place,)), ({"image": image}, {"output": place})):
        memory[...] = 7
        assert plan.run_into(inputs, outputs) is None
        assert (place == wanted).all() and (memory[:2] == 7).all() and (memory[2 + len(image) :] == 7).all()
    before = memory.copy()
    frozen = wanted.copy()
    frozen.flags.writeable = False
    for outputs, text in (
        ([], "no tensor for `output`"),
        ({"other": place}, "got `other`"),
        ([place, place], "2 tensors"),
        (memory, "a run gives"),
        (place[:, ::2], "a run gives"),
        (np.zeros((10, len(image)), np.float32).T, "results are row-major"),
        (place.astype(np.int32), "a run gives"),
        (bt.from_dlpack(place), "tensors of this package never change"),
        (frozen, "read-only"),
        (image.reshape(-1)[: wanted.size].reshape(wanted.shape), "memory that input `image` has too"),
    ):
        with pytest.raises(bt.Error, match=text) as e:
            plan.run_into(image, outputs)
        assert e.value.remedy
    # The remedy is an array that the result goes into, and not another one that it would be lost in.
    for wrong in (place.astype(np.float64), place[::-1], memoryview(place), place.astype(bool)):
        with pytest.raises(bt.Error) as e:
            plan.run_into(image, wrong)
        made = eval(re.findall("`(numpy.empty.*)`", e.value.remedy)[0], {"numpy": np})
        plan.run_into(image, made)
        assert (made == wanted).all()
    with pytest.raises(bt.InvalidArgument, match="no tensor for `image`"):
        plan.run_into([], place)
    assert (memory == before).all()


def test_plans_with_integers_and_booleans_are_saved(tmp_path):
    model = bt.load_onnx(DATA / "integers.onnx")
    plan = model.plan(layouts="nchw", sizes={"batch": 2})
    plan.save(tmp_path / "integers.plan")
    x = np.array([[1, 0, 5, 2, 0.5, 3], [0.25, 7, 0, 0.75, -1, 2]], np.float32)
    for of in (plan, bt.load_plan(tmp_path / "integers.plan")):
        assert [(name, dtype) for name, dtype, _ in of.outputs] == [
            ("j", "s32"), ("k32", "s32"), ("mask", "bool"), ("rest", "bool"), ("kept", "f32"), ("rows", "f32"),
        ]  # fmt: skip
        j, k32, mask, rest, kept, rows = (result.numpy() for result in of.run(x))
        assert j.tolist() == [12, 11] and k32.tolist() == [0, 3]
        assert mask.tolist() == (x > 0.5).tolist() and rest.tolist() == (x <= 0.5).tolist()
        assert kept.tolist() == np.where(x > 0.5, x, 0).tolist() and rows.tolist() == [[5, 0], [0, 7]]


@pytest.mark.parametrize("layouts", ["nchw", "blocked"])
def test_constants_do_not_follow_their_arrays(layouts):
    weights, x = np.ones((3, 4), np.float32), np.full((2, 4), 2, np.float32)
    model = bt.Model()
    model.input("x", [2, 4])
    model.constant("w", weights)
    model.op("fc", "linear", [("x", "x"), ("weights", "w")], {}, ["y"])
    model.output("y", "y")
    weights.fill(5)
    plan = model.plan(layouts=layouts, profiles="estimated")
    weights.fill(9)
    np.testing.assert_array_equal(plan.run(x)[0].numpy(), np.full((2, 3), 8, np.float32))
