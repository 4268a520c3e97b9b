#!/usr/bin/env python3
"""Writes samples of PyTorch's OpInfo with PyTorch's answers: `python3 scripts/opinfo_samples.py --seed 22 --out tests/data/opinfo`.

It needs a Python environment with torch, numpy, expecttest. The same seed and the same PyTorch give the same files. Answers are
computed in float64 from the float32 inputs, and stored as float32; indices are stored as int32 and Booleans as uint8.

Every OpInfo in `opinfo_calls.MAPPERS` gives its samples, reference samples and error samples; `opinfo_tails.samples` adds channel counts
that OpInfo does not have. Samples that the ops here cannot be asked for are counted by reason, and the script prints the counts. From the
others it chooses: each choice covers as many features of samples (features()) as possible that no earlier one covers.
"""

import argparse
import collections
import json
import math
import random
import struct
import warnings
from pathlib import Path

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

import opinfo_calls_nn  # noqa: F401  registers mappers
import opinfo_tails
from opinfo_calls import MAPPERS, Call, Unmapped

# Bytes of the operands and results of one sample.
MAX_BYTES = 24_000
# How many samples of one OpInfo are looked at.
MAX_LOOKED_AT = 400
LIMIT = 5_000_000
# Tensors here have no higher rank.
MAX_RANK = 12


class Sample:
    def __init__(self, origin: str, name: str, call: Call, results, why=None):
        self.origin, self.name, self.call, self.results, self.why = origin, name, call, results, why
        kept = [t for t in results if t is not None]
        self.bytes = sum(t.numel() * t.element_size() for t in [*map(window, tensors_of(call)), *kept])
        self.features = features(call) | ({("refused", call.op)} if why else set())
        self.key = json.dumps(self.line("", lambda *_: None)) + str(self.bytes)

    def line(self, number, put):
        """The line of the index; `put` stores a tensor under a name."""
        id = f"{self.call.op}.{number}"
        line = {"sample": id, "op": self.call.op, "origin": self.origin, "opinfo": self.name, "tensors": {}}
        for name, value in self.call.tensors.items():
            if isinstance(value, list):
                line["tensors"][name] = [operand(f"{id}.{name}.{i}", t, put) for i, t in enumerate(value)]
            else:
                line["tensors"][name] = operand(f"{id}.{name}", value, put)
        line["params"] = {name: json_value(value) for name, value in self.call.params.items()}
        if self.why:
            line["refused"] = self.why
            return line
        line["results"] = []
        for i, t in enumerate(self.results):
            line["results"].append(None if t is None else list(t.shape))
            if t is not None:
                put(f"{id}.result.{i}", t.reshape(-1))
        return line


def json_value(value):
    """JSON has no NaN and no infinities: those are objects with a string."""
    return {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def tensors_of(call):
    for value in call.tensors.values():
        yield from value if isinstance(value, list) else [value]


def window(t):
    """The storage of a tensor from its first element to its last, 1-D."""
    if t.numel() == 0:
        return t.reshape(0)
    reach = sum((d - 1) * s for d, s in zip(t.shape, t.stride())) + 1
    return t.as_strided((reach,), (1,))


def operand(name, t, put):
    t = t.detach()
    t = t.to(torch.uint8) if t.dtype == torch.bool else t
    if t.dtype == torch.int64:
        t = t.to(torch.int32)
    put(name, window(t))
    plain = {"dims": list(t.shape)}
    return plain if t.is_contiguous() or t.numel() == 0 else {**plain, "strides": list(t.stride())}


def stride_class(t):
    if t.is_contiguous():
        return "row-major"
    if 0 in t.stride():
        return "expanded"
    for format in {4: [torch.channels_last], 5: [torch.channels_last_3d]}.get(t.dim(), []):
        if t.is_contiguous(memory_format=format):
            return "channels-last"
    return "permuted" if window(t).numel() == t.numel() else "gaps"


def features(call):
    """What a sample is like, as a set: samples are chosen so that together they have as many of these as possible."""
    op, found = call.op, set()

    def add(*what):
        found.add((op, *what))

    add("an op")
    for name, value in call.tensors.items():
        listed = value if isinstance(value, list) else [value]
        add(name, "count", min(len(listed), 4))
        for t in listed:
            add(name, "rank", t.dim())
            add(name, "strides", stride_class(t))
            if t.numel() == 0:
                add(name, "empty", tuple(i for i, d in enumerate(t.shape) if d == 0))
            if t.dim() in (3, 4, 5) and name not in ("weights", "grid", "index"):
                add(name, "channels", t.shape[1] if t.shape[1] in opinfo_tails.CHANNELS else "other")
            if t.dtype == torch.float32 and not t.isfinite().all():
                add(name, "special values", bool(t.isnan().any()))
    shapes = [tuple(t.shape) for t in tensors_of(call)]
    if len(set(shapes)) > 1 and len(shapes) == 2:
        longest = max(map(len, shapes))
        add("broadcast", tuple(tuple(min(d, 2) for d in s) for s in shapes), longest)
    add("parameters", tuple(sorted(call.params)))
    for name, value in call.params.items():
        if isinstance(value, list):
            add(name, "length", len(value), "signs", tuple(sorted({(v > 0) - (v < 0) for v in value})))
            add(name, "equal", len(set(value)) <= 1)
        elif isinstance(value, (bool, str)):
            add(name, value)
        elif isinstance(value, int):
            add(name, max(-3, min(value, 4)))
        else:
            add(name, (value > 0) - (value < 0), value == 1, math.isfinite(value))
    return found


def to_f64(value):
    if isinstance(value, torch.Tensor):
        return value.detach().double() if value.dtype == torch.float32 else value.detach()
    if isinstance(value, (list, tuple)):
        return type(value)(to_f64(v) for v in value) if type(value) in (list, tuple) else value
    return value


def as_list(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def stored(t):
    t = t.detach().resolve_conj()
    kinds = {torch.float64: torch.float32, torch.int64: torch.int32, torch.bool: torch.uint8}
    return t.to(kinds.get(t.dtype, t.dtype)).contiguous()


def well_conditioned(in_f32, in_f64):
    """Whether PyTorch's own answers in f32 are within a third of the tolerance that the tests have."""
    for a, b in zip(in_f32, in_f64):
        if a.dtype != torch.float32:
            if not torch.equal(a, b):
                return False
            continue
        finite = b[b.isfinite()]
        scale = finite.abs().max().item() if finite.numel() else 0.0
        if not torch.allclose(a, b, 3e-6, 3e-6 * scale, equal_nan=True):
            return False
    return True


def mapped(name, sample):
    """The calls of a sample. Raises Unmapped."""
    args = [sample.input, *sample.args]
    calls = []
    for mapper in MAPPERS[name]:
        try:
            calls.append(mapper(*args, **sample.kwargs))
        except (TypeError, AttributeError) as e:
            raise Unmapped(f"arguments that the mapper does not take: {e}") from e
    for call in calls:
        for argument, value in call.tensors.items():
            for t in value if isinstance(value, list) else [value]:
                if not isinstance(t, torch.Tensor):
                    raise Unmapped("a number or nothing where the op here takes a tensor")
                wanted = {"condition": torch.bool, "index": torch.int64}.get(argument, torch.float32)
                if t.dtype != wanted:
                    raise Unmapped(f"an operand of another dtype ({t.dtype})")
                if t.dim() > MAX_RANK:
                    raise Unmapped("a rank above 12")
                if t.layout != torch.strided:
                    raise Unmapped("an operand that is not strided")
    return calls


def run(function, sample, convert):
    args = [convert(sample.input), *[convert(a) for a in sample.args]]
    return as_list(function(*args, **{k: convert(v) for k, v in sample.kwargs.items()}))


def answered(origin, name, function, sample, reasons):
    """The samples that a sample of OpInfo gives."""
    for call in mapped(name, sample):
        if sum(window(t).numel() * 4 for t in tensors_of(call)) > MAX_BYTES:
            reasons["larger than a sample may be"] += 1
            continue
        keep = lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v  # noqa: E731
        if call.answer:
            in_f64, in_f32 = as_list(call.answer(to_f64)), as_list(call.answer(keep))
        else:
            in_f64, in_f32 = run(function, sample, to_f64), run(function, sample, keep)
        in_f64, in_f32 = [stored(t) for t in in_f64], [stored(t) for t in in_f32]
        if any(t.dtype not in (torch.float32, torch.int32, torch.uint8) for t in in_f64):
            reasons["a result of a dtype that is not here"] += 1
            continue
        results = [None if i in call.open_results else t for i, t in enumerate(in_f64)]
        compared = [i for i, t in enumerate(results) if t is not None]
        if not well_conditioned([in_f32[i] for i in compared], [in_f64[i] for i in compared]):
            reasons["PyTorch's answers in f32 and f64 differ by more than a third of the tolerance"] += 1
            continue
        sample_here = Sample(origin, name, call, results)
        if sample_here.bytes > MAX_BYTES:
            reasons["larger than a sample may be"] += 1
            continue
        yield sample_here


def collect(seed, reasons):
    """All samples that map."""
    infos = {op.name + (f"|{op.variant_test_name}" if op.variant_test_name else ""): op for op in op_db}
    for name in sorted(MAPPERS):
        if name.startswith("own."):
            continue
        op = infos.get(name)
        if op is None:
            raise SystemExit(f"this PyTorch has no OpInfo {name}")
        seed_all(seed, name)
        sources = [op.sample_inputs("cpu", torch.float32, requires_grad=False)]
        sources.append(op.reference_inputs("cpu", torch.float32, requires_grad=False))
        looked_at = 0
        for source in sources:
            for sample in source:
                looked_at += 1
                if looked_at > MAX_LOOKED_AT:
                    break
                try:
                    yield from answered("opinfo", name, op.op, sample, reasons)
                except Unmapped as e:
                    reasons[str(e)] += 1
        yield from refused(name, op, reasons)
    seed_all(seed, "own")
    for name, args, kwargs in opinfo_tails.samples():
        function = opinfo_tails.FUNCTIONS.get(name) or infos[name].op
        sample = SampleInput(args[0], args=tuple(args[1:]), kwargs=kwargs)
        yield from answered("own", name, function, sample, reasons)


def refused(name, op, reasons):
    """OpInfo's error samples that PyTorch refuses, and whose arguments can be passed here."""
    if op.error_inputs_func is None:
        return
    for error in op.error_inputs("cpu"):
        sample = error.sample_input
        try:
            calls = mapped(name, sample)
        except Unmapped as e:
            reasons[f"an error sample: {e}"] += 1
            continue
        try:
            run(op.op, sample, lambda v: v)
        except Exception as e:
            for call in calls:
                here = Sample("refused", name, call, [], str(e).splitlines()[0][:120])
                if here.bytes <= MAX_BYTES:
                    yield here
        else:
            reasons["an error sample that PyTorch takes on the CPU"] += 1


def seed_all(seed, name):
    number = seed * 1_000_003 + sum(map(ord, name))
    torch.manual_seed(number)
    numpy.random.seed(number % 2**32)
    random.seed(number)


def choose(samples, count, chance):
    """`count` samples that cover as many features as possible; small ones before large ones."""
    samples = [(s, chance.random()) for s in samples]
    covered, chosen = collections.Counter(), []
    while samples and len(chosen) < count:
        # A feature counts less each time it is covered.
        def worth(item):
            sample, luck = item
            return (sum(0.25 ** covered[f] for f in sample.features) / (1 + sample.bytes / 8000), luck)

        best = max(samples, key=worth)
        samples.remove(best)
        chosen.append(best[0])
        covered.update(best[0].features)
    return chosen


def write(folder, samples):
    lines, header, data, numbers = [], {}, bytearray(), collections.Counter()

    def put(name, t):
        raw = t.numpy().tobytes()
        kind = {torch.float32: "F32", torch.int32: "I32", torch.uint8: "U8"}[t.dtype]
        tensors.append((kind, name, t.numel(), raw))

    tensors = []
    for sample in samples:
        number, numbers[sample.call.op] = numbers[sample.call.op], numbers[sample.call.op] + 1
        lines.append(json.dumps(sample.line(number, put)))
    # Bytes last, so that the others stay aligned.
    for kind, name, elements, raw in sorted(tensors, key=lambda t: t[0] == "U8"):
        header[name] = {"dtype": kind, "shape": [elements], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "index.jsonl").write_text("\n".join(lines) + "\n")
    return sum(f.stat().st_size for f in folder.iterdir())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--opinfo", type=int, default=500, help="samples of OpInfo")
    parser.add_argument("--own", type=int, default=400, help="samples of our own")
    parser.add_argument("--refused", type=int, default=60, help="samples that PyTorch refuses")
    wanted = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    reasons, found = collections.Counter(), {}
    for sample in collect(wanted.seed, reasons):
        found.setdefault(sample.key, sample)
    chance, chosen = random.Random(wanted.seed), []
    for origin in ("opinfo", "own", "refused"):
        pool = [s for s in found.values() if s.origin == origin]
        taken = choose(pool, getattr(wanted, origin), chance)
        print(f"{origin}: {len(taken)} of {len(pool)} samples, {len({s.call.op for s in taken})} ops")
        chosen += taken
    size = write(wanted.out, sorted(chosen, key=lambda s: (s.call.op, s.origin)))
    print(f"{len(chosen)} samples, {len({s.call.op for s in chosen})} ops, {size} bytes; made with torch {torch.__version__}")
    print("left out:")
    for reason, count in reasons.most_common():
        print(f"  {count:6} {reason}")
    if size > LIMIT:
        raise SystemExit(f"{size} bytes are more than {LIMIT}")


if __name__ == "__main__":
    main()
