//! The C++ header: a program that uses every class of it is compiled, without warnings, and run, also under valgrind.

mod support;

use std::path::Path;
use std::process::Command;

use blocktensor::{StateDict, StridedTensor};
use support::programs::{include, library, run, under_valgrind};

/// The C++ compiler, with more warnings than users have, as errors.
fn cxx() -> Command {
    let mut cxx = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    cxx.args([
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wpedantic",
        "-Wshadow",
        "-Wconversion",
        "-g",
        "-I",
    ]);
    cxx.arg(include());
    cxx
}

#[test]
fn a_cpp_program_uses_every_class_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.cpp");
    run(cxx().arg(source).arg("-L").arg(library()).args(["-lblocktensor_c", "-o"]).arg(&program));

    let weights = folder.path().join("weights.safetensors");
    let mut dict = StateDict::new();
    dict.insert("a\0b", StridedTensor::from_slice(&[1f32], &[1]).unwrap());
    dict.insert("w", StridedTensor::from_slice(&[2f32], &[1]).unwrap());
    dict.save(&weights).unwrap();
    let (dims, pixels) = support::array("resnet.image.npy");
    assert_eq!(dims[1..], [3, 44, 60]);
    let image = folder.path().join("image.raw");
    std::fs::write(&image, pixels.iter().flat_map(|p| p.to_ne_bytes()).collect::<Vec<u8>>()).unwrap();
    let model = support::stored("resnet.onnx");

    let arguments = [folder.path(), &weights, &model, &image];
    let said = run(Command::new(&program).args(arguments).env("LD_LIBRARY_PATH", library()));
    assert_eq!(said, "failures: 0, live handles: 0\n");
    if let Some(said) = under_valgrind(&program, &arguments) {
        assert!(said.contains("failures: 0, live handles: 0\n"), "{said}");
    }
}

#[test]
fn the_cpp_program_in_the_docs_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let page = include().join("../../docs/c.md");
    let page = std::fs::read_to_string(page).unwrap();
    let shown = page.split("```cpp\n").nth(1).unwrap().split("```").next().unwrap();
    let source = folder.path().join("page.cpp");
    std::fs::write(&source, shown).unwrap();
    run(cxx().arg("-fsyntax-only").arg(&source));
}

/// Two files of one program may include it: it defines nothing twice.
#[test]
fn the_cpp_header_may_be_included_by_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part.cpp");
    std::fs::write(
        &part,
        "#include \"blocktensor.hpp\"\nsize_t threads() { return blocktensor::thread_count(); }\n",
    )
    .unwrap();
    let main = folder.path().join("main.cpp");
    let text = "#include \"blocktensor.hpp\"\nsize_t threads();\nint main() { return threads() != blocktensor::thread_count(); }\n";
    std::fs::write(&main, text).unwrap();
    let program = folder.path().join("main");
    run(cxx().arg(part).arg(main).arg("-L").arg(library()).args(["-lblocktensor_c", "-o"]).arg(&program));
    run(Command::new(&program).env("LD_LIBRARY_PATH", library()));
}
