"""Operators of Python and functions of numpy on tensors: the same typed error on both sides, with a call that works."""

import operator
import re

import blocktensor as bt
import numpy
import numpy as np
import pytest

T = bt.from_dlpack(np.float32([[3, -2], [5, 7]]))
A = np.float32([[2, 4], [1, 3]])
WITH_OP = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.matmul]
WITHOUT_OP = [operator.floordiv, operator.mod, divmod, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


def refused(call):
    with pytest.raises(bt.UnsupportedOp) as e:
        call()
    # Code that catches Python's own class goes on.
    assert isinstance(e.value, TypeError) and e.value.op and e.value.operands
    assert str(e.value).endswith(e.value.remedy)
    return e.value


def followed(remedy, **names):
    """The first call that a remedy names, with these operands."""
    code = re.search(r"`(blocktensor\.ops\..*?\))`", remedy)
    assert code, remedy
    return eval(code[1], {"blocktensor": bt, "numpy": numpy, **names}).to_strided().numpy()


def plain(x):
    return x.numpy() if isinstance(x, bt.Tensor) else x


@pytest.mark.parametrize("function", WITH_OP, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("left", "right"), [(T, A), (A, T), (T, T)], ids=["array", "array first", "tensors"])
def test_two_tensors_are_told_the_op(function, left, right):
    e = refused(lambda: function(left, right))
    assert "`blocktensor.from_dlpack(x)`" in e.remedy
    np.testing.assert_allclose(followed(e.remedy, left=left, right=right), function(plain(left), plain(right)), rtol=1e-5)


@pytest.mark.parametrize("function", WITH_OP[:5], ids=lambda f: f.__name__)
@pytest.mark.parametrize("number", [2, 0.5, np.float32(2)], ids=repr)
def test_a_tensor_and_a_number_are_told_the_op(function, number):
    positive = bt.from_dlpack(np.float32([3, 2]))
    for left, right in [(positive, number), (number, positive)]:
        made = followed(refused(lambda: function(left, right)).remedy, left=left, right=right)
        np.testing.assert_allclose(made, function(plain(left), plain(right)), rtol=1e-5)


@pytest.mark.parametrize("function", WITHOUT_OP, ids=lambda f: f.__name__)
def test_operators_without_an_op_are_told_numpy(function):
    for left, right in [(T, A), (A, T), (T, T), (T, 2), (2, T), (bt.zeros([1, 16, 2, 2], layout="nChw16c"), A)]:
        assert "`x.to_strided().numpy()`" in refused(lambda: function(left, right)).remedy


@pytest.mark.parametrize("name", ["relu", "relu_", "mul", "mul_", "softmax"])
def test_methods_of_other_packages_are_told_the_op(name):
    assert not hasattr(T, name)
    with pytest.raises(bt.UnsupportedOp, match=re.escape(f"`{name}`: a blocktensor.Tensor has none")) as e:
        getattr(T, name)
    assert isinstance(e.value, AttributeError) and e.value.op == name.rstrip("_")
    assert f"call `blocktensor.ops.{name.rstrip('_')}(x, ...)`" in e.value.remedy
    # What nobody has is Python's own error.
    with pytest.raises(AttributeError, match="a blocktensor.Tensor has no attribute `relux`") as plain:
        T.relux  # noqa: B018
    assert not isinstance(plain.value, bt.UnsupportedOp)


def test_operators_of_one_tensor():
    for function in [operator.neg, abs]:
        np.testing.assert_array_equal(followed(refused(lambda: function(T)).remedy, x=T), function(T.numpy()))
    refused(lambda: +T)
    refused(lambda: ~T)


def test_in_place_operators_write_nothing():
    array = A.copy()
    with pytest.raises(bt.UnsupportedOp):
        array += T
    np.testing.assert_array_equal(array, A)
    tensor = T
    with pytest.raises(bt.UnsupportedOp):
        tensor += A


def test_functions_of_numpy_are_told_the_way_out():
    for call in [lambda: np.exp(T), lambda: np.add(A, T), lambda: np.max(T), lambda: np.maximum(A, T)]:
        refused(call)
    assert "`blocktensor.ops.exp`" in refused(lambda: np.exp(T)).remedy
    assert "`blocktensor.ops.add(left, right)`" in refused(lambda: np.add(A, T)).remedy
    np.testing.assert_array_equal(np.asarray(T), T.numpy())
    with bt.grad.record() as tape:
        x = tape.variable(T)
    for call in [lambda: np.exp(x), lambda: ~x]:
        assert "`x.tensor.to_strided().numpy()`" in refused(call).remedy
    np.testing.assert_array_equal(x.tensor.to_strided().numpy(), T.numpy())


def test_comparisons_are_masks_on_both_sides():
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        function = getattr(operator, name)
        for left, right in [(T, A), (A, T), (T, np.float32(3)), (np.float32(3), T)]:
            made = function(left, right)
            assert isinstance(made, bt.Tensor)
            np.testing.assert_array_equal(made.numpy(), function(plain(left), plain(right)))
        # A number of numpy beside a blocked tensor is no array.
        assert function(np.float32(3), bt.zeros([1, 16, 2, 2], layout="nChw16c")).is_blocked


def test_other_objects_are_pythons_own_error():
    for call in [lambda: T + None, lambda: None + T, lambda: T + [1], lambda: T @ "x"]:
        with pytest.raises(TypeError, match="unsupported operand") as e:
            call()
        assert not isinstance(e.value, bt.Error)

    class Own:
        def __radd__(self, other):
            return "mine"

    assert T + Own() == "mine"
