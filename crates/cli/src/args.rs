//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use blocktensor_graph::{Layouts, Pass, Precision};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use crate::preprocess::{Preprocess, Size, parse_scale};

const AFTER: &str = "\
Exit codes: 0 fine; 1 a check failed, or the model cannot be read, planned or run; 2 wrong usage, or a file named on the
command line cannot be used.";

/// Runs ONNX models with blocktensor.
#[derive(Parser)]
#[command(name = "blocktensor", version, after_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Runs a model, prints what comes out, and compares it with files.
    #[command(after_help = AFTER)]
    Run(Box<Run>),
    /// Lists the model's ops: which run, which are composed of others or folded away, which are missing.
    #[command(after_help = AFTER)]
    Ops(Ops),
    /// Prints the plan: every step with its layout, every reorder with its bytes.
    #[command(after_help = AFTER)]
    Plan(Plan),
    /// Writes a plan and its packed weights into one file, which `run`, `plan` and `bench` take in place of the model.
    #[command(after_help = AFTER)]
    Pack(Pack),
    /// Runs a model many times, and prints how long it takes.
    #[command(after_help = AFTER)]
    Bench(Bench),
}

/// Options of every command.
#[derive(Args)]
pub struct Model {
    /// An ONNX file. `run`, `plan` and `bench` also take a plan that `blocktensor pack` wrote: it is mapped, and must not change while
    /// the program runs.
    pub model: PathBuf,
    /// A number for a size that the model leaves open, such as `batch=1`; `batch=0` is an empty batch. Of those that an input
    /// file shows `run` needs none.
    #[arg(long = "size", value_name = "NAME=N", value_parser = parse_size)]
    pub sizes: Vec<(String, usize)>,
    /// Values to compute instead of the model's outputs, by name. Nodes that only other outputs need do not run.
    #[arg(long, value_name = "NAME,...")]
    pub outputs: Vec<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Options of commands that plan.
#[derive(Args, Clone)]
pub struct Planning {
    /// The layout of images between the nodes [default: measured, the fastest of the others or a mixture of them].
    #[arg(long, value_parser = layouts())]
    pub layout: Option<Layouts>,
    /// Switch a pass off.
    #[arg(long, value_name = "PASS", value_parser = passes())]
    pub without: Vec<Pass>,
    /// Measure the layouts again, and keep nothing for the next time.
    #[arg(long)]
    pub no_cache: bool,
    /// Choose the layouts by what bytes and multiply-adds would cost, and measure nothing.
    #[arg(long, conflicts_with = "no_cache")]
    pub offline: bool,
    /// Keep convolutions to the direct algorithm. Without it, measured layouts also measure Winograd's, which rounds otherwise.
    #[arg(long)]
    pub exact: bool,
    /// The type in which ops compute that have kernels for it; the rest stays f32, and casts are steps of the plan. bf16 has 8 bits of
    /// precision, and its convolutions need AVX512_BF16 [default: f32].
    #[arg(long, value_parser = precisions())]
    pub precision: Option<Precision>,
    /// Refuse a model that quantises nodes which no kernel computes on integers. Without it they compute in f32, between steps that the
    /// plan lists.
    #[arg(long)]
    pub strict: bool,
    /// How large packed weights may become, as a multiple of the plain ones: measured layouts may transform weights ahead
    /// [default: 1.25].
    #[arg(long, value_name = "TIMES", value_parser = growth, allow_negative_numbers = true)]
    pub weight_growth: Option<f64>,
    /// For a file that `pack --keep-plain` wrote: where its weights do not fit this machine or its number of threads, plan
    /// again from the plain ones.
    #[arg(long)]
    pub replan: bool,
    /// Threads [default: one for each processor that affinity and the control group's quota allow].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Whether the plan keeps its plain weights: no option, set for --errors.
    #[arg(skip)]
    pub keep_constants: bool,
}

impl Planning {
    /// The first option given that only measured layouts read.
    pub fn measuring(&self) -> Option<&'static str> {
        let given = [
            ("--offline", self.offline),
            ("--no-cache", self.no_cache),
            ("--weight-growth", self.weight_growth.is_some()),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// Takes these options back, for the other layouts of a comparison.
    pub fn forget_measuring(&mut self) {
        (self.offline, self.no_cache, self.weight_growth) = (false, false, None);
    }
}

/// A number that is at least 1.
fn growth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(times) if times >= 1.0 && times.is_finite() => Ok(times),
        _ => Err("it is a number of 1 or more, such as 1.25".to_string()),
    }
}

#[derive(Args)]
pub struct Ops {
    #[command(flatten)]
    pub model: Model,
}

#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    pub model: Model,
    #[command(flatten)]
    pub planning: Planning,
    /// Print what was measured: for each node the layouts that it could run in and their times, for the whole plan the time in
    /// one layout.
    #[arg(long)]
    pub explain: bool,
    /// Run the model once, and print the error of each step: the relative L2 error of its result against the same node in f64,
    /// computed from the inputs that the step had. It is the step's own error, not what has added up. The error of each output
    /// against the whole network in f64 follows: after the passes, which fold batch norms into weights, and as it was written. Inputs are random (seed 0), or given with --input. Of files that `pack` wrote, it
    /// takes those with --keep-plain.
    #[arg(long)]
    pub errors: bool,
    /// Draw the plan, with the time of each step, as a picture for a browser.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the plan, with the time of each step, as an ONNX file that Netron draws. Its weights are not in it.
    #[arg(long, value_name = "FILE")]
    pub onnx: Option<PathBuf>,
    /// Write the plan in Graphviz's language.
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    #[command(flatten)]
    pub inputs: Inputs,
}

#[derive(Args)]
pub struct Pack {
    #[command(flatten)]
    pub model: Model,
    #[command(flatten)]
    pub planning: Planning,
    /// Where to write the plan.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the plain weights, so that --replan can plan again on another machine. About doubles the file.
    /// Not for --precision bf16, whose weights are rounded.
    #[arg(long)]
    pub keep_plain: bool,
}

#[derive(Args)]
pub struct Bench {
    #[command(flatten)]
    pub model: Model,
    #[command(flatten)]
    pub planning: Planning,
    /// Runs that do not count, before the others.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true)]
    pub warm_up: u32,
    /// How often the model runs [default: for 3 seconds, at least 10 times].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub runs: Option<u32>,
    /// Runs at a time, each on its part of the threads: for throughput instead of latency.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub streams: Option<u16>,
    /// Print the time of each step, its share, and what it computes and moves in a second.
    #[arg(long)]
    pub layers: bool,
    /// Compare the plans in all layouts, by turns.
    #[arg(long, conflicts_with_all = ["layout", "layers", "trace"])]
    pub compare_layouts: bool,
    /// Write the steps of one run for chrome://tracing and Perfetto.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    pub model: Model,
    #[command(flatten)]
    pub planning: Planning,
    /// Where to write the outputs: .npy for a single output, .safetensors for all.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Print the K largest values of each row of the outputs [N, C].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub top_k: Option<u32>,
    /// A text file with one label per line, for --top-k.
    #[arg(long, value_name = "FILE", requires = "top_k")]
    pub labels: Option<PathBuf>,
    /// Values that the outputs should have: .npy for one output, .safetensors by the outputs' names.
    #[arg(long = "check-outputs", value_name = "[NAME=]FILE")]
    pub checks: Vec<OsString>,
    /// The largest relative L2 error that --check-outputs allows [default: 1e-5; 3e-5 where the plan says that steps round
    /// otherwise, by Winograd's algorithm]. Plans in bf16 need more.
    #[arg(long, value_name = "ERROR", value_parser = parse_tolerance, allow_negative_numbers = true, requires = "checks")]
    pub tolerance: Option<f64>,
    /// Print the plan.
    #[arg(long)]
    pub plan: bool,
    /// Run N more times, and print the least and the median time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub repeat: Option<u32>,
    #[command(flatten)]
    pub inputs: Inputs,
}

/// Options of commands that run a model on given values: `run`, and `plan --errors`.
#[derive(Args, Clone)]
#[command(next_help_heading = "Inputs")]
pub struct Inputs {
    /// An input: .npy, .safetensors, or a picture (.png, .jpg). The name may be left out if the model has one input.
    #[arg(long = "input", value_name = "[NAME=]FILE", allow_hyphen_values = true)]
    pub files: Vec<OsString>,
    /// Random numbers, normally distributed, for inputs without a file.
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = parse_seed)]
    pub random: Option<u64>,
    #[command(flatten)]
    pub pictures: Pictures,
}

impl Inputs {
    /// The first of these options that was given.
    pub fn first_used(&self) -> Option<&'static str> {
        match self {
            _ if !self.files.is_empty() => Some("--input"),
            _ if self.random.is_some() => Some("--random"),
            _ => self.pictures.is_used().then_some("options of pictures"),
        }
    }
}

/// How pictures become tensors. Without any of these options, a picture is stretched to the model's size, and its values
/// are between 0 and 1.
#[derive(Args, Clone)]
#[command(next_help_heading = "Pictures")]
pub struct Pictures {
    /// As ImageNet's models expect them: --resize 256 --crop 224 and ImageNet's mean and standard deviation.
    #[arg(long)]
    pub imagenet: bool,
    /// A JSON file with `resize`, `crop`, `mean`, `std`, `bgr` and `scale`. Options on the command line replace its values.
    #[arg(long, value_name = "FILE")]
    pub preprocess: Option<PathBuf>,
    /// Resize so that the shorter side has N pixels, or to exactly HxW.
    #[arg(long, value_name = "N|HxW", allow_negative_numbers = true)]
    pub resize: Option<Size>,
    /// Keep the centre: N by N pixels, or HxW.
    #[arg(long, value_name = "N|HxW", allow_negative_numbers = true)]
    pub crop: Option<Size>,
    /// Subtracted from each channel, after --scale.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', value_parser = parse_number, allow_hyphen_values = true)]
    pub mean: Option<Vec<f32>>,
    /// Divides each channel, after --mean.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', value_parser = parse_number, allow_hyphen_values = true)]
    pub std: Option<Vec<f32>>,
    /// Blue comes first.
    #[arg(long)]
    pub bgr: bool,
    /// Multiplies pixels, which are 0 to 255: a number, or a fraction [default: 1/255].
    #[arg(long, value_name = "FACTOR", value_parser = parse_scale, allow_negative_numbers = true)]
    pub scale: Option<f32>,
}

impl Pictures {
    /// Whether any of the options was given.
    pub fn is_used(&self) -> bool {
        self.imagenet || self.preprocess.is_some() || self.given() != Preprocess::default()
    }

    /// The options without `--preprocess` and `--imagenet`.
    pub fn given(&self) -> Preprocess {
        Preprocess {
            resize: self.resize,
            crop: self.crop,
            mean: self.mean.clone(),
            std: self.std.clone(),
            bgr: self.bgr.then_some(true),
            scale: self.scale,
        }
    }
}

fn parse_size(text: &str) -> Result<(String, usize), String> {
    let (name, size) = text.rsplit_once('=').ok_or("write it as NAME=N, such as `batch=1`")?;
    if name.is_empty() {
        return Err("the name before `=` is missing; write it as NAME=N, such as `batch=1`".to_string());
    }
    match size.parse() {
        Ok(size) => Ok((name.to_string(), size)),
        _ => {
            Err("write it as NAME=N with a whole number, such as `batch=1`; 0 is an empty batch".to_string())
        }
    }
}

fn parse_number(text: &str) -> Result<f32, String> {
    text.trim().parse().map_err(|_| "write numbers with commas between them, such as 0.5,0.5,0.5".to_string())
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it is a whole number from 0, below 2^64".to_string())
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if tolerance >= 0.0 => Ok(tolerance),
        _ => Err("it is a number of at least 0, such as 1e-4".to_string()),
    }
}

/// The one of `all` with the name that clap has accepted.
fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, given: &str) -> T {
    all.iter().copied().find(|one| name(*one) == given).unwrap_or(all[0])
}

fn layouts() -> impl TypedValueParser<Value = Layouts> {
    PossibleValuesParser::new(Layouts::ALL.map(Layouts::name))
        .map(|s| named(&Layouts::ALL, Layouts::name, &s))
}

fn precisions() -> impl TypedValueParser<Value = Precision> {
    PossibleValuesParser::new(Precision::ALL.map(Precision::name))
        .map(|s| named(&Precision::ALL, Precision::name, &s))
}

fn passes() -> impl TypedValueParser<Value = Pass> {
    PossibleValuesParser::new(Pass::ALL.map(Pass::name)).map(|s| named(&Pass::ALL, Pass::name, &s))
}
