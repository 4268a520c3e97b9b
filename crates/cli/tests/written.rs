//! The files that options name: written whole or not at all; pipes and devices directly.

use std::path::{Path, PathBuf};
use std::process::Command;

use rten_onnx::onnx::{DataLocation, DataType, GraphProto, NodeProto, StringStringEntryProto, TensorProto};

use crate::support::{Done, command, data, done, port, run, text, write_model};

/// Each way to write a file: the arguments before its name, and an ending that it takes.
const WAYS: [(&[&str], &str); 7] = [
    (&["plan", "--svg"], "svg"),
    (&["plan", "--dot"], "dot"),
    (&["plan", "--onnx"], "onnx"),
    (&["bench", "--runs", "1", "--trace"], "json"),
    (&["run", "--random", "--save"], "npy"),
    (&["run", "--random", "--save"], "safetensors"),
    (&["pack", "--layout", "nchw", "--output"], "plan"),
];

/// A file that begins like one of those that such an option writes: it replaces nothing else.
fn old(ending: &str) -> &'static [u8] {
    match ending {
        "svg" => b"<svg old",
        "dot" => b"digraph old",
        "onnx" => b"\x08\x08\x12\x0bblocktensor old",
        "json" => b"[old",
        "npy" => b"\x93NUMPYold",
        "plan" => b"\x40\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"blocktensor-packed\",\"text:plan\":\"",
        _ => b"\x02\0\0\0\0\0\0\0{}old",
    }
}

/// The arguments that write this file.
fn arguments(way: &[&str], file: &Path) -> Vec<String> {
    let model = data("resnet.onnx");
    let (command, options) = way.split_first().unwrap();
    let all = [&[*command, &model, "--size", "batch=1"], options, &[text(file)]].concat();
    all.iter().map(|s| s.to_string()).collect()
}

fn write(way: &[&str], file: &Path) -> Done {
    let all = arguments(way, file);
    run(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Writes the file where no file may grow, as on a full disk.
fn write_on_a_full_disk(way: &[&str], file: &Path) -> Done {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_blocktensor")]);
    done(command.env("BLOCKTENSOR_CACHE", "off").args(arguments(way, file)).output().unwrap())
}

fn names(folder: &Path) -> Vec<String> {
    let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_leaves_the_old_file_and_no_part() {
    for (way, ending) in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("file.{ending}"));
        write_on_a_full_disk(way, &file).fails(2, &[way.last().unwrap(), "File too large"]);
        assert!(names(folder.path()).is_empty(), "{way:?}");
        std::fs::write(&file, old(ending)).unwrap();
        write_on_a_full_disk(way, &file).fails(2, &[way.last().unwrap(), "File too large"]);
        assert_eq!(std::fs::read(&file).unwrap(), old(ending), "{way:?}");
        assert_eq!(names(folder.path()).len(), 1, "{way:?}");
    }
}

#[test]
fn the_target_of_a_link_is_replaced() {
    for (way, ending) in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let (there, link) = (folder.path().join("there"), folder.path().join(format!("link.{ending}")));
        std::fs::create_dir(&there).unwrap();
        std::fs::write(there.join("file"), old(ending)).unwrap();
        std::os::unix::fs::symlink("there/file", &link).unwrap();
        // A second name of the old file keeps its content: the new file is another one.
        std::fs::hard_link(there.join("file"), folder.path().join("second")).unwrap();
        write(way, &link).succeeds();
        assert!(link.is_symlink(), "{way:?}");
        assert_eq!(names(&there), ["file"]);
        assert_ne!(std::fs::read(there.join("file")).unwrap(), old(ending), "{way:?}");
        assert_eq!(std::fs::read(folder.path().join("second")).unwrap(), old(ending), "{way:?}");
        std::fs::remove_dir_all(&there).unwrap();
        write(way, &link).fails(2, &[way.last().unwrap(), "symbolic link to a file that does not exist"]);
    }
}

#[test]
fn pipes_are_written_directly() {
    for (way, ending) in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let pipe: PathBuf = folder.path().join(format!("pipe.{ending}"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        let written = write(way, &pipe);
        if written.code != 0 {
            // Else the reader would wait for ever.
            drop(std::fs::OpenOptions::new().write(true).open(&pipe));
        }
        written.succeeds();
        assert!(!reader.join().unwrap().is_empty(), "{way:?}");
        assert_eq!(names(folder.path()).len(), 1);
    }
}

#[test]
fn devices_are_written_directly() {
    for option in ["--svg", "--dot", "--onnx"] {
        write(&["plan", option], Path::new("/dev/full")).fails(2, &[option, "No space left", "make room"]);
        write(&["plan", option], Path::new("/dev/null")).succeeds();
    }
    let shown = write(&["plan", "--dot"], Path::new("/dev/stdout"));
    let (drawing, plan) = (shown.succeeds().out.find("digraph"), shown.out.find("layouts: "));
    assert!(drawing.is_some() && drawing < plan, "{}", shown.out);
}

/// A link in place of the file of measured times: the plan's text says so, or a note.
#[test]
fn a_profile_cache_that_is_not_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, output) = (folder.path().join("cache"), folder.path().join("file.plan"));
    let run = |way: &[&str]| {
        let mut arguments = arguments(way, &output);
        arguments.truncate(arguments.len() - usize::from(way[0] != "pack"));
        done(command().env("BLOCKTENSOR_CACHE", &cache).args(arguments).output().unwrap())
    };
    assert_eq!(run(&["pack", "--output"]).succeeds().err, "");
    let [file] = names(&cache.join("profiles")).try_into().unwrap();
    let (file, target) = (cache.join("profiles").join(file), folder.path().join("target"));
    std::fs::rename(&file, &target).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    let before = std::fs::read(&target).unwrap();
    let said = |text: &str, start: &str| {
        let line = text.lines().find(|line| line.contains("profiles: not used")).expect(text);
        assert!(line.starts_with(start) && line.contains(super::support::text(&file)), "{line}");
    };
    said(&run(&["pack", "--output"]).succeeds().err, "note: ");
    said(&run(&["run", "--random", "--layout", "measured"]).succeeds().err, "note: ");
    said(&run(&["bench", "--runs", "1", "--layout", "measured"]).succeeds().err, "note: ");
    let planned = run(&["plan", "--layout", "measured"]);
    assert_eq!(planned.succeeds().err, "");
    said(&planned.out, "profiles: ");
    assert_eq!(std::fs::read(&target).unwrap(), before);
}

/// Copies the small network beside its image, under these names.
fn beside(folder: &Path) -> (String, PathBuf) {
    let (model, image) = (folder.join("m.onnx"), folder.join("in.npy"));
    std::fs::copy(data("resnet.onnx"), &model).unwrap();
    std::fs::copy(data("resnet.image.npy"), &image).unwrap();
    (text(&model).to_string(), image)
}

#[test]
fn what_a_command_reads_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (model, image) = beside(folder.path());
    let before = std::fs::read(&image).unwrap();
    let (link, hard) = (folder.path().join("link.npy"), folder.path().join("hard.npy"));
    std::os::unix::fs::symlink("in.npy", &link).unwrap();
    std::fs::hard_link(&image, &hard).unwrap();
    for save in [&image, &link, &hard] {
        for input in [text(&image).to_string(), format!("image={}", text(&image))] {
            let done = run(&["run", &model, "--input", &input, "--save", text(save)]);
            done.fails(2, &["--save", text(save), "reads this file"]);
        }
    }
    let expected = folder.path().join("out.npy");
    std::fs::copy(data("resnet.output.npy"), &expected).unwrap();
    let args = ["run", &model, "--input", text(&image), "--check-outputs", text(&expected)];
    run(&[&args[..], &["--save", text(&expected)]].concat()).fails(2, &["--save", "reads this file"]);
    assert!(std::fs::read(&image).unwrap() == before);
    assert_eq!(std::fs::read(&expected).unwrap(), std::fs::read(data("resnet.output.npy")).unwrap());
}

#[test]
fn files_of_another_kind_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for (way, ending) in WAYS {
        let weights = folder.path().join(format!("weights.{ending}"));
        std::fs::write(&weights, [0u8; 64]).unwrap();
        write(way, &weights).fails(2, &["it exists", "remove it, or choose another name"]);
        assert_eq!(std::fs::read(&weights).unwrap(), [0u8; 64], "{way:?}");
        // What it writes itself is replaced.
        std::fs::write(&weights, b"").unwrap();
        write(way, &weights).succeeds();
        write(way, &weights).succeeds();
    }
    // Models and drawings of plans are both ONNX files.
    let model = folder.path().join("model.onnx");
    std::fs::copy(data("mobilenet.onnx"), &model).unwrap();
    write(WAYS[2].0, &model).fails(2, &["--onnx", "it exists", "of another kind"]);
    assert!(std::fs::read(&model).unwrap() == std::fs::read(data("mobilenet.onnx")).unwrap());
    let drawing = folder.path().join("weights.onnx");
    for command in ["run", "ops"] {
        run(&[command, text(&drawing)]).fails(1, &["a drawing of a plan", "pass the model that was planned"]);
    }
    // Weights and plans are both safetensors files.
    let (weights, plan) = (folder.path().join("weights.safetensors"), folder.path().join("weights.plan"));
    let link = folder.path().join("plan.safetensors");
    std::os::unix::fs::symlink(&plan, &link).unwrap();
    for (way, named, file) in [(WAYS[6].0, &weights, &weights), (WAYS[5].0, &link, &plan)] {
        let before = std::fs::read(file).unwrap();
        write(way, named).fails(2, &["it exists", "of another kind", "remove it, or choose another name"]);
        assert!(std::fs::read(file).unwrap() == before, "{way:?}");
    }
}

/// A model whose weights are 12 numbers in this file, with 128 bytes before them.
fn model_with_weights_in(weights: &Path) -> PathBuf {
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_string()),
        value: Some(value.to_string()),
    };
    let name = weights.file_name().unwrap().to_str().unwrap();
    let w = TensorProto {
        name: Some("w".to_string()),
        dims: vec![4, 3, 1, 1],
        data_type: Some(DataType::FLOAT),
        data_location: Some(DataLocation::EXTERNAL),
        external_data: vec![entry("location", name), entry("offset", "128"), entry("length", "48")],
        ..TensorProto::default()
    };
    let conv = NodeProto {
        op_type: Some("Conv".to_string()),
        input: vec!["x".to_string(), "w".to_string()],
        output: vec!["y".to_string()],
        ..NodeProto::default()
    };
    let graph = GraphProto {
        input: vec![port(&("x", DataType::FLOAT, &[1, 3, 4, 4]))],
        output: vec![port(&("y", DataType::FLOAT, &[1, 4, 4, 4]))],
        initializer: vec![w],
        node: vec![conv],
        ..GraphProto::default()
    };
    write_model(weights.with_extension("onnx"), graph)
}

#[test]
fn files_of_a_models_weights_are_not_replaced() {
    for (way, ending) in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join(format!("w.{ending}"));
        let model = match ending {
            "onnx" => model_with_weights_in(&weights).with_extension("model"),
            _ => model_with_weights_in(&weights),
        };
        if ending == "onnx" {
            std::fs::rename(&weights, &model).unwrap();
        }
        let old = [old(ending), &[0; 300]].concat();
        std::fs::write(&weights, &old).unwrap();
        let (command, options) = way.split_first().unwrap();
        let link = folder.path().join(format!("link.{ending}"));
        std::os::unix::fs::symlink(&weights, &link).unwrap();
        for file in [&weights, &link] {
            let all = [&[*command, text(&model)], options, &[text(file)]].concat();
            run(&all).fails(2, &[way.last().unwrap(), text(file), "the program reads this file"]);
            assert!(std::fs::read(&weights).unwrap() == old, "{way:?}");
        }
    }
}

#[test]
fn a_descriptor_that_is_not_open_is_named() {
    for (option, path) in [("--svg", "/dev/fd/987654"), ("--dot", "/proc/self/fd/987654")] {
        let done = write(&["plan", option], Path::new(path));
        done.fails(2, &[option, path, "no open file has this descriptor; choose another file"]);
        assert!(!done.err.contains("folder"), "{}", done.err);
    }
}

#[test]
fn tensors_of_other_names_are_no_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let (model, image) = beside(folder.path());
    let saved = folder.path().join("out.safetensors");
    run(&["run", &model, "--input", text(&image), "--save", text(&saved)]).succeeds();
    let other = format!("image={}", text(&saved));
    for input in [text(&saved), &other] {
        run(&["run", &model, "--input", input])
            .fails(2, &["no tensor with the name `image`", "`output`", "rename"]);
    }
}
