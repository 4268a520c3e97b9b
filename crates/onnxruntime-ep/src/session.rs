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
