"""Whole models and ONNX's own tests, for scripts/onnxruntime_ep.py."""

import json
import os
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, numpy_helper

from onnxruntime_sessions import EP, LIMIT, MIXES, cpu, logged, refused, relative_l2, session, small

OWN = Path(__file__).parent.parent / "tests/data/onnx_models"


def own():
    """The small models of the tests, beside ONNX Runtime's answers."""
    paths, worst = sorted(OWN.glob("*.onnx")), 0.0
    with_answers = [path for path in paths if (OWN / f"{path.name.split('.')[0]}.output.npy").exists()]
    for path in with_answers:
        name = path.name.split(".")[0]
        image, want = (np.load(OWN / f"{name}.{kind}.npy") for kind in ("image", "output"))
        for options in ({}, {"layouts": "blocked"}, {"profiles": "estimated", "threads": 1}):
            ours = session(str(path), **options)
            (got,) = ours.run(None, {ours.get_inputs()[0].name: image})
            worst = max(worst, relative_l2(got, want))
    print(f"  {len(with_answers)} models, each three times: at most {worst:.1e} from ONNX Runtime's answers")
    assert worst <= LIMIT and len(with_answers) >= 10


def networks():
    import torch
    import torchvision

    for name in ("resnet18", "mobilenet_v2"):
        torch.manual_seed(0)
        net = getattr(torchvision.models, name)(weights=None).eval()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = f"{folder}/{name}.onnx"
            axes = {"image": {0: "batch"}}
            torch.onnx.export(net, (torch.randn(1, 3, 224, 224),), path, dynamo=False, input_names=["image"], dynamic_axes=axes)
            began = time.perf_counter()
            ours, theirs = session(path), cpu(path)
            made = time.perf_counter() - began
            for batch in (1, 2):
                image = np.random.default_rng(batch).standard_normal((batch, 3, 224, 224), np.float32)
                began = time.perf_counter()
                (got,) = ours.run(None, {"image": image})
                first = time.perf_counter() - began
                (want,) = theirs.run(None, {"image": image})
                seconds = []
                for each in (ours, theirs):
                    each_run = []
                    for _ in range(8):
                        began = time.perf_counter()
                        each.run(None, {"image": image})
                        each_run.append(time.perf_counter() - began)
                    seconds.append(np.median(each_run) * 1e3)
                error = relative_l2(got, want)
                print(
                    f"  {name}, batch {batch}: {error:.1e} from the CPU provider; {seconds[0]:.1f} ms, CPU provider {seconds[1]:.1f} ms; "
                    f"sessions in {made:.1f} s, first run in {first:.1f} s"
                )
                assert error <= LIMIT
            assignment(path, ours)


def assignment(path, ours):
    """Checks that every node is in one fused node."""
    config = ort.SessionOptions()
    config.log_severity_level = 4
    config.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    config.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == EP], {"layouts": "nchw"})
    groups = ort.InferenceSession(path, config).get_provider_graph_assignment_info()
    assert [group.ep_name for group in groups] == [EP], groups
    print(f"  one fused node of {len(groups[0].get_nodes())} nodes")


def optimised():
    """Models that ONNX Runtime has optimised and saved."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor/models"
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(small(2), f"{folder}/small.onnx")
        np.save(f"{folder}/small.image.npy", np.random.default_rng(0).standard_normal((2, 3, 16, 16), np.float32))
        paths = [Path(f"{folder}/small.onnx")]
        paths += [p for p in sorted(cache.glob("*/*.onnx")) if ".b16" not in p.name and p.with_suffix(".json").exists()]
        ops, worst = Counter(), 0.0
        for path in paths:
            for level in (ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
                config = ort.SessionOptions()
                config.log_severity_level = 4
                config.graph_optimization_level = level
                config.optimized_model_filepath = f"{folder}/optimised.onnx"
                theirs = ort.InferenceSession(str(path), config, providers=["CPUExecutionProvider"])
                found = Counter(f"{n.domain}.{n.op_type}" for n in onnx.load(f"{folder}/optimised.onnx").graph.node if n.domain)
                own = [op for op in found if op.startswith("com.microsoft.nchwc")]
                if own:
                    refused(lambda: session(f"{folder}/optimised.onnx"), own[0], "as it was before")
                    continue
                ops += found
                feeds = {theirs.get_inputs()[0].name: np.load(path.parent / f"{path.stem}.image.npy")}
                ours = session(f"{folder}/optimised.onnx", layouts="blocked")
                for output, got, want in zip(theirs.get_outputs(), ours.run(None, feeds), theirs.run(None, feeds), strict=True):
                    exact = path.parent / f"{path.stem}.{output.name}.f64.npy"
                    error, limit = relative_l2(got, want), LIMIT
                    if exact.exists():
                        limit = max(limit, 3 * relative_l2(want, np.load(exact)))
                    worst = max(worst, error)
                    assert error <= limit, f"{path.stem}: {error:.1e} from the CPU provider"
        print(f"  {len(paths)} models with {dict(ops)}: at most {worst:.1e} from the CPU provider")
        assert ops["com.microsoft.FusedConv"]


def exported():
    """What `compare_onnx.py export` has written of each model."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor/models"
    return [path for path in sorted(cache.rglob("*.json")) if ".b16" not in path.name and path.with_suffix(".onnx").exists()]


def models():
    """The models that `compare_onnx.py export` has written, beside its answers."""
    paths, worst, beyond = exported(), 0.0, []
    assert len(paths) >= 40, f"{len(paths)} models, but `scripts/compare_onnx.py export` writes at least 40"
    for path in paths:
        ours = session(str(path.with_suffix(".onnx")), layouts="blocked")
        image = np.load(path.parent / f"{path.stem}.image.npy")
        outputs = ours.get_outputs()
        assert outputs, path.stem
        for output, got in zip(outputs, ours.run(None, {ours.get_inputs()[0].name: image}), strict=True):
            theirs = np.load(path.parent / f"{path.stem}.{output.name}.npy")
            exact = np.load(path.parent / f"{path.stem}.{output.name}.f64.npy")
            error, limit = relative_l2(got, theirs), max(LIMIT, 2 * relative_l2(theirs, exact))
            worst = max(worst, error)
            if error > LIMIT:
                lost = f"from f64 {relative_l2(got, exact):.1e}, and the CPU provider {relative_l2(theirs, exact):.1e}"
                beyond.append(f"    {path.stem}, {output.name}: {error:.1e}; {lost}")
            assert error <= limit, f"{path.stem}: {error:.1e} from the CPU provider"
    print(f"  {len(paths)} models: at most {worst:.1e} from the CPU provider; beyond {LIMIT:.0e}: {len(beyond)}")
    print("".join(f"{line}\n" for line in beyond), end="")


#: What the log says of a node that the environment variable REFUSE refuses, in a library with the feature `refusals`.
REFUSE, BY_TEST = "BLOCKTENSOR_REFUSE", "a test refuses it"
#: What ONNX Runtime's CPU provider makes of convolutions.
CONVOLUTIONS = {"Conv", "FusedConv", "QLinearConv"}


def ran(path, feeds, folder):
    """A session without every second convolution: its results, the nodes that it left, and those that each provider then ran."""
    make = lambda: session(str(path), True, severity=2, profile=f"{folder}/run", partial=1, layouts="blocked")
    os.environ[REFUSE] = "Conv"
    ours, log = logged(make)
    del os.environ[REFUSE]
    results = ours.run(None, feeds)
    events = json.loads(Path(ours.end_profiling()).read_text())
    nodes = [event["args"] for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    elsewhere = [args["op_name"] for args in nodes if args["provider"] != EP]
    return results, [line for line in log.splitlines() if "  node `" in line], elsewhere, len(nodes) - len(elsewhere)


def halves():
    """Models with every second convolution refused, which the CPU provider then runs between our fused nodes."""
    if not MIXES:
        return print(f"  left out: onnxruntime {ort.__version__} runs no model with nodes of several providers")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor/models"
    paths = [path for folder in (OWN, cache) for path in sorted(folder.rglob("*.onnx"))]
    paths = [path for path in paths if ".b16" not in path.name and path.with_suffix(".image.npy").exists()]
    worst, counts = 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            theirs = cpu(str(path))
            feeds = {theirs.get_inputs()[0].name: np.load(path.with_suffix(".image.npy"))}
            results, left, elsewhere, fused = ran(path, feeds, folder)
            convolutions = sum(node.op_type == "Conv" for node in onnx.load(path, load_external_data=False).graph.node)
            if not convolutions:
                continue
            # Every second one was refused and ran on the CPU provider, and the others did not.
            refused_nodes = [line for line in left if BY_TEST in line]
            there = [op for op in elsewhere if op in CONVOLUTIONS]
            assert len(there) == len(refused_nodes) == (convolutions + 1) // 2, f"{path.stem}: {convolutions}, {refused_nodes}, {elsewhere}"
            assert fused >= 1, f"{path.stem}: {elsewhere}"
            for output, got, want in zip(theirs.get_outputs(), results, theirs.run(None, feeds), strict=True):
                exact, error, limit = path.parent / f"{path.stem}.{output.name}.f64.npy", relative_l2(got, want), LIMIT
                if exact.exists():
                    limit = max(limit, 3 * relative_l2(want, np.load(exact)))
                worst = max(worst, error)
                assert error <= limit, f"{path.stem}: {error:.1e} from the CPU provider"
            counts.append((len(refused_nodes), fused))
    assert len(counts) >= 4, counts
    convolutions, fused = map(sum, zip(*counts, strict=True))
    print(f"  {len(counts)} models, {convolutions} convolutions on the CPU provider between {fused} fused nodes: at most {worst:.1e} from it")


def cases():
    """ONNX's own tests: name, model, tolerances, and pairs of inputs and outputs."""
    from onnx.backend.test.loader import load_model_tests

    def read(folder, kind):
        paths = sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
        return [numpy_helper.to_array(TensorProto.FromString(path.read_bytes())) for path in paths]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
            for case in load_model_tests(kind=kind):
                tolerances = {"rtol": max(case.rtol, 1e-3), "atol": max(case.atol, 1e-6), "equal_nan": True}
                if case.model is not None:
                    yield case.name, case.model.SerializeToString(), tolerances, lambda case=case: case.data_sets
                elif case.model_dir is not None:
                    folder = Path(case.model_dir)
                    sets = lambda folder=folder: [(read(f, "input"), read(f, "output")) for f in sorted(folder.glob("test_data_set_*"))]
                    yield case.name, str(folder / "model.onnx"), tolerances, sets


def array(x):
    return np.asarray(x) if isinstance(x, np.generic) else x


def agrees(got, want, tolerances):
    got, want = np.asarray(got), np.asarray(want)
    same = got.dtype == want.dtype and got.shape == want.shape
    return same and np.allclose(got.astype(np.float64), want.astype(np.float64), **tolerances)


def shared():
    """ONNX's own tests, as many nodes as can run in fused nodes and the others on the CPU provider: what that one runs alone is right."""
    if not MIXES:
        return print(f"  left out: onnxruntime {ort.__version__} runs no model with nodes of several providers")
    counts, wrong = Counter(), []
    for name, model, tolerances, sets in cases():
        try:
            theirs = cpu(model)
            given = [dict(zip([i.name for i in theirs.get_inputs()], map(array, inputs), strict=False)) for inputs, _ in sets()]
            wants = [theirs.run(None, feeds) for feeds in given]
        except Exception:
            counts["the CPU provider does not run"] += 1
            continue
        try:
            ours = session(model, True, partial=1, layouts="nchw")
            gots = [ours.run(None, feeds) for feeds in given]
        except Exception as e:
            # Graphs inside nodes need version 1.24.
            if "1.24 or newer" in str(e) and ort.__version__.startswith("1.23."):
                counts["refused"] += 1
            else:
                counts["fails"] += 1
                wrong.append(f"{name}: {str(e).splitlines()[0][:200]}")
            continue
        # Lists and texts are the CPU provider's.
        pairs = [(g, w) for got, want in zip(gots, wants, strict=True) for g, w in zip(got, want, strict=True) if isinstance(w, np.ndarray)]
        pairs = [(got, want) for got, want in pairs if want.dtype.kind in "fiub"]
        if not pairs:
            counts["without numbers"] += 1
            continue
        right = all(agrees(got, want, tolerances) for got, want in pairs)
        counts["right" if right else "wrong"] += 1
        wrong += [] if right else [name]
    print("  " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    assert not wrong and counts["right"] >= 1000, wrong


def nodes():
    counts, wrong = Counter(), []
    for name, model, tolerances, sets in cases():
        counts["tests"] += 1
        try:
            ours = session(model, layouts="nchw")
        except Exception as e:
            counts["refused" if EP in str(e) else "refused by ONNX Runtime itself"] += 1
            continue
        given = [(dict(zip([i.name for i in ours.get_inputs()], map(array, inputs), strict=False)), wants) for inputs, wants in sets()]
        try:
            runs = [(ours.run(None, feeds), wants) for feeds, wants in given]
        except Exception as e:
            counts["fails in a run"] += 1
            wrong.append(f"{name}: {str(e).split('Status Message: ')[-1].splitlines()[0][:200]}")
            continue
        pairs = [pair for gots, wants in runs for pair in zip(gots, wants, strict=True)]
        # What has nothing to compare is not right.
        right = bool(pairs) and all(agrees(got, want, tolerances) for got, want in pairs)
        counts["claimed and right" if right else "wrong"] += 1
        wrong += [] if right else [name]
    print("  " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    assert not wrong and counts["claimed and right"] >= 500, wrong
