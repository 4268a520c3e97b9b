//! How the crate was built and what it runs on: for logs and bug reports.

use std::fmt;

use crate::error::counted;
use crate::{simd, threads};

/// How blocktensor was built and what it runs on. [`build_info`] returns it, and it prints as one line. For a build that is
/// not optimised it also prints the lines for `Cargo.toml` that optimise it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildInfo {
    /// The version of blocktensor.
    pub version: &'static str,
    /// Cargo's `opt-level` for blocktensor: `0` to `3`, `s` or `z`.
    pub opt_level: &'static str,
    /// Cargo's profile for blocktensor: `release` or `debug`, or for a profile of one's own the one of these that it inherits
    /// from. With the same `opt-level` the two can differ in speed, as code is inlined across units of a crate only with `lto`
    /// other than `off`.
    pub profile: &'static str,
    /// Whether debug assertions are compiled in. Cargo enables overflow checks together with them unless a profile says
    /// otherwise; stable Rust cannot query overflow checks.
    pub debug_assertions: bool,
    /// The engine, if one is built in.
    pub engine: Option<EngineInfo>,
    /// The instruction set that our own kernels use, as limited by `ONEDNN_MAX_CPU_ISA`: `baseline`, `avx2` or `avx512`.
    pub simd: &'static str,
    /// How many threads a call from here uses.
    pub threads: usize,
}

/// The engine that is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineInfo {
    /// Its name.
    pub name: &'static str,
    /// Major, minor, patch, as the linked library reports them.
    pub version: (u32, u32, u32),
    /// Its threading runtime: `threadpool` is this crate's team; others are `omp`, `tbb` and `sequential`.
    pub cpu_runtime: &'static str,
    /// The instruction set that it uses, as limited by `ONEDNN_MAX_CPU_ISA`.
    pub isa: &'static str,
}

impl BuildInfo {
    /// Whether the compiler vectorised our kernels: `opt-level` 2 or 3. Otherwise they are 30 to 350 times slower.
    pub fn is_optimised(&self) -> bool {
        matches!(self.opt_level, "2" | "3")
    }
}

/// How this blocktensor was built and what it runs on.
///
/// ```
/// let info = blocktensor::build_info();
/// println!("{info}");
/// // blocktensor 0.1.0 (opt-level 3), oneDNN 3.14.1 (threadpool, cpu_isa_avx512_core), own kernels avx512, 2 threads
/// if !info.is_optimised() {
///     eprintln!("kernels are slow: opt-level is {}", info.opt_level);
/// }
/// # assert_eq!(info.version, "0.1.0");
/// ```
pub fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION"),
        opt_level: env!("BLOCKTENSOR_OPT_LEVEL"),
        profile: env!("BLOCKTENSOR_PROFILE"),
        debug_assertions: cfg!(debug_assertions),
        engine: engine(),
        simd: simd::level().name(),
        threads: threads::current_threads(),
    }
}

#[cfg(feature = "onednn")]
fn engine() -> Option<EngineInfo> {
    use crate::onednn::{cpu_runtime, effective_isa, version};
    Some(EngineInfo { name: "oneDNN", version: version(), cpu_runtime: cpu_runtime(), isa: effective_isa() })
}

#[cfg(not(feature = "onednn"))]
fn engine() -> Option<EngineInfo> {
    None
}

impl fmt::Display for EngineInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineInfo { name, version: (major, minor, patch), cpu_runtime, isa } = self;
        write!(f, "{name} {major}.{minor}.{patch} ({cpu_runtime}, {isa})")
    }
}

impl fmt::Display for BuildInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BuildInfo { version, opt_level, debug_assertions, engine, simd, threads, .. } = self;
        let assertions = if *debug_assertions { ", debug assertions" } else { "" };
        write!(f, "blocktensor {version} (opt-level {opt_level}{assertions}), ")?;
        match engine {
            Some(engine) => write!(f, "{engine}")?,
            None => f.write_str("without oneDNN")?,
        }
        write!(f, ", own kernels {simd}, {}", counted(*threads, "thread"))?;
        if !self.is_optimised() {
            write!(
                f,
                "\nThis build of blocktensor is not optimised: its kernels are 30 to 350 times slower. Add these lines to the Cargo.toml of \
                 your workspace:\n\n[profile.dev.package.\"*\"]\nopt-level = 3\n"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unoptimised_build_says_so_with_the_lines_that_help() {
        for (opt_level, told) in [("0", true), ("1", true), ("s", true), ("2", false), ("3", false)] {
            let info = BuildInfo { opt_level, threads: 1, ..build_info() };
            assert_eq!(info.is_optimised(), !told);
            let text = info.to_string();
            assert!(text.contains(&format!("opt-level {opt_level}")) && text.contains(" 1 thread"), "{text}");
            assert_eq!(text.contains("[profile.dev.package.\"*\"]\nopt-level = 3\n"), told, "{text}");
        }
    }

    #[test]
    fn the_engine_is_told_with_its_runtime() {
        let engine =
            EngineInfo { name: "oneDNN", version: (3, 2, 1), cpu_runtime: "omp", isa: "cpu_isa_avx2" };
        let info = BuildInfo { engine: Some(engine), ..build_info() };
        assert!(info.to_string().contains("oneDNN 3.2.1 (omp, cpu_isa_avx2)"), "{info}");
        let info = BuildInfo { engine: None, ..info };
        assert!(info.to_string().contains("without oneDNN"), "{info}");
    }
}
