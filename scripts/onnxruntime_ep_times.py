#!/usr/bin/env python3
"""Times of networks in ONNX Runtime, with the provider beside the CPU provider: scripts/onnxruntime_ep_times.py LIBRARY [NETWORK...]

The models are those that `scripts/compare_onnx.py export` writes. Prints a table in Markdown. Each network has a process of its own; its sessions
take turns, and the median counts. Memory is what a process has more of once a session ran, in a process that has no other session.

    --seconds S    for each session, 3 without it
    --threads N    threads of both providers, 2 without it
    --option K=V   an option of the provider
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

EP = "BlocktensorExecutionProvider"
NETWORKS = [
    *("tv/resnet18", "tv/resnet50", "tv/mobilenet_v2", "tv/mobilenet_v3_large", "tv/efficientnet_b0", "tv/densenet121"),
    *("tv/vgg16", "tv/regnet_y_400mf", "tv/convnext_tiny", "hand/yolo", "hand/yolo_heads"),
]
# Threads that ONNX Runtime itself gets, beside those of the provider.
INTRA_OP = [1, 2, 4]
# How long a session runs before it is another's turn, and how long ONNX Runtime's threads may wait for more work.
TURN, REST = 0.25, 0.02


def folder():
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor/models"


def session(args, name, intra_op, ours):
    import onnxruntime as ort

    config = ort.SessionOptions()
    config.intra_op_num_threads = intra_op
    config.log_severity_level = 3
    path = str(folder() / f"{name}.onnx")
    if not ours:
        return ort.InferenceSession(path, config, providers=["CPUExecutionProvider"])
    config.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    devices = [device for device in ort.get_ep_devices() if device.ep_name == EP]
    given = dict(option.split("=", 1) for option in args.option)
    config.add_provider_for_devices(devices, {"threads": str(args.threads)} | given)
    return ort.InferenceSession(path, config)


def image_of(name):
    import numpy as np

    return np.load(folder() / f"{name}.image.npy")


def resident():
    """Bytes of this process's resident memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024


def memory(args, name, ours):
    """MB that a session takes once it ran."""
    image, before = image_of(name), resident()
    made = session(args, name, 1 if ours else args.threads, ours)
    made.run(None, {made.get_inputs()[0].name: image})
    return (resident() - before) / 1e6


def times(args, name):
    """Milliseconds of a run: of the CPU provider, and of ours for each of INTRA_OP. Seconds for which the first of ours is made."""
    import numpy as np

    image = image_of(name)
    sessions, made = [session(args, name, args.threads, False)], []
    for intra_op in INTRA_OP:
        began = time.perf_counter()
        sessions.append(session(args, name, intra_op, True))
        made.append(time.perf_counter() - began)
    calls = [lambda s=s: s.run(None, {s.get_inputs()[0].name: image}) for s in sessions]
    want, got = (calls[i]()[0].astype(np.float64) for i in (0, 1))
    error = np.linalg.norm(got - want) / np.linalg.norm(want)
    seconds = [[] for _ in calls]
    for _ in range(max(1, round(args.seconds / TURN))):
        for call, runs in zip(calls, seconds, strict=True):
            call()
            end = time.perf_counter() + TURN
            while time.perf_counter() < end:
                began = time.perf_counter()
                call()
                runs.append(time.perf_counter() - began)
            time.sleep(REST)
    return {"ms": [float(np.median(runs)) * 1e3 for runs in seconds], "error": float(error), "made": made[0]}


def part(args, name, which, *options):
    """What a process of its own measures."""
    given = [f"--seconds={args.seconds}", f"--threads={args.threads}", *(f"--option={option}" for option in [*args.option, *options])]
    command = [sys.executable, __file__, args.library, name, f"--part={which}", *given]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def memory_table(args):
    """MB of a session that ran once."""
    print("| network | CPU provider | weight_growth=1 | default | ratios |\n|---|---:|---:|---:|---:|")
    for name in args.networks:
        cpu, least, default = part(args, name, "cpu"), part(args, name, "ours", "weight_growth=1"), part(args, name, "ours")
        print(f"| {name.split('/')[-1]} | {cpu:.0f} MB | {least:.0f} MB | {default:.0f} MB | {least / cpu:.2f}, {default / cpu:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--memory", action="store_true", help="memory alone, with weight_growth=1 and without")
    parser.add_argument("--part", choices=["times", "ours", "cpu"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        import onnxruntime as ort

        ort.register_execution_provider_library("blocktensor", os.path.abspath(args.library))
        (name,) = args.networks
        print(json.dumps(times(args, name) if args.part == "times" else memory(args, name, args.part == "ours")))
        return
    if args.memory:
        memory_table(args)
        return
    head = ["network", "CPU provider", *(f"ours, intra-op {n}" for n in INTRA_OP), "ratio", "session made in", "memory", "CPU provider's", "difference"]
    print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
    ratios = []
    for name in args.networks:
        found, ours, cpu = (part(args, name, which) for which in ("times", "ours", "cpu"))
        ratios.append(found["ms"][1] / found["ms"][0])
        row = [name.split("/")[-1], *(f"{ms:.2f} ms" for ms in found["ms"]), f"{ratios[-1]:.2f}", f"{found['made']:.1f} s"]
        row += [f"{ours:.0f} MB", f"{cpu:.0f} MB", f"{found['error']:.1e}"]
        print("| " + " | ".join(row) + " |", flush=True)
    mean = 1.0
    for ratio in ratios:
        mean *= ratio ** (1 / len(ratios))
    print(f"\nGeometric mean of the ratios: {mean:.2f}")


if __name__ == "__main__":
    main()
