"""What errors say: names that the caller knows, and remedies that work when they are followed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import blocktensor as bt
import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[3] / "tests/data/onnx_models"
X = np.ones((1, 16, 4, 4), np.float32)


def model(sizes=("batch", 16, "height", "width")):
    m = bt.Model()
    m.input("x", sizes)
    m.constant("w", np.ones((16, 16, 3, 3), np.float32))
    m.op("y", "conv2d", [("x", "x"), ("weights", "w")], {}, ["y"])
    m.output("y", "y")
    return m


SIZES = {"batch": 1, "height": 4, "width": 4}


def error_of(call, kind=bt.Error):
    with pytest.raises(kind) as e:
        call()
    text = str(e.value)
    assert "::" not in text and "PlanOptions" not in text and " --" not in text, text
    return e.value


def test_load_plan_names_the_number_of_threads(tmp_path):
    path = tmp_path / "one.plan"
    model().plan(layouts="blocked", sizes=SIZES, threads=1).save(path)
    # A process that has two threads, whatever the machine.
    program = """
import sys, blocktensor as bt
try:
    bt.load_plan(sys.argv[1], threads=2)
except bt.PackMismatch as e:
    print(e.remedy)
print(bt.load_plan(sys.argv[1], threads=1).threads)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=os.environ | {"RAYON_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    remedy, threads = ran.stdout.splitlines()
    assert "`threads=1`" in remedy and threads == "1"


def test_load_plan_with_replan_says_that_the_file_needs_plain_weights(tmp_path):
    if bt.thread_count() < 2:
        pytest.skip("one thread")
    path = tmp_path / "one.plan"
    model().plan(layouts="blocked", sizes=SIZES, threads=1).save(path)
    e = error_of(lambda: bt.load_plan(path, threads=2, replan=True), bt.PackMismatch)
    assert "keep_plain" in e.remedy and "`threads=1`" in e.remedy
    model().plan(layouts="blocked", sizes=SIZES, threads=1).save(path, keep_plain=True)
    assert bt.load_plan(path, threads=2, replan=True).threads == 2


def test_a_budget_of_none_is_a_budget():
    assert repr(bt.budget(0)) == "budget(0)" and repr(bt.deny_reorders()) == "deny_reorders()"
    x = bt.from_dlpack(X)
    with bt.budget(0), pytest.raises(bt.ReorderDenied) as e:
        x.to_blocked()
    assert "deny_reorders" not in str(e.value) and "`blocktensor.budget`" in str(e.value)
    with bt.deny_reorders(), pytest.raises(bt.ReorderDenied) as e:
        x.to_blocked()
    assert "`blocktensor.deny_reorders`" in str(e.value) and "budget" not in str(e.value)
    # Scopes that are closed out of order are named by the call, too.
    outer, inner = bt.record(), bt.budget(0)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(bt.ScopeError, match="budget") as e:
        outer.__exit__(None, None, None)
    assert "deny_reorders" not in str(e.value)
    inner.__exit__(None, None, None)


def test_another_dtype_is_not_another_size():
    plan = model().plan(layouts="blocked", sizes=SIZES)
    e = error_of(lambda: plan.run(X.astype(np.float16)), bt.InvalidArgument)
    assert "f16" in str(e) and "size" not in e.remedy and '`.to_dtype("f32")`' in e.remedy
    (y,) = plan.run(bt.from_dlpack(X.astype(np.float16)).to_dtype("f32"))
    assert y.shape == (1, 16, 2, 2)
    e = error_of(lambda: plan.run(np.ones((1, 16, 5, 5), np.float32)), bt.InvalidArgument)
    assert "plan the model again" in e.remedy or "plan the graph again" in e.remedy
    e = error_of(lambda: plan.run(np.ones((1, 16, 5, 5), np.int32)), bt.InvalidArgument)
    assert "dtype" in e.remedy and "size" in e.remedy


def test_errors_of_a_plan_name_pythons_calls():
    e = error_of(lambda: model().plan(layouts="blocked", sizes=SIZES).errors(X), bt.InvalidArgument)
    assert "keep_constants=True" in e.remedy and "load_with_constants" not in str(e)
    assert "relative L2" in model().plan(layouts="blocked", sizes=SIZES, keep_constants=True).errors(X)


def test_files_keep_constants_if_asked(tmp_path):
    path = tmp_path / "some.plan"
    model().plan(layouts="blocked", sizes=SIZES).save(path, keep_plain=True)
    e = error_of(lambda: bt.load_plan(path).errors(X), bt.InvalidArgument)
    assert "`blocktensor.load_plan(..., keep_constants=True)`" in e.remedy
    assert "relative L2" in bt.load_plan(path, keep_constants=True).errors(X)
    error_of(lambda: bt.load_plan(path, keep_constants=True, replan=True), bt.InvalidArgument)
    model().plan(layouts="blocked", sizes=SIZES).save(path)
    e = error_of(lambda: bt.load_plan(path, keep_constants=True), bt.InvalidArgument)
    assert "keep_plain" in e.remedy


def test_a_misspelt_size_is_told_the_names():
    e = error_of(lambda: model().plan(layouts="blocked", sizes=SIZES | {"hieght": 4}), bt.InvalidArgument)
    assert "hieght" in str(e) and "`height`" in e.remedy and "leave it out" not in str(e)
    e = error_of(lambda: model().plan(layouts="blocked", sizes=SIZES | {"zzz": 4}), bt.InvalidArgument)
    assert all(f"`{name}`" in e.remedy for name in SIZES)
    e = error_of(lambda: model((1, 16, 4, 4)).plan(sizes={"batch": 4}), bt.InvalidArgument)
    assert "no size" in str(e)
    e = error_of(lambda: model().plan(sizes={"batch": 1}), bt.InvalidArgument)
    assert '`Model.plan(sizes={"height": 1})`' in e.remedy


def test_files_of_the_other_kind_are_recognised(tmp_path):
    path = tmp_path / "some.plan"
    model().plan(layouts="blocked", sizes=SIZES).save(path)
    e = error_of(lambda: bt.load_onnx(path), bt.CorruptFile)
    assert "plan" in str(e) and "`blocktensor.load_plan`" in e.remedy
    assert bt.load_plan(path).run(X)
    for replan in [False, True]:
        e = error_of(lambda: bt.load_plan(DATA / "resnet.onnx", replan=replan), bt.CorruptFile)
        assert "ONNX" in str(e) and "`blocktensor.load_onnx`" in e.remedy
    assert bt.load_onnx(DATA / "resnet.onnx").outputs


def test_files_without_a_plan_are_told_what_writes_one(tmp_path):
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    path = tmp_path / "weights.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    for options in [{}, {"replan": True}, {"keep_constants": True}]:
        e = error_of(lambda: bt.load_plan(path, **options), bt.CorruptFile)
        assert "a safetensors file without packed weights" in str(e)
        assert "for a plan, pass a file that `Plan.save` wrote" in e.remedy and "`safetensors.numpy.load_file`" in e.remedy


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.ones(3), "f64"),
        (np.ones(3, bool), "bool"),
        (np.ones(3, np.int64), "s64"),
        (np.ones(3, np.uint16), "u16"),
        (np.ones(3, np.complex64), "complex"),
    ],
)
@pytest.mark.parametrize("through", ["dlpack", "buffer"])
def test_unknown_dtypes_have_names_and_a_way_out(array, name, through):
    given = array if through == "dlpack" else memoryview(array)
    e = error_of(lambda: bt.ops.relu(given), bt.DlpackUnsupported)
    text = str(e)
    assert re.search(rf"\b{name}", text) and "code" not in text, text
    assert e.op == "relu" and "argument `x`" in text
    assert '.astype("float32")' in e.remedy
    with np.errstate(all="ignore"):
        assert bt.ops.relu(np.real(array).astype("float32")).shape == (3,)
    assert error_of(lambda: bt.from_dlpack(given), bt.DlpackUnsupported).op == "from_dlpack"


def test_strides_that_are_no_elements():
    packed = np.zeros(4, np.dtype([("a", "f4"), ("b", "u1")]))
    e = error_of(lambda: bt.ops.relu(packed["a"]))
    assert ".copy()" in e.remedy or "copy" in e.remedy


def two_inputs():
    m = bt.Model()
    for name in ["left", "right side"]:
        m.input(name, [2, 3])
    m.op("y", "sub", [("a", "left"), ("b", "right side")], {}, ["y"])
    m.output("y", "y")
    return m.plan(layouts="nchw")


def test_inputs_by_name():
    plan = two_inputs()
    a, b = np.full((2, 3), 5, np.float32), np.full((2, 3), 3, np.float32)
    for results in [
        plan.run(a, b),
        plan.run({"left": a, "right side": b}),
        plan.run({"right side": b, "left": a}),
        plan.run(**{"right side": b, "left": a}),
        plan.run(a, **{"right side": b}),
        plan.run({"left": a}, **{"right side": b}),
        plan.run_timed({"right side": b, "left": a})[0],
    ]:
        np.testing.assert_array_equal(results[0].numpy(), a - b)
    names = ["`left`", "`right side`"]
    for call, word in [
        (lambda: plan.run({"left": a, "rihgt": b}), "`rihgt`"),
        (lambda: plan.run(a, rihgt=b), "`rihgt`"),
        (lambda: plan.run({"left": a}), "`right side`"),
        (lambda: plan.run(left=a), "`right side`"),
        (lambda: plan.run(a), "`right side`"),
        (lambda: plan.run(), "`left`"),
        (lambda: plan.run(a, left=b), "`left`"),
        (lambda: plan.run({"left": a}, left=b), "`left`"),
        (lambda: plan.run(a, b, a), "3"),
        (lambda: plan.run({3: a}), "3"),
        (lambda: plan.run_timed({"left": a, "rihgt": b}), "`rihgt`"),
        (lambda: plan.errors({"left": a, "rihgt": b}), "`rihgt`"),
    ]:
        e = error_of(call, bt.InvalidArgument)
        assert word in str(e) and all(name in str(e) for name in names), str(e)
        assert e.remedy


def test_calls_that_errors_name_exist():
    """The names that `src/words.rs` has for the calls of errors are those of this package."""
    source = (Path(__file__).resolve().parents[1] / "src/words.rs").read_text()
    told = re.findall(r'(?:=>|format!\() ?(?:return format!\()?"((?:[^"\\]|\\.)+)"', source)
    told += re.findall(r'\("\w+(?:::\w+)?", "([\w.]+)"\)', source)
    assert len(told) > 50, told
    checked = 0
    for text in told:
        for path in re.findall(r"\bblocktensor((?:\.\w+)+)", text):
            found = bt
            for name in path.strip(".").split("."):
                found = getattr(found, name)
            checked += 1
        for owner, name in re.findall(r"\b(Plan|Model)\.(\w+)", text):
            assert hasattr(getattr(bt, owner), name), text
            checked += 1
        for name in re.findall(r"^\.(\w+)\(", text):
            assert hasattr(bt.Tensor, name), text
            checked += 1
        for name in re.findall(r"^\w+ of (\w+)$", text):
            assert hasattr(bt, name), text
    assert checked > 40, checked


def test_arrays_that_are_not_row_major_are_told_numpys_way():
    turned = np.ones((16, 1, 4, 4), np.float32).transpose(1, 0, 2, 3)[:, :, ::2, ::2]
    plan = model().plan(layouts="blocked", sizes=SIZES)
    wide = np.ones((1, 16, 4, 8), np.float32)[..., ::2]
    e = error_of(lambda: plan.run(wide))
    assert "`.contiguous()`" in e.remedy and "`numpy.ascontiguousarray(x)`" in e.remedy
    (y,) = plan.run(np.ascontiguousarray(wide))
    np.testing.assert_array_equal(y.numpy(), plan.run(bt.from_dlpack(wide).contiguous())[0].numpy())
    assert bt.ops.relu(turned).shape == (1, 16, 2, 2)


def test_calls_of_ops_that_errors_name_can_be_made():
    x = bt.from_dlpack(X)
    source = (Path(__file__).resolve().parents[1] / "src/words.rs").read_text()
    told = re.findall(r'format!\("(blocktensor\.ops\.[^"]+)"\)', source)
    assert len(told) == 2
    for call in told:
        eval(re.sub(r"\{\w+\}", "0", call), {"blocktensor": bt, "x": x})


def test_devices_are_written_as_python_writes_them():
    x = bt.from_dlpack(X)
    e = error_of(lambda: x.__dlpack__(dl_device=(2, 0)), bt.DlpackUnsupported)
    assert "argument `dl_device`: got (2, 0), but" in str(e) and "Some" not in str(e) and "stream" not in str(e)
    e = error_of(lambda: x.__dlpack__(stream=1), bt.DlpackUnsupported)
    assert "argument `stream`" in str(e) and "None" not in str(e)
    assert x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))


def test_complex_numbers_are_told_their_parts():
    x = np.array([1 + 2j, -3j], np.complex64)
    e = error_of(lambda: bt.ops.relu(x), bt.DlpackUnsupported)
    parts = re.findall(r"`(x\.[^`]+)`", e.remedy)
    assert len(parts) == 2
    for part, numbers in zip(parts, [x.real, x.imag], strict=True):
        np.testing.assert_array_equal(bt.ops.relu(eval(part)).numpy(), np.maximum(numbers, 0))


def test_packed_weights_are_not_written_as_in_rust():
    text = repr(bt.pack_linear(np.ones((3, 4), np.float32), rows=2, threads=1))
    assert text == "PackedWeights(linear packed for 2 rows of 4 to 3 f32 numbers on 1 thread)"


def onnx_of(op, inputs, dtype):
    """A model of one node, whose inputs and output have two elements of this type of ONNX."""

    def field(number, value):
        if isinstance(value, int):
            return bytes([number << 3, value])
        return bytes([number << 3 | 2, len(value)]) + value

    def tensor(name):
        shape = field(1, field(1, 2))
        return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))

    node = b"".join(field(1, name) for name in inputs) + field(2, b"y") + field(4, op)
    graph = field(1, node) + b"".join(field(11, tensor(name)) for name in dict.fromkeys(inputs)) + field(12, tensor(b"y"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 18))


@pytest.mark.parametrize(
    ("op", "inputs", "dtype", "name"),
    [(b"Add", [b"x", b"x"], 7, "int32"), (b"Not", [b"x"], 9, "uint8"), (b"Add", [b"x", b"x"], 1, "float32")],
)
def test_a_dtype_that_an_input_does_not_take(tmp_path, op, inputs, dtype, name):
    """The remedy names the dtype that it takes."""
    (tmp_path / "m.onnx").write_bytes(onnx_of(op, inputs, dtype))
    plan = bt.load_onnx(tmp_path / "m.onnx").plan(layouts="nchw")
    # Wider and narrower integers become those that the run computes with, Booleans too where it takes them.
    taken = {"int32": (np.int64, np.int16), "uint8": (np.bool_,), "float32": ()}[name]
    for wrong in {np.float64, np.int64, np.bool_, np.int16} - set(taken):
        x = np.ones(2, wrong)
        e = error_of(lambda x=x: plan.run(x), bt.DlpackUnsupported)
        assert f'`.astype("{name}")`' in e.remedy and f"`.to(torch.{name})`" in e.remedy, e.remedy
        assert e.remedy.count("astype") == 1, e.remedy
        assert ("if its numbers fit" in e.remedy) == (name == "int32" and wrong == np.int64)
        (y,) = plan.run(x.astype(name))
        assert y.shape == (2,)


def test_sizes_that_no_tensor_has_are_refused_by_the_planning():
    for sizes, kind in [([2**31, 2**31, 4], bt.Overflow), ([1] * 13, bt.RankMismatch)]:
        model = bt.Model()
        model.input("x", sizes)
        model.op("y", "neg", [("x", "x")], {}, ["y"])
        model.output("y", "y")
        e = error_of(lambda model=model: model.plan(layouts="nchw"), kind)
        start = f"op `plan`: argument `sizes`: got {sizes} of input `x`" if kind is bt.Overflow else "op `Model.plan`: argument `sizes`: got"
        assert str(e).startswith(start)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_inputs_of_integers_take_every_width(tmp_path, dtype):
    (tmp_path / "m.onnx").write_bytes(onnx_of(b"Add", [b"x", b"z"], 7))
    plan = bt.load_onnx(tmp_path / "m.onnx").plan(layouts="nchw")
    x, z = np.array([100, 2], dtype), np.array([7, 1, 3], dtype)[::2]
    # Nothing is copied of what has the run's own type, which is row-major then.
    z = z.copy() if dtype is np.int32 else z
    place = np.zeros(2, np.int32)
    plan.run_into([x, z], place)
    for given in (plan.run(x, z), plan.run({"z": z, "x": x}), plan.run(x, z=z), plan.run_timed(x, z)[0], [place]):
        assert np.asarray(given[0]).tolist() == [107, 5]
    for number in (2**31, 2**40, -(2**31) - 1, 2**64 - 1):
        if not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
            continue
        large = np.array([1, number], dtype)
        e = error_of(lambda large=large: plan.run(x, large), bt.InvalidArgument)
        assert str(e).startswith(f"op `run`: argument `z`: got {number} at index [1], but integers have 32 bits here")
        assert e.remedy == "pass numbers in this range"
        e = error_of(lambda large=large: plan.run_into([x, large], place), bt.InvalidArgument)
        assert str(e).startswith(f"op `run_into`: argument `z`: got {number} at index [1]")
    assert place.tolist() == [107, 5]
    # Objects with a buffer alone, too.
    plan_of_buffers = plan.run(memoryview(x), z=memoryview(np.array([7, 3], dtype)))
    assert np.asarray(plan_of_buffers[0]).tolist() == [107, 5]
    if np.iinfo(dtype).max > 2**31:
        e = error_of(lambda: plan.run(memoryview(np.array([1, 2**31], dtype)), z), bt.InvalidArgument)
        assert str(e).startswith(f"op `run`: argument `x`: got {2**31} at index [1], but integers have 32 bits here")
    # Only plans say that they take integers of any width.
    if dtype in (np.int64, np.uint16):
        error_of(lambda: bt.from_dlpack(x), bt.DlpackUnsupported)


def test_inputs_of_booleans_take_them(tmp_path):
    (tmp_path / "m.onnx").write_bytes(onnx_of(b"Not", [b"x"], 9))
    plan = bt.load_onnx(tmp_path / "m.onnx").plan(layouts="nchw")
    assert plan.run(np.array([True, False]))[0].numpy().tolist() == [0, 1]
    assert plan.run(np.array([1, 0], np.uint8))[0].numpy().tolist() == [0, 1]
    assert plan.run(memoryview(np.array([True, False])))[0].numpy().tolist() == [0, 1]


def is_taken_as_it_says(given, words, remedy):
    """Every door says what the array is, and the first call of the remedy makes one that is taken."""
    for call, op in ((bt.from_dlpack, "from_dlpack"), (bt.ops.relu, "relu"), (lambda x: two_inputs().run(left=x, **{"right side": x}), "run")):
        e = error_of(lambda call=call: call(given), bt.DlpackUnsupported)
        assert e.op == op and f"got {words}" in str(e) and "argument `" in str(e)
        (made,) = re.findall(remedy, e.remedy)
        assert call(eval(made, {"x": given, "numpy": np})) is not None


@pytest.mark.parametrize(
    ("array", "words", "remedy"),
    [
        (np.array([["1", "2.5", "3"]] * 2), "an array of text", r"`(x\.astype.*?)`"),
        (np.array([[b"1", b"2", b"3"]] * 2), "an array of text", r"`(x\.astype.*?)`"),
        (np.array([[1.0, 2, None]] * 2, dtype=object), "an array of Python objects", r"`(x\.astype.*?)`"),
        (np.array([["2026-01-02"] * 3] * 2, "datetime64[D]"), "an array of dates or times", r"`(\(\(x.*?)`"),
        (np.ma.masked_array(np.ones((2, 3), np.float32), [[1, 0, 0]] * 2), "an array with masked elements", r"`(x\.filled.*?)`"),
    ],
)
def test_arrays_that_are_no_numbers_are_named(array, words, remedy):
    is_taken_as_it_says(array, words, remedy)


def test_arrays_of_records_and_masks_without_a_masked_element():
    records = np.zeros((2, 3), [("a", "f4"), ("b", "f4")])
    e = error_of(lambda: bt.from_dlpack(records), bt.DlpackUnsupported)
    assert "got an array of records" in str(e) and '`x["name"]`' in e.remedy
    assert bt.from_dlpack(np.ma.masked_array(np.ones(3, np.float32), [0, 0, 0])).shape == (3,)


def test_results_have_no_memory_of_the_inputs(tmp_path):
    (tmp_path / "m.onnx").write_bytes(onnx_of(b"Identity", [b"x"], 1))
    identity = bt.load_onnx(tmp_path / "m.onnx").plan(layouts="nchw")
    model = bt.Model()
    model.input("x", [2, 3])
    model.op("y", "permute", [("x", "x")], {"axes": [1, 0]}, ["y"])
    model.output("y", "y")
    turned = model.plan(layouts="nchw")
    for plan, x in ((identity, np.array([1, 2], np.float32)), (turned, np.ones((2, 3), np.float32))):
        for given in (x, bt.from_dlpack(x)):
            for run in (plan.run, lambda *xs, plan=plan: plan.run_timed(*xs)[0]):
                (y,) = run(given)
                before, kept = y.numpy().copy(), x.copy()
                x += 5
                assert (y.numpy() == before).all() and not np.shares_memory(y.numpy(), x)
                x[...] = kept


def test_memory_that_only_a_copy_makes_right_is_named_by_its_argument():
    unaligned = np.frombuffer(bytearray(25), np.float32, offset=1).reshape(2, 3)
    # Not row-major, so that no run copies it.
    columns = np.frombuffer(bytearray(25), np.float32, offset=1).reshape(3, 2).T
    turned = np.ones((2, 3), np.float32)[::-1]
    plan, other, place = two_inputs(), np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    for x, kind in ((unaligned, bt.Misaligned), (columns, bt.Misaligned), (turned, bt.UnsupportedStride)):
        for given in (x, memoryview(x)):
            if x is not unaligned:
                e = error_of(lambda given=given: plan.run(left=given, **{"right side": other}), kind)
                assert str(e).startswith("op `run`: argument `left`: got ")
                (made,) = re.findall(r"`(numpy\.array.*?)`", e.remedy)
                assert plan.run(left=eval(made, {"x": given, "numpy": np}).copy(), **{"right side": other})
            assert str(error_of(lambda given=given: bt.ops.relu(given), kind)).startswith("op `relu`: argument `x`: got ")
        e = error_of(lambda x=x: plan.run_into([other, other], x), kind)
        assert str(e).startswith("op `run_into`: argument `y`: got ") and "numpy.empty([2, 3]" in e.remedy
    assert not place.any()
