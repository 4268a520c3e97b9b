//! What a session keeps: its provider, and its fused nodes.
#![allow(unsafe_code)]

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};

use blocktensor::check_process;
use blocktensor::ledger::{self, Site};
use blocktensor_graph::{Constant, Plan};
use ort_sys::{OrtLogger, OrtLoggingLevel, OrtStatusPtr};

use crate::context::Contexts;
use crate::failure::{Failure, Result};
use crate::ffi::{OrtEp, OrtNodeComputeInfo};
use crate::kept::Kept;
use crate::options::{NAME, Options};
use crate::ort::{Ort, success};
use crate::region::{News, Region};
use crate::report::Report;

pub(crate) const WARNING: OrtLoggingLevel = OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING;
pub(crate) const INFO: OrtLoggingLevel = OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO;

/// The provider of one session.
pub(crate) type KeptEp = Kept<Ep, OrtEp>;

/// A fused node of a session.
pub(crate) type KeptFused = Kept<Fused, OrtNodeComputeInfo>;

pub(crate) struct Ep {
    pub(crate) options: Result<Options>,
    pub(crate) contexts: Contexts,
    /// Files of plans that were written.
    pub(crate) written: AtomicUsize,
    pub(crate) teller: Teller,
    pub(crate) found: Mutex<Found>,
    /// Whether it has taken nodes of a graph.
    pub(crate) has_claimed: AtomicBool,
}

/// Tells a session's user about its plans.
#[derive(Clone)]
pub(crate) struct Teller {
    pub(crate) ort: Ort,
    /// The session's, which outlives its providers and their fused nodes.
    pub(crate) logger: *const OrtLogger,
    pub(crate) report: Option<Arc<Report>>,
}

impl Teller {
    pub(crate) fn log(&self, level: OrtLoggingLevel, text: &str) -> Result<()> {
        // SAFETY: the logger is the session's, and lives as long as this.
        unsafe { self.ort.log(self.logger, level, text) }
    }

    /// Tells about a new plan. With `timed`, nobody waits for a run of it.
    pub(crate) fn tell(&self, region: &Region, plan: &Plan, news: &News, timed: bool) -> Result<()> {
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
pub(crate) struct Found {
    /// Why the session is refused.
    pub(crate) refusal: Option<Failure>,
    pub(crate) constants: HashMap<String, Result<Constant, String>>,
    /// The names of the model's sizes, also of nodes that other providers run.
    pub(crate) sizes: BTreeSet<String>,
}

pub(crate) struct Fused {
    pub(crate) teller: Teller,
    pub(crate) region: Region,
    pub(crate) has_run: AtomicBool,
}

/// ONNX Runtime runs a fused node on several threads at once.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Region>();
    is_shared::<Report>();
    is_shared::<Ort>();
};

/// Runs the body of a call: its error becomes a status, and its panics are caught.
pub(crate) fn guard(ort: &Ort, call: &'static str, body: impl FnOnce() -> Result<()>) -> OrtStatusPtr {
    let done = catch_unwind(AssertUnwindSafe(|| {
        check_process(call)?;
        ledger::at(Site::Foreign(call), body)
    }));
    match done.unwrap_or_else(|panic| Err(Failure::of_panic(call, panic))) {
        Ok(()) => success(),
        Err(failure) => ort.status(&failure),
    }
}

/// Gives freed memory back to the system. Reading a model and planning free twice of what a plan keeps, and glibc would hold on to it.
pub(crate) fn trim() {
    #[cfg(target_env = "gnu")]
    {
        unsafe extern "C" {
            fn malloc_trim(kept: usize) -> i32;
        }
        // SAFETY: any thread may call it at any time.
        unsafe { malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{CStr, c_char, c_void};
    use std::mem::offset_of;
    use std::panic::panic_any;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

    use ort_sys::{OrtApi, OrtApiBase, OrtErrorCode, OrtStatus};

    use super::*;
    use crate::ffi::API_BYTES;

    /// A status of the stand-in: the code and the text that it was made of.
    type Status = (OrtErrorCode, String);

    static TABLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

    unsafe extern "system" fn nothing() -> usize {
        0
    }

    unsafe extern "system" fn create_status(code: OrtErrorCode, text: *const c_char) -> *mut Status {
        // SAFETY: it ends with NUL.
        let text = unsafe { CStr::from_ptr(text) }.to_str().expect("the text is UTF-8");
        Box::into_raw(Box::new((code, text.to_string())))
    }

    unsafe extern "system" fn get_api(_: u32) -> *const OrtApi {
        TABLE.load(Relaxed).cast()
    }

    unsafe extern "system" fn version() -> *const c_char {
        c"1.23.2".as_ptr()
    }

    /// A stand-in for ONNX Runtime that does nothing but make statuses.
    fn ort() -> Ort {
        let mut slots = vec![nothing as *const () as *mut c_void; API_BYTES / 8];
        slots[offset_of!(OrtApi, CreateStatus) / 8] = create_status as *const () as *mut c_void;
        TABLE.store(slots.leak().as_mut_ptr().cast(), Relaxed);
        let base = OrtApiBase { GetApi: get_api, GetVersionString: version };
        // SAFETY: the table is the stand-in's, and its functions take what ONNX Runtime's take, or nothing.
        unsafe { Ort::new(&base) }.expect("the version is new enough")
    }

    /// What ONNX Runtime gets of a call.
    fn status(returned: OrtStatusPtr) -> Option<Status> {
        let of: *mut OrtStatus = returned.0;
        // SAFETY: all statuses are the stand-in's, and each is read once.
        (!of.is_null()).then(|| *unsafe { Box::from_raw(of.cast::<Status>()) })
    }

    #[test]
    fn panics_and_errors_of_a_call_become_statuses() {
        let ort = ort();
        let panics: [(fn(), &str); 3] = [
            (|| panic!("words"), "op `Compute`: argument `call`: got words, but"),
            (|| panic!("value {}", 7), "got value 7, but no call may panic"),
            (|| panic_any(7), "please report this"),
        ];
        for (panics, part) in panics {
            let run = || {
                panics();
                Ok(())
            };
            let (code, text) = status(guard(&ort, "Compute", run)).expect("a panic is an error");
            assert_eq!(code, OrtErrorCode::ORT_FAIL);
            assert!(text.contains(part), "{text}");
            // The thread can call again.
            assert_eq!(status(guard(&ort, "Compute", || Ok(()))), None);
        }
        let refused =
            guard(&ort, "Compute", || Err(Failure::invalid("input `x`: got 1\0").at("node `relu`")));
        let expected = (OrtErrorCode::ORT_INVALID_ARGUMENT, "node `relu`: input `x`: got 1\\0".to_string());
        assert_eq!(status(refused), Some(expected));
    }
}
