//! The ledger: records every reorder and every kernel run, with cause and time, on request.
//!
//! Recording and denying are scopes of the calling thread. [`record`] covers the reorders and kernel runs of the calls made
//! inside it; work that the team's threads do for these calls is not recorded separately. Without an open scope, a call costs
//! one thread-local read.

mod report;
mod scope;
mod site;

pub use report::{Redundant, RedundantKind};
pub use scope::{Scope, ScopeError};
pub use site::{Site, at};

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::Location;
use std::time::{Duration, Instant};

pub use crate::error::Cause;

use crate::buffer::Buffer;
use crate::error::{Call, Error, ReorderDenied, Result, Text};
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::threads;
use scope::{Within, note};

/// One reorder: a copy of data into another layout.
#[derive(Clone, Debug)]
pub struct ReorderRecord {
    /// The op or call that made it.
    pub op: Cow<'static, str>,
    /// The cause.
    pub cause: Cause,
    /// Layout or memory format of the source.
    pub from: String,
    /// Layout or memory format of the result.
    pub to: String,
    /// Logical sizes.
    pub dims: Dims,
    /// **Bytes** written.
    pub bytes: usize,
    /// Time taken; zero for [`Cause::Internal`], whose time is included in its kernel run.
    pub time: Duration,
    /// When it began, measured from the first record of the process.
    pub start: Duration,
    /// An id of the source's storage, unique in the process; 0 if it is not a tensor's.
    pub source: u64,
    /// The number of the result's storage.
    pub result: u64,
    /// Who made the call.
    pub site: Site,
    /// Whether it was made to compute gradients.
    pub is_backward: bool,
}

/// One run of a kernel.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The op.
    pub op: Cow<'static, str>,
    /// The dispatch key.
    pub key: &'static str,
    /// The implementation: oneDNN's own name, or `blocktensor:...`.
    pub implementation: Cow<'static, str>,
    /// Layouts of source and result.
    pub layouts: String,
    /// Time taken.
    pub time: Duration,
    /// When it began, measured from the first record of the process.
    pub start: Duration,
    /// **Bytes** of scratchpad.
    pub scratchpad_bytes: usize,
    /// Whether it computed gradients.
    pub is_backward: bool,
}

/// A strided op whose result is in another memory format than its first operand.
#[derive(Clone, Debug)]
pub struct LayoutChange {
    /// The op.
    pub op: Cow<'static, str>,
    /// The operand's memory format.
    pub from: MemoryFormat,
    /// The result's.
    pub to: MemoryFormat,
    /// Sizes of the result.
    pub dims: Dims,
    /// Who made the call.
    pub site: Site,
}

/// The records, in order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Every reorder.
    pub reorders: Vec<ReorderRecord>,
    /// Every kernel run.
    pub runs: Vec<RunRecord>,
    /// Strided results in another format than their first operand. This is not an error, but rarely intended.
    pub layout_changes: Vec<LayoutChange>,
}

impl Ledger {
    /// What forward calls did, and what was done to compute gradients.
    pub fn apart(self) -> (Ledger, Ledger) {
        let (backward_reorders, reorders) = self.reorders.into_iter().partition(|r| r.is_backward);
        let (backward_runs, runs) = self.runs.into_iter().partition(|r| r.is_backward);
        let backward =
            Ledger { reorders: backward_reorders, runs: backward_runs, layout_changes: Vec::new() };
        (Ledger { reorders, runs, layout_changes: self.layout_changes }, backward)
    }
}

thread_local! {
    /// Whether gradients are being computed.
    static BACKWARD: Cell<bool> = const { Cell::new(false) };
    /// The call for which a fallback is running: reorders inside it are attributed to the fallback.
    static FALLBACK: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Runs `f`, and returns its reorders and kernel runs on this thread. Scopes nest: each records everything inside it.
pub fn record<R>(f: impl FnOnce() -> R) -> (R, Ledger) {
    let scope = Within::record();
    let result = f();
    (result, scope.leave())
}

/// Runs `f` and makes every reorder on this thread an error: [`Error::ReorderDenied`] says what would have been reordered,
/// and where. Implementations that reorder internally are refused as well.
pub fn deny_reorders<R>(f: impl FnOnce() -> R) -> R {
    let _scope = Within::budget(None);
    f()
}

/// Limits how many reorders a piece of code may make. It is for tests.
///
/// ```
/// use blocktensor::{Layout, MemoryFormat, StridedTensor, ledger::ReorderBudget};
/// let x = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous)?;
/// ReorderBudget::at_most(1).run(|| {
///     let blocked = x.to_blocked(&Layout::NCHW16C)?;
///     assert!(blocked.to_strided(MemoryFormat::Contiguous).is_err()); // the second one
///     Ok::<(), blocktensor::Error>(())
/// })?;
/// # Ok::<(), blocktensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderBudget(usize);

impl ReorderBudget {
    /// Allows this many reorders, packing included. Scopes nest: an inner scope also spends what the outer one has left.
    pub const fn at_most(reorders: usize) -> ReorderBudget {
        ReorderBudget(reorders)
    }

    /// Runs `f`; every reorder on this thread beyond the budget is an [`Error::ReorderDenied`], and copies nothing.
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        let _scope = Within::budget(Some(self.0));
        f()
    }
}

/// Whether a record scope is open on this thread. It lets backends of other crates skip the cost of preparing records.
#[inline]
pub fn is_recording() -> bool {
    scope::is_recording()
}

/// Whether any scope is open on this thread: one that records, or one that limits reorders. Bindings need to find out where a
/// call was made ([`at`]) only then.
#[inline]
pub fn is_watching() -> bool {
    scope::is_watching()
}

/// A reorder that is about to run. Its names are made only if they are needed.
pub(crate) struct Move<'a> {
    pub op: &'static str,
    pub cause: Cause,
    pub from: &'a dyn std::fmt::Display,
    pub to: &'a dyn std::fmt::Display,
    pub dims: &'a [usize],
    pub bytes: usize,
    /// The id of the source's storage, or 0.
    pub source: u64,
    pub location: &'static Location<'static>,
}

/// The result of a reorder.
pub(crate) trait Moved {
    /// The id of its storage, or 0.
    fn storage_id(&self) -> u64;
}

impl Moved for () {
    fn storage_id(&self) -> u64 {
        0
    }
}

impl Moved for Buffer {
    fn storage_id(&self) -> u64 {
        self.id()
    }
}

/// The time since the first record of the process.
fn since_first(at: Instant) -> Duration {
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    at.saturating_duration_since(*FIRST.get_or_init(|| at))
}

/// Calls `f`, which reorders operands for a call that has no kernel and was made at `location`.
pub(crate) fn as_fallback<R>(location: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    struct Leave(Option<&'static Location<'static>>);
    impl Drop for Leave {
        fn drop(&mut self) {
            FALLBACK.set(self.0);
        }
    }
    let _leave = Leave(FALLBACK.replace(Some(location)));
    f()
}

/// Runs `f`, which computes gradients: its records say so ([`Ledger::apart`]). For tapes; a backward call does it itself.
pub fn in_backward<R>(f: impl FnOnce() -> R) -> R {
    struct Leave(bool);
    impl Drop for Leave {
        fn drop(&mut self) {
            BACKWARD.set(self.0);
        }
    }
    let _leave = Leave(BACKWARD.replace(true));
    f()
}

/// Does `work`, the reorder that `m` describes: refuses it inside [`deny_reorders`], and records it inside [`record`].
pub(crate) fn reorder<R: Moved>(mut m: Move<'_>, work: impl FnOnce() -> Result<R>) -> Result<R> {
    threads::enter(m.op)?;
    if let (Cause::Call, Some(location)) = (m.cause, FALLBACK.get()) {
        (m.cause, m.location) = (Cause::Fallback, location);
    }
    if scope::allowed() == Some(0) {
        return Err(Error::ReorderDenied(Box::new(ReorderDenied {
            op: m.op.into(),
            from: m.from.to_string(),
            to: m.to.to_string(),
            shape: format!("{:?}", m.dims),
            bytes: m.bytes,
            location: site::current(m.location).to_string(),
            cause: m.cause,
            rule: match scope::denied() {
                true => Text::from("a ") + Call::DenyReorders + " scope is open",
                false => Text::from("the ") + Call::ReorderBudget + " of an open scope is used up",
            },
        })));
    }
    let start = is_recording().then(Instant::now);
    let result = work()?;
    scope::spend();
    let Some(start) = start else { return Ok(result) };
    let time = if m.cause == Cause::Internal { Duration::ZERO } else { start.elapsed() };
    let record = ReorderRecord {
        op: m.op.into(),
        cause: m.cause,
        from: m.from.to_string(),
        to: m.to.to_string(),
        dims: Dims::from_slice(m.dims),
        bytes: m.bytes,
        time,
        start: since_first(start),
        source: m.source,
        result: result.storage_id(),
        site: site::current(m.location),
        is_backward: BACKWARD.get(),
    };
    note(|ledger| ledger.reorders.push(record));
    Ok(result)
}

/// Records one kernel run that began at `start` and just ended, if a record scope is open.
pub(crate) fn ran(
    op: &'static str,
    key: DispatchKey,
    implementation: impl Into<Cow<'static, str>>,
    layouts: String,
    start: Instant,
    scratchpad_bytes: usize,
) {
    let record = RunRecord {
        op: op.into(),
        key: key.name(),
        implementation: implementation.into(),
        layouts,
        time: start.elapsed(),
        start: since_first(start),
        scratchpad_bytes,
        is_backward: BACKWARD.get(),
    };
    note(|ledger| ledger.runs.push(record));
}

/// Records that a strided op's result has another memory format than its first operand.
pub(crate) fn layout_changed(
    op: &'static str,
    (from, to): (MemoryFormat, MemoryFormat),
    dims: &[usize],
    location: &'static Location<'static>,
) {
    note(|ledger| {
        let (dims, site) = (Dims::from_slice(dims), site::current(location));
        ledger.layout_changes.push(LayoutChange { op: op.into(), from, to, dims, site })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn moved() -> Result<()> {
        let m = Move {
            op: "to_blocked",
            cause: Cause::Call,
            from: &"nchw",
            to: &"nChw16c",
            dims: &[1, 16, 2, 2],
            bytes: 256,
            source: 0,
            location: Location::caller(),
        };
        reorder(m, || Ok(()))
    }

    #[test]
    fn scopes_nest_and_close_even_when_the_caller_panics() {
        let (_, outer) = record(|| {
            moved().unwrap();
            let (_, inner) = record(|| moved().unwrap());
            assert_eq!(inner.reorders.len(), 1);
        });
        assert_eq!(outer.reorders.len(), 2);
        assert!(outer.reorders[0].site.to_string().split(':').next().unwrap().ends_with("ledger/mod.rs"));
        let caught = std::panic::catch_unwind(|| record(|| panic!("a caller's panic")));
        assert!(caught.is_err());
        assert!(!is_recording());
    }

    #[test]
    fn denial_names_what_would_have_moved_and_ends_with_its_scope() {
        let e = deny_reorders(|| moved()).unwrap_err();
        let text = e.to_string();
        for part in ["to_blocked", "nchw", "nChw16c", "256 bytes", "ledger/mod.rs", "deny_reorders"] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
        moved().unwrap();
    }

    #[test]
    fn budgets_nest_and_inner_ones_spend_what_the_outer_have_left() {
        ReorderBudget::at_most(3).run(|| {
            moved().unwrap();
            ReorderBudget::at_most(1).run(|| {
                moved().unwrap();
                assert!(moved().is_err());
            });
            ReorderBudget::at_most(9).run(|| {
                moved().unwrap();
                assert!(moved().is_err());
            });
            assert!(moved().is_err());
        });
        moved().unwrap();
    }
}
