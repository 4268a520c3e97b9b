#!/usr/bin/env python3
"""Writes blocktensor/ops.py: one function for each op of the registry, with its documentation.

    python scripts/python_ops.py          # writes the file
    python scripts/python_ops.py --check  # fails if the file is not what this would write

Run it in an environment in which the package is installed (`make python` has one). Signatures come from the schemas,
documentation from the comments of the typed functions in src/ops, examples are run.
"""

import contextlib
import io
import keyword
import re
import sys
from pathlib import Path

from blocktensor import _native

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "crates/python/python/blocktensor/ops.py"
WIDTH = 110

TYPES = {
    "tensor": "TensorLike",
    "param": "TensorLike",
    "plain": "TensorLike",
    "optional tensor": "TensorLike | None",
    "optional param": "TensorLike | None",
    "tensors": "Sequence[TensorLike]",
    "params": "Sequence[TensorLike] | None",
    "int": "int",
    "ints": "int | Sequence[int]",
    "float": "float",
    "bool": "bool",
    "str": "str",
}
DEFAULTS = {"optional tensor", "optional param", "params"}

X, W, V = "x = bt.zeros([1, 16, 4, 4])", "w = bt.zeros([8, 16, 3, 3])", "v = bt.zeros([16])"
#: A scale and a zero point.
PAIR = ("s = bt.ops.exp(bt.zeros([1]))", 'z = bt.zeros([1], dtype="s32")')
#: Examples that the signature alone does not give: statements, and the call.
EXAMPLES = {
    "batch_norm": ([X, V], "batch_norm(x, v, v)"),
    "batch_norm_train": ([X, V], "batch_norm_train(x, v, v, v, v)"),
    "group_norm": ([X], "group_norm(x, groups=4)"),
    "layer_norm": ([X], "layer_norm(x, normalized_shape=[4])"),
    "where": ([X, 'c = bt.zeros([1, 16, 4, 4], dtype="u8")'], "where(c, x, x)"),
    "quantize": ([X, *PAIR], "quantize(x, s, z)"),
    "dequantize": (['x = bt.zeros([1, 16, 4, 4], dtype="u8")', *PAIR], "dequantize(x, s, z)"),
    "requantize": (
        ['x = bt.zeros([1, 16, 4, 4], dtype="s32")', *PAIR], "requantize(x, s, z, s, z)"
    ),
    **{
        f"quantized_{name}": (['a = bt.zeros([1, 16, 4, 4], dtype="u8")'], f"quantized_{name}(a, a, a_scale=0.5, dst_scale=0.5)")
        for name in ("add", "mul")
    },
    "quantized_avg_pool": (
        ['x = bt.zeros([1, 16, 4, 4], dtype="u8")'], "quantized_avg_pool(x, kernel=[2, 2], x_scale=0.5, dst_scale=0.5)"
    ),
    "lookup": (['x = bt.zeros([1, 16, 4, 4], dtype="u8")', 'v = bt.zeros([256], dtype="s8")'], "lookup(x, v)"),
    "prelu": ([X, V], "prelu(x, v)"),
    "add_channel": ([X, V], "add_channel(x, v)"),
    "mul_channel": ([X, V], "mul_channel(x, v)"),
    "grid_sample": ([X, "grid = bt.zeros([1, 2, 2, 2])"], "grid_sample(x, grid)"),
    "linear": (["x = bt.zeros([2, 16])", "w = bt.zeros([8, 16])"], "linear(x, w)"),
    "matmul": (["a = bt.zeros([2, 16])", "b = bt.zeros([16, 8])"], "matmul(a, b)"),
    "index_select": ([X, 'i = bt.zeros([3], dtype="s32")'], "index_select(x, i, axis=1)"),
    "gather": ([X, 'i = bt.zeros([1, 16, 4, 2], dtype="s32")'], "gather(x, i, axis=3)"),
    "cat": ([X], "cat([x, x], axis=1)"),
    "stack": ([X], "stack([x, x], axis=0)"),
    "reshape": ([X], "reshape(x, dims=[16, 16])"),
    "view": ([X], "view(x, dims=[16, 16])"),
    "pad": ([X], "pad(x, padding=[1, 1, 1, 1])"),
    "permute": ([X], "permute(x, axes=[0, 2, 3, 1])"),
    "flip": ([X], "flip(x, axes=[2, 3])"),
    "roll": ([X], "roll(x, shifts=1, axes=2)"),
    "split": ([X], "split(x, sizes=[8, 8], axis=1)"),
    "unsqueeze": ([X], "unsqueeze(x, axis=0)"),
    "squeeze": ([X], "squeeze(x, axis=0)"),
    "upsample_bilinear": ([X], "upsample_bilinear(x, output=[8, 8])"),
    "upsample_nearest": ([X], "upsample_nearest(x, scale_h=2.0, scale_w=2.0)"),
    "upsample_linear": (["x = bt.zeros([1, 16, 4])"], "upsample_linear(x, output=8)"),
    "upsample_trilinear": (["x = bt.zeros([1, 16, 4, 4, 4])"], "upsample_trilinear(x, output=[8, 8, 8])"),
    "expand": (["x = bt.zeros([1, 16, 1, 1])"], "expand(x, dims=[1, 16, 4, 4])"),
}
#: Values of parameters without a default, by name.
VALUES = {
    "kernel": "2", "size": "2", "output": "2", "dims": "[16, 16]", "axis": "1", "axes": "[0, 2, 3, 1]", "pads": "[1, 1]",
    "chunks": "2", "groups": "4", "factor": "2", "shifts": "1", "k": "2", "start": "0", "length": "2", "index": "0",
    "other": "2.0", "a": "1", "b": "2", "end": "2", "step": "1", "sizes": "[8, 8]", "repeats": "2", "out": "[8, 8]",
}


def comments() -> dict[str, str]:
    """The comment above each public function of src/ops."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "src/ops").rglob("*.rs")):
        lines = path.read_text().split("\n")
        for i, line in enumerate(lines):
            match = re.match(r"\s*pub fn (\w+)", line)
            if not match:
                continue
            above = []
            for before in reversed(lines[:i]):
                text = before.strip()
                if text.startswith("///"):
                    above.append(text[3:].removeprefix(" "))
                # The sections of `pointwise_docs!` are strings, which schemas have too.
                elif not text.startswith(("#[", '=> "', '"')):
                    break
            if above:
                found.setdefault(match[1], "\n".join(reversed(above)))
    return found


def paragraphs(comment: str) -> list[str]:
    """The comment's text for Python: no examples in Rust, no links."""
    comment = re.sub(r"```.*?```", "", comment, flags=re.S)
    comment = re.sub(r"\[(`[^`]*`)\]\([^)]*\)", r"\1", comment)
    comment = re.sub(r"\[(`[^`]*`)\]", r"\1", comment)
    comment = comment.replace("`OpaqueLayout`", "`OpaqueLayoutError`").replace("\\", "")
    return [p.strip() for p in re.split(r"\n\s*\n|(?=^# )", comment, flags=re.M) if p.strip()]


def wrapped(text: str, indent: str) -> list[str]:
    lines, line = [], indent
    for word in text.split():
        if len(line) + len(word) + 1 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += word + " "
    return [*lines, line.rstrip()]


def example(schema: dict) -> tuple[list[str], str]:
    name = schema["name"]
    if name in EXAMPLES:
        return EXAMPLES[name]
    rank = re.search(r"([123])d$", name)
    dims = [1, 16] + [4] * (int(rank[1]) if rank else 2)
    given, before = [], []
    for arg in schema["args"]:
        if arg["kind"] in ("tensor", "plain"):
            shape = dims if arg["name"] != "weights" else [8 if "transpose" not in name else 16, 16, *[3] * (len(dims) - 2)]
            before.append(f"{arg['name']} = bt.zeros({shape})")
            given.append(arg["name"])
        elif arg["kind"] == "param":
            before.append(f"{arg['name']} = bt.zeros([16])")
            given.append(arg["name"])
        elif arg["default"] is None and arg["kind"] not in DEFAULTS:
            given.append(f"{arg['name']}={VALUES.get(arg['name'], '1')}")
    return before, f"{name}({', '.join(given)})"


def run_example(schema: dict) -> list[str]:
    """The example with what it prints."""
    import blocktensor as bt

    before, call = example(schema)
    outputs = schema["outputs"]
    many = len(outputs) > 1 or (outputs and outputs[0][2])
    line = f"[y.shape for y in bt.ops.{call}]" if many else f"bt.ops.{call}.shape"
    scope: dict = {"bt": bt, "ops": None}

    class Ops:
        def __getattr__(self, name: str):
            arguments = [a["name"] for a in schema["args"]]

            def call(*args, **named):
                values = dict(zip(arguments, args, strict=False)) | named
                return _native.call(name, None, *[values.get(a) for a in arguments])

            return call

    line_here = line.replace("bt.ops.", "ops.")
    scope["ops"] = Ops()
    for statement in before:
        exec(statement, scope)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print(repr(eval(line_here, scope)))
    return [">>> import blocktensor as bt", *(f">>> {s}" for s in before), f">>> {line}", printed.getvalue().strip()]


def identifier(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def dtypes_of(arg: dict) -> str:
    """What the kernels of each key take for an operand, where the registry tells it; else what the schema says."""
    told = {key: ", ".join(names) for key, names in arg.get("kernels", {}).items()}
    if arg["dtypes"] == "any dtype" or not told:
        return arg["dtypes"] or "f32"
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return "; ".join(f"{names} ({key})" for key, names in told.items())


def function(schema: dict, comment: str) -> str:
    args, required = [], True
    for arg in schema["args"]:
        text = f"{identifier(arg['name'])}: {TYPES[arg['kind']]}"
        is_tensor = TYPES[arg["kind"]].startswith(("TensorLike", "Sequence"))
        default = arg["default"]
        if default is not None or arg["kind"] in DEFAULTS:
            if required and not is_tensor:
                args.append("*")
                required = False
            shown = None if arg["kind"] in DEFAULTS else default
            shown = list(shown) if isinstance(shown, (tuple, list)) else shown
            shown = shown[0] if isinstance(shown, list) and len(shown) == 1 else shown
            text += f" = {tuple(shown)!r}" if isinstance(shown, list) else f" = {shown!r}".replace("'", '"').replace("inf", 'float("inf")')
        elif required and not is_tensor:
            args.append("*")
            required = False
        args.append(text)
    if required:
        args.append("*")
    args.append("threads: int | None = None")
    outputs = schema["outputs"]
    if outputs and outputs[0][2] and len(outputs) == 1:
        result = "list[Tensor]"
    elif len(outputs) > 1:
        result = f"tuple[{', '.join(['Tensor'] * len(outputs))}]"
    else:
        result = "Tensor"
    name = schema["name"]
    lines = [f"def {name}("] + [f"    {a}," for a in args] + [f") -> {result}:"]
    indent = "    "
    body = paragraphs(comment) if comment else [f"The op `{name}`."]
    body = [p for p in body if not re.match(r"# (Layouts|Panics)", p)]
    doc: list[str] = []
    for i, paragraph in enumerate(body):
        heading = re.match(r"# (\w+)\n?", paragraph)
        if heading:
            doc += ["", f"{indent}{heading[1]}:"]
            paragraph = paragraph[heading.end():]
            doc += wrapped(paragraph, indent + "    ") if paragraph.strip() else []
        else:
            doc += ([""] if i else []) + wrapped(paragraph, indent)
    headings = {h[1] for p in body if (h := re.match(r"# (\w+)", p))}
    if "Shapes" not in headings:
        ranks = [f"{a['name']}: {a['ranks'] or 'any rank'}" for a in schema["args"] if a["kind"] in ("tensor", "plain", "tensors")]
        doc += ["", f"{indent}Shapes:"] + wrapped("; ".join(ranks) + ".", indent + "    ")
    if "Dtypes" not in headings:
        dtypes = [f"{a['name']}: {dtypes_of(a)}" for a in schema["args"] if a["kind"] in ("tensor", "plain", "tensors")]
        doc += ["", f"{indent}Dtypes:"] + wrapped("; ".join(dtypes) + ".", indent + "    ")
    if "Errors" not in headings:
        text = "`RankMismatch`, `ShapeMismatch`, `KeyMismatch` for operands that do not go together; `UnsupportedDType`; `InvalidArgument`."
        doc += ["", f"{indent}Errors:"] + wrapped(text, indent + "    ")
    doc += ["", f"{indent}Keys: {', '.join(schema['keys'])}.", "", *(indent + line for line in run_example(schema))]
    if doc and doc[0].strip():
        doc[0] = f'{indent}"""{doc[0].strip()}'
    lines += doc + [f'{indent}"""']
    names = ", ".join(identifier(a["name"]) for a in schema["args"])
    function = "_call_list" if result.startswith("list") else "_call"
    before, after = (f'_cast("{result}", ', ")") if result.startswith("tuple") else ("", "")
    call = f'{indent}return {before}{function}("{name}", threads, {names}){after}'
    if len(call) > WIDTH:
        inner = wrapped(f'"{name}", threads, {names},', indent * 2)
        call = "\n".join([f"{indent}return {before}{function}(", *inner, f"{indent}){after}"])
    return "\n".join([*lines, call])


HEAD = '''"""The ops, one function each. Written by scripts/python_ops.py from the library's own table of ops: do not edit.

Tensors are positional, parameters go by name. `threads` is the number of threads of the call. All data operands have the same
dispatch key; an op without a kernel for it raises `UnsupportedOp`, whose text says what to do.
"""

from collections.abc import Sequence
from typing import cast as _cast

from ._native import Tensor
from ._native import call as _call
from ._native import call_list as _call_list
from ._types import TensorLike
'''


def main() -> int:
    own = [s for s in _native.schemas() if s["keys"]]
    docs = comments()
    names = "\n".join(f'    "{s["name"]}",' for s in own)
    parts = [HEAD + f"\n__all__ = [\n{names}\n]", *(function(s, docs.get(s["name"], docs.get(f'{s["name"]}_', ""))) for s in own)]
    text = "\n\n\n".join(parts) + "\n"
    if "--check" in sys.argv:
        same = TARGET.read_text() == text
        print("ops.py is up to date" if same else "ops.py is not: run scripts/python_ops.py")
        return 0 if same else 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
