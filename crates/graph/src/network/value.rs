//! `Value`: what the nodes of a graph take and give, at known sizes.

use std::sync::Arc;

use super::TensorId;
use crate::constant::{Constant, ElementType, Integer};

/// A value at known sizes: a constant, or a tensor that a run computes.
#[derive(Clone, Debug)]
pub struct Value(pub(crate) Kind);

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Constant(Arc<Constant>),
    Tensor { id: TensorId, dims: Vec<usize>, of: ElementType },
}

impl From<Constant> for Value {
    fn from(constant: Constant) -> Value {
        Value(Kind::Constant(Arc::new(constant)))
    }
}

impl From<Arc<Constant>> for Value {
    fn from(constant: Arc<Constant>) -> Value {
        Value(Kind::Constant(constant))
    }
}

impl Value {
    /// Sizes.
    pub fn dims(&self) -> &[usize] {
        match &self.0 {
            Kind::Constant(c) => c.dims(),
            Kind::Tensor { dims, .. } => dims,
        }
    }

    /// How many axes it has.
    pub fn rank(&self) -> usize {
        self.dims().len()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.dims().iter().product()
    }

    /// The type of its elements.
    pub fn element_type(&self) -> ElementType {
        match &self.0 {
            Kind::Constant(c) => c.element_type(),
            Kind::Tensor { of, .. } => *of,
        }
    }

    /// The constant, unless a run computes it.
    pub fn constant(&self) -> Option<&Constant> {
        match &self.0 {
            Kind::Constant(c) => Some(c),
            Kind::Tensor { .. } => None,
        }
    }

    /// Its integers, if it is a constant of integers.
    pub fn ints(&self) -> Option<&[i64]> {
        self.constant().and_then(Constant::as_ints)
    }

    /// The same u8 as Booleans, for a result of a program's own operator: the library cannot know that it is 0 and 1. Other
    /// values stay as they are.
    pub fn with_booleans(self) -> Value {
        Value(match self.0 {
            Kind::Tensor { id, dims, of: ElementType::Byte } => {
                Kind::Tensor { id, dims, of: ElementType::Bool }
            }
            other => other,
        })
    }

    /// The same integers as a value of another type of integers. They must fit into it. Other values stay as they are.
    pub fn with_integers(self, of: Integer) -> Value {
        Value(match self.0 {
            Kind::Tensor { id, dims, of: ElementType::Int(_) } => {
                Kind::Tensor { id, dims, of: ElementType::Int(of) }
            }
            Kind::Constant(c) => Kind::Constant(match &*c {
                Constant::Int { of: own, .. } if *own != of => Arc::new(match Arc::unwrap_or_clone(c) {
                    Constant::Int { dims, values, .. } => Constant::Int { of, dims, values },
                    other => other,
                }),
                _ => c,
            }),
            other => other,
        })
    }
}
