"""Files of packed modules: what is no such file, and inputs that what was loaded does not take."""

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch
from models import X, One

SIZES = "`a` of [1, 4, 8, 8], `b` of [1, 4, 8, 8]"


@pytest.fixture
def modules(tmp_path):
    class Sum(One):
        def forward(self, a, b):
            return a.relu() + b

    fast = btt.to_blocked(Sum(None), (X, X), layouts="nchw")
    fast.save(tmp_path / "sum.plan")
    return fast, btt.load(tmp_path / "sum.plan")


COUNTS = {
    "fewer": ((X,), "got 1 input ([1, 4, 8, 8] torch.float32)"),
    "more": ((X, X[:, 0].double(), X), "got 3 inputs ([1, 4, 8, 8] torch.float32, [1, 8, 8] torch.float64, [1, 4, 8, 8] torch.float32)"),
    "none": ((), "got no inputs"),
    "a list": (([X, X, 3],), "got 3 inputs ([1, 4, 8, 8] torch.float32, [1, 4, 8, 8] torch.float32, int)"),
    "many": ((*[X[0, 0, 0]] * 8,), "got 8 inputs (" + "[8] torch.float32, " * 6 + "2 more)"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_another_number_of_inputs_is_told(modules, name):
    given, told = COUNTS[name]
    for module, remedy in zip(modules, ("pass inputs like the example's", "pass one tensor for each, in this order"), strict=True):
        with pytest.raises(bt.InvalidArgument) as e:
            module(*given)
        assert str(e.value) == f"argument `input`: {told}, but the module takes 2: {SIZES}; {remedy}"
    torch.testing.assert_close(modules[1](X, X), X.relu() + X)


def test_what_is_no_file_of_a_module_is_told_by_its_names(tmp_path):
    (tmp_path / "text").write_bytes(b"hello")
    torch.save({"a": X}, tmp_path / "saved")
    header = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} '.ljust(56)
    (tmp_path / "weights").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    kinds = {"text": bt.CorruptFile, "saved": bt.CorruptFile, "weights": bt.CorruptFile, "missing": bt.FileAccess, "": bt.FileAccess}
    for name, kind in kinds.items():
        with pytest.raises(kind, match="^op `blocktensor.torch.load`: argument `path`: got `") as e:
            btt.load(tmp_path / name)
        assert e.value.op == "blocktensor.torch.load" and str(e.value).endswith(e.value.remedy)
        assert "load_plan" not in str(e.value) and "`Plan" not in str(e.value) and "numpy" not in str(e.value)
    for wrong in (3, None, open(tmp_path / "text", "rb")):  # noqa: SIM115
        with pytest.raises(bt.InvalidArgument, match=f"^op `blocktensor.torch.load`: argument `path`: got .*{type(wrong).__name__}, but"):
            btt.load(wrong)
    with pytest.raises(bt.InvalidArgument, match="^op `blocktensor.torch.load`: argument `threads`: got 0, but"):
        btt.load(tmp_path / "text", threads=0)
