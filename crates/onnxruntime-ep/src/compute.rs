//! Runs of a fused node.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use blocktensor::StridedTensor;
use ort_sys::{OrtKernelContext, OrtStatusPtr};

use crate::failure::{Failure, Result};
use crate::ffi::{OrtNodeComputeContext, OrtNodeComputeInfo, VERSION};
use crate::ort::{Held, success};
use crate::session::{KeptFused, WARNING, guard, trim};

/// What ONNX Runtime reads of a fused node.
pub(crate) fn base() -> OrtNodeComputeInfo {
    OrtNodeComputeInfo { ort_version_supported: VERSION, create_state, compute, release_state }
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
        let at = |e: Failure| e.at(&region.name);
        let mut given = Vec::with_capacity(inputs.len());
        for ((held, (name, _)), of) in inputs.iter().zip(plan.inputs()).zip(plan.input_types()) {
            // SAFETY: it is an input of this run: its memory stays as it is until the run ends.
            given.push(unsafe { held.as_input(name, *of) }.map_err(at)?);
        }
        let mut outputs = Vec::new();
        for (i, (_, desc)) in plan.outputs().enumerate() {
            // SAFETY: the context is ONNX Runtime's.
            outputs.push(unsafe { ort.output(context, i, desc.dims()) }?);
        }
        let mut results: Vec<StridedTensor> = Vec::with_capacity(outputs.len());
        for (held, (_, desc)) in outputs.iter().zip(plan.outputs()) {
            // SAFETY: it is an output of this run: its memory is the run's alone until it ends.
            results.push(unsafe { held.as_output(desc.dtype()) }.map_err(at)?);
        }
        let given: Vec<&StridedTensor> = given.iter().collect();
        let mut places: Vec<&mut StridedTensor> = results.iter_mut().collect();
        region.options().run(|| plan.run_into(&given, &mut places))?;
        let names = plan.outputs().map(|(name, _)| name);
        for (((held, name), of), result) in outputs.iter().zip(names).zip(plan.output_types()).zip(&results) {
            // SAFETY: as above; where the memory was wrapped this writes nothing.
            unsafe { held.take(name, *of, result) }.map_err(at)?;
        }
        // ONNX Runtime has dropped its copy of the weights by now.
        if !fused.has_run.load(Relaxed) && !fused.has_run.swap(true, Relaxed) {
            trim();
        }
        Ok(())
    })
}
