//! `Compile`: regions of the nodes that ONNX Runtime has fused, and nodes `EPContext` of compiled models, written and read.
#![allow(unsafe_code)]

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use blocktensor::PackedFile;
use blocktensor_graph::{Constant, Plan};
use blocktensor_onnx::{HostNode, HostValue};
use ort_sys::{OrtGraph, OrtNode, OrtStatusPtr};

use crate::compute;
use crate::context::{self, Contexts};
use crate::failure::{Failure, Result};
use crate::ffi::{OrtEp, OrtNodeComputeInfo};
use crate::options::{NAME, Options};
use crate::ort::{NewAttribute, NewNode};
use crate::region::{Region, Told};
use crate::session::{Ep, Found, Fused, INFO, KeptEp, KeptFused, WARNING, guard, trim};

/// A region of a fused node.
struct Made {
    region: Region,
    plans: Vec<Told>,
    /// The fused node's name, and those of its ends.
    name: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// The model's path, if it has one.
    model: Option<PathBuf>,
}

pub(crate) unsafe extern "system" fn compile(
    ep: *mut OrtEp,
    graphs: *mut *const OrtGraph,
    fused: *mut *const OrtNode,
    count: usize,
    infos: *mut *mut OrtNodeComputeInfo,
    contexts: *mut *mut OrtNode,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a provider that it got from here.
    let ep = unsafe { KeptEp::of(ep) };
    guard(&ep.teller.ort, "Compile", || {
        let Found { refusal, constants, sizes } =
            std::mem::take(&mut *ep.found.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let options = ep.options.as_ref().map_err(Failure::clone)?;
        let (mut made, mut names) = (Vec::with_capacity(count), BTreeSet::new());
        for i in 0..count {
            // SAFETY: there are `count` graphs of ONNX Runtime's and as many fused nodes, which live during this call.
            let each = unsafe { region(ep, *graphs.add(i), *fused.add(i), constants.clone(), options) }?;
            let text = format!("{NAME}: {} run as the fused node `{}`", each.region.name, each.name);
            ep.teller.log(INFO, &text)?;
            for (plan, news) in &each.plans {
                ep.teller.tell(&each.region, plan, news, true)?;
            }
            names.extend(each.region.named_sizes().into_iter().map(str::to_string));
            made.push(each);
        }
        options.check_sizes(&names, &sizes)?;
        if ep.contexts.are_written {
            for (i, each) in made.iter().enumerate() {
                let node = write(ep, each)?;
                // SAFETY: there is room for `count` nodes, which ONNX Runtime releases.
                unsafe { contexts.add(i).write(node) };
            }
        }
        for (i, each) in made.into_iter().enumerate() {
            let fused =
                Fused { teller: ep.teller.clone(), region: each.region, has_run: AtomicBool::new(false) };
            // SAFETY: there is room for `count`.
            unsafe { infos.add(i).write(KeptFused::keep(fused, compute::base())) };
        }
        trim();
        Ok(())
    })
}

/// The region of a fused node.
///
/// # Safety
/// Graph and node are ONNX Runtime's.
unsafe fn region(
    ep: &Ep,
    graph: *const OrtGraph,
    fused: *const OrtNode,
    constants: HashMap<String, Result<Constant, String>>,
    options: &Options,
) -> Result<Made> {
    let ort = &ep.teller.ort;
    // SAFETY: the caller's promise.
    let nodes = unsafe { ort.nodes(graph) }?;
    // SAFETY: as above.
    let mut model = unsafe { ort.model(graph, &nodes, constants) }?;
    // SAFETY: as above.
    let ((inputs, outputs), name) = unsafe { (ort.ends(fused)?, ort.node_name(fused)?) };
    let path = model.path.take();
    let names = |values: &[HostValue]| values.iter().map(|value| value.name.clone()).collect();
    let (input_names, output_names): (Vec<String>, Vec<String>) = (names(&inputs), names(&outputs));
    let (region, plans) = match (&model.nodes[..], &nodes[..]) {
        ([node], [raw]) if node.is_compiled => {
            let start = Instant::now();
            // SAFETY: as above.
            let plan = unsafe { read(ep, &node.read, *raw, path.as_deref(), options) }?;
            let (place, ends) = (context::place(&node.read), (inputs.len(), outputs.len()));
            Region::compiled(place, plan, ends, options.clone(), start.elapsed().as_secs_f64())?
        }
        _ => {
            model.constants.retain(|_, constant| constant.is_ok());
            Region::new(model.fused(inputs, outputs), options.clone())?
        }
    };
    let inputs = region.places.iter().map(|&i| input_names[i].clone()).collect();
    Ok(Made { region, plans, name, inputs, outputs: output_names, model: path })
}

/// The plan of a node of a compiled model.
///
/// # Safety
/// The raw node is the one that was read, of ONNX Runtime's.
unsafe fn read(
    ep: &Ep,
    node: &HostNode,
    raw: *const OrtNode,
    model: Option<&Path>,
    options: &Options,
) -> Result<Plan> {
    let place = context::place(node);
    if ep.contexts.are_written {
        let text = "the model is compiled already, and `ep.context_enable` asks to compile it; pass the model that it was compiled from";
        return Err(Failure::invalid(format!("{place}: {text}")));
    }
    if !options.planning_set.is_empty() {
        let unused =
            options.planning_set.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let text = format!("{NAME}: {place}: its plan is made: without effect are {unused}");
        ep.teller.log(WARNING, &text)?;
    }
    // SAFETY: the caller's promise.
    let data = unsafe { ep.teller.ort.text_attribute(raw, context::DATA) }?;
    let Some(data) = data else {
        return Err(Failure::invalid(format!(
            "{place}: it has no `{}`; compile the model again",
            context::DATA
        )));
    };
    if context::is_embedded(node)? {
        if options.map_plans {
            let text = "option `map_plans`: its plan is inside the model, and only files are mapped; leave the option out, or compile \
                        the model with `ep.context_embed_mode` 0";
            return Err(Failure::invalid(format!("{place}, {text}")));
        }
        return context::plan(node, PackedFile::of_bytes("the plan in the model", &data), options);
    }
    let path = ep.contexts.named(node, model, &String::from_utf8_lossy(&data))?;
    let file = match options.map_plans {
        // SAFETY: the program promises with this option that nobody changes the file.
        true => unsafe { PackedFile::map(&path) },
        false => PackedFile::read(&path),
    };
    if let Ok(file) = &file {
        context::check_notes(node, &path, file)?;
    }
    context::plan(node, file, options)
}

/// The node `EPContext` of a region, and the file of its plan if it is not in the node.
fn write(ep: &Ep, made: &Made) -> Result<*mut OrtNode> {
    let Made { region, plans, name, inputs, outputs, model } = made;
    let [(plan, _)] = &plans[..] else {
        let sizes = region.named_sizes().into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        return Err(Failure::invalid(format!(
            "{NAME}, `ep.context_enable`: {}: a compiled model has one plan for each fused node, and here are {}, for the sizes {}; give \
             these numbers in the option `sizes`, in one list",
            region.name,
            plans.len(),
            sizes.join(", ")
        )));
    };
    let Contexts { are_embedded, .. } = ep.contexts;
    let mut notes = String::new();
    let data = match are_embedded {
        true => plan.to_bytes(false)?,
        false => {
            let path = ep.contexts.file(model.as_deref(), ep.written.fetch_add(1, Relaxed))?;
            plan.save(&path, false)?;
            notes = context::notes(&PackedFile::read(&path)?);
            path.file_name().unwrap_or_default().to_string_lossy().into_owned().into_bytes()
        }
    };
    let attributes = [
        (context::DATA, NewAttribute::Text(&data)),
        ("embed_mode", NewAttribute::Int(i64::from(are_embedded))),
        ("main_context", NewAttribute::Int(1)),
        ("ep_sdk_version", NewAttribute::Text(env!("CARGO_PKG_VERSION").as_bytes())),
        (context::NOTES, NewAttribute::Text(notes.as_bytes())),
        ("partition_name", NewAttribute::Text(name.as_bytes())),
        ("source", NewAttribute::Text(NAME.as_bytes())),
    ];
    let node =
        NewNode { name, op: context::OP, domain: context::DOMAIN, inputs, outputs, attributes: &attributes };
    ep.teller.ort.new_node(&node).map_err(|e| e.at(&region.name))
}
