"""No limit of memory ends the interpreter: each is `OutOfMemory`, or a result."""

import os
import subprocess
import sys
from pathlib import Path

MODELS = Path(__file__).parents[3] / "tests" / "data" / "onnx_models"

PROGRAM = """
import resource, sys

limit = int(sys.argv[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import blocktensor as bt

if len(sys.argv) > 2:
    try:
        graph = bt.load_onnx(sys.argv[2])
        plan = graph.plan(sizes={"batch": 1}, layouts="nchw")
        plan.run(bt.zeros([1, 3, 44, 60]))
        print("result")
    except bt.OutOfMemory as error:
        print("no memory:", error)
"""


def limited(kib: int, *args: str) -> "subprocess.CompletedProcess[str]":
    # Under a limit of address space, glibc finds no heap for each thread.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1", "RAYON_NUM_THREADS": "2"}
    command = [sys.executable, "-c", PROGRAM, str(kib), *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_ten_limits_of_memory_give_errors_or_results() -> None:
    low, high = 1 << 10, 4 << 20
    while high - low > 256:
        middle = (low + high) // 2
        low, high = (low, middle) if limited(middle).returncode == 0 else (middle, high)
    # What Python itself needs beyond the import.
    least = high + 2048
    outcomes = []
    for mib in (0, 1, 2, 4, 8, 16, 32, 64, 128, 512):
        done = limited(least + (mib << 10), str(MODELS / "resnet.onnx"))
        assert done.returncode == 0, f"{mib} MiB: {done.returncode} {done.stdout}{done.stderr}"
        outcomes.append(done.stdout.split(":")[0].strip())
    assert set(outcomes) == {"result", "no memory"}, outcomes
