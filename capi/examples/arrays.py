"""blocktensor from Python with nothing but ctypes and numpy: an array through DLPack, a blocked convolution, an error.

Usage: arrays.py libblocktensor_c.so
"""
import ctypes as c
import sys

import numpy as np


class Arg(c.Structure):
    """bt_arg of blocktensor.h."""

    _fields_ = [("name", c.c_char_p), ("kind", c.c_int32), ("number", c.c_int64), ("real", c.c_double),
                ("text", c.c_char_p), ("integers", c.POINTER(c.c_int64)), ("tensors", c.POINTER(c.c_uint64)),
                ("count", c.c_size_t)]


class Error(Exception):
    """An error of the library, with its code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


lib = c.CDLL(sys.argv[1])
lib.bt_last_error_message.restype = c.c_char_p
lib.bt_version.restype = c.c_char_p
lib.bt_live_handles.restype = c.c_size_t
TENSOR, INTS = 1, 4


def check(status):
    if status:
        raise Error(status, lib.bt_last_error_message().decode())


class Tensor:
    """A handle."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        lib.bt_free(c.c_uint64(self.handle))

    @staticmethod
    def made(function, *args):
        out = c.c_uint64()
        check(function(*args, c.byref(out)))
        return Tensor(out.value)

    @staticmethod
    def from_array(a):
        """The array's own memory, through DLPack."""
        capsule = a.__dlpack__()
        api = c.pythonapi
        api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
        api.PyCapsule_SetName.argtypes = [c.py_object, c.c_char_p]
        pointer = api.PyCapsule_GetPointer(capsule, b"dltensor")
        # From here on the library owns it, even if it refuses the tensor.
        api.PyCapsule_SetName(capsule, b"used_dltensor")
        return Tensor.made(lib.bt_tensor_from_dlpack_unversioned, c.c_void_p(pointer))

    def blocked(self, layout=None):
        return Tensor.made(lib.bt_to_blocked, c.c_uint64(self.handle), layout)

    def __str__(self):
        text = c.create_string_buffer(256)
        check(lib.bt_describe(c.c_uint64(self.handle), text, c.c_size_t(256), None))
        return text.value.decode()

    def array(self, shape):
        plain = Tensor.made(lib.bt_to_strided, c.c_uint64(self.handle), None)
        out = np.empty(shape, np.float32)
        check(lib.bt_tensor_read(c.c_uint64(plain.handle), out.ctypes.data_as(c.c_void_p), c.c_size_t(out.nbytes)))
        return out


def call(op, **arguments):
    args, keep = (Arg * len(arguments))(), []
    for a, (name, value) in zip(args, arguments.items()):
        a.name = name.encode()
        if isinstance(value, Tensor):
            keep.append((c.c_uint64 * 1)(value.handle))
            a.kind, a.tensors, a.count = TENSOR, keep[-1], 1
        else:
            keep.append((c.c_int64 * len(value))(*value))
            a.kind, a.integers, a.count = INTS, keep[-1], len(value)
    out = c.c_uint64()
    check(lib.bt_call(op.encode(), args, c.c_size_t(len(args)), c.byref(out), c.c_size_t(1), None))
    return Tensor(out.value)


print(lib.bt_version().decode())
rng = np.random.default_rng(1)
x = rng.integers(-4, 5, (2, 19, 9, 7)).astype(np.float32)
w = rng.integers(-4, 5, (33, 19, 3, 3)).astype(np.float32)
xb = Tensor.from_array(x).blocked()
print("x is", xb)
# The blocks of the weights must match those of the activations.
wb = Tensor.from_array(w).blocked(b"OIhw16i16o" if "nChw16c" in str(xb) else b"OIhw8i8o")
y = call("relu", x=call("conv2d", x=xb, weights=wb, padding=[1, 1])).array((2, 33, 9, 7))

padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
want = sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + 9, j:j + 7], w[:, :, i, j].astype(np.float64))
           for i in range(3) for j in range(3))
assert np.array_equal(y, np.maximum(want, 0)), "wrong numbers"
print("a blocked convolution of integers is exact")
try:
    call("cumsum", x=xb, axis=[1])
    sys.exit("cumsum on blocked tensors did not fail")
except Error as e:
    print(f"error {e.code}: {e}")
try:
    call("matmul", a=xb, b=xb)
    sys.exit("matmul on blocked tensors did not fail")
except Error as e:
    assert e.code == 1 and "has no kernel for dispatch key `blocked`" in str(e), e
    print(f"error {e.code}: {e}")
del xb, wb
print("live handles:", lib.bt_live_handles())
assert lib.bt_live_handles() == 0
