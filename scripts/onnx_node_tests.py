#!/usr/bin/env python3
"""Writes ONNX's own node tests that concern image networks to tests/data/onnx_nodes.

    python3 -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx==1.23.2 numpy onnxruntime
    /tmp/onnx/bin/python scripts/onnx_node_tests.py            # write the files
    /tmp/onnx/bin/python scripts/onnx_node_tests.py --verify   # run the files in ONNX Runtime

The cases come from the Python package `onnx`, which seeds its generator for each case, so a second run writes the same bytes.
`cases.json` in that folder names the cases to take, by operator and class. The README there describes the files.

Axes, pads, sizes and similar parameters are graph inputs in ONNX's tests. This script turns them into initialisers: blocktensor
expands a graph at fixed sizes. Metadata records each of them.
"""

import argparse
import json
import struct
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

FOLDER = Path(__file__).resolve().parent.parent / "tests/data/onnx_nodes"

# Inputs that become initialisers: the operator, the position of the input, its role.
BIND = {
    "Clip": {1: "bound", 2: "bound"},
    "Dropout": {1: "ratio", 2: "training mode"},
    "Expand": {1: "shape"},
    "Gather": {1: "indices"},
    "GatherElements": {1: "indices"},
    "GatherND": {1: "indices"},
    "Pad": {1: "pads", 2: "pad value", 3: "axes"},
    "Range": {0: "start", 1: "limit", 2: "step"},
    "Reshape": {1: "shape"},
    "Resize": {1: "region of interest", 2: "scales", 3: "sizes"},
    "RoiAlign": {2: "batch indices"},
    "ScatterElements": {1: "indices"},
    "ScatterND": {1: "indices"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Split": {1: "sizes"},
    "Squeeze": {1: "axes"},
    "Tile": {1: "repeats"},
    "TopK": {1: "k"},
    "Unsqueeze": {1: "axes"},
    "Upsample": {1: "scales"},
}
# `Pow` accepts integer exponents. Those are bound too; an exponent in f32 stays an input.
BIND_INTEGERS = {"Pow": {1: "exponent"}}

# Cases of 750 kB. Their windows have stride 1 and no padding, so a corner of the input gives a corner of the output.
CROP = {
    "test_averagepool_3d_default": (9, 8),
    "test_lppool_3d_default": (9, 8),
    "test_maxpool_3d_default": (9, 8),
}

DTYPES = {"float32": "F32", "int64": "I64", "int32": "I32", "uint8": "U8", "int8": "I8", "bool": "BOOL"}


def write_safetensors(path, tensors, metadata):
    """Writes `tensors` ordered by item size, then by name, so that every tensor is aligned and the bytes are reproducible."""
    header, chunks, offset = {"__metadata__": metadata}, [], 0
    for name in sorted(tensors, key=lambda name: (-tensors[name].itemsize, name)):
        array = tensors[name]
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def read_safetensors(path):
    """The tensors and the metadata of a file."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    metadata = header.pop("__metadata__")
    names = {v: k for k, v in DTYPES.items()}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], names[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def crop(name, model, inputs, outputs):
    """Cuts the spatial axes of a large case, in its tensors and in the shapes that its model declares."""
    small_in, small_out = CROP[name]
    shrunk = []
    for arrays, values, size in ((inputs, model.graph.input, small_in), (outputs, model.graph.output, small_out)):
        corner = (slice(None), slice(None)) + (slice(size),) * 3
        shrunk.append([np.ascontiguousarray(array[corner]) for array in arrays])
        for value in values:
            for dim in value.type.tensor_type.shape.dim[2:]:
                dim.dim_value = size
    return shrunk


def convert(op, kind, case):
    """A case's tensors and its metadata."""
    if len(case.data_sets) != 1 or len(case.model.graph.node) != 1:
        raise ValueError(f"{case.name}: expected one node and one data set")
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph, node = model.graph, model.graph.node[0]
    inputs, outputs = ([np.asarray(array) for array in arrays] for arrays in case.data_sets[0])
    if case.name in CROP:
        inputs, outputs = crop(case.name, model, inputs, outputs)

    roles = {node.input[i]: role for i, role in BIND.get(op, {}).items() if i < len(node.input)}
    if op.startswith("Reduce") and len(node.input) > 1:
        roles[node.input[1]] = "axes"
    values = dict(zip((value.name for value in graph.input), inputs, strict=True))
    for i, role in BIND_INTEGERS.get(op, {}).items():
        if values[node.input[i]].dtype.kind == "i":
            roles[node.input[i]] = role

    bound, kept = [], []
    for value in list(graph.input):
        if value.name in roles:
            graph.initializer.append(numpy_helper.from_array(values[value.name], value.name))
            bound.append({"name": value.name, "role": roles[value.name]})
        else:
            kept.append(onnx.ValueInfoProto.FromString(value.SerializeToString()))
    del graph.input[:]
    graph.input.extend(kept)
    # Initialisers that are no graph inputs exist since version 4 of the format.
    model.ir_version = max(model.ir_version, 4)
    onnx.checker.check_model(model)

    tensors = {"model": np.frombuffer(model.SerializeToString(deterministic=True), np.uint8)}
    for i, value in enumerate(kept):
        tensors[f"input.{i}.{value.name}"] = values[value.name]
    for i, (value, array) in enumerate(zip(graph.output, outputs, strict=True)):
        tensors[f"output.{i}.{value.name}"] = array
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    info = {"class": kind, "opset": opset, "rtol": case.rtol, "atol": case.atol, "bound": bound}
    if case.name in CROP:
        info["cropped"] = True
    return {f"{case.name}/{name}": array for name, array in tensors.items()}, info


def generate():
    from onnx.backend.test.case.node import collect_testcases

    cases = {case.name: case for case in collect_testcases(None)}
    total = 0
    for old in FOLDER.glob("*.safetensors"):
        old.unlink()
    for op, classes in json.loads((FOLDER / "cases.json").read_text()).items():
        tensors, metadata = {}, {}
        for kind, names in classes.items():
            for name in names:
                arrays, info = convert(op, kind, cases[name])
                for key, array in arrays.items():
                    if "/input." in key and array.dtype != np.float32:
                        print(f"{key}: stays an input of {array.dtype}")
                tensors.update(arrays)
                metadata[name] = json.dumps(info)
        path = FOLDER / f"{op}.safetensors"
        write_safetensors(path, tensors, metadata)
        total += path.stat().st_size
    print(f"{total} bytes")


def verify():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    good, bad = 0, 0
    for path in sorted(FOLDER.glob("*.safetensors")):
        tensors, metadata = read_safetensors(path)
        for name, info in metadata.items():
            info = json.loads(info)
            own = {key.split("/", 1)[1]: array for key, array in tensors.items() if key.split("/", 1)[0] == name}
            feeds = {key.split(".", 2)[2]: array for key, array in own.items() if key.startswith("input.")}
            wanted = sorted((int(key.split(".")[1]), array) for key, array in own.items() if key.startswith("output."))
            try:
                session = onnxruntime.InferenceSession(own["model"].tobytes(), options, providers=["CPUExecutionProvider"])
                for (_, want), got in zip(wanted, session.run(None, feeds), strict=True):
                    np.testing.assert_allclose(got, want, rtol=info["rtol"], atol=info["atol"])
                    assert got.dtype == want.dtype and got.shape == want.shape
                good += 1
            except Exception as error:  # Any failure is reported with its case.
                bad += 1
                reason = " ".join(str(error).split())
                print(f"{name}: {reason[:200]}")
    print(f"{good} cases agree with ONNX Runtime, {bad} do not")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verify", action="store_true", help="run the written files in ONNX Runtime; list the cases that differ")
    arguments = parser.parse_args()
    # Some of onnx's reference implementations overflow on purpose.
    warnings.filterwarnings("ignore")
    if arguments.verify:
        sys.exit(1 if verify() else 0)
    generate()


if __name__ == "__main__":
    main()
