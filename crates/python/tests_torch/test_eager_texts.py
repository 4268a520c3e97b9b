"""What eager calls say: results that no op computes, arguments that an op does not take, lists of blocked and strided tensors."""

import re

import blocktensor as bt
import blocktensor.torch as btt
import numpy as np
import pytest
import torch
from torch.nn import functional as F

X = torch.randn(1, 16, 8, 8, generator=torch.Generator().manual_seed(9))
E = btt.EagerTensor


@pytest.mark.parametrize(
    "use",
    [
        lambda x, i: F.max_unpool2d(x, i, 2),
        lambda x, i: torch.gather(x, 1, i),
        lambda x, i: torch.gather(X, 1, i),
        lambda x, i: x.gather(1, index=i),
        lambda x, i: x + i,
        lambda x, i: torch.add(x, i),
        lambda x, i: i.float(),
        lambda x, i: i + 1,
        lambda x, i: 1 - i,
        lambda x, i: i == 0,
        lambda x, i: i != x,
        lambda x, i: i[0],
        lambda x, i: len(i),
        lambda x, i: 1 if i else 0,
        lambda x, i: np.asarray(i),
        lambda x, i: list(i),
    ],
)
def test_a_result_that_no_op_computes_is_named_where_it_is_used(use):
    pooled, indices = F.max_pool2d(E(X), 2, return_indices=True)
    with pytest.raises(bt.UnsupportedOp, match="no op of blocktensor computes this result") as e:
        use(pooled, indices)
    assert e.value.op == "max_pool2d_with_indices" and "Absent" not in str(e.value)
    # The remedy.
    pooled, indices = F.max_pool2d(E(X).to_strided().torch(), 2, return_indices=True)
    assert F.max_unpool2d(pooled, indices, 2).shape == X.shape


def test_an_argument_that_an_op_does_not_take_is_named():
    for call in (lambda x: x.round(decimals=1), lambda x: torch.round(x, decimals=1)):
        with pytest.raises(bt.UnsupportedOp, match="argument `decimals`: got 1") as e:
            call(E(X))
        (code,) = re.findall(r"`([^`]+)`", e.value.remedy)
        torch.testing.assert_close(eval(code, {"x": E(X), "n": 1}).torch(), torch.round(X, decimals=1))


def test_numbers_are_scaled():
    for call in (lambda x: torch.add(x, 1.5, alpha=2), lambda x: torch.sub(x, 3, alpha=0.5), lambda x: torch.add(x, x, alpha=2)):
        torch.testing.assert_close(call(E(X)).torch(), call(X))


@pytest.mark.parametrize("call", [torch.cat, torch.stack])
@pytest.mark.parametrize("blocked", [(0,), (1,), (0, 1)])
def test_lists_of_blocked_and_strided_tensors_say_which(call, blocked):
    tensors = [E(X).to_blocked() if i in blocked else (E(X) if i else X) for i in range(3)]
    with pytest.raises(bt.KeyMismatch) as e:
        call(tensors)
    text = str(e.value)
    places = [int(i) for i in re.findall(r"`tensors\[(\d)\]`: got", text)]
    assert len(places) == 2 and (places[0] in blocked) != (places[1] in blocked), text
    # The remedy for the strided one, then for the blocked one.
    first, second = re.findall(r"`([^`]+)`", e.value.remedy)
    assert eval(first, {"EagerTensor": E, "tensors": tensors}).held.is_blocked
    assert not eval(second, {"tensors": tensors}).held.is_blocked


def test_kinds_of_errors_have_names_for_readers():
    for call, also in ((lambda: bt.zeros([2]) + 1, TypeError), (lambda: bt.zeros([2]).relu, AttributeError)):
        with pytest.raises(bt.UnsupportedOp) as e:
            call()
        assert isinstance(e.value, also) and not type(e.value).__name__.startswith("_")


COMPOSED = {
    "floor_divide": lambda x: x // 0.3,
    "remainder": lambda x: torch.remainder(x, 0.3),
    "__mod__": lambda x: x % 0.3,
    "fmod": lambda x: torch.fmod(x, 0.3),
    "expm1": lambda x: x.expm1(),
}


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int8])
def test_what_no_op_is_for_is_refused_alike_in_all_dtypes(name, dtype):
    x = E((X * 3).to(dtype))
    with pytest.raises(bt.UnsupportedOp, match="no op of blocktensor is for it") as e:
        COMPOSED[name](x)
    assert e.value.op == name and "treespec" not in str(e.value)
    inside, back = re.findall(r"`([^`]+)`", e.value.remedy)
    wanted = COMPOSED[name](x.torch())
    made = eval(back, {"EagerTensor": E, "y": COMPOSED[name](eval(inside, {"x": x}))})
    torch.testing.assert_close(made.torch(), wanted, equal_nan=True)


@pytest.mark.parametrize("call", [torch.tril, torch.triu, lambda x, d: x.clone().tril_(d), lambda x, d: x.triu(diagonal=d)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.int32, torch.uint8])
def test_triangles_are_of_every_dtype(call, dtype):
    x = (X[0, :, :3] * 3).to(dtype)
    for d in (0, 1, -2):
        assert torch.equal(call(E(x), d).torch(), call(x, d))
    mask = E(x) > 0 if dtype in (torch.float32, torch.bfloat16) else None
    if mask is not None:
        assert torch.equal(mask.tril().torch().bool(), (x > 0).tril())


def test_a_blocked_triangle_is_refused_by_its_name():
    with pytest.raises(bt.UnsupportedOp, match="op `tril` has no kernel for dispatch key `blocked`") as e:
        E(X).to_blocked().tril()
    assert e.value.op == "tril"
    assert torch.equal(E(X).to_blocked().to_strided().tril().torch(), X.tril())


PARTS = {
    "threshold": lambda x: F.threshold(x, 0.1, 0.2),
    "hardshrink": F.hardshrink,
    "masked_fill": lambda x: x.masked_fill(E(X) > 0, 1.0),
    "logsumexp": lambda x: x.logsumexp(1),
    "exp2": torch.exp2,
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_dtype_that_a_part_of_a_call_does_not_take_is_told_of_the_call(name, dtype):
    x = E(X.to(dtype))
    with pytest.raises((bt.DTypeMismatch, bt.UnsupportedDType), match=f"op `{name}` of PyTorch on .* in its op `") as e:
        PARTS[name](x)
    assert e.value.op == name and str(e.value).endswith(e.value.remedy)
    (code,) = re.findall(r"`([^`]+)`", e.value.remedy)
    assert PARTS[name](eval(code, {"x": x})).dtype == torch.float32


def test_a_variable_of_a_tape_is_no_eager_tensor():
    """Its `requires_grad` was False, and `x.detach()` gave the variable itself."""
    x = bt.from_dlpack(torch.ones(1, 4, 2, 2))
    with bt.grad.record() as tape:
        made = bt.ops.relu(tape.variable(x))
        for call in (lambda: E(tape.variable(x)), lambda: E(made), lambda: E(x) + made, lambda: setattr(E(x), "data", made)):
            with pytest.raises(bt.InvalidArgument, match=r"op `EagerTensor`: got \[1, 4, 2, 2\] f32 contiguous on a tape") as e:
                call()
            assert e.value.remedy == "pass `x.tensor`, or call functions of `blocktensor.ops` on `x`"
        assert E(made.tensor).tolist() == x.numpy().tolist()


FUNCTIONS = {
    "script": lambda x: torch.jit.script(_doubled)(x),
    "trace": lambda x: torch.jit.trace(_doubled, (x,))(x),
    "vmap": lambda x: torch.vmap(_doubled)(x),
    "grad": lambda x: torch.func.grad(lambda x: _doubled(x).sum())(x),
    "vjp": lambda x: torch.func.vjp(_doubled, x)[0],
    "jacrev": lambda x: torch.func.jacrev(_doubled)(x),
    "jacfwd": lambda x: torch.func.jacfwd(_doubled)(x),
    "autograd.grad": lambda x: torch.autograd.grad(_doubled(x.requires_grad_()).sum(), x)[0],
}


def _doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_transforms_are_for_tensors_of_pytorch(name):
    """They are refused, by PyTorch's own checks where these come first, and their remedy (docs/python.md) is PyTorch's tensor."""
    x = E(torch.rand(2, 3))
    with pytest.raises((bt.Error, RuntimeError, ValueError), match=r"EagerTensor|op `\w+` of PyTorch"):
        FUNCTIONS[name](x)
    assert isinstance(E(FUNCTIONS[name](x.to_strided().torch())), E)


def test_what_pytorchs_own_code_asks_for_is_unsupported():
    with pytest.raises(bt.UnsupportedOp, match="op `storage` of PyTorch on"):
        E(torch.ones(2)).storage()


def test_a_blocked_eager_tensor_is_the_librarys_own_for_its_functions():
    """DLPack refused it, with `numpy.array(x)` as remedy."""
    x = E(torch.rand(1, 8, 4, 4) - 0.5)
    y = x.to_blocked()
    assert bt.ops.relu(y).layout == y.held.layout
    weights = bt.from_dlpack(np.ones((8, 8, 1, 1), np.float32))
    packed = bt.pack_conv(weights, like=y)
    assert packed(y).layout == y.held.layout
    model = bt.Model()
    model.input("x", [1, 8, 4, 4])
    model.op("relu", "relu", [("x", "x")], {}, ["y"])
    model.output("y", "y")
    plan = model.plan()
    with pytest.raises(bt.OpaqueLayoutError, match=r"op `run`: argument `x`: got \[1, 8, 4, 4\] f32 nChw\d+c, but the inputs of a plan are strided") as e:
        plan.run(y)
    assert e.value.remedy == "pass `x.to_strided()`"
    assert np.array_equal(plan.run(y.to_strided())[0].numpy(), x.relu().numpy())
    # A result goes into no tensor of this package, whoever holds it.
    for result in (x, y, E(torch.zeros(1, 8, 4, 4))):
        before = result.to_strided().tolist()
        with pytest.raises(bt.InvalidArgument, match=r"op `run_into`: argument `y`: got .*, but a result goes into another library's memory") as e:
            plan.run_into([x], [result])
        assert "numpy.empty([1, 8, 4, 4]" in e.value.remedy and result.to_strided().tolist() == before


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_how_pytorch_reads_tensors_of_this_package():
    """As docs/python.md says: `asarray` reads a buffer, which is flat in PyTorch; `as_tensor` and `tensor` copy."""
    x = bt.from_dlpack(np.arange(6, dtype=np.float32).reshape(2, 3))
    flat = torch.asarray(x)
    assert flat.shape == (6,) and flat.data_ptr() == x.data_ptr()
    blocked = bt.zeros([1, 16, 2, 2], layout="nChw16c")
    for read in (torch.as_tensor, torch.tensor, torch.from_dlpack, lambda x: torch.asarray(E(x))):
        made = read(x)
        assert made.tolist() == x.numpy().tolist() and made.data_ptr() != x.data_ptr()
        with pytest.raises(bt.OpaqueLayoutError, match=r"reorder it with `\.to_strided\(\)`"):
            read(blocked)
        assert read(blocked.to_strided()).shape == (1, 16, 2, 2)
    with bt.grad.record() as tape:
        variable = tape.variable(x)
        for read in (torch.as_tensor, torch.tensor, torch.from_dlpack, lambda x: torch.asarray(E(x))):
            with pytest.raises(bt.InvalidArgument, match="pass `x.tensor`"):
                read(variable)
        for given in (variable, blocked):
            with pytest.raises(ValueError, match="the buffer's format"):
                torch.asarray(given)


OPERATORS = {
    "sum": lambda x, y: x + y,
    "reflected": lambda x, y: y + x,
    "function": lambda x, y: torch.add(y, x),
    "comparison": lambda x, y: x > y,
    "array": lambda x, y: x * y.numpy(),
    "a part": lambda x, y: x - y[:, :, :1],
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_blocked_tensor_beside_one_of_pytorch_has_a_way_for_it(name):
    """The remedy was `.to_blocked()` of PyTorch's tensor, which has none."""
    x, call = E(X).to_blocked(), OPERATORS[name]
    with pytest.raises(bt.KeyMismatch) as e:
        call(x, X)
    # Where the blocked one is `b`, it has this method.
    assert e.value.remedy.startswith("reorder `b` with `.to_strided()`" if name == "function" else "pass `x.to_strided()`")
    wanted = call(X, X)
    assert torch.equal(call(x.to_strided(), X).torch().to(wanted.dtype), wanted)
    if name in ("sum", "reflected", "comparison"):
        assert e.value.remedy.endswith(", or `EagerTensor(b).to_blocked()` for `b`")
        assert torch.equal(call(x, E(X).to_blocked()).to_strided().torch().to(wanted.dtype), wanted)


def test_weights_of_another_dtype_are_told_pytorchs_conversion():
    x, w = E(X).contiguous(memory_format=torch.channels_last).bfloat16(), torch.randn(4, 16, 3, 3)
    with pytest.raises(bt.DTypeMismatch, match=r"a tensor of PyTorch with `\.to\(torch\.bfloat16\)`"):
        F.conv2d(x, w)
    assert F.conv2d(x, w.to(torch.bfloat16)).shape == (1, 4, 6, 6)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize(
    "use",
    [
        lambda a, b: a @ b,
        torch.mm,
        lambda a, b: torch.einsum("ij,jk->ik", a, b),
        lambda a, b: F.linear(a, b.mT),
        lambda a, b: torch.mv(a, b[:, 0]),
        lambda a, b: torch.bmm(a[None], b[None]),
        lambda a, b: torch.dot(a[0], b[:, 0]),
        lambda a, b: torch.addmm(a @ b if a.is_floating_point() else b[:1], a, b),
        lambda a, b: torch.baddbmm(b[None, :1], a[None], b[None]),
        lambda a, b: torch.addmv(a[:, 0], a, b[:, 0]),
    ],
)
def test_products_of_bytes_are_refused(use, dtype):
    """`blocktensor.ops.matmul` makes sums of 32 bits of them, where PyTorch's wrap around."""
    a, b = torch.full((2, 3), 100, dtype=dtype), torch.full((3, 4), 2, dtype=dtype)
    with pytest.raises(bt.UnsupportedOp, match=r"convert both with `\.float\(\)`, or call `blocktensor\.ops\.(matmul|linear)`"):
        use(E(a), E(b))
    assert torch.equal(use(E(a.float()), E(b.float())).torch(), use(a.float(), b.float()))


PRODUCTS = {
    "inner": lambda a, b: torch.inner(a, b.mT),
    "inner of vectors": lambda a, b: torch.inner(a[0], b[:, 0]),
    "tensordot": lambda a, b: torch.tensordot(a, b, dims=1),
    "tensordot of all axes": lambda a, b: torch.tensordot(a, b[:, :2].mT, dims=2),
    "outer": lambda a, b: torch.outer(a[0], b[:, 0]),
    "ger": lambda a, b: torch.ger(a[0], b[:, 0]),
    "kron": torch.kron,
    "vdot": lambda a, b: torch.vdot(a[0], b[:, 0]),
    "addr": lambda a, b: torch.addr(a, a[:, 0], b[:, 0]),
    "chain_matmul": lambda a, b: torch.chain_matmul(a, b, b.mT),
    "multi_dot": lambda a, b: torch.linalg.multi_dot([a, b, b.mT]),
    "linalg.matmul": torch.linalg.matmul,
    "linalg.matrix_power": lambda a, b: torch.linalg.matrix_power(b[:, :3], 3),
    "matrix_power": lambda a, b: torch.matrix_power(b[:, :3], 3),
    "a method": lambda a, b: a[0].inner(b[:, 0]),
}


@pytest.mark.filterwarnings("ignore:torch.chain_matmul:UserWarning")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_that_are_others_are_refused_of_bytes(name, dtype):
    """The text is of the operands, and not of what stands in for them while PyTorch takes the call apart."""
    use = PRODUCTS[name]
    a, b = torch.full((2, 3), 100, dtype=dtype), torch.full((3, 4), 2, dtype=dtype)
    kind = "u8" if dtype == torch.uint8 else "s8"
    with pytest.raises(bt.UnsupportedOp, match=f"a product of {kind}, which PyTorch has in the type of its operands; convert its tensors") as e:
        use(E(a), E(b))
    assert e.value.remedy == "convert its tensors with `.float()`"
    assert torch.equal(use(E(a.float()), E(b.float())).torch(), use(a.float(), b.float()))


@pytest.mark.parametrize("call", [lambda x: torch.linalg.vecdot(x, x), lambda x: F.cosine_similarity(x, x), lambda x: torch.dist(x, x)])
def test_what_pytorch_says_of_a_bool_is_told_of_a_mask(call):
    x = torch.full((4, 4), 100, dtype=torch.uint8)
    with pytest.raises(bt.UnsupportedDType, match=r"u8 contiguous: .*(B|b)ool.* \(a tensor of u8 is a mask here\); call it on `x\.float\(\)`$"):
        call(E(x))
    torch.testing.assert_close(call(E(x.float())).torch(), call(x.float()))


def test_a_result_that_is_written_elsewhere_is_told_what_to_do():
    x = E(torch.ones(2, 3))
    for out in (E(torch.empty(2, 3)), torch.empty(2, 3)):
        with pytest.raises(bt.UnsupportedOp, match="it writes into `out`; leave `out` out, and use what the call returns$"):
            torch.add(x, x, out=out)


def test_elements_are_repeated_along_an_axis_and_along_all():
    x = torch.randn(2, 3)
    for call in (lambda x: x.repeat_interleave(2), lambda x: x.repeat_interleave(2, 1), lambda x: torch.repeat_interleave(x, 3, dim=0)):
        assert torch.equal(call(E(x)).torch(), call(x))


@pytest.mark.parametrize("compare", [lambda x, y: x == y, lambda x, y: y >= x, torch.ne, lambda x, y: x.lt(y)])
def test_whole_numbers_that_bytes_do_not_have_are_not_compared_with_them(compare):
    """PyTorch takes 300 as 44."""
    plain = torch.tensor([[44, 1]], dtype=torch.uint8)
    x = btt.EagerTensor(plain)
    assert compare(plain, 300).tolist() == compare(plain, 44).tolist()
    for number in (300, -212, torch.tensor(300)):
        with pytest.raises(bt.InvalidArgument, match=r"u8 holds 0 to 255, but is compared with (300|-212); compare with `(300|-212)\.0`$"):
            compare(x, number)
    for number in (44, 255, 300.0, -212.0):
        assert (torch.as_tensor(compare(x, number)) != 0).tolist() == compare(plain, number).tolist()
