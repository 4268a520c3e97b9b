//! Sizes that are numbers or names.

use blocktensor::{Call, Complaint, DType, MemoryFormat, TensorDesc, Text};
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

/// Why a tensor's sizes are not those of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It has another number of axes.
    Rank,
    /// The size of this axis is another.
    Axis(usize),
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

    /// The number of a size, if it has one.
    pub fn number(&self, dim: &Dim) -> Option<usize> {
        match dim {
            Dim::Size(size) => Some(*size),
            Dim::Named(name) => self.0.get(name).copied(),
        }
    }

    /// Takes the numbers of names from a tensor's sizes.
    ///
    /// # Errors
    /// The first axis that is another than the model's or than a name's number. The names before it keep the numbers that they got.
    pub fn take(&mut self, dims: &[Dim], given: &[usize]) -> Result<(), Misfit> {
        if dims.len() != given.len() {
            return Err(Misfit::Rank);
        }
        for (axis, (dim, &size)) in dims.iter().zip(given).enumerate() {
            match (self.number(dim), dim) {
                (None, Dim::Named(name)) => {
                    self.0.insert(name.clone(), size);
                }
                (number, _) if number == Some(size) => {}
                _ => return Err(Misfit::Axis(axis)),
            }
        }
        Ok(())
    }

    /// The sizes of an input as numbers, whose elements a tensor can have.
    pub(crate) fn resolve(&self, input: &str, dims: &[Dim]) -> Result<Vec<usize>> {
        let sizes: Vec<usize> = dims
            .iter()
            .map(|dim| {
                self.number(dim).ok_or_else(|| Error::Invalid {
                    what: format!("input `{input}`"),
                    got: format!("the size `{dim}` without a number"),
                    rule: "a plan is made for sizes that are numbers".into(),
                    remedy: Text::from("give it one: ") + Call::PlanSize(dim.to_string()),
                })
            })
            .collect::<Result<_>>()?;
        let desc = TensorDesc::strided(&sizes, DType::F32, MemoryFormat::Contiguous);
        if let Err(blocktensor::Error::Overflow(_)) = desc {
            let (got, rule) = (format!("{sizes:?} of input `{input}`"), "no memory has so many elements");
            let complaint = Complaint::new("plan", "sizes", got, rule, "give this input smaller sizes");
            return Err(blocktensor::Error::Overflow(complaint).into());
        }
        Ok(sizes)
    }
}
