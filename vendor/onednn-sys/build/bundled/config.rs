//! `dnnl_config.h`, `dnnl_version.h` and `dnnl_version_hash.h`, which CMake would generate from templates.

use std::path::Path;

/// The version of the sources in `onednn/`.
pub const VERSION: &str = "3.14.1";

/// `#cmakedefine NAME` entries that are defined, with their values.
const DEFINED: &[(&str, &str)] = &[
    ("DNNL_CPU_THREADING_RUNTIME", "DNNL_RUNTIME_THREADPOOL"),
    ("DNNL_CPU_RUNTIME", "DNNL_RUNTIME_THREADPOOL"),
    ("DNNL_GPU_RUNTIME", "DNNL_RUNTIME_NONE"),
    ("DNNL_GPU_VENDOR", "DNNL_VENDOR_INTEL"),
];

/// `#cmakedefine01 NAME` entries that are 1. Forward passes alone. The primitives that blocktensor creates, and those that their
/// implementations create: a convolution that covers its source is an inner product. AVX2, AVX-512 and AMX. No gemm kernels: no
/// implementation based on them accepts a thread pool.
const ON: &[&str] = &[
    "BUILD_INFERENCE",
    "BUILD_CONVOLUTION",
    "BUILD_DECONVOLUTION",
    "BUILD_INNER_PRODUCT",
    "BUILD_MATMUL",
    "BUILD_REORDER",
    "BUILD_AVX512",
    "BUILD_AMX",
    "BUILD_GEMM_KERNELS_NONE",
];

/// Everything that determines the headers, except the templates.
pub fn identity() -> String {
    format!("{VERSION} {DEFINED:?} {ON:?}")
}

/// Copies the public headers to `to`, with templates filled in.
pub fn write_headers(sources: &Path, to: &Path) -> std::io::Result<()> {
    let to = to.join("oneapi").join("dnnl");
    std::fs::create_dir_all(&to)?;
    for entry in std::fs::read_dir(sources.join("include").join("oneapi").join("dnnl"))? {
        let path = entry?.path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        match name.strip_suffix(".in") {
            Some(name) => std::fs::write(to.join(name), fill_in(&std::fs::read_to_string(&path)?))?,
            None => drop(std::fs::copy(&path, to.join(name))?),
        }
    }
    Ok(())
}

/// Fills in a oneDNN template, as CMake's `configure_file` does.
fn fill_in(template: &str) -> String {
    let mut version = VERSION.split('.');
    let mut text = template.replace("@DNNL_VERSION_HASH@", "N/A");
    for part in ["MAJOR", "MINOR", "PATCH"] {
        text = text.replace(&format!("@DNNL_VERSION_{part}@"), version.next().expect("three numbers"));
    }
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("#cmakedefine01"), Some(name)) => {
                format!("#define {name} {}", u8::from(ON.contains(&name)))
            }
            (Some("#cmakedefine"), Some(name)) => match DEFINED.iter().find(|d| d.0 == name) {
                Some((_, value)) => format!("#define {name} {value}"),
                None => format!("/* #undef {name} */"),
            },
            _ => line.to_owned(),
        }
    };
    text.lines().map(line).map(|l| l + "\n").collect()
}
