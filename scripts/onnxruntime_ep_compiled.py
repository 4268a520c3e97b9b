"""Compiled models (EPContext), for scripts/onnxruntime_ep.py."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

from onnxruntime_sessions import EP, LIMIT, MIXES, cpu, logged, model_of, refused, relative_l2, session, small


def compile_to(path, model, embed, entries=(), fallback=False, **options):
    """Writes the compiled model by a session's entries."""
    entries = {"ep.context_enable": "1", "ep.context_file_path": str(path), "ep.context_embed_mode": str(embed)} | dict(entries)
    return session(model, fallback, entries=entries, **options)


def nodes_of(path):
    graph = onnx.load(path, load_external_data=False).graph
    return [{a.name: helper.get_attribute_value(a) for a in n.attribute} | {"node": n} for n in graph.node]


def changed(path, to, **attributes):
    """A compiled model with other attributes of its node."""
    model = onnx.load(path)
    (node,) = model.graph.node
    kept = [a for a in node.attribute if a.name not in attributes]
    del node.attribute[:]
    node.attribute.extend(kept + [helper.make_attribute(name, value) for name, value in attributes.items() if value is not None])
    onnx.save(model, to)
    return to


def compiled():
    image = np.random.default_rng(0).standard_normal((2, 3, 16, 16), np.float32)
    model = small(2)
    # The results of each way: a session measures anew, and plans that differ may round differently.
    wants = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        onnx.save(model, folder / "small.onnx")
        for embed in (0, 1):
            path = folder / f"compiled{embed}.onnx"
            wants += compile_to(path, str(folder / "small.onnx"), embed, threads=1).run(None, {"image": image})
            (node,) = nodes_of(path)
            assert (node["node"].op_type, node["node"].domain) == ("EPContext", "com.microsoft")
            assert (node["embed_mode"], node["main_context"], node["source"]) == (embed, 1, EP.encode()), node
            assert node["partition_name"].decode() == node["node"].name
            assert embed or node["ep_cache_context"] == b"compiled0_0.plan"
            for given in ({}, {"map_plans": 1})[: 2 - embed]:
                ours, log = logged(lambda path=path, given=given: session(str(path), severity=1, threads=1, **given))
                assert "read with the compiled model" in log and "WARNING" not in log, log
                assert np.array_equal(ours.run(None, {"image": image})[0], wants[embed]), "other bits"
            print(f"  embed_mode {embed}: {path.stat().st_size} bytes, the same bits")
        plan, path = folder / "compiled0_0.plan", folder / "compiled0.onnx"
        # From memory: with the path that the model would have.
        content = path.read_bytes()
        refused(lambda: session(content, threads=1), "`compiled0_0.plan`", "`ep.context_file_path`")
        ours = session(content, threads=1, entries={"ep.context_file_path": str(path)})
        assert np.array_equal(ours.run(None, {"image": image})[0], wants[0])
        ours = session((folder / "compiled1.onnx").read_bytes(), threads=1)
        assert np.array_equal(ours.run(None, {"image": image})[0], wants[1])
        refused(lambda: ours.run(None, {"image": image[:1]}), "image")
        misfits(folder, plan, path)
        if MIXES:
            several(folder)
        sizes(folder)
        # ONNX Runtime's own way to compile, into a model in memory.
        config = ort.SessionOptions()
        config.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == EP], {"threads": "1"})
        inside = ort.ModelCompiler(config, str(folder / "small.onnx"), embed_compiled_data_into_model=True).compile_to_bytes()
        (got,) = session(inside, threads=1).run(None, {"image": image})
        assert relative_l2(got, wants[0]) <= LIMIT
        print("  `onnxruntime.ModelCompiler` makes such models too")


def for_older_machine(model, path):
    """Compiles a model as on a machine with older instructions."""
    library = next(argument for argument in sys.argv if argument.endswith(".so"))
    program = f"""
import onnxruntime as ort
from onnxruntime_ep_compiled import compile_to
ort.register_execution_provider_library("blocktensor", {library!r})
compile_to({str(path)!r}, {str(model)!r}, 1, threads=1)
"""
    # In front of what the caller has there: its onnxruntime may be among them.
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    older = {"ONEDNN_MAX_CPU_ISA": "AVX2", "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | older)


def misfits(folder, plan, path):
    """Compiled models that cannot run here, refused by name."""
    texts = []
    node = nodes_of(path)[0]["node"].name
    other = str(folder / "other.onnx")
    for attributes, parts in [
        ({"source": "QNNExecutionProvider"}, ["the provider `QNNExecutionProvider`"]),
        ({"source": None}, ["`source`"]),
        ({"main_context": 0}, ["`main_context`"]),
        ({"ep_cache_context": "../compiled0_0.plan"}, ["`../compiled0_0.plan`", "model's folder"]),
        ({"ep_cache_context": "missing.plan"}, ["`missing.plan`"]),
        ({"ep_cache_context": None}, ["`ep_cache_context`", "compile the model again"]),
        ({"embed_mode": 1}, ["compile the model again"]),
    ]:
        changed(path, other, **attributes)
        texts.append(refused(lambda: session(other, threads=1), f"node `{node}`", *parts))
    text = str(path)
    texts.append(refused(lambda: session(text, threads=2), f"node `{node}`", "option `threads` to 1", "compile the model again here"))
    texts.append(refused(lambda: session(str(folder / "compiled1.onnx"), threads=1, map_plans=1), "option `map_plans`"))
    texts.append(refused(lambda: compile_to(folder / "again.onnx", text, 0, threads=1), "compiled already"))
    # Another machine, another version of the format, damage in the header and in the weights.
    old = folder / "old.onnx"
    for_older_machine(folder / "small.onnx", old)
    texts.append(refused(lambda: session(str(old), threads=1), "isa avx2", "compile the model again here"))
    content = plan.read_bytes()
    version = content.index(b'"format_version":"3"') + 18
    for place, part in [(version, "format version"), (content.index(b'"isa"') + 8, "header has changed"), (len(content) - 2000, "has changed")]:
        damaged = bytearray(content)
        damaged[place] ^= 1
        plan.write_bytes(damaged)
        for mapped in (0, 1):
            texts.append(refused(lambda mapped=mapped: session(text, threads=1, map_plans=mapped), f"node `{node}`", part, "compile the model again"))
    plan.write_bytes(content)
    _, log = logged(lambda: session(text, severity=2, threads=1, layouts="nhwc"))
    assert "without effect are `layouts`" in log, log
    print("  refused by name:\n    " + "\n    ".join(t.splitlines()[0][:260] for t in texts))


def several(folder):
    """Two fused nodes around one of the CPU provider."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "before"),
        helper.make_node("Det", ["a"], ["b"], "determinant"),
        helper.make_node("Exp", ["b"], ["y"], "after"),
    ]
    F32 = TensorProto.FLOAT
    model = model_of(nodes, [("x", F32, [4, 3, 3])], [("y", F32, [4])])
    x = {"x": np.random.default_rng(0).standard_normal((4, 3, 3), np.float32)}
    (want,) = cpu(model).run(None, x)
    for embed in (0, 1):
        path = folder / f"several{embed}.onnx"
        compile_to(path, model, embed, fallback=True, partial=1)
        assert [n["node"].op_type for n in nodes_of(path)] == ["EPContext", "Det", "EPContext"]
        (got,) = session(str(path), fallback=True, partial=1).run(None, x)
        assert np.allclose(got, want, rtol=1e-5)
        refused(lambda path=path: session(str(path)), "`determinant`")
    first, second = sorted(folder.glob("several*.plan"))
    assert [first.name, second.name] == ["several0_0.plan", "several0_1.plan"]
    # Files that were exchanged are others.
    one, other = first.read_bytes(), second.read_bytes()
    for swapped in ((other, one), (one, one)):
        first.write_bytes(swapped[0])
        second.write_bytes(swapped[1])
        for mapped in (0, 1):
            refused(lambda mapped=mapped: session(str(folder / "several0.onnx"), fallback=True, partial=1, map_plans=mapped), "is another plan than", "`notes`")
    second.write_bytes(other)
    (got,) = session(str(folder / "several0.onnx"), fallback=True, partial=1).run(None, x)
    assert np.allclose(got, want, rtol=1e-5)
    print("  two fused nodes and one of the CPU provider: right")


def sizes(folder):
    """Sizes without numbers: a compiled model has one plan."""
    image = {"image": np.random.default_rng(1).standard_normal((2, 3, 16, 16), np.float32)}
    for given in ({}, {"sizes": "batch=1;batch=2"}):
        text = refused(lambda given=given: compile_to(folder / "sizes.onnx", small(), 1, **given), "`ep.context_enable`", "`batch`", "`sizes`")
    compile_to(folder / "sizes.onnx", small(), 1, sizes="batch=2")
    ours = session(str(folder / "sizes.onnx"))
    assert relative_l2(ours.run(None, image)[0], cpu(small()).run(None, image)[0]) <= LIMIT
    other = {"image": image["image"][:1]}
    refused(lambda: ours.run(None, other), "image")
    print("  sizes without numbers:\n    " + text.splitlines()[0])
