//! What ONNX Runtime calls: the library's two exports, and the functions of its factory, providers and fused nodes.
#![allow(unsafe_code)]

use std::collections::{BTreeSet, HashMap};
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::ledger::{self, Site};
use blocktensor::{StridedTensor, check_process, counted};
use blocktensor_graph::{Constant, Plan};
use ort_sys::{
    OrtApiBase, OrtEpDevice, OrtGraph, OrtHardwareDevice, OrtKernelContext, OrtKeyValuePairs, OrtLogger,
    OrtLoggingLevel, OrtNode, OrtSessionOptions, OrtStatusPtr,
};

use crate::claim::Model;
use crate::failure::{Failure, Result};
use crate::ffi::{
    OrtEp, OrtEpFactory, OrtEpGraphSupportInfo, OrtNodeComputeContext, OrtNodeComputeInfo,
    OrtNodeFusionOptions, VERSION,
};
use crate::kept::Kept;
use crate::options::{NAME, Options};
use crate::ort::{Held, Ort, success};
use crate::region::{News, Region};
use crate::report::Report;

const WARNING: OrtLoggingLevel = OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING;
const INFO: OrtLoggingLevel = OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO;
const C_NAME: &std::ffi::CStr = c"BlocktensorExecutionProvider";

/// Makes providers. It lives as long as the process: ONNX Runtime may release it while sessions use it.
type Factory = Kept<Ort, OrtEpFactory>;

/// The provider of one session.
type KeptEp = Kept<Ep, OrtEp>;

/// A fused node of a session.
type KeptFused = Kept<Fused, OrtNodeComputeInfo>;

struct Ep {
    options: Result<Options>,
    teller: Teller,
    found: Mutex<Found>,
}

/// Tells a session's user about its plans.
#[derive(Clone)]
struct Teller {
    ort: Ort,
    /// The session's, which outlives its providers and their fused nodes.
    logger: *const OrtLogger,
    report: Option<Arc<Report>>,
}

impl Teller {
    fn log(&self, level: OrtLoggingLevel, text: &str) -> Result<()> {
        // SAFETY: the logger is the session's, and lives as long as this.
        unsafe { self.ort.log(self.logger, level, text) }
    }

    /// Tells about a new plan. With `timed`, nobody waits for a run of it.
    fn tell(&self, region: &Region, plan: &Plan, news: &News, timed: bool) -> Result<()> {
        let level = match news.is_warning {
            true => WARNING,
            false => INFO,
        };
        self.log(level, &format!("{NAME}: {}", news.text))?;
        let add =
            |report: &Arc<Report>| region.options().run(|| report.add(&region.name, &news.text, plan, timed));
        self.report.as_ref().map_or(Ok(()), add)
    }
}

/// What `GetCapability` leaves for `Compile`.
#[derive(Default)]
struct Found {
    /// Why the session is refused.
    refusal: Option<Failure>,
    constants: HashMap<String, Result<Constant, String>>,
}

struct Fused {
    teller: Teller,
    region: Region,
}

/// ONNX Runtime runs a fused node on several threads at once.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Region>();
    is_shared::<Report>();
    is_shared::<Ort>();
};

/// Runs the body of a call: its error becomes a status, and its panics are caught.
fn guard(ort: &Ort, call: &'static str, body: impl FnOnce() -> Result<()>) -> OrtStatusPtr {
    let done = catch_unwind(AssertUnwindSafe(|| {
        check_process(call)?;
        ledger::at(Site::Foreign(call), body)
    }));
    match done.unwrap_or_else(|panic| Err(Failure::of_panic(call, panic))) {
        Ok(()) => success(),
        Err(failure) => ort.status(&failure),
    }
}

/// Gives ONNX Runtime the factory of this library's provider.
///
/// # Safety
/// As ONNX Runtime calls it: `base` is its own, `factories` has room for `room`, `count` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CreateEpFactories(
    _name: *const c_char,
    base: *const OrtApiBase,
    _logger: *const OrtLogger,
    factories: *mut *mut OrtEpFactory,
    room: usize,
    count: *mut usize,
) -> OrtStatusPtr {
    // SAFETY: the caller's promise.
    let ort = match unsafe { Ort::new(base) } {
        Ok(ort) => ort,
        Err(status) => return status,
    };
    guard(&ort, "CreateEpFactories", || {
        if room == 0 {
            return Err(Failure::invalid(
                "CreateEpFactories: got no room; there is one factory; pass room for it",
            ));
        }
        let base = OrtEpFactory {
            ort_version_supported: VERSION,
            get_name: factory_name,
            get_vendor: factory_vendor,
            get_supported_devices,
            create_ep,
            release_ep,
            get_vendor_id: None,
            get_version: factory_version,
            validate_compiled_model_compatibility_info: None,
            create_allocator: None,
            release_allocator: None,
            create_data_transfer,
            is_stream_aware: None,
            create_sync_stream_for_device: None,
        };
        let factory = Factory::keep(ort, base);
        // SAFETY: the caller's promise: there is room for one.
        unsafe {
            factories.write(factory);
            count.write(1);
        }
        Ok(())
    })
}

/// Does nothing: the factory stays, as sessions may still use it.
#[unsafe(no_mangle)]
pub extern "C" fn ReleaseEpFactory(_factory: *mut OrtEpFactory) -> OrtStatusPtr {
    success()
}

unsafe extern "system" fn factory_name(_: *const OrtEpFactory) -> *const c_char {
    C_NAME.as_ptr()
}

unsafe extern "system" fn factory_vendor(_: *const OrtEpFactory) -> *const c_char {
    c"blocktensor".as_ptr()
}

unsafe extern "system" fn factory_version(_: *const OrtEpFactory) -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}

/// There is no memory of its own that data would have to be moved to.
unsafe extern "system" fn create_data_transfer(_: *mut OrtEpFactory, out: *mut *mut c_void) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a place for the result.
    unsafe { out.write(null_mut()) };
    success()
}

/// One device: the processor.
unsafe extern "system" fn get_supported_devices(
    factory: *mut OrtEpFactory,
    devices: *const *const OrtHardwareDevice,
    device_count: usize,
    out: *mut *mut OrtEpDevice,
    room: usize,
    count: *mut usize,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes the factory that it got from here.
    let ort = unsafe { *Factory::of(factory) };
    guard(&ort, "GetSupportedDevices", || {
        // SAFETY: ONNX Runtime passes as many devices as it says, a table that has this function, and places for the results.
        unsafe {
            count.write(0);
            let cpu = (0..device_count).map(|i| *devices.add(i)).find(|&device| ort.is_cpu(device));
            if let Some(cpu) = cpu.filter(|_| room > 0) {
                let none: *const OrtKeyValuePairs = std::ptr::null();
                ort.check(((*ort.ep()).create_ep_device)(factory, cpu, none, none, out))?;
                count.write(1);
            }
        }
        Ok(())
    })
}

unsafe extern "system" fn create_ep(
    factory: *mut OrtEpFactory,
    _devices: *const *const OrtHardwareDevice,
    _metadata: *const *const OrtKeyValuePairs,
    _count: usize,
    session: *const OrtSessionOptions,
    logger: *const OrtLogger,
    out: *mut *mut OrtEp,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes the factory that it got from here.
    let ort = unsafe { *Factory::of(factory) };
    guard(&ort, "CreateEp", || {
        // SAFETY: the options are ONNX Runtime's.
        let entries = unsafe { ort.entries(session) }?;
        // A refusal waits for `Compile`: of an error here, onnxruntime 1.23's Python makes a session on the CPU provider.
        let options = Options::read(entries.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let base = OrtEp {
            ort_version_supported: VERSION,
            get_name: ep_name,
            get_capability,
            compile,
            release_node_compute_infos,
            get_preferred_data_layout: None,
            should_convert_data_layout_for_op: None,
            set_dynamic_options: None,
            on_run_start: None,
            on_run_end: None,
            create_allocator: None,
            create_sync_stream_for_device: None,
            get_compiled_model_compatibility_info: None,
        };
        let path = options.as_ref().ok().and_then(|options| options.report.as_deref());
        let (options, report) = match path.map(Report::new).transpose() {
            Ok(report) => (options, report.map(Arc::new)),
            Err(refusal) => (Err(refusal), None),
        };
        let ep = Ep { options, teller: Teller { ort, logger, report }, found: Mutex::default() };
        // SAFETY: it is a place for the result.
        unsafe { out.write(KeptEp::keep(ep, base)) };
        Ok(())
    })
}

unsafe extern "system" fn release_ep(factory: *mut OrtEpFactory, ep: *mut OrtEp) {
    // SAFETY: ONNX Runtime passes the factory and a provider that it got from here, once.
    let ort = unsafe { *Factory::of(factory) };
    if !ep.is_null() {
        let released = guard(&ort, "ReleaseEp", || {
            // SAFETY: as above.
            unsafe { KeptEp::free(ep) };
            Ok(())
        });
        // SAFETY: the status was made here.
        let _ = unsafe { ort.check(released) };
    }
}

unsafe extern "system" fn ep_name(_: *const OrtEp) -> *const c_char {
    C_NAME.as_ptr()
}

unsafe extern "system" fn get_capability(
    ep: *mut OrtEp,
    graph: *const OrtGraph,
    support: *mut OrtEpGraphSupportInfo,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a provider that it got from here.
    let ep = unsafe { KeptEp::of(ep) };
    guard(&ep.teller.ort, "GetCapability", || {
        // SAFETY: the graph is ONNX Runtime's, and its nodes live during this call.
        let (nodes, model, is_body) = unsafe {
            let nodes = ep.teller.ort.nodes(graph)?;
            let model = ep.teller.ort.model(graph, &nodes, HashMap::new())?;
            (nodes, model, ep.teller.ort.is_body(graph)?)
        };
        // Nodes with graphs inside are refused where they are. Version 1.23 tells no body's parent.
        if is_body || model.is_body {
            return Ok(());
        }
        let mut found = ep.found.lock().unwrap_or_else(PoisonError::into_inner);
        let regions = match claimed(ep, &model) {
            Ok(regions) => regions,
            // ONNX Runtime only logs an error of this call, and goes on with other providers. Of `Compile` it fails the session, so
            // that one gets a node to refuse.
            Err(refusal) => {
                found.refusal = Some(refusal);
                model.any().into_iter().map(|node| vec![node]).collect()
            }
        };
        found.constants = model.constants;
        for region in regions {
            let nodes: Vec<*const OrtNode> = region.iter().map(|&i| nodes[i]).collect();
            let options =
                OrtNodeFusionOptions { ort_version_supported: VERSION, drop_constant_initializers: true };
            // SAFETY: the nodes are the graph's; ONNX Runtime copies the lists.
            unsafe {
                let add = (*ep.teller.ort.ep()).add_nodes_to_fuse;
                ep.teller.ort.check(add(support, nodes.as_ptr(), nodes.len(), &options))?;
            }
        }
        Ok(())
    })
}

/// The regions that run here, or why the session is refused.
fn claimed(ep: &Ep, model: &Model) -> Result<Vec<Vec<usize>>> {
    let options = ep.options.as_ref().map_err(Failure::clone)?;
    let claims = model.claims(options.partial);
    if claims.left.is_empty() {
        return Ok(claims.regions);
    }
    let (nodes, listed) = (counted(claims.left.len(), "node"), model.listed(&claims.left));
    if options.partial {
        let crossings = model.listed_crossings(&claims.regions);
        let text = format!("{NAME} leaves {nodes} of the model to other providers:{listed}\n{crossings}");
        ep.teller.log(WARNING, &text)?;
        return Ok(claims.regions);
    }
    let remedy =
        "export the model without them, or set the option `partial` to 1 to leave them to other providers";
    Err(Failure::other(format!("{NAME}: {nodes} of the model cannot run:{listed}\n{remedy}")))
}

unsafe extern "system" fn compile(
    ep: *mut OrtEp,
    graphs: *mut *const OrtGraph,
    fused: *mut *const OrtNode,
    count: usize,
    infos: *mut *mut OrtNodeComputeInfo,
    _contexts: *mut *mut OrtNode,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a provider that it got from here.
    let ep = unsafe { KeptEp::of(ep) };
    guard(&ep.teller.ort, "Compile", || {
        let Found { refusal, constants } =
            std::mem::take(&mut *ep.found.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let options = ep.options.as_ref().map_err(Failure::clone)?;
        let (mut made, mut names) = (Vec::with_capacity(count), BTreeSet::new());
        for i in 0..count {
            // SAFETY: there are `count` graphs of ONNX Runtime's and as many fused nodes, which live during this call.
            let (name, model) = unsafe {
                let (graph, node) = (*graphs.add(i), *fused.add(i));
                let mut model =
                    ep.teller.ort.model(graph, &ep.teller.ort.nodes(graph)?, constants.clone())?;
                let (inputs, outputs) = ep.teller.ort.ends(node)?;
                model.constants.retain(|_, constant| constant.is_ok());
                (ep.teller.ort.node_name(node)?, model.fused(inputs, outputs))
            };
            let (region, plans) = Region::new(model, options.clone())?;
            ep.teller.log(INFO, &format!("{NAME}: {} run as the fused node `{name}`", region.name))?;
            for (plan, news) in plans {
                ep.teller.tell(&region, &plan, &news, true)?;
            }
            names.extend(region.named_sizes().into_iter().map(str::to_string));
            made.push(Fused { teller: ep.teller.clone(), region });
        }
        options.check_sizes(&names)?;
        for (i, fused) in made.into_iter().enumerate() {
            let base =
                OrtNodeComputeInfo { ort_version_supported: VERSION, create_state, compute, release_state };
            // SAFETY: there is room for `count`.
            unsafe { infos.add(i).write(KeptFused::keep(fused, base)) };
        }
        Ok(())
    })
}

unsafe extern "system" fn release_node_compute_infos(
    ep: *mut OrtEp,
    infos: *mut *mut OrtNodeComputeInfo,
    count: usize,
) {
    // SAFETY: ONNX Runtime passes a provider that it got from here.
    let ort = unsafe { KeptEp::of(ep) }.teller.ort;
    let released = guard(&ort, "ReleaseNodeComputeInfos", || {
        for i in 0..count {
            // SAFETY: it passes `count` fused nodes that it got from here, each once.
            unsafe {
                let fused = *infos.add(i);
                if !fused.is_null() {
                    KeptFused::free(fused);
                }
            }
        }
        Ok(())
    });
    // SAFETY: the status was made here.
    let _ = unsafe { ort.check(released) };
}

/// A run has no state of its own.
unsafe extern "system" fn create_state(
    info: *mut OrtNodeComputeInfo,
    _context: *mut OrtNodeComputeContext,
    state: *mut *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: it is a place for the result.
    unsafe { state.write(info.cast()) };
    success()
}

unsafe extern "system" fn release_state(_: *mut OrtNodeComputeInfo, _: *mut c_void) {}

unsafe extern "system" fn compute(
    info: *mut OrtNodeComputeInfo,
    _state: *mut c_void,
    context: *mut OrtKernelContext,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a fused node that it got from here.
    let fused = unsafe { KeptFused::of(info) };
    guard(&fused.teller.ort, "Compute", || {
        let (ort, region) = (&fused.teller.ort, &fused.region);
        // SAFETY: the context is ONNX Runtime's.
        let inputs = region.places.iter().map(|&i| unsafe { ort.input(context, i) });
        let inputs: Vec<Held> = inputs.collect::<Result<_>>()?;
        let shapes: Vec<Vec<usize>> = inputs.iter().map(Held::sizes).collect();
        let (plan, news) = region.plan_for(&shapes)?;
        if let Some(news) = news
            && let Err(e) = fused.teller.tell(region, &plan, &news, false)
        {
            // The run is right without its report.
            fused.teller.log(WARNING, &e.text)?;
        }
        let mut given = Vec::with_capacity(inputs.len());
        for ((held, (name, _)), of) in inputs.iter().zip(plan.inputs()).zip(plan.input_types()) {
            // SAFETY: it is an input of this run: its memory stays as it is until the run ends.
            given.push(unsafe { held.as_input(name, *of) }?);
        }
        let mut outputs = Vec::new();
        for (i, (_, desc)) in plan.outputs().enumerate() {
            // SAFETY: the context is ONNX Runtime's.
            outputs.push(unsafe { ort.output(context, i, desc.dims()) }?);
        }
        let mut results: Vec<StridedTensor> = Vec::with_capacity(outputs.len());
        for (held, (_, desc)) in outputs.iter().zip(plan.outputs()) {
            // SAFETY: it is an output of this run: its memory is the run's alone until it ends.
            results.push(unsafe { held.as_output(desc.dtype()) }?);
        }
        let given: Vec<&StridedTensor> = given.iter().collect();
        let mut places: Vec<&mut StridedTensor> = results.iter_mut().collect();
        region.options().run(|| plan.run_into(&given, &mut places))?;
        let names = plan.outputs().map(|(name, _)| name);
        for (((held, name), of), result) in outputs.iter().zip(names).zip(plan.output_types()).zip(&results) {
            // SAFETY: as above; where the memory was wrapped this writes nothing.
            unsafe { held.take(name, *of, result) }?;
        }
        Ok(())
    })
}
