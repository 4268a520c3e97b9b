//! Runs the compiler over the sources, several at a time, and packs the objects into `libdnnl.a`.

use super::{config, sources};
use crate::{env, fail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// The flags that oneDNN's own CMake files use for x86-64 with GCC or Clang, except the optimisation level.
const FLAGS: &[&str] = &[
    "-std=c++11",
    "-msse4.1",
    // Only `omp simd`: no OpenMP at run time.
    "-fopenmp-simd",
    "-fPIC",
    "-ffunction-sections",
    "-fdata-sections",
    "-fvisibility=internal",
    "-fvisibility-inlines-hidden",
    "-fno-omit-frame-pointer",
    "-mno-omit-leaf-frame-pointer",
    "-fstack-protector-strong",
    "-fcf-protection=full",
    "-w",
];

const DEFINES: &[&str] = &[
    "-DNDEBUG",
    "-D_FORTIFY_SOURCE=2",
    "-DDISABLE_VERBOSE",
    "-DDNNL_ENABLE_CONCURRENT_EXEC",
    "-DDNNL_ENABLE_CPU_ISA_HINTS",
    "-DDNNL_ENABLE_JIT_PROFILING=0",
    "-DDNNL_ENABLE_MAX_CPU_ISA",
    "-DDNNL_X64=1",
    "-DDNNL_X64_USE_ZEN=0",
    "-D__STDC_CONSTANT_MACROS",
    "-D__STDC_LIMIT_MACROS",
];

/// The C++ compiler of this build: `CXX`, otherwise the system's.
pub struct Compiler {
    tool: cc::Tool,
    identity: String,
}

impl Compiler {
    pub fn find() -> Compiler {
        let tool = cc::Build::new()
            .cpp(true)
            // Independent of Cargo's profile: oneDNN is always optimised.
            .no_default_flags(true)
            .warnings(false)
            .try_get_compiler()
            .unwrap_or_else(|error| fail(&missing(&error.to_string())));
        let version = match Command::new(tool.path()).arg("--version").output() {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(error) => fail(&missing(&format!("{} does not start: {error}", tool.path().display()))),
        };
        let target = std::env::var("TARGET").unwrap_or_default();
        let identity = format!(
            "{target}\n{}\n{:?}\n{version}{}\n{}\n",
            tool.path().display(),
            tool.args(),
            FLAGS.join(" "),
            DEFINES.join(" ")
        );
        Compiler { tool, identity }
    }

    /// Everything that determines the compiler's output: target, name, version, and flags from the environment and this
    /// script.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    fn command(&self, sources: &Path, headers: &Path) -> Command {
        let mut command = self.tool.to_command();
        command.args(FLAGS).args(DEFINES);
        for include in
            [headers, &sources.join("include"), &sources.join("src"), &sources.join("third_party/xbyak")]
        {
            command.arg("-I").arg(include);
        }
        command
    }
}

fn missing(error: &str) -> String {
    format!(
        "no C++ compiler for oneDNN ({error}): install one (Debian and Ubuntu: apt-get install g++), name one in CXX, link an \
         installed oneDNN 3 (ONEDNN_DIR=/prefix, --no-default-features --features system), or do without the engine \
         (--no-default-features)"
    )
}

/// Fills `dir` with `lib/libdnnl.a` and `include`. Existing object files are reused.
pub fn library(sources: &Path, compiler: &Compiler, dir: &Path) {
    let start = Instant::now();
    let done = compile(sources, compiler, dir);
    let objects = done
        .unwrap_or_else(|error| fail(&format!("oneDNN cannot be compiled in {}: {error}", dir.display())));
    archive(&objects, &dir.join("lib"));
    let about = format!(
        "oneDNN {}, compiled in {} s from {} objects\n{}",
        config::VERSION,
        start.elapsed().as_secs(),
        objects.len(),
        compiler.identity()
    );
    let _ = fs::write(dir.join("about.txt"), about);
    let _ = fs::remove_dir_all(dir.join("objects"));
    let _ = fs::remove_file(dir.join("progress"));
}

fn compile(sources: &Path, compiler: &Compiler, dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (headers, objects) = (dir.join("include"), dir.join("objects"));
    fs::create_dir_all(&objects)?;
    config::write_headers(sources, &headers)?;
    let units = sources::units(sources)?;
    let object = |unit: &sources::Unit| objects.join(unit.name()).with_extension("o");

    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let errors = Mutex::new(Vec::new());
    let report = |count: usize| {
        // For programs that show progress; `cargo build -vv` shows the lines.
        let _ = fs::write(dir.join("progress"), format!("{count} {}\n", units.len()));
        println!("oneDNN: {count} of {} files compiled", units.len());
    };
    report(0);
    let work = || {
        loop {
            let Some(unit) = units.get(next.fetch_add(1, Relaxed)) else { return };
            if !errors.lock().expect("no thread panics").is_empty() {
                return;
            }
            let object = object(unit);
            if !object.exists() {
                let done = unit.write(&objects).map_err(|error| error.to_string()).and_then(|source| {
                    // Renamed when it is complete. A compiler that survives an interrupted build writes a file of another
                    // name.
                    let partial = object.with_extension(format!("{}.partial", std::process::id()));
                    let mut command = compiler.command(sources, &headers);
                    run(command.arg(unit.level()).arg("-c").arg(&source).arg("-o").arg(&partial))?;
                    fs::rename(&partial, &object).map_err(|error| format!("{}: {error}", partial.display()))
                });
                if let Err(error) = done {
                    errors.lock().expect("no thread panics").push(error);
                    return;
                }
            }
            report(finished.fetch_add(1, Relaxed) + 1);
        }
    };
    let jobs = env_jobs().min(units.len());
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    if let Some(error) = errors.into_inner().expect("no thread panics").first() {
        fail(error);
    }
    Ok(units.iter().map(object).collect())
}

/// How many compilers run at a time: Cargo's number of jobs.
fn env_jobs() -> usize {
    std::env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| missing(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    eprintln!("{command:?}\n{text}");
    let first = text.lines().find(|line| line.contains("error")).unwrap_or("killed: out of memory?");
    Err(format!(
        "oneDNN cannot be compiled ({}): {first}; `cargo build -vv` shows the command. To link an installed oneDNN 3 instead: \
         ONEDNN_DIR=/prefix, --no-default-features --features system",
        output.status
    ))
}

fn archive(objects: &[PathBuf], lib: &Path) {
    let _ = env("AR");
    let mut build = cc::Build::new();
    build.cargo_metadata(false).out_dir(lib).objects(objects);
    if let Err(error) = fs::create_dir_all(lib)
        .map_err(|e| e.to_string())
        .and_then(|()| build.try_compile("dnnl").map_err(|e| e.to_string()))
    {
        fail(&format!("cannot make {}: {error}", lib.join("libdnnl.a").display()));
    }
}
