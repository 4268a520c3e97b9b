"""`make ray`: images through `blocktensor.ray.Predictor` on one machine, with two workers, one of which is killed.

Checks, each of which ends the script with an error if it fails:
- 2,000 small images from Parquet, of which some are damaged: each row comes back once, with the result that a plain call gives;
- one worker is killed while it works: nothing is lost, nothing is there twice;
- both workers map the plan file, and share its pages, by /proc/PID/smaps;
- runs do the reorders of the plan and no others;
- the same from a folder of files;
- a plan for another number of threads is an error that names the remedy.
One and two workers of one thread each are timed by turns; the least of three rounds counts.
"""

import argparse
import io
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import blocktensor as bt
import blocktensor.ray as btr
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

SIDE, PLAN_BATCH, BATCH = 64, 8, 40
OPTIONS = {"mean": btr.IMAGENET["mean"], "std": btr.IMAGENET["std"], "output": "scores"}


class Failed(Exception):
    """A check that did not hold."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failed(what)
    print(f"ok: {what}", flush=True)


def network() -> bt.Model:
    """ResNet-18's convolutions, with random weights: some milliseconds per image, and 45 MB of weights to share."""
    rng, m = np.random.default_rng(1), bt.Model()
    m.input("image", ["batch", 3, SIDE, SIDE])

    def conv(name: str, x: str, shape: tuple[int, int, int], stride: int = 1, relu: bool = True) -> str:
        out, channels, k = shape
        weights = rng.standard_normal((out, channels, k, k), np.float32) * np.float32((2 / (channels * k * k)) ** 0.5)
        m.constant(f"{name}.w", weights)
        m.op(name, "conv2d", [("x", x), ("weights", f"{name}.w")], {"stride": stride, "padding": k // 2}, [name])
        if not relu:
            return name
        m.op(f"{name}.relu", "relu", [("x", name)], {}, [f"{name}.relu"])
        return f"{name}.relu"

    x, channels = conv("stem", "image", (64, 3, 7), 2), 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for block in range(2):
            at, stride = f"{stage}.{block}", 2 if stage and not block else 1
            y = conv(f"{at}.a", x, (width, channels, 3), stride)
            y = conv(f"{at}.b", y, (width, width, 3), relu=False)
            if stride == 2:
                x = conv(f"{at}.down", x, (width, channels, 1), stride, relu=False)
            m.op(f"{at}.add", "add", [("a", x), ("b", y)], {}, [f"{at}.add"])
            m.op(f"{at}.relu", "relu", [("x", f"{at}.add")], {}, [f"{at}.relu"])
            x, channels = f"{at}.relu", width
    m.op("pool", "global_avg_pool", [("x", x)], {}, ["pool"])
    m.op("flat", "flatten", [("x", "pool")], {"start": 1, "end": 3}, ["flat"])
    m.output("features", "flat")
    return m


def write_images(folder: Path, count: int) -> tuple[Path, Path, set[int]]:
    """A Parquet file, a folder with a part of the same images, and the ids of those that are damaged."""
    rng, rows, damaged = np.random.default_rng(2), [], set(range(7, count, 101))
    for i in range(count):
        pixels = rng.integers(0, 256, (SIDE // 8, SIDE // 8, 3), np.uint8).repeat(8, 0).repeat(8, 1)
        place = io.BytesIO()
        Image.fromarray(pixels).save(place, "JPEG" if i % 2 else "PNG")
        rows.append(place.getvalue()[: 40 if i in damaged else None])
    table = pa.table({"id": np.arange(count), "image": pa.array(rows, pa.binary())})
    parquet, files = folder / "images.parquet", folder / "images"
    pq.write_table(table, parquet)
    files.mkdir()
    for i in range(0, count, 20):
        (files / f"{i:05}.{'jpg' if i % 2 else 'png'}").write_bytes(rows[i])
    return parquet, files, damaged


def pages(pid: int, path: Path) -> dict[str, int]:
    """kB of the file that a process has mapped, by the kinds of smaps; {} if it maps none of it."""
    found: dict[str, int] = {}
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            inside = line.endswith(str(path))
        elif inside and rest[-1:] == ["kB"]:
            found[first[:-1]] = found.get(first[:-1], 0) + int(rest[0])
    return found


def is_ours(pid: int) -> bool:
    """Whether a process was started by this one, or by one that was."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except FileNotFoundError:
            return False
        pid = int(status.split("PPid:")[1].split()[0])
    return False


def pid_of(worker: str) -> int:
    return int(worker.rsplit(":", 1)[1])


class Bar:
    """A progress bar: one line of a terminal, or a line for each tenth."""

    def __init__(self, of: int, what: str) -> None:
        self.of, self.what, self.began, self.told = of, what, time.monotonic(), -1

    def at(self, count: int) -> None:
        tenths, rate = count * 10 // self.of, count / max(time.monotonic() - self.began, 1e-9)
        width = count * 30 // self.of
        line = f"{self.what} [{'#' * width}{'.' * (30 - width)}] {count}/{self.of} images, {rate:.0f} images/s"
        if sys.stdout.isatty():
            print(f"\r{line}", end="\n" if count >= self.of else "", flush=True)
        elif tenths != self.told:
            print(line, flush=True)
        self.told = tenths


def run(ray, data, plan: Path, workers: int, what: str, on_batch=None) -> tuple[dict[str, np.ndarray], btr.Summary]:
    """All rows of a run, as columns, and what they say of it."""
    done = data.map_batches(
        btr.Predictor,
        fn_constructor_kwargs={"plan": str(plan), **OPTIONS},
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
        batch_size=BATCH,
        batch_format="pyarrow",
    )
    bar, summary, batches = Bar(data.count(), what), btr.Summary(), []
    for batch in done.iter_batches(batch_size=BATCH, prefetch_batches=0):
        summary.add(batch)
        batches.append(batch)
        bar.at(summary.images)
        if on_batch:
            on_batch(batch, summary)
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}, summary


def check_rows(columns: dict[str, np.ndarray], wanted: dict[str, np.ndarray], damaged: set[int]) -> None:
    ids = columns["id"]
    check(sorted(ids.tolist()) == wanted["id"].tolist(), f"{len(ids)} rows, each id once")
    order = np.argsort(ids)
    same = np.array_equal(columns["scores"][order], wanted["scores"], equal_nan=True)
    check(same, "each row has the bits that a plain call gives for its image")
    bad = {int(i) for i, text in zip(ids, columns["error"], strict=True) if text}
    check(bad == damaged, f"{len(bad)} damaged images are rows with a text: {columns['error'][order][min(bad)]!r}")


class Killer:
    """Looks at the pages of two workers once both have worked, and kills one of them."""

    def __init__(self, plan: Path, of: int) -> None:
        self.plan, self.of = plan, of
        self.pages: dict[int, dict[str, int]] = {}
        self.killed: int | None = None

    def __call__(self, batch, summary: btr.Summary) -> None:
        workers = sorted(summary.workers)
        if self.killed is not None or len(workers) < 2 or summary.images > self.of // 2:
            return
        self.pages = {pid_of(worker): pages(pid_of(worker), self.plan) for worker in workers}
        pid = pid_of(str(batch["worker"][-1]))
        if not is_ours(pid):
            raise Failed(f"process {pid} is none of this script's: it is not killed")
        os.kill(pid, signal.SIGKILL)
        self.killed = pid
        print(f"\nkilled worker {pid} after {summary.images} of {self.of} images", flush=True)


def check_pages(found: dict[int, dict[str, int]], bytes: int) -> None:
    print(f"the plan file has {bytes // 1024} kB; in the workers, by /proc/PID/smaps:")
    for pid, kinds in found.items():
        told = ", ".join(f"{name} {kinds.get(name, 0)} kB" for name in ("Rss", "Pss", "Shared_Clean", "Private_Dirty"))
        print(f"  {pid}: {told if kinds else 'not mapped'}")
    shared = [kinds.get("Shared_Clean", 0) * 1024 >= 0.9 * bytes for kinds in found.values()]
    check(len(found) == 2 and all(shared), "two workers share the pages of the plan file")


def plainly(plan: str, parquet: str, part: int, of: int) -> None:
    """A process without Ray: a part of the images, after a line of the standard input. Prints when it began and ended."""
    predict = btr.Predictor(plan, threads=1, **OPTIONS)
    images = pq.read_table(parquet)["image"].to_pylist()[part::of]
    rows = np.empty(len(images), object)
    rows[:] = images
    predict({"image": rows[:BATCH]})
    print("ready", flush=True)
    sys.stdin.readline()
    began, processor = time.time(), time.process_time()
    for at in range(0, len(rows), BATCH):
        predict({"image": rows[at : at + BATCH]})
    print(began, time.time(), time.process_time() - processor, flush=True)


def without_ray(plan: Path, parquet: Path, processes: int) -> tuple[float, float]:
    """Seconds that this many processes take for the images without Ray, and seconds of processors in all of them."""
    command = [sys.executable, __file__, "--plainly", str(plan), str(parquet)]
    started = [
        # Sessions of their own, as Ray's workers have: Linux shares processors between sessions.
        subprocess.Popen(
            [*command, str(n), str(processes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        for n in range(processes)
    ]
    for child in started:
        if child.stdout.readline() != "ready\n":
            raise Failed("a process without Ray did not start")
    for child in started:
        child.stdin.write("\n")
        child.stdin.flush()
    times = [[float(number) for number in child.communicate()[0].split()] for child in started]
    return max(ended for _, ended, _ in times) - min(began for began, _, _ in times), sum(processor for _, _, processor in times)


def timed(ray, data, plan: Path, parquet: Path, rounds: int) -> None:
    """From the start of the first batch to the end of the last: starting Ray's workers is left out."""
    best: dict[int, btr.Summary] = {}
    plain: dict[int, tuple[float, float]] = {}
    load = os.getloadavg()[0]
    for n in range(rounds):
        for workers in (1, 2):
            seconds = without_ray(plan, parquet, workers)
            plain[workers] = min(plain.get(workers, seconds), seconds)
            _, summary = run(ray, data, plan, workers, f"round {n + 1}, {workers} worker{'s' if workers > 1 else ''}")
            print(summary, flush=True)
            if workers not in best or summary.seconds < best[workers].seconds:
                best[workers] = summary
    one, two = best[1].seconds, best[2].seconds
    print(f"\none worker {one:.2f} s, two workers {two:.2f} s: {one / two:.2f} times as fast")
    (one, processor), (two, processors) = plain[1], plain[2]
    print(f"without Ray, one process {one:.2f} s, two {two:.2f} s: {one / two:.2f} times as fast")
    print(f"  of which {processor:.2f} s and {processors:.2f} s of a processor: what is missing to the time, other work had")
    (alone,) = [worker.images_per_second for worker in best[1].workers.values()]
    beside = [worker.images_per_second for worker in best[2].workers.values()]
    starts = sorted(min(worker.batches)[0] for worker in best[2].workers.values())
    print(
        f"{os.cpu_count()} processors, one thread for each worker, least of {rounds} by turns. While it worked, one worker alone made "
        f"{alone:.0f} images/s, two beside each other {' and '.join(f'{rate:.0f}' for rate in beside)}; "
        f"the second began {starts[-1] - starts[0]:.2f} s after the first. "
        f"The load average was {load:.1f} before; Ray's own processes need processors too."
    )


def demonstrate(ray, folder: Path, count: int, rounds: int, may_copy: bool) -> None:
    plan = folder / "network.plan"
    network().plan(sizes={"batch": PLAN_BATCH}, threads=1).save(plan)
    parquet, files, damaged = write_images(folder, count)
    plain = btr.Predictor(plan, threads=1, **OPTIONS)
    planned = len(plain.plan.reorders)
    table = pq.read_table(parquet)
    wanted = plain({"id": table["id"].to_numpy(), "image": np.array(table["image"].to_pylist(), object)})

    # A block is what one worker takes. A file this small would be one.
    data = btr.read_images(parquet).repartition(max(count // BATCH, 1)).materialize()
    killer = Killer(plan, count)
    columns, summary = run(ray, data, plan, 2, "two workers, one killed", killer)
    print(summary)
    check(killer.killed is not None, f"a worker was killed while it worked; rows are of {len(summary.workers)} processes")
    check_rows(columns, wanted, damaged)
    check(summary.reorders == {planned}, f"each run made the {planned} planned reorders and no others")

    columns, summary = run(ray, btr.read_images(files), plan, 2, "from a folder")
    names = sorted(int(Path(path).stem) for path in columns["path"])
    check(names == list(range(0, count, 20)), f"{len(names)} files of a folder, each once")
    ids = np.array([int(Path(path).stem) for path in columns["path"]])
    check(np.array_equal(columns["scores"], wanted["scores"][ids], equal_nan=True), "with the same results")

    actor = ray.remote(num_cpus=2)(btr.Predictor).remote(str(plan), **OPTIONS)
    try:
        ray.get(actor.__ray_ready__.remote())
    except ray.exceptions.RayError as e:
        check("pass `num_cpus=1` to `map_batches`" in str(e), "a worker with num_cpus=2 for a plan of 1 thread names the remedy")
    else:
        raise Failed("a plan of 1 thread ran in a worker with num_cpus=2")

    timed(ray, data, plan, parquet, rounds)
    # Last, so that the rest is seen in any case.
    try:
        check_pages(killer.pages, plan.stat().st_size)
    except Failed as e:
        if not may_copy:
            raise
        print(f"not so: {e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--may-copy", action="store_true", help="only tell if the workers do not share the plan file's pages")
    parser.add_argument("--plainly", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.plainly:
        plan, parquet, part, of = args.plainly
        plainly(plan, parquet, int(part), int(of))
        return 0
    # Nothing is sent anywhere, and the user's own token and clusters are left alone.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    import ray

    folder = Path(tempfile.mkdtemp(prefix="bt-ray-"))
    try:
        # Two processors more than the workers reserve, for the tasks that read.
        ray.init(
            address="local",
            num_cpus=4,
            include_dashboard=False,
            object_store_memory=256 << 20,
            log_to_driver=False,
            logging_level="error",
            _temp_dir=str(folder / "ray"),
        )
        logging.disable(logging.WARNING)
        ray.data.DataContext.get_current().enable_progress_bars = False  # this script draws its own
        demonstrate(ray, folder, args.images, args.rounds, args.may_copy)
    except Failed as e:
        print(f"failed: {e}", file=sys.stderr)
        return 1
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
