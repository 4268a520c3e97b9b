"""The examples in the documentation run."""

import doctest
import importlib.util
from pathlib import Path

import blocktensor
import blocktensor.grad
import blocktensor.ops
import blocktensor.testing
import pytest


@pytest.mark.parametrize("module", [blocktensor, blocktensor.grad, blocktensor.ops, blocktensor.testing])
def test_examples(module):
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0


def test_documentation_names_the_dtypes_of_the_kernels():
    path = Path(__file__).resolve().parents[3] / "scripts/python_ops.py"
    spec = importlib.util.spec_from_file_location("python_ops", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    (schema,) = (one for one in blocktensor._native.schemas() if one["name"] == "relu")
    (arg,) = schema["args"]

    def told(**changes):
        return script.function({**schema, "args": [{**arg, **changes}]}, "").split("Dtypes:\n")[1].split("\n")[0].strip()

    both = ["f32", "bf16"]
    assert told(kernels={"strided": both, "blocked": both}) == "x: f32, bf16."
    assert told(kernels={"strided": both, "blocked": ["f32"]}) == "x: f32, bf16 (strided); f32 (blocked)."
    # Where the kernels' are not told.
    assert told(kernels={}) == "x: f32."
    assert told(dtypes="any dtype", kernels={"strided": both}) == "x: any dtype."
