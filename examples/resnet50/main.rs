//! Classifies an image with a ResNet or MobileNetV2 whose weights are packed once, in the layout of your choice.
//!
//! `cargo run --example resnet50 -- --help`

mod failure;
mod files;
mod image;
mod memory;
mod onnx;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use blocktensor::ledger::{self, Cause};
use blocktensor::{Error, PackedFile, StridedTensor};
use blocktensor_nets::{Arch, Mode, Network, Weights};
use clap::Parser;

use failure::{Failure, say};

/// Runs an image classifier in blocked, NHWC or NCHW layout. Weights are reordered once; afterwards nothing is.
#[derive(Parser)]
struct Cli {
    /// resnet18, resnet50, resnet101 or mobilenet_v2.
    #[arg(long, default_value = "resnet50")]
    model: String,
    /// A safetensors file with torchvision's or timm's names; seeded random weights without it.
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Refuse --weights with tensors that the model does not use.
    #[arg(long, requires = "weights")]
    strict: bool,
    /// A file of packed weights written by --save-packed: nothing is packed. Needs --layout.
    #[arg(long, conflicts_with = "weights", requires = "layout")]
    packed: Option<PathBuf>,
    /// Where to write the packed weights. Needs --layout.
    #[arg(long, requires = "layout")]
    save_packed: Option<PathBuf>,
    /// With --save-packed: also write the plain weights. With --packed: pack again from those if the file does not fit.
    #[arg(long)]
    repack: bool,
    /// A PNG or JPEG; resized to 256, cropped to 224 and normalised as ImageNet models expect. Seeded noise without
    /// --image and --input.
    #[arg(long)]
    image: Option<PathBuf>,
    /// A safetensors file whose f32 tensor `input` is [N, 3, H, H], or [3, H, H] for one image; used unchanged.
    #[arg(long, conflicts_with = "image")]
    input: Option<PathBuf>,
    /// blocked, nhwc or nchw; by default all three, as a table.
    #[arg(long)]
    layout: Option<String>,
    /// Images per run: a single image is repeated this often. All images of an --input run together: omit this option, or
    /// pass their number.
    #[arg(long)]
    batch: Option<usize>,
    /// Threads; by default the machine's number of processors.
    #[arg(long)]
    threads: Option<usize>,
    /// Timed runs.
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// A safetensors file to write: tensor `output`, [N, 1000], from the first layout in the table.
    #[arg(long)]
    output: Option<PathBuf>,
    /// An ONNX file to write: the network with plain weights, input `image`, output `output`.
    #[arg(long, conflicts_with = "packed")]
    onnx: Option<PathBuf>,
    /// Print every reorder and every kernel run of one run of the network, for each layout.
    #[arg(long)]
    ledger: bool,
}

/// The results of one layout.
struct Report {
    mode: Mode,
    logits: StridedTensor,
    pack: Duration,
    packed_bytes: usize,
    times: Vec<Duration>,
    moves: String,
    memory: Option<memory::Peak>,
}

/// The images, and their origin.
struct Input {
    images: StridedTensor,
    from: String,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match check_counts(&cli).and_then(|()| in_pool(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.exit_code()),
    }
}

fn check_counts(cli: &Cli) -> Result<(), Failure> {
    for (option, count) in [("--batch", cli.batch), ("--threads", cli.threads), ("--runs", Some(cli.runs))] {
        if count == Some(0) {
            return Err(Failure::usage(option, "0: it is at least 1"));
        }
    }
    Ok(())
}

fn in_pool(cli: &Cli) -> Result<(), Failure> {
    match cli.threads {
        None => run(cli),
        Some(n) => match rayon::ThreadPoolBuilder::new().num_threads(n).build() {
            Ok(pool) => pool.install(|| run(cli)),
            Err(e) => Err(Failure::usage("--threads", format!("{n}: {e}"))),
        },
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let Some(arch) = Arch::by_name(&cli.model) else {
        let known = Arch::NAMES.join(", ");
        return Err(Failure::usage("--model", format!("{}: the models are {known}", cli.model)));
    };
    let modes = match cli.layout.as_deref() {
        None => Mode::ALL.to_vec(),
        Some(name) => match Mode::ALL.into_iter().find(|m| m.name() == name) {
            Some(mode) => vec![mode],
            None => return Err(Failure::usage("--layout", format!("{name}: it is blocked, nhwc or nchw"))),
        },
    };
    for (option, path) in [("--output", &cli.output), ("--onnx", &cli.onnx)] {
        path.as_ref().map_or(Ok(()), |path| files::check(option, path))?;
    }
    let input = input(cli)?;
    let dims = input.images.dims();
    let (n, s) = (dims[0], if dims[0] == 1 { "" } else { "s" });
    say!("{}, {n} image{s} of {} x {}: {}", arch.name, dims[2], dims[3], input.from);
    say!("{}", blocktensor::build_info());
    let (mut reports, mut failed) = (Vec::new(), Vec::new());
    for &mode in &modes {
        match measure(cli, &arch, &input.images, mode) {
            Ok(report) => reports.push(report),
            // If several layouts run, the others are still shown.
            Err(Failure::Library(e)) if modes.len() > 1 => failed.push((mode, e)),
            Err(failure) => return Err(failure),
        }
    }
    let written = match (&cli.output, reports.first()) {
        (Some(path), Some(first)) => files::write_output(path, &first.logits).map(|()| Some((path, first))),
        _ => Ok(None),
    };
    print_table(&reports, &failed, cli.runs)?;
    print_memory(&reports)?;
    if let Some(first) = reports.first() {
        print_top5(&first.logits, cli.weights.is_none() && cli.packed.is_none())?;
        compare(&reports)?;
    }
    if let Some((path, first)) = written? {
        say!("wrote {}: the logits of {}", path.display(), first.mode.name());
    }
    if let Some(path) = &cli.onnx {
        onnx::write(path, &arch, &mut plain_weights(cli, &arch)?, dims[2])?;
        say!("wrote {}: the network", path.display());
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Told) }
}

fn input(cli: &Cli) -> Result<Input, Failure> {
    let (one, from) = match (&cli.image, &cli.input) {
        (Some(path), _) => (image::load(path)?, path.display().to_string()),
        (None, Some(path)) => (files::read_input(path)?, path.display().to_string()),
        (None, None) => {
            (blocktensor_nets::noise(1, 224, 7)?, "seeded noise, for want of --image or --input".into())
        }
    };
    let n = one.dims()[0];
    let batch = cli.batch.unwrap_or(n);
    if batch == n {
        return Ok(Input { images: one, from });
    }
    if n > 1 {
        let text = format!("{batch}: {from} holds {n} images; leave --batch out, or pass {n}");
        return Err(Failure::usage("--batch", text));
    }
    let too_large =
        |e: &dyn std::fmt::Display| Failure::usage("--batch", format!("{batch}: {e}; pass a smaller number"));
    let values = one.to_vec::<f32>()?;
    let total =
        values.len().checked_mul(batch).ok_or_else(|| too_large(&"more values than can be counted"))?;
    let mut repeated = Vec::new();
    repeated.try_reserve_exact(total).map_err(|e| too_large(&e))?;
    (0..batch).for_each(|_| repeated.extend_from_slice(&values));
    let mut dims = one.dims().to_vec();
    dims[0] = batch;
    Ok(Input { images: StridedTensor::from_slice(&repeated, &dims)?, from: format!("{from}, repeated") })
}

/// The network, packed or read from a file, and the time that took.
fn network(
    cli: &Cli,
    arch: &Arch,
    mode: Mode,
    batch: usize,
    size: usize,
) -> Result<(Network, Duration), Failure> {
    if let Some(path) = &cli.packed {
        let start = Instant::now();
        let file = if cli.repack { PackedFile::read_or_repack(path)? } else { PackedFile::read(path)? };
        return Ok((Network::load(arch, &file, mode, batch, size)?, start.elapsed()));
    }
    // Making noise takes longer than packing it, and is not measured.
    let noise = if cli.weights.is_none() { Some(plain_weights(cli, arch)?) } else { None };
    let start = Instant::now();
    let mut weights = noise.map_or_else(|| plain_weights(cli, arch), Ok)?;
    // Each plain tensor is freed once it is packed.
    let network = Network::pack(arch, &mut weights, mode, batch, size)?;
    let took = start.elapsed();
    if let Some(path) = &cli.save_packed {
        network.save(path, cli.repack)?;
    }
    Ok((network, took))
}

/// The weights of `--weights`, or seeded noise.
fn plain_weights(cli: &Cli, arch: &Arch) -> Result<Weights, Error> {
    match &cli.weights {
        Some(path) => Ok(Weights::load(path, arch, cli.strict)?.0),
        None => Weights::random(arch, 1),
    }
}

fn measure(cli: &Cli, arch: &Arch, images: &StridedTensor, mode: Mode) -> Result<Report, Failure> {
    let (batch, size) = (images.dims()[0], images.dims()[2]);
    let before = memory::resident();
    let (network, pack) = network(cli, arch, mode, batch, size)?;
    let images = images.contiguous(mode.image_format())?;
    memory::forget_peak();
    let (logits, book) = ledger::record(|| blocktensor::run(|| network.run(&images)));
    let logits = logits?;
    if cli.ledger {
        say!("ledger of one run, {}:", mode.name());
        for line in book.to_string().lines() {
            say!("{line}");
        }
    }
    let count =
        |internal: bool| book.reorders.iter().filter(|r| (r.cause == Cause::Internal) == internal).count();
    let moves = match (count(false), count(true)) {
        (n, 0) => format!("{n}"),
        (n, inside) => format!("{n}, and {inside} inside kernels"),
    };
    let mut times = blocktensor::run(|| -> Result<Vec<Duration>, Error> {
        (0..cli.runs)
            .map(|_| {
                let start = Instant::now();
                network.run(&images)?;
                Ok(start.elapsed())
            })
            .collect()
    })?;
    times.sort();
    let packed_bytes = network.packed_bytes();
    let memory = memory::Peak::of_runs(before, &network, &book);
    Ok(Report { mode, logits, pack, packed_bytes, times, moves, memory })
}

fn print_table(reports: &[Report], failed: &[(Mode, Error)], runs: usize) -> Result<(), Failure> {
    say!("");
    if !reports.is_empty() {
        say!(
            "{:<8} {:>10} {:>10} {:>11} {:>11} {:>10}   reorders per run",
            "layout",
            "weights",
            "ready in",
            "median",
            "fastest",
            "memory"
        );
    }
    for r in reports {
        say!(
            "{:<8} {:>7.1} MB {:>7.0} ms {:>8.2} ms {:>8.2} ms {:>7}   {}",
            r.mode.name(),
            r.packed_bytes as f64 / 1e6,
            r.pack.as_secs_f64() * 1e3,
            r.times[r.times.len() / 2].as_secs_f64() * 1e3,
            r.times[0].as_secs_f64() * 1e3,
            r.memory.as_ref().map_or("?".into(), |m| format!("{:.1} MB", m.grown())),
            r.moves
        );
    }
    for (mode, e) in failed {
        say!("{:<8} does not run: {e}", mode.name());
    }
    if !reports.is_empty() {
        let s = if runs == 1 { "" } else { "s" };
        say!("");
        say!(
            "weights, ready in:  the weights as the kernels want them, and the time it took to get them so, once"
        );
        say!("median, fastest:    of {runs} run{s} of the whole network");
        say!("memory:             resident at the peak of the runs, less what was before the weights came");
        say!("reorders per run:   copies of activations into another layout");
    }
    if reports.iter().any(|r| r.mode == Mode::Blocked) {
        say!("                    (1: pooling's result becomes plain for the classifier)");
    }
    if reports.iter().any(|r| r.moves.contains("inside")) {
        say!(
            "                    (inside kernels: oneDNN's implementation makes them while it runs, unasked)"
        );
    }
    Ok(())
}

/// The bound for the memory of a single layout.
fn print_memory(reports: &[Report]) -> Result<(), Failure> {
    if let [Report { memory: Some(peak), .. }] = reports {
        say!("");
        say!("memory of the runs: {peak}");
    }
    Ok(())
}

fn print_top5(logits: &StridedTensor, random: bool) -> Result<(), Failure> {
    let row = logits.select(0, 0)?.to_vec::<f32>()?;
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    let top: Vec<String> = order.iter().take(5).map(|&i| format!("{i} ({:.2})", row[i])).collect();
    let whose = match logits.dims()[0] {
        1 => String::new(),
        n => format!(" of the first of {n} images"),
    };
    say!("");
    say!("top 5 classes{whose} (logit): {}", top.join(", "));
    if random {
        say!("The weights are random, so these classes mean nothing; pass --weights for real ones.");
    }
    Ok(())
}

/// Prints how far the results of the layouts differ, and fails if that is more than rounding.
fn compare(reports: &[Report]) -> Result<(), Failure> {
    let Some((first, others)) = reports.split_first() else { return Ok(()) };
    for r in others {
        let distance = relative_l2(&first.logits, &r.logits)?;
        say!("{} and {} differ by {distance:.1e} (relative L2)", first.mode.name(), r.mode.name());
        if distance.is_nan() {
            let text =
                "the logits hold NaN or infinity, or nothing but zeros: look at the images and weights";
            return Err(Failure::Usage(text.into()));
        }
        if distance > 1e-5 {
            return Err(Failure::Usage("layouts agree to 1e-5, and these do not; please report this".into()));
        }
    }
    Ok(())
}

fn relative_l2(a: &StridedTensor, b: &StridedTensor) -> Result<f64, Error> {
    let (a, b) = (a.to_vec::<f32>()?, b.to_vec::<f32>()?);
    let square = |v: f64| v * v;
    let difference: f64 = a.iter().zip(&b).map(|(x, y)| square(f64::from(*x) - f64::from(*y))).sum();
    let norm: f64 = a.iter().map(|x| square(f64::from(*x))).sum();
    Ok((difference / norm).sqrt())
}
