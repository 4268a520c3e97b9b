//! Runs lists of problems in benchdnn's notation on blocked, NHWC and NCHW tensors, and compares every element with loops
//! in f64.
//!
//! `cargo run --example conv_problems -- --help`

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use blocktensor::AnyConvPacker;
use blocktensor_problems::{Kind, List, Options, Types};
use clap::Parser;

/// Runs problems in benchdnn's notation, such as g1mb2ic64ih56oc64oh56kh3ph1n"name", on blocked, NHWC and NCHW tensors, and
/// compares them with loops in f64: convolutions and transposed ones on integers, exactly, with plain weights and with
/// packed ones; pooling (max, avg_np, avg_p) and batch norm (inference, training).
///
/// Prints every difference, and at the end "N passed, N failed, N unsupported". These count runs: one problem in one
/// layout. A pooling problem has one run for each algorithm, a batch norm one for inference and one for training. A run is
/// unsupported if the library returns such an error, or if its interface, which is PyTorch's, cannot express the problem;
/// the reasons are counted below. Exits with 1 if anything failed or could not be read, and with 2 for a mistake in the
/// command.
#[derive(Parser)]
#[command(name = "conv_problems")]
struct Cli {
    /// Files of problems. `#` begins a comment; `--conv`, `--deconv`, `--pool` and `--bnorm` in a file set the kind of the
    /// problems that follow; `--batch=FILE` reads another file; benchdnn's other options are ignored.
    #[arg(required_unless_present = "problem")]
    files: Vec<PathBuf>,
    /// One problem; may be repeated.
    #[arg(long)]
    problem: Vec<String>,
    /// The kind of the problems: conv, deconv, pool or bnorm.
    #[arg(long, default_value = "conv", value_parser = kind)]
    kind: Kind,
    /// Seed of the data, together with the problem.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compute convolutions by this implementation alone, such as direct, gemm, pointwise, winograd4 or winograd4:each_run, with
    /// packed weights. Winograd's are judged by the norm of all errors. What it does not compute counts as unsupported.
    #[arg(long, value_parser = implementation)]
    alg: Option<String>,
    /// The dtypes of source, weights and result of convolutions, as benchdnn has them: f32, or u8:s8:s32, s8:s8:u8 and the like. Sums of
    /// integers are compared bit for bit; a result of 8 bits is a sum that is limited to them.
    #[arg(long, default_value = "f32")]
    dt: Types,
    /// Skip problems with more multiply-adds (pooling: elements of all windows; batch norm: elements).
    #[arg(long)]
    max_macs: Option<u64>,
    /// The batch of every problem, instead of its own.
    #[arg(long)]
    mb: Option<usize>,
    /// Threads of the library and of the loops; by default, the machine's number of processors.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print every problem before it runs, and the outcome of each run.
    #[arg(long, short)]
    verbose: bool,
}

fn kind(name: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|k| k.name() == name);
    found.ok_or_else(|| "it is conv, deconv, pool or bnorm".into())
}

/// An implementation of this build, by its name.
fn implementation(name: &str) -> Result<String, String> {
    match AnyConvPacker::implementations().any(|known| known == name) {
        true => Ok(name.to_string()),
        false => {
            let all: Vec<&str> = AnyConvPacker::implementations().collect();
            Err(format!("this build has {}", all.join(", ")))
        }
    }
}

/// Half of the free memory, if the system reports it.
fn half_of_memory() -> u64 {
    let told = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = free.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(4 << 30, |kib| kib * 512)
}

/// This command, without its problems.
fn command(threads: usize, alg: Option<&str>, types: Types) -> String {
    let isa = std::env::var("ONEDNN_MAX_CPU_ISA").map(|isa| format!("ONEDNN_MAX_CPU_ISA={isa} "));
    let features = if cfg!(feature = "onednn") { "" } else { "--no-default-features " };
    let alg = alg.map_or(String::new(), |name| format!(" --alg {name}"));
    let types = if types.is_f32() { String::new() } else { format!(" --dt {types}") };
    let isa = isa.unwrap_or_default();
    format!("{isa}cargo run {features}--example conv_problems -- --jobs {threads}{alg}{types}")
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut list = List::default();
    cli.problem.iter().for_each(|text| list.add_text(text, cli.kind));
    cli.files.iter().for_each(|file| list.add_file(file, cli.kind));
    let tell = |line: &str| {
        // The reader has closed the pipe, as in `conv_problems 2>&1 | head`: writing the results will fail and end the
        // program.
        let _ = writeln!(io::stderr(), "conv_problems: {line}");
    };
    list.unreadable.iter().for_each(|line| tell(line));
    if list.ignored > 0 {
        let names: Vec<&str> = list.ignored_names.iter().map(String::as_str).collect();
        tell(&format!("{} options ignored: {}", list.ignored, names.join(", ")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cli.jobs.unwrap_or(0).into()).build();
    let pool = match pool {
        Ok(pool) => pool,
        Err(e) => {
            tell(&format!("--jobs: {e}"));
            return ExitCode::from(2);
        }
    };
    let options = Options {
        seed: cli.seed,
        alg: cli.alg.clone(),
        max_macs: cli.max_macs,
        mb: cli.mb,
        max_bytes: half_of_memory(),
        verbose: cli.verbose,
        types: cli.dt,
        command: command(pool.current_num_threads(), cli.alg.as_deref(), cli.dt),
    };
    let out = &mut io::LineWriter::new(io::stdout());
    let ran = pool.install(|| blocktensor_problems::run(&list, &options, out));
    match ran.and_then(|totals| out.flush().map(|()| totals)) {
        Ok(totals) if totals.good() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        // The reader has closed the pipe, as in `conv_problems | head`.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        Err(e) => {
            tell(&format!("the standard output: {e}"));
            ExitCode::FAILURE
        }
    }
}
