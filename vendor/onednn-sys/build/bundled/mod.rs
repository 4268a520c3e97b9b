//! Compiles oneDNN from the sources in `onednn/`, once per machine.
//!
//! - `sources.rs`: which files are compiled, how, and in which groups.
//! - `config.rs`: the headers that oneDNN's own build generates from templates.
//! - `compile.rs`: runs the compiler.
//! - `cache.rs`: keeps the library, and the lock that concurrent builds need.

mod cache;
mod compile;
mod config;
mod sources;

use crate::{Found, env, fail, headers::Headers};
use std::path::{Path, PathBuf};

pub fn find() -> Found {
    if env("ONEDNN_DIR").is_some() {
        println!(
            "cargo::warning=ONEDNN_DIR is set, but the feature `bundled` is on, so oneDNN is compiled from source: \
             use --no-default-features and the feature `system` to link the installed one"
        );
    }
    check_target();
    let sources = sources();
    println!("cargo::rerun-if-changed={}", sources.display());
    let compiler = compile::Compiler::find();
    let root = cache::library(&key(&sources, &compiler), |dir| compile::library(&sources, &compiler, dir));
    let (include, lib) = (root.join("include"), root.join("lib"));
    // If the cache is deleted, Cargo runs this script again.
    println!("cargo::rerun-if-changed={}", lib.join("libdnnl.a").display());
    let headers = Headers::read(&include).unwrap_or_else(|message| fail(&message));
    Found { root, include, lib, is_static: true, headers }
}

/// The sources in this package, or those in `ONEDNN_SRC_DIR`.
fn sources() -> PathBuf {
    let Some(dir) = env("ONEDNN_SRC_DIR") else {
        return Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("onednn");
    };
    let sources = PathBuf::from(&dir);
    let file = sources.join("CMakeLists.txt");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        fail(&format!(
            "ONEDNN_SRC_DIR is `{dir}`, but {} cannot be read ({error}): name a checkout of oneDNN",
            file.display()
        ))
    });
    if !text.contains(&format!("set(PROJECT_VERSION \"{}\")", config::VERSION)) {
        fail(&format!(
            "ONEDNN_SRC_DIR is `{dir}`, which is not oneDNN {}: the build only supports that version. Check it out \
             (tag v{0}), or build the other one with CMake and link it (ONEDNN_DIR=/prefix, --no-default-features \
             --features system)",
            config::VERSION
        ));
    }
    sources
}

/// The bundled build supports only one kind of target.
fn check_target() {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let (arch, env, os) =
        (of("CARGO_CFG_TARGET_ARCH"), of("CARGO_CFG_TARGET_ENV"), of("CARGO_CFG_TARGET_OS"));
    if arch != "x86_64" || env == "msvc" {
        fail(&format!(
            "oneDNN is compiled from source for x86-64 with GCC or Clang only, not for {arch}-{os}-{env}: link an \
             installed oneDNN 3 (ONEDNN_DIR=/prefix, --no-default-features --features system), or do without the \
             engine (--no-default-features): every operator then runs on the kernels in Rust"
        ));
    }
}

/// Everything that determines the library, as a hash in hexadecimal.
fn key(sources: &Path, compiler: &compile::Compiler) -> String {
    let mut hash = Fnv::new();
    let files = sources::all_files(sources)
        .unwrap_or_else(|error| fail(&format!("the sources of oneDNN in {}: {error}", sources.display())));
    for path in files {
        let name = path.strip_prefix(sources).expect("below the sources");
        hash.write(name.to_string_lossy().as_bytes());
        hash.write(
            &std::fs::read(&path).unwrap_or_else(|e| fail(&format!("cannot read {}: {e}", path.display()))),
        );
    }
    hash.write(compiler.identity().as_bytes());
    for unit in sources::units(sources).unwrap_or_else(|error| fail(&error.to_string())) {
        hash.write(unit.identity().as_bytes());
    }
    hash.write(config::identity().as_bytes());
    format!("{}-{:016x}", config::VERSION, hash.0)
}

/// FNV-1a with 64 bits: the same in every version of Rust, unlike the standard library's hashers.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Also hashes the length, so that two adjacent fields cannot be confused with one.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes.len().to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
