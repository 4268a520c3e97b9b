#!/usr/bin/env python3
"""Compares blocktensor's inference time with that of ONNX Runtime, OpenVINO, MNN, ncnn and PyTorch: f32, two threads.

    python3 -m venv ~/.cache/blocktensor/peers
    ~/.cache/blocktensor/peers/bin/pip install numpy onnxruntime openvino MNN ncnn pnnx torch torchvision timm
    cargo build --release -p blocktensor-cli
    ~/.cache/blocktensor/peers/bin/python scripts/compare_peers.py --binary target/release/blocktensor
    ~/.cache/blocktensor/peers/bin/python scripts/compare_peers.py resnet50 unet --rounds 3      # names that contain one of these
    ~/.cache/blocktensor/peers/bin/python scripts/compare_peers.py --batch 16 --json b16.json
    python3 scripts/draw_peers.py b1.json b16.json -o docs/peers.svg

A missing package is named, and its contender is listed as absent. The networks are those of `compare_onnx.py export --exporter
torchscript`, with the same `--batch`. blocktensor's plans are packed anew each time, without its cache of measurements: run this on an
idle machine. `default` is what `blocktensor pack` does without a `--layout`; `exact` keeps to direct convolutions.

Every contender's output is compared with PyTorch's in f64. Three times what `exact` loses on that network may be lost, which is the
rounding of direct convolutions in f32, or --tolerance; a contender that loses more is marked `!` and not counted. `eager` is PyTorch in
channels_last, `Inductor` the same compiled with frozen weights. `MNN` has MNN's defaults, where large Winograd tiles lose about two digits; `MNN small` has smaller ones (WINOGRAD_MEMORY_LEVEL 1).
Then the contenders take turns, in a new order each round. The least time of one inference counts, from an input in plain memory to an
output in plain memory. Each of the others is loaded once, in a process of its own, which sleeps until its turn. Their times contain
Python's call, some hundredths of a millisecond. blocktensor's turns are runs of `blocktensor bench`.

Quantised networks are compared by int8.py, which loads ONNX Runtime and OpenVINO as this script does.

Do not run the `mnnconvert` command that the MNN package installs: it installs packages into the first Python on PATH and reports usage.
This script calls the converter below it.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit("compare_peers.py: the package numpy is missing")

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor"
NETWORKS = {
    "resnet50": "tv/resnet50", "resnet18": "tv/resnet18", "mobilenet_v2": "tv/mobilenet_v2", "mobilenet_v3_large": "tv/mobilenet_v3_large",
    "efficientnet_b0": "tv/efficientnet_b0", "densenet121": "tv/densenet121", "vgg16": "tv/vgg16",
    "regnet_y_400mf": "tv/regnet_y_400mf", "convnext_tiny": "tv/convnext_tiny", "unet": "smp/unet", "yolo": "hand/yolo",
}  # fmt: skip
UNIFORM = ("nhwc", "blocked", "nchw")
OURS = ("default", "exact", *UNIFORM)
THREADS = 2
WARM_UP = 2
PAUSE = 0.1  # Seconds between turns: threads of ONNX Runtime stay awake for some hundredths of a second.
ROUNDINGS = 3  # Times the error of direct convolutions in f32 that a contender may lose.
LIMIT = 600  # Seconds for one step of a contender.


class Failure(Exception):
    """Why a contender cannot take part."""


FAILURES = (Failure, OSError, subprocess.TimeoutExpired)


# The other runtimes. Each function loads a model, and gives a function that runs it: from an array to an array.


def load_onnxruntime(path, _):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda image: session.run(None, {name: image})[0]


def load_openvino(path, _):
    import openvino

    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    core = openvino.Core()
    request = core.compile_model(core.read_model(path), "CPU", options).create_infer_request()

    def run(image):
        request.infer([image], share_inputs=True)
        return request.get_output_tensor(0).data.copy()

    return run


def load_mnn(path, _, winograd_level=None):
    import MNN

    net = MNN.Interpreter(path)
    if winograd_level is not None:
        net.setSessionHint(3, winograd_level)  # 3: WINOGRAD_MEMORY_LEVEL, which has no name in Python.
    session = net.createSession({"backend": "CPU", "numThread": THREADS, "precision": "high"})
    source, target = net.getSessionInput(session), net.getSessionOutput(session)
    plain = MNN.Tensor_DimensionType_Caffe
    shape = target.getShape()

    def run(image):
        source.copyFrom(MNN.Tensor(image.shape, MNN.Halide_Type_Float, image, plain))
        net.runSession(session)
        answer = MNN.Tensor(shape, MNN.Halide_Type_Float, np.empty(shape, np.float32), plain)
        target.copyToHostTensor(answer)
        return answer.getNumpyData().copy()  # The array is the tensor's own memory.

    return run


def load_ncnn(path, _):
    import ncnn

    net = ncnn.Net()
    net.opt.num_threads = THREADS
    for option in dir(net.opt):
        if option.startswith(("use_fp16", "use_bf16", "use_int8", "use_vulkan")):
            setattr(net.opt, option, False)
    if net.load_param(path) or net.load_model(path.removesuffix(".param") + ".bin"):
        raise Failure("cannot be loaded")
    source, target = net.input_names()[0], net.output_names()[0]

    def run(image):
        if len(image) > 1:
            raise Failure("takes one image")
        extractor = net.create_extractor()
        extractor.input(source, ncnn.Mat(image[0]))
        status, result = extractor.extract(target)
        if status:
            raise Failure(f"extract gives {status}")
        return np.array(result)

    return run


def load_torch(path, image, freezes=False):
    import torch

    import onnx_models

    # The statistics of batch norms are sums, whose order depends on the threads.
    torch.set_num_threads(1)
    net, _ = onnx_models.make(path, len(image))
    torch.set_num_threads(THREADS)
    net = net.to(memory_format=torch.channels_last)
    if freezes:
        import torch._inductor.config

        torch._inductor.config.freezing = True
        net = torch.compile(net)

    def run(image):
        with torch.no_grad():
            return net(torch.from_numpy(image).contiguous(memory_format=torch.channels_last)).numpy()

    return run


# Conversion. The results stay in the cache, by version of the converter.


def python(code, *arguments, cwd):
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=LIMIT)
    return " ".join((done.stdout + done.stderr).split())[-200:]


def convert_mnn(model, _, target, folder):
    # Without --fp16 or the like the weights stay f32. `--bizCode` is any text.
    arguments = ("mnnconvert", "-f", "ONNX", "--modelFile", model, "--MNNModel", folder / target, "--bizCode", "blocktensor")
    return python("import sys, _tools; _tools.mnnconvert(sys.argv[1:])", *arguments, cwd=folder)


def convert_ncnn(model, image, target, folder):
    (folder / "model.onnx").symlink_to(model)  # pnnx writes next to the model.
    shape = str(list(image.shape)).replace(" ", "")
    # Without fp16=0 the weights become f16.
    arguments = ("model.onnx", f"inputshape={shape}", "fp16=0", f"ncnnparam={target}", f"ncnnbin={target.removesuffix('.param')}.bin")
    message = python("import pnnx; pnnx.pnnx()", *arguments, cwd=folder)
    if (folder / target).exists():
        # pnnx 20261020 loses the axis of ONNX's ReduceSum. In YOLO it is 1, which is 0 without the batch; the outputs are checked.
        (folder / target).write_text((folder / target).read_text().replace(" -23303=0 ", " -23303=1,0 "))
    return message


def converted(model, image, kind, package, convert):
    """The model's file for another runtime; converts it if the cache does not have it."""
    home = CACHE / "peers-models" / f"{package}-{importlib.metadata.version(package)}"
    target = f"{model.parent.name}-{model.stem}.{kind}"
    if (home / target).exists() and (home / target).stat().st_mtime > model.stat().st_mtime:
        return home / target
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        message = convert(model, image, target, Path(folder))
        # The weights first: the file that is looked for comes last.
        for file in (target.removesuffix(".param") + ".bin", target):
            if (Path(folder) / file).exists():
                (Path(folder) / file).rename(home / file)
            elif file == target or kind == "param":
                raise Failure(f"cannot be converted: {message}")
    return home / target


def network_of(model):
    """The name that `onnx_models.py` has for an exported file."""
    return f"{model.parent.name}/{model.stem.split('.')[0]}"


# Name: packages, how it is loaded, how its file is made.
PEERS = {
    "ONNX Runtime": (("onnxruntime",), load_onnxruntime, lambda model, image: model),
    "OpenVINO": (("openvino",), load_openvino, lambda model, image: model),
    "MNN": (("MNN",), load_mnn, lambda model, image: converted(model, image, "mnn", "MNN", convert_mnn)),
    "MNN small": (("MNN",), lambda path, image: load_mnn(path, image, 1), lambda model, image: converted(model, image, "mnn", "MNN", convert_mnn)),
    "eager": (("torch", "torchvision"), load_torch, lambda model, image: network_of(model)),
    "Inductor": (("torch", "torchvision"), lambda path, image: load_torch(path, image, True), lambda model, image: network_of(model)),
    "ncnn": (("ncnn", "pnnx"), load_ncnn, lambda model, image: converted(model, image, "param", "pnnx", convert_ncnn)),
}
ALL = (*OURS, *PEERS)


def serve(peer, model, image, answer):
    """The process of another runtime: one line `ready`, then for each line with a number of seconds one line with a time in ms."""
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Runtimes print to the standard output.
    try:
        image = np.load(image)
        run = PEERS[peer][1](model, image)
        np.save(answer, run(image))
        say.write("ready\n")
        for line in sys.stdin:
            say.write(f"{turn(lambda: run(image), float(line))}\n")
    except Exception as error:  # The parent reports it.
        say.write(f"failed {type(error).__name__}: {' '.join(str(error).split())[:200]}\n")


def turn(run, seconds):
    """The least time of one run, in ms."""
    for _ in range(WARM_UP):
        run()
    least, runs, end = math.inf, 0, time.perf_counter() + seconds
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        least, runs = min(least, time.perf_counter() - start), runs + 1
    return least * 1e3


class Peer:
    """Another runtime with one network loaded. `answer`: its output."""

    def __init__(self, name, model, image_file, folder):
        file = PEERS[name][2](model, np.load(image_file))
        answer = folder / f"{name}.npy"
        command = [sys.executable, __file__, "--serve", name, str(file), str(image_file), str(answer)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.listen()
            self.answer = np.load(answer)
        except BaseException:
            self.close()
            raise

    def listen(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline() if ready else f"failed took more than {LIMIT} s"
        if not line or line.startswith("failed"):
            raise Failure(line.removeprefix("failed ").strip() or "the process died")
        return line

    def turn(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self.listen())

    def close(self):
        self.process.kill()
        self.process.wait()


class Ours:
    """blocktensor with one network, in one layout."""

    def __init__(self, layout, binary, model, image_file, folder):
        self.binary, self.plan, self.least, self.build = binary, folder / f"{layout}.plan", None, None
        answer = folder / f"{layout}.npy"
        options = {"default": [], "exact": ["--exact"]}.get(layout, ["--layout", layout])
        self.call("pack", model, "-o", self.plan, "--no-cache", *options)
        self.call("run", self.plan, "--input", image_file, "--save", answer)
        self.answer = np.load(answer)

    def call(self, command, *arguments):
        environment = {**os.environ, "RAYON_NUM_THREADS": str(THREADS)}
        call = [self.binary, command, *map(str, arguments), "--threads", str(THREADS)]
        done = subprocess.run(call, capture_output=True, text=True, env=environment, timeout=LIMIT)
        if done.returncode:
            raise Failure((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:200])
        return done.stdout

    def turn(self, seconds):
        if self.least is None:
            self.least = self.bench(3)
        return self.bench(max(3, math.ceil(seconds * 1e3 / self.least)))

    def bench(self, runs):
        result = json.loads(self.call("bench", self.plan, "--warm-up", WARM_UP, "--runs", runs, "--json"))
        self.build = result["build"]
        return result["plans"][0]["least_ms"]

    def close(self):
        self.plan.unlink()


def relative_l2(got, want):
    """The L2 norm of the difference, relative to that of `want`. ncnn's shapes have no batch."""
    if got.size != want.size:
        return math.inf
    got = got.astype(np.float64).reshape(want.shape)
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


def busy(seconds=0.5):
    """The part of the processors' time that is in use, by anyone, while this script waits."""

    def ticks():
        values = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(values), values[3] + values[4]

    (total, idle), _, (total2, idle2) = ticks(), time.sleep(seconds), ticks()
    return 1 - (idle2 - idle) / max(1, total2 - total)


def load_all(contenders, arguments, model, folder):
    """The contenders that can be loaded, and a first report on each: its error, or why it is not counted."""
    manifest = json.loads(model.with_suffix(".json").read_text())
    image_file = model.parent / manifest["inputs"][0]["file"]
    want = np.load(model.parent / manifest["outputs"][0]["file_f64"])
    loaded, reports = {}, {}
    for name in contenders:
        try:
            if name in OURS:
                loaded[name] = Ours(name, arguments.binary, model, image_file, folder)
            else:
                loaded[name] = Peer(name, model, image_file, folder)
            reports[name] = {"error": relative_l2(loaded[name].answer, want)}
        except FAILURES as failure:
            reports[name] = {"why": " ".join(str(failure).split())}
    tolerance = arguments.tolerance or ROUNDINGS * reports["exact"].get("error", math.nan)
    for report in reports.values():
        if "error" in report and not report["error"] <= tolerance:
            report["why"] = f"error {report['error']:.2e}, above {tolerance:.1e}"
    return loaded, reports


def compare(network, contenders, arguments, order):
    """Lets the contenders take turns at one network; gives a report on each, and on all."""
    sized = f".b{arguments.batch}" if arguments.batch > 1 else ""
    model = arguments.models / f"{NETWORKS[network]}{sized}.onnx"
    if not model.exists():
        raise Failure(f"not exported: {model}")
    with tempfile.TemporaryDirectory(prefix="compare-peers-") as folder:
        loaded, reports = load_all(contenders, arguments, model, Path(folder))
        cells = (f"{name} {report['error']:.1e}" if "error" in report else f"{name} {report['why']}" for name, report in reports.items())
        print(f"{network}: errors: {', '.join(cells)}", flush=True)
        foreign = 0
        try:
            for _ in range(arguments.rounds):
                time.sleep(PAUSE)
                foreign = max(foreign, busy())
                for name in order.sample(list(loaded), len(loaded)):
                    time.sleep(PAUSE)
                    try:
                        reports[name].setdefault("rounds_ms", []).append(loaded[name].turn(arguments.seconds_per_turn))
                        reports[name]["least_ms"] = min(reports[name]["rounds_ms"])
                    except FAILURES as failure:
                        reports[name]["why"] = str(failure)
                        loaded.pop(name).close()
        finally:
            for contender in loaded.values():
                contender.close()
    build = next((contender.build for contender in loaded.values() if isinstance(contender, Ours)), None)
    counted = {name: report["least_ms"] for name, report in reports.items() if "why" not in report and "least_ms" in report}
    return {"model": NETWORKS[network], "build": build, "busy": foreign, "contenders": reports, **ratios(counted)}


def ratios(counted):
    """blocktensor's default against the best of the others, and against its uniform layouts."""
    peers = {name: ms for name, ms in counted.items() if name in PEERS}
    uniform = [ms for name, ms in counted.items() if name in UNIFORM]
    best = min(peers, key=peers.get, default=None)
    others = {"to_best_peer": peers.get(best), "to_best_uniform": min(uniform, default=None), "to_worst_uniform": max(uniform, default=None), "to_exact": counted.get("exact")}
    ours = counted.get("default")
    return {"best_peer": best, **{name: ours / ms if ours and ms else None for name, ms in others.items()}}


def number(value):
    return "-" if value is None else f"{value:.3f}"


def table(results):
    lines, notes = [f"{'network':20}" + "".join(f"{name:>13}" for name in ALL) + "   /peer  /exact /best own /worst own  best peer"], []
    for network, result in results.items():
        line = f"{network:20}"
        for name in ALL:
            report = result["contenders"].get(name, {})
            line += f"{number(report.get('least_ms')):>12}{'!' if 'why' in report else ' '}"
            if "why" in report:
                notes.append(f"{network}, {name}: not counted: {report['why']}")
        for column, width in (("to_best_peer", 8), ("to_exact", 8), ("to_best_uniform", 10), ("to_worst_uniform", 11)):
            line += f"{number(result[column]):>{width}}"
        lines.append(f"{line}  {result['best_peer'] or '-'}")
        if result["busy"] > 0.05:
            notes.append(f"{network}: something else used {result['busy']:.0%} of the processors between rounds")
    return "\n".join(lines + notes)


def heading(arguments, contenders):
    info = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].replace("\t", "").splitlines())
    versions = {name: importlib.metadata.version(PEERS[name][0][0]) for name in contenders if name in PEERS}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"), "threads": THREADS, "batch": arguments.batch, "rounds": arguments.rounds, "seconds_per_turn": arguments.seconds_per_turn,
        "cpu": f"{info['model name'].strip()}, family{info['cpu family']} model{info['model']}, {os.cpu_count()} processors",
        "versions": versions,
    }  # fmt: skip


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"take networks whose names contain one of these, of: {', '.join(NETWORKS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds-per-turn", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=1, help="images of one run (default: %(default)s)")
    parser.add_argument("--tolerance", type=float, help="the largest relative L2 error that counts (default: three times that of `exact`)")
    parser.add_argument("--binary", default="blocktensor", help="blocktensor's command line")
    parser.add_argument("--models", type=Path, default=CACHE / "models", help="folder of the exported networks (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    contenders = list(OURS)
    for name, (packages, _, _) in PEERS.items():
        missing = [package for package in packages if importlib.util.find_spec(package) is None]
        contenders += [] if missing else [name]
        if missing:
            print(f"{name} is absent: the package {missing[0]} is missing", file=sys.stderr)
    head, results, order = heading(arguments, contenders), {}, random.Random(0)
    for network in NETWORKS:
        if arguments.names and not any(part in network for part in arguments.names):
            continue
        try:
            results[network] = compare(network, contenders, arguments, order)
        except Failure as failure:
            print(f"{network}: {failure}", file=sys.stderr)
        if arguments.json:
            arguments.json.write_text(json.dumps({**head, "networks": results}, indent=1) + "\n")
    print(f"\n{head['cpu']}, {head['date']}, {THREADS} threads, f32, batch {arguments.batch}; ms, least of {arguments.rounds} rounds of {arguments.seconds_per_turn} s")
    builds = {result["build"] for result in results.values() if result["build"]}
    print("; ".join([*builds, *(f"{name} {version}" for name, version in head["versions"].items())]))
    print(table(results))


if __name__ == "__main__":
    main()
