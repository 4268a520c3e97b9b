#!/usr/bin/env python3
"""`torch.compile(backend="blocktensor")` beside eager PyTorch, channels-last, `to_mkldnn`, frozen Inductor, ONNX Runtime and OpenVINO.

    pip install torch torchvision timm onnx onnxruntime openvino, and the wheel of `make wheel`
    python scripts/compare_compile.py [--only NAME ...] [--threads N] [--rounds N] [--json FILE]

30 models, one image each. Prints a Markdown table, and writes the same numbers as JSON. Every way to run a model has a process of its
own, and they take turns: the time is the least of the rounds' medians, in milliseconds. First calls are in seconds: the first with empty
caches, and that of a second process that finds the caches of the first one. ONNX Runtime and OpenVINO run the exported model; their first
call loads it. Errors are relative L2 errors against PyTorch in f64. Weights are random. Needs an idle machine.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

MODELS = (
    "resnet18 resnet50 resnext50_32x4d wide_resnet50_2 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large vgg11_bn alexnet densenet121 "
    "squeezenet1_1 googlenet inception_v3 shufflenet_v2_x1_0 mnasnet1_0 regnet_y_400mf efficientnet_b0 efficientnet_v2_s convnext_tiny "
    "vit_b_16 resnet26d mobilenetv4_conv_small repvgg_a0 ghostnet_100 tf_efficientnet_lite0 hrnet_w18_small cspresnet50 rexnet_100 "
    "convmixer_768_32 deit_tiny_patch16_224"
).split()
#: Other runtimes, which run the exported model.
EXPORTED = ("onnxruntime", "openvino")
WAYS = ("eager", "channels_last", "to_mkldnn", "inductor", *EXPORTED, "blocktensor")
#: Those that compile, with caches that a second process finds.
COMPILED = ("inductor", "blocktensor")


def exported(name, model, x, threads, folder):
    """A call of another runtime. The first one loads the exported model."""
    import compare_peers
    import torch

    path, made = f"{folder}/{name}.onnx", []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The exporter knows no `_native_multi_head_attention`.
        torch.backends.mha.set_fastpath_enabled(False)
        torch.onnx.export(model, (x,), path, dynamo=False, opset_version=17)
    compare_peers.THREADS = threads

    def call():
        if not made:
            made.append(getattr(compare_peers, f"load_{name}")(path, None))
        return torch.from_numpy(made[0](x.numpy()))

    return call


def way(name, model, x, threads, folder):
    """A call that runs the model, from plain tensors to plain tensors."""
    import torch

    if name in EXPORTED:
        return exported(name, model, x, threads, folder)
    if name == "eager":
        return lambda: model(x)
    if name == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        # The input's reorder is part of a run, as it is of all others.
        return lambda: model(x.contiguous(memory_format=torch.channels_last))
    if name == "to_mkldnn":
        from torch.utils import mkldnn

        model = mkldnn.to_mkldnn(model)
        return lambda: model(x.to_mkldnn()).to_dense()
    if name == "inductor":
        import torch._inductor.config

        torch._inductor.config.freezing = True
        compiled = torch.compile(model)
    else:
        compiled = torch.compile(model, backend="blocktensor", options={"threads": threads})
    return lambda: compiled(x)


def worker(name, of, threads, answer):
    """Answers lines: `first`, then a number of runs, with times."""
    import torch
    from python_models import error, make

    torch.set_num_threads(threads)
    with torch.no_grad():
        model, x = make(of)
        if answer == "write":
            np_answer = model.double()(x.double())
            torch.save(np_answer, sys.stdin.readline().strip())
            print("{}", flush=True)
            return
        call = way(name, model, x, threads, Path(answer).parent)
        began = time.perf_counter()
        y = call()
        first = time.perf_counter() - began
        print(json.dumps({"first": first, "error": error(y, torch.load(answer))}), flush=True)
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                began = time.perf_counter()
                call()
                times.append(time.perf_counter() - began)
            print(json.dumps({"ms": statistics.median(times) * 1e3}), flush=True)


class Worker:
    """A process that runs a model in one way."""

    def __init__(self, name, of, threads, answer, caches):
        own = {"BLOCKTENSOR_CACHE": f"{caches}/blocktensor", "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor"}
        command = [sys.executable, __file__, "--worker", name, of, str(threads), answer]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=os.environ | own
        )

    def ask(self, line=None):
        if line is not None:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        for answer in self.process.stdout:
            with contextlib.suppress(ValueError):
                return json.loads(answer)
        self.errors.seek(0)
        # The error's own line, which a list may follow.
        lines = [text for text in self.errors.read().splitlines() if text and not text.startswith(" ")]
        found = [text for text in lines if text.split(":")[0].endswith(("Error", "Op", "Argument", "Denied", "Failed"))]
        raise RuntimeError((found or lines or ["it ended"])[-1][:200])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compared(of, options):
    """All ways for one model."""
    found = {"model": of}
    with tempfile.TemporaryDirectory() as folder:
        answer = f"{folder}/f64.pt"
        f64 = Worker("eager", of, options.threads, "write", folder)
        f64.ask(answer)
        f64.close()
        workers = {}
        for name in WAYS:
            found[name] = own = {}
            try:
                for column in ("first", "again") if name in COMPILED else ("first",):
                    if name in workers:
                        workers.pop(name).close()
                    workers[name] = Worker(name, of, options.threads, answer, folder)
                    started = workers[name].ask()
                    own[column], own["error"] = started["first"], started["error"]
            except Exception as e:
                own["failed"] = str(e)
                workers.pop(name).close()
        # About a second for each round, to start with.
        runs = {name: 3 for name in workers}
        for round in range(options.rounds + 1):
            for name, worker in workers.items():
                ms = worker.ask(runs[name])["ms"]
                runs[name] = max(3, min(200, int(options.seconds * 1e3 / ms)))
                if round:
                    found[name]["ms"] = min(found[name].get("ms", math.inf), ms)
        for worker in workers.values():
            worker.close()
    return found


def text(own, key, form):
    return form.format(own[key]) if key in own else "-"


def row(found):
    cells = [found["model"], *(text(found[name], "ms", "{:.2f}") for name in WAYS)]
    for name in COMPILED:
        cells.append(f"{text(found[name], 'first', '{:.1f}')} / {text(found[name], 'again', '{:.1f}')}")
    cells += [text(found[name], "error", "{:.0e}") for name in ("eager", *EXPORTED, *COMPILED)]
    return f"| {' | '.join(cells)} |"


def missed(results):
    """Prints which models miss the bounds beside frozen Inductor."""
    both = [(r["model"], r["blocktensor"], r["inductor"]) for r in results]
    both = [(name, ours, theirs) for name, ours, theirs in both if "ms" in ours and "ms" in theirs]
    for bound, keeps in (
        ("first calls of at most 2 s, or a tenth of Inductor's", lambda ours, theirs: ours["first"] <= max(2, theirs["first"] / 10)),
        ("runs of at most 0.85 of Inductor's time", lambda ours, theirs: ours["ms"] <= 0.85 * theirs["ms"]),
    ):
        names = [name for name, ours, theirs in both if not keeps(ours, theirs)]
        print(f"\n{bound}: {len(both) - len(names)} of {len(both)} models{', not ' if names else ''}{', '.join(names)}")


def main():
    if sys.argv[1:2] == ["--worker"]:
        name, of, threads, answer = sys.argv[2:]
        return worker(name, of, int(threads), answer)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=MODELS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round, for each way")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor"
    parser.add_argument("--json", default=str(cache / "compare_compile.json"))
    options = parser.parse_args()
    heads = [*WAYS, *(f"{name}: first / again, s" for name in COMPILED), *(f"error: {name}" for name in ("eager", *EXPORTED, *COMPILED))]
    print(f"| model | {' | '.join(heads)} |\n|---|{'--:|' * len(heads)}", flush=True)
    results = []
    for of in options.only:
        results.append(compared(of, options))
        print(row(results[-1]), flush=True)
        # After each model: a long run that ends early has its numbers.
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(json.dumps({"threads": options.threads, "models": results}, indent=1) + "\n")
    for name in WAYS[:-1]:
        ratios = [r["blocktensor"]["ms"] / r[name]["ms"] for r in results if "ms" in r["blocktensor"] and "ms" in r[name]]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"\nblocktensor takes {mean:.2f} of the time of {name} ({len(ratios)} models, geometric mean)")
    missed(results)
    for found in results:
        for name in WAYS:
            if "failed" in found[name]:
                print(f"\n{found['model']}, {name}: {found[name]['failed']}")
    print(f"\n{options.json}")


if __name__ == "__main__":
    main()
