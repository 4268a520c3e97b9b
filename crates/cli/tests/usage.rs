//! Wrong usage, files that are missing or damaged, and pipes that close.

use std::process::Stdio;

use rten_onnx::onnx::{DataType, GraphProto, NodeProto, TensorProto};

use crate::support::{
    command, data, done, model, port, run, text, unary, write_i64s, write_model, write_npy,
};

#[test]
fn wrong_usage_is_exit_code_2() {
    let model = data("resnet.onnx");
    for args in [
        &["run"][..],
        &["frob", &model],
        &["run", &model, "--frob"],
        &["run", &model, "--layout", "frob"],
        &["run", &model, "--without", "frob"],
        &["run", &model, "--size", "batch"],
        &["run", &model, "--size", "batch=-1"],
        &["run", &model, "--size", "=1"],
        &["run", &model, "--threads", "0"],
        &["run", &model, "--top-k", "0"],
        &["run", &model, "--tolerance", "-1"],
        &["run", &model, "--labels", "x"],
        &["run", &model, "--resize", "0"],
    ] {
        let done = run(args);
        assert_eq!(done.code, 2, "{args:?}: {}{}", done.out, done.err);
        assert!(done.out.is_empty() && !done.err.contains("panicked"), "{args:?}");
        assert!(done.err.starts_with("error: ") && done.err.lines().count() == 1, "{args:?}: {}", done.err);
    }
    for args in [&["--help"][..], &["run", "--help"], &["--version"]] {
        run(args).succeeds();
    }
    assert!(run(&["run", "--help"]).out.contains("Exit codes: 0 fine; 1"));
}

#[test]
fn the_help_of_help_is_the_help() {
    for option in ["--help", "-h"] {
        assert_eq!(run(&["help", option]).succeeds().out, run(&["help"]).succeeds().out);
        assert_eq!(run(&["help", "run", option]).succeeds().out, run(&["help", "run"]).succeeds().out);
    }
    run(&["help", "frob", "--help"]).fails(2, &["frob"]);
}

#[test]
fn long_paths_are_cut_in_errors() {
    let long = format!("{}{}", "x".repeat(100_000), "end.onnx");
    for args in [&["run", &long][..], &["ops", &long], &["run", &data("resnet.onnx"), "--input", &long]] {
        let done = run(args);
        done.fails(2, &["xxx...xxx", "xend.onnx"]);
        assert!(done.err.len() < 600, "{}", done.err);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let said = done(command().args(args).stdout(full).output().unwrap());
        said.fails(1, &["the standard output", "No space left"]);
    }
}

#[test]
fn wrong_usage_says_what_is_expected() {
    let model = data("resnet.onnx");
    run(&["run"]).fails(2, &["<MODEL>", "try '--help'"]);
    run(&["run", &model, "--tread", "1"])
        .fails(2, &["--tread", "a similar argument exists: '--threads'; try '--help'"]);
    for (option, parts) in [
        ("--threads", &["'-1'", "--threads"][..]),
        ("--weight-growth", &["'-1'", "1 or more"]),
        ("--top-k", &["'-1'", "--top-k"]),
        ("--repeat", &["'-1'", "--repeat"]),
        ("--resize", &["'-1'", "--resize"]),
    ] {
        let done = run(&["run", &model, option, "-1"]);
        done.fails(2, parts);
        assert!(!done.err.contains("-- -1"), "{}", done.err);
    }
    // Without a command the help is what is asked for.
    let done = run(&[]);
    assert!(done.code == 2 && done.err.contains("Usage:") && done.err.contains("bench"), "{}", done.err);
}

#[test]
fn numbers_keep_six_significant_digits() {
    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[3]);
    let input = folder.path().join("x.npy");
    write_npy(&input, "<f4", [1.234_567_8e-7f32, 0.0, 3.577_814_4e15].map(f32::to_le_bytes));
    let done = run(&["run", text(&relu), "--input", text(&input), "--top-k", "3"]);
    let out = &done.succeeds().out;
    for part in ["from 0 to 3.57781e15", "mean 1.1926e15", "1.23457e-7"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn inputs_without_a_value_are_not_zero() {
    let model = data("resnet.onnx");
    let parts = ["input `image` (f32, [batch, 3, 44, 60])", "--input image=FILE", "--random"];
    run(&["run", &model]).fails(2, &parts);
    run(&["run", &model, "--random"]).fails(2, &["`batch`", "--size batch=1"]);
    run(&["plan", &model]).fails(2, &["`batch`", "--size batch=1"]);
    run(&["ops", &model]).fails(2, &["`batch`", "--size batch=1"]);
}

#[test]
fn names_that_the_model_does_not_have_are_refused() {
    let (model, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    run(&["run", &model, "--input", &format!("x={image}")]).fails(2, &["no input `x`", "`image`"]);
    run(&["run", &model, "--size", "n=1", "--random"]).fails(2, &["no open size `n`", "batch"]);
    run(&["run", &model, "--outputs", "nothing", "--random"]).fails(2, &["--outputs", "`nothing`", "output"]);
    for empty in ["", ",", "output,", ",output"] {
        run(&["run", &model, "--outputs", empty, "--random"])
            .fails(2, &["--outputs: an empty name; leave it out; the model's own are output"]);
    }
    for empty in ["", "image="] {
        run(&["run", &model, "--input", empty]).fails(2, &["--input: the path is empty; write [NAME=]FILE"]);
    }
    run(&["run", &model, "--size", "=1"]).fails(2, &["the name before `=` is missing; write it as NAME=N"]);
    for seed in ["-1", "abc", "1.5", "18446744073709551616"] {
        run(&["run", &model, &format!("--random={seed}")])
            .fails(2, &["--random", seed, "a whole number from 0"]);
    }
    run(&["run", &model, "--outputs", "output,output", "--random"]).fails(
        2,
        &["--outputs: `output` twice: each is listed once; leave one out; the model's own are output"],
    );
    let check = format!("x={image}");
    run(&["run", &model, "--input", &image, "--check-outputs", &check])
        .fails(2, &["no output `x`", "`output`"]);
    run(&["run", &model, "--input", &image, "--size", "batch=3"]).fails(2, &["`batch` is 3", "--size"]);
}

#[test]
fn missing_and_damaged_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (model, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    let path = |name: &str| folder.path().join(name);
    run(&["run", text(&path("none.onnx"))]).fails(2, &["none.onnx", "check the path"]);
    run(&["run", text(folder.path())]).fails(2, &["check the path"]);
    std::fs::write(path("bad.onnx"), b"not a model").unwrap();
    run(&["run", text(&path("bad.onnx"))]).fails(1, &["bad.onnx", "export the model again"]);

    for name in ["x.npy", "x.safetensors", "x.png"] {
        let file = path(name);
        run(&["run", &model, "--input", text(&file)]).fails(2, &[name, "check the path"]);
        std::fs::write(&file, b"nonsense").unwrap();
        run(&["run", &model, "--size", "batch=1", "--input", text(&file)]).fails(2, &[name]);
        if name != "x.png" {
            run(&["run", &model, "--input", &image, "--check-outputs", text(&file)]).fails(2, &[name]);
        }
    }
    std::fs::write(path("x.txt"), b"1 2 3").unwrap();
    run(&["run", &model, "--input", text(&path("x.txt"))]).fails(2, &["ending", ".npy"]);
    run(&["run", &model, "--input", &image, "--save", text(&path("y.txt"))]).fails(2, &["ending", ".npy"]);
    run(&["run", &model, "--input", &image, "--save", text(&path("no/y.npy"))]).fails(2, &["folder"]);
    run(&["run", &model, "--input", &data("unet.image.npy")])
        .fails(2, &["[2, 3, 32, 44]", "[batch, 3, 44, 60]"]);
}

#[test]
fn types_of_inputs_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (ints, floats) = (folder.path().join("i.npy"), folder.path().join("f.npy"));
    let cast = model(
        folder.path(),
        &[("i", DataType::INT64, &[3]), ("x", DataType::FLOAT, &[4, 2])],
        &[("y", DataType::FLOAT, &[3, 2])],
        &[("Gather", &["x", "i"], &["y"])],
    );
    let random = ["run", text(&cast), "--random"];
    run(&random).fails(2, &["--random", "input `i` (i64, [3])", "pass `--input i=FILE`"]);
    write_i64s(&ints, &[3, 0, 1]);
    let args =
        ["run", text(&cast), "--random", "--input", &format!("i={}", text(&ints)), "--save", text(&floats)];
    run(&args).succeeds();
    run(&["run", text(&cast), "--random", "--input", &format!("x={}", text(&ints))])
        .fails(2, &["[3]", "[4, 2]"]);

    let relu = unary(folder.path(), "Relu", &[3]);
    run(&["run", text(&relu), "--input", text(&ints)]).fails(2, &["it holds i64", "float32"]);
    write_npy(&ints, "|u1", [[1], [2], [3]]);
    run(&["run", text(&relu), "--input", text(&ints)]).fails(2, &["it holds u8", "float32"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = command()
        .args(["plan", &data("densenet.onnx")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = done(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.err.as_str()), (0, ""));
}

#[test]
fn offline_planning_measures_nothing() {
    let model = data("resnet.onnx");
    let plan = run(&["plan", &model, "--size", "batch=1", "--offline", "--explain"]);
    let plan = &plan.succeeds().out;
    assert!(plan.contains("layouts: measured") && plan.contains("nothing was measured"), "{plan}");
    // No layout but a measured one reads these options.
    for option in [&["--offline"][..], &["--no-cache"], &["--weight-growth", "2"]] {
        let fixed = [&["plan", &model, "--size", "batch=1", "--layout", "nhwc"], option].concat();
        run(&fixed).fails(2, &[option[0], "measured layouts"]);
    }
    let compared =
        run(&["bench", &model, "--size", "batch=1", "--compare-layouts", "--offline", "--runs", "1"]);
    assert!(compared.succeeds().out.contains("measured"));
}

/// Five quantised nodes of which none has a kernel on integers: the one line names all of them, and why once.
#[test]
fn strict_names_every_node() {
    let folder = tempfile::tempdir().unwrap();
    let node = |op: &str, name: String, inputs: [&str; 2], output: String| NodeProto {
        op_type: Some(op.to_string()),
        name: Some(name),
        input: inputs.iter().filter(|name| !name.is_empty()).map(ToString::to_string).collect(),
        output: vec![output],
        ..NodeProto::default()
    };
    let scale = TensorProto {
        name: Some("s".to_string()),
        data_type: Some(DataType::FLOAT),
        float_data: vec![0.1],
        ..TensorProto::default()
    };
    let mut nodes = vec![node("QuantizeLinear", "q".into(), ["x", "s"], "q0".into())];
    for i in 0..5 {
        let [q, d, y] = ["q", "d", "y"].map(|name| format!("{name}{i}"));
        nodes.push(node("DequantizeLinear", format!("dq{i}"), [&q, "s"], d.clone()));
        nodes.push(node("Softmax", format!("soft{i}"), [&d, ""], y.clone()));
        nodes.push(node("QuantizeLinear", format!("q{i}"), [&y, "s"], format!("q{}", i + 1)));
    }
    let mut graph = GraphProto {
        input: vec![port(&("x", DataType::FLOAT, &[1, 8, 4, 4]))],
        output: vec![port(&("q5", DataType::UINT8, &[1, 8, 4, 4]))],
        initializer: vec![scale],
        node: nodes,
        ..GraphProto::default()
    };
    let model = write_model(folder.path().join("soft.onnx"), graph.clone());
    let said = run(&["plan", text(&model), "--layout", "nchw", "--strict"]);
    let named: Vec<String> = (0..5).map(|i| format!("`soft{i}` (Softmax)")).collect();
    said.fails(1, &["--strict: 5 quantised nodes would compute in f32", &named.join(", "), "leave it out"]);
    run(&["plan", text(&model), "--layout", "nchw"]).succeeds();
    // Names may be alike: each node is counted.
    for node in &mut graph.node {
        node.name = node.op_type.clone();
    }
    let model = write_model(folder.path().join("alike.onnx"), graph);
    let said = run(&["plan", text(&model), "--layout", "nchw", "--strict"]);
    said.fails(
        1,
        &["--strict: 5 quantised nodes would compute in f32", "`Softmax` (Softmax), `Softmax` (Softmax)"],
    );
}

/// Rust's start-up opens /dev/null in place of an output that is closed: a result would be lost without a word.
#[test]
fn a_closed_standard_output_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[1, 2]);
    let program = command().get_program().to_os_string();
    let with = |output: &str, args: &[&str]| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" \"$@\" {output}")]).arg(&program).args(args);
        done(shell.output().unwrap())
    };
    for args in [&["run", text(&relu), "--random", "--json"][..], &["--version"], &["plan", text(&relu)]] {
        with(">&-", args).fails(1, &["the standard output: it is closed", "check where it goes"]);
        with(">/dev/null", args).succeeds();
        with("1<>/dev/null", args).succeeds();
    }
}

#[test]
fn paths_are_bytes() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = tempfile::tempdir().unwrap();
    let relu = unary(folder.path(), "Relu", &[2]);
    let file = folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9=.npy"));
    crate::support::write_npy(&file, "<f4", [1f32, 2.0].map(f32::to_le_bytes));
    let mut named = std::ffi::OsString::from("x=");
    named.push(&file);
    for input in [file.clone().into_os_string(), named] {
        let done_with = |option: &str, file: &std::ffi::OsStr| {
            let mut program = command();
            program.args(["run", text(&relu), "--input"]).arg(&input).arg(option).arg(file);
            done(program.output().unwrap())
        };
        done_with("--check-outputs", file.as_os_str()).succeeds();
        // What is read is not written.
        done_with("--save", file.as_os_str()).fails(2, &["--save", "the program reads this file"]);
    }
    let mut program = command();
    program
        .args(["run", text(&relu), "--input"])
        .arg(folder.path().join(std::ffi::OsStr::from_bytes(b"\xe9.npy")));
    done(program.output().unwrap()).fails(2, &["--input", "check the path"]);
}
