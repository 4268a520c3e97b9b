//! Bindings: the committed ones, or bindings generated from the headers in use.

use crate::Found;

/// Without `buildtime_bindgen` the committed bindings are used.
#[cfg(not(feature = "buildtime_bindgen"))]
pub fn generate(_: &Found) {}

/// Writes `bindings.rs` and `bindings_threadpool.rs` into `OUT_DIR`.
#[cfg(feature = "buildtime_bindgen")]
pub fn generate(found: &Found) {
    use std::path::PathBuf;

    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let include = format!("-I{}", found.include.display());
    let write = |builder: bindgen::Builder, name: &str| {
        let bindings = builder
            .generate()
            .unwrap_or_else(|error| crate::fail(&format!("bindgen cannot read oneDNN's headers: {error}")));
        if let Err(error) = bindings.write_to_file(out.join(name)) {
            crate::fail(&format!("cannot write {name}: {error}"));
        }
    };
    let builder = || {
        bindgen::Builder::default()
            .clang_arg(&include)
            .use_core()
            .rust_edition(bindgen::RustEdition::Edition2024)
            .rust_target(bindgen::RustTarget::stable(85, 0).expect("a released compiler"))
            .default_enum_style(bindgen::EnumVariation::Consts)
            .prepend_enum_name(false)
            .generate_comments(false) // Doxygen is not rustdoc
            .override_abi(bindgen::Abi::CUnwind, "dnnl_.*") // see guard.rs
            .layout_tests(true)
            .parse_callbacks(Box::new(Macros))
    };
    let everything = builder()
        .header("include/wrapper.h")
        .allowlist_item("dnnl_.*|DNNL_.*|const_dnnl_.*")
        // `static const` in the header, so the library has no symbol for them; lib.rs defines them again.
        .blocklist_item("DNNL_RUNTIME_[FS]32_VAL.*");
    write(everything, "bindings.rs");
    let threadpool = builder()
        .header("include/wrapper_threadpool.h")
        .allowlist_function("dnnl_threadpool_interop_.*")
        .allowlist_recursively(false);
    write(threadpool, "bindings_threadpool.rs");
    println!("cargo::rustc-cfg=onednn_generated_bindings");
}

/// The types of constants that are macros in C.
#[cfg(feature = "buildtime_bindgen")]
#[derive(Debug)]
struct Macros;

#[cfg(feature = "buildtime_bindgen")]
impl bindgen::callbacks::ParseCallbacks for Macros {
    fn int_macro(&self, name: &str, _: i64) -> Option<bindgen::callbacks::IntKind> {
        use bindgen::callbacks::IntKind;
        Some(if name.starts_with("DNNL_ARG_") {
            IntKind::Int // the type of dnnl_exec_arg_t::arg
        } else if name == "DNNL_MAX_NDIMS" {
            IntKind::Custom { name: "usize", is_signed: false }
        } else {
            IntKind::UInt // runtimes, vendors, versions and flags: as in dnnl_version_t
        })
    }

    // Macros that describe the build (runtime, primitives, version) are not part of the API and differ between libraries.
    fn will_parse_macro(&self, name: &str) -> bindgen::callbacks::MacroParsingBehavior {
        use bindgen::callbacks::MacroParsingBehavior::{Default, Ignore};
        let config = matches!(
            name,
            "DNNL_CPU_RUNTIME"
                | "DNNL_CPU_THREADING_RUNTIME"
                | "DNNL_GPU_RUNTIME"
                | "DNNL_GPU_VENDOR"
                | "DNNL_API"
        ) || ["DNNL_VERSION_", "DNNL_EXPERIMENTAL", "BUILD_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        if config { Ignore } else { Default }
    }
}
