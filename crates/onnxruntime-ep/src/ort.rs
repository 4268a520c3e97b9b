//! Calls into ONNX Runtime: statuses, graphs, values.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

use ort_sys::{
    OrtApi, OrtApiBase, OrtErrorCode, OrtLogger, OrtLoggingLevel, OrtNode, OrtOpAttr, OrtOpAttrType,
    OrtSessionOptions, OrtStatus, OrtStatusPtr, OrtTensorTypeAndShapeInfo, OrtValue,
};

use crate::failure::{Failure, Result};
use crate::ffi::{OrtEpApi, VERSION};
use crate::options::NAME;

/// The version of ONNX Runtime from which tensors of unknown rank can be told from those of rank 0.
const TELLS_RANKS: u32 = 24;

/// The version of ONNX Runtime that cannot run a model with nodes of several providers, if one is a plug-in: it looks for kernels that
/// copy tensors between them.
const NEVER_MIXES: &str = "1.23.0";

/// ONNX Runtime's tables of functions. They live as long as the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ort {
    /// Its members up to `VERSION` are there; those of `TELLS_RANKS` where `tells_ranks`.
    pub(crate) api: *const OrtApi,
    ep: *const OrtEpApi,
    pub(crate) tells_ranks: bool,
    /// Whether a model may have nodes of other providers.
    pub(crate) mixes: bool,
}

// SAFETY: the tables are constant, and their functions may be called from any thread.
unsafe impl Send for Ort {}
// SAFETY: as above.
unsafe impl Sync for Ort {}

/// Calls a function of ONNX Runtime's that returns a status.
macro_rules! call {
    ($ort:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        const { assert!(std::mem::offset_of!(ort_sys::OrtApi, $function) < crate::ffi::API_BYTES) };
        // SAFETY: the table is ONNX Runtime's. The caller of this crate's function promised that the pointers are valid; the
        // others are places on this function's stack.
        unsafe {
            let ort = $ort;
            ort.check(((*ort.api).$function)($($argument),*))
        }
    }};
}

pub(crate) use call;

/// A C string as text.
///
/// # Safety
/// It is null or ends with NUL, and lives during the call.
pub(crate) unsafe fn text(of: *const c_char) -> String {
    if of.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

/// What a tensor in memory is.
pub(crate) struct Held {
    /// The type of its elements, as ONNX numbers it.
    pub(crate) data_type: i32,
    pub(crate) dims: Vec<i64>,
    pub(crate) data: *mut u8,
}

/// A node to make.
pub(crate) struct NewNode<'a> {
    pub(crate) name: &'a str,
    pub(crate) op: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) inputs: &'a [String],
    pub(crate) outputs: &'a [String],
    pub(crate) attributes: &'a [(&'a str, NewAttribute<'a>)],
}

pub(crate) enum NewAttribute<'a> {
    Int(i64),
    /// Any bytes.
    Text(&'a [u8]),
}

impl Ort {
    /// The tables that ONNX Runtime gives.
    ///
    /// # Errors
    /// A status for a version of ONNX Runtime that is too old.
    ///
    /// # Safety
    /// `base` is what ONNX Runtime passes to `CreateEpFactories`.
    pub(crate) unsafe fn new(base: *const OrtApiBase) -> Result<Ort, OrtStatusPtr> {
        // SAFETY: the caller's promise. The string ends with NUL and lives as long as ONNX Runtime.
        let (get, version) = unsafe { ((*base).GetApi, text(((*base).GetVersionString)())) };
        let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0u32));
        let is_newer = numbers.next().is_some_and(|major| major > 1);
        let minor = numbers.next().unwrap_or(0);
        if !is_newer && minor < VERSION {
            let message = c_string(&format!(
                "{NAME} needs onnxruntime 1.{VERSION} or newer, and this is {version}; install a newer one"
            ));
            // SAFETY: version 1 is there in all versions, and its first function makes statuses.
            let status = unsafe {
                let oldest = get(1);
                ((*oldest).CreateStatus)(OrtErrorCode::ORT_FAIL, message.as_ptr())
            };
            return Err(status);
        }
        let tells_ranks = is_newer || minor >= TELLS_RANKS;
        // SAFETY: it knows the version, so it returns the table.
        let api = unsafe { get(if tells_ranks { TELLS_RANKS } else { VERSION }) };
        // SAFETY: the table has this function from version 22 on.
        let ep = unsafe { ((*api).GetEpApi)() }.cast();
        Ok(Ort { api, ep, tells_ranks, mixes: version != NEVER_MIXES })
    }

    /// A status for the caller, which releases it.
    pub(crate) fn status(&self, failure: &Failure) -> OrtStatusPtr {
        let message = c_string(&failure.text);
        // SAFETY: the text ends with NUL, and is copied.
        unsafe { ((*self.api).CreateStatus)(failure.code, message.as_ptr()) }
    }

    /// The error that a status is, which this releases.
    ///
    /// # Safety
    /// The status comes from ONNX Runtime, and nobody else releases it.
    pub(crate) unsafe fn check(&self, status: OrtStatusPtr) -> Result<()> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise; the text lives as long as the status.
        let message = unsafe { text(((*self.api).GetErrorMessage)(status.0)) };
        // SAFETY: as above.
        unsafe { ((*self.api).ReleaseStatus)(status.0) };
        Err(Failure::other(format!("{NAME}: ONNX Runtime refused a call: {message}")))
    }

    /// The table of functions for providers.
    pub(crate) fn ep(&self) -> *const OrtEpApi {
        self.ep
    }

    /// Whether a device is a processor.
    ///
    /// # Safety
    /// The device is one of ONNX Runtime's.
    pub(crate) unsafe fn is_cpu(&self, device: *const ort_sys::OrtHardwareDevice) -> bool {
        // SAFETY: the same function with its number as it is: a newer version may have kinds that the enum lacks.
        let kind: unsafe extern "system" fn(*const ort_sys::OrtHardwareDevice) -> i32 =
            unsafe { std::mem::transmute((*self.api).HardwareDevice_Type) };
        // SAFETY: the caller's promise.
        unsafe { kind(device) == ort_sys::OrtHardwareDeviceType::OrtHardwareDeviceType_CPU as i32 }
    }

    /// Writes a line into the session's log.
    ///
    /// # Safety
    /// The logger is ONNX Runtime's.
    pub(crate) unsafe fn log(
        &self,
        logger: *const OrtLogger,
        level: OrtLoggingLevel,
        message: &str,
    ) -> Result<()> {
        let (message, file) = (c_string(message), c"blocktensor");
        call!(self, Logger_LogMessage(logger, level, message.as_ptr(), file.as_ptr(), 0, file.as_ptr()))
    }

    /// The entries of a session's configuration.
    ///
    /// # Safety
    /// The options are ONNX Runtime's.
    pub(crate) unsafe fn entries(&self, options: *const OrtSessionOptions) -> Result<Vec<(String, String)>> {
        let mut pairs = null_mut();
        call!(self, GetSessionOptionsConfigEntries(options, &mut pairs))?;
        let (mut keys, mut values, mut count) = (null(), null(), 0);
        // SAFETY: the pairs are there; the lists have `count` strings each and live as long as the pairs, released below.
        let entries = unsafe {
            ((*self.api).GetKeyValuePairs)(pairs, &mut keys, &mut values, &mut count);
            (0..count).map(|i| (text(*keys.add(i)), text(*values.add(i)))).collect()
        };
        // SAFETY: nobody else releases them.
        unsafe { ((*self.api).ReleaseKeyValuePairs)(pairs) };
        Ok(entries)
    }

    /// The type and the sizes of a tensor.
    pub(crate) fn held_shape(&self, value: *const OrtValue) -> Result<(i32, Vec<i64>)> {
        let mut info = null_mut();
        call!(self, GetTensorTypeAndShape(value, &mut info))?;
        let shape = self.shape(info);
        // SAFETY: nobody else releases it.
        unsafe { ((*self.api).ReleaseTensorTypeAndShapeInfo)(info) };
        shape
    }

    pub(crate) fn shape(&self, info: *const OrtTensorTypeAndShapeInfo) -> Result<(i32, Vec<i64>)> {
        let (mut of, mut rank) = (0i32, 0);
        // The enum of a newer version may have numbers that the one here lacks.
        call!(self, GetTensorElementType(info, (&raw mut of).cast()))?;
        call!(self, GetDimensionsCount(info, &mut rank))?;
        let mut dims = vec![0; rank];
        call!(self, GetDimensions(info, dims.as_mut_ptr(), rank))?;
        Ok((of, dims))
    }

    /// A node of its own, which the caller releases, or gives to ONNX Runtime.
    pub(crate) fn new_node(&self, node: &NewNode<'_>) -> Result<*mut OrtNode> {
        // SAFETY: the table has this function, and returns null or a table that lives as long as the process.
        let editor = unsafe { ((*self.api).GetModelEditorApi)().as_ref() };
        let Some(editor) = editor else {
            return Err(Failure::other(format!(
                "{NAME}: this ONNX Runtime cannot write models; use a full build"
            )));
        };
        let strings = |list: &[String]| list.iter().map(|text| c_string(text)).collect::<Vec<_>>();
        let (inputs, outputs) = (strings(node.inputs), strings(node.outputs));
        let pointers = |list: &[CString]| list.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (inputs, outputs) = ((pointers(&inputs), inputs), (pointers(&outputs), outputs));
        let (name, op, domain) = (c_string(node.name), c_string(node.op), c_string(node.domain));
        let (mut attributes, mut made) = (Vec::with_capacity(node.attributes.len()), null_mut());
        let all = node.attributes.iter().try_for_each(|(name, value)| {
            attributes.push(self.new_attribute(name, value)?);
            Ok(())
        });
        let done = all.and_then(|()| {
            // SAFETY: all strings live during the call, which takes the attributes.
            let status = unsafe {
                (editor.CreateNode)(
                    op.as_ptr(),
                    domain.as_ptr(),
                    name.as_ptr(),
                    inputs.0.as_ptr(),
                    inputs.0.len(),
                    outputs.0.as_ptr(),
                    outputs.0.len(),
                    attributes.as_mut_ptr(),
                    attributes.len(),
                    &mut made,
                )
            };
            // SAFETY: nobody else releases the status.
            unsafe { self.check(status) }
        });
        // What was taken is null now.
        for attribute in attributes.into_iter().filter(|attribute| !attribute.is_null()) {
            // SAFETY: nobody else has it.
            unsafe { ((*self.api).ReleaseOpAttr)(attribute) };
        }
        done.map(|()| made)
    }

    fn new_attribute(&self, name: &str, value: &NewAttribute<'_>) -> Result<*mut OrtOpAttr> {
        let (kind, data, count): (_, *const c_void, _) = match value {
            NewAttribute::Int(number) => (OrtOpAttrType::ORT_OP_ATTR_INT, (&raw const *number).cast(), 1),
            NewAttribute::Text(bytes) => {
                (OrtOpAttrType::ORT_OP_ATTR_STRING, bytes.as_ptr().cast(), bytes.len())
            }
        };
        let Ok(count) = i32::try_from(count) else {
            return Err(Failure::invalid(format!(
                "{NAME}: the attribute `{name}` would have {count} bytes, and may have {}; set `ep.context_embed_mode` to 0",
                i32::MAX
            )));
        };
        let (name, mut made) = (c_string(name), null_mut());
        call!(self, CreateOpAttr(name.as_ptr(), data, count, kind, &mut made))?;
        Ok(made)
    }

    /// An input of a run.
    ///
    /// # Safety
    /// The context is ONNX Runtime's.
    pub(crate) unsafe fn input(&self, context: *const ort_sys::OrtKernelContext, i: usize) -> Result<Held> {
        let mut value = null();
        call!(self, KernelContext_GetInput(context, i, &mut value))?;
        if value.is_null() {
            return Err(Failure::invalid(format!("{NAME}: input {i} of a fused node has no value")));
        }
        let (data_type, dims) = self.held_shape(value)?;
        let mut data = null();
        call!(self, GetTensorData(value, &mut data))?;
        Ok(Held { data_type, dims, data: data.cast_mut().cast() })
    }

    /// An output of a run, with memory for it.
    ///
    /// # Safety
    /// The context is ONNX Runtime's.
    pub(crate) unsafe fn output(
        &self,
        context: *mut ort_sys::OrtKernelContext,
        i: usize,
        dims: &[usize],
    ) -> Result<Held> {
        let dims: Vec<i64> = dims.iter().map(|&size| size as i64).collect();
        let mut value = null_mut();
        call!(self, KernelContext_GetOutput(context, i, dims.as_ptr(), dims.len(), &mut value))?;
        if value.is_null() {
            return Err(Failure::other(format!("{NAME}: ONNX Runtime has no memory for output {i}")));
        }
        let mut data = null_mut();
        call!(self, GetTensorMutableData(value, &mut data))?;
        let (data_type, dims) = self.held_shape(value)?;
        Ok(Held { data_type, dims, data: data.cast() })
    }
}

/// A status that says that a call succeeded.
pub(crate) fn success() -> OrtStatusPtr {
    OrtStatusPtr(null_mut::<OrtStatus>())
}
