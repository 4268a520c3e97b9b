//! What ONNX Runtime calls: the library's two exports, and the functions of its factory and providers.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use blocktensor::counted;
use ort_sys::{
    OrtApiBase, OrtEpDevice, OrtGraph, OrtHardwareDevice, OrtKeyValuePairs, OrtLogger, OrtNode,
    OrtSessionOptions, OrtStatusPtr,
};

use crate::claim::Model;
use crate::compile::compile;
use crate::context::Contexts;
use crate::failure::{Failure, Result};
use crate::ffi::{
    OrtEp, OrtEpFactory, OrtEpGraphSupportInfo, OrtNodeComputeInfo, OrtNodeFusionOptions, VERSION,
};
use crate::kept::Kept;
use crate::options::{NAME, Options};
use crate::ort::{Ort, success};
use crate::report::Report;
use crate::session::{Ep, KeptEp, KeptFused, Teller, WARNING, guard};

const C_NAME: &std::ffi::CStr = c"BlocktensorExecutionProvider";

/// Makes providers. It lives as long as the process: ONNX Runtime may release it while sessions use it.
type Factory = Kept<Ort, OrtEpFactory>;

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
        let pairs = || entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let (options, contexts) = (Options::read(pairs()), Contexts::read(pairs()));
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
        let teller = Teller { ort, logger, report };
        let ep = Ep {
            options,
            contexts,
            written: AtomicUsize::new(0),
            teller,
            found: Mutex::default(),
            has_claimed: AtomicBool::new(false),
        };
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
        #[cfg(feature = "refusals")]
        let model = refusing(model);
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
        found.sizes.extend(model.named_sizes().map(str::to_string));
        found.constants = model.constants;
        ep.has_claimed.fetch_or(!regions.is_empty(), Relaxed);
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

/// The model without every second node of the op that the environment names.
#[cfg(feature = "refusals")]
fn refusing(mut model: Model) -> Model {
    if let Ok(op) = std::env::var("BLOCKTENSOR_REFUSE") {
        model.refuse_every_second(&op);
    }
    model
}

/// The regions that run here, or why the session is refused.
fn claimed(ep: &Ep, model: &Model) -> Result<Vec<Vec<usize>>> {
    let options = ep.options.as_ref().map_err(Failure::clone)?;
    // Version 1.23, which does not tell ranks either, does not tell a graph inside a node from the model's, and comes with it first.
    let was_body = !ep.teller.ort.tells_ranks && ep.has_claimed.load(Relaxed);
    let outer = model.nodes.iter().find(|node| node.has_graphs);
    if let Some(node) = outer.filter(|_| options.partial && was_body) {
        return Err(Failure::other(format!(
            "{NAME}, option `partial`: onnxruntime 1.23 cannot run the graphs inside the node `{}` ({}) with several providers; install \
             onnxruntime 1.24 or newer, or leave the option out",
            node.read.name, node.read.op_type
        )));
    }
    let claims = model.leave_small(model.claims(options.partial, &options.sizes), options.min_nodes);
    if claims.left.is_empty() {
        return Ok(claims.regions);
    }
    let (nodes, listed) = (counted(claims.left.len(), "node"), model.listed(&claims.left));
    if options.partial && !ep.teller.ort.mixes {
        let rule = "this version of onnxruntime, 1.23.0, cannot run a model with nodes of several providers";
        let remedy = "install onnxruntime 1.23.1 or newer, or export the model without them";
        return Err(Failure::other(format!(
            "{NAME}, option `partial`: {rule}, and {nodes} cannot run here:{listed}\n{remedy}"
        )));
    }
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
