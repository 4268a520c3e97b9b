"""Nodes with graphs inside, weights in files, and profiles, for scripts/onnxruntime_ep.py."""

import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from onnxruntime_sessions import EP, LIMIT, MIXES, cpu, logged, model_of, refused, relative_l2, session, small

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def body(name, nodes, inputs, outputs, constants=()):
    """A graph for an attribute; a value is (name, type, shape)."""
    values = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)]
    return helper.make_graph(nodes, name, *values, [numpy_helper.from_array(a, key) for key, a in constants])


# All of these take `x` of [2, 3] and give `out`. `r`, made of `x` in a fused node, and the constant `w` are used inside graphs.
BEFORE = [helper.make_node("Mul", ["x", "w"], ["p"], "product"), helper.make_node("Relu", ["p"], ["r"], "relu")]
AFTER = helper.make_node("Abs", ["y"], ["out"], "abs")
W = np.array([[1, -2, 3]], np.float32)


def if_of(result, condition, name="if", source="r"):
    """Takes `exp(source) * w`, or `source + 2`."""
    then = [helper.make_node("Exp", [source], ["e"], "exp"), helper.make_node("Mul", ["e", "w"], ["z"], "times")]
    other = [helper.make_node("Add", [source, "two"], ["z"], "plus")]
    z, two = [("z", F32, None)], [("two", np.array([2], np.float32))]
    then, other = body("then", then, [], z), body("else", other, [], z, two)
    return helper.make_node("If", [condition], [result], name, then_branch=then, else_branch=other)


def loop_of(nodes, carried="v", of="v2"):
    """Three rounds; each gives `of`, which the next one gets as `carried`, and its square, which are stacked."""
    nodes = [helper.make_node("Identity", ["go"], ["go2"], "goes on"), *nodes, helper.make_node("Mul", [of, of], ["q"], "square")]
    ends = [("i", I64, []), ("go", BOOL, []), (carried, F32, None)], [("go2", BOOL, []), (of, F32, None), ("q", F32, None)]
    return helper.make_node("Loop", ["rounds", "", "r"], ["last", "squares"], "loop", body=body("body", nodes, *ends))


def sum_of_loop():
    return [helper.make_node("ReduceMax", ["squares"], ["m"], "maximum", axes=[0], keepdims=0), helper.make_node("Add", ["last", "m"], ["y"], "sum")]


def scan(factor):
    nodes = [helper.make_node("Add", ["s", "row"], ["s2"], "add"), helper.make_node("Mul", ["s2", factor], ["given"], "times")]
    ends = [("s", F32, [1, 3]), ("row", F32, [3])], [("s2", F32, [1, 3]), ("given", F32, [1, 3])]
    return helper.make_node("Scan", ["start", "r"], ["end", "rows"], "scan", num_scan_inputs=1, body=body("body", nodes, *ends))


def if_in_if():
    ends = [], [("z", F32, None)]
    then, other = body("then", [if_of("z", "c")], *ends), body("else", [helper.make_node("Neg", ["r"], ["z"], "negative")], *ends)
    return helper.make_node("If", ["c"], ["y"], "outer", then_branch=then, else_branch=other)


#: For each: the nodes between, and the one that the error names.
CASES = {
    "If": ([if_of("y", "c")], "if"),
    "Loop": ([loop_of([helper.make_node("Add", ["v", "w"], ["v2"], "add")]), *sum_of_loop()], "loop"),
    "Loop that takes a value of a fused node": ([loop_of([helper.make_node("Sub", ["v", "p"], ["v2"], "minus")]), *sum_of_loop()], "loop"),
    "Scan": ([scan("w"), helper.make_node("Add", ["rows", "end"], ["y"], "sum")], "scan"),
    "Scan that takes nothing from outside": ([scan("s2"), helper.make_node("Add", ["rows", "end"], ["y"], "sum")], "scan"),
    "If in a Loop": ([loop_of([if_of("v2", "c", source="p")]), *sum_of_loop()], "loop"),
    "If in an If": ([if_in_if()], "outer"),
}


def control():
    """Nodes with graphs inside are refused by name, or run elsewhere between our fused nodes."""
    constants = [("w", W), ("rounds", np.array(3)), ("start", np.ones((1, 3), np.float32))]
    values = {"x": np.random.default_rng(0).standard_normal((2, 3), np.float32)}
    inputs, outputs = [("x", F32, [2, 3]), ("c", BOOL, [])], [("out", F32, None)]
    for name, (nodes, at) in CASES.items():
        used = {value for node in nodes for value in node.input}
        model = model_of([*BEFORE, *nodes, AFTER], inputs, outputs, [(n, a) for n, a in constants if n == "w" or n in used])
        for fallback in (False, True):
            text = refused(lambda model=model, fallback=fallback: session(model, fallback), EP, f"node `{at}`", "graphs inside", "`partial`")
        if not MIXES:
            continue
        if ort.__version__.startswith("1.23.") and "nothing from outside" in name:
            refused(lambda model=model: session(model, True, partial=1), f"node `{at}`", "`partial`", "1.24 or newer")
            continue
        ours, log = logged(lambda model=model: session(model, True, severity=2, partial=1))
        assert f"node `{at}`: " in log and all(f"node `{node.name}`: " not in log for node in BEFORE), log
        for flag in (True, False):
            feeds = {each.name: values.get(each.name, np.array(flag)) for each in ours.get_inputs()}
            (got,), (want,) = ours.run(None, feeds), cpu(model).run(None, feeds)
            assert relative_l2(got, want) <= LIMIT, f"{name}: {got} {want}"
    print(f"  {', '.join(CASES)}: refused by name, right with partial=1\n    {text.splitlines()[1].strip()}")
    # One whose condition is known is only one of its branches by the time that ONNX Runtime asks.
    for flag in (True, False):
        model = model_of([*BEFORE, if_of("y", "c"), AFTER], inputs[:1], outputs, [*constants[:1], ("c", np.array(flag))])
        (got,), (want,) = (make(model).run(None, values) for make in (session, cpu))
        assert relative_l2(got, want) <= LIMIT
    print("  an If whose condition is known: right, all of it here")


def external():
    """Weights in files, which ONNX Runtime reads."""
    image = {"image": np.random.default_rng(0).standard_normal((2, 3, 16, 16), np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        inside, apart = Path(folder) / "inside", Path(folder) / "apart"
        inside.mkdir(), apart.mkdir()
        (want,) = cpu(small(2)).run(None, image)

        def saved(path, location):
            onnx.save(small(2), path, save_as_external_data=True, location=location, size_threshold=0)
            return str(path)

        path = saved(inside / "model.onnx", "weights.data")
        assert relative_l2(session(path).run(None, image)[0], want) <= LIMIT
        # A compiled model has the weights in its plan: the file is not needed any more.
        entries = {"ep.context_enable": "1", "ep.context_file_path": f"{inside}/compiled.onnx", "ep.context_embed_mode": "1"}
        session(path, entries=entries, threads=1)
        (inside / "weights.data").rename(apart / "weights.data")
        assert relative_l2(session(f"{inside}/compiled.onnx", threads=1).run(None, image)[0], want) <= LIMIT
        refused(lambda: session(path), "weights.data")
        # Neither a link nor a path may lead out of the model's folder. Version 1.23 of ONNX Runtime follows links.
        (inside / "weights.data").symlink_to(apart / "weights.data")
        texts = []
        if not ort.__version__.startswith("1.23."):
            texts.append(refused(lambda: session(path), "weights.data"))
        model = onnx.load(path, load_external_data=False)
        for tensor in model.graph.initializer:
            next(entry for entry in tensor.external_data if entry.key == "location").value = "../apart/weights.data"
        (inside / "model.onnx").write_bytes(model.SerializeToString())
        texts.append(refused(lambda: session(path), "weights.data"))
    print("  weights in a file: right; compiled, it is not needed. Outside the model's folder:")
    print("    " + "\n    ".join(text.splitlines()[0][:200] for text in texts))


def profiles():
    """ONNX Runtime's profile of a run names the fused node as its log does."""
    image = {"image": np.zeros((2, 3, 16, 16), np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        config = ort.SessionOptions()
        config.enable_profiling, config.profile_file_prefix, config.log_severity_level = True, f"{folder}/profile", 1
        config.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == EP], {"layouts": "nchw"})
        ours, log = logged(lambda: ort.InferenceSession(small(2).SerializeToString(), config))
        for _ in range(3):
            ours.run(None, image)
        events = json.loads(Path(ours.end_profiling()).read_text())
    (line,) = [line for line in log.splitlines() if "run as the fused node `" in line]
    name = line.split("run as the fused node `")[1].split("`")[0]
    runs = [event for event in events if event.get("cat") == "Node" and event["args"].get("provider") == EP]
    assert Counter(event["name"] for event in runs) == {f"{name}_kernel_time": 3}, runs
    print(f"  {name}: three runs in the profile")
