//! ONNX's ops, by family. Each file has a table: op, function, attributes that the function understands.

mod args;
mod broadcast;
mod build;
mod constant;
mod control;
mod conv;
mod einsum;
pub(crate) mod elementwise;
mod grid_sample;
pub(crate) mod indexing;
mod integer;
mod linear;
mod lines;
pub(crate) mod microsoft;
mod norm;
mod pad;
mod pool;
mod qlinear;
mod qoperator;
mod quantize;
pub(crate) mod reduce;
mod resize;
mod roi_align;
mod scatter;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod slice;
mod softmax;
mod sort;
mod trilu;
mod unary;

use crate::node::{Import, Kind};

pub(crate) use args::{axis_of, dims_of};
pub(crate) use constant::{MAX_GENERATED, check_constant, check_generated};

/// An op of ONNX's own operator set.
pub(crate) struct Op {
    pub name: &'static str,
    pub import: Import,
    /// The attributes that it understands, with their types.
    pub attributes: Attributes,
}

/// Names of attributes with their types.
type Attributes = &'static [(&'static str, Kind)];

const fn op(name: &'static str, import: Import, attributes: Attributes) -> Op {
    Op { name, import, attributes }
}

/// The attributes of both lists, which have `N` together.
const fn joined<const N: usize>(some: Attributes, others: Attributes) -> [(&'static str, Kind); N] {
    assert!(some.len() + others.len() == N, "the lists have another length");
    let (mut all, mut i) = ([("", Kind::Int); N], 0);
    while i < N {
        all[i] = if i < some.len() { some[i] } else { others[i - some.len()] };
        i += 1;
    }
    all
}

const FAMILIES: &[&[Op]] = &[
    broadcast::OPS,
    constant::OPS,
    control::OPS,
    conv::OPS,
    einsum::OPS,
    elementwise::OPS,
    grid_sample::OPS,
    indexing::OPS,
    integer::OPS,
    linear::OPS,
    norm::OPS,
    pad::OPS,
    pool::OPS,
    qlinear::OPS,
    quantize::OPS,
    reduce::OPS,
    resize::OPS,
    roi_align::OPS,
    scatter::OPS,
    shape::OPS,
    slice::OPS,
    softmax::OPS,
    sort::OPS,
    trilu::OPS,
    unary::OPS,
];

/// The op of this name.
pub(crate) fn find(name: &str) -> Option<&'static Op> {
    FAMILIES.iter().flat_map(|family| family.iter()).find(|op| op.name == name)
}

/// The op of this name in the domain [`microsoft::DOMAIN`].
pub(crate) fn find_microsoft(name: &str) -> Option<&'static Op> {
    microsoft::OPS.iter().chain(qoperator::OPS).find(|op| op.name == name)
}

#[cfg(test)]
fn all() -> impl Iterator<Item = &'static Op> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_op_is_listed_once() {
        let mut names: Vec<&str> = super::all().map(|op| op.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
