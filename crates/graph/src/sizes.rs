//! Sizes that are numbers or names.

use blocktensor::{Call, Text};
use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Error, Result};

/// One size of a graph's input: a number, or a name that gets its number when the graph is planned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number of elements.
    Size(usize),
    /// A name, such as `batch`.
    Named(String),
}

impl From<usize> for Dim {
    fn from(size: usize) -> Dim {
        Dim::Size(size)
    }
}

impl From<&str> for Dim {
    fn from(name: &str) -> Dim {
        Dim::Named(name.to_string())
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Size(size) => size.fmt(f),
            Dim::Named(name) => f.write_str(name),
        }
    }
}

/// Numbers for the names among a graph's sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sizes(BTreeMap<String, usize>);

impl Sizes {
    /// No names.
    pub fn new() -> Sizes {
        Sizes::default()
    }

    /// The same with a number for one more name.
    pub fn with(mut self, name: &str, size: usize) -> Sizes {
        self.0.insert(name.to_string(), size);
        self
    }

    /// The names and their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, size)| (name.as_str(), *size))
    }

    /// The sizes of an input as numbers.
    pub(crate) fn resolve(&self, input: &str, dims: &[Dim]) -> Result<Vec<usize>> {
        dims.iter()
            .map(|dim| match dim {
                Dim::Size(size) => Ok(*size),
                Dim::Named(name) => self.0.get(name).copied().ok_or_else(|| Error::Invalid {
                    what: format!("input `{input}`"),
                    got: format!("the size `{name}` without a number"),
                    rule: "a plan is made for sizes that are numbers".into(),
                    remedy: Text::from("give it one: ") + Call::PlanSize(name.to_string()),
                }),
            })
            .collect()
    }
}
