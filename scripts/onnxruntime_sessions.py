"""Sessions, small models, and what they say: for scripts/onnxruntime_ep.py."""

import os
import tempfile

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

EP = "BlocktensorExecutionProvider"
LIMIT = 3e-5
#: Whether this version of ONNX Runtime runs models with nodes of several providers.
MIXES = ort.__version__ != "1.23.0"


def relative_l2(got, want):
    """The L2 norm of the difference, relative to that of `want`."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"shapes {got.shape} and {want.shape}"
    norm = np.linalg.norm(want)
    return float(np.linalg.norm(got - want) / norm) if norm else float(np.linalg.norm(got))


def session(model, fallback=False, severity=4, entries=(), profile=None, **options):
    """A session of the provider. Without `fallback` it is an error if the CPU provider gets a node. `entries` are the session's; `profile`
    is how the file of its profile begins."""
    config = ort.SessionOptions()
    config.intra_op_num_threads = 1
    config.log_severity_level = severity
    if profile:
        config.enable_profiling, config.profile_file_prefix = True, profile
    if not fallback:
        config.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    for key, value in dict(entries).items():
        config.add_session_config_entry(key, value)
    devices = [device for device in ort.get_ep_devices() if device.ep_name == EP]
    assert len(devices) == 1, devices
    config.add_provider_for_devices(devices, {name: str(value) for name, value in options.items()})
    return ort.InferenceSession(model if isinstance(model, (str, bytes)) else model.SerializeToString(), config)


def cpu(model):
    config = ort.SessionOptions()
    config.log_severity_level = 4
    model = model if isinstance(model, (str, bytes)) else model.SerializeToString()
    return ort.InferenceSession(model, config, providers=["CPUExecutionProvider"])


def model_of(nodes, inputs, outputs, constants=(), opset=17):
    """A model of nodes; a value is (name, type, shape)."""
    values = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, "graph", *values, [numpy_helper.from_array(a, name) for name, a in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def refused(make, *parts):
    """Calls `make`, which must fail with a text that has all the parts."""
    try:
        make()
    except Exception as e:
        text = str(e)
        assert all(part in text for part in parts), f"{parts} are not in: {text}"
        return text
    raise AssertionError(f"no error with {parts}")


def logged(make):
    """The result of `make`, and what was written to the log meanwhile."""
    with tempfile.TemporaryFile() as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            made = make()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        log.seek(0)
        return made, log.read().decode()


def small(batch="batch"):
    """Two convolutions and a linear layer, of a batch without a number."""
    rng = np.random.default_rng(0)
    constants = [
        ("w1", rng.standard_normal((32, 3, 3, 3), np.float32) * 0.2),
        ("w2", rng.standard_normal((32, 32, 3, 3), np.float32) * 0.1),
        ("w3", rng.standard_normal((32, 10), np.float32) * 0.2),
    ]
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], "conv1", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], "relu1"),
        helper.make_node("Conv", ["b", "w2"], ["c"], "conv2", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["d"], "relu2"),
        helper.make_node("GlobalAveragePool", ["d"], ["e"], "pool"),
        helper.make_node("Flatten", ["e"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "w3"], ["logits"], "linear"),
    ]
    ends = [("image", TensorProto.FLOAT, [batch, 3, 16, 16])], [("logits", TensorProto.FLOAT, [batch, 10])]
    return model_of(nodes, *ends, constants)
