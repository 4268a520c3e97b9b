"""What a model's code notices of a trace, and no graph shows: errors that only a trace raises, and text that is made of its stand-ins."""

import builtins
import dis
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

from .._errors import UnsupportedOp
from ._outside import LIBRARIES
from ._told import error, told

#: A place in the model's code, and the kind of error that reached it.
Place = tuple[CodeType, int, type[BaseException]]

#: Errors that PyTorch and Python raise in user classes while they look at them.
_USUAL = (AttributeError, ImportError, StopIteration, StopAsyncIteration, GeneratorExit)
#: Python's packages whose texts go into no result.
_OF_MESSAGES = {"logging", "warnings", "traceback"}
#: Modules of PyTorch that call a model's code, or stand between two functions of it (decorators, `checkpoint`).
_CALLERS = ("torch.utils.", "torch.autograd.", "torch.amp.", "torch._dynamo.eval_frame", "torch.fx.graph_module", "torch.fx.interpreter")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__") or "")


def _package(frame: FrameType) -> str:
    return _module(frame).split(".")[0]


def _is_of_a_model(frame: FrameType) -> bool:
    """Whether a module's `forward` runs the frame, and not PyTorch, which has libraries of its own."""
    if _package(frame) in LIBRARIES:
        return False
    above = frame.f_back
    while above is not None:
        if _module(above).startswith("torch.nn.modules."):
            return True
        if _package(above) == "torch" and not _module(above).startswith(_CALLERS):
            return False
        above = above.f_back
    return False


class Errors:
    """Records the errors that reach a model's code while it runs: those that it may catch."""

    def __init__(self) -> None:
        self.places: dict[Place, BaseException] = {}
        #: Code that ran, and that catches PyTorch's error of linear algebra where it is raised.
        self.catch_linalg: list[CodeType] = []
        self._seen: set[CodeType] = set()

    def __enter__(self) -> "Errors":
        # A debugger goes on.
        self._before: Any = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def caught(self, raised: BaseException | None = None) -> set[Place]:
        """Where errors went no further than the model's code: not the one that was raised in the end, nor what it was made of."""
        ended: list[BaseException] = []
        left = [raised]
        while left:
            e = left.pop()
            if e is not None and not any(e is one for one in ended):
                ended.append(e)
                left += [e.__cause__, e.__context__]
        return {place for place, e in self.places.items() if not any(e is one for one in ended)}

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        other = self._before(frame, event, arg) if self._before is not None else None
        if not _is_of_a_model(frame):
            return other
        if frame.f_code not in self._seen:
            self._seen.add(frame.f_code)
            if _catches(frame, torch.linalg.LinAlgError):  # pyright: ignore[reportPrivateImportUsage]
                self.catch_linalg.append(frame.f_code)
        if other is None:
            frame.f_trace_lines = False

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal other
            if event == "exception" and not issubclass(arg[0], _USUAL):
                self.places.setdefault((frame.f_code, frame.f_lineno, arg[0]), arg[1])
            other = other(frame, event, arg) if other is not None else None
            return local

        return local


def check_caught(traced: Errors, known: set[Place], last: set[Place], raised: BaseException | None = None) -> None:
    """Refuses a trace whose code caught an error that no run raises, or none where a run did: `last` is a run's, `known` all runs'.

    `raised` is the error that the trace ended with.
    """
    unknown = traced.caught(raised) - known
    for place in (one for one in traced.places if one in unknown):
        text = f"`forward` catches an error that a trace raises and a run does not ({told(traced.places[place])}), and goes on in another way"
        remedy = "leave what follows data (`if x.sum() > 0`, `float(x.sum())`) out of `try`: use `torch.where`, or `swap`"
        raise error(UnsupportedOp, text, remedy, op="torch.export") from None
    if raised is not None:
        return
    for code, line, kind in last - set(traced.places):
        # Other kinds are of what a program looks up once, and keeps.
        if issubclass(kind, RuntimeError):
            text = f"`forward` catches {kind.__name__.lstrip('_')} in line {line} of `{code.co_qualname}`, which depends on data"
            raise _depends_on_data(text)


def check_linalg(traced: Errors, calls: list[str]) -> None:
    """Refuses a model that catches PyTorch's error of linear algebra, if it makes such calls."""
    for code in traced.catch_linalg if calls else ():
        raise _depends_on_data(f"`{code.co_qualname}` of `forward` catches LinAlgError of `{calls[0]}`, which depends on data")


def raises_linalg(called: str) -> bool:
    """Whether a call of PyTorch, by its name in aten, raises `LinAlgError` for some data."""
    name = called.removeprefix("aten.").split(".")[0]
    return name.startswith(("linalg_", "inverse")) and not name.endswith("_ex")


def _catches(frame: FrameType, kind: type[BaseException]) -> bool:
    """Whether the frame's code has an `except` for this kind. What it names by a local variable counts as one."""
    code, found, before = frame.f_code, [], ""
    if "suppress" in code.co_names:
        return True
    for step in dis.get_instructions(code):
        op, name = step.opname, str(step.argval)
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            found.append(frame.f_globals.get(name, vars(builtins).get(name)))
        elif op == "LOAD_ATTR" and found:
            found[-1] = getattr(found[-1], name, None)
        elif op.startswith("LOAD_"):
            found.append(kind)
        elif op == "CHECK_EXC_MATCH" and any(_is_above(one, kind) for one in found):
            return True
        elif op == "POP_TOP" and before == "PUSH_EXC_INFO":
            # A bare `except`.
            return True
        elif op != "BUILD_TUPLE":
            found = []
        before = op
    return False


def _is_above(x: Any, kind: type[BaseException]) -> bool:
    return any(_is_above(one, kind) for one in x) if isinstance(x, tuple) else isinstance(x, type) and issubclass(kind, x)


def _depends_on_data(text: str) -> Exception:
    remedy = "a plan has no `except`: use `torch.linalg.inv_ex` and its kind with `torch.where`, move the parts around it, or use `swap`"
    return error(UnsupportedOp, text, remedy, op="torch.export")


class Texts:
    """Tells whether the program's code makes text of a number or tensor of a trace, as in `str(x.mean().item())`."""

    _CLASSES: tuple[type, ...] = (torch.SymInt, torch.SymFloat, torch.SymBool, torch.Tensor)

    def __init__(self) -> None:
        self._made = False
        self._prints = 0
        self._thread = threading.get_ident()
        self._originals: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> "Texts":
        for kind in self._CLASSES:
            for name in ("__repr__", "__format__"):
                if name in vars(kind):
                    self._put(kind, name, self._noting(vars(kind)[name]))
        self._put(builtins, "print", self._printing(builtins.print))
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, original in self._originals:
            setattr(owner, name, original)

    def _put(self, owner: Any, name: str, value: Any) -> None:
        self._originals.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def _noting(self, original: Callable[..., str]) -> Callable[..., str]:
        def noting(x: Any, *args: Any, **named: Any) -> str:
            # The frame is that of the code which asks: `str` and f-strings have none.
            if not self._made and not self._prints and _is_stand_in(x) and threading.get_ident() == self._thread:
                self._made = _asks_for_text(sys._getframe(1))
            return original(x, *args, **named)

        return noting

    def _printing(self, original: Callable[..., None]) -> Callable[..., None]:
        def printing(*args: Any, **named: Any) -> None:
            # What is printed goes into no result.
            self._prints += 1
            try:
                original(*args, **named)
            finally:
                self._prints -= 1

        return printing

    def check(self) -> None:
        if self._made:
            text = "`forward` makes text of a number or a tensor (`str(x.sum().item())`), which a graph would keep as it is for the example"
            remedy = "compare numbers in place of text, with `torch.where`, or use `swap`"
            raise error(UnsupportedOp, text, remedy, op="torch.export")


def _asks_for_text(frame: FrameType | None) -> bool:
    while frame is not None and _package(frame) in sys.stdlib_module_names:
        if _package(frame) in _OF_MESSAGES:
            return False
        frame = frame.f_back
    return frame is not None and _is_of_a_model(frame)


def _is_stand_in(x: Any) -> bool:
    return not isinstance(x, torch.Tensor) or isinstance(x, torch._subclasses.FakeTensor)
