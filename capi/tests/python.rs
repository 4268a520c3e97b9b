//! The Python script in examples uses the C interface through ctypes. The test installs numpy.

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (said, erred) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}\n{said}\n{erred}");
    said.into_owned()
}

/// A Python with numpy: in a virtual environment beside the compiled code, made once.
fn python(debug: &Path) -> PathBuf {
    let python = debug.join("python/bin/python");
    let has_numpy =
        |p: &Path| Command::new(p).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    if !has_numpy(&python) {
        let _ = std::fs::remove_dir_all(debug.join("python"));
        // `make test` installs python3-venv where it is missing.
        run(Command::new("python3").args(["-m", "venv"]).arg(debug.join("python")));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "numpy>=1.23"]));
    }
    python
}

#[test]
fn a_python_script_with_ctypes_runs_blocked_convolutions() {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let debug = deps.parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/arrays.py");
    let text = run(Command::new(python(debug)).arg(script).arg(deps.join("libblocktensor_c.so")));
    assert!(text.contains("a blocked convolution of integers is exact"), "{text}");
    assert!(text.contains("matmul") && text.contains("live handles: 0"), "{text}");
}
