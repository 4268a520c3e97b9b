#!/usr/bin/env python3
"""Exports networks to ONNX and compares blocktensor's results with ONNX Runtime's.

    python3 -m venv ~/.cache/blocktensor/py
    ~/.cache/blocktensor/py/bin/pip install torch torchvision timm segmentation-models-pytorch onnx onnxscript onnxruntime numpy
    ~/.cache/blocktensor/py/bin/python scripts/compare_onnx.py export             # all networks, both exporters
    ~/.cache/blocktensor/py/bin/python scripts/compare_onnx.py export resnet      # names that contain `resnet`
    ~/.cache/blocktensor/py/bin/python scripts/compare_onnx.py compare            # a table of relative errors
    ~/.cache/blocktensor/py/bin/python scripts/compare_onnx.py small              # writes tests/data/onnx_models

`export` writes to a cache folder (`--cache`), for each network and exporter:

    <family>/<name>.onnx                 TorchScript exporter, opset 17, one file; with `--batch 16` <name>.b16.onnx, and so on
    <family>/<name>.dynamo.onnx          dynamo exporter, opset 18, with its weights in <name>.dynamo.onnx.data
    <family>/<name>[.dynamo].image.npy         the input
    <family>/<name>[.dynamo].<output>.npy      ONNX Runtime's answer
    <family>/<name>[.dynamo].<output>.f64.npy  PyTorch's answer in f64
    <family>/<name>[.dynamo].json        the files' names, the shapes, and the error of ONNX Runtime and of PyTorch in f32

Weights are random, see `onnx_models.py`. Every network runs in a process of its own, with one thread.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor/models"
SMALL = ROOT / "tests/data/onnx_models"
LAYOUTS = ("nchw", "nhwc", "blocked", "measured")
EXPORTERS = {"torchscript": ("", 17), "dynamo": (".dynamo", 18)}
INPUT = "image"


def relative_l2(got, want):
    """The L2 norm of the difference, relative to that of `want`."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        return float("inf")
    norm = np.linalg.norm(want)
    return float(np.linalg.norm(got - want) / norm) if norm else float(np.linalg.norm(got))


# Exporting.


def write_model(net, inputs, path, exporter, outputs, open_axes, external):
    """One ONNX file. `open_axes`: pairs of an axis of the input and its name."""
    import torch

    _, opset = EXPORTERS[exporter]
    options = {"input_names": [INPUT], "output_names": outputs, "opset_version": opset}
    if exporter == "torchscript":
        if open_axes:
            # Every open axis here is the batch, which is also the first axis of every output.
            options["dynamic_axes"] = {name: dict(open_axes) for name in [INPUT, *outputs]}
        torch.onnx.export(net, inputs, str(path), dynamo=False, **options)
    else:
        if open_axes:
            options["dynamic_shapes"] = ({axis: torch.export.Dim(name) for axis, name in open_axes},)
        torch.onnx.export(net, inputs, str(path), dynamo=True, external_data=external, **options)


def strip_metadata(path):
    """Removes descriptions and stack traces, which hold paths of this machine. `path` has no external data."""
    import onnx

    model = onnx.load(path)
    model.doc_string = ""
    del model.metadata_props[:]
    graph = model.graph
    for item in [graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        item.doc_string = ""
        if hasattr(item, "metadata_props"):
            del item.metadata_props[:]
    onnx.save(model, path)


def count_ops(path):
    import onnx

    return dict(Counter(node.op_type for node in onnx.load(path, load_external_data=False).graph.node).most_common())


def export_one(name, exporter, folder, small=False, batch=None):
    """Exports one network with one exporter; gives the manifest that it writes."""
    import onnxruntime
    import torch

    import onnx_models

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    # The TorchScript exporter has no counterpart of the fused attention that evaluation uses.
    torch.backends.mha.set_fastpath_enabled(False)
    family, short = name.split("/")
    suffix, opset = EXPORTERS[exporter]
    stem = (short if small else f"{family}/{short}") + (f".b{batch}" if batch else "") + suffix
    path = folder / f"{stem}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)

    net, inputs = onnx_models.make(name, batch)
    with torch.no_grad():
        in_f32 = net(*inputs)
    in_f32 = in_f32 if isinstance(in_f32, tuple) else (in_f32,)
    in_f64 = onnx_models.answers_in_f64(net, inputs)
    in_mirror = onnx_models.answers_in_f64(net, tuple(x.flip(-1) for x in inputs))
    outputs = ["output"] if len(in_f32) == 1 else [f"output{i}" for i in range(len(in_f32))]
    with torch.no_grad():
        write_model(net, inputs, path, exporter, outputs, onnx_models.MODELS[name].open_axes, not small)
    if small:
        strip_metadata(path)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    answers = session.run(outputs, {INPUT: inputs[0].numpy()})

    # The test suite's networks share one input and one answer; both exporters must agree on it.
    stem = short if small else stem
    data = Path(stem).name
    manifest = {
        "model": path.name, "exporter": exporter, "opset": opset, "open_axes": dict(onnx_models.MODELS[name].open_axes), "ops": count_ops(path),
        "inputs": [{"name": INPUT, "file": f"{data}.{INPUT}.npy", "shape": list(inputs[0].shape)}], "outputs": [],
    }  # fmt: skip
    np.save(folder / f"{stem}.{INPUT}.npy", inputs[0].numpy())
    for output, answer, single, double, mirrored in zip(outputs, answers, in_f32, in_f64, in_mirror, strict=True):
        file = folder / f"{stem}.{output}.npy"
        if not small or exporter == "torchscript":
            np.save(file, answer)
        elif relative_l2(answer, np.load(file)) > 2e-6:
            raise ValueError(f"the exporters disagree on {output}")
        entry = {"name": output, "file": file.name, "shape": list(answer.shape)}
        if not small:
            np.save(folder / f"{stem}.{output}.f64.npy", double.numpy())
            entry["file_f64"] = f"{data}.{output}.f64.npy"
        entry["rms"] = float(np.sqrt(np.mean(np.square(double.numpy()))))
        entry["onnxruntime_error"] = relative_l2(answer, double.numpy())
        # How much the answer changes if the image is mirrored. If it hardly changes, the comparison cannot show errors in positions.
        entry["mirrored"] = relative_l2(mirrored.numpy(), double.numpy())
        entry["torch_error"] = relative_l2(single.numpy(), double.numpy())
        manifest["outputs"].append(entry)
    if not small:
        (folder / f"{stem}.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def child(pipe, *arguments):
    # The exporters print whole graphs when they fail.
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        pipe.send((export_one(*arguments), None))
    except Exception as error:  # The parent reports it.
        trace = traceback.format_exc().strip().splitlines()
        pipe.send((None, f"{type(error).__name__}: {' '.join(str(error).split())[:400]} [{trace[-2].strip()[:100] if len(trace) > 1 else ''}]"))


def export_apart(*arguments, limit):
    """`export_one` in a process of its own: the manifest, or why there is none."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(False)
    process = context.Process(target=child, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(limit) else (None, f"took more than {limit} s")
    except EOFError:
        result = (None, "the process died")
    if result[1] is not None:
        process.terminate()
    process.join()
    return result


def export(arguments):
    import onnx  # noqa: F401  Imported once, before the processes fork.
    import onnxruntime  # noqa: F401
    import torch

    import onnx_models

    torch.set_num_threads(1)
    small = arguments.command == "small"
    folder = SMALL if small else arguments.cache
    names = [name for name in onnx_models.MODELS if name.startswith("small/") == small]
    names = [name for name in names if not arguments.names or any(part in name for part in arguments.names)]
    exporters = list(EXPORTERS) if arguments.exporter == "both" else [arguments.exporter]
    failures, index = {}, []
    for exporter in exporters:
        for name in names:
            sized = f".b{arguments.batch}" if arguments.batch else ""
            manifest_file = folder / f"{name}{sized}{EXPORTERS[exporter][0]}.json"
            if not small and manifest_file.exists() and not arguments.again:
                continue
            start = time.time()
            manifest, failure = export_apart(name, exporter, folder, small, arguments.batch, limit=arguments.limit)
            label = f"{name:34} {exporter:11} {time.time() - start:5.0f} s"
            if failure:
                failures[f"{name} {exporter}"] = failure
                print(f"{label}  FAILED {failure}", flush=True)
            else:
                errors = " ".join(f"{e['name']} {e['shape']} rms {e['rms']:.2g} error {e['onnxruntime_error']:.1e} mirrored {e['mirrored']:.1e}" for e in manifest["outputs"])
                print(f"{label}  {sum(manifest['ops'].values())} nodes; {errors}", flush=True)
            index.append(manifest)
    if small and not failures and not arguments.names and len(exporters) == 2:
        (folder / "index.json").write_text("[\n" + ",\n".join(json.dumps(entry) for entry in index) + "\n]\n")
    print(f"{len(failures)} failed")
    return 1 if failures else 0


# Comparing.


def run_blocktensor(binary, model, inputs, layout, answers):
    """Runs one model with the command line; gives the relative L2 error per output, or a text that says why there is none.

    `inputs` and `answers`: pairs of a name and a file. This is the only place that knows the command line. It expects JSON on the
    standard output with `outputs`, a list of objects with `name` and `relative_l2`.
    """
    command = [binary, "run", str(model), "--layout", layout, "--json"]
    for name, file in inputs:
        command += ["--input", f"{name}={file}"]
    for name, file in answers:
        command += ["--check-outputs", str(file) if len(answers) == 1 else f"{name}={file}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "took more than 600 s"
    try:
        return {entry["name"]: float(entry["relative_l2"]) for entry in json.loads(done.stdout)["outputs"]}
    except (ValueError, KeyError, TypeError):
        lines = (done.stderr or done.stdout).strip().splitlines()
        return lines[-1][:160] if lines else f"no result, status {done.returncode}"


def compare(arguments):
    manifests = sorted(arguments.cache.glob("*/*.json"))
    layouts = arguments.layout or LAYOUTS
    print(f"{'model':44}{'output':10}{'ORT/f64':>10}" + "".join(f"{layout:>10}" for layout in layouts))
    failed = bad = compared = 0
    for file in manifests:
        name = f"{file.parent.name}/{file.stem}"
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        manifest = json.loads(file.read_text())
        key = "file_f64" if arguments.against == "f64" else "file"
        inputs = [(entry["name"], file.parent / entry["file"]) for entry in manifest["inputs"]]
        answers = [(entry["name"], file.parent / entry[key]) for entry in manifest["outputs"]]
        results = {}
        for layout in layouts:
            result = run_blocktensor(arguments.binary, file.parent / manifest["model"], inputs, layout, answers)
            if isinstance(result, str):
                failed += 1
                print(f"{name:44}{layout}: {result}", flush=True)
            else:
                compared += 1
                results[layout] = result
        for entry in manifest["outputs"] if results else []:
            errors = [results.get(layout, {}).get(entry["name"]) for layout in layouts]
            # ONNX Runtime's own error against f64 shows how far rounding is amplified in this network.
            allowed = max(arguments.tolerance, 10 * entry["onnxruntime_error"])
            bad += sum(not error <= allowed for error in errors if error is not None)
            cells = "".join(f"{'-':>10}" if e is None else f"{e:9.1e}{' ' if e <= allowed else '!'}" for e in errors)
            print(f"{name:44}{entry['name']:10}{entry['onnxruntime_error']:10.1e}{cells}", flush=True)
    print(f"{compared} runs compared, {bad} errors above tolerance (marked !), {failed} runs failed")
    return 1 if bad or failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("export", "small", "compare"):
        sub = commands.add_parser(command)
        sub.add_argument("names", nargs="*", help="take networks whose names contain one of these")
        sub.add_argument("--cache", type=Path, default=CACHE, help="folder of the exported networks (default: %(default)s)")
        if command == "compare":
            sub.add_argument("--binary", default="blocktensor", help="the command line")
            sub.add_argument("--layout", action="append", choices=LAYOUTS, help="one layout; may be repeated (default: all)")
            sub.add_argument("--against", choices=("onnxruntime", "f64"), default="onnxruntime", help="the answers to compare with")
            sub.add_argument("--tolerance", type=float, default=1e-4, help="relative L2 error that is marked")
        else:
            sub.add_argument("--exporter", choices=(*EXPORTERS, "both"), default="both")
            sub.add_argument("--batch", type=int, help="so many images, in files of their own")
            sub.add_argument("--again", action="store_true", help="also export what the cache has")
            sub.add_argument("--limit", type=float, default=900, help="seconds per network and exporter")
    arguments = parser.parse_args()
    sys.exit(compare(arguments) if arguments.command == "compare" else export(arguments))


if __name__ == "__main__":
    main()
