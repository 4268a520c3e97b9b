"""Pickled plans: packed files as bytes."""

import os
import tempfile
from collections.abc import Callable

from ._native import Plan, _plan_from_bytes


def reduce_plan(plan: Plan) -> tuple[Callable[[bytes, int | None], Plan], tuple[bytes, int | None]]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan")
        plan.save(path)
        with open(path, "rb") as file:
            return plan_of_bytes, (file.read(), plan.threads)


def plan_of_bytes(packed: bytes, threads: int | None) -> Plan:
    return _plan_from_bytes(packed, threads)
