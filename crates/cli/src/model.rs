//! Reading and planning a model, for every command.

use blocktensor_graph::{Error, Graph, Layouts, Plan, PlanOptions, Profiles, Sizes};

use crate::args::{Model, Planning};
use crate::failure::{Failure, Result, word};
use crate::files;
use crate::inputs::dims_text;
use crate::progress::Progress;

/// Runs `work` with the number of threads of `--threads`.
pub fn in_pool<T: Send>(planning: &Planning, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let Some(threads) = planning.threads else { return work() };
    let most = blocktensor::max_threads();
    if usize::from(threads) > most {
        let text = format!("{threads}: at most {most} work together on this machine; pass a smaller number");
        return Err(Failure::usage("--threads", text));
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build() {
        Ok(pool) => pool.install(work),
        Err(error) => Err(Failure::usage("--threads", format!("{error}; pass a smaller number"))),
    }
}

/// Reads the model, with the outputs of `--outputs`.
pub fn read(model: &Model) -> Result<Graph> {
    let _line = Progress::start("reading the model");
    files::check(&model.model)
        .map_err(|text| Failure::Usage(format!("{}: {text}", model.model.display())))?;
    let graph = blocktensor_onnx::from_path(&model.model).map_err(|error| match Failure::from(error) {
        // The file's name is part of errors of the system already.
        Failure::Model(text) => Failure::Model(format!("{}: {text}", model.model.display())),
        failure => failure,
    })?;
    if model.outputs.is_empty() {
        return Ok(graph);
    }
    // A name may have commas in it.
    let whole = |list: &'_ String| graph.find(list).is_some();
    let names = model.outputs.iter().flat_map(|list| match whole(list) {
        true => vec![list.as_str()],
        false => list.split(',').collect(),
    });
    let names: Vec<&str> = names.collect();
    graph.with_outputs(&names).map_err(|error| {
        let Error::Invalid { got, rule, remedy, .. } = error else { return error.into() };
        let all: Vec<&str> = graph.outputs().collect();
        Failure::usage(
            "--outputs",
            format!("{got}: {rule}; {remedy}; the model's own are {}", word(&all.join(","))),
        )
    })
}

/// The sizes of `--size`, all of which the model leaves open.
pub fn sizes(model: &Model, graph: &Graph) -> Result<Sizes> {
    let open = graph.named_sizes();
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
pub fn check_sizes(graph: &Graph, sizes: &Sizes) -> Result<()> {
    for (name, _, dims) in graph.inputs() {
        for dim in dims {
            if let blocktensor_graph::Dim::Named(open) = dim
                && !sizes.iter().any(|(given, _)| given == open)
            {
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

/// The layouts to plan with, and whether that was the user's choice.
pub fn layouts(planning: &Planning) -> (Layouts, bool) {
    match planning.layout {
        Some(layouts) => (layouts, true),
        None if blocktensor::build_info().engine.is_some() => (Layouts::Blocked, false),
        None => (Layouts::Nchw, false),
    }
}

/// Plans the model.
pub fn plan(graph: &Graph, planning: &Planning, sizes: Sizes) -> Result<Plan> {
    let _line = Progress::start("planning");
    let mut options = PlanOptions::new(layouts(planning).0).sizes(sizes);
    if planning.no_cache {
        options = options.profiles(Profiles::Measured);
    }
    for pass in &planning.without {
        options = options.without(*pass);
    }
    Ok(graph.plan(&options)?)
}
