//! Compiles oneDNN or finds an installed one. Reads its version and CPU runtime from the installed headers. Compiles the C++
//! files of this crate; the thread-pool shim only for a oneDNN with the THREADPOOL runtime. Prints the link lines.
//!
//! - `bundled/`: compiles oneDNN from the sources in `onednn/`, once per machine.
//! - `system.rs`: finds an installed oneDNN.
//! - `headers.rs`: reads version and runtime from the installed headers.
//! - `bindings.rs`: uses the committed bindings, or generates them (`buildtime_bindgen`).

mod bindings;
#[cfg(feature = "bundled")]
mod bundled;
mod headers;
#[cfg(all(feature = "system", not(feature = "bundled")))]
mod system;

use headers::{Headers, Runtime};
use std::path::PathBuf;

/// A oneDNN installation to link.
struct Found {
    /// Its prefix.
    root: PathBuf,
    /// The directory that holds `oneapi/dnnl/dnnl.h`.
    include: PathBuf,
    /// The directory that holds the library.
    lib: PathBuf,
    /// Whether the library is static; otherwise it is shared.
    is_static: bool,
    headers: Headers,
}

/// Ends the build with an error message instead of a backtrace.
fn fail(message: &str) -> ! {
    println!("cargo::error={}", message.replace('\n', " "));
    std::process::exit(1);
}

/// An environment variable that rebuilds this crate when it changes. Empty counts as absent.
fn env(name: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={name}");
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=src/guard.cpp");
    println!("cargo::rerun-if-changed=src/threadpool.cpp");
    println!(
        "cargo::rustc-check-cfg=cfg(onednn_cpu_runtime, values(\"none\", \"seq\", \"omp\", \"tbb\", \"threadpool\", \"sycl\"))"
    );
    println!("cargo::rustc-check-cfg=cfg(onednn_generated_bindings)");

    if env("DOCS_RS").is_some() {
        // Nothing is compiled or linked; the documentation includes the thread-pool functions.
        announce_runtime(Runtime::Threadpool);
        return;
    }

    let found = find();
    if let Err(message) = found.headers.check(&found.root) {
        fail(&message);
    }

    announce_runtime(found.headers.runtime);
    println!("cargo::metadata=ROOT={}", found.root.display());
    println!("cargo::metadata=INCLUDE={}", found.include.display());
    println!("cargo::metadata=LIB={}", found.lib.display());
    println!("cargo::metadata=LINKAGE={}", if found.is_static { "static" } else { "shared" });
    println!("cargo::metadata=VERSION={}", found.headers.version());

    bindings::generate(&found);
    compile_cpp(&found);
    link(&found);
}

#[cfg(feature = "bundled")]
fn find() -> Found {
    bundled::find()
}

#[cfg(all(feature = "system", not(feature = "bundled")))]
fn find() -> Found {
    system::find()
}

#[cfg(not(any(feature = "bundled", feature = "system")))]
fn find() -> Found {
    fail(
        "blocktensor-onednn-sys does not know where oneDNN comes from: enable the feature `bundled` (compile it, \
         the default) or `system` (link an installed library, found through ONEDNN_DIR or probed)",
    )
}

/// Tells this crate, and the build scripts of the crates that depend on it directly, which runtime the library has.
fn announce_runtime(runtime: Runtime) {
    println!("cargo::rustc-cfg=onednn_cpu_runtime=\"{}\"", runtime.name());
    println!("cargo::rustc-env=ONEDNN_SYS_CPU_RUNTIME={}", runtime.name());
    println!("cargo::metadata=CPU_RUNTIME={}", runtime.name());
}

/// Compiles this crate's C++ files against the headers of the oneDNN in use, whose virtual tables they must match.
fn compile_cpp(found: &Found) {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .file("src/guard.cpp")
        // System headers, so that only this crate's own code causes warnings.
        .flag_if_supported(format!("-isystem{}", found.include.display()))
        .include(&found.include)
        .flag_if_supported("-std=c++11")
        .cpp_link_stdlib(None); // link() adds it, after the library
    if found.headers.runtime == Runtime::Threadpool {
        build.file("src/threadpool.cpp");
    }
    build.compile("onednn_sys_shims");
}

/// Prints the link lines, the C++ runtime last.
fn link(found: &Found) {
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let msvc = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "msvc");
    println!("cargo::rustc-link-search=native={}", found.lib.display());
    let kind = if found.is_static { "static" } else { "dylib" };
    println!("cargo::rustc-link-lib={kind}=dnnl");
    if !found.is_static {
        // For this crate's tests only; a program's own build script sets the program's run path (metadata LIB).
        if os == "linux" || os == "macos" {
            println!("cargo::rustc-link-arg-tests=-Wl,-rpath,{}", found.lib.display());
        }
    } else {
        match found.headers.runtime {
            Runtime::Omp if !msvc => {
                let default = if os == "macos" { "omp" } else { "gomp" };
                let library = env("ONEDNN_OPENMP_LIB").unwrap_or_else(|| default.to_owned());
                println!("cargo::rustc-link-lib=dylib={library}");
            }
            Runtime::Tbb => println!("cargo::rustc-link-lib=dylib=tbb"),
            _ => {}
        }
    }
    if msvc {
        return;
    }
    let cxx = if matches!(os.as_str(), "macos" | "ios" | "freebsd" | "openbsd") { "c++" } else { "stdc++" };
    println!("cargo::rustc-link-lib=dylib={cxx}");
}
