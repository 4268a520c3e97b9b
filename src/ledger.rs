//! The ledger: every reorder and every kernel run, with cause and time, when somebody asks.
//!
//! Recording and denying are scopes of the calling thread: [`record`] sees what the calls made in it moved and
//! ran (the team's threads work for those calls and are not counted apart). With no scope open a call costs one
//! thread-local read.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::time::{Duration, Instant};

use crate::error::{Error, ReorderDenied, Result};
use crate::layout::dims::Dims;

/// Why data moved between layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The user asked: `to_blocked`, `to_strided`, `reorder_to`, `contiguous`, `to_memory_format`.
    Call,
    /// Weights were packed for a kernel.
    Packing,
    /// A strided kernel that needs dense input took a copy of a view.
    DenseCopy,
    /// The engine's implementation reorders inside itself (its name says so: `jit_uni_ncsp...`).
    Internal,
}

impl Cause {
    /// How to do without.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Cause::Call => "move the call out of the scope",
            Cause::Packing => "pack the weights once, before the scope (`PackedConv2d`, `PackedLinear`)",
            Cause::DenseCopy => "pass a dense tensor: call `contiguous` before the scope",
            Cause::Internal => "pass a channels-last or blocked tensor, whose kernels reorder nothing",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cause::Call => "call",
            Cause::Packing => "packing",
            Cause::DenseCopy => "dense copy",
            Cause::Internal => "inside the kernel",
        })
    }
}

/// One movement of data between layouts.
#[derive(Clone, Debug)]
pub struct ReorderRecord {
    /// The op or call that moved it.
    pub op: Cow<'static, str>,
    /// Why.
    pub cause: Cause,
    /// Layout or memory format of the source.
    pub from: String,
    /// Layout or memory format of the result.
    pub to: String,
    /// Logical sizes.
    pub dims: Dims,
    /// **Bytes** written.
    pub bytes: usize,
    /// Time taken; zero for [`Cause::Internal`], whose time is part of its run.
    pub time: Duration,
    /// Where the user's code made the call.
    pub location: &'static Location<'static>,
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
    /// **Bytes** of scratchpad.
    pub scratchpad_bytes: usize,
}

/// What was recorded, in order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Every reorder.
    pub reorders: Vec<ReorderRecord>,
    /// Every kernel run.
    pub runs: Vec<RunRecord>,
}

impl std::fmt::Display for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        write!(f, "{}", plural(self.reorders.len(), "reorder"))?;
        let causes = [Cause::Call, Cause::Packing, Cause::DenseCopy, Cause::Internal];
        let counts = causes.map(|c| (c, self.reorders.iter().filter(|r| r.cause == c).count()));
        let counts: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(c, n)| format!("{c} {n}")).collect();
        if !counts.is_empty() {
            write!(f, " ({})", counts.join(", "))?;
        }
        writeln!(f, ", {}", plural(self.runs.len(), "kernel run"))?;
        for r in &self.reorders {
            writeln!(
                f,
                "  reorder {:<14} {:<17} {} -> {} {} {} bytes {:?} at {}",
                r.op, r.cause, r.from, r.to, r.dims, r.bytes, r.time, r.location
            )?;
        }
        Ok(())
    }
}

thread_local! {
    static RECORDING: RefCell<Vec<Ledger>> = const { RefCell::new(Vec::new()) };
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static DENIED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` and returns what it moved and ran on this thread. Scopes nest: each sees what happens inside it.
pub fn record<R>(f: impl FnOnce() -> R) -> (R, Ledger) {
    struct Scope;
    impl Scope {
        fn close() -> Ledger {
            RECORDING.with_borrow_mut(|stack| {
                let inner = stack.pop().unwrap_or_default();
                WATCHED.set(!stack.is_empty());
                if let Some(outer) = stack.last_mut() {
                    outer.reorders.extend(inner.reorders.iter().cloned());
                    outer.runs.extend(inner.runs.iter().cloned());
                }
                inner
            })
        }
    }
    impl Drop for Scope {
        fn drop(&mut self) {
            Scope::close();
        }
    }
    RECORDING.with_borrow_mut(|stack| stack.push(Ledger::default()));
    WATCHED.set(true);
    let scope = Scope;
    let result = f();
    std::mem::forget(scope);
    (result, Scope::close())
}

/// Runs `f` with every reorder on this thread an error: [`Error::ReorderDenied`] says what would have moved, and
/// where. Implementations that reorder inside themselves are refused as well.
pub fn deny_reorders<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            DENIED.set(self.0);
        }
    }
    let _restore = Restore(DENIED.replace(true));
    f()
}

/// Whether a record scope is open on this thread.
#[inline]
pub(crate) fn is_recording() -> bool {
    WATCHED.get()
}

/// What is about to move. Names are made only when somebody looks.
pub(crate) struct Move<'a> {
    pub op: &'static str,
    pub cause: Cause,
    pub from: &'a dyn std::fmt::Display,
    pub to: &'a dyn std::fmt::Display,
    pub dims: &'a [usize],
    pub bytes: usize,
    pub location: &'static Location<'static>,
}

/// Does `work`, which moves data as `m` says: refused inside [`deny_reorders`], written down inside [`record`].
pub(crate) fn reorder<R>(m: Move<'_>, work: impl FnOnce() -> Result<R>) -> Result<R> {
    if DENIED.get() {
        return Err(Error::ReorderDenied(Box::new(ReorderDenied {
            op: m.op.into(),
            from: m.from.to_string(),
            to: m.to.to_string(),
            shape: format!("{:?}", m.dims),
            bytes: m.bytes,
            location: m.location.to_string(),
            cause: m.cause,
            rule: "a deny_reorders scope is open".into(),
        })));
    }
    if !is_recording() {
        return work();
    }
    let start = Instant::now();
    let result = work()?;
    let time = if m.cause == Cause::Internal { Duration::ZERO } else { start.elapsed() };
    let record = ReorderRecord {
        op: m.op.into(),
        cause: m.cause,
        from: m.from.to_string(),
        to: m.to.to_string(),
        dims: Dims::from_slice(m.dims),
        bytes: m.bytes,
        time,
        location: m.location,
    };
    note(|ledger| ledger.reorders.push(record));
    Ok(result)
}

/// Writes down one kernel run, when somebody is recording.
pub(crate) fn run(record: RunRecord) {
    note(|ledger| ledger.runs.push(record));
}

fn note(f: impl FnOnce(&mut Ledger)) {
    RECORDING.with_borrow_mut(|stack| {
        if let Some(ledger) = stack.last_mut() {
            f(ledger);
        }
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
        assert!(outer.reorders[0].location.file().ends_with("ledger.rs"));
        let caught = std::panic::catch_unwind(|| record(|| panic!("a caller's panic")));
        assert!(caught.is_err());
        assert!(!is_recording());
    }

    #[test]
    fn denial_names_what_would_have_moved_and_ends_with_its_scope() {
        let e = deny_reorders(|| moved()).unwrap_err();
        let text = e.to_string();
        for part in ["to_blocked", "nchw", "nChw16c", "256 bytes", "ledger.rs", "deny_reorders"] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
        moved().unwrap();
    }
}
