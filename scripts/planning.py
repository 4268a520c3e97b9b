#!/usr/bin/env python3
"""Compares plans that were made on a busy machine with plans that were made on a quiet one, and both with the plans in one layout.

    make wheel; pip install numpy, and the wheel
    python scripts/planning.py quiet FOLDER NETWORK...        # three plannings, beside the best plan in one layout
    python scripts/planning.py busy FOLDER NETWORK...         # ten plannings beside one and two busy loops, and ten quiet ones

FOLDER holds models as NETWORK.onnx, of sizes that are numbers. `quiet` wants a plan at most 2 % slower than the best plan in one
layout, `busy` one at most 3 % slower than the median of the quiet plans. The exit status is 1 if one is slower. Run this on a machine
that does nothing else: the load is made here, by processes that end with this one.

Plannings use no times of earlier ones. Then everything is quiet, and the plans run by turns, each in an order of its own in every
round; the least time of a run counts. Two plans that make the same steps are one plan here, as they run the same code.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import blocktensor as bt
    import numpy as np
except ImportError as error:
    sys.exit(f"planning.py: {error}")

SLOWER = {"quiet": 1.02, "busy": 1.03}
SECONDS = 6.0  # For the turns of the plans of one network, at least.
ROUNDS = 12
AT_ONCE = 4  # Plans in memory.


class BusyLoops:
    """So many processes that compute all the time."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        loop = [sys.executable, "-c", "while True: pass"]
        self.processes = [subprocess.Popen(loop) for _ in range(self.count)]
        time.sleep(0.3)

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def planned(model, plans):
    """The file of a new plan, and the seconds of planning."""
    start = time.perf_counter()
    plan = model.plan(profiles="measured")
    seconds = time.perf_counter() - start
    return plans.add(plan), seconds


def once(plan, inputs):
    start = time.perf_counter()
    plan.run(*inputs)
    return time.perf_counter() - start


def least_times(files, inputs):
    """The least time of each saved plan, in seconds, beside the first of its group by turns: ratios to that first one."""
    first, *others = files
    ratios = {first: 1.0}
    reference = bt.load_plan(first)
    for at in range(0, len(others), AT_ONCE - 1):
        group = [(first, reference)] + [(f, bt.load_plan(f)) for f in others[at : at + AT_ONCE - 1]]
        least = {f: float("inf") for f, _ in group}
        for _ in range(2):
            for _, plan in group:
                once(plan, inputs)
        runs = max(3, int(SECONDS / ROUNDS / len(group) / once(reference, inputs)))
        for _ in range(ROUNDS):
            for f, plan in random.sample(group, len(group)):
                least[f] = min(least[f], min(once(plan, inputs) for _ in range(runs)))
        ratios.update({f: least[f] / least[first] for f, _ in group})
        ratios[first] = 1.0
    return ratios


class Plans:
    """Plans of one network, each kind of them once in a file."""

    def __init__(self, folder):
        self.folder, self.files, self.inputs = Path(folder), {}, None

    def add(self, plan):
        if self.inputs is None:
            rng = np.random.default_rng(1)
            self.inputs = [rng.standard_normal(size, dtype=np.float32) for _, _, size in plan.inputs]
        name = str(plan.steps)
        if name not in self.files:
            self.files[name] = self.folder / f"{len(self.files)}.plan"
            plan.save(self.files[name])
        return self.files[name]

    def times(self):
        return least_times(list(self.files.values()), self.inputs)


def quiet(model, plans, count):
    """(label, ratio to the best plan in one layout, seconds of planning)"""
    uniform = []
    for layouts in ("nhwc", "blocked"):
        try:
            uniform.append(plans.add(model.plan(layouts=layouts)))
        except ValueError as error:
            print(f"  {layouts}: {error}", file=sys.stderr)
    files = [planned(model, plans) for _ in range(count)]
    times = plans.times()
    best = min(times[f] for f in uniform)
    return [(f"plan {i + 1}", times[f] / best, seconds) for i, (f, seconds) in enumerate(files)]


def busy(model, plans, count):
    """(label, ratio to the median of the quiet plans, seconds of planning)"""
    files = {}
    for loops in (0, 1, 2):
        with BusyLoops(loops):
            files[loops] = [planned(model, plans) for _ in range(count)]
    times = plans.times()
    usual = statistics.median(times[f] for f, _ in files[0])
    return [(f"{loops} loops", times[f] / usual, seconds) for loops, made in files.items() for f, seconds in made]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(SLOWER))
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--plannings", type=int)
    arguments = parser.parse_args()
    limit, bad = SLOWER[arguments.what], 0
    count = arguments.plannings or {"quiet": 3, "busy": 10}[arguments.what]
    for network in arguments.networks:
        with tempfile.TemporaryDirectory() as folder:
            model, plans = bt.load_onnx(arguments.folder / f"{network}.onnx"), Plans(folder)
            rows = {"quiet": quiet, "busy": busy}[arguments.what](model, plans, count)
        print(f"{network}: {len(plans.files)} different plans")
        for label in dict.fromkeys(label for label, *_ in rows):
            ratios = sorted(ratio for name, ratio, _ in rows if name == label)
            seconds = sorted(seconds for name, _, seconds in rows if name == label)
            text = " ".join(f"{r:.3f}" + ("!" if r > limit else "") for r in ratios)
            print(f"  {label:8} planned in {seconds[0]:.2f} to {seconds[-1]:.2f} s, ratios {text}", flush=True)
        bad += sum(ratio > limit for label, ratio, _ in rows if label != "0 loops")
    print(f"{bad} plans above {limit}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
