"""Ctrl-C while a model is planned, and while a tape runs back."""

import functools
import signal
import subprocess
import sys
import time

import pytest

#: Plans one model, which takes seconds. A timer ticks; its handler, which is Python code, runs during the planning only if the
#: planner lets it. So the third tick proves that the child is inside of `Model.plan`.
PLANNING = """
import itertools, signal, sys
import blocktensor as bt
import numpy as np

model = bt.Model()
model.input("x", ["n", 32, 96, 96])
value = "x"
for i in range(40):
    # Weights of their own, so that no measurement serves two.
    width = 32 + 2 * i
    model.constant(f"w{i}", np.full((width + 2, width, 3, 3), 0.001, np.float32))
    model.op(f"c{i}", "conv2d", [("x", value), ("weights", f"w{i}")], {"padding": 1}, [f"c{i}"])
    value = f"c{i}"
model.output("y", value)
if "SAVED":
    model.plan(layouts="measured", sizes={"n": N}, profiles="estimated", threads=2).save("SAVED", keep_plain=True)

ticks = itertools.count(1)
signal.signal(signal.SIGALRM, lambda *_: next(ticks) == 3 and print("planning", flush=True))
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
try:
    if "SAVED":
        bt.load_plan("SAVED", threads=1, replan=True)
    else:
        model.plan(layouts="LAYOUTS", sizes={"n": N}, profiles="PROFILES", threads=THREADS)
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("interrupted", flush=True)
    # The library still works, and so does the model.
    small = model.with_outputs(["c0"]).plan(layouts="nchw", sizes={"n": 1})
    print(small.run(np.ones((1, 32, 96, 96), np.float32))[0].shape, flush=True)
    sys.exit(7)
print("planned", flush=True)
"""

#: Runs a tape back, which takes a second or more. The ticks are as above.
BACKWARD = """
import itertools, signal, sys
import blocktensor as bt
import numpy as np

weights = bt.from_dlpack(np.full((64, 64, 3, 3), 0.001, np.float32))
with bt.grad.record() as tape:
    w = tape.variable(weights)
    y = bt.from_dlpack(np.ones((1, 64, 48, 48), np.float32))
    for _ in range(400):
        y = bt.ops.conv2d(y, w, padding=1)
ticks = itertools.count(1)
signal.signal(signal.SIGALRM, lambda *_: next(ticks) == 3 and print("running", flush=True))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
try:
    tape.backward(y, bt.from_dlpack(np.ones((1, 64, 48, 48), np.float32)), threads=1)
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("interrupted", flush=True)
    # The library still works.
    print(bt.ops.relu(weights).shape, flush=True)
    sys.exit(7)
print("done", flush=True)
"""


def interrupted(program, folder, monkeypatch, begun="planning", after="(1, 34, 96, 96)"):
    monkeypatch.setenv("BLOCKTENSOR_CACHE", str(folder))
    monkeypatch.setenv("RAYON_NUM_THREADS", "2")
    # A job in the background may have been started with the signal ignored.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, preexec_fn=heard)
    assert child.stdout.readline() == f"{begun}\n"
    child.send_signal(signal.SIGINT)
    sent = time.monotonic()
    line = child.stdout.readline()
    took = time.monotonic() - sent
    # Not `communicate`: it loses what `readline` has read beyond the line.
    out = child.stdout.read()
    child.wait(timeout=60)
    assert (line, child.returncode) == ("interrupted\n", 7)
    assert out == f"{after}\n"
    # Half a second where the machine is not busy.
    assert took < 2


@pytest.mark.parametrize(
    ("layouts", "profiles", "threads", "n"),
    [("measured", "kept", None, 2), ("measured", "measured", 1, 2), ("blocked", "kept", 1, 32)],
)
def test_ctrl_c_while_planning(layouts, profiles, threads, n, tmp_path, monkeypatch):
    program = PLANNING.replace("LAYOUTS", layouts).replace("PROFILES", profiles).replace("SAVED", "")
    interrupted(program.replace("THREADS", str(threads)).replace("N}", f"{n}}}"), tmp_path, monkeypatch)
    # No measurement is kept, and no file is there half.
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]


def test_ctrl_c_while_a_file_is_planned_again(tmp_path, monkeypatch):
    path = tmp_path / "file.plan"
    program = PLANNING.replace("SAVED", str(path)).replace("N}", "2}")
    interrupted(program.replace("THREADS", "1"), tmp_path / "cache", monkeypatch)


def test_ctrl_c_while_a_tape_runs_back(tmp_path, monkeypatch):
    interrupted(BACKWARD, tmp_path, monkeypatch, "running", "(64, 64, 3, 3)")
