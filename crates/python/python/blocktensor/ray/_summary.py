"""Images per second, errors and reorders, from the rows of a result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._images import invalid


@dataclass
class Summary:
    """Counts the rows that `Predictor` made: `summary.add(batch)` for each batch of `iter_batches()`, then `print(summary)`.

    A row that was computed twice, because a worker died, is in the result once, and is counted once.

    Attributes:
      images, errors: rows, and those of them with a text in `error`.
      reorders: the numbers of reorders of the runs that there were; [] where all images were bad.
      workers: by worker, the images and the batches' times (started, finished).
    """

    error: str = "error"
    images: int = 0
    errors: int = 0
    reorders: set[int] = field(default_factory=set)
    workers: dict[str, "Worker"] = field(default_factory=dict)

    def add(self, batch: Mapping[str, Any]) -> None:
        """Counts a batch, a dict of columns."""
        needed = (self.error, "worker", "started", "finished", "reorders")
        missing = [name for name in needed if name not in batch]
        if missing:
            remedy = "pass rows that `Predictor` made with `report=True`, and the name of its column `error`"
            raise invalid("batch", f"a batch without `{missing[0]}`", f"its columns are {', '.join(needed)}", remedy)
        for error, worker, started, finished, reorders in zip(*(batch[name] for name in needed), strict=True):
            self.images += 1
            if error:
                self.errors += 1
            else:
                self.reorders.add(int(reorders))
            of = self.workers.setdefault(str(worker), Worker())
            of.images += 1
            of.batches.add((float(started), float(finished)))

    @property
    def seconds(self) -> float:
        """From the first batch's start to the last one's end, on the clocks of the workers' machines."""
        batches = [batch for worker in self.workers.values() for batch in worker.batches]
        return max(b[1] for b in batches) - min(b[0] for b in batches) if batches else 0.0

    @property
    def images_per_second(self) -> float:
        return self.images / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        reorders = " or ".join(map(str, sorted(self.reorders))) or "no"
        reorders += " reorder" if reorders == "1" else " reorders"
        lines = [
            f"{self.images} images, {self.errors} with an error, in {self.seconds:.2f} s: "
            f"{self.images_per_second:.0f} images/s, {reorders} per run"
        ]
        for name, worker in sorted(self.workers.items()):
            lines.append(f"  {name}: {worker.images} images, {worker.images_per_second:.0f} images/s while it worked")
        return "\n".join(lines)


@dataclass
class Worker:
    """What one worker did."""

    images: int = 0
    batches: set[tuple[float, float]] = field(default_factory=set)

    @property
    def images_per_second(self) -> float:
        """While it worked: waiting for rows is left out."""
        busy = sum(finished - started for started, finished in self.batches)
        return self.images / busy if busy > 0 else 0.0
