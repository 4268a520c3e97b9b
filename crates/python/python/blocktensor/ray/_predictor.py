"""The actor class: a batch of rows in, the same rows with results out."""

import math
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import PackMismatch, UnsupportedOp
from .._native import Plan, budget, load_plan, record
from .._types import FilePath
from ._columns import Columns
from ._images import BadImage, Images, invalid

_DTYPES = {"f32": np.float32, "f16": np.float16, "s32": np.int32, "s8": np.int8, "u8": np.uint8, "bool": np.bool_}
#: Columns that tell how a row was computed.
REPORT = ("worker", "started", "finished", "reorders")


class Predictor:
    """Runs images through a packed plan: a class for `ray.data.Dataset.map_batches`, and a plain callable without Ray.

    `plan` is a file that `Plan.save` or `blocktensor pack` wrote. It has one input, [N, C, H, W] in f32, and results whose first
    size is N. Each call packs the images of its batch, N at a time, into runs of the plan; what is missing for the last run is
    filled with zeros, whose results are dropped. So `batch_size` of `map_batches` is best a multiple of N.

    The file is mapped: the workers of a machine share its pages, and nobody may change it while they run. `Plan.save` over it is
    allowed.

    Arguments:
      input: the column of images: encoded bytes (or a struct with `bytes`), u8 arrays [H, W, C], or f32 arrays [C, H, W].
      output: names of the columns of results, one for each result of the plan, or one name; by default the plan's names.
      threads: of a run; by default `num_cpus` of the actor, a fraction counting as one, and outside of Ray the process's.
      resize: None leaves images as they are; pixels of the shorter side; or (height, width).
      crop: keeps the centre, in the plan's size.
      mean, std: pixels become (pixel / 255 - mean) / std, f32 arrays (x - mean) / std.
      decode: bytes to a u8 or f32 array, instead of pillow.
      error: the column of error texts, empty where all is well.
      keep_input: keeps the column of images in the result.
      report: adds `worker`, `started`, `finished` (seconds since 1970) and `reorders` (of the run), for `Summary`.
      replan: packs the weights again where the file does not fit the machine or the threads (`Plan.save(keep_plain=True)`).

    An image that cannot be decoded or does not fit is a row with a text in `error`; its results are NaN, the lowest integer, or
    False. All other errors are raised: `PackMismatch` for a file that is for another machine or number of threads,
    `InvalidArgument` for a plan or a batch of another form, `MissingPackage` without pillow. A run that needs more reorders than
    the plan shows is a `ReorderDenied`.
    """

    def __init__(
        self,
        plan: FilePath,
        *,
        input: str = "image",
        output: str | Sequence[str] | None = None,
        threads: int | None = None,
        resize: int | tuple[int, int] | None = None,
        crop: bool = False,
        mean: float | Sequence[float] = 0.0,
        std: float | Sequence[float] = 1.0,
        decode: Callable[[bytes], NDArray[Any]] | None = None,
        error: str = "error",
        keep_input: bool = False,
        report: bool = True,
        replan: bool = False,
    ) -> None:
        self.plan = _load(plan, threads, replan)
        self.input, self.error = input, error
        shape = _shape_of_input(self.plan)
        self.batch = shape[0]
        self.images = Images.of((shape[1], shape[2], shape[3]), resize, crop, mean, std, decode)
        self.results = _results(self.plan, self.batch, output)
        added = [*(name for name, _, _ in self.results), error, *(REPORT if report else ())]
        if len(set(added)) < len(added):
            raise invalid("output", repr(added), "columns have different names", "pass other names for `output` or `error`")
        self.columns = Columns(input, added, keep_input)
        self.report = report
        self.worker = f"{socket.gethostname()}:{os.getpid()}"
        self._source = np.zeros(shape, np.float32)

    def __call__(self, batch: Any) -> Any:
        """The batch (a dict of arrays, or a `pyarrow.Table`) with columns for results and errors."""
        started = time.time()
        images = self.columns.images(batch)
        rows = len(images)
        results = [np.empty((rows, *shape), dtype) for _, shape, dtype in self.results]
        errors, reorders = np.full(rows, "", object), np.zeros(rows, np.int32)
        waiting: list[int] = []
        for row, image in enumerate(images):
            try:
                self.images.place(image, self._source[len(waiting)])
            except BadImage as e:
                errors[row] = str(e)
                for result in results:
                    result[row] = _nothing(result.dtype)
                continue
            waiting.append(row)
            if len(waiting) == self.batch:
                self._run(waiting, results, reorders)
                waiting.clear()
        if waiting:
            self._source[len(waiting) :] = 0
            self._run(waiting, results, reorders)
        made = dict(zip((name for name, _, _ in self.results), results, strict=True)) | {self.error: errors}
        if self.report:
            seconds = np.full(rows, started), np.full(rows, time.time())
            made |= dict(zip(REPORT, (np.full(rows, self.worker, object), *seconds, reorders), strict=True))
        return self.columns.joined(batch, made)

    def _run(self, rows: list[int], results: list[NDArray[Any]], reorders: NDArray[np.int32]) -> None:
        """Runs the images that wait, whose results belong to these rows."""
        places = [np.empty((self.batch, *result.shape[1:]), result.dtype) for result in results]
        with record() as book, budget(len(self.plan.reorders)):
            self.plan.run_into([self._source], places)
        for result, place in zip(results, places, strict=True):
            result[rows] = place[: len(rows)]
        reorders[rows] = len(book.reorders)


def _nothing(dtype: np.dtype[Any]) -> Any:
    """What stands for a result that there is not."""
    if dtype.kind == "f":
        return np.nan
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _cpus() -> float | None:
    """`num_cpus` of the Ray actor that this is, or None."""
    # An actor has imported Ray already.
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    context = ray.get_runtime_context()
    return float(context.get_assigned_resources().get("CPU", 0)) if context.get_actor_id() else None


def _load(path: FilePath, threads: int | None, replan: bool) -> Plan:
    cpus = _cpus() if threads is None else None
    if cpus is not None:
        threads = max(1, math.ceil(cpus))
    try:
        return load_plan(path, threads=threads, replan=replan, mapped=True)
    except PackMismatch as e:
        packed = re.search(r"`threads=(\d+)`", e.remedy)
        if cpus is None or packed is None:
            raise
        name, wanted = os.fsdecode(path), packed[1]
        packed_for, here = (f"{n} thread{'s' if n != 1 else ''}" for n in (int(wanted), threads))
        text = f"the plan `{name}` is packed for {packed_for}, and this actor has num_cpus={cpus:g}: {here}"
        remedy = (
            f"pass `num_cpus={wanted}` to `map_batches`, or save a plan for these threads, `Model.plan(threads={threads})`; "
            "a file that was saved with `keep_plain=True` also loads with `replan=True` of `Predictor`"
        )
        made = PackMismatch(f"op `blocktensor.ray.Predictor`: argument `plan`: {text}; {remedy}")
        made.op, made.operands, made.remedy = "blocktensor.ray.Predictor", ["plan"], remedy
        raise made from e


def _shape_of_input(plan: Plan) -> tuple[int, ...]:
    inputs = plan.inputs
    if len(inputs) != 1 or inputs[0][1] != "f32" or len(inputs[0][2]) != 4:
        said = ", ".join(f"`{name}` {dtype} {shape}" for name, dtype, shape in inputs)
        rule = "the plan has one input, images [N, C, H, W] in f32"
        raise invalid("plan", f"a plan of {said}", rule, "run other plans with `Plan.run` in a function of your own")
    return tuple(inputs[0][2])


def _results(plan: Plan, batch: int, output: str | Sequence[str] | None) -> list[tuple[str, tuple[int, ...], Any]]:
    """Of each result: its column, the sizes of a row, and numpy's dtype."""
    outputs = plan.outputs
    for name, dtype, shape in outputs:
        if dtype not in _DTYPES:
            made = UnsupportedOp(f"result `{name}` of the plan is {dtype}, which numpy has not; convert it to f32 in the model")
            made.op, made.remedy = "blocktensor.ray.Predictor", "convert it to f32 in the model"
            raise made
        if not shape or shape[0] != batch:
            rule = f"each result has one row for each of the {batch} images of a run"
            remedy = "choose the results with `Model.with_outputs`"
            raise invalid("plan", f"result `{name}` of {shape}", rule, remedy)
    names = [name for name, _, _ in outputs] if output is None else [output] if isinstance(output, str) else list(output)
    if len(names) != len(outputs) or not all(isinstance(name, str) for name in names):
        said = ", ".join(f"`{name}`" for name, _, _ in outputs)
        raise invalid("output", repr(output), f"the plan's results are {said}", "pass one name for each")
    return [(name, tuple(shape[1:]), _DTYPES[dtype]) for name, (_, dtype, shape) in zip(names, outputs, strict=True)]
