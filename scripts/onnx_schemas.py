"""Writes crates/onnx/src/ops/schemas.txt: which inputs, outputs and attributes ONNX's ops have in each operator set that is read.

Run it with the Python package onnx: python scripts/onnx_schemas.py
"""

import pathlib

import onnx.defs

OLDEST, NEWEST = 11, 25
HEADER = """\
# Written by scripts/onnx_schemas.py from the Python package onnx. A line for each definition of an op that versions {} to {}
# of ONNX's operator set use: op, the version that it came with, inputs, outputs, attributes.
# Inputs and outputs, one after another: s is required, o may be left out, v is a list of one or more, w one of any length.
# Attributes: name:type, with ! if it is required.
"""


def parameters(formal, least):
    letters = ""
    for i, parameter in enumerate(formal):
        kind = parameter.option.name
        if kind == "Variadic":
            letters += "v" if least > i else "w"
        else:
            letters += {"Single": "s", "Optional": "o"}[kind]
    return letters or "-"


def line(schema):
    inputs = parameters(schema.inputs, schema.min_input)
    # Only the first outputs of some ops are required, though all are listed as such.
    outputs = parameters(schema.outputs, schema.min_output)
    attributes = sorted(
        f"{a.name}:{a.type.name}{'!' if a.required else ''}" for a in schema.attributes.values()
    )
    return " ".join([inputs, outputs, *attributes])


def main():
    ops = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= NEWEST and not schema.deprecated:
            ops.setdefault(schema.name, []).append(schema)
    lines = []
    for name, schemas in sorted(ops.items()):
        schemas.sort(key=lambda s: s.since_version)
        # The newest of those before the oldest version is in force there.
        first = max((i for i, s in enumerate(schemas) if s.since_version <= OLDEST), default=0)
        last = None
        for schema in schemas[first:]:
            text = line(schema)
            if text != last:
                lines.append(f"{name} {max(schema.since_version, OLDEST)} {text}")
            last = text
    path = pathlib.Path(__file__).parent.parent / "crates/onnx/src/ops/schemas.txt"
    path.write_text(HEADER.format(OLDEST, NEWEST) + "\n".join(lines) + "\n")
    print(f"{len(lines)} definitions of {len(ops)} ops in {path.name}")


main()
