"""The extension module. Private: the package's names are those of `blocktensor`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from ._errors import UnsupportedOp
from ._types import FilePath, TensorLike

__version__: str

class Tensor:
    """A tensor: sizes, a dtype, and strides or a layout. Its elements never change.

    Make one with `from_dlpack`, `zeros`, or an op. A blocked tensor has no strides, address, array or DLPack: asking for them
    is an `OpaqueLayoutError`, and `.to_strided()` is the way out.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def is_blocked(self) -> bool: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def data_ptr(self) -> int: ...
    def to_strided(self, format: str = "contiguous") -> Tensor: ...
    def to_blocked(self, layout: str | None = None) -> Tensor: ...
    def to_key(self, key: str) -> Tensor:
        """Reorders to a key that a program registered, with its function for that."""

    def contiguous(self, format: str = "contiguous") -> Tensor: ...
    def to_dtype(self, dtype: str) -> Tensor: ...
    def reshape(self, shape: int | Sequence[int]) -> Tensor: ...
    def as_blocks(self) -> Tensor: ...
    def quantized(self, scale: float | Iterable[float], zero_point: int | Iterable[int] = 0, axis: int | None = None) -> Tensor:
        """The same integers with scales and zero points: one of each, or one for each index of an axis."""

    @property
    def is_quantized(self) -> bool: ...
    @property
    def scale(self) -> float | tuple[float, ...] | None: ...
    @property
    def zero_point(self) -> int | tuple[int, ...] | None: ...
    @property
    def quantization_axis(self) -> int | None: ...
    def without_quantization(self) -> Tensor:
        """The same integers without scales and zero points."""

    def dequantized(self) -> Tensor:
        """The numbers that the integers stand for, in f32."""

    def numpy(self) -> NDArray[Any]: ...
    def item(self) -> float | int: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    # From `_compare.py`: element-wise, u8 of 0 and 1.
    def __eq__(self, other: TensorLike | float, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: TensorLike | float, /) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: TensorLike | float, /) -> Tensor: ...
    def __le__(self, other: TensorLike | float, /) -> Tensor: ...
    def __gt__(self, other: TensorLike | float, /) -> Tensor: ...
    def __ge__(self, other: TensorLike | float, /) -> Tensor: ...
    def __hash__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any) -> Tensor: ...
    def _repr_html_(self) -> str: ...

class Ledger:
    """The reorders and kernel runs of the calls in a `with` block: `with bt.record() as book`."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def reorders(self) -> list[dict[str, Any]]: ...
    @property
    def runs(self) -> list[dict[str, Any]]: ...
    def chrome_trace(self) -> str: ...
    def _repr_html_(self) -> str: ...

class Budget:
    """A limit on reorders for a `with` block."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> bool: ...

class Var(Tensor):
    """A tensor of a tape: calls of ops on it are recorded, and their results are such tensors too.

    Other calls would not be recorded, and are refused: pass `x.tensor` to them.
    """

    @property
    def tensor(self) -> Tensor:
        """The tensor alone: what is computed with it is not recorded."""

    def to_strided(self, format: str = "contiguous") -> Var: ...
    def to_blocked(self, layout: str | None = None) -> Var: ...
    def to_key(self, key: str) -> Var: ...
    def contiguous(self, format: str = "contiguous") -> Var: ...
    def to_dtype(self, dtype: str) -> Var: ...
    def reshape(self, shape: int | Sequence[int]) -> Var: ...

class Tape:
    """Records what ops do with its values, in a block: `with blocktensor.grad.record() as tape`."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> bool: ...
    def variable(self, x: TensorLike) -> Var:
        """A tensor whose gradient is wanted."""

    def constant(self, x: TensorLike) -> Var:
        """A tensor without a gradient. Ops take plain tensors as such too."""

    def backward(self, loss: Tensor, gradient: TensorLike | None = None, *, threads: int | None = None) -> Gradients:
        """The gradients of the variables, from a loss of one element, or from the `gradient` of any value of the tape.

        A tape runs back once. What a step saved is freed after its gradients are computed.

        Errors:
            `InvalidArgument` for a tensor that is no value of this tape, for one that depends on no variable, and for a tape that
            ran back; `ShapeMismatch`, `DTypeMismatch`, `KeyMismatch`, `LayoutMismatch` for a gradient that is not as its value:
            after these errors, call it again. The ops' own errors, such as `ReorderDenied`.
        """

class Gradients:
    """The gradients of a tape's variables."""

    def __getitem__(self, var: Tensor, /) -> Tensor:
        """The gradient of a variable. `InvalidArgument` if the result does not depend on it."""

    def get(self, var: Tensor) -> Tensor | None:
        """The gradient of a variable. `None` if the result does not depend on it."""

    def __contains__(self, var: Tensor, /) -> bool: ...

class SGD:
    """Stochastic gradient descent, as `torch.optim.SGD`: element-wise, in the layout of the weights."""

    def __init__(self, lr: float, *, momentum: float = 0.0, weight_decay: float = 0.0) -> None: ...
    @property
    def lr(self) -> float: ...
    @lr.setter
    def lr(self, lr: float, /) -> None: ...
    def step(self, weights: Mapping[str, TensorLike], gradients: Mapping[str, TensorLike | None]) -> dict[str, Tensor]:
        """The next weights. Weights without a gradient stay. After an error the optimiser is as it was."""

    def state_dict(self) -> dict[str, Tensor]:
        """The velocities, for saving: `NAME.velocity` for the weights `NAME`. `lr` is not among them."""

    def load_state_dict(self, state: Mapping[str, TensorLike]) -> None:
        """Goes on from what `state_dict` gave. A later `step` refuses weights that it has nothing of beside names that no weights have."""

class AdamW:
    """AdamW, as `torch.optim.AdamW`: element-wise, in the layout of the weights."""

    def __init__(
        self,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None: ...
    @property
    def lr(self) -> float: ...
    @lr.setter
    def lr(self, lr: float, /) -> None: ...
    def step(self, weights: Mapping[str, TensorLike], gradients: Mapping[str, TensorLike | None]) -> dict[str, Tensor]:
        """The next weights. Weights without a gradient stay. After an error the optimiser is as it was."""

    def state_dict(self) -> dict[str, Tensor]:
        """The running means, for saving: `NAME.steps`, `NAME.mean` and `NAME.square` for the weights `NAME`. `lr` is not among them."""

    def load_state_dict(self, state: Mapping[str, TensorLike]) -> None:
        """Goes on from what `state_dict` gave. A later `step` refuses weights that it has nothing of beside names that no weights have."""

def record_gradients() -> Tape:
    """A tape that records what ops do with its values, in a `with` block."""

def check_gradients(program: Callable[[Tape], Any]) -> list[UnsupportedOp]:
    """The errors of the ops of a program that have no gradient for the key of their operands; an empty list if there are none.

    `program` is called with a tape. Nothing is computed: ops are only described, and their results are zeros.
    """

def cross_entropy(x: TensorLike, target: TensorLike, *, threads: int | None = None) -> Tensor:
    """The mean over images and pixels of the cross entropy, as `torch.nn.functional.cross_entropy` with class indices.

    Shapes:
        x: [N, C, ...], logits; target: [N, ...]. The result has no dimensions.

    Dtypes:
        x: f32; target: integers. Computed in f64 and rounded once.

    Errors:
        `ShapeMismatch`, `DTypeMismatch`; `InvalidArgument` for a class that is not there; `UnsupportedOp` on blocked tensors.
    """

def mse_loss(x: TensorLike, target: TensorLike, *, threads: int | None = None) -> Tensor:
    """The mean of `(x - target)^2`, as `torch.nn.functional.mse_loss`.

    Shapes:
        x and target: the same sizes. The result has no dimensions.

    Dtypes:
        f32. Computed in f64 and rounded once.

    Errors:
        `ShapeMismatch`; `UnsupportedOp` on blocked tensors.
    """

def backward(
    op: str,
    /,
    *args: TensorLike | Sequence[TensorLike] | None,
    results: TensorLike | Sequence[TensorLike],
    diff_dst: TensorLike | Sequence[TensorLike | None],
    wanted: str | Sequence[str],
    threads: int | None = None,
    **params: Any,
) -> list[Tensor]:
    """The gradients of an op's tensors from those of its results, by the op's name.

    Tensors and parameters are those of the function `blocktensor.ops.<op>`: tensors by position or by name, parameters by name.
    `results` is what that call gave. `diff_dst` is the gradient of each result; `None` is zero. `wanted` names the tensors whose
    gradients are returned, in this order; a list such as that of `cat` has a gradient for each of its tensors.

    A gradient has the key of its tensor, and its layout or strides. A gradient in `diff_dst` has those of its result.

    Errors:
        `UnsupportedOp` for an op without a gradient for the key; `InvalidArgument` for a tensor that has none, for a name that is
        none, and for another number of results; `ShapeMismatch`, `DTypeMismatch`, `KeyMismatch`, `LayoutMismatch` for results and
        gradients that are not those of such a call.

    >>> import blocktensor as bt, numpy as np
    >>> x, w = np.ones((1, 16, 4, 4), np.float32), np.ones((8, 16, 3, 3), np.float32)
    >>> y = bt.ops.conv2d(x, w, padding=1)
    >>> dx, dw = bt.grad.backward("conv2d", x, w, results=y, diff_dst=bt.ops.sigmoid(y), wanted=["x", "weights"], padding=1)
    >>> dx.shape, dw.shape
    ((1, 16, 4, 4), (8, 16, 3, 3))
    """

class Model:
    """A model: inputs, outputs, and nodes in an order in which they can run."""

    def __init__(self) -> None: ...
    def input(self, name: str, shape: Sequence[int | str]) -> None: ...
    def constant(self, name: str, tensor: TensorLike) -> None:
        """Adds a constant: integers of u8, s8 or s32, or an f32 tensor, which all others become."""

    def op(
        self,
        node: str,
        op: str,
        inputs: Sequence[tuple[str, str]],
        params: Mapping[str, Any],
        outputs: str | Sequence[str],
    ) -> None: ...
    def output(self, name: str, value: str) -> None: ...
    @property
    def inputs(self) -> list[tuple[str, str, list[str]]]: ...
    @property
    def outputs(self) -> list[str]: ...
    @property
    def nodes(self) -> list[tuple[str, str, str]]: ...
    @property
    def named_sizes(self) -> list[str]: ...
    def missing(self, sizes: Mapping[str, int] | None = None) -> list[tuple[str, str, str]]: ...
    def with_outputs(self, names: str | Sequence[str]) -> Model: ...
    def plan(
        self,
        *,
        layouts: str = "measured",
        sizes: Mapping[str, int] | None = None,
        threads: int | None = None,
        profiles: str = "kept",
        keep_constants: bool = False,
        exact: bool = False,
        weight_growth: float = 1.25,
        reorders: int | None = None,
        precision: str = "f32",
        strict: bool = False,
        like: Plan | None = None,
    ) -> Plan: ...

class Plan:
    """A network that is ready to run, at sizes that are numbers."""

    def run(self, *inputs: TensorLike | Mapping[str, TensorLike], **named: TensorLike) -> list[Tensor]:
        """Runs on one tensor for each input: in the order of `inputs`, as keywords, or in one mapping by name."""

    def run_into(
        self,
        inputs: TensorLike | Sequence[TensorLike] | Mapping[str, TensorLike],
        outputs: TensorLike | Sequence[TensorLike] | Mapping[str, TensorLike],
    ) -> None:
        """Runs into memory of numpy or torch, one array for each output: in the order of `outputs`, or by name."""

    def run_timed(
        self, *inputs: TensorLike | Mapping[str, TensorLike], **named: TensorLike
    ) -> tuple[list[Tensor], list[float]]: ...
    @property
    def inputs(self) -> list[tuple[str, str, list[int]]]: ...
    @property
    def outputs(self) -> list[tuple[str, str, list[int]]]: ...
    @property
    def layouts(self) -> str: ...
    @property
    def threads(self) -> int | None: ...
    @property
    def arena_bytes(self) -> int: ...
    @property
    def reorders(self) -> list[dict[str, Any]]: ...
    @property
    def steps(self) -> list[dict[str, Any]]: ...
    @property
    def faster_in_f32(self) -> list[dict[str, Any]]: ...
    def explain(self) -> str: ...
    def svg(self) -> str: ...
    def dot(self) -> str: ...
    def errors(self, *inputs: TensorLike | Mapping[str, TensorLike], **named: TensorLike) -> str: ...
    def save(self, path: FilePath, *, keep_plain: bool = False) -> None: ...
    def _repr_svg_(self) -> str: ...
    def _repr_html_(self) -> str: ...

class PackedWeights:
    """Weights that were packed for one kind of source: call it on a tensor."""

    def __call__(
        self, x: TensorLike, residual: TensorLike | None = None, channel: TensorLike | Sequence[TensorLike] | None = None
    ) -> Tensor: ...
    @property
    def op(self) -> str: ...

def main(args: Sequence[str]) -> int: ...
def thread_count() -> int:
    """The number of threads that a call here uses."""

def build_info() -> str:
    """What was compiled: the library's version and its engine's."""

def call(name: str, threads: int | None, /, *args: Any) -> Tensor: ...
def call_list(name: str, threads: int | None, /, *args: Any) -> list[Tensor]: ...
def schemas() -> list[dict[str, Any]]: ...
def from_dlpack(x: TensorLike) -> Tensor:
    """A tensor that shares the memory of another library's tensor or array."""

def zeros(shape: int | Sequence[int], *, dtype: str = "f32", layout: str = "contiguous") -> Tensor:
    """A tensor of zeros: strided in a memory format, or blocked in a layout."""

def record() -> Ledger:
    """Records the reorders and kernel runs of this thread in a `with` block."""

def deny_reorders() -> Budget:
    """Makes every reorder of this thread in a `with` block a `ReorderDenied`."""

def budget(reorders: int) -> Budget:
    """Allows this many reorders of this thread in a `with` block; the next one is a `ReorderDenied`."""

def check_options(layouts: str, threads: int | None, profiles: str, precision: str) -> None:
    """Checks options of `Model.plan` before the work that leads to it."""

def load_onnx(path: FilePath) -> Model:
    """Reads an ONNX model, with the data that it keeps in other files of its folder."""

def _from_bytes(
    bytes: bytes, shape: Sequence[int], dtype: str, layout: str | None, quantization: tuple[list[float], list[int], int | None] | None = None
) -> Tensor: ...
def _plan_from_bytes(bytes: bytes, threads: int | None) -> Plan: ...
def load_plan(
    path: FilePath,
    *,
    threads: int | None = None,
    replan: bool = False,
    keep_constants: bool = False,
    mapped: bool = False,
) -> Plan:
    """The plan in a file that `Plan.save` wrote; with `keep_constants`, for `Plan.errors`, from a file with plain weights.

    With `mapped`, the file is not read: processes that map it share its pages. Nobody may change it while the plan lives;
    `Plan.save` over it is allowed, because that renames a new file.
    """

def schedule(reads: list[list[int]], runs: list[bool]) -> list[list[int]]:
    """Nodes that run as one plan each, and those that do not, each alone, in an order in which all can run; `reads` names earlier ones."""

def pack_conv(
    weights: TensorLike,
    bias: TensorLike | None = None,
    *,
    like: TensorLike,
    batch_norm: Mapping[str, Any] | None = None,
    threads: int | None = None,
    **params: Any,
) -> PackedWeights:
    """Packs the weights of a convolution, [O, C / groups, k...], for sources like `like`, of any batch."""

def pack_conv_transpose(
    weights: TensorLike,
    bias: TensorLike | None = None,
    *,
    like: TensorLike,
    batch_norm: Mapping[str, Any] | None = None,
    threads: int | None = None,
    **params: Any,
) -> PackedWeights:
    """As `pack_conv`, for a transposed convolution: weights [C, O / groups, k...]."""

def pack_stem(
    weights: TensorLike,
    bias: TensorLike | None = None,
    *,
    like: TensorLike,
    layout: str | None = None,
    batch_norm: Mapping[str, Any] | None = None,
    threads: int | None = None,
    **params: Any,
) -> PackedWeights:
    """As `pack_conv`, for a stem: a row-major source of fewer channels than a block, and a blocked result."""

def pack_linear(
    weights: TensorLike, bias: TensorLike | None = None, *, rows: int = 1, threads: int | None = None
) -> PackedWeights:
    """Packs the weights of a linear layer, [O, K], for inputs of `rows` rows."""

def register_backend(
    name: str,
    from_strided_function: Callable[[Tensor], Tensor],
    to_strided_function: Callable[[Tensor], TensorLike],
    kernels: Mapping[str, Callable[..., Tensor]],
    *,
    gradients: Mapping[str, Callable[..., Tensor | Sequence[Tensor | None]]] = ...,
) -> None:
    """Registers a dispatch key with kernels for ops that exist, and with gradients.

    A kernel gets the op's arguments in the schema's order. A gradient gets them too, and by name `results` and `diff_dst` (a list
    each; `None` in `diff_dst` is zero) and `wanted` (a Boolean for each tensor of the call). It returns the gradient of the only
    tensor, or a list with one for each tensor of the call, `None` where none is wanted. A tape adds the gradients of a value that is
    used more than once: for that the key needs a kernel of `add`.
    """

def wrap(key: str, object: object, shape: Sequence[int], *, dtype: str = "f32", layout: str = "opaque") -> Tensor:
    """A tensor of a registered key around an object."""

def unwrap(tensor: Tensor) -> Any:
    """The object in a tensor that `wrap` made."""
