//! How a caller ends a planning that has begun.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Asked between the parts of a planning, all of which are short: one node, one measurement, one step of a run.
#[derive(Clone, Default)]
pub(crate) struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    pub(crate) fn when(stop: impl Fn() -> bool + Send + Sync + 'static) -> Stop {
        Stop(Some(Arc::new(stop)))
    }

    /// `Stopped` if the caller wants no plan any more.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.0 {
            Some(stop) if stop() => Err(Error::Stopped),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Stop" } else { "never" })
    }
}
