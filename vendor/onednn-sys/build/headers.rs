//! Version and CPU runtime of a oneDNN, read from its installed headers.

use std::fs;
use std::path::Path;

/// The oldest oneDNN this crate was tested with.
const OLDEST: (u32, u32) = (3, 2);

/// `DNNL_CPU_RUNTIME`: the runtime that runs a primitive's tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runtime {
    None,
    Seq,
    Omp,
    Tbb,
    Threadpool,
    Sycl,
}

impl Runtime {
    /// The name in the cfg `onednn_cpu_runtime` and in the metadata.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::None => "none",
            Runtime::Seq => "seq",
            Runtime::Omp => "omp",
            Runtime::Tbb => "tbb",
            Runtime::Threadpool => "threadpool",
            Runtime::Sycl => "sycl",
        }
    }

    fn parse(define: &str) -> Option<Runtime> {
        Some(match define.trim().strip_prefix("DNNL_RUNTIME_")? {
            "NONE" => Runtime::None,
            "SEQ" => Runtime::Seq,
            "OMP" => Runtime::Omp,
            "TBB" => Runtime::Tbb,
            "THREADPOOL" => Runtime::Threadpool,
            "SYCL" | "DPCPP" => Runtime::Sycl,
            _ => return None,
        })
    }
}

/// Version and runtime from the installed headers.
pub struct Headers {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
    pub runtime: Runtime,
}

impl Headers {
    /// Reads `dnnl_version.h` and `dnnl_config.h`.
    pub fn read(include: &Path) -> Result<Headers, String> {
        let directory = include.join("oneapi").join("dnnl");
        let version = read(&directory.join("dnnl_version.h"))?;
        let config = read(&directory.join("dnnl_config.h"))?;
        let number = |name: &str| {
            define(&version, name)
                .and_then(|value| value.parse::<u32>().ok())
                .ok_or_else(|| format!("{}: no number in {name}", directory.join("dnnl_version.h").display()))
        };
        let runtime = define(&config, "DNNL_CPU_RUNTIME").and_then(Runtime::parse).ok_or_else(|| {
            format!("{}: no known DNNL_CPU_RUNTIME", directory.join("dnnl_config.h").display())
        })?;
        Ok(Headers {
            major: number("DNNL_VERSION_MAJOR")?,
            minor: number("DNNL_VERSION_MINOR")?,
            patch: number("DNNL_VERSION_PATCH")?,
            runtime,
        })
    }

    pub fn version(&self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }

    /// Refuses versions and runtimes that this crate does not support.
    pub fn check(&self, root: &Path) -> Result<(), String> {
        let (major, minor) = OLDEST;
        if (self.major, self.minor) < OLDEST || self.major > major {
            return Err(format!(
                "the oneDNN in {} is version {}; this crate supports oneDNN {major} from version {major}.{minor} on. \
                 Point ONEDNN_DIR at such an installation, or use the feature `bundled`, which compiles one",
                root.display(),
                self.version()
            ));
        }
        if matches!(self.runtime, Runtime::None | Runtime::Sycl) {
            return Err(format!(
                "the oneDNN in {} was built with the CPU runtime {}; this crate needs SEQ, OMP, TBB or THREADPOOL",
                root.display(),
                self.runtime.name().to_uppercase()
            ));
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, String> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    // Only after it was read: cargo treats a missing file as changed.
    println!("cargo::rerun-if-changed={}", path.display());
    Ok(text)
}

/// The value of `#define name value`.
fn define<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "#define" && words.next()? == name).then_some(())?;
        words.next()
    })
}
