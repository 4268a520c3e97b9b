#!/usr/bin/env python3
"""Which of timm's families run with `blocktensor.torch`: one small model of each, with random weights.

    python scripts/timm_families.py [--only FAMILY ...] [--layouts NAME] [--json FILE]

Prints a Markdown table with what `btt.to_blocked` and `torch.compile(backend="blocktensor")` make of each model: the relative L2
error against PyTorch in f32, or the reasons. Each model has a process of its own. Writes the same as JSON.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

#: Words of small models' names, smallest first.
SMALL = "test atto femto pico zepto nano xxtiny xxt xtiny xt tiny xxs xx_small xs x_small xsmall mini small lite 050 s m".split()
#: Models of a family that are made, without memory, to find the smallest.
TRIED = 8


def families():
    import timm

    return timm.list_modules()


def smallest(family):
    """The name of a small model of a family."""
    import timm
    import torch

    # Small models of timm's own tests are no architectures.
    names = [name for name in timm.list_models(module=family) if not name.startswith("test_")]

    def rank(name):
        words = name.split("_")
        return min((i for i, word in enumerate(SMALL) if word in words or ("_" in word and word in name)), default=len(SMALL)), name

    sizes = {}
    for name in sorted(names, key=rank)[:TRIED]:
        with contextlib.suppress(Exception), torch.device("meta"):
            sizes[name] = sum(x.numel() for x in timm.create_model(name).parameters())
    # A family whose models cannot be made without memory.
    return min(sizes, key=sizes.get) if sizes else sorted(names, key=rank)[0] if names else None


def make(name):
    import timm
    import torch
    from python_models import as_trained

    torch.manual_seed(24)
    model = as_trained(timm.create_model(name, pretrained=False))
    return model, torch.randn(1, *model.pretrained_cfg.get("input_size", (3, 224, 224)))


def error(y, wanted):
    import torch

    pairs = zip(torch.utils._pytree.tree_leaves(y), torch.utils._pytree.tree_leaves(wanted), strict=True)
    return max(float((a.double() - b.double()).norm() / b.double().norm()) for a, b in pairs if isinstance(b, torch.Tensor))


def reasons(e):
    """The calls that cannot run, each reason once; or the error's own line."""
    missing = getattr(e, "missing", None)
    if missing:
        return [f"{call}: {reason}" for call, reason in dict.fromkeys((call, reason) for _, call, reason in missing)]
    return [f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"]


def one(family, layouts):
    """What both make of a family's model."""
    import blocktensor.torch as btt
    import torch

    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    name = smallest(family)
    if name is None:
        return {"family": family, "model": "-", "to_blocked": {"reasons": ["it has no models"]}, "compile": {"reasons": []}}
    model, x = make(name)
    wanted = model(x)
    found = {"family": family, "model": name, "parameters": sum(p.numel() for p in model.parameters())}

    def tried(run):
        try:
            y, more = run()
            return {"error": error(y, wanted), **more}
        except Exception as e:
            return {"reasons": reasons(e)}

    def to_blocked():
        fast = btt.to_blocked(model, x, layouts=layouts)
        return fast(x), {"reorders": len(fast.plan.reorders)}

    def compiled():
        fast = torch.compile(model, backend="blocktensor", options={"layouts": layouts})
        y = fast(x)
        return y, {"graphs": len(btt.compiled_graphs(model))}

    return found | {"to_blocked": tried(to_blocked), "compile": tried(compiled)}


def cell(own, key, what):
    if "error" in own:
        count = own[key]
        return f"{own['error']:.0e}, {count} {what}{'' if count == 1 else 's'}"
    return "; ".join(own["reasons"]).replace("|", "\\|") or "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--layouts", default="blocked", help="`measured` takes longer")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for each family")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "blocktensor"
    parser.add_argument("--json", default=str(cache / "timm_families.json"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one, options.layouts)))
        return
    print("| family | model | parameters, M | `to_blocked` | `torch.compile` |\n|---|---|--:|---|---|", flush=True)
    results = []
    for family in options.only or families():
        command = [sys.executable, __file__, "--one", family, "--layouts", options.layouts]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
            last = (ran.stderr.strip().splitlines() or ["it ended"])[-1][:200]
            found = json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else {"failed": last}
        except subprocess.TimeoutExpired:
            found = {"failed": f"it takes more than {options.timeout} s"}
        if "failed" in found:
            found = {"family": family, "model": "-", "to_blocked": {"reasons": [found["failed"]]}, "compile": {"reasons": []}}
        results.append(found)
        columns = [cell(found["to_blocked"], "reorders", "reorder"), cell(found["compile"], "graphs", "graph")]
        millions = f"{found['parameters'] / 1e6:.1f}" if "parameters" in found else "-"
        print(f"| {family} | {found['model']} | {millions} | {' | '.join(columns)} |", flush=True)
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    for way in ("to_blocked", "compile"):
        print(f"\n`{way}`: {sum('error' in found[way] for found in results)} of {len(results)} families run")
        left = Counter(reason for found in results for reason in found[way].get("reasons", []))
        for reason, count in left.most_common():
            print(f"- {count}: {reason}")
    print(f"\n{options.json}")


if __name__ == "__main__":
    main()
