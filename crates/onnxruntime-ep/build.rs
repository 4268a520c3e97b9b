//! Flags of the shared library.

fn main() {
    // ONNX Runtime unloads the library when it is unregistered, although sessions or sleeping threads may still be in it.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
