"""Strings that UTF-8 has no bytes for: as a name a typed error, as a path the file that `os.open` would open."""

import os
import pathlib

import blocktensor as bt
import numpy as np
import pytest

X = np.ones((1, 16, 4, 4), np.float32)
T = bt.from_dlpack(X)
W = np.ones((16, 16, 3, 3), np.float32)
DATA = pathlib.Path(__file__).resolve().parents[3] / "tests/data/onnx_models"
LATIN = os.fsdecode(b"caf\xe9")


def model():
    m = bt.Model()
    m.input("x", [1, 16, 4, 4])
    m.op("y", "relu", [("x", "x")], {}, ["y"])
    m.output("y", "y")
    return m


CALLS = {
    "format": [lambda s: T.to_strided(s), lambda s: T.contiguous(s)],
    "dtype": [lambda s: T.to_dtype(s), lambda s: bt.zeros([1], dtype=s)],
    "layout": [
        lambda s: T.to_blocked(s),
        lambda s: bt.zeros([1], layout=s),
        lambda s: bt.pack_stem(np.ones((16, 3, 3, 3), np.float32), like=np.ones((1, 3, 8, 8), np.float32), layout=s),
    ],
    "key": [lambda s: bt.wrap(s, None, [1])],
    "name": [
        lambda s: bt.register_backend(s, print, print, {}),
        lambda s: model().input(s, [1]),
        lambda s: model().constant(s, W),
        lambda s: model().output(s, "y"),
    ],
    "value": [lambda s: model().output("z", s)],
    "kernels": [lambda s: bt.register_backend("py_named", print, print, {s: print})],
    "shape": [lambda s: model().input("z", [s])],
    "node": [lambda s: model().op(s, "relu", [("x", "x")], {}, ["z"])],
    "op": [lambda s: model().op("z", s, [("x", "x")], {}, ["z"])],
    "inputs": [lambda s: model().op("z", "relu", [(s, "x")], {}, ["z"]), lambda s: model().op("z", "relu", [("x", s)], {}, ["z"])],
    "outputs": [lambda s: model().op("z", "relu", [("x", "x")], {}, [s])],
    "params": [lambda s: model().op("z", "relu", [("x", "x")], {s: 1}, ["z"]), lambda s: bt.pack_conv(W, like=X, **{s: 1})],
    "batch_norm": [lambda s: bt.pack_conv(W, like=X, batch_norm={s: 1})],
    "names": [lambda s: model().with_outputs([s])],
    "layouts": [lambda s: model().plan(layouts=s)],
    "profiles": [lambda s: model().plan(profiles=s)],
    "sizes": [lambda s: model().plan(sizes={s: 1}), lambda s: model().missing({s: 1})],
    "mode": [lambda s: bt.ops.grid_sample(X, np.ones((1, 2, 2, 2), np.float32), mode=s)],
}


@pytest.mark.parametrize("text", ["\ud800", LATIN], ids=["lone", "latin"])
@pytest.mark.parametrize("argument", CALLS)
def test_names_are_typed_errors(argument, text):
    for call in CALLS[argument]:
        with pytest.raises(bt.InvalidArgument) as e:
            call(text)
        assert f"argument `{argument}`" in str(e.value) and "UTF-8" in str(e.value), str(e.value)
        # The text can be printed, and shows what was passed.
        assert str(e.value).encode() and repr(text) in str(e.value)
        assert "surrogates" in e.value.remedy


def test_paths_are_those_of_the_file_system(tmp_path):
    path = os.path.join(tmp_path, LATIN)
    model().plan().save(path)
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9"]
    np.testing.assert_array_equal(bt.load_plan(path).run(X)[0].numpy(), X)
    with pytest.raises(bt.CorruptFile, match="a plan"):
        bt.load_onnx(path)
    for call in [bt.load_onnx, bt.load_plan]:
        with pytest.raises(bt.FileAccess):
            call(path + "x")
    with pytest.raises(bt.FileAccess):
        model().plan().save(os.path.join(tmp_path, "nowhere", LATIN))


def test_paths_without_bytes_are_typed_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in [bt.load_onnx, bt.load_plan, model().plan().save]:
        with pytest.raises(bt.InvalidArgument) as e:
            call("\ud800")
        assert "argument `path`" in str(e.value) and "os.fsencode" in str(e.value) and r"'\ud800'" in str(e.value)
    assert os.listdir(tmp_path) == []


def test_the_bytes_of_a_model_are_no_path():
    data = (DATA / "resnet.onnx").read_bytes()
    for call in (bt.load_onnx, bt.load_plan, model().plan().save):
        for content in (data, data.replace(b"\0", b"?"), b"?" * 5000):
            with pytest.raises(bt.FileAccess) as e:
                call(content)
            assert len(str(e.value)) < 1000 and "not " in e.value.remedy, str(e.value)
    for content in (data, data.replace(b"\0", b"?"), b"\x08\x08:\x02ab"):
        with pytest.raises(bt.FileAccess, match="not the bytes that are in it: write those to a file first"):
            bt.load_onnx(content)


def test_defaults_are_in_the_signatures():
    assert "layout='contiguous'" in bt.zeros.__text_signature__
    assert "format='contiguous'" in bt.Tensor.to_strided.__text_signature__
    assert "layouts='measured'" in bt.Model.plan.__text_signature__


def test_paths_are_those_that_open_takes(tmp_path):
    """`str`, `bytes`, and paths of both."""
    plan = model().plan()

    class Bytes:
        def __init__(self, path):
            self.path = path

        def __fspath__(self):
            return os.fsencode(self.path)

    for i, made in enumerate([str, os.fsencode, pathlib.Path, Bytes]):
        path = made(tmp_path / f"{i}.plan")
        plan.save(path)
        assert bt.load_plan(path).inputs == plan.inputs
        with pytest.raises(bt.CorruptFile):
            bt.load_onnx(path)
    for call in (plan.save, bt.load_plan, bt.load_onnx):
        with pytest.raises(bt.InvalidArgument, match="argument `path`: got int, .*os.PathLike"):
            call(3)


def test_sizes_are_integers():
    assert bt.zeros(3).shape == (3,)
    assert bt.zeros((2, np.int64(3))).shape == (2, 3)
    for bad in ("12", 1.5, [1, "2"], None):
        with pytest.raises(bt.InvalidArgument, match="argument `shape`: got ") as e:
            bt.zeros(bad)
        assert ("sizes are an integer or a sequence" in str(e.value)) == (bad != [1, "2"])
    for bad in (-1, [2**70]):
        with pytest.raises(bt.InvalidArgument):
            bt.zeros(bad)


EMPTY = {
    "name": [lambda s: model().input(s, [1]), lambda s: model().constant(s, W), lambda s: model().output(s, "y")],
    "shape": [lambda s: model().input("z", [s])],
    "node": [lambda s: model().op(s, "relu", [("x", "x")], {}, ["z"])],
    "outputs": [lambda s: model().op("z", "relu", [("x", "x")], {}, [s])],
}


@pytest.mark.parametrize("text", ["", "a\0b", "\0"], ids=repr)
@pytest.mark.parametrize("argument", EMPTY)
def test_names_have_characters_and_no_nul(argument, text):
    for call in EMPTY[argument]:
        with pytest.raises(bt.InvalidArgument) as e:
            call(text)
        assert f"argument `{argument}`: got `" in str(e.value) and e.value.remedy == "choose another name", str(e.value)
        assert "a name has characters, and none is NUL" in str(e.value) and "\0" not in str(e.value)


def test_a_node_has_a_name_for_each_result():
    for outputs in (["a"], ["a", "b", "c"], []):
        m = bt.Model()
        m.input("x", [4])
        with pytest.raises(bt.Error, match=r"node `s` \(sort\), outputs: got [013] names?; `sort` has 2 results; pass one name for each"):
            m.op("s", "sort", [("x", "x")], {"axis": 0}, outputs)
        # It was not added.
        m.op("s", "sort", [("x", "x")], {"axis": 0}, ["a", "b"])
    for outputs in (["a"], ["a", "b", "c"]):
        m = bt.Model()
        m.input("x", [4])
        m.op("s", "chunk", [("x", "x")], {"chunks": 2, "axis": 0}, outputs)
        m.output("a", "a")
        with pytest.raises(bt.Error, match=r"node `s` \(chunk\), outputs: got [13] names?; it has 2 results; pass one name for each"):
            m.plan(layouts="nchw")


def test_one_name_is_a_list_of_one():
    assert model().with_outputs("y").outputs == model().with_outputs(["y"]).outputs == ["y"]
    m = bt.Model()
    m.input("image", [4])
    m.op("r", "relu", [("x", "image")], {}, "image2")
    assert m.with_outputs("image2").outputs == ["image2"]


@pytest.mark.parametrize("names", [3, None, [3], ["y", None]], ids=repr)
def test_lists_of_names_are_typed_errors(names):
    with pytest.raises(bt.InvalidArgument, match="argument `names`: got .*, but it is a name, or a sequence of names"):
        model().with_outputs(names)
    with pytest.raises(bt.InvalidArgument, match="argument `outputs`: got .*, but it is a name, or a sequence of names"):
        model().op("z", "relu", [("x", "x")], {}, names)


@pytest.mark.parametrize("inputs", [3, None, "x", ["x"], [("x",)], [("x", 3)], {"x": "y"}], ids=repr)
def test_inputs_are_pairs_of_names(inputs):
    with pytest.raises(bt.InvalidArgument, match="argument `inputs`: got .*, but it is a sequence of pairs"):
        model().op("z", "relu", inputs, {}, ["z"])


def test_parameters_have_names():
    with pytest.raises(bt.InvalidArgument, match="argument `params`: got 3, but it is a mapping from names to parameters"):
        model().op("z", "relu", [("x", "x")], {3: 1}, ["z"])
