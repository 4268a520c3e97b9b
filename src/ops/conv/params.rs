//! Parameters of convolutions, transposed or not: one builder for both.

use std::marker::PhantomData;

use crate::error::Result;
use crate::kernels::conv::ConvNumbers;
use crate::layout::dims::{Dims, ToDims};
use crate::post_ops::{Activation, PostOp, PostOps};

/// Which of the two convolutions parameters and packed weights are for: [`Forward`] or [`Transposed`].
pub trait Direction: Clone + std::fmt::Debug + PartialEq + Send + Sync + sealed::Sealed {
    /// Whether it is the transposed one.
    const TRANSPOSED: bool;
}

/// An ordinary convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward;

/// A transposed convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
/// group, no post-ops.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv<const N: usize, D: Direction = Forward> {
    stride: [usize; N],
    padding_begin: [usize; N],
    padding_end: [usize; N],
    dilation: [usize; N],
    groups: usize,
    post_ops: String,
    allow_reference: bool,
    output_padding: [usize; N],
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
        Conv {
            stride: [1; N],
            padding_begin: [0; N],
            padding_end: [0; N],
            dilation: [1; N],
            groups: 1,
            post_ops: String::new(),
            allow_reference: false,
            output_padding: [0; N],
            direction: PhantomData,
        }
    }
}

impl<const N: usize> ConvTranspose<N> {
    /// The same output padding along every axis.
    pub fn output_padding(self, output_padding: usize) -> Self {
        self.output_paddings([output_padding; N])
    }

    /// Elements that each axis of the result is longer at its end, of the sizes that a stride leaves open. Smaller
    /// than the stride or the dilation.
    pub fn output_paddings(mut self, output_padding: [usize; N]) -> Self {
        self.output_padding = output_padding;
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
        self.stride = stride;
        self
    }

    /// The same padding on every side, in elements.
    pub fn padding(self, padding: usize) -> Self {
        self.paddings([padding; N], [padding; N])
    }

    /// Padding before and after each axis, in elements. That of a transposed convolution is cut off the result.
    pub fn paddings(mut self, begin: [usize; N], end: [usize; N]) -> Self {
        self.padding_begin = begin;
        self.padding_end = end;
        self
    }

    /// The same dilation along every axis; 1 is dense, as in PyTorch.
    pub fn dilation(self, dilation: usize) -> Self {
        self.dilations([dilation; N])
    }

    /// A dilation for each axis.
    pub fn dilations(mut self, dilation: [usize; N]) -> Self {
        self.dilation = dilation;
        self
    }

    /// Number of groups; as many as input channels is a depthwise convolution.
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Appends a post-op. Their order is the order of work.
    pub fn post_op(mut self, op: PostOp) -> Self {
        if !self.post_ops.is_empty() {
            self.post_ops.push(',');
        }
        let word = match op {
            PostOp::Residual => "residual".to_string(),
            PostOp::MulChannel => "mul_channel".to_string(),
            PostOp::AddChannel => "add_channel".to_string(),
            PostOp::Activation(a) => a.to_string(),
        };
        self.post_ops.push_str(&word);
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
        self.allow_reference = true;
        self
    }

    /// Parameters as a file tells them.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn stated(
        stride: [usize; N],
        padding_begin: [usize; N],
        padding_end: [usize; N],
        dilation: [usize; N],
        output_padding: [usize; N],
        groups: usize,
        post_ops: String,
        allow_reference: bool,
    ) -> Self {
        let direction = PhantomData;
        Conv {
            stride,
            padding_begin,
            padding_end,
            dilation,
            groups,
            post_ops,
            allow_reference,
            output_padding,
            direction,
        }
    }

    pub(crate) fn post_ops(&self) -> Result<PostOps> {
        self.post_ops.parse()
    }

    pub(crate) fn allows_reference(&self) -> bool {
        self.allow_reference
    }

    pub(crate) fn numbers(&self) -> ConvNumbers {
        ConvNumbers {
            stride: Dims::from_slice(&self.stride),
            padding: self.padding_begin.iter().chain(&self.padding_end).copied().to_dims(),
            dilation: Dims::from_slice(&self.dilation),
            groups: self.groups,
            transposed: D::TRANSPOSED.then(|| Dims::from_slice(&self.output_padding)),
        }
    }

    /// The values of a call, from `stride` on.
    pub(super) fn values(&self) -> Values<'_> {
        let mut padding = [0; 6];
        padding[..N].copy_from_slice(&self.padding_begin);
        padding[N..2 * N].copy_from_slice(&self.padding_end);
        Values {
            stride: &self.stride,
            padding: Dims::from_slice(&padding[..2 * N]),
            dilation: &self.dilation,
            groups: i64::try_from(self.groups).unwrap_or(i64::MAX),
            post_ops: &self.post_ops,
            allow_reference: self.allow_reference,
            output_padding: &self.output_padding,
        }
    }
}

/// The parameters as a call passes them.
pub(super) struct Values<'a> {
    pub stride: &'a [usize],
    pub padding: Dims,
    pub dilation: &'a [usize],
    pub groups: i64,
    pub post_ops: &'a str,
    pub allow_reference: bool,
    pub output_padding: &'a [usize],
}
