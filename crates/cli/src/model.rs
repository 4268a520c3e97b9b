//! Reading and planning a model, for every command: an ONNX file, or a plan that `pack` wrote.

use std::path::PathBuf;
use std::time::Instant;

use blocktensor::{Call, PackedFile, memory, shown_path};
use blocktensor_graph::{Dim, ElementType, Error, Graph, Layouts, Plan, PlanOptions, Profiles, Sizes};
use blocktensor_onnx::Importer;

use crate::args::{Model, Planning};
use crate::bench::milliseconds;
use crate::failure::{Failure, Result, word};
use crate::files::Target;
use crate::inputs::dims_text;
use crate::progress::Progress;
use crate::{files, note};

/// Memory of a thread's stack, and of what it allocates before it runs, in **bytes**.
const THREAD: usize = 4 << 20;

/// Runs `work` with the number of threads of `--threads`.
pub fn in_pool<T: Send>(planning: &Planning, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let Some(threads) = planning.threads else { return work() };
    let most = blocktensor::max_threads();
    if usize::from(threads) > most {
        let text = format!("{threads}: at most {most} work together on this machine; pass a smaller number");
        return Err(Failure::usage("--threads", text));
    }
    // A thread that finds no memory for its first steps ends the process.
    memory::require("threads", usize::from(threads) * THREAD).map_err(|_| {
        let text =
            format!("{threads}: there is no memory for them; pass a smaller number, or allow more memory");
        Failure::usage("--threads", text)
    })?;
    // This thread is one of the pool's: others may find no memory for a heap of their own, and each small allocation is then a page.
    match rayon::ThreadPoolBuilder::new().num_threads(threads.into()).use_current_thread().build() {
        Ok(pool) => pool.install(work),
        Err(error) => Err(Failure::usage("--threads", format!("{error}; pass a smaller number"))),
    }
}

/// The name of an input, its type and its sizes.
pub type Input<'a> = (&'a str, ElementType, Vec<Dim>);

/// The inputs of a model.
pub fn inputs_of(graph: &Graph) -> Vec<Input<'_>> {
    graph.inputs().map(|(name, of, dims)| (name, of, dims.to_vec())).collect()
}

/// What a command runs.
pub enum Source {
    Onnx(Graph),
    /// A plan that `pack` wrote, and the time that `--replan` took in milliseconds.
    Packed(Box<Plan>, f64),
}

impl Source {
    /// The inputs: names, types, sizes.
    pub fn inputs(&self) -> Vec<Input<'_>> {
        match self {
            Source::Onnx(graph) => inputs_of(graph),
            Source::Packed(plan, _) => {
                let dims = |dims: &[usize]| dims.iter().map(|&d| Dim::Size(d)).collect();
                let types = plan.input_types().iter();
                plan.inputs().zip(types).map(|((name, desc), of)| (name, *of, dims(desc.dims()))).collect()
            }
        }
    }

    /// What helps where a file has other sizes than an input whose sizes are fixed.
    pub fn remedy_of_fixed_size(&self) -> &'static str {
        match self {
            Source::Onnx(_) => "change the file, or export the model with open sizes",
            Source::Packed(..) => "change the file, or pack the model for its sizes (`pack --size`)",
        }
    }

    /// Refuses a value for a constant of the model. A plan does not know the names of its constants.
    pub fn check_given(&self, name: &str) -> Result<(), Error> {
        match self {
            Source::Onnx(graph) => graph.check_given(name),
            Source::Packed(..) => Ok(()),
        }
    }

    /// The sizes that are open.
    pub fn named_sizes(&self) -> Vec<&str> {
        match self {
            Source::Onnx(graph) => graph.named_sizes(),
            Source::Packed(..) => vec![],
        }
    }

    /// Names of the outputs.
    pub fn outputs(&self) -> Vec<&str> {
        match self {
            Source::Onnx(graph) => graph.outputs().collect(),
            Source::Packed(plan, _) => plan.outputs().map(|(name, _)| name).collect(),
        }
    }

    /// The plan.
    pub fn plan(self, planning: &Planning, sizes: Sizes) -> Result<Plan> {
        match self {
            Source::Onnx(graph) => plan(&graph, planning, sizes),
            Source::Packed(plan, _) => Ok(*plan),
        }
    }

    /// The time in milliseconds of what was planned while the source was read: `--replan`.
    pub fn replan_ms(&self) -> f64 {
        match self {
            Source::Onnx(_) => 0.0,
            Source::Packed(_, time) => *time,
        }
    }
}

/// Reads what a command runs: an ONNX model, or a plan. Refuses targets that are files of the model's weights.
pub fn source(model: &Model, planning: &Planning, targets: &[Target<'_>]) -> Result<Source> {
    if is_plan(model)? {
        return packed(model, planning).map(|(plan, time)| Source::Packed(Box::new(plan), time));
    }
    if planning.replan {
        return Err(Failure::usage(
            "--replan",
            "it is for files that `blocktensor pack` wrote; leave it out",
        ));
    }
    let (graph, weights) = onnx(model)?;
    files::check_reads(weights.iter().map(PathBuf::as_path), targets)?;
    Ok(Source::Onnx(graph))
}

/// Whether the model is not in ONNX, but a plan. Refuses what is no file, and other files of tensors.
fn is_plan(model: &Model) -> Result<bool> {
    let bad = |text: String| Failure::Usage(format!("{}: {text}", shown_path(&model.model)));
    files::check(&model.model).map_err(bad)?;
    if !PackedFile::is_at(&model.model) {
        return Ok(false);
    }
    let file = std::fs::File::open(&model.model);
    match file.and_then(|mut file| PackedFile::without_plan(&mut file)) {
        Ok(None) => Ok(true),
        Ok(Some(what)) => {
            Err(bad(format!("{what}; pass an ONNX file, or a plan that `blocktensor pack` wrote")))
        }
        Err(e) => Err(bad(format!("{e}; check the path"))),
    }
}

/// The plan in a file that `pack` wrote, and the time that `--replan` took in milliseconds.
fn packed(model: &Model, planning: &Planning) -> Result<(Plan, f64)> {
    let _line = Progress::start("reading the plan");
    let given = [
        ("--layout", planning.layout.is_some()),
        ("--without", !planning.without.is_empty()),
        ("--size", !model.sizes.is_empty()),
        ("--outputs", !model.outputs.is_empty()),
        ("--exact", planning.exact),
        ("--strict", planning.strict),
        ("--precision", planning.precision.is_some()),
        ("--weight-growth", planning.weight_growth.is_some()),
        ("--no-cache", planning.no_cache && !planning.replan),
        ("--offline", planning.offline && !planning.replan),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let text = "the file is a plan already; leave the option out, or pass it to `blocktensor pack` with the ONNX file";
        return Err(Failure::usage(option, text));
    }
    let file = map(model, planning.replan)?;
    if !Plan::is_in(&file) {
        let text =
            format!("{}: {}; `blocktensor pack` writes one", shown_path(&model.model), PackedFile::NO_PLAN);
        return Err(Failure::Usage(text));
    }
    let start = Instant::now();
    let plan = match planning.replan {
        true => Plan::load_or_replan(&file, &profiles(planning)),
        false if planning.keep_constants => Plan::load_with_constants(&file),
        false => Plan::load(&file),
    };
    let plan = plan.map_err(|error| match error {
        Error::Engine(error) => misfit(error, planning.replan),
        Error::Invalid { got, remedy, .. } if planning.keep_constants => {
            // A plan in bf16 is saved without plain weights.
            let or = match remedy.calls().any(|call| *call == Call::KeepPlainOfPlan) {
                true => ", or pack the model with --keep-plain",
                false => "",
            };
            Failure::usage("--errors", format!("the file has {got}; pass the ONNX file{or}"))
        }
        error => error.into(),
    })?;
    let replan_ms = if planning.replan { milliseconds(start.elapsed()) } else { 0.0 };
    // Planning again keeps to the layouts for which the file was packed.
    let layouts = plan.layouts();
    check_measuring(planning, layouts, &format!(", and the file's are {}", layouts.name()))?;
    Ok((plan, replan_ms))
}

/// Refuses options of measuring where the layouts are others. `which` says where those were stated.
fn check_measuring(planning: &Planning, layouts: Layouts, which: &str) -> Result<()> {
    match planning.measuring() {
        Some(option) if layouts != Layouts::Measured => {
            Err(Failure::usage(option, format!("it is for measured layouts{which}; leave it out")))
        }
        _ => Ok(()),
    }
}

#[allow(unsafe_code)]
fn map(model: &Model, replan: bool) -> Result<PackedFile> {
    // SAFETY: the help of the program says that nobody may change the file while the program runs.
    let file = unsafe {
        match replan {
            true => PackedFile::map_or_repack(&model.model),
            false => PackedFile::map(&model.model),
        }
    };
    file.map_err(|error| misfit(error, replan))
}

/// The same error with a remedy of this program.
fn misfit(error: blocktensor::Error, replan: bool) -> Failure {
    match error {
        blocktensor::Error::PackMismatch(mut complaint) => {
            // The library's remedy knows whether the file has plain weights, and this machine as many threads.
            let names = |is: fn(&Call) -> bool| complaint.remedy.calls().any(is);
            let threads = match names(|call| matches!(call, Call::RunWithThreads(_))) {
                true => {
                    "pass the number of threads that it was packed for (--threads; with --streams that number times the streams), "
                }
                false => "",
            };
            let lacks_plain = names(|call| matches!(call, Call::KeepPlain | Call::KeepPlainOfPlan));
            let again = match (replan, names(|call| *call == Call::ReadOrRepack)) {
                (true, _) if lacks_plain => {
                    "pack the model again here, or with --keep-plain where it was packed"
                }
                (false, true) => "pass --replan, or pack the model again here",
                (false, false) if lacks_plain => {
                    "pack the model again here: the file has no plain weights (--keep-plain) for --replan"
                }
                _ => "pack the model again here",
            };
            let or = if threads.is_empty() || again.contains(", or ") { "" } else { "or " };
            complaint.remedy = format!("{threads}{or}{again}").into();
            if !threads.is_empty() {
                return Failure::refused("--threads", &complaint);
            }
            blocktensor::Error::PackMismatch(complaint).into()
        }
        blocktensor::Error::CorruptFile(mut complaint) => {
            complaint.remedy = "copy the file again, or pack the model again".into();
            blocktensor::Error::CorruptFile(complaint).into()
        }
        error => error.into(),
    }
}

fn profiles(planning: &Planning) -> Profiles {
    match (planning.offline, planning.no_cache) {
        (true, _) => Profiles::Estimated,
        (false, true) => Profiles::Measured,
        (false, false) => Profiles::Kept,
    }
}

/// Reads an ONNX model, for commands that take no plan.
pub fn read(model: &Model) -> Result<Graph> {
    if is_plan(model)? {
        let text = "a plan that `blocktensor pack` wrote; pass the ONNX file";
        return Err(Failure::Usage(format!("{}: {text}", shown_path(&model.model))));
    }
    Ok(onnx(model)?.0)
}

/// An ONNX model, with the outputs of `--outputs`, and the files of its weights.
fn onnx(model: &Model) -> Result<(Graph, Vec<PathBuf>)> {
    let _line = Progress::start("reading the model");
    let read = Importer::new().from_path_with_files(&model.model);
    let (graph, weights) = read.map_err(|error| match Failure::from(error) {
        // The file's name is part of errors of the system already.
        Failure::Model(text) => Failure::Model(format!("{}: {text}", shown_path(&model.model))),
        failure => failure,
    })?;
    if model.outputs.is_empty() {
        return Ok((graph, weights));
    }
    // A name may have commas in it.
    let whole = |list: &'_ String| graph.find(list).is_some();
    let names = model.outputs.iter().flat_map(|list| match whole(list) {
        true => vec![list.as_str()],
        false => list.split(',').collect(),
    });
    let names: Vec<&str> = names.collect();
    let cut = graph.with_outputs(&names).map_err(|error| {
        let Error::Invalid { got, rule, remedy, .. } = error else { return error.into() };
        // A name with commas has an option of its own.
        let all: Vec<&str> = graph.outputs().collect();
        let (apart, together): (Vec<&str>, Vec<&str>) = all.iter().partition(|name| name.contains(','));
        let apart = apart.into_iter().map(word);
        let list = (!together.is_empty()).then(|| word(&together.join(",")));
        let own = list.into_iter().chain(apart).collect::<Vec<_>>().join(" --outputs ");
        if names.contains(&"") {
            return Failure::usage(
                "--outputs",
                format!("an empty name; leave it out; the model's own are {own}"),
            );
        }
        Failure::usage("--outputs", format!("{got}: {rule}; {remedy}; the model's own are {own}"))
    })?;
    Ok((cut, weights))
}

/// The sizes of `--size`, all of which the model leaves open.
pub fn sizes(model: &Model, open: &[&str]) -> Result<Sizes> {
    let mut sizes = Sizes::new();
    for (name, size) in &model.sizes {
        if !open.contains(&name.as_str()) {
            let known = if open.is_empty() {
                "it leaves none open".to_string()
            } else {
                format!("they are {}", open.join(", "))
            };
            return Err(Failure::usage("--size", format!("the model has no open size `{name}`; {known}")));
        }
        if let Some((_, other)) = sizes.iter().find(|(known, other)| known == name && other != size) {
            let text = format!("`{name}` is {other} and {size}; leave one out");
            return Err(Failure::usage("--size", text));
        }
        sizes = sizes.with(name, *size);
    }
    Ok(sizes)
}

/// Refuses sizes that are still open.
pub fn check_sizes(inputs: &[Input<'_>], sizes: &Sizes) -> Result<()> {
    for (name, _, dims) in inputs {
        for dim in dims {
            if let (Dim::Named(open), None) = (dim, sizes.number(dim)) {
                let dims = dims_text(dims);
                let text = format!(
                    "the model leaves the size `{open}` of its input `{name}` {dims} open; pass `--size {}=1`",
                    word(open)
                );
                return Err(Failure::Usage(text));
            }
        }
    }
    Ok(())
}

/// Prints why the times of earlier plannings were not used, for commands that do not print the plan.
pub fn note_cache(plan: &Plan) {
    if let Some(text) = plan.measurements().and_then(|m| m.cache_note.clone()) {
        note(text);
    }
}

/// Plans a model.
pub fn plan(graph: &Graph, planning: &Planning, sizes: Sizes) -> Result<Plan> {
    let layouts = planning.layout.unwrap_or(Layouts::Measured);
    check_measuring(planning, layouts, "")?;
    let measures = layouts == Layouts::Measured && !planning.offline;
    let _line = Progress::start(if measures { "measuring layouts" } else { "planning" });
    let mut options = PlanOptions::new(layouts).sizes(sizes).profiles(profiles(planning));
    if planning.exact {
        options = options.exact();
    }
    if planning.strict {
        options = options.strict();
    }
    if let Some(precision) = planning.precision {
        options = options.precision(precision);
    }
    if let Some(times) = planning.weight_growth {
        options = options.weight_growth(times);
    }
    if planning.keep_constants {
        options = options.keep_constants();
    }
    for pass in &planning.without {
        options = options.without(*pass);
    }
    Ok(graph.plan(&options)?)
}
