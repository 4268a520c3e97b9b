"""The installed package, with the installed onnxruntime."""

import os
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_ep_blocktensor as ep
import pytest
from onnx import helper

NAME = "onnxruntime-ep-blocktensor"


def model(op="Relu"):
    value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 2])
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], "node")], "graph", [value("x")], [value("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10).SerializeToString()


X = {"x": np.array([[-1, 2], [3, -4]], np.float32)}


def test_the_library_and_the_licences_are_in_the_package():
    path = Path(ep.get_library_path())
    assert path.is_file() and path.parent == Path(ep.__file__).parent
    licences = [file for file in metadata.files(NAME) if "licenses" in file.parts]
    assert {file.name for file in licences} == {"LICENSE-MIT", "LICENSE-APACHE", "THIRD_PARTY_NOTICES"}
    (notices,) = [file.read_text() for file in licences if file.name == "THIRD_PARTY_NOTICES"]
    assert "oneDNN (Apache-2.0)" in notices and "ort-sys" in notices
    assert metadata.requires(NAME) is None


def test_threads_that_ask_at_once_register_the_library_once():
    made = []
    threads = [threading.Thread(target=lambda: made.append(ep.session(model(), layouts="nchw"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert all(np.array_equal(each.run(None, X)[0], np.maximum(X["x"], 0)) for each in made)
    names = [device.ep_name for device in ort.get_ep_devices()]
    assert names.count(ep.get_ep_name()) == 1 and ep.get_ep_names() == [ep.get_ep_name()]


def test_session_options_are_for_one_session():
    options = ort.SessionOptions()
    ep.session(model(), options, layouts="nchw")
    with pytest.raises(ValueError, match="from an earlier session; pass new ones for each session"):
        ep.session(model(), options, layouts="nchw")


def test_models_are_paths_or_bytes_and_options_are_checked(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model())
    report = tmp_path / "plan.txt"
    session = ep.session(path, threads=1, exact=True, partial=False, layouts="nchw", report=report)
    assert session.get_providers()[0] == ep.get_ep_name()
    assert np.array_equal(session.run(None, X)[0], np.maximum(X["x"], 0))
    assert report.read_text().startswith("Plans of ")
    with pytest.raises(Exception, match="`thread`.*the options are layouts, .*threads"):
        ep.session(str(path), thread=1)


def test_nothing_falls_back_unless_partial_is_set():
    with pytest.raises(Exception, match="(?s)node `node`: Det"):
        ep.session(model("Det"))
    # Some other provider must have it: the option is not only passed on.
    options = ort.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="fallback"):
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        ep.session(model("Det"), options, partial=True)
    (found,) = ep.session(model("Det"), partial=True).run(None, X)
    assert np.isclose(found, np.linalg.det(X["x"]))


def test_session_options_of_the_program_stay_as_they_are():
    options = ort.SessionOptions()
    options.intra_op_num_threads = 3
    ep.session(model(), options, layouts="nchw").run(None, X)
    assert options.intra_op_num_threads == 3


def test_a_library_that_the_program_registered_is_used():
    program = f"""
import onnxruntime as ort, onnxruntime_ep_blocktensor as ep
ort.register_execution_provider_library("mine", ep.get_library_path())
ep.session({model()!r}, layouts="nchw")
assert [d.ep_name for d in ort.get_ep_devices()].count(ep.get_ep_name()) == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"BLOCKTENSOR_CACHE": "off"})
