#!/usr/bin/env python3
"""Times of networks in ONNX Runtime, with the provider beside others: scripts/onnxruntime_ep_times.py LIBRARY [NETWORK...]

    cargo build --release -p blocktensor-onnxruntime-ep -p blocktensor-cli
    pip install numpy onnxruntime onnxruntime-ep-openvino

The models are those that `scripts/compare_onnx.py export` writes. The others are ONNX Runtime's CPU provider, OpenVINO's provider (if its
package is there; version 1.8.1 runs on Intel's processors alone), and `blocktensor bench` of the same model, if `--binary` names the
command line. Prints a table in Markdown. Each turn of each session is a process of its own, and the least median of a turn counts: where a
process has its memory makes some percent, and so all sides have several. Memory is what such a process has more of once the session ran.
Some of it are pages of the library's file, which all processes share, and which ONNX Runtime's own provider has in ONNX Runtime's library:
`--memory` tells what there is without them. Needs an idle machine.

    --seconds S    for each session in all, beside as many of warm-up, 4 without it
    --threads N    threads of all, 2 without it
    --option K=V   an option of the provider
    --binary FILE  the command line, such as target/release/blocktensor
    --memory       memory alone, with weight_growth=1 and without
"""

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EP = "BlocktensorExecutionProvider"
OPENVINO = "OpenVINOExecutionProvider"
NETWORKS = [
    *("tv/resnet18", "tv/resnet50", "tv/mobilenet_v2", "tv/mobilenet_v3_large", "tv/efficientnet_b0", "tv/densenet121"),
    *("tv/vgg16", "tv/regnet_y_400mf", "tv/convnext_tiny", "hand/yolo", "hand/yolo_heads"),
]
# Threads that ONNX Runtime itself gets, beside those of the provider.
INTRA_OP = [1, 2, 4]
# How long a session runs in a turn.
TURN = 0.5


def folder():
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor/models"


def session(args, name, intra_op, provider):
    """A session of a provider; without one, of ONNX Runtime's own."""
    import onnxruntime as ort

    config = ort.SessionOptions()
    config.intra_op_num_threads = intra_op
    config.log_severity_level = 3
    path = str(folder() / f"{name}.onnx")
    if not provider:
        return ort.InferenceSession(path, config, providers=["CPUExecutionProvider"])
    config.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if provider == EP:
        given = {"threads": str(args.threads)} | dict(option.split("=", 1) for option in args.option)
    else:
        properties = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": str(args.threads), "NUM_STREAMS": "1"}
        given = {"load_config": json.dumps({"CPU": properties})}
    config.add_provider_for_devices(processors_of(provider), given)
    return ort.InferenceSession(path, config)


def processors_of(provider):
    """The devices of a provider that are processors: one, or none."""
    import onnxruntime as ort

    is_processor = lambda device: device.ep_name == provider and device.device.type == ort.OrtHardwareDeviceType.CPU
    return [device for device in ort.get_ep_devices() if is_processor(device)]


def has_openvino():
    """Registers OpenVINO's provider, if its package is there, and tells whether it runs here."""
    import onnxruntime as ort

    try:
        import onnxruntime_ep_openvino
    except ImportError:
        return False
    ort.register_execution_provider_library("openvino", onnxruntime_ep_openvino.get_library_path())
    return bool(processors_of(OPENVINO))


def image_of(name):
    import numpy as np

    return np.load(folder() / f"{name}.image.npy")


def resident():
    """Bytes of this process's resident memory, and of what of it is no file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return [int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024 for name in ("VmRSS", "RssAnon")]


def memory(args, name, ours):
    """MB that a session takes once it ran, with and without pages of files."""
    os.environ["BLOCKTENSOR_CACHE"] = "off"
    image, before = image_of(name), resident()
    made = session(args, name, 1 if ours else args.threads, EP if ours else None)
    made.run(None, {made.get_inputs()[0].name: image})
    return [(now - then) / 1e6 for now, then in zip(resident(), before, strict=True)]


def turn(args, name):
    """A turn of a session: the seconds of a run, and for which the session is made. Keeps the result."""
    import numpy as np

    where, key, intra_op = args.of
    provider = {"cpu": None, "openvino": OPENVINO, "ours": EP}[key]
    if provider == OPENVINO:
        has_openvino()
    image, began = image_of(name), time.perf_counter()
    made = session(args, name, int(intra_op), provider)
    seconds, feeds = time.perf_counter() - began, {made.get_inputs()[0].name: image}
    np.save(f"{where}/{key}{intra_op}.npy", made.run(None, feeds)[0])

    def runs(length):
        taken, end = [], time.perf_counter() + length
        while time.perf_counter() < end:
            began = time.perf_counter()
            made.run(None, feeds)
            taken.append(time.perf_counter() - began)
        return taken

    # The first runs of a process are slower.
    runs(TURN)
    return float(np.median(runs(TURN))), seconds


def of_bench(args, name, where):
    """A turn of `blocktensor bench`. Its plan has the layouts that the session measured, by the times that it kept."""
    plan, own = f"{where}/model.plan", ["--threads", str(args.threads)]

    def call(*arguments):
        return subprocess.run([args.binary, *arguments, *own], check=True, stdout=subprocess.PIPE, text=True).stdout

    def bench(runs):
        return json.loads(call("bench", plan, "--warm-up", "2", "--runs", str(runs), "--json"))["plans"][0]["median_ms"] / 1e3

    call("pack", str(folder() / f"{name}.onnx"), "-o", plan)
    runs = max(3, math.ceil(TURN / bench(3)))
    return lambda: bench(runs)


def times(args, name, openvino):
    """Milliseconds of a run of each, the error, and the seconds for which the first session of ours is made."""
    import numpy as np

    kinds = [("cpu", args.threads), *(("ours", n) for n in INTRA_OP), *([("openvino", args.threads)] if openvino else [])]
    with tempfile.TemporaryDirectory() as where:
        # The later sessions of ours find the times that the first one measured.
        os.environ["BLOCKTENSOR_CACHE"] = f"{where}/cache"
        seconds, made = {kind: [] for kind in kinds}, {}
        bench = None
        for _ in range(max(1, round(args.seconds / TURN))):
            for kind in kinds:
                found, making = part(args, name, "turn", *(f"--of={of}" for of in (where, *kind)))
                seconds[kind].append(found)
                made.setdefault(kind, making)
            if args.binary:
                bench = bench or of_bench(args, name, where)
                seconds.setdefault(("bench", 0), []).append(bench())
        first = ("ours", INTRA_OP[0])
        want, got = (np.load(f"{where}/{key}{n}.npy").astype(np.float64) for key, n in (kinds[0], first))
        error = np.linalg.norm(got - want) / np.linalg.norm(want)
    return {kind: min(each) * 1e3 for kind, each in seconds.items()}, float(error), made[first]


def part(args, name, which, *options):
    """What a process of its own measures."""
    given = [f"--threads={args.threads}", *(f"--option={option}" for option in args.option), *options]
    command = [sys.executable, __file__, args.library, name, f"--part={which}", *given]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def memory_table(args):
    """MB of a session that ran once."""
    heads = ["network"]
    for of in ("", ", no files"):
        heads += [f"CPU provider{of}", f"weight_growth=1{of}", f"default{of}", "ratios"]
    print("| " + " | ".join(heads) + " |\n|---" + "|---:" * (len(heads) - 1) + "|")
    for name in args.networks:
        cpu, least, default = part(args, name, "cpu"), part(args, name, "ours", "--option=weight_growth=1"), part(args, name, "ours")
        row = [name.split("/")[-1]]
        for theirs, *ours in zip(cpu, least, default, strict=True):
            row += [f"{size:.0f} MB" for size in (theirs, *ours)]
            row.append(", ".join(f"{size / theirs:.2f}" for size in ours))
        print("| " + " | ".join(row) + " |", flush=True)


def times_table(args):
    ours = [("ours", n) for n in INTRA_OP]
    others = {("cpu", args.threads): "CPU provider", ("openvino", args.threads): "OpenVINO", ("bench", 0): "`bench`"}
    heads = [*others.values(), *(f"ours, intra-op {n}" for n in INTRA_OP)]
    head = ["network", *heads, *(f"ours / {title}" for title in others.values()), "session made in", "memory", "CPU provider's", "difference"]
    print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
    ratios, openvino = {key: [] for key in others}, part(args, args.networks[0], "openvino")
    for name in args.networks:
        (ms, error, made), (memory_of_ours, _), (cpu, _) = times(args, name, openvino), part(args, name, "ours"), part(args, name, "cpu")
        row = [name.split("/")[-1], *(f"{ms[key]:.2f} ms" if key in ms else "-" for key in [*others, *ours])]
        for key in others:
            if key in ms:
                ratios[key].append(ms[ours[0]] / ms[key])
            row.append(f"{ratios[key][-1]:.2f}" if key in ms else "-")
        row += [f"{made:.1f} s", f"{memory_of_ours:.0f} MB", f"{cpu:.0f} MB", f"{error:.1e}"]
        print("| " + " | ".join(row) + " |", flush=True)
    for key, title in others.items():
        if ratios[key]:
            mean = math.prod(ratios[key]) ** (1 / len(ratios[key]))
            print(f"\nours / {title}: geometric mean {mean:.2f}, at most {max(ratios[key]):.2f}, {len(ratios[key])} networks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--binary")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--part", choices=["turn", "ours", "cpu", "openvino"], help=argparse.SUPPRESS)
    parser.add_argument("--of", action="append", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        import onnxruntime as ort

        ort.register_execution_provider_library("blocktensor", os.path.abspath(args.library))
        (name,) = args.networks
        # Other libraries print to the standard output.
        with contextlib.redirect_stdout(sys.stderr):
            if args.part == "turn":
                answer = turn(args, name)
            elif args.part == "openvino":
                answer = has_openvino()
            else:
                answer = memory(args, name, args.part == "ours")
        print(json.dumps(answer))
    elif args.memory:
        memory_table(args)
    else:
        times_table(args)


if __name__ == "__main__":
    main()
