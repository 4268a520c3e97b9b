"""`blocktensor.ray.Predictor` as a plain callable: no Ray is needed. `make ray` runs it on Ray (`scripts/ray_demo.py`)."""

import io
import os
import pickle
import re
import subprocess
import sys
import types

import blocktensor as bt
import blocktensor.ray as btr
import numpy as np
import pytest
from blocktensor.ray._images import Images

RED = np.tile(np.array([255, 0, 51], np.uint8), (6, 8, 1))


def model(batch="batch", channels=3, last="relu", **params):
    m = bt.Model()
    m.input("pixels", [batch, channels, 6, 8])
    weights = np.zeros((16, channels, 1, 1), np.float32)
    weights[np.arange(channels), np.arange(channels)] = 1
    m.constant("w", weights)
    m.op("conv", "conv2d", [("x", "pixels"), ("weights", "w")], {}, ["conv"])
    m.op("last", last, [("x", "conv")], params, ["last"])
    m.op("mean", "global_avg_pool", [("x", "last")], {}, ["mean"])
    m.op("flat", "flatten", [("x", "mean")], {"start": 1, "end": 3}, ["flat"])
    m.output("features", "flat")
    return m


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Four images in a run. The features are the means of the channels."""
    path = tmp_path_factory.mktemp("ray") / "four.plan"
    model().plan(layouts="blocked", sizes={"batch": 4}).save(path)
    return path


def images(count):
    """f32 images, whose first channel is the row's number."""
    made = np.zeros((count, 3, 6, 8), np.float32)
    made[:, 0] = np.arange(count)[:, None, None]
    return made


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 11])
def test_rows_keep_their_order_and_columns_and_the_last_run_is_filled(plan, count):
    predict = btr.Predictor(plan)
    ids = np.arange(100, 100 + count)
    for _ in range(2):
        done = predict({"image": images(count), "id": ids})
        assert list(done) == ["id", "features", "error", "worker", "started", "finished", "reorders"]
        assert done["id"] is ids and done["features"].shape == (count, 16)
        assert done["features"][:, 0].tolist() == list(range(count)) and not done["features"][:, 1:].any()
        assert done["error"].tolist() == [""] * count and done["features"].dtype == np.float32
        assert (done["finished"] >= done["started"]).all()
        assert set(done["reorders"].tolist()) <= {len(bt.load_plan(plan).reorders)}
        assert all(worker.endswith(f":{os.getpid()}") for worker in done["worker"])


def bad():
    """Rows that are no image for the plan, with the text that each one gets."""
    return [
        (None, "null"),
        (b"", "no bytes"),
        ("a path", "str, not bytes or an array"),
        (np.zeros((3, 6, 8), np.float64), "got float64"),
        (np.zeros((3, 6, 9), np.float32), r"got \[3, 6, 9\] in f32, the plan takes \[3, 6, 8\]"),
        (np.zeros((6, 8, 4), np.uint8), r"got \[6, 8, 4\] in u8, the plan takes 3 channels"),
        (np.zeros((3, 6, 8), np.uint8), r"got \[3, 6, 8\] in u8"),
        (np.zeros((6, 8, 3), np.uint16), "got uint16; pixels are u8"),
        (np.zeros((0, 8, 3), np.uint8), "without pixels"),
        (np.zeros((7, 8, 3), np.uint8), r"got 7x8, the plan takes 6x8; pass `resize=\(6, 8\)`"),
        ({"path": "x"}, "null"),
    ]


def column(rows):
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


def test_bad_images_are_rows_with_a_text_and_the_others_are_computed(plan):
    predict = btr.Predictor(plan)
    rows, good = [], images(2 * len(bad()))
    for i, (image, _) in enumerate(bad()):
        rows += [good[2 * i], image]
    done = predict({"image": column(rows), "id": np.arange(len(rows))})
    assert done["id"].tolist() == list(range(len(rows)))
    assert done["features"][::2, 0].tolist() == list(range(0, len(rows), 2)) and not any(done["error"][::2])
    assert np.isnan(done["features"][1::2]).all() and not done["reorders"][1::2].any()
    for text, (_, wanted) in zip(done["error"][1::2], bad(), strict=True):
        assert re.search(wanted, text), text
    # A bad image leaves nothing behind for the next call.
    assert predict({"image": images(4)})["features"][:, 0].tolist() == [0, 1, 2, 3]


def test_pixels_are_scaled(plan):
    for options, wanted in [
        ({}, [1, 0, 0.2]),
        ({"mean": 0.5, "std": 0.25}, [2, 0, 0]),
        ({"mean": (-1, -2, 0), "std": (1, 2, 0.5)}, [2, 1, 0.4]),
    ]:
        for image in (RED, np.ascontiguousarray(RED.transpose(2, 0, 1) / np.float32(255))):
            done = btr.Predictor(plan, **options)({"image": image[None]})
            np.testing.assert_allclose(done["features"][0, :3], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_every_pixel_keeps_its_place(channels):
    pixels = np.arange(6 * 8 * channels, dtype=np.uint8).reshape(6, 8, channels)
    mean, std = np.arange(channels, dtype=np.float32) / 8, np.arange(1, 1 + channels, dtype=np.float32)
    place, options = np.empty((channels, 6, 8), np.float32), (mean, std, None)
    images = Images.of((channels, 6, 8), None, False, *options)
    wanted = ((pixels / 255 - mean) / std).transpose(2, 0, 1)
    for image in [pixels, (pixels / np.float32(255)).transpose(2, 0, 1), *([pixels[:, :, 0]] if channels == 1 else [])]:
        place[...] = 7
        images.place(image, place)
        np.testing.assert_allclose(place, wanted, atol=1e-6)
    images.place(encoded(pixels if channels == 3 else pixels[:, :, 0]), place)
    np.testing.assert_allclose(place, wanted, atol=1e-6)
    Images.of((channels, 3, 4), (6, 8), True, *options).place(pixels, place[:, :3, :4])
    np.testing.assert_allclose(place[:, :3, :4], wanted[:, 1:4, 2:6], atol=1e-6)


def test_the_columns_have_the_names_that_are_asked_for(plan):
    predict = btr.Predictor(plan, input="picture", output="scores", error="why", keep_input=True, report=False)
    assert list(predict({"picture": images(1), "error": np.array(["mine"])})) == ["picture", "error", "scores", "why"]
    # The image may give its name to a result.
    assert list(btr.Predictor(plan, output="image", report=False)({"image": images(1)})) == ["image", "error"]
    for options, batch, text in [
        ({}, {"picture": images(1)}, "the batch has the columns `picture`; pass one of these as `input`"),
        ({}, {"image": images(1), "error": [1], "worker": [1]}, "columns `error`, `worker`; results have these names"),
        ({"output": "image", "keep_input": True}, {"image": images(1)}, "columns `image`"),
        ({}, [images(1)], "batch_format"),
    ]:
        with pytest.raises(bt.InvalidArgument, match=text) as e:
            btr.Predictor(plan, **options)(batch)
        assert e.value.op == "blocktensor.ray.Predictor" and e.value.remedy


def test_options_are_checked_at_once(plan, tmp_path):
    for options, text in [
        ({"resize": 0}, "pass a positive integer"),
        ({"resize": "6"}, "argument `resize`"),
        ({"resize": True}, "argument `resize`"),
        ({"resize": (6,)}, "argument `resize`"),
        ({"resize": (8, 6)}, r"pass `resize=\(6, 8\)`"),
        ({"resize": 5, "crop": True}, "the plan takes images of 6x8"),
        ({"mean": (1, 2)}, "3 channels"),
        ({"mean": "a"}, "pass numbers"),
        ({"std": 0}, "divided"),
        ({"std": np.nan}, "finite"),
        ({"decode": 3}, "function"),
        ({"output": ["a", "b"]}, "the plan's results are `features`"),
        ({"output": "error"}, "different names"),
        ({"error": "worker"}, "different names"),
    ]:
        with pytest.raises(bt.InvalidArgument, match=text) as e:
            btr.Predictor(plan, **options)
        assert e.value.remedy in str(e.value) and e.value.operands
    with pytest.raises(bt.FileAccess):
        btr.Predictor(tmp_path / "nothing.plan")


def test_plans_of_another_form_are_refused(tmp_path):
    path = tmp_path / "other.plan"
    m = bt.Model()
    m.input("x", [2, 5])
    m.op("y", "relu", [("x", "x")], {}, ["y"])
    m.output("y", "y")
    m.plan().save(path)
    with pytest.raises(bt.InvalidArgument, match=r"a plan of `x` f32 \[2, 5\]; the plan has one input, images"):
        btr.Predictor(path)
    m = bt.Model()
    m.input("x", [2, 3, 4, 4])
    m.op("y", "flatten", [("x", "x")], {"start": 0, "end": 3}, ["y"])
    m.output("y", "y")
    m.plan().save(path)
    with pytest.raises(bt.InvalidArgument, match=r"result `y` of \[96\]; each result has one row for each of the 2 images"):
        btr.Predictor(path)


def test_integers_and_several_results(tmp_path):
    path = tmp_path / "two.plan"
    m = model(2)
    m.op("best", "argmax", [("x", "flat")], {"axis": 1}, ["best"])
    m.output("best", "best")
    m.plan(layouts="nchw").save(path)
    done = btr.Predictor(path, output=["scores", "class"])({"image": column([RED, None, RED[:, :, ::-1].copy()])})
    assert done["class"].tolist() == [0, -(2**31), 2] and done["class"].dtype == np.int32
    assert done["scores"].shape == (3, 16) and np.isnan(done["scores"][1]).all()


def encoded(array, form="PNG", **options):
    image = pytest.importorskip("PIL.Image").fromarray(array)
    place = io.BytesIO()
    image.save(place, form, **options)
    return place.getvalue()


def test_encoded_images_and_damaged_ones(plan):
    png = encoded(RED)
    rows = [
        (png, ""),
        ({"bytes": png, "path": None}, ""),
        (encoded(RED, "JPEG", quality=95), ""),
        (encoded(np.full((6, 8), 51, np.uint8)), ""),
        (encoded(np.dstack([RED, np.full((6, 8), 255, np.uint8)])), ""),
        (png[: len(png) // 2], "cannot be decoded"),
        (b"no image at all", "cannot be decoded: no format that pillow knows"),
        (encoded(np.dstack([RED, np.full((6, 8), 9, np.uint8)])), "transparent pixels"),
        (encoded(np.full((6, 8), 3000, np.uint16)), "mode I;16"),
        (encoded(np.zeros((9, 9, 3), np.uint8)), "got 9x9, the plan takes 6x8"),
    ]
    done = btr.Predictor(plan)({"image": column([row for row, _ in rows])})
    for (_, wanted), text in zip(rows, done["error"], strict=True):
        assert wanted in text and bool(wanted) == bool(text), text
        assert "object at" not in text
    np.testing.assert_allclose(done["features"][[0, 1, 4], :3], [[1, 0, 0.2]] * 3, rtol=1e-6)
    np.testing.assert_allclose(done["features"][3, :3], 0.2, rtol=1e-6)
    np.testing.assert_allclose(done["features"][2, :3], [1, 0, 0.2], atol=0.05)


def test_remedies_for_sizes_work(plan):
    pytest.importorskip("PIL.Image")
    wide = np.zeros((20, 90, 3), np.uint8)
    wide[:, 30:60] = 255
    (text,) = btr.Predictor(plan)({"image": wide[None]})["error"]
    for options in re.findall("`(resize=[^`]*)`", text):
        done = btr.Predictor(plan, **eval(f"dict({options})"))({"image": wide[None]})
        assert done["error"].tolist() == [""], options
        # Stretched, a third is white; of the centre, all.
        np.testing.assert_allclose(done["features"][0, 0], 1 if "crop" in options else 1 / 3, atol=0.02)
    # The centre without resizing: images that are smaller have none.
    done = btr.Predictor(plan, crop=True)({"image": column([wide, wide[:5]])})
    assert done["features"][0, 0] == 1 and "got 5x90" in done["error"][1]
    thin = np.zeros((1, 50_000, 3), np.uint8)
    assert "too many pixels" in btr.Predictor(plan, resize=3000, crop=True)({"image": thin[None]})["error"][0]


def test_a_decoder_of_the_callers(plan):
    def decode(data):
        if data == b"bad":
            raise KeyError("what")
        return {b"pixels": RED, b"text": "none"}[data]

    done = btr.Predictor(plan, decode=decode)({"image": column([b"pixels", b"bad", b"text", b"pixels"])})
    assert done["error"].tolist() == ["", "decode: KeyError: 'what'", "no image: str, not bytes or an array", ""]
    np.testing.assert_allclose(done["features"][[0, 3], :3], [[1, 0, 0.2]] * 2, rtol=1e-6)


def test_tables_of_pyarrow_keep_their_types(plan):
    pa = pytest.importorskip("pyarrow")
    ids = pa.array([2**60 + 1, None, 7], pa.int64())
    table = pa.table({"image": pa.array([encoded(RED), b"bad", None]), "id": ids, "when": pa.array([1, 2, 3], pa.timestamp("us", "UTC"))})
    done = btr.Predictor(plan)(table)
    assert done.column_names == ["id", "when", "features", "error", "worker", "started", "finished", "reorders"]
    assert done["id"].to_pylist() == ids.to_pylist() and done["when"].type == table["when"].type
    assert done["features"].type == pa.fixed_shape_tensor(pa.float32(), [16]) and done["features"].to_pylist()[0][0] == 1
    assert [bool(text) for text in done["error"].to_pylist()] == [False, True, True]
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(images(5))
    done = btr.Predictor(plan)(pa.table({"image": tensors}))
    assert [row[0] for row in done["features"].to_pylist()] == [0, 1, 2, 3, 4]
    empty = btr.Predictor(plan)(table[:0])
    assert (empty.num_rows, empty.column_names[2:]) == (0, done.column_names)


def test_only_the_planned_reorders_happen(plan):
    predict = btr.Predictor(plan)
    planned = predict.plan.reorders
    assert planned
    assert predict({"image": images(5)})["reorders"].tolist() == [len(planned)] * 5

    class Watched:
        """The plan, which shows what it runs on."""

        reorders = planned

        def run_into(self, inputs, places):
            ran.append(inputs[0][:, 0, 0, 0].tolist())
            plan_itself.run_into(inputs, places)

    ran, plan_itself = [], predict.plan
    predict.plan = Watched()
    predict({"image": images(6)})
    assert ran == [[0, 1, 2, 3], [4, 5, 0, 0]]
    predict.plan = plan_itself

    class Fewer:
        """The plan, which claims to need one reorder less."""

        reorders = planned[1:]
        run_into = predict.plan.run_into

    predict.plan = Fewer()
    with pytest.raises(bt.ReorderDenied):
        predict({"image": images(5)})


class Actor:
    """What Ray says in an actor."""

    def __init__(self, cpus, id="a"):
        context = types.SimpleNamespace(get_assigned_resources=lambda: {"CPU": cpus} if cpus else {}, get_actor_id=lambda: id)
        self.is_initialized, self.get_runtime_context = lambda: True, lambda: context


@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (1.0, 1), (0.5, 1), (0, 1)])
def test_an_actors_cpus_are_its_threads(plan, tmp_path, monkeypatch, cpus, threads):
    path = tmp_path / "one.plan"
    model().plan(layouts="blocked", sizes={"batch": 1}, threads=threads).save(path)
    monkeypatch.setitem(sys.modules, "ray", Actor(cpus))
    predict = btr.Predictor(path)
    assert predict.plan.threads == threads
    assert predict({"image": images(3)})["features"][:, 0].tolist() == [0, 1, 2]
    # In the program that starts the actors, a process has its own number.
    monkeypatch.setitem(sys.modules, "ray", Actor(cpus, id=None))
    assert btr.Predictor(plan).plan.threads is None


REMEDIES = """
import re, sys, types, blocktensor as bt, blocktensor.ray as btr, numpy as np
def actor(cpus):
    context = types.SimpleNamespace(get_assigned_resources=lambda: {"CPU": cpus}, get_actor_id=lambda: "a")
    sys.modules["ray"] = types.SimpleNamespace(is_initialized=lambda: True, get_runtime_context=lambda: context)
actor(1.0)
for path in sys.argv[1:]:
    try:
        btr.Predictor(path)
    except bt.PackMismatch as e:
        print(e)
        remedy = e.remedy
print(btr.Predictor(path, replan=True).plan.threads)
actor(float(re.search("num_cpus=([0-9]+)", remedy)[1]))
print(btr.Predictor(path).plan.threads)
"""


def test_a_plan_for_other_threads_says_what_to_do_and_that_works(tmp_path):
    two, kept = tmp_path / "two.plan", tmp_path / "kept.plan"
    made = [sys.executable, "-c", "import sys; sys.path[:0] = [sys.argv[1]]; import test_ray; test_ray.save_two(*sys.argv[2:])"]
    here = os.path.dirname(__file__)
    for command in ([*made, here, str(two), str(kept)], [sys.executable, "-c", REMEDIES, str(two), str(kept)]):
        # A process that has two threads, whatever the machine.
        environment = os.environ | {"RAYON_NUM_THREADS": "2"}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
    first, second, again, threads = ran.stdout.splitlines()
    for text in (first, second):
        assert "is packed for 2 threads, and this actor has num_cpus=1: 1 thread; pass `num_cpus=2`" in text
    assert (again, threads) == ("1", "2")


def save_two(two, kept):
    made = model().plan(layouts="blocked", sizes={"batch": 1}, threads=2)
    made.save(two)
    made.save(kept, keep_plain=True)


def test_missing_packages_say_how_to_install_them(plan, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.split(".")[0] in ("PIL", "ray")]:
        monkeypatch.delitem(sys.modules, name)

    class Nothing:
        def find_spec(self, name, path=None, target=None):
            if name in ("PIL", "ray"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Nothing(), *sys.meta_path])
    with pytest.raises(bt.MissingPackage, match=r"blocktensor.ray.read_images needs .* run `pip install 'ray\[data\]'`") as e:
        btr.read_images(tmp_path)
    assert isinstance(e.value, ImportError) and e.value.remedy
    # Without pillow no row would have an image: that is an error of the call, and not of each row.
    with pytest.raises(bt.MissingPackage, match="run `pip install pillow`"):
        btr.Predictor(plan)({"image": column([b"some bytes"])})
    assert btr.Predictor(plan)({"image": images(1)})["error"].tolist() == [""]


def test_errors_travel_between_processes(plan):
    with pytest.raises(bt.InvalidArgument) as e:
        btr.Predictor(plan, resize=0)
    again = pickle.loads(pickle.dumps(e.value))
    assert (str(again), again.remedy, again.operands) == (str(e.value), e.value.remedy, ["resize"])


def test_a_summary_counts_rows_once(plan):
    predict, summary = btr.Predictor(plan), btr.Summary()
    for count in (5, 3):
        summary.add(predict({"image": column([*images(count), None])}))
    assert (summary.images, summary.errors, summary.reorders) == (10, 2, {len(predict.plan.reorders)})
    (worker,) = summary.workers.values()
    assert worker.images == 10 and len(worker.batches) == 2
    assert summary.seconds > 0 and summary.images_per_second > 0 and worker.images_per_second >= summary.images_per_second
    assert "10 images, 2 with an error" in str(summary) and "1 reorder per run" in str(summary)
    assert str(btr.Summary()).startswith("0 images")
    with pytest.raises(bt.InvalidArgument, match="a batch without `worker`"):
        summary.add(btr.Predictor(plan, report=False)({"image": images(1)}))
