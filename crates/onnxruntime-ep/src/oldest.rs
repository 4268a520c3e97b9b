//! A stand-in for the oldest ONNX Runtime: its tables end where a page begins that nobody may touch, as do the structs that it gets.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use ort_sys::{OrtApi, OrtApiBase};

use crate::entry::{CreateEpFactories, ReleaseEpFactory};
use crate::ffi::{API_BYTES, OrtEpApi, OrtNodeComputeInfo, VERSION};
use crate::kept::memory::keep;
use crate::options::NAME;
use crate::ort::Ort;

const SLOTS: usize = API_BYTES / 8;

/// A function of a table.
type Slot = *const c_void;

static TABLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static EP_TABLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Does nothing, and returns 0: a status that says that it succeeded, or a null pointer.
unsafe extern "system" fn nothing() -> usize {
    0
}

unsafe extern "system" fn create_status(code: i32, text: *const c_char) -> *mut c_void {
    // SAFETY: it ends with NUL.
    let text = unsafe { CStr::from_ptr(text) };
    // An error would end the test's purpose early.
    eprintln!("status {code}: {text:?}");
    std::process::abort();
}

unsafe extern "system" fn get_api(version: u32) -> *const OrtApi {
    assert_eq!(version, VERSION, "a newer table than there is");
    TABLE.load(Relaxed).cast()
}

unsafe extern "system" fn ep_api() -> *const c_void {
    EP_TABLE.load(Relaxed)
}

unsafe extern "system" fn version() -> *const c_char {
    c"1.23.2".as_ptr()
}

unsafe extern "system" fn first_version() -> *const c_char {
    c"1.23.0".as_ptr()
}

/// A node has one input and one output.
unsafe extern "system" fn one(_: *const c_void, count: *mut usize) -> usize {
    // SAFETY: it is a place for the result.
    unsafe { count.write(1) };
    0
}

/// Something that is there, into which nobody looks.
unsafe extern "system" fn some(_: *const c_void, out: *mut *const c_void) -> usize {
    // SAFETY: it is a place for the result.
    unsafe { out.write(TABLE.load(Relaxed)) };
    0
}

unsafe extern "system" fn values(_: *const c_void, out: *mut *const c_void, _: usize) -> usize {
    // SAFETY: there is room for one.
    unsafe { out.write(TABLE.load(Relaxed)) };
    0
}

/// Whether values are inputs of the graph.
static ARE_INPUTS: AtomicBool = AtomicBool::new(false);

unsafe extern "system" fn is_input(_: *const c_void, out: *mut bool) -> usize {
    // SAFETY: it is a place for the result.
    unsafe { out.write(ARE_INPUTS.load(Relaxed)) };
    0
}

unsafe extern "system" fn name(_: *const c_void, out: *mut *const c_char) -> usize {
    // SAFETY: as above.
    unsafe { out.write(c"x".as_ptr()) };
    0
}

#[test]
fn no_table_and_no_struct_is_read_beyond_the_end_of_its_oldest_version() {
    let mut slots: [Slot; SLOTS] = [nothing as *const () as Slot; SLOTS];
    let mut set = |offset: usize, function: *const ()| slots[offset / 8] = function.cast();
    set(offset_of!(OrtApi, CreateStatus), create_status as *const ());
    set(offset_of!(OrtApi, GetEpApi), ep_api as *const ());
    set(offset_of!(OrtApi, Node_GetNumInputs), one as *const ());
    set(offset_of!(OrtApi, Node_GetNumOutputs), one as *const ());
    set(offset_of!(OrtApi, GetValueInfoName), name as *const ());
    set(offset_of!(OrtApi, ValueInfo_IsRequiredGraphInput), is_input as *const ());
    set(offset_of!(OrtApi, GetValueInfoTypeInfo), some as *const ());
    set(offset_of!(OrtApi, CastTypeInfoToTensorInfo), some as *const ());
    set(offset_of!(OrtApi, Node_GetInputs), values as *const ());
    set(offset_of!(OrtApi, Node_GetOutputs), values as *const ());
    TABLE.store(keep(slots).cast(), Relaxed);
    EP_TABLE.store(keep([nothing as *const () as Slot; size_of::<OrtEpApi>() / 8]).cast(), Relaxed);
    let base = OrtApiBase { GetApi: get_api, GetVersionString: version };
    // SAFETY: all pointers are of this stand-in, whose functions take the arguments that ONNX Runtime's take, or none.
    unsafe {
        let (mut factory, mut count) = (null_mut(), 0);
        assert!(CreateEpFactories(c"test".as_ptr(), &base, null(), &mut factory, 1, &mut count).0.is_null());
        assert_eq!((count, CStr::from_ptr(((*factory).get_name)(factory)).to_str().unwrap()), (1, NAME));
        assert!(
            ((*factory).get_supported_devices)(factory, null(), 0, null_mut(), 1, &mut count).0.is_null()
        );
        let mut ep = null_mut();
        let made = ((*factory).create_ep)(factory, null(), null(), 0, null(), null(), &mut ep);
        assert!(made.0.is_null());
        assert!(((*ep).get_capability)(ep, null(), null_mut()).0.is_null());
        let infos: *mut *mut OrtNodeComputeInfo = null_mut();
        assert!(((*ep).compile)(ep, null_mut(), null_mut(), 0, infos, null_mut()).0.is_null());
        ((*ep).release_node_compute_infos)(ep, infos, 0);
        let ort = Ort::new(&base).expect("the oldest version is new enough");
        let (inputs, outputs) = ort.ends(null()).expect("a node");
        // A value without sizes: a tensor of unknown rank looks like that here, and the model's own inputs have a rank.
        for (are_inputs, dims) in [(false, None), (true, Some(vec![]))] {
            ARE_INPUTS.store(are_inputs, Relaxed);
            let model = ort.model(null(), &[null()], HashMap::new()).expect("a graph of one node");
            assert_eq!(model.values["x"].dims, dims);
        }
        assert!(inputs.len() == 1 && outputs.len() == 1 && !ort.tells_ranks && ort.mixes);
        let base = OrtApiBase { GetVersionString: first_version, ..base };
        assert!(!Ort::new(&base).expect("this version too").mixes);
        ((*factory).release_ep)(factory, ep);
        assert!(ReleaseEpFactory(factory).0.is_null());
    }
}
