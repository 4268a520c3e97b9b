//! Plans in files.

use rten_onnx::onnx::DataType;
use serde_json::Value;

use crate::support::{data, model, run, text, unary, write_i64s, write_npy};

#[test]
fn a_packed_plan_runs_like_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("resnet.plan");
    let (model, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    let check = data("resnet.output.npy");
    let packed = run(&["pack", &model, "--size", "batch=2", "-o", text(&plan), "--json"]);
    let packed = packed.succeeds().json();
    assert_eq!(packed["layout"], "measured");
    assert_eq!(packed["bytes"], std::fs::metadata(&plan).unwrap().len());

    let done = run(&["run", text(&plan), "--input", &image, "--check-outputs", &check, "--json"]);
    let report = done.succeeds().json();
    assert_eq!(report["layout"], "measured");
    assert_eq!(report["checks"][0]["passed"], true);
    // The bound is that of the plan's steps.
    let steps = |args: &[&str]| run(args).succeeds().json()["steps"].as_array().unwrap().clone();
    let otherwise = |steps: &[Value]| steps.iter().any(|step| !step["rounds_otherwise"].is_null());
    let bound = if otherwise(&steps(&["plan", text(&plan), "--json"])) { 3e-5 } else { 1e-5 };
    assert_eq!(report["checks"][0]["tolerance"], bound);
    let exact = ["--size", "batch=2", "--exact", "--json"];
    assert!(!otherwise(&steps(&[&["plan", &model], &exact[..]].concat())));
    let args = ["--input", &image, "--check-outputs", &check];
    let report = run(&[&["run", &model], &args[..], &exact[..]].concat()).succeeds().json();
    assert_eq!(report["checks"][0]["tolerance"], 1e-5);
    // The same file gives the same bits, in each process.
    let outputs = ["a.npy", "b.npy"].map(|name| folder.path().join(name));
    for output in &outputs {
        run(&["run", text(&plan), "--input", &image, "--save", text(output)]).succeeds();
    }
    let [a, b] = outputs.map(|output| std::fs::read(output).unwrap());
    assert_eq!(a, b);

    let explained = run(&["plan", text(&plan), "--explain"]);
    let explained = &explained.succeeds().out;
    assert!(explained.contains("sum of nodes and reorders") && explained.contains("kept"), "{explained}");
    run(&["bench", text(&plan), "--runs", "2", "--layers"]).succeeds();
    // A copy of the plan is the same plan.
    let copy = folder.path().join("copy.plan");
    run(&["pack", text(&plan), "-o", text(&copy)]).succeeds();
    assert_eq!(std::fs::read(&plan).unwrap(), std::fs::read(&copy).unwrap());
}

#[test]
fn models_that_compute_with_integers_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(
        folder.path(),
        &[("x", DataType::FLOAT, &[4])],
        &[("y", DataType::INT64, &[1])],
        &[("ArgMax", &["x"], &["i"]), ("Add", &["i", "i"], &["y"])],
    );
    let (plan, x, y) =
        (folder.path().join("i.plan"), folder.path().join("x.npy"), folder.path().join("y.npy"));
    write_npy(&x, "<f4", [1f32, 5.0, 7.0, 2.0].map(f32::to_le_bytes));
    write_i64s(&y, &[4]);
    run(&["pack", text(&path), "-o", text(&plan)]).succeeds();
    run(&["run", text(&plan), "--input", text(&x), "--check-outputs", text(&y)]).succeeds();
    // Another size needs another plan.
    write_npy(&x, "<f4", [1f32, 5.0, 7.0].map(f32::to_le_bytes));
    run(&["run", text(&plan), "--input", text(&x)]).fails(2, &["the sizes [3]", "`pack --size`"]);
}

/// Planning runs with zeros: the divisor is 0 there, and in no run.
#[test]
fn a_divisor_that_an_input_gives_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(
        folder.path(),
        &[("x", DataType::FLOAT, &[4])],
        &[("y", DataType::INT64, &[1])],
        &[("ArgMax", &["x"], &["i"]), ("Add", &["i", "i"], &["j"]), ("Div", &["j", "i"], &["y"])],
    );
    let (x, y) = (folder.path().join("x.npy"), folder.path().join("y.npy"));
    write_npy(&x, "<f4", [1f32, 5.0, 7.0, 2.0].map(f32::to_le_bytes));
    write_i64s(&y, &[2]);
    for layout in [&["measured", "--no-cache"][..], &["nchw"]] {
        let args = [&["run", text(&path), "--input", text(&x), "--layout"], layout].concat();
        run(&[&args[..], &["--check-outputs", text(&y)]].concat()).succeeds();
    }
    write_npy(&x, "<f4", [7f32, 5.0, 3.0, 2.0].map(f32::to_le_bytes));
    run(&["run", text(&path), "--input", text(&x)]).fails(1, &["divisor", "integers are not divided by 0"]);
}

#[test]
fn types_are_those_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(
        folder.path(),
        &[("x", DataType::FLOAT, &[4]), ("k", DataType::UINT8, &[2])],
        &[("y", DataType::BOOL, &[4]), ("i", DataType::INT64, &[1]), ("c", DataType::BOOL, &[2])],
        &[("IsNaN", &["x"], &["y"]), ("ArgMax", &["x"], &["i"]), ("Equal", &["k", "k"], &["c"])],
    );
    let plan = folder.path().join("i.plan");
    run(&["pack", text(&path), "-o", text(&plan)]).succeeds();
    for file in [&path, &plan] {
        let report = run(&["plan", text(file), "--json"]).succeeds().json();
        let types =
            |of: &str| report[of].as_array().unwrap().iter().map(|t| t["type"].clone()).collect::<Vec<_>>();
        assert_eq!(types("inputs"), ["f32", "u8"]);
        assert_eq!(types("outputs"), ["bool", "i64", "bool"]);
    }
}

#[test]
fn what_a_packed_plan_has_decided_is_not_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("relu.plan");
    let relu = unary(folder.path(), "Relu", &[1, 2, 3, 4]);
    run(&["pack", text(&relu), "--output", text(&plan), "--layout", "nchw"]).succeeds();
    for option in [&["--layout", "nhwc"][..], &["--without", "fuse_post_ops"], &["--outputs", "y"]] {
        let args = [&["run", text(&plan), "--random"][..], option].concat();
        run(&args).fails(2, &[option[0], "plan already", "`blocktensor pack` with the ONNX file"]);
    }
    run(&["run", text(&plan), "--random", "--size", "n=1"]).fails(2, &["--size"]);
    run(&["bench", text(&plan), "--compare-layouts"]).fails(2, &["--compare-layouts", "ONNX file"]);
    run(&["ops", text(&plan)]).fails(2, &["a plan", "ONNX file"]);
    run(&["run", text(&relu), "--random", "--replan"]).fails(2, &["--replan", "leave it out"]);
    run(&["pack", text(&relu), "-o", text(&relu)]).fails(2, &["--output", "the program reads this file"]);
    // A file of something else stays: it may hold the model's weights.
    let weights = folder.path().join("weights.bin");
    std::fs::write(&weights, [7; 100]).unwrap();
    run(&["pack", text(&relu), "-o", text(&weights)])
        .fails(2, &["--output", "it exists, and is a file of another kind"]);
    assert_eq!(std::fs::read(&weights).unwrap(), [7; 100]);
    run(&["pack", text(&relu), "-o", text(folder.path())]).fails(2, &["--output", "is a directory"]);
    assert_eq!(
        run(&["run", text(&plan), "--random", "--json"]).succeeds().json()["layout_is_default"],
        false
    );
    let nowhere = folder.path().join("no/where.plan");
    run(&["pack", text(&relu), "-o", text(&nowhere)]).fails(2, &["--output", "folder"]);
}

#[test]
fn planning_again_measures_nothing_where_the_layouts_are_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[1, 2, 3, 4]);
    for (layout, is_fixed) in [("nhwc", true), ("measured", false)] {
        let plan = folder.path().join(layout);
        run(&["pack", text(&relu), "-o", text(&plan), "--layout", layout, "--keep-plain"]).succeeds();
        for option in ["--offline", "--no-cache"] {
            let said = run(&["run", text(&plan), "--random", "--replan", option]);
            match is_fixed {
                true => said.fails(2, &[option, "for measured layouts, and the file's are nhwc"]),
                false => drop(said.succeeds()),
            };
        }
    }
}

#[cfg(feature = "onednn")]
#[test]
fn a_plan_for_another_number_of_threads_is_refused_or_planned_again() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, plain) = (folder.path().join("one.plan"), folder.path().join("plain.plan"));
    let (model, image, check) = (data("resnet.onnx"), data("resnet.image.npy"), data("resnet.output.npy"));
    let args = ["pack", &model, "--size", "batch=2", "--threads", "1", "--layout", "blocked"];
    run(&[&args[..], &["-o", text(&plan)]].concat()).succeeds();
    run(&[&args[..], &["-o", text(&plain), "--keep-plain"]].concat()).succeeds();
    let run_it = |plan, more: &[&str]| {
        let args = ["run", plan, "--input", &image, "--check-outputs", &check, "--threads", "2"];
        run(&[&args[..], more].concat())
    };
    let threads = "error: --threads: got a plan packed for 1 thread, but a run here has 2 threads; \
                   pass the number of threads that it was packed for";
    let said = run_it(text(&plan), &[]);
    said.fails(2, &[threads]);
    said.fails(2, &["times the streams), or pack the model again here: the file has no plain weights"]);
    assert!(!said.err.contains("pass --replan"), "{}", said.err);
    run_it(text(&plain), &[]).fails(2, &["times the streams), pass --replan, or pack the model again here"]);
    run_it(text(&plan), &["--replan"]).fails(2, &["error: --threads: ", "plain weights", "--keep-plain"]);
    // Planning again takes more time than reading the file.
    let replanned = run_it(text(&plain), &["--replan", "--json"]).succeeds().json();
    let time = |of: &str| replanned["times"][of].as_f64().unwrap();
    assert!(time("plan_ms") > 1.0 && time("read_ms") >= 0.0, "{replanned}");
    // The number of threads is shared out to the streams.
    let bench = |threads| {
        let args = ["bench", text(&plan), "--runs", "1", "--streams", "2", "--threads", threads];
        run(&args)
    };
    bench("4").fails(2, &["--streams that number times the streams)"]);
    bench("2").succeeds();
}

#[test]
fn plans_in_bf16_keep_no_plain_weights() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("a.plan");
    let args = ["pack", &data("resnet.onnx"), "--size", "batch=1", "--layout", "nhwc", "--precision", "bf16"];
    run(&[&args[..], &["-o", text(&plan), "--keep-plain"]].concat())
        .fails(2, &["--keep-plain: the weights of a plan in bf16 are rounded", "leave --precision out"]);
    assert!(!plan.exists());
    let packed = run(&[&args[..], &["-o", text(&plan)]].concat());
    if !blocktensor::dispatch::Isa::Avx512Bf16.is_here() || blocktensor::build_info().engine.is_none() {
        packed.fails(1, &["precision: got bf16; this ", "leave it out, and the plan computes in f32"]);
        return;
    }
    packed.succeeds();
    run(&["run", text(&plan), "--random"]).succeeds();
    assert!(run(&["plan", text(&plan)]).succeeds().out.contains("precision: bf16"));
    let said = run(&["plan", text(&plan), "--errors"]);
    said.fails(2, &["--errors: the file has packed weights without the plain ones; pass the ONNX file"]);
    assert!(!said.err.contains("--keep-plain"), "{}", said.err);
    let copy = folder.path().join("copy.plan");
    run(&["pack", text(&plan), "-o", text(&copy), "--keep-plain"]).fails(
        2,
        &["error: --keep-plain: got a plan in bf16, but its weights are rounded", "; leave it out, "],
    );
    let (image, check) = (data("resnet.image.npy"), data("resnet.output.npy"));
    let checked = ["run", &data("resnet.onnx"), "--input", &image, "--check-outputs", &check, "--offline"];
    let bf16 = [&checked[..], &["--precision", "bf16"]].concat();
    run(&bf16).fails(1, &["the plan computes in bf16", "pass a larger --tolerance, such as 2e-2"]);
    run(&[&bf16[..], &["--tolerance", "2e-2"]].concat()).succeeds();
}

/// The file says that nothing was to be measured.
#[cfg(feature = "onednn")]
#[test]
fn a_plan_that_was_estimated_is_estimated_again() {
    use crate::support::{command, done};

    let folder = tempfile::tempdir().unwrap();
    let (model, kept) = (data("resnet.onnx"), folder.path().join("profiles"));
    let mut measured = Vec::new();
    for options in [&["--offline"][..], &[]] {
        let plan = folder.path().join("a.plan");
        let args = ["pack", &model, "--size", "batch=1", "--threads", "1", "--keep-plain", "-o", text(&plan)];
        run(&[&args[..], options].concat()).succeeds();
        let mut again = command();
        again.env("BLOCKTENSOR_CACHE", &kept).args([
            "run",
            text(&plan),
            "--random",
            "--replan",
            "--threads",
            "2",
        ]);
        done(again.output().unwrap()).succeeds();
        measured.push(kept.exists());
        // A plan that was planned again is as it was.
        let copy = folder.path().join("copy.plan");
        let mut copied = command();
        copied.env("BLOCKTENSOR_CACHE", folder.path().join("others"));
        copied.args(["pack", text(&plan), "--replan", "--threads", "2", "--keep-plain", "-o", text(&copy)]);
        done(copied.output().unwrap()).succeeds();
    }
    assert_eq!(measured, [false, true]);
}

#[test]
fn damaged_plans_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("a.plan");
    let relu = unary(folder.path(), "Relu", &[1, 2, 3, 4]);
    run(&["pack", text(&relu), "-o", text(&plan)]).succeeds();
    let whole = std::fs::read(&plan).unwrap();
    // The last byte is one of the checksums: elsewhere it may hit the header's syntax.
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    std::fs::write(&plan, flipped).unwrap();
    let damaged = run(&["run", text(&plan), "--random"]);
    damaged.fails(1, &["op `blocktensor`: argument `MODEL`", "a.plan", "checksum"]);
    assert!(!damaged.err.contains("::"), "{}", damaged.err);
    std::fs::write(&plan, &whole[..whole.len() - 9]).unwrap();
    run(&["run", text(&plan), "--random"]).fails(1, &["a.plan"]);
    // Cut inside its header.
    std::fs::write(&plan, &whole[..300]).unwrap();
    run(&["run", text(&plan), "--random"]).fails(1, &["a.plan", "pack the model again"]);
    // That remedy works: it is still a plan, though a damaged one.
    run(&["pack", text(&relu), "-o", text(&plan)]).succeeds();
    run(&["run", text(&plan), "--random"]).succeeds();
    // Tensors of something else.
    let tensors = folder.path().join("tensors.safetensors");
    let (resnet, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    run(&["run", &resnet, "--input", &image, "--save", text(&tensors)]).succeeds();
    let remedy = "pass an ONNX file, or a plan that `blocktensor pack` wrote";
    run(&["run", text(&tensors), "--random"])
        .fails(2, &["tensors.safetensors", "without packed weights", remedy]);
    // Packed weights of another program.
    let weights = folder.path().join("weights.packed");
    blocktensor::PackedWriter::new().save(&weights).unwrap();
    for command in ["run", "ops"] {
        run(&[command, text(&weights)]).fails(2, &["a file of packed weights without a plan", remedy]);
    }
    run(&["pack", text(&relu), "-o", "/dev/full"]).fails(2, &["--output: got `/dev/full`", "make room"]);
}

/// Integers and Booleans of a run keep their types in a packed file, in the report and in what is saved.
#[test]
fn plans_with_integers_and_booleans_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (input, file_of_plan, saved) =
        (path("x.safetensors"), path("integers.plan"), path("results.safetensors"));
    let x = [1.0f32, 0.0, 5.0, 2.0, 0.5, 3.0, 0.25, 7.0, 0.0, 0.75, -1.0, 2.0];
    let bytes = x.map(f32::to_le_bytes).concat();
    let x = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![2, 6], &bytes).unwrap();
    safetensors::serialize_to_file([("x", x)], None, &input).unwrap();
    let model = data("integers.onnx");
    run(&["pack", &model, "--size", "batch=2", "-o", text(&file_of_plan)]).succeeds();
    let done = run(&["run", text(&file_of_plan), "--input", text(&input), "--save", text(&saved), "--json"]);
    let outputs = done.succeeds().json()["outputs"].clone();
    let told: Vec<_> =
        outputs.as_array().unwrap().iter().map(|o| (o["name"].as_str(), o["type"].as_str())).collect();
    assert_eq!(told[..2], [("j", "i64"), ("k32", "i32")].map(|(n, t)| (Some(n), Some(t))));
    assert_eq!(
        told[2..5],
        [("mask", "bool"), ("rest", "bool"), ("kept", "f32")].map(|(n, t)| (Some(n), Some(t)))
    );
    let bytes = std::fs::read(&saved).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let of = |name: &str| file.tensor(name).unwrap();
    assert_eq!(of("mask").dtype(), safetensors::Dtype::BOOL);
    assert_eq!(of("mask").data(), [1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(of("rest").data(), [0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    let j: Vec<i64> =
        of("j").data().chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!((of("j").dtype(), &j[..]), (safetensors::Dtype::I64, &[12, 11][..]));
    assert_eq!(
        (of("k32").dtype(), of("k32").data()),
        (safetensors::Dtype::I32, &[0, 0, 0, 0, 3, 0, 0, 0][..])
    );
    let again = ["run", text(&file_of_plan), "--input", text(&input), "--check-outputs", text(&saved)];
    run(&again).succeeds();
}
