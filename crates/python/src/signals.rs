//! Ctrl-C during long calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::{Failure, Outcome, is_ending};

/// How often a long call asks whether a signal came.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// The signals of one call. Only the main thread gets them; elsewhere asking costs a lock and finds none.
#[derive(Clone)]
pub(crate) struct Signals(Arc<Mutex<State>>);

struct State {
    last: Instant,
    /// What a handler raised. From then on the call is to end.
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Signals {
        Signals(Arc::new(Mutex::new(State { last: Instant::now(), raised: None })))
    }

    /// Whether the call is to end. Runs the handlers of signals that came.
    pub(crate) fn stop(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.raised.is_none() && state.last.elapsed() >= ASK_EVERY {
            state.last = Instant::now();
            state.raised = Python::attach(|py| py.check_signals()).err();
        }
        state.raised.is_some() || is_ending()
    }

    /// The result of the call, or what a handler raised: it is never lost, even if the call has ended in another way.
    pub(crate) fn end<T>(&self, result: Outcome<T>) -> Outcome<T> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).raised.take() {
            Some(raised) => Err(Failure::Raised(raised)),
            None => result,
        }
    }
}
