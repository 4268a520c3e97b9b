//! The scopes that are open on each thread, and [`Scope`], a scope as a value.

use crate::error::{Door, Rust};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::ThreadId;

use super::Ledger;

/// A scope that is open on this thread.
struct Open {
    id: u64,
    what: What,
    /// Set when its [`Scope`] was dropped or refused: it closes as soon as it is the innermost one. `None` for closures.
    abandoned: Option<Arc<AtomicBool>>,
}

enum What {
    Record(Ledger),
    /// How many more reorders the scopes around it allow, and how many it allows itself.
    Budget {
        outer: Option<usize>,
        given: usize,
        /// Whether it is a `deny_reorders`. Errors then do not speak of a budget.
        denies: bool,
    },
}

impl What {
    fn name(&self) -> &'static str {
        match self {
            What::Record(_) => "record",
            What::Budget { denies: true, .. } => "deny_reorders",
            What::Budget { .. } => "budget",
        }
    }
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static RECORDING: Cell<bool> = const { Cell::new(false) };
    /// How many more reorders are allowed; `None` for no limit.
    static ALLOWED: Cell<Option<usize>> = const { Cell::new(None) };
}

#[inline]
pub(super) fn is_recording() -> bool {
    RECORDING.get()
}

/// How many more reorders are allowed on this thread, after scopes that nobody holds are closed.
pub(super) fn allowed() -> Option<usize> {
    if ALLOWED.get() == Some(0) {
        sweep();
    }
    ALLOWED.get()
}

/// Whether a scope of this thread allows no reorder at all.
pub(super) fn denied() -> bool {
    OPEN.with_borrow(|open| open.iter().any(|o| matches!(o.what, What::Budget { denies: true, .. })))
}

pub(super) fn spend() {
    ALLOWED.set(ALLOWED.get().map(|n| n.saturating_sub(1)));
}

#[inline]
pub(super) fn is_watching() -> bool {
    RECORDING.get() || ALLOWED.get().is_some()
}

/// Calls `f` with the innermost ledger.
pub(super) fn note(f: impl FnOnce(&mut Ledger)) {
    OPEN.with_borrow_mut(|open| {
        let ledgers = open.iter_mut().rev();
        let mut ledgers =
            ledgers.filter_map(|o| if let What::Record(l) = &mut o.what { Some(l) } else { None });
        if let Some(ledger) = ledgers.next() {
            f(ledger);
        }
    });
}

fn recording() -> What {
    What::Record(Ledger::default())
}

/// A budget of this many reorders; `None` is `deny_reorders`.
fn budget(reorders: Option<usize>) -> What {
    let (outer, own) = (ALLOWED.get(), reorders.unwrap_or(0));
    What::Budget { outer, given: outer.map_or(own, |o| o.min(own)), denies: reorders.is_none() }
}

fn push(what: What, abandoned: Option<Arc<AtomicBool>>) -> u64 {
    match &what {
        What::Record(_) => RECORDING.set(true),
        What::Budget { given, .. } => ALLOWED.set(Some(*given)),
    }
    let id = NEXT.replace(NEXT.get() + 1);
    OPEN.with_borrow_mut(|open| open.push(Open { id, what, abandoned }));
    id
}

/// Closes the innermost scope, and returns what it recorded.
fn pop() -> Ledger {
    OPEN.with_borrow_mut(|open| match open.pop().map(|o| o.what) {
        Some(What::Record(inner)) => {
            let mut ledgers = open.iter_mut().rev();
            let outer = ledgers.find_map(|o| if let What::Record(l) = &mut o.what { Some(l) } else { None });
            RECORDING.set(outer.is_some());
            if let Some(outer) = outer {
                outer.reorders.extend(inner.reorders.iter().cloned());
                outer.runs.extend(inner.runs.iter().cloned());
                outer.layout_changes.extend(inner.layout_changes.iter().cloned());
            }
            inner
        }
        Some(What::Budget { outer, given, .. }) => {
            let spent = given - ALLOWED.get().unwrap_or(0).min(given);
            ALLOWED.set(outer.map(|o| o.saturating_sub(spent)));
            Ledger::default()
        }
        None => Ledger::default(),
    })
}

/// Closes the innermost scopes that were abandoned.
fn sweep() {
    let is_abandoned = |o: &Open| o.abandoned.as_ref().is_some_and(|a| a.load(Relaxed));
    // In a destructor of a thread that is ending there may be no list any more.
    while OPEN.try_with(|open| open.borrow().last().is_some_and(is_abandoned)) == Ok(true) {
        pop();
    }
}

/// A scope for the length of a closure. It closes scopes that the closure left open.
pub(super) struct Within(u64);

impl Within {
    pub(super) fn record() -> Within {
        sweep();
        Within(push(recording(), None))
    }

    pub(super) fn budget(reorders: Option<usize>) -> Within {
        sweep();
        Within(push(budget(reorders), None))
    }

    pub(super) fn leave(self) -> Ledger {
        let ledger = self.close();
        std::mem::forget(self);
        ledger
    }

    fn close(&self) -> Ledger {
        while OPEN.with_borrow(|open| open.last().is_some_and(|o| o.id > self.0)) {
            pop();
        }
        pop()
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        self.close();
    }
}

/// A scope of the ledger as a value, for callers that have no closure: other languages' `with` blocks. A scope is of the
/// thread that opened it, and scopes close in the opposite order.
///
/// One that is dropped, or that [`close`](Self::close) refuses, ends as soon as the scopes inside it have ended.
///
/// ```
/// use blocktensor::{Layout, MemoryFormat, StridedTensor, ledger::Scope};
/// let x = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous)?;
/// let mut scope = Scope::record();
/// x.to_blocked(&Layout::NCHW16C)?;
/// assert_eq!(scope.close()?.reorders.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scope {
    id: u64,
    name: &'static str,
    thread: ThreadId,
    abandoned: Arc<AtomicBool>,
}

/// Why a [`Scope`] could not be closed. What it recorded is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeError {
    /// Another thread had opened it.
    OtherThread {
        /// The scope.
        scope: &'static str,
    },
    /// A scope inside it is still open.
    OutOfOrder {
        /// The scope.
        scope: &'static str,
        /// The scope inside it.
        inner: &'static str,
    },
    /// A guard that opens a scope, such as that of a `with` in Python, was entered while its scope is open.
    Open {
        /// The scope.
        scope: &'static str,
    },
    /// It is not open any more: it was closed, or the closure around it has ended.
    Closed {
        /// The scope.
        scope: &'static str,
    },
}

impl ScopeError {
    /// The text of the error with the names of a door.
    pub fn told(&self, door: &dyn Door) -> String {
        let (scope, what) = match self {
            ScopeError::OtherThread { scope } => {
                (scope, "the scope was opened on another thread".to_string())
            }
            ScopeError::OutOfOrder { scope, inner } => {
                let inner = door.op(inner);
                let what = format!(
                    "a `{inner}` scope inside it is still open, such as that of a suspended generator"
                );
                (scope, what)
            }
            ScopeError::Open { scope } => (scope, "the scope is open already".to_string()),
            ScopeError::Closed { scope } => (scope, "the scope is not open any more".to_string()),
        };
        format!("`{}`: {what}; {}", door.op(scope), self.remedy())
    }

    /// What to do instead: the last part of the text.
    pub fn remedy(&self) -> &'static str {
        match self {
            ScopeError::OtherThread { .. } => {
                "a scope is of one thread: close it there, and open one for each thread"
            }
            ScopeError::OutOfOrder { .. } => {
                "close scopes in the opposite order: finish or close the generator first"
            }
            ScopeError::Open { .. } => "make a new one for each block",
            ScopeError::Closed { .. } => "close each scope once, inside of the scopes around it",
        }
    }
}

impl std::fmt::Display for ScopeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.told(&Rust))
    }
}

impl std::error::Error for ScopeError {}

impl Scope {
    /// Records, as [`record`](super::record) does.
    pub fn record() -> Scope {
        Scope::open(recording)
    }

    /// Allows this many reorders, as [`ReorderBudget`](super::ReorderBudget) does.
    pub fn budget(reorders: usize) -> Scope {
        Scope::open(|| budget(Some(reorders)))
    }

    /// Refuses every reorder, as [`deny_reorders`](super::deny_reorders) does.
    pub fn deny_reorders() -> Scope {
        Scope::open(|| budget(None))
    }

    fn open(what: impl FnOnce() -> What) -> Scope {
        sweep();
        let abandoned = Arc::new(AtomicBool::new(false));
        let what = what();
        let name = what.name();
        let id = push(what, Some(Arc::clone(&abandoned)));
        Scope { id, name, thread: std::thread::current().id(), abandoned }
    }

    /// Closes the scope, and returns what it recorded: nothing if it is a budget.
    ///
    /// # Errors
    /// [`ScopeError`] on another thread, while a scope inside it is open, and the second time.
    pub fn close(&mut self) -> Result<Ledger, ScopeError> {
        let scope = self.name;
        if std::thread::current().id() != self.thread {
            self.abandoned.store(true, Relaxed);
            return Err(ScopeError::OtherThread { scope });
        }
        sweep();
        let inner = OPEN.with_borrow(|open| {
            open.iter().any(|o| o.id == self.id).then(|| {
                let last = open.last().filter(|o| o.id != self.id);
                last.map(|o| o.what.name())
            })
        });
        match inner {
            None => Err(ScopeError::Closed { scope }),
            Some(Some(inner)) => {
                self.abandoned.store(true, Relaxed);
                Err(ScopeError::OutOfOrder { scope, inner })
            }
            Some(None) => {
                let ledger = pop();
                sweep();
                Ok(ledger)
            }
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.abandoned.store(true, Relaxed);
        if std::thread::current().id() == self.thread {
            sweep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{self, ReorderBudget};

    #[test]
    fn scopes_close_in_the_opposite_order_on_their_own_thread() {
        let mut outer = Scope::record();
        let mut inner = Scope::deny_reorders();
        assert_eq!(allowed(), Some(0));
        assert_eq!(
            outer.close().unwrap_err(),
            ScopeError::OutOfOrder { scope: "record", inner: "deny_reorders" }
        );
        assert!(ledger::is_recording(), "it ends with the scope inside it");
        inner.close().unwrap();
        assert!(!is_watching());
        assert_eq!(inner.close().unwrap_err(), ScopeError::Closed { scope: "deny_reorders" });

        assert_eq!(Scope::budget(0).name, "budget");
        let mut here = Scope::budget(2);
        let there = std::thread::scope(|s| s.spawn(|| here.close()).join().unwrap());
        assert_eq!(there.unwrap_err(), ScopeError::OtherThread { scope: "budget" });
        assert_eq!(Scope::record().name, "record");
        assert!(!is_watching(), "the next scope of its thread ends it");
    }

    #[test]
    fn a_closure_closes_what_was_left_open_in_it() {
        let mut left = None;
        ReorderBudget::at_most(3).run(|| left = Some(Scope::record()));
        assert!(!is_watching());
        assert_eq!(left.unwrap().close().unwrap_err(), ScopeError::Closed { scope: "record" });
        drop(Scope::budget(0));
        assert_eq!(allowed(), None);
    }
}
