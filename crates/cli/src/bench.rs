//! The command `bench`.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use blocktensor::{DType, MemoryFormat, StridedTensor};
use blocktensor_graph::{Layouts, Plan, Sizes, StepInfo};
use serde::Serialize;

use crate::args::Bench as Args;
use crate::failure::{Failure, Result};
use crate::files::Target;
use crate::model::Source;
use crate::progress::Progress;
use crate::{Outcome, files, model, report, trace};

/// How long a plan is measured if `--runs` does not say how often it runs.
const LENGTH: Duration = Duration::from_secs(3);
/// The least number of runs in that time.
const LEAST_RUNS: usize = 10;
/// How many runs the times of single steps are the median of.
const LAYER_RUNS: usize = 15;

/// The JSON object of `bench`.
#[derive(Serialize)]
struct Bench {
    version: u32,
    model: String,
    build: String,
    /// Threads of one run.
    threads: usize,
    /// How many runs were under way at a time.
    streams: usize,
    plans: Vec<Timed>,
    layers: Vec<Layer>,
}

/// The times of one plan, in milliseconds.
#[derive(Serialize)]
struct Timed {
    layout: &'static str,
    plan_ms: f64,
    runs: usize,
    least_ms: f64,
    median_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
    mean_ms: f64,
    /// Of all streams together.
    runs_per_second: f64,
    /// The least time, relative to that of the fastest plan.
    ratio: f64,
    reorders: report::Reorders,
}

/// One step: the median of its times, and what it does in that time.
#[derive(Serialize)]
struct Layer {
    step: String,
    op: String,
    layout: String,
    microseconds: f64,
    /// Of the sum of all steps.
    share: f64,
    /// Multiplications and additions, for steps that have any.
    gflops_per_second: Option<f64>,
    /// Operands, results and weights, each read or written once.
    gbytes_per_second: Option<f64>,
}

/// Reads the model, plans it, runs it many times.
pub fn run(args: &Args) -> Result<Outcome> {
    let trace = Target {
        option: "--trace",
        path: args.trace.as_ref(),
        writes: |content| files::begins(content, b"["),
    };
    let targets = [trace];
    files::check_targets([args.model.model.as_path()], &targets)?;
    let streams = usize::from(args.streams.unwrap_or(1));
    let all = args.planning.threads.map_or_else(blocktensor::current_threads, usize::from);
    if streams > all {
        let text = format!(
            "{streams} runs at a time need as many threads, and there are {all}; pass a smaller number"
        );
        return Err(Failure::usage("--streams", text));
    }
    let mut planning = args.planning.clone();
    planning.threads = u16::try_from(all / streams).ok();
    let measured = model::in_pool(&planning, || {
        let source = model::source(&args.model, &planning, &targets)?;
        let sizes = model::sizes(&args.model, &source.named_sizes())?;
        model::check_sizes(&source.inputs(), &sizes)?;
        let mut plans = plans(args, source, &sizes)?;
        let mut layers = Vec::new();
        if args.layers || args.trace.is_some() {
            let (plan, ..) = &plans[0];
            let (times, last) = layer_times(plan)?;
            if args.layers {
                layers = layers_of(plan, &times);
            }
            if let Some(path) = &args.trace {
                files::write("--trace", path, trace::of_steps(plan, &last).as_bytes())?;
            }
        }
        let timed = match streams {
            1 => by_turns(args, &mut plans)?,
            _ => vec![],
        };
        Ok((plans, timed, layers))
    });
    let (plans, mut timed, layers) = measured?;
    if streams > 1 {
        timed = plans.iter().map(|one| together(args, one, streams, all / streams)).collect::<Result<_>>()?;
    }
    let best = timed.iter().map(|t| t.least_ms).fold(f64::INFINITY, f64::min);
    timed.iter_mut().for_each(|t| t.ratio = t.least_ms / best);
    let report = Bench {
        version: report::VERSION,
        model: args.model.model.display().to_string(),
        build: blocktensor::build_info().to_string(),
        threads: all / streams,
        streams,
        plans: timed,
        layers,
    };
    let text = if args.model.json { report::json(&report)? } else { report.text() };
    Ok((text, Ok(())))
}

/// A plan with the time that planning took, in milliseconds.
type Planned = (Plan, f64);

fn plans(args: &Args, source: Source, sizes: &Sizes) -> Result<Vec<Planned>> {
    let graph = match source {
        Source::Onnx(graph) => graph,
        Source::Packed(..) if args.compare_layouts => {
            let text = "the file is a plan, whose layouts are chosen; pass the ONNX file";
            return Err(Failure::usage("--compare-layouts", text));
        }
        Source::Packed(plan, replan_ms) => return Ok(vec![(*plan, replan_ms)]),
    };
    let one = |layouts: Option<Layouts>| {
        let mut planning = args.planning.clone();
        planning.layout = layouts.or(planning.layout);
        if args.compare_layouts && planning.layout != Some(Layouts::Measured) {
            planning.forget_measuring();
        }
        let start = Instant::now();
        let plan = model::plan(&graph, &planning, sizes.clone())?;
        model::note_cache(&plan);
        Ok((plan, milliseconds(start.elapsed())))
    };
    match args.compare_layouts {
        true => Layouts::ALL.into_iter().map(|layouts| one(Some(layouts))).collect(),
        false => Ok(vec![one(None)?]),
    }
}

/// Values for the inputs: 0.5 for numbers, 0 for integers.
fn inputs(plan: &Plan) -> Result<Vec<StridedTensor>> {
    let tensor = |desc: &blocktensor::TensorDesc| match desc.dtype() {
        DType::F32 => StridedTensor::full(desc.dims(), 0.5f32, MemoryFormat::Contiguous),
        dtype => StridedTensor::zeros(desc.dims(), dtype, MemoryFormat::Contiguous),
    };
    Ok(plan.inputs().map(|(_, desc)| tensor(desc)).collect::<blocktensor::Result<_>>()?)
}

/// Runs the plans one after another, again and again.
fn by_turns(args: &Args, plans: &mut [Planned]) -> Result<Vec<Timed>> {
    let line = Progress::start("running");
    let inputs = inputs(&plans[0].0)?;
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    for _ in 0..args.warm_up {
        for (plan, _) in plans.iter() {
            plan.run(&refs)?;
        }
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); plans.len()];
    let start = Instant::now();
    while goes_on(args, times[0].len(), start) {
        for ((plan, _), times) in plans.iter().zip(&mut times) {
            let start = Instant::now();
            plan.run(&refs)?;
            times.push(milliseconds(start.elapsed()));
        }
    }
    drop(line);
    Ok(plans.iter().zip(times).map(|(one, times)| Timed::of(one, times, None)).collect())
}

fn goes_on(args: &Args, runs: usize, start: Instant) -> bool {
    match args.runs {
        Some(wanted) => runs < wanted as usize,
        None => runs < LEAST_RUNS || start.elapsed() < LENGTH,
    }
}

/// Runs a plan from several threads at once, each with a pool of its own.
fn together(args: &Args, one: &Planned, streams: usize, threads: usize) -> Result<Timed> {
    let _line = Progress::start("running");
    let plan = &one.0;
    let inputs = inputs(plan)?;
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    let pools = (0..streams).map(|_| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let pools = pools
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| Failure::usage("--streams", format!("{e}; pass a smaller number")))?;
    let gate = Gate::default();
    let stream = |pool: &rayon::ThreadPool| -> Result<(Vec<f64>, Duration)> {
        pool.install(|| {
            let warm = (0..args.warm_up).try_for_each(|_| plan.run(&refs).map(drop));
            if warm.is_err() {
                gate.close();
            }
            warm?;
            if !gate.pass(streams) {
                return Err(Failure::Model("another stream failed".to_string()));
            }
            let (start, mut times) = (Instant::now(), Vec::new());
            while goes_on(args, times.len(), start) {
                let start = Instant::now();
                plan.run(&refs)?;
                times.push(milliseconds(start.elapsed()));
            }
            Ok((times, start.elapsed()))
        })
    };
    let results = std::thread::scope(|scope| {
        let stream = &stream;
        let start = |pool| std::thread::Builder::new().spawn_scoped(scope, move || stream(pool));
        let handles = pools.iter().map(start).collect::<std::io::Result<Vec<_>>>();
        // Those that started may wait for one that did not.
        let handles = handles.inspect_err(|_| gate.close())?;
        Ok(handles.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>())
    });
    let results = results.map_err(|e: std::io::Error| {
        Failure::usage("--streams", format!("{e}; pass a smaller number, or allow more threads and memory"))
    })?;
    let (mut times, mut rate) = (Vec::new(), 0.0);
    for result in results {
        let Ok(result) = result else {
            return Err(Failure::Model("a thread of --streams ended early; please report it".to_string()));
        };
        let (own, elapsed) = result?;
        rate += own.len() as f64 / elapsed.as_secs_f64();
        times.extend(own);
    }
    Ok(Timed::of(one, times, Some(rate)))
}

/// Where streams wait for each other before they are timed.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    came: usize,
    closed: bool,
}

impl Gate {
    /// Waits until so many streams came. `false` if one of them never will.
    fn pass(&self, streams: usize) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.came += 1;
        self.changed.notify_all();
        while state.came < streams && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.closed
    }

    /// Lets all that wait go.
    fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }
}

impl Timed {
    fn of((plan, plan_ms): &Planned, mut times: Vec<f64>, rate: Option<f64>) -> Timed {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part).round() as usize];
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        Timed {
            layout: plan.layouts().name(),
            plan_ms: *plan_ms,
            runs: times.len(),
            least_ms: at(0.0),
            median_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            mean_ms: mean,
            runs_per_second: rate.unwrap_or(1e3 / mean),
            ratio: 1.0,
            reorders: report::Reorders::of(plan),
        }
    }
}

/// The median time of each step, and the times of the last run, in **seconds**.
fn layer_times(plan: &Plan) -> Result<(Vec<f64>, Vec<f64>)> {
    let _line = Progress::start("timing each step");
    let inputs = inputs(plan)?;
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    plan.run(&refs)?;
    let runs = (0..LAYER_RUNS).map(|_| Ok(plan.run_timed(&refs)?.1)).collect::<Result<Vec<_>>>()?;
    let median = |i: usize| {
        let mut own: Vec<f64> = runs.iter().map(|times| times[i]).collect();
        own.sort_by(f64::total_cmp);
        own[own.len() / 2]
    };
    let medians = (0..plan.len()).map(median).collect();
    Ok((medians, runs.into_iter().next_back().unwrap_or_default()))
}

/// The median time of each step, in **seconds**.
pub fn step_times(plan: &Plan) -> Result<Vec<f64>> {
    Ok(layer_times(plan)?.0)
}

fn layers_of(plan: &Plan, times: &[f64]) -> Vec<Layer> {
    let total: f64 = times.iter().sum();
    let layer = |(step, &seconds): (StepInfo<'_>, &f64)| {
        let per_second = |amount: f64| (amount > 0.0 && seconds > 0.0).then(|| amount / seconds / 1e9);
        Layer {
            step: step.title(),
            op: step.op.to_string(),
            layout: step.outputs.first().map(|t| t.desc.layout_name()).unwrap_or_default(),
            microseconds: seconds * 1e6,
            share: if total > 0.0 { seconds / total } else { 0.0 },
            gflops_per_second: per_second(2.0 * step.multiply_adds as f64),
            gbytes_per_second: per_second(step.bytes() as f64),
        }
    };
    plan.steps().zip(times).map(layer).collect()
}

impl Bench {
    fn text(&self) -> String {
        let mut text = format!("{}\n{}", self.build, blocktensor::shown_path(self.model.as_ref()));
        if self.streams > 1 {
            text += &format!(": {} runs at a time, each on {} of the threads", self.streams, self.threads);
        }
        text += "\n";
        if !self.layers.is_empty() {
            text += &format!(
                "\n{:>10} {:>7} {:>9} {:>7}  {:<14} {:<16} step\n",
                "time (us)", "share", "GFLOP/s", "GB/s", "layout", "op"
            );
            let number = |v: Option<f64>| v.map_or("-".to_string(), |v| format!("{v:.1}"));
            for l in &self.layers {
                text += &format!(
                    "{:>10.1} {:>6.1}% {:>9} {:>7}  {:<14} {:<16} {}\n",
                    l.microseconds,
                    l.share * 100.0,
                    number(l.gflops_per_second),
                    number(l.gbytes_per_second),
                    l.layout,
                    l.op,
                    l.step
                );
            }
            let sum: f64 = self.layers.iter().map(|l| l.microseconds).sum();
            text += &format!(
                "{sum:>10.1} us: the sum of the steps, each the median of {LAYER_RUNS} runs of its own\n"
            );
        }
        text += &format!(
            "\n{:<9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>6} {:>10}\n",
            "layout", "least ms", "median", "p90", "p99", "runs/s", "runs", "ratio", "planned ms"
        );
        for t in &self.plans {
            text += &format!(
                "{:<9} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>9.1} {:>7} {:>6.3} {:>10.0}\n",
                t.layout,
                t.least_ms,
                t.median_ms,
                t.p90_ms,
                t.p99_ms,
                t.runs_per_second,
                t.runs,
                t.ratio,
                t.plan_ms
            );
        }
        text
    }
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_all_go() {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.pass(2));
            gate.close();
            assert!(!waiting.join().unwrap());
        });
        assert!(!gate.pass(1));
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| gate.pass(2));
            assert!(gate.pass(2) && other.join().unwrap());
        });
    }
}
