//! Classifies an image with a ResNet or MobileNetV2 whose weights are packed once, in the layout of your choice.
//!
//! `cargo run --example resnet50 -- --help`

mod image;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use blocktensor::ledger::{self, Cause};
use blocktensor::{Complaint, Error, MemoryFormat, Result, StridedTensor};
use blocktensor_nets::{Arch, Mode, Network, Weights};
use clap::Parser;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

/// Runs an image classifier in blocked, NHWC or NCHW layout: weights are reordered once, and nothing after.
#[derive(Parser)]
struct Cli {
    /// resnet18, resnet50, resnet101 or mobilenet_v2.
    #[arg(long, default_value = "resnet50")]
    model: String,
    /// A safetensors file with torchvision's or timm's names; seeded random weights without it.
    #[arg(long)]
    weights: Option<PathBuf>,
    /// A PNG or JPEG; resized to 256, cropped to 224 and normalised as ImageNet models expect.
    #[arg(long)]
    image: Option<PathBuf>,
    /// A safetensors file whose f32 tensor `input` is [N, 3, H, W], taken as it is.
    #[arg(long, conflicts_with = "image")]
    input: Option<PathBuf>,
    /// blocked, nhwc or nchw; all three, as a table, without it.
    #[arg(long)]
    layout: Option<String>,
    /// Images at once: the image is repeated.
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Threads; as many as the machine has without it.
    #[arg(long)]
    threads: Option<usize>,
    /// Timed runs.
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// A safetensors file to write: tensor `output`, [N, 1000].
    #[arg(long)]
    output: Option<PathBuf>,
    /// Print every reorder and every kernel run.
    #[arg(long)]
    ledger: bool,
}

/// What one layout gave.
struct Report {
    mode: Mode,
    logits: StridedTensor,
    pack: Duration,
    packed_bytes: usize,
    times: Vec<Duration>,
    moves: String,
}

fn main() {
    let cli = Cli::parse();
    let outcome = match cli.threads {
        None => run(&cli),
        Some(n) => match rayon::ThreadPoolBuilder::new().num_threads(n).build() {
            Ok(pool) => pool.install(|| run(&cli)),
            Err(e) => Err(bad("--threads", n.to_string(), e.to_string(), "pass another number")),
        },
    };
    if let Err(e) = outcome {
        eprintln!("error: {e}");
        std::process::exit(1);
    }
}

fn bad(argument: &'static str, got: String, rule: String, remedy: &str) -> Error {
    Error::InvalidArgument(Complaint::new("resnet50", argument, got, rule, remedy))
}

fn run(cli: &Cli) -> Result<()> {
    let Some(arch) = Arch::by_name(&cli.model) else {
        return Err(bad(
            "--model",
            format!("`{}`", cli.model),
            format!("the models are {}", Arch::NAMES.join(", ")),
            "name one",
        ));
    };
    let modes = match cli.layout.as_deref() {
        None => Mode::ALL.to_vec(),
        Some(name) => match Mode::ALL.into_iter().find(|m| m.name() == name) {
            Some(mode) => vec![mode],
            None => {
                return Err(bad(
                    "--layout",
                    format!("`{name}`"),
                    "it is blocked, nhwc or nchw".into(),
                    "name one",
                ));
            }
        },
    };
    if cli.batch == 0 || cli.runs == 0 {
        return Err(bad("--batch, --runs", "0".into(), "there is at least one".into(), "pass 1 or more"));
    }
    let image = input(cli)?;
    let weights = match &cli.weights {
        Some(path) => Weights::load(path)?,
        None => Weights::random(&arch, 1)?,
    };
    let dims = image.dims();
    println!(
        "{}, {} image{} of {} x {}, {} threads, {}",
        arch.name,
        dims[0],
        if dims[0] == 1 { "" } else { "s" },
        dims[2],
        dims[3],
        rayon::current_num_threads(),
        engine()
    );
    let mut reports = Vec::new();
    for mode in modes {
        reports.push(measure(cli, &arch, &weights, &image, mode)?);
    }
    print_table(&reports);
    print_top5(&reports[0].logits, cli.weights.is_none())?;
    for r in &reports[1..] {
        let distance = relative_l2(&reports[0].logits, &r.logits)?;
        println!("{} and {} differ by {distance:.1e} (relative L2)", reports[0].mode.name(), r.mode.name());
        if distance.is_nan() || distance > 1e-5 {
            return Err(bad(
                "--layout",
                format!("{distance:e}"),
                "layouts agree to 1e-5".into(),
                "report this",
            ));
        }
    }
    if let Some(path) = &cli.output {
        write_output(path, &reports[0].logits)?;
    }
    Ok(())
}

fn engine() -> String {
    #[cfg(feature = "onednn")]
    {
        let (major, minor, patch) = blocktensor::onednn::version();
        format!("oneDNN {major}.{minor}.{patch} ({})", blocktensor::onednn::effective_isa())
    }
    #[cfg(not(feature = "onednn"))]
    "without oneDNN".into()
}

fn input(cli: &Cli) -> Result<StridedTensor> {
    let one = match (&cli.image, &cli.input) {
        (Some(path), _) => image::load(path)?,
        (None, Some(path)) => read_tensor(path)?,
        (None, None) => blocktensor_nets::noise(1, 224, 7)?,
    };
    if cli.batch == 1 {
        return Ok(one);
    }
    let values = one.to_vec::<f32>()?;
    let mut dims = one.dims().to_vec();
    dims[0] *= cli.batch;
    StridedTensor::from_slice(&values.repeat(cli.batch), &dims)
}

fn read_tensor(path: &std::path::Path) -> Result<StridedTensor> {
    let shown = || format!("`{}`", path.display());
    let bytes = std::fs::read(path).map_err(|e| {
        bad("--input", format!("{}: {e}", shown()), "it is a readable file".into(), "name a safetensors file")
    })?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| {
        bad("--input", format!("{}: {e}", shown()), "it is a whole safetensors file".into(), "write it again")
    })?;
    let view = file.tensor("input").map_err(|e| {
        bad(
            "--input",
            format!("{}: {e}", shown()),
            "it holds a tensor `input`".into(),
            "name the tensor `input`",
        )
    })?;
    if view.dtype() != Dtype::F32
        || view.shape().len() != 4
        || view.shape()[1] != 3
        || view.shape().contains(&0)
    {
        let got = format!("{:?} {:?}", view.dtype(), view.shape());
        return Err(bad("--input", got, "`input` is f32 [N, 3, H, W]".into(), "convert it"));
    }
    let values: Vec<f32> =
        view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    StridedTensor::from_slice(&values, view.shape())
}

fn measure(cli: &Cli, arch: &Arch, weights: &Weights, image: &StridedTensor, mode: Mode) -> Result<Report> {
    let (batch, size) = (image.dims()[0], image.dims()[2]);
    if image.dims()[2] != image.dims()[3] {
        return Err(bad("--input", format!("{:?}", image.dims()), "images are square".into(), "crop them"));
    }
    let mut weights = weights.share();
    let start = Instant::now();
    let network = Network::pack(arch, &mut weights, mode, batch, size)?;
    let pack = start.elapsed();
    drop(weights);
    let image = image.contiguous(mode.image_format())?;
    let (logits, book) = ledger::record(|| blocktensor::run(|| network.run(&image)));
    let logits = logits?;
    if cli.ledger {
        print!("{book}");
        for r in &book.runs {
            println!("  run {:<16} {:<8} {:<32} {:?} {}", r.op, r.key, r.implementation, r.time, r.layouts);
        }
    }
    let count =
        |internal: bool| book.reorders.iter().filter(|r| (r.cause == Cause::Internal) == internal).count();
    let moves = match (count(false), count(true)) {
        (n, 0) => format!("{n}"),
        (n, inside) => format!("{n}, and {inside} inside kernels"),
    };
    let mut times = blocktensor::run(|| -> Result<Vec<Duration>> {
        (0..cli.runs)
            .map(|_| {
                let start = Instant::now();
                network.run(&image)?;
                Ok(start.elapsed())
            })
            .collect()
    })?;
    times.sort();
    Ok(Report { mode, logits, pack, packed_bytes: network.packed_bytes(), times, moves })
}

fn print_table(reports: &[Report]) {
    println!(
        "{:<8} {:>10} {:>10} {:>11} {:>11}   reorders per run",
        "layout", "packed", "in", "median", "fastest"
    );
    for r in reports {
        println!(
            "{:<8} {:>7.1} MB {:>7.0} ms {:>8.2} ms {:>8.2} ms   {}",
            r.mode.name(),
            r.packed_bytes as f64 / 1e6,
            r.pack.as_secs_f64() * 1e3,
            r.times[r.times.len() / 2].as_secs_f64() * 1e3,
            r.times[0].as_secs_f64() * 1e3,
            r.moves
        );
    }
}

fn print_top5(logits: &StridedTensor, random: bool) -> Result<()> {
    let row = logits.select(0, 0)?.to_vec::<f32>()?;
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    let top: Vec<String> = order.iter().take(5).map(|&i| format!("{i} ({:.2})", row[i])).collect();
    println!("top 5 classes (logit): {}", top.join(", "));
    if random {
        println!("The weights are random, so these classes mean nothing; pass --weights for real ones.");
    }
    Ok(())
}

fn relative_l2(a: &StridedTensor, b: &StridedTensor) -> Result<f64> {
    let (a, b) = (a.to_vec::<f32>()?, b.to_vec::<f32>()?);
    let square = |v: f64| v * v;
    let difference: f64 = a.iter().zip(&b).map(|(x, y)| square(f64::from(*x) - f64::from(*y))).sum();
    let norm: f64 = a.iter().map(|x| square(f64::from(*x))).sum();
    Ok((difference / norm).sqrt())
}

fn write_output(path: &std::path::Path, logits: &StridedTensor) -> Result<()> {
    let logits = logits.contiguous(MemoryFormat::Contiguous)?;
    let bytes: Vec<u8> = logits.to_vec::<f32>()?.into_iter().flat_map(f32::to_le_bytes).collect();
    let failed = |e: String| {
        bad("--output", format!("`{}`: {e}", path.display()), "it can be written".into(), "name another file")
    };
    let view =
        TensorView::new(Dtype::F32, logits.dims().to_vec(), &bytes).map_err(|e| failed(e.to_string()))?;
    safetensors::serialize_to_file([("output", view)], None, path).map_err(|e| failed(e.to_string()))?;
    println!("wrote {}", path.display());
    Ok(())
}
