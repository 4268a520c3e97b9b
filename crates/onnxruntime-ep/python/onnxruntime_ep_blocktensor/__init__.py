"""blocktensor as an execution provider of ONNX Runtime (1.23 or newer, which is installed apart).

    import onnxruntime_ep_blocktensor as blocktensor
    session = blocktensor.session("model.onnx", threads=2)

Programs that make sessions themselves register `get_library_path()` once, and ask for `get_ep_name()`.
"""

import os
import threading
from pathlib import Path
from typing import Any

__all__ = ["get_ep_name", "get_ep_names", "get_library_path", "session"]

_NAME = "BlocktensorExecutionProvider"
_LIBRARY = "libonnxruntime_ep_blocktensor.so"
_REGISTERING = threading.Lock()


def get_library_path() -> str:
    """The path for `onnxruntime.register_execution_provider_library`."""
    return str(Path(__file__).with_name(_LIBRARY))


def get_ep_name() -> str:
    """The provider's name."""
    return _NAME


def get_ep_names() -> list[str]:
    """The names of all providers in the library: one."""
    return [_NAME]


def session(model: str | os.PathLike[str] | bytes, session_options: Any = None, **options: object) -> Any:
    """An `onnxruntime.InferenceSession` that runs the model with the provider.

    `model` is a path or a model's bytes, `options` are the provider's: `threads=2`, `partial=True`.

    The library is registered if it is not yet. Without `partial` no node runs elsewhere: ONNX Runtime's fallback to its CPU provider
    is off. ONNX Runtime's own threads have nothing to do then, so it gets one. `session_options` are yours instead, an
    `onnxruntime.SessionOptions`: the provider is added to them, and nothing else is changed. They are for one session: ONNX Runtime
    adds a provider to an object once.
    """
    import onnxruntime as ort

    given = {name: _text(value) for name, value in options.items()}
    if session_options is None:
        session_options = ort.SessionOptions()
        if given.get("partial", "0") == "0":
            session_options.intra_op_num_threads = 1
            session_options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session_options.add_provider_for_devices(_devices(ort), given)
    try:
        return ort.InferenceSession(model if isinstance(model, bytes) else os.fspath(model), session_options)
    except Exception as e:
        if f"{_NAME} has already been registered" not in str(e):
            raise
        raise ValueError("`session_options` have this provider from an earlier session; pass new ones for each session") from e


def _text(value: object) -> str:
    """An option as ONNX Runtime takes it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _devices(ort: Any) -> list[Any]:
    """The provider's devices: one, the CPU."""

    def known() -> list[Any]:
        return [device for device in ort.get_ep_devices() if device.ep_name == _NAME]

    if not hasattr(ort, "get_ep_devices"):
        raise RuntimeError(f"{_NAME} needs onnxruntime 1.23 or newer, and this is {ort.__version__}; install a newer one")
    with _REGISTERING:
        # The program may have registered it under any name.
        if not known():
            ort.register_execution_provider_library(_NAME, get_library_path())
        return known()
