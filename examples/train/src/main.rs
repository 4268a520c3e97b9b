//! Trains a network in blocked layout and in NHWC from the same start, and shows losses, accuracies, times and reorders.
//!
//! `cargo run --release -p blocktensor-train -- --help`

use std::fs;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use blocktensor::ledger::{self, Cause, Ledger};
use blocktensor::ops::Algorithm;
use blocktensor::{StateDict, Tensor, run_with_threads};
use blocktensor_grad::Sgd;
use blocktensor_train::data::{Data, SIZE, Task};
use blocktensor_train::model::{Format, Model};
use blocktensor_train::net::Net;
use blocktensor_train::step::{accuracy, prepare, step};
use blocktensor_train::svg;
use clap::{Parser, ValueEnum};

/// Trains a network on made images, in blocked layout and in NHWC.
#[derive(Parser)]
struct Cli {
    /// The network. `linear` is the linear classifier of the other network's task that --task names.
    #[arg(long, value_enum, default_value = "resnet18")]
    net: Name,
    /// Of `linear`: what it learns; directions without it.
    #[arg(long, value_enum)]
    task: Option<TaskName>,
    /// One layout; both without it.
    #[arg(long, value_enum)]
    layout: Option<LayoutName>,
    /// Channels of the first stage: 64 (resnet18) or 16 (unet) without it.
    #[arg(long)]
    width: Option<usize>,
    /// The training ends after this step.
    #[arg(long, default_value_t = 200)]
    steps: usize,
    /// Images of a step.
    #[arg(long, default_value_t = 16)]
    batch: usize,
    /// Height and width of images.
    #[arg(long, default_value_t = SIZE)]
    size: usize,
    /// How 3x3 convolutions with stride 1 are computed in blocked layout: direct, winograd2 or winograd4. So are the gradients of
    /// their sources and weights.
    #[arg(long, default_value_t = Algorithm::Direct)]
    algorithm: Algorithm,
    /// Batches of the test after the last step; 0 leaves it out.
    #[arg(long, default_value_t = 32)]
    test_batches: usize,
    /// Batches of the training data, each made once and used in turn.
    #[arg(long, default_value_t = 64)]
    batches: usize,
    /// The learning rate of SGD with momentum 0.9.
    #[arg(long, default_value_t = 0.01)]
    rate: f64,
    /// The seed of weights and images.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; by default the machine's number of processors.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Where to draw the losses.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Where to write weights, statistics and velocities after the last step.
    #[arg(long, requires = "layout")]
    save: Option<PathBuf>,
    /// A file of --save: the training goes on after its last step.
    #[arg(long, requires = "layout")]
    resume: Option<PathBuf>,
    /// Where to write the losses as JSON.
    #[arg(long)]
    log: Option<PathBuf>,
    /// A directory for the weights at the start and all images, as safetensors files.
    #[arg(long)]
    export: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    Resnet18,
    Resnet50,
    MobilenetV2,
    Unet,
    Linear,
}

#[derive(Clone, Copy, ValueEnum)]
enum TaskName {
    Directions,
    Textures,
}

#[derive(Clone, Copy, ValueEnum)]
enum LayoutName {
    Blocked,
    Nhwc,
}

impl LayoutName {
    fn format(self) -> Format {
        match self {
            LayoutName::Blocked => Format::Blocked,
            LayoutName::Nhwc => Format::Nhwc,
        }
    }
}

type Failure = Box<dyn std::error::Error>;

/// The images of the test are others than those of the training.
const TEST_SEED: u64 = 1 << 32;

/// One training.
struct Run {
    format: Format,
    first: usize,
    losses: Vec<f32>,
    accuracy: Option<f64>,
    step_ms: f64,
    least_ms: f64,
    ledger: Option<Ledger>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let threads = cli.threads.map_or_else(blocktensor::current_threads, usize::from);
    match run_with_threads(threads, || all(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn all(cli: &Cli) -> Result<(), Failure> {
    let net = match cli.net {
        Name::Resnet18 => Net::ResNet18 { width: cli.width.unwrap_or(64) },
        Name::Resnet50 => Net::ResNet50,
        Name::MobilenetV2 => Net::MobileNetV2,
        Name::Unet => Net::UNet { width: cli.width.unwrap_or(16) },
        Name::Linear => Net::Linear(match cli.task {
            Some(TaskName::Textures) => Task::Textures,
            _ => Task::Directions,
        }),
    };
    check(cli)?;
    if let Some(to) = &cli.export {
        export(cli, net, to)?;
    }
    let formats = cli.layout.map_or(vec![Format::Blocked, Format::Nhwc], |layout| vec![layout.format()]);
    let mut runs = Vec::new();
    for format in formats {
        runs.push(train(cli, net, format)?);
        report(runs.last().expect("one was just put there"));
    }
    if let Some(path) = &cli.svg {
        let lists: Vec<_> =
            runs.iter().map(|run| (format!("{:?}", run.format), run.losses.clone())).collect();
        fs::write(path, svg::losses(&lists, runs[0].first))?;
    }
    if let Some(path) = &cli.log {
        let lines: Vec<String> = runs.iter().map(json).collect();
        fs::write(path, format!("[{}]\n", lines.join(",\n")))?;
    }
    Ok(())
}

/// Refuses what would be ignored, or leads to no training.
fn check(cli: &Cli) -> Result<(), Failure> {
    if [Some(cli.batch), Some(cli.batches), Some(cli.size), cli.width].contains(&Some(0)) {
        return Err("--batch, --batches, --size and --width are at least 1".into());
    }
    if cli.task.is_some() && !matches!(cli.net, Name::Linear) {
        return Err("--task is for `--net linear`: every other network has its own; leave it out".into());
    }
    if cli.width.is_some() && !matches!(cli.net, Name::Resnet18 | Name::Unet) {
        return Err("--width is for resnet18 and unet; leave it out".into());
    }
    if !(cli.rate.is_finite() && cli.rate >= 0.0) {
        return Err(format!("--rate is a finite number of 0 or more, and not {}", cli.rate).into());
    }
    Ok(())
}

fn data(cli: &Cli, net: Net, format: Format) -> blocktensor::Result<[Data; 2]> {
    let (task, seed) = (net.task(), cli.seed);
    let test = Data::new(task, format, seed ^ TEST_SEED, [cli.test_batches, cli.batch, cli.size])?;
    Ok([Data::new(task, format, seed, [cli.batches, cli.batch, cli.size])?, test])
}

fn train(cli: &Cli, net: Net, format: Format) -> Result<Run, Failure> {
    let [training, test] = data(cli, net, format)?;
    let sgd = Sgd::new(cli.rate).momentum(0.9);
    let mut model = match &cli.resume {
        Some(path) => Model::resume(path, format, sgd)?,
        None => Model::new(format, cli.seed, sgd),
    };
    model.algorithm = cli.algorithm;
    prepare(net, &mut model, &training)?;
    let (first, start) = (model.steps, Instant::now());
    let (mut losses, mut record, mut least_ms) = (Vec::new(), None, f64::INFINITY);
    while model.steps < cli.steps {
        let begin = Instant::now();
        // The second step has all velocities: it is as all later ones.
        let loss = if losses.len() == 1 {
            let (loss, ledger) = ledger::record(|| step(net, &mut model, &training));
            record = Some(ledger);
            loss?
        } else {
            step(net, &mut model, &training)?
        };
        losses.push(loss);
        least_ms = least_ms.min(begin.elapsed().as_secs_f64() * 1e3);
        let each = start.elapsed().as_secs_f64() / losses.len() as f64;
        if stderr().is_terminal() {
            eprint!(
                "\r{format:?}: step {} of {}, loss {loss:.4}, {:.0} ms a step  ",
                model.steps,
                cli.steps,
                each * 1e3
            );
            stderr().flush()?;
        }
    }
    let step_ms = start.elapsed().as_secs_f64() * 1e3 / losses.len().max(1) as f64;
    if stderr().is_terminal() {
        eprintln!();
    }
    if let Some(path) = &cli.save {
        model.save(path)?;
    }
    let accuracy = match cli.test_batches {
        0 => None,
        _ => Some(accuracy(net, &mut model, &test)?),
    };
    Ok(Run { format, first, losses, accuracy, step_ms, least_ms, ledger: record })
}

fn report(run: &Run) {
    let loss = |at: Option<&f32>| at.map_or("-".into(), |loss| format!("{loss:.4}"));
    println!(
        "{:?}: loss {} to {} in {} steps of {:.0} ms{}",
        run.format,
        loss(run.losses.first()),
        loss(run.losses.last()),
        run.losses.len(),
        run.step_ms,
        run.accuracy.map_or(String::new(), |share| format!("; {:.2} % of the test are right", share * 100.0))
    );
    if let Some(ledger) = &run.ledger {
        let of = |cause, backward| {
            ledger.reorders.iter().filter(|r| r.cause == cause && r.is_backward == backward).count()
        };
        let stated = of(Cause::Call, false) + of(Cause::Call, true);
        let (forward, backward) = (of(Cause::Packing, false), of(Cause::Packing, true));
        println!(
            "  reorders of a step: {stated} of activations that the program states, {forward} of weights for the forward pass, \
             {backward} of weights for the gradients of activations, {} others",
            ledger.reorders.len() - stated - forward - backward
        );
    }
}

fn json(run: &Run) -> String {
    let losses: Vec<String> = run.losses.iter().map(f32::to_string).collect();
    format!(
        "{{\"layout\": \"{:?}\", \"first\": {}, \"accuracy\": {}, \"step_ms\": {}, \"least_ms\": {}, \"losses\": [{}]}}",
        run.format,
        run.first,
        run.accuracy.map_or("null".into(), |share| share.to_string()),
        run.step_ms,
        run.least_ms,
        losses.join(", ")
    )
}

/// Writes what another framework needs to train the same: the weights at the start, and all images.
fn export(cli: &Cli, net: Net, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    let all = data(cli, net, Format::Nhwc)?;
    let mut model = Model::new(Format::Nhwc, cli.seed, Sgd::new(cli.rate));
    prepare(net, &mut model, &all[0])?;
    model.save(&to.join("start.safetensors"))?;
    for (name, data) in ["training", "test"].iter().zip(all) {
        let mut dict = StateDict::new();
        for (i, (images, classes)) in data.images.into_iter().zip(data.classes).enumerate() {
            if let Tensor::Strided(images) = images {
                dict.insert(format!("images.{i}"), images);
            }
            dict.insert(format!("classes.{i}"), classes);
        }
        dict.save(to.join(format!("{name}.safetensors")))?;
    }
    Ok(())
}
