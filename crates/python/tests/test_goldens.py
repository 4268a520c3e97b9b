"""Programs that `blocktensor.torch` exported, with PyTorch's answers (scripts/python_goldens.py): no torch is needed."""

import json
from pathlib import Path

import blocktensor as bt
import numpy as np
import pytest

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("layouts", ["nchw", "nhwc", "blocked", "measured"])
@pytest.mark.parametrize("path", sorted(DATA.glob("*.npz")), ids=lambda path: path.stem)
def test_exported_programs_give_pytorchs_answers(path, layouts):
    with np.load(path) as file:
        model = bt.Model()
        for name, *args in json.loads(str(file["calls"])):
            if name == "constant":
                args.append(file[f"constant:{args[0]}"])
            if name == "op":
                # JSON has no tuples.
                args[2] = [(argument, value) for argument, value in args[2]]
            getattr(model, name)(*args)
        plan = model.plan(layouts=layouts, profiles="estimated")
        with bt.budget(len(plan.reorders)):
            y = plan.run(file["x"])[0].numpy()
        assert y.shape == file["y"].shape
        assert np.linalg.norm(y - file["y"]) <= 1e-5 * np.linalg.norm(file["y"])


def test_all_programs_are_there():
    assert len(list(DATA.glob("*.npz"))) == 4
