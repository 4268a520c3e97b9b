//! Odd names, files that are no files, and numbers beyond all measure.

use rten_onnx::onnx::DataType;

use crate::support::{command, data, done, model, run, text, unary, write_i64s, write_npy};

/// An input may be named as an option is.
#[test]
fn an_input_may_begin_with_a_hyphen() {
    let folder = tempfile::tempdir().unwrap();
    let one = ("-x", DataType::FLOAT, &[2][..]);
    let path = model(
        folder.path(),
        &[one],
        &[("y", DataType::FLOAT, &[2][..])],
        &[("Relu", &["-x"][..], &["y"][..])],
    );
    let x = folder.path().join("x.npy");
    write_npy(&x, "<f4", [1f32, -1.0].map(f32::to_le_bytes));
    run(&["run", text(&path), "--input", &format!("-x={}", text(&x))]).succeeds();
}

#[test]
fn names_may_have_commas_and_equals_signs() {
    let folder = tempfile::tempdir().unwrap();
    let of = DataType::FLOAT;
    let nodes = [("Relu", &["a=b"][..], &["r,1"][..]), ("Frobnicate", &["r,1"][..], &["y"][..])];
    let path = model(folder.path(), &[("a=b", of, &[2])], &[("y", of, &[2])], &nodes);
    let remedy = "--outputs r,1";
    run(&["run", text(&path), "--random"])
        .fails(1, &["`the_Frobnicate` (Frobnicate): ONNX has no op", remedy]);
    let saved = folder.path().join("y=1.npy");
    let args = ["run", text(&path), "--outputs", "r,1", "--random", "--save", text(&saved)];
    run(&args).succeeds();
    let input = format!("a=b={}", text(&saved));
    let check = format!("r,1={}", text(&saved));
    run(&["run", text(&path), "--outputs", "r,1", "--input", &input, "--check-outputs", &check]).succeeds();

    // An option for each name with commas: the text of the remedy works as it is.
    let nodes = [("Relu", &["a=b"][..], &["r,1"][..]), ("Exp", &["r,1"][..], &["z z"][..])];
    let path = model(folder.path(), &[("a=b", of, &[2])], &[("r,1", of, &[2]), ("z z", of, &[2])], &nodes);
    let own = "the model's own are 'z z' --outputs r,1";
    run(&["run", text(&path), "--outputs", "r,1,z z", "--random"]).fails(2, &[own]);
    run(&["run", text(&path), "--outputs", "z z", "--outputs", "r,1", "--random"]).succeeds();

    let nodes = [("Relu", &["my x"][..], &["r"][..]), ("Frobnicate", &["r"][..], &["y"][..])];
    let path = model(folder.path(), &[("my x", of, &[2])], &[("y", of, &[2])], &nodes);
    run(&["run", text(&path), "--outputs", "r"]).fails(2, &["--input 'my x'=FILE"]);
}

#[test]
fn pipes_and_devices_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.npy");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let (model, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    for file in [text(&pipe), "/dev/zero"] {
        run(&["run", file]).fails(2, &[file, "copy it into a file"]);
        run(&["run", &model, "--input", &image, "--top-k", "1", "--labels", file])
            .fails(2, &["a pipe or a device"]);
        run(&["run", &model, "--input", &image, "--preprocess", file]).fails(2, &["a pipe or a device"]);
    }
    let one = ["--size", "batch=1"];
    run(&[&["plan", &model, "--svg", &model][..], &one].concat())
        .fails(2, &["--svg", "the program reads this file"]);
    let twice = folder.path().join("plan.out");
    run(&[&["plan", &model, "--svg", text(&twice), "--dot", text(&twice)][..], &one].concat())
        .fails(2, &["--dot", "another option writes it"]);
    run(&["run", &model, "--input", text(&pipe)]).fails(2, &["pipe.npy", "copy it into a file"]);
    run(&["run", &model, "--input", &image, "--check-outputs", text(&pipe)]).fails(2, &["pipe.npy"]);
    let picture = folder.path().join("pipe.png");
    std::fs::rename(&pipe, &picture).unwrap();
    run(&["run", &model, "--input", text(&picture)]).fails(2, &["pipe.png", "copy it into a file"]);
}

#[test]
fn numbers_beyond_all_measure_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[1 << 31]);
    run(&["run", text(&relu), "--random"]).fails(2, &["--random", "[2147483648]", "at most"]);
    let open = unary(folder.path(), "Relu", &[0, 3]);
    run(&["run", text(&open), "--random", "--size", "n=2", "--size", "n=3"]).fails(2, &["`n` is 2 and 3"]);
    run(&["run", text(&open), "--random", "--size", "n=2", "--size", "n=2"]).succeeds();
    let threads = (blocktensor::max_threads() + 1).to_string();
    run(&["run", text(&open), "--random", "--size", "n=2", "--threads", &threads])
        .fails(2, &["--threads", &threads, "at most"]);
    run(&["run", text(&open), "--random", "--size", "n=2", "--save", "/proc/none.npy"])
        .fails(2, &["--save", "choose another file"]);

    let picture = folder.path().join("x.png");
    image::RgbImage::new(2, 2).save(&picture).unwrap();
    let any = unary(folder.path(), "Relu", &[0, 3, 16000, 16000]);
    run(&["run", text(&any), "--input", text(&picture), "--size", "n=1"])
        .fails(2, &["too many", "pass smaller sizes"]);
    let small = unary(folder.path(), "Relu", &[0, 3, 2, 2]);
    run(&["run", text(&small), "--input", text(&picture), "--size", "n=99999999"]).fails(2, &["too many"]);
}

#[test]
fn integers_fit_into_the_type_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let twice = model(
        folder.path(),
        &[("x", DataType::UINT8, &[1])],
        &[("y", DataType::UINT8, &[1])],
        &[("Add", &["x", "x"], &["y"])],
    );
    let file = folder.path().join("x.npy");
    write_npy(&file, "<f4", [1f32.to_le_bytes()]);
    run(&["run", text(&twice), "--input", text(&file)])
        .fails(2, &["it holds f32, and the input is u8; write it as uint8"]);
    write_npy(&file, "<f2", [[0, 60]]);
    run(&["run", text(&twice), "--input", text(&file)])
        .fails(2, &["its numbers have the type `<f2`; write it as uint8"]);
    let wide = model(
        folder.path(),
        &[("x", DataType::INT64, &[1])],
        &[("y", DataType::INT64, &[1])],
        &[("Add", &["x", "x"], &["y"])],
    );
    write_i64s(&file, &[1 << 40]);
    run(&["run", text(&wide), "--input", text(&file)])
        .fails(2, &["1099511627776 does not fit into 32 bits", "; change the value"]);
    // It replaced the first model.
    let twice = model(
        folder.path(),
        &[("x", DataType::UINT8, &[1])],
        &[("y", DataType::UINT8, &[1])],
        &[("Add", &["x", "x"], &["y"])],
    );
    let write = |v: i64| write_i64s(&file, &[v]);
    write(300);
    run(&["run", text(&twice), "--input", text(&file)]).fails(2, &["u8", "300"]);
    write(200);
    let saved = folder.path().join("y.npy");
    run(&["run", text(&twice), "--input", text(&file), "--save", text(&saved)]).succeeds();
    let bytes = std::fs::read(&saved).unwrap();
    // The file has the model's type.
    assert!(bytes.windows(5).any(|part| part == b"'|u1'"));
    assert_eq!(bytes[bytes.len() - 2..], [b'\n', 144]);
    run(&["run", text(&twice), "--input", text(&file), "--check-outputs", text(&saved)]).succeeds();
}

#[test]
fn f64_numbers_fit_into_f32() {
    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[2]);
    let file = folder.path().join("x.npy");
    let args = ["run", text(&relu), "--input", text(&file), "--json"];
    write_npy(&file, "<f8", [1e300f64, -1.0].map(f64::to_le_bytes));
    run(&args).fails(2, &["--input", "1e300", "the input is f32"]);
    write_npy(&file, "<f8", [f64::INFINITY, 3e38].map(f64::to_le_bytes));
    assert_eq!(run(&args).succeeds().json()["outputs"][0]["not_finite"], 1);
}

#[test]
fn threads_follow_the_affinity() {
    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[3]);
    let args = ["run", text(&relu), "--random", "--json"];
    let mut taskset = std::process::Command::new("taskset");
    // The first processor that this process may use.
    let first = std::fs::read_to_string("/proc/self/status").unwrap();
    let first =
        first.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_string();
    let first = first.split([',', '-']).next().unwrap();
    taskset.env("BLOCKTENSOR_CACHE", "off").env_remove("RAYON_NUM_THREADS");
    let one = taskset.args(["-c", first, env!("CARGO_BIN_EXE_blocktensor")]).args(args).output().unwrap();
    assert_eq!(done(one).succeeds().json()["threads"], 1);
    let mut more = command();
    let more = more.args(args).env("RAYON_NUM_THREADS", "3").output().unwrap();
    assert_eq!(done(more).succeeds().json()["threads"], 3);
}

#[test]
fn a_path_with_control_characters_is_shown_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = unary(folder.path(), "Relu", &[2]);
    let odd = folder.path().join("a\nb\u{1b}[31m.onnx");
    std::fs::rename(path, &odd).unwrap();
    let input = folder.path().join("i\n\u{1b}.npy");
    write_npy(&input, "<f4", [1f32, -2.0].map(f32::to_le_bytes));
    let packed = folder.path().join("p\n\u{1b}.plan");
    for args in [
        &["run", text(&odd), "--input", text(&input), "--check-outputs", text(&input), "--tolerance", "9"][..],
        &["plan", text(&odd), "--errors", "--input", text(&input)],
        &["pack", text(&odd), "--offline", "-o", text(&packed)],
    ] {
        let done = run(args);
        let lines = done.succeeds().out.clone();
        assert!(!lines.contains('\u{1b}') && lines.contains("\\n"), "{lines:?}");
    }
}

#[test]
fn a_full_device_is_told_with_the_option_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = unary(folder.path(), "Relu", &[2]);
    let done = run(&["pack", text(&path), "--offline", "-o", "/dev/full"]);
    done.fails(2, &["error: --output: got `/dev/full`, "]);
    assert_eq!(done.err.matches("--output").count(), 1, "{}", done.err);
}

#[test]
fn axes_of_one_name_in_one_file_are_told_apart_from_other_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = unary(folder.path(), "Relu", &[0, 0]);
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let fixed = unary(&other, "Relu", &[2, 3]);
    let file = folder.path().join("y.npy");
    run(&["run", text(&fixed), "--random", "--save", text(&file)]).succeeds();
    let args = ["run", text(&path), "--input", text(&file)];
    run(&args).fails(2, &["[2, 3]", "all axes called `n` have one size"]);
    run(&[&args[..], &["--size", "n=2"]].concat()).fails(2, &["`n` is 2 already, from --size"]);
}

#[test]
fn random_integers_are_refused_by_the_option_that_wants_them() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name| (name, DataType::INT64, &[2][..]);
    let path = model(folder.path(), &[of("x")], &[of("y")], &[("Identity", &["x"], &["y"])]);
    let input = "pass `--input x=FILE`";
    run(&["run", text(&path), "--random"]).fails(2, &["error: --random: ", input]);
    run(&["plan", text(&path), "--errors"]).fails(2, &["error: --errors: ", input]);
}

#[test]
fn checks_are_in_the_order_of_the_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let float = DataType::FLOAT;
    let names: Vec<String> = (0..8).map(|i| format!("y{}", 9 - i)).collect();
    let outputs: Vec<_> = names.iter().map(|n| (n.as_str(), float, &[2][..])).collect();
    let makes: Vec<[&str; 1]> = names.iter().map(|n| [n.as_str()]).collect();
    let nodes: Vec<_> = makes.iter().map(|n| ("Relu", &["x"][..], &n[..])).collect();
    let path = model(folder.path(), &[("x", float, &[2])], &outputs, &nodes);
    let file = folder.path().join("y.safetensors");
    run(&["run", text(&path), "--random", "--save", text(&file)]).succeeds();
    let done = run(&["run", text(&path), "--random", "--check-outputs", text(&file), "--json"]);
    let report = done.succeeds().json();
    let checked: Vec<_> = report["checks"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(checked, names);
}
