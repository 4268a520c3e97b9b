#!/usr/bin/env python3
"""Tries the provider for ONNX Runtime: scripts/onnxruntime_ep.py [--quick] LIBRARY [CHECK...]

    cargo build --release -p blocktensor-onnxruntime-ep
    python3 -m venv /tmp/ort && /tmp/ort/bin/pip install onnxruntime onnx numpy torch torchvision
    /tmp/ort/bin/python scripts/onnxruntime_ep.py target/release/libonnxruntime_ep_blocktensor.so

Without a name all checks run, with `--quick` those that need neither torch nor models from elsewhere. Each runs in a process of its own, so
that a crash ends only that one. A library with the feature `guard-pages` crashes where ONNX Runtime reads a struct of it beyond its end;
with `refusals` it leaves every second convolution to ONNX Runtime in `halves`.
`nodes` runs ONNX's own node tests, with ONNX Runtime kept from using its CPU provider.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from onnxruntime_ep_compiled import compiled
from onnxruntime_ep_graphs import control, external, profiles
from onnxruntime_ep_models import REFUSE, exported, halves, models, networks, nodes, optimised, own, shared
from onnxruntime_sessions import EP, LIMIT, MIXES, cpu, logged, model_of, refused, relative_l2, session, small

# Nothing of what is measured here is kept.
os.environ["BLOCKTENSOR_CACHE"] = "off"


def shapes():
    model = small()
    ours, theirs = session(model), cpu(model)
    worst = 0.0
    for batch in [*range(1, 25), 3, 1]:
        image = np.random.default_rng(batch).standard_normal((batch, 3, 16, 16), np.float32)
        worst = max(worst, relative_l2(ours.run(None, {"image": image})[0], theirs.run(None, {"image": image})[0]))
    print(f"  batches 1 to 24: at most {worst:.1e} from the CPU provider")
    assert worst <= LIMIT
    # Memory that is not aligned, and memory of the caller's for the result.
    image = np.random.default_rng(0).standard_normal((1, 3, 16, 16), np.float32)
    raw = np.zeros(image.nbytes + 4, np.uint8)
    start = 1 if raw.ctypes.data % 4 == 0 else 0
    odd = raw[start : start + image.nbytes].view(np.float32).reshape(image.shape)
    odd[:] = image
    (want,) = theirs.run(None, {"image": image})
    assert relative_l2(ours.run(None, {"image": odd})[0], want) <= LIMIT
    place = np.full((1, 10), np.nan, np.float32)
    binding = ours.io_binding()
    binding.bind_input("image", "cpu", 0, np.float32, image.shape, image.ctypes.data)
    binding.bind_output("logits", "cpu", 0, np.float32, place.shape, place.ctypes.data)
    ours.run_with_iobinding(binding)
    assert relative_l2(place, want) <= LIMIT
    print("  an unaligned input, and a result in the caller's memory")


def plans():
    """What the session says of its plans: in the log, and in a file."""
    model = small()
    images = {n: np.random.default_rng(n).standard_normal((n, 3, 16, 16), np.float32) for n in (1, 2, 8)}
    wants = {n: cpu(model).run(None, {"image": image})[0] for n, image in images.items()}

    def told(parts, batches=(2,), **options):
        """The log of a session of the batches, which must have all the parts."""

        def work():
            ours = session(model, severity=1, **options)
            for n in batches:
                assert relative_l2(ours.run(None, {"image": images[n]})[0], wants[n]) <= LIMIT

        lines = [line for line in logged(work)[1].splitlines() if EP in line]
        for part in parts:
            assert any(part in line for line in lines), f"{part}: {lines}"
        return lines

    told(["nodes `conv1` to `linear` (7) run as the fused node `", "[2, 3, 16, 16]: a new shape, planned by estimated times"])
    told(["[2, 3, 16, 16]: planned with measured layouts"], measure_new_shapes=1)
    told(["[2, 3, 16, 16]: planned with nhwc layouts"], layouts="nhwc")
    told(["[2, 3, 16, 16]: planned by estimated times"], profiles="estimated")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/plans.txt"
        known = ["[1, 3, 16, 16]: planned with measured layouts", "[8, 3, 16, 16]: planned with measured layouts"]
        known.append("[2, 3, 16, 16]: a new shape, planned like `image` [1, 3, 16, 16], without measuring")
        lines = told(known, (1, 8, 2, 1, 2), sizes="batch=1; batch=8", report=path)
        text = Path(path).read_text()
        assert text.startswith(f"Plans of {EP}\n") and all(part in text for part in known) and text.count("\nreorders: ") == 3, text
        assert len([line for line in lines if "planned" in line]) == 3, lines
        print("  " + "\n  ".join(line.split("] ", 1)[-1] for line in lines))
        path = f"{folder}/plans.svg"
        told([], (1, 8), sizes="batch=1", report=path)
        text = Path(path).read_text()
        assert text.count("<svg") == 3 and text.count("height: time") == 1 and "conv1" in text, text[:1000]
        Path(path).write_text("weights")
        text = refused(lambda: session(model, report=path), "`report`", "another kind")
        assert Path(path).read_text() == "weights"
        print("  " + text.splitlines()[0])


def types():
    """Integers and Booleans at the ends of a region."""
    I64, BOOL, F32 = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
    table = np.random.default_rng(0).standard_normal((9, 4), np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "i"], ["rows"], "rows"),
        helper.make_node("Where", ["c", "rows", "x"], ["y"], "where"),
        helper.make_node("ArgMax", ["y"], ["k"], "argmax", axis=1, keepdims=0),
        helper.make_node("Greater", ["y", "x"], ["m"], "greater"),
    ]
    inputs = [("i", I64, [5]), ("c", BOOL, [5, 4]), ("x", F32, [5, 4])]
    model = model_of(nodes, inputs, [("y", F32, [5, 4]), ("k", I64, [5]), ("m", BOOL, [5, 4])], [("table", table)])
    rng = np.random.default_rng(1)
    feeds = {"i": np.array([0, 8, 3, -1, 5]), "c": rng.random((5, 4)) < 0.5, "x": rng.standard_normal((5, 4), np.float32)}
    ours = session(model)
    for got, want in zip(ours.run(None, feeds), cpu(model).run(None, feeds), strict=True):
        assert got.dtype == want.dtype and np.array_equal(got, want), (got, want)
    # The last of the four nodes depends on the order that ONNX Runtime has them in.
    parts = ["nodes `rows` to `", f"` (4): input `i`: got {1 << 40}"]
    text = refused(lambda: ours.run(None, feeds | {"i": np.array([0, 1, 2, 3, 1 << 40])}), *parts)
    print(f"  i64 and bool in and out; an integer that is too large:\n    {text.splitlines()[0]}")
    for to in ("UINT32", "UINT64", "UINT16", "INT16"):
        nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["y"], to=TensorProto.DataType.Value(to))]
        model = model_of(nodes, [("x", F32, [3])], [("y", TensorProto.DataType.Value(to), [3])])
        x = {"x": np.array([0.5, -7, 40000 if to.startswith("U") else 3], np.float32)}
        (got,), (want,) = session(model).run(None, x), cpu(model).run(None, x)
        assert got.dtype == want.dtype and np.array_equal(got, want), (to, got, want)


def unsupported():
    """A model of which one node in the middle, and one at the end, cannot run."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "before"),
        helper.make_node("Det", ["a"], ["b"], "determinant"),
        helper.make_node("Exp", ["b"], ["c"], "after"),
        helper.make_node("Mul", ["c", "b"], ["d"], "product"),
        helper.make_node("Acosh", ["d"], ["y"], "acosh"),
    ]
    F32 = TensorProto.FLOAT
    return model_of(nodes, [("x", F32, ["n", 3, 3])], [("y", F32, ["n"])])


def partial():
    model = unsupported()
    for fallback in (False, True):
        text = refused(lambda fallback=fallback: session(model, fallback), "`determinant`", "Det", "`acosh`", "partial")
    print("  strict:\n    " + text.replace("\n", "\n    "))
    if not MIXES:
        text = refused(lambda: session(model, True, partial=1), "`partial`", "1.23.1 or newer", "`determinant`", "`acosh`")
        return print("  partial=1:\n    " + text.replace("\n", "\n    "))
    x = np.random.default_rng(0).standard_normal((4, 3, 3), np.float32) + 2 * np.eye(3, dtype=np.float32)
    ours, log = logged(lambda: session(model, fallback=True, severity=2, partial=1))
    crossings = [("a", "before", "determinant"), ("b", "determinant", "after"), ("d", "product", "acosh")]
    lines = [f"tensor `{tensor}`: node `{source}` -> node `{to}`" for tensor, source, to in crossings]
    assert all(part in log for part in ["leaves 2 nodes", "`determinant`: Det", "`acosh`: Acosh", "3 crossings", *lines]), log
    (want,), (got,) = cpu(model).run(None, {"x": x}), ours.run(None, {"x": x})
    assert np.allclose(got, want, rtol=1e-5, equal_nan=True), (got, want)
    text = refused(lambda: session(model, partial=1), "fallback")
    print("  partial=1: right; with ONNX Runtime's fallback off:\n    " + text.splitlines()[0])
    # A fused node of fewer nodes than asked for is left, too: `before`, and not `after` and `product`.
    ours, log = logged(lambda: session(model, fallback=True, severity=2, partial=1, min_nodes=2))
    parts = ["leaves 3 nodes", "`before`: Relu: its fused node would have 1 node, and the option `min_nodes` is 2", "2 crossings"]
    assert all(part in log for part in parts), log
    assert np.allclose(ours.run(None, {"x": x})[0], want, rtol=1e-5, equal_nan=True)
    print("  min_nodes=2: right")
    # Nodes of a region that are not neighbours in the graph's order: `left` and `sum` must wait for the determinant, `right` must not.
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "before"),
        helper.make_node("Det", ["a"], ["b"], "determinant"),
        helper.make_node("Exp", ["b"], ["c"], "left"),
        helper.make_node("Abs", ["a"], ["d"], "right"),
        helper.make_node("Add", ["c", "d"], ["y"], "sum"),
    ]
    model = model_of(nodes, [("x", 1, [1, 3, 3])], [("y", 1, [1, 3, 3])])
    ours, log = logged(lambda: session(model, True, severity=2, partial=1))
    crossings = [("a", "before", "determinant"), ("b", "determinant", "left"), ("d", "right", "sum")]
    lines = [f"tensor `{tensor}`: node `{source}` -> node `{to}`" for tensor, source, to in crossings]
    assert all(part in log for part in ["3 crossings", *lines]), log
    (want,), (got,) = cpu(model).run(None, {"x": x[:1]}), ours.run(None, {"x": x[:1]})
    assert np.allclose(got, want, rtol=1e-5), (got, want)
    print("  two fused nodes around a node of the CPU provider:\n    " + "\n    ".join(lines))


MORE_WRONG = [("min_nodes", "2"), ("profiles", "offline"), ("weight_growth", "0"), ("measure_new_shapes", "yes"), ("sizes", "batch"), ("sizes", "h=2"), ("report", "/dev/x/y")]


def options():
    model = small()
    for name, value in [("thread", "2"), ("threads", "0"), ("threads", "x"), ("layouts", "nhcw"), ("exact", "true"), ("partial", "2"), *MORE_WRONG]:
        text = refused(lambda name=name, value=value: session(model, **{name: value}), f"`{name}`")
        print(f"  {name}={value}: {text.splitlines()[0]}")
    image = np.random.default_rng(0).standard_normal((2, 3, 16, 16), np.float32)
    (want,) = cpu(model).run(None, {"image": image})
    given = [{"threads": 1}, {"threads": 2}, {"exact": 1}, {"profiles": "measured"}, {"profiles": "estimated"}, {"weight_growth": 2.5}, *({"layouts": name} for name in ("nchw", "nhwc", "blocked", "measured"))]
    for each in given:
        assert relative_l2(session(model, **each).run(None, {"image": image})[0], want) <= LIMIT, each
    if not ort.__version__.startswith("1.23."):
        ours = ort.InferenceSession(model.SerializeToString(), providers=[(EP, {"threads": "1"})])
        assert ours.get_providers()[0] == EP
    ours = session(model)
    refused(lambda: ours.run(None, {"image": image[:, :2]}), "image")
    print(f"  {len(given)} sessions with options are right")


def sessions():
    model = small()
    ours = [session(model, threads=n) for n in (1, 2)]
    theirs = cpu(model)
    images = [np.random.default_rng(i).standard_normal((1 + i % 3, 3, 16, 16), np.float32) for i in range(12)]
    wants = [theirs.run(None, {"image": image})[0] for image in images]
    wrong, runs = [], Counter()

    def work(number):
        for i in range(200):
            image, want = images[(i + number) % 12], wants[(i + number) % 12]
            (got,) = ours[number % 2].run(None, {"image": image})
            runs[number] += 1
            if relative_l2(got, want) > LIMIT:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"  two sessions on six threads: {sum(runs.values())} runs, {len(wrong)} wrong")
    assert not wrong and sum(runs.values()) == 1200
    # A shape that all threads see first at the same time.
    image = np.random.default_rng(9).standard_normal((7, 3, 16, 16), np.float32)
    (want,) = theirs.run(None, {"image": image})
    results = []
    threads = [threading.Thread(target=lambda: results.append(ours[0].run(None, {"image": image})[0])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6 and all(np.array_equal(r, results[0]) for r in results) and relative_l2(results[0], want) <= LIMIT
    print("  a new shape on six threads: one plan, the same bits")
    tiny = model_of([helper.make_node("Relu", ["x"], ["y"], "relu")], [("x", 1, [8])], [("y", 1, [8])])
    x, took = {"x": np.ones(8, np.float32)}, ([], [])
    both = list(zip((session(tiny, threads=1), cpu(tiny)), took, strict=True))
    for _ in range(10):
        for each, calls in both:
            for _ in range(2000):
                began = time.perf_counter()
                each.run(None, x)
                calls.append(time.perf_counter() - began)
    ours, theirs = (min(calls) * 1e6 for calls in took)
    print(f"  a session of one small op: at least {ours:.1f} us, of the CPU provider {theirs:.1f} us")


def life():
    """Unregistering with a live session, and leaving with one."""
    model = small()
    ours = session(model)
    image = {"image": np.zeros((1, 3, 16, 16), np.float32)}
    ours.run(None, image)
    ort.unregister_execution_provider_library("blocktensor")
    ours.run(None, image)
    print("  a session runs after the library is unregistered")


QUICK = [own, halves, shapes, plans, types, partial, control, external, profiles, options, sessions, compiled, life, nodes, shared]
CHECKS = [networks, models, optimised, *QUICK]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(check.__name__ for check in CHECKS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.checks) - {check.__name__ for check in CHECKS}:
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    checks = [check for check in (QUICK if args.quick else CHECKS) if not args.checks or check.__name__ in args.checks]
    if args.inside:
        ort.register_execution_provider_library("blocktensor", os.path.abspath(args.library))
        checks[0]()
        return
    if models in checks and not args.checks and not exported():
        print("models: left out, since `scripts/compare_onnx.py export` has written none")
        checks.remove(models)
    if halves in checks and not args.checks and REFUSE.encode() not in Path(args.library).read_bytes():
        print("halves: left out, since the library is built without the feature `refusals`")
        checks.remove(halves)
    failed = []
    for name in (check.__name__ for check in checks):
        print(f"{name}:", flush=True)
        began = time.perf_counter()
        code = subprocess.run([sys.executable, __file__, "--inside", args.library, name], check=False).returncode
        print(f"  {'ok' if code == 0 else f'FAILED with code {code}'} in {time.perf_counter() - began:.1f} s", flush=True)
        failed += [name] if code else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
