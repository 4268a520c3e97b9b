//! Parameters of convolutions, transposed or not: one builder for both.

use std::marker::PhantomData;

use crate::error::Result;
use crate::kernels::conv::{Algorithm, ConvNumbers, ConvParams};
use crate::layout::dims::{Dims, ToDims};
use crate::op::Value;
use crate::post_ops::{Activation, PostOp, PostOps};

/// Which of the two convolutions parameters and packed weights are for: [`Forward`] or [`Transposed`].
pub trait Direction: Clone + std::fmt::Debug + Eq + std::hash::Hash + Send + Sync + sealed::Sealed {
    /// Whether it is the transposed one.
    const TRANSPOSED: bool;
}

/// An ordinary convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forward;

/// A transposed convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transposed;

impl Direction for Forward {
    const TRANSPOSED: bool = false;
}

impl Direction for Transposed {
    const TRANSPOSED: bool = true;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Forward {}
    impl Sealed for super::Transposed {}
}

/// Parameters of a convolution with `N` spatial dimensions. The default is stride 1, no padding, no dilation, one
/// group, no post-ops. They print, compare, hash and serialise by the names and values of the op's schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv<const N: usize, D: Direction = Forward> {
    params: ConvParams,
    direction: PhantomData<D>,
}

/// Parameters of [`conv1d`](crate::ops::conv::conv1d).
pub type Conv1d = Conv<1>;
/// Parameters of [`conv2d`](crate::ops::conv::conv2d).
pub type Conv2d = Conv<2>;
/// Parameters of [`conv3d`](crate::ops::conv::conv3d).
pub type Conv3d = Conv<3>;

/// Parameters of a transposed convolution with `N` spatial dimensions.
pub type ConvTranspose<const N: usize> = Conv<N, Transposed>;
/// Parameters of [`conv_transpose1d`](crate::ops::conv::conv_transpose1d).
pub type ConvTranspose1d = ConvTranspose<1>;
/// Parameters of [`conv_transpose2d`](crate::ops::conv::conv_transpose2d).
pub type ConvTranspose2d = ConvTranspose<2>;
/// Parameters of [`conv_transpose3d`](crate::ops::conv::conv_transpose3d).
pub type ConvTranspose3d = ConvTranspose<3>;

impl<const N: usize, D: Direction> Default for Conv<N, D> {
    fn default() -> Self {
        let params = ConvParams {
            stride: Dims::filled(1, N),
            padding: Dims::filled(0, 2 * N),
            dilation: Dims::filled(1, N),
            groups: 1,
            post_ops: PostOps::new(),
            allow_reference: false,
            algorithm: Algorithm::Direct,
            x_zero_point: 0,
            output_padding: Dims::filled(0, N),
        };
        Conv { params, direction: PhantomData }
    }
}

impl<const N: usize, D: Direction> std::fmt::Display for Conv<N, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.params.fmt(f)
    }
}

impl<const N: usize, D: Direction> serde::Serialize for Conv<N, D> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.params.serialize(serializer)
    }
}

impl<'de, const N: usize, D: Direction> serde::Deserialize<'de> for Conv<N, D> {
    fn deserialize<De: serde::Deserializer<'de>>(deserializer: De) -> std::result::Result<Self, De::Error> {
        let params = ConvParams::deserialize(deserializer)?;
        Conv::of_params(op_name::<N, D>(), params).map_err(serde::de::Error::custom)
    }
}

/// Name of the op that the parameters are of.
fn op_name<const N: usize, D: Direction>() -> &'static str {
    super::op_of(N, D::TRANSPOSED).schema().name
}

impl<const N: usize> ConvTranspose<N> {
    /// The same output padding along every axis.
    pub fn output_padding(self, output_padding: usize) -> Self {
        self.output_paddings([output_padding; N])
    }

    /// Elements that each axis of the result is longer at its end, of the sizes that a stride leaves open. Smaller
    /// than the stride or the dilation.
    pub fn output_paddings(mut self, output_padding: [usize; N]) -> Self {
        self.params.output_padding = Dims::from_slice(&output_padding);
        self
    }
}

impl<const N: usize, D: Direction> Conv<N, D> {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same stride along every axis.
    pub fn stride(self, stride: usize) -> Self {
        self.strides([stride; N])
    }

    /// A stride for each axis.
    pub fn strides(mut self, stride: [usize; N]) -> Self {
        self.params.stride = Dims::from_slice(&stride);
        self
    }

    /// The same padding on every side, in elements.
    pub fn padding(self, padding: usize) -> Self {
        self.paddings([padding; N], [padding; N])
    }

    /// Padding before and after each axis, in elements. That of a transposed convolution is cut off the result.
    pub fn paddings(mut self, begin: [usize; N], end: [usize; N]) -> Self {
        self.params.padding = begin.iter().chain(&end).copied().to_dims();
        self
    }

    /// The same dilation along every axis; 1 is dense, as in PyTorch.
    pub fn dilation(self, dilation: usize) -> Self {
        self.dilations([dilation; N])
    }

    /// A dilation for each axis.
    pub fn dilations(mut self, dilation: [usize; N]) -> Self {
        self.params.dilation = Dims::from_slice(&dilation);
        self
    }

    /// Number of groups; as many as input channels is a depthwise convolution.
    pub fn groups(mut self, groups: usize) -> Self {
        self.params.groups = groups;
        self
    }

    /// Appends a post-op. Their order is the order of work.
    pub fn post_op(mut self, op: PostOp) -> Self {
        self.params.post_ops = self.params.post_ops.then(op);
        self
    }

    /// Appends a fused activation.
    pub fn activation(self, activation: Activation) -> Self {
        self.post_op(PostOp::Activation(activation))
    }

    /// Appends a fused relu.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }

    /// Appends the addition of the `residual` operand.
    pub fn residual(self) -> Self {
        self.post_op(PostOp::Residual)
    }

    /// Lets oneDNN's reference implementation run where it has no other: hundreds of times slower, and in the
    /// ledger by its name `ref`.
    pub fn allow_reference(mut self) -> Self {
        self.params.allow_reference = true;
        self
    }

    /// How it is computed. The default is [`Algorithm::Direct`].
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.params.algorithm = algorithm;
        self
    }

    /// Of a source of u8 or s8: the integer that stands for 0, of which the padding is too. The default is 0.
    pub fn x_zero_point(mut self, zero_point: i64) -> Self {
        self.params.x_zero_point = zero_point;
        self
    }

    /// Parameters of these names and values, as a call by name takes them. What is left out has its default.
    ///
    /// ```
    /// use blocktensor::ops::Conv2d;
    /// let same = Conv2d::from_values(&[("padding", 1i64.into()), ("post_ops", "relu".into())])?;
    /// assert_eq!(same, Conv2d::new().padding(1).relu());
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not there, a value of another kind, or another number of values than of spatial
    /// dimensions.
    pub fn from_values(values: &[(&str, Value)]) -> Result<Self> {
        let op = op_name::<N, D>();
        Conv::of_params(op, ConvParams::from_values(op, values)?)
    }

    /// The same parameters with one value for each dimension and side.
    pub(crate) fn of_params(op: &'static str, params: ConvParams) -> Result<Self> {
        let numbers = params.numbers(op, N, true)?;
        let ConvNumbers { stride, padding, dilation, groups, transposed, .. } = numbers;
        let output_padding = transposed.unwrap_or(Dims::filled(0, N));
        let params = ConvParams { stride, padding, dilation, groups, output_padding, ..params };
        Ok(Conv { params, direction: PhantomData })
    }

    pub(crate) fn params(&self) -> &ConvParams {
        &self.params
    }
}
