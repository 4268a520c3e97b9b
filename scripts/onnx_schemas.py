"""Writes crates/onnx/src/ops/schemas.txt: which inputs, outputs and attributes ONNX's ops have in each operator set that is read.

Run it with the Python package onnx: python scripts/onnx_schemas.py
"""

import pathlib

import onnx.defs

OLDEST, NEWEST = 11, 25
# Ops with a deprecated definition that runtimes still run: with a scale for each group, in versions 18 to 20.
DEPRECATED = ["GroupNormalization"]
HEADER = """\
# Written by scripts/onnx_schemas.py from the Python package onnx. A line for each definition of an op that versions {} to {}
# of ONNX's operator set use: op, the version that it came with, inputs, outputs, attributes.
# Inputs and outputs, one after another: s is required, o may be left out, v is a list of one or more, w one of any length.
# Attributes: name:type, with ! if it is required.
# Before them, the types of each input: a letter for each type that it may have. Inputs that have one type have one name for it,
# and the letters stand where the name comes first. F f32, B bool, a b i l i8 to i64, A D I L u8 to u64; * is any.
"""

LETTERS = {
    "float": "F", "bool": "B", "int8": "a", "int16": "b", "int32": "i", "int64": "l",
    "uint8": "A", "uint16": "D", "uint32": "I", "uint64": "L",
}  # fmt: skip


def parameters(formal, least):
    letters = ""
    for i, parameter in enumerate(formal):
        kind = parameter.option.name
        if kind == "Variadic":
            letters += "v" if least > i else "w"
        else:
            letters += {"Single": "s", "Optional": "o"}[kind]
    return letters or "-"


def letters(types):
    names = [t.removeprefix("tensor(").removesuffix(")") for t in types if t.startswith("tensor(")]
    chosen = "".join(letter for name, letter in LETTERS.items() if name in names)
    return "*" if len(chosen) == len(LETTERS) else chosen


def types(schema):
    allowed = {c.type_param_str: letters(c.allowed_type_strs) for c in schema.type_constraints}
    parts, seen = [], set()
    for parameter in schema.inputs:
        name = parameter.type_str
        if name not in allowed:
            parts.append("=" + (letters([name]) or "-"))
        elif parameter.option.name == "Variadic" and not parameter.is_homogeneous:
            parts.append("=" + allowed[name])
        else:
            parts.append(name if name in seen else f"{name}={allowed[name] or '-'}")
            seen.add(name)
    return ",".join(parts) or "-"


def line(schema):
    inputs = parameters(schema.inputs, schema.min_input)
    outputs = parameters(schema.outputs, schema.min_output)
    attributes = sorted(
        f"{a.name}:{a.type.name}{'!' if a.required else ''}" for a in schema.attributes.values()
    )
    return " ".join([inputs, outputs, types(schema), *attributes])


def main():
    ops = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain != "" or schema.since_version > NEWEST:
            continue
        if not schema.deprecated or schema.name in DEPRECATED:
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
