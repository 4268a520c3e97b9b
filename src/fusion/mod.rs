//! Several ops of a graph as one operator, with any number of packed weights: for planners.
//!
//! A planner describes a part of its graph, a [`Region`], and asks each [`Fusion`] whether it computes that part as one. If so, the
//! planner packs the weights that the fusion names, and gets an [`Operator`] for them: it takes what comes from outside, and
//! computes what the last op does. Nothing between the ops exists in memory.
//!
//! ```
//! use blocktensor::fusion::{Fusion, Region, RegionInput, RegionNode, RegionTensor};
//! use blocktensor::{BoundOp, DType, MemoryFormat, Operand, StridedTensor, Tensor, WeightsPacker};
//!
//! let (linear, relu) = (BoundOp::new("linear", &["x", "weights"], &[])?, BoundOp::new("relu", &["x"], &[])?);
//! let w = StridedTensor::full(&[10, 64], -0.5f32, MemoryFormat::Contiguous)?;
//! let x = StridedTensor::full(&[8, 64], 1f32, MemoryFormat::Contiguous)?;
//! let outside = |dims, constant| RegionTensor { dims, dtype: DType::F32, constant };
//! let region = Region {
//!     nodes: vec![
//!         RegionNode { op: &linear, inputs: vec![RegionInput::Outside(0), RegionInput::Outside(1)], dims: &[8, 10], dtype: DType::F32 },
//!         RegionNode { op: &relu, inputs: vec![RegionInput::Node(0)], dims: &[8, 10], dtype: DType::F32 },
//!     ],
//!     outside: vec![outside(x.dims(), None), outside(w.dims(), Some(&w))],
//! };
//!
//! let fusion = Fusion::all().find(|fusion| fusion.fit(&region).whole).expect("a way to compute both");
//! let packer = WeightsPacker::new(&linear, x.dims(), &[None, Some(&w)]).expect("constant weights");
//! let weights = packer.pack_for(&blocktensor::TensorDesc::of(x.tensor_ref()))?;
//! let both = fusion.bind(&region, &[Some(weights.into()), None])?;
//! assert_eq!(fusion.operands(&region), [0]);
//! let results = both.run(&[x.tensor_ref()])?;
//! let Tensor::Strided(y) = &results[0] else { unreachable!("linear is strided") };
//! assert_eq!(y.to_vec::<f32>()?, [0.0; 80]);
//! # Ok::<(), blocktensor::Error>(())
//! ```

mod linear;

use std::fmt;
use std::sync::Arc;

use crate::dtype::DType;
use crate::error::Result;
use crate::layout::memory_format::MemoryFormat;
use crate::operator::{BoundOp, Operator};
use crate::pack::PackedOp;
use crate::tensor::desc::TensorDesc;
use crate::tensor::strided::StridedTensor;

/// A part of a graph that may be computed as one. Only the result of the last node is used outside of it.
#[derive(Clone, Debug, Default)]
pub struct Region<'a> {
    /// The ops, in an order in which they can run.
    pub nodes: Vec<RegionNode<'a>>,
    /// The tensors that they take from outside, each once.
    pub outside: Vec<RegionTensor<'a>>,
}

/// An op of a [`Region`]. It has one result.
#[derive(Clone, Debug)]
pub struct RegionNode<'a> {
    /// The op with its parameters.
    pub op: &'a BoundOp,
    /// Where each of its inputs comes from.
    pub inputs: Vec<RegionInput>,
    /// Sizes of the result.
    pub dims: &'a [usize],
    /// The type of the result's elements.
    pub dtype: DType,
}

/// Where an input of a [`RegionNode`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionInput {
    /// It is this one of [`Region::outside`].
    Outside(usize),
    /// It is the result of this one of [`Region::nodes`].
    Node(usize),
}

/// A tensor that a [`Region`] takes from outside.
#[derive(Clone, Copy, Debug)]
pub struct RegionTensor<'a> {
    /// Sizes.
    pub dims: &'a [usize],
    /// The type of its elements.
    pub dtype: DType,
    /// Its elements, if they are constant.
    pub constant: Option<&'a StridedTensor>,
}

impl<'a> Region<'a> {
    /// Sizes of an input.
    pub fn dims(&self, input: RegionInput) -> &'a [usize] {
        match input {
            RegionInput::Outside(i) => self.outside[i].dims,
            RegionInput::Node(i) => self.nodes[i].dims,
        }
    }

    /// The elements of an input of a node, if they are constant.
    fn constant(&self, node: usize, input: usize) -> Option<&'a StridedTensor> {
        match self.nodes[node].inputs.get(input)? {
            RegionInput::Outside(i) => self.outside[*i].constant,
            RegionInput::Node(_) => None,
        }
    }
}

/// What a [`Fusion`] makes of a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Whether it computes the region as one.
    pub whole: bool,
    /// Whether it may compute a region that begins with these nodes and goes on.
    pub more: bool,
}

impl Fit {
    /// Neither.
    pub const NO: Fit = Fit { whole: false, more: false };
}

/// The orders of a region's tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionLayouts {
    /// Of what comes from outside.
    pub outside: Vec<TensorDesc>,
    /// Of each node's result. Where that stays inside, it is the order that packed weights are made for.
    pub nodes: Vec<TensorDesc>,
}

/// A way to compute several ops as one.
trait Way: Sync {
    /// Its name, in files too.
    fn name(&self) -> &'static str;

    /// Whether results may differ from those of the ops one by one, by rounding.
    fn rounds_otherwise(&self) -> bool {
        false
    }

    /// Whether it computes this. Elements of constants do not decide it: a saved plan does not have them.
    fn fit(&self, region: &Region<'_>) -> Fit;

    /// The nodes whose weights it takes packed, as the nodes alone do.
    fn weights(&self, region: &Region<'_>) -> Vec<usize>;

    /// The orders in which it takes and makes tensors, in a plan that would like them as `target` says.
    fn layouts(&self, region: &Region<'_>, target: &RegionLayouts) -> Result<RegionLayouts>;

    /// The operator. `packed` has the weights of each node that [`weights`](Self::weights) names.
    fn bind(&self, region: &Region<'_>, packed: &[Option<Arc<PackedOp>>]) -> Result<Arc<dyn Operator>>;
}

/// Every way, in the order in which planners try them.
static ALL: [&dyn Way; 1] = [&linear::LinearEpilogue];

/// A way to compute several ops as one operator.
#[derive(Clone, Copy)]
pub struct Fusion(&'static dyn Way);

impl Fusion {
    /// Every way, in the order in which a planner tries them.
    pub fn all() -> impl Iterator<Item = Fusion> {
        ALL.iter().map(|way| Fusion(*way))
    }

    /// The way of this name.
    pub fn named(name: &str) -> Option<Fusion> {
        Fusion::all().find(|way| way.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Whether results may differ from those of the ops one by one, by rounding.
    pub fn rounds_otherwise(self) -> bool {
        self.0.rounds_otherwise()
    }

    /// Whether it computes the region, or may compute a larger one.
    pub fn fit(self, region: &Region<'_>) -> Fit {
        match region.nodes.is_empty() {
            true => Fit::NO,
            false => self.0.fit(region),
        }
    }

    /// The nodes whose weights, and bias, it takes packed.
    pub fn weights(self, region: &Region<'_>) -> Vec<usize> {
        self.0.weights(region)
    }

    /// The tensors from outside that a run takes, in its order: those that are not in packed weights.
    pub fn operands(self, region: &Region<'_>) -> Vec<usize> {
        let packed = self.weights(region);
        let mut operands = Vec::new();
        for (n, node) in region.nodes.iter().enumerate() {
            let kept = match packed.contains(&n) {
                true => node.op.inputs_beside_weights(),
                false => (0..node.inputs.len()).collect(),
            };
            for input in kept.into_iter().filter_map(|i| node.inputs.get(i)) {
                if let RegionInput::Outside(i) = input
                    && !operands.contains(i)
                {
                    operands.push(*i);
                }
            }
        }
        operands
    }

    /// The orders in which it takes and makes tensors, in a plan that would like them as `target` says.
    ///
    /// # Errors
    /// Those that the ops have for such sizes.
    pub fn layouts(self, region: &Region<'_>, target: &RegionLayouts) -> Result<RegionLayouts> {
        self.0.layouts(region, target)
    }

    /// The operator. `packed` has for each node its packed weights, if the fusion [takes them](Self::weights). The operator's
    /// inputs are [`operands`](Self::operands).
    ///
    /// # Errors
    /// `InvalidArgument` for a region that does not fit, and for weights of another kind; those of the ops.
    pub fn bind(self, region: &Region<'_>, packed: &[Option<Arc<PackedOp>>]) -> Result<Arc<dyn Operator>> {
        self.0.bind(region, packed)
    }
}

impl fmt::Debug for Fusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fusion {{ {} }}", self.name())
    }
}

impl PartialEq for Fusion {
    fn eq(&self, other: &Fusion) -> bool {
        self.name() == other.name()
    }
}

/// All tensors row-major.
fn row_major(region: &Region<'_>) -> Result<RegionLayouts> {
    let plain = |dims: &[usize], dtype| TensorDesc::strided(dims, dtype, MemoryFormat::Contiguous);
    Ok(RegionLayouts {
        outside: region.outside.iter().map(|t| plain(t.dims, t.dtype)).collect::<Result<_>>()?,
        nodes: region.nodes.iter().map(|n| plain(n.dims, n.dtype)).collect::<Result<_>>()?,
    })
}
