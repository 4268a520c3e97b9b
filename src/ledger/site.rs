//! The origin of a call: a line of Rust or of another language, a node of a graph, or a function of a foreign interface.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The origin of a call, as records and errors print it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Site {
    /// A line of a Rust program.
    Rust(&'static Location<'static>),
    /// A node of a graph, by name.
    Node(Arc<str>),
    /// A function of a foreign interface, by name: of the C library, or of a binding.
    Foreign(&'static str),
    /// A line of a program in another language: `model.py:12`.
    Line(Arc<str>),
}

impl Site {
    /// File and line, if it is a line of Rust.
    pub fn location(&self) -> Option<&'static Location<'static>> {
        match self {
            Site::Rust(location) => Some(location),
            _ => None,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Rust(location) => write!(f, "{location}"),
            Site::Node(name) => write!(f, "node `{name}`"),
            Site::Foreign(name) => write!(f, "a foreign call of `{name}`"),
            Site::Line(line) => write!(f, "{line}"),
        }
    }
}

thread_local! {
    /// The site of the innermost [`at`] scope.
    static CURRENT: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// Runs `f`. Its reorders on this thread are attributed to `site` instead of the line of Rust that calls the op. For
/// executors of graphs, and for bindings to other languages. The innermost scope applies.
///
/// ```
/// use blocktensor::{Layout, MemoryFormat, StridedTensor, ledger};
/// let x = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous)?;
/// let node = ledger::Site::Node("conv1/reorder".into());
/// let (_, book) = ledger::record(|| ledger::at(node.clone(), || x.to_blocked(&Layout::NCHW16C)));
/// assert_eq!(book.reorders[0].site, node);
/// # Ok::<(), blocktensor::Error>(())
/// ```
pub fn at<R>(site: Site, f: impl FnOnce() -> R) -> R {
    struct Leave(Option<Site>);
    impl Drop for Leave {
        fn drop(&mut self) {
            let _ = CURRENT.try_with(|current| current.replace(self.0.take()));
        }
    }
    // In a destructor of a thread that is ending there may be no place for it any more.
    let Ok(outer) = CURRENT.try_with(|current| current.replace(Some(site))) else { return f() };
    let _leave = Leave(outer);
    f()
}

/// The site of the innermost scope, otherwise the line of Rust.
pub(super) fn current(location: &'static Location<'static>) -> Site {
    let named = CURRENT.try_with(|current| current.borrow().clone()).ok().flatten();
    named.unwrap_or(Site::Rust(location))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_close_even_when_the_caller_panics() {
        let here = Location::caller();
        assert_eq!(current(here), Site::Rust(here));
        at(Site::Foreign("outer"), || {
            at(Site::Node("inner".into()), || assert_eq!(current(here).to_string(), "node `inner`"));
            let caught =
                std::panic::catch_unwind(|| at(Site::Foreign("gone"), || panic!("a caller's panic")));
            assert!(caught.is_err());
            assert_eq!(current(here), Site::Foreign("outer"));
        });
        assert_eq!(current(here).location(), Some(here));
    }
}
