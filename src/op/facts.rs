//! What is known of an op besides its signature. Planners ask for these facts, so that they need no lists of names.
//!
//! A fact stands where the op is defined, on its [`Schema`](super::Schema); what is true of one kernel stands on the
//! [`Kernel`](super::Kernel). Every fact is one that may be left out: a planner then runs the op as any other, which is slower
//! at worst.
//!
//! ```
//! use blocktensor::dispatch::{Sharing, op};
//! use blocktensor::{BoundOp, ParamValue};
//!
//! // What is known of an op, whatever its parameters are.
//! let facts = op("permute").unwrap().schema().facts;
//! assert_eq!(facts.sharing, Sharing::Always);
//!
//! // What depends on parameters or sizes is asked of the op with its parameters.
//! let clamp = BoundOp::new("clamp", &["x"], &[("min", 0.0.into()), ("max", 6.0.into())])?;
//! assert_eq!(clamp.post_op().as_deref(), Some("clip(0,6)"));
//! let linear = BoundOp::new("linear", &["x", "weights"], &[])?;
//! assert_eq!(linear.weights(), Some(1));
//! assert_eq!(linear.multiply_adds(&[&[8, 64], &[10, 64]], &[&[8, 10]]), Some(8 * 10 * 64));
//! # Ok::<(), blocktensor::Error>(())
//! ```
//!
//! Another crate states the facts of its ops in the same way:
//!
//! ```
//! use blocktensor::dispatch::{Schema, Sharing, schema};
//! // Each element of the result is a sum over the last axis of `a`.
//! static PRODUCT: Schema = Schema::new("scaled_product", &[schema::data("a"), schema::data("b").weights()])
//!     .multiply_adds(|of| of.result_elements() * of.input("a").last().copied().unwrap_or(1) as u64);
//! assert_eq!(PRODUCT.facts.sharing, Sharing::Never);
//! ```

/// The largest bias of an integer convolution: the whole number up to which f32 has them all.
pub const LARGEST_BIAS: f32 = 16_777_216.0;

/// The largest sum of the products of an integer convolution: as much as has 32 bits beside a bias.
pub const LARGEST_SUM: i32 = i32::MAX - LARGEST_BIAS as i32;

/// As many products of 8 bits have such a sum, whatever they are: the source's integer is at most 255 from its zero point.
pub const MOST_PRODUCTS: usize = LARGEST_SUM as usize / (255 * 128);

/// Facts about an op. Those of an op that states nothing are [`Facts::UNKNOWN`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// Whether the results share the storage of the first operand, where that is strided.
    pub sharing: Sharing,
    /// Whether each element of the result depends on the elements at its own place alone, after broadcasting.
    pub elementwise: bool,
    /// Whether the op only moves elements, whatever they stand for.
    pub movement: Movement,
    /// The parameter that names an axis along which the result is the operands, one after another.
    pub concatenates: Option<&'static str>,
    /// How constant weights are packed.
    pub packing: Option<Packing>,
    /// How many multiplications, each with its addition, a call takes.
    pub multiply_adds: Option<MultiplyAdds>,
    /// The word of the post-op that computes the same.
    pub post_op: Option<PostOpWord>,
    /// Why the op has no gradient, if it can have none: a sentence that names the op as "it".
    pub without_gradient: Option<&'static str>,
    /// Operands and results of an op with a gradient that have none, though they are numbers: nothing is differentiated by them.
    pub constants: &'static [&'static str],
    /// Whether the op draws numbers: equal elements of an operand may become different ones.
    pub draws: bool,
    /// Whether the result holds the same numbers in more memory, so that constants are better kept as the operand has them, for who can
    /// use that.
    pub inflates: bool,
}

impl Facts {
    /// Nothing is known.
    pub const UNKNOWN: Facts = Facts {
        sharing: Sharing::Never,
        elementwise: false,
        movement: Movement::Unknown,
        concatenates: None,
        packing: None,
        multiply_adds: None,
        post_op: None,
        without_gradient: None,
        constants: &[],
        draws: false,
        inflates: false,
    };
}

/// Whether an op's results share the storage of its first operand, where that is strided. Results for operands of other keys
/// have storage of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// They have storage of their own, or nothing is known.
    Never,
    /// They share it. A view that strides cannot express is an error.
    Always,
    /// They share that of a row-major operand. For others the op may copy.
    RowMajor,
}

impl Sharing {
    /// Whether the op is a view.
    pub const fn is_view(self) -> bool {
        !matches!(self, Sharing::Never)
    }
}

/// What the elements of the results are, if the op computes none of them: it gives the same for elements of another dtype that stand for
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Movement {
    /// The op computes, or nothing is known.
    Unknown,
    /// Each is an element of an operand.
    Elements,
    /// Each is an element of an operand, or 0.
    ElementsAndZeros,
    /// Each is an element of an operand, or the number that this parameter states.
    ElementsAnd(&'static str),
}

impl Movement {
    /// Whether the op is known to compute nothing.
    pub const fn moves(self) -> bool {
        !matches!(self, Movement::Unknown)
    }
}

/// How constant weights of an op are packed. [`WeightsPacker`](crate::WeightsPacker) packs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// As a convolution's: for the layout of the source, by one of several implementations.
    Conv,
    /// As a linear layer's `[O, K]`.
    Linear,
    /// The right factor `[K, N]` of a matrix product, which becomes a linear layer.
    Matrix,
}

/// What role an argument has beside the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsRole {
    /// What the op multiplies its data with. If it is constant it can be packed ahead.
    Weights,
    /// What is added to the result. It is packed together with the weights.
    Bias,
}

/// How many multiplications, each with its addition, a call takes, by the sizes of its tensors.
pub type MultiplyAdds = fn(&CallSizes<'_>) -> u64;

/// The word of the post-op that computes what the op does with these parameters; `None` if no post-op does. It gets a function
/// that reads a number among the parameters.
pub type PostOpWord = fn(number: &dyn Fn(&str) -> Option<f32>) -> Option<String>;

/// Sizes of the tensors of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallSizes<'a> {
    pub(crate) names: &'a [&'static str],
    pub(crate) inputs: &'a [&'a [usize]],
    pub(crate) results: &'a [&'a [usize]],
}

impl<'a> CallSizes<'a> {
    /// Sizes of the first input of this name; none if the call has no such input.
    pub fn input(&self, name: &str) -> &'a [usize] {
        let at = self.names.iter().position(|n| *n == name);
        at.and_then(|at| self.inputs.get(at)).copied().unwrap_or_default()
    }

    /// Sizes of the first result.
    pub fn result(&self) -> &'a [usize] {
        self.results.first().copied().unwrap_or_default()
    }

    /// The number of elements of the first result.
    pub fn result_elements(&self) -> u64 {
        elements(self.result())
    }
}

/// The number of elements of a tensor of these sizes.
pub(crate) fn elements(dims: &[usize]) -> u64 {
    dims.iter().fold(1, |n, &d| n.saturating_mul(d as u64))
}
