//! `run` and `plan` on the exported networks.

use blocktensor::dispatch::Isa;

use crate::support::{LAYOUTS, Node, data, model, port, run, text, unary, write_model, write_npy};
use rten_onnx::onnx::{DataType, GraphProto, NodeProto, TensorProto};

const NETWORKS: [&str; 5] = ["resnet", "mobilenet", "unet", "densenet", "hybrid"];
/// The forms of the networks that PyTorch exported, and of the one that ONNX Runtime quantised.
const FORMS: [&str; 2] = ["", ".dynamo"];
const QUANTISED: [&str; 2] = [".qdq", ".qoperator"];

#[test]
fn exported_networks_give_onnx_runtimes_answers_in_every_layout() {
    let networks = NETWORKS.map(|network| (network, FORMS)).into_iter().chain([("quantised", QUANTISED)]);
    for (network, forms) in networks {
        let (image, answer) = (data(&format!("{network}.image.npy")), data(&format!("{network}.output.npy")));
        for form in forms {
            let model = data(&format!("{network}{form}.onnx"));
            for layout in LAYOUTS {
                let done = run(&[
                    "run",
                    &model,
                    "--layout",
                    layout,
                    "--json",
                    "--input",
                    &format!("image={image}"),
                    "--check-outputs",
                    &answer,
                ]);
                let report = done.succeeds().json();
                assert_eq!(report["version"], 1);
                assert_eq!(report["layout"], layout);
                let error = report["outputs"][0]["relative_l2"].as_f64().unwrap();
                assert!(error < 1e-5, "{model} {layout}: {error}");
                assert_eq!(report["checks"][0]["passed"], true);
                assert!(done.err.is_empty(), "{}", done.err);
                if network == "quantised" {
                    let plan = run(&["plan", &model, "--size", "batch=1", "--layout", layout]);
                    let integers = plan.succeeds().out.matches("(blocktensor:int8)").count();
                    assert_eq!(integers, if Isa::has_byte_products() { 10 } else { 0 }, "{}", plan.out);
                }
            }
        }
    }
}

#[test]
fn text_names_the_layout_the_output_and_the_check() {
    let (model, image, answer) = (data("resnet.onnx"), data("resnet.image.npy"), data("resnet.output.npy"));
    let done = run(&[
        "run",
        &model,
        "--input",
        &image,
        "--check-outputs",
        &format!("output={answer}"),
        "--top-k",
        "2",
    ]);
    let out = &done.succeeds().out;
    for part in [
        "layout measured (the default",
        "input image [2, 3, 44, 60]",
        "output output f32 [2, 10]: from ",
        "passed",
        "row 1:",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn a_check_that_fails_is_exit_code_1() {
    let (model, image) = (data("resnet.onnx"), data("resnet.image.npy"));
    let folder = tempfile::tempdir().unwrap();
    let (saved, random) = (folder.path().join("y.npy"), folder.path().join("z.safetensors"));
    run(&["run", &model, "--random=3", "--size", "batch=2", "--save", text(&random)]).succeeds();
    run(&["run", &model, "--input", &image, "--save", text(&saved)]).succeeds();
    run(&["run", &model, "--input", &image, "--check-outputs", text(&saved), "--tolerance", "0"]).succeeds();

    let done = run(&["run", &model, "--input", &image, "--check-outputs", text(&random), "--json"]);
    done.fails(1, &["1 of 1 outputs", "`output` FAILED: relative L2", "--tolerance"]);
    assert_eq!(done.json()["checks"][0]["passed"], false);
    let loose = ["run", &model, "--input", &image, "--check-outputs", text(&random), "--tolerance", "1e6"];
    run(&loose).succeeds();

    // Other sizes than the file's.
    let other =
        run(&["run", &model, "--random", "--size", "batch=1", "--check-outputs", text(&saved), "--json"]);
    other.fails(1, &["[1, 10]", "[2, 10]"]);
    assert!(other.json()["checks"][0]["relative_l2"].is_null());
}

#[test]
fn random_numbers_are_the_same_for_the_same_seed() {
    let model = data("mobilenet.onnx");
    let output = |seed: &str| run(&["run", &model, seed, "--json"]).succeeds().json()["outputs"].clone();
    assert_eq!(output("--random"), output("--random=0"));
    assert_ne!(output("--random"), output("--random=1"));
}

#[test]
fn outputs_cut_the_graph_and_all_are_saved() {
    let model = data("mobilenet.onnx");
    let names = run(&["plan", &model, "--json"]).succeeds().json();
    let steps = names["steps"].as_array().unwrap().len();
    // A value in the middle: the name of a reorder-free step's output is the ONNX value.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.safetensors");
    let cut = run(&["run", &model, "--random", "--outputs", "image,output", "--save", text(&path)]);
    cut.succeeds();
    let again =
        ["run", &model, "--input", text(&path), "--outputs", "image,output", "--check-outputs", text(&path)];
    run(&again).succeeds();
    assert!(steps > 20);
}

#[test]
fn inputs_with_scales_and_zero_points_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.safetensors");
    let bytes = blocktensor::StridedTensor::from_slice(&[1u8; 8], &[1, 8]).unwrap();
    let mut dict = blocktensor::StateDict::new();
    dict.insert("image", bytes.quantized(blocktensor::Quantization::per_tensor(0.5, 3)).unwrap());
    dict.save(&path).unwrap();
    run(&["run", &data("mobilenet.onnx"), "--input", text(&path)])
        .fails(2, &["image.safetensors", "tensor `image` has scales and zero points", "write its integers"]);
}

#[test]
fn plan_prints_steps_reorders_and_memory() {
    let model = data("resnet.onnx");
    let plan = run(&["plan", &model, "--size", "batch=2", "--layout", "nhwc"]);
    assert!(
        plan.succeeds().out.starts_with("layouts: nhwc\n") && plan.out.contains("arena: "),
        "{}",
        plan.out
    );
    let json = run(&["plan", &model, "--size", "batch=2", "--layout", "nhwc", "--json"]).succeeds().json();
    assert_eq!(json["text"], plan.out);
    assert_eq!(json["inputs"][0]["dims"], serde_json::json!([2, 3, 44, 60]));
    assert!(json["arena_bytes"].as_u64().unwrap() >= json["live_bytes"].as_u64().unwrap());

    let fused = json["steps"].as_array().unwrap().len();
    let plain =
        ["plan", &model, "--size", "batch=2", "--layout", "nhwc", "--json", "--without", "fuse_post_ops"];
    assert!(run(&plain).succeeds().json()["steps"].as_array().unwrap().len() > fused);

    let both = run(&["run", &model, "--random", "--size", "batch=2", "--layout", "nhwc", "--plan"]);
    assert!(both.succeeds().out.starts_with(plan.out.trim_end()), "{}", both.out);
}

#[test]
fn repeated_runs_are_timed() {
    let model = data("unet.onnx");
    let done = run(&[
        "run",
        &model,
        "--input",
        &data("unet.image.npy"),
        "--repeat",
        "3",
        "--threads",
        "1",
        "--json",
    ]);
    let report = done.succeeds().json();
    assert_eq!((report["threads"].as_u64(), report["times"]["runs"].as_u64()), (Some(1), Some(3)));
    let time = |name: &str| report["times"][name].as_f64().unwrap();
    assert!(time("least_ms") > 0.0 && time("least_ms") <= time("median_ms"));
}

#[test]
fn several_inputs_take_their_files_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let of = DataType::FLOAT;
    let ports = [("a", of, &[2, 3][..]), ("b", of, &[2, 3][..])];
    let path = model(folder.path(), &ports, &[("y", of, &[2, 3])], &[("Sub", &["a", "b"], &["y"])]);
    let (both, file) = (folder.path().join("in.safetensors"), folder.path().join("y.npy"));
    run(&["run", text(&path), "--random", "--outputs", "a,b", "--save", text(&both)]).succeeds();
    run(&["run", text(&path), "--input", text(&both), "--save", text(&file)]).succeeds();
    run(&["run", text(&path), "--random", "--check-outputs", text(&file)]).succeeds();
    let swapped = [format!("a={}", text(&file)), format!("b={}", text(&file))];
    let zero = run(&["run", text(&path), "--input", &swapped[0], "--input", &swapped[1], "--json"])
        .succeeds()
        .json();
    assert_eq!(zero["outputs"][0]["rms"], 0.0);

    run(&["run", text(&path), "--input", text(&file)]).fails(2, &["2 inputs", "NAME=FILE", "`a`, `b`"]);
    run(&["run", text(&path), "--input", &swapped[0]])
        .fails(2, &["input `b` (f32, [2, 3])", "--input b=FILE", "--random"]);
    run(&["run", text(&path), "--input", &swapped[0], "--input", &swapped[0]]).fails(2, &["two files"]);
}

#[test]
fn labels_are_printed_with_the_largest_values() {
    let folder = tempfile::tempdir().unwrap();
    let labels = folder.path().join("labels.txt");
    std::fs::write(&labels, (0..10).map(|i| format!("label {i}\n")).collect::<String>()).unwrap();
    let model = data("resnet.onnx");
    let args = [
        "run",
        &model,
        "--input",
        &data("resnet.image.npy"),
        "--top-k",
        "3",
        "--labels",
        text(&labels),
        "--json",
    ];
    let top = &run(&args).succeeds().json()["outputs"][0]["top"];
    assert_eq!((top.as_array().unwrap().len(), top[0].as_array().unwrap().len()), (2, 3));
    assert_eq!(top[0][0]["label"], format!("label {}", top[0][0]["index"]));
    assert!(top[0][0]["value"].as_f64() >= top[0][1]["value"].as_f64());

    std::fs::write(&labels, "one\n").unwrap();
    run(&args).fails(2, &["it has 1 line, and the output 10 classes"]);
    let unary = unary(folder.path(), "Relu", &[1, 3, 4, 4]);
    run(&["run", text(&unary), "--random", "--top-k", "1"]).fails(2, &["--top-k", "`y` [1, 3, 4, 4]"]);
}

/// Before version 4 of the format, initializers were inputs as well. A value for one would be ignored.
#[test]
fn initializers_that_are_inputs_are_constants() {
    let folder = tempfile::tempdir().unwrap();
    let w = TensorProto {
        name: Some("w".to_string()),
        dims: vec![2],
        data_type: Some(DataType::FLOAT),
        float_data: vec![5.0, 5.0],
        ..TensorProto::default()
    };
    let ports = |names: &[&str]| names.iter().map(|n| port(&(n, DataType::FLOAT, &[2]))).collect::<Vec<_>>();
    let add = NodeProto {
        op_type: Some("Add".to_string()),
        input: vec!["x".to_string(), "w".to_string()],
        output: vec!["y".to_string()],
        ..NodeProto::default()
    };
    let graph = GraphProto {
        input: ports(&["x", "w"]),
        output: ports(&["y"]),
        initializer: vec![w],
        node: vec![add],
        ..GraphProto::default()
    };
    let model = write_model(folder.path().join("m.onnx"), graph);
    let npy = folder.path().join("v.npy");
    write_npy(&npy, "<f4", [1f32, 2.0].map(f32::to_le_bytes));
    // A model with the outputs `x` and `w` saves both.
    let other = tempfile::tempdir().unwrap();
    let of = |name| (name, DataType::FLOAT, &[2][..]);
    let nodes: [Node<'_>; 2] = [("Relu", &["i"], &["x"]), ("Relu", &["x"], &["w"])];
    let both = crate::support::model(other.path(), &[of("i")], &[of("x"), of("w")], &nodes);
    let saved = folder.path().join("both.safetensors");
    run(&["run", text(&both), "--input", text(&npy), "--save", text(&saved)]).succeeds();
    let parts = ["`w`", "initializer", "a constant here", "remove the initializer"];
    run(&["run", text(&model), "--input", text(&saved)]).fails(2, &parts);
    let named = format!("w={}", text(&npy));
    run(&["run", text(&model), "--input", text(&npy), "--input", &named]).fails(2, &parts);
    // A file for `x` alone may hold others.
    let named = format!("x={}", text(&saved));
    run(&["run", text(&model), "--input", &named]).succeeds();
    run(&["run", text(&model), "--input", text(&npy)]).succeeds();
}

/// The .safetensors format keeps this name for itself.
#[test]
fn an_output_whose_name_safetensors_reserves_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let float = DataType::FLOAT;
    let (of, nodes) = ([("x", float, &[2, 3][..])], [("Relu", &["x"][..], &["__metadata__"][..])]);
    let path = model(folder.path(), &of, &[("__metadata__", float, &[2, 3])], &nodes);
    let (many, single) = (folder.path().join("y.safetensors"), folder.path().join("y.npy"));
    let done = run(&["run", text(&path), "--random", "--save", text(&many)]);
    done.fails(2, &["--save", text(&many), "`__metadata__`", "write a .npy file", "--outputs"]);
    assert!(!many.exists());
    run(&["run", text(&path), "--random", "--save", text(&single)]).succeeds();
}

/// As in the other interfaces.
#[test]
fn an_empty_batch_runs() {
    let model = data("resnet.onnx");
    let folder = tempfile::tempdir().unwrap();
    let (empty, plan) = (folder.path().join("empty.npy"), folder.path().join("empty.plan"));
    let about = format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3, 44, 60), }");
    std::fs::write(&empty, [b"\x93NUMPY\x01\x00\x76\x00", about.as_bytes()].concat()).unwrap();
    let sized = ["--size", "batch=0"];
    for layout in LAYOUTS {
        let args = ["run", &model, "--layout", layout, "--json"];
        for more in [&[&sized[..], &["--random"]].concat()[..], &["--input", text(&empty)]] {
            let report = run(&[&args[..], more].concat()).succeeds().json();
            assert_eq!(report["outputs"][0]["dims"], serde_json::json!([0, 10]), "{layout}: {report}");
        }
        let args = ["plan", &model, "--layout", layout];
        assert!(run(&[&args[..], &sized].concat()).succeeds().out.contains("[0, 10]"), "{layout}");
    }
    run(&[&["pack", &model, "-o", text(&plan)][..], &sized].concat()).succeeds();
    assert!(run(&["run", text(&plan), "--random"]).succeeds().out.contains("f32 [0, 10]: no elements"));
}
