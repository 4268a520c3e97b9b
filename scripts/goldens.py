#!/usr/bin/env python3
"""Writes PyTorch's answers into tests/data/ops, for the ops that are named: `python3 scripts/goldens.py logit grid_sample`.

It needs a Python environment with torch. Old cases of a named op are replaced, and those of all other ops stay as they are, so
running it again changes nothing. The answers in the repository were made with torch 2.15. The ops that are not in `CASES` have
answers from before this script.

To add an op, write a function that yields its cases, and add it to `CASES`. A case is a dictionary of parameters and one of
tensors, named as in the op's schema; the result is `y`. If the names are those of the schema, `src/testing/calls.rs` needs no
change. Parameters that are left out have their defaults. Compute in f64 from inputs that f32 can hold.
"""

import argparse
import itertools
import json
import math
import struct
from pathlib import Path

import torch
import torch.nn.functional as F

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "ops"


def grid_sample():
    shapes = {
        4: [((2, 17, 4, 6), (3, 5)), ((1, 3, 5, 7), (4, 4)), ((2, 16, 1, 1), (2, 5)), ((1, 33, 6, 4), (2, 7))],
        5: [((1, 17, 2, 3, 4), (2, 2, 3)), ((2, 3, 3, 2, 5), (1, 3, 3)), ((1, 16, 1, 4, 3), (2, 2, 3))],
    }
    modes = {4: ["bilinear", "nearest", "bicubic"], 5: ["bilinear", "nearest"]}
    paddings = ["zeros", "border", "reflection"]
    number = 0
    for rank in (4, 5):
        for mode, padding, align_corners in itertools.product(modes[rank], paddings, (False, True)):
            shape, output = shapes[rank][number % len(shapes[rank])]
            number += 1
            x = torch.randn(shape)
            grid = torch.rand((shape[0],) + output + (rank - 2,)) * 3.4 - 1.7
            points = grid.view(shape[0], -1, rank - 2)
            points[:, 0] = -1.0
            points[:, 1] = 1.0
            points[:, 2] = 0.0
            points[-1, 3] = torch.tensor([math.nan] + [0.1] * (rank - 3))
            points[-1, 4] = torch.tensor([0.23, math.inf] + [0.1] * (rank - 4))
            points[-1, 5] = torch.tensor([-math.inf] + [-0.3] * (rank - 3))
            points[-1, 6, 0] = -5.25
            y = F.grid_sample(x.double(), grid.double(), mode, padding, align_corners).float()
            # A point so close to the border of two pixels that f32 takes the other one would make a bad case.
            y_in_f32 = F.grid_sample(x, grid, mode, padding, align_corners)
            assert torch.allclose(y, y_in_f32, 1e-4, 1e-5, equal_nan=True), (mode, padding, align_corners)
            assert mode != "nearest" or torch.equal(y, y_in_f32)
            params = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
            yield params, {"x": x, "grid": grid, "y": y}


def logit():
    special = torch.tensor([-0.5, 0.0, 0.3, 1.0, 1.5, math.nan, -0.0, math.inf, -math.inf, 0.05, 0.6, 0.75])
    for eps, shape in itertools.product([None, 0.0, 0.1, 0.7, -0.25, math.nan], [(3, 17, 5), (2, 17, 3, 2)]):
        x = torch.rand(shape)
        # Special values in full blocks of channels and in the last one.
        x.view(-1)[: len(special)] = special
        x[-1, -1].view(-1)[:5] = special[:5]
        y = torch.logit(x.double(), eps).float()
        yield {} if eps is None else {"eps": eps}, {"x": x, "y": y}


def triangles(op):
    for diagonal, shape in itertools.product([0, 1, -2], [(3, 5), (2, 17, 4, 3)]):
        x = torch.randn(shape)
        x[..., 0, -1], x[..., -1, 0] = math.inf, math.nan
        yield {"diagonal": diagonal}, {"x": x, "y": op(x, diagonal)}


CASES = {
    "grid_sample": grid_sample,
    "logit": logit,
    "tril": lambda: triangles(torch.tril),
    "triu": lambda: triangles(torch.triu),
}


def json_value(value):
    """JSON has no NaN and no infinities: those are strings."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_tensors(path):
    """The tensors of a safetensors file, in the order of their bytes, as (name, dtype, shape, bytes); and the metadata."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    metadata = header.pop("__metadata__", None)
    order = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    tensors = []
    for name, entry in order:
        begin, end = entry["data_offsets"]
        tensors.append((name, entry["dtype"], entry["shape"], data[begin:end]))
    return tensors, metadata


def write_tensors(path, tensors, metadata):
    header, offset = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors))


def replaced(items, is_old, new):
    """The items, with the new ones where the first of the old ones was; at the end if there was none."""
    at = next((i for i, item in enumerate(items) if is_old(item)), len(items))
    return items[:at] + new + [item for item in items[at:] if not is_old(item)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="+", choices=sorted(CASES), metavar="op", help=", ".join(sorted(CASES)))
    index_path, tensors_path = FOLDER / "index.jsonl", FOLDER / "ops.safetensors"
    lines = index_path.read_text().splitlines()
    tensors, metadata = read_tensors(tensors_path)
    for op in parser.parse_args().ops:
        torch.manual_seed(7)
        new_lines, new_tensors = [], []
        for number, (params, values) in enumerate(CASES[op]()):
            case = f"{op}.{number}"
            params = {name: json_value(value) for name, value in params.items()}
            shapes = {name: list(value.shape) for name, value in values.items()}
            new_lines.append(json.dumps({"case": case, "op": op, "params": params, "tensors": shapes}))
            for name, value in values.items():
                numbers = value.flatten().tolist()
                data = struct.pack(f"<{len(numbers)}f", *numbers)
                new_tensors.append((f"{case}.{name}", "F32", shapes[name], data))
        lines = replaced(lines, lambda line: json.loads(line)["op"] == op, new_lines)
        tensors = replaced(tensors, lambda tensor: tensor[0].rsplit(".", 2)[0] == op, new_tensors)
        print(f"{op}: {len(new_lines)} cases")
    index_path.write_text("\n".join(lines) + "\n")
    write_tensors(tensors_path, tensors, metadata)


if __name__ == "__main__":
    main()
