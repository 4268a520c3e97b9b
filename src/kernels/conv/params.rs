//! `ConvParams`: the parameters of a convolution, transposed or not, of any number of spatial dimensions.

use super::{Algorithm, ConvNumbers, integers, kind_of};
use crate::error::{Result, fail};
use crate::layout::dims::{Dims, ToDims};
use crate::op::params::{Param, Params, read_values};
use crate::op::schema::{flag, int, ints, word};
use crate::op::{ArgSpec, Args, Value};
use crate::post_ops::PostOps;

/// The parameters of a convolution, transposed or not. Lists have one value for each spatial dimension, or one for all of them;
/// `padding` may also have one for each side, all begins before all ends.
#[derive(Clone, Debug)]
pub(crate) struct ConvParams {
    pub stride: Dims,
    pub padding: Dims,
    pub dilation: Dims,
    pub groups: usize,
    pub post_ops: PostOps,
    pub allow_reference: bool,
    pub algorithm: Algorithm,
    /// Of a source of integers: the one that stands for 0.
    pub x_zero_point: i64,
    /// Of a transposed convolution.
    pub output_padding: Dims,
}

impl Params for ConvParams {
    /// The last is an argument of transposed convolutions alone.
    const SPECS: &'static [ArgSpec] = &[
        ints("stride", &[1]).counted_from_one(),
        ints("padding", &[0]),
        ints("dilation", &[1]).counted_from_one(),
        int("groups", 1).counted_from_one(),
        word("post_ops", ""),
        flag("allow_reference", false),
        word("algorithm", "direct"),
        int("x_zero_point", 0),
        ints("output_padding", &[0]),
    ];

    fn read(args: &Args<'_>) -> Result<ConvParams> {
        let i = Self::first(args);
        let has_output_padding = args.values().len() > i + 8;
        Ok(ConvParams {
            stride: Dims::read(args, i)?,
            padding: Dims::read(args, i + 1)?,
            dilation: Dims::read(args, i + 2)?,
            groups: usize::read(args, i + 3)?,
            post_ops: PostOps::read(args, i + 4)?,
            allow_reference: bool::read(args, i + 5)?,
            algorithm: Algorithm::read(args, i + 6)?,
            x_zero_point: i64::read(args, i + 7)?,
            output_padding: if has_output_padding { Dims::read(args, i + 8)? } else { Dims::filled(0, 1) },
        })
    }

    fn push_args<'a>(&'a self, to: &mut crate::op::args::ArgList<'a>) {
        let lists = [self.stride.arg(), self.padding.arg(), self.dilation.arg()];
        lists.into_iter().for_each(|list| to.push(list));
        to.push(self.groups.arg());
        to.push(self.post_ops.arg());
        to.push(self.allow_reference.arg());
        to.push(self.algorithm.arg());
        to.push(self.x_zero_point.arg());
        to.push(self.output_padding.arg());
    }
}

crate::op::params::common! { ConvParams }

impl ConvParams {
    /// Those of a call by name.
    pub fn from_values(op: &'static str, values: &[(&str, Value)]) -> Result<ConvParams> {
        if !kind_of(op).1 && values.iter().any(|(name, _)| *name == "output_padding") {
            let rule = "only a transposed convolution has it";
            fail!(InvalidArgument, op, "output_padding", "a value", rule, "leave it out");
        }
        read_values(op, values)
    }

    /// One value for each of `spatial` dimensions, and for each side of the padding.
    pub fn numbers(&self, op: &'static str, spatial: usize, transposed: bool) -> Result<ConvNumbers> {
        let each = |name: &'static str, given: &Dims| match given.len() {
            n if n == spatial => Ok(*given),
            1 => Ok(Dims::filled(given[0], spatial)),
            _ => fail!(
                InvalidArgument,
                op,
                name,
                given.to_string(),
                format!("it has one value for each of the {spatial} spatial dimensions, or one for all"),
                format!("pass 1 or {spatial} values")
            ),
        };
        let padding = match self.padding.len() {
            n if n == 2 * spatial && n != 1 => self.padding,
            n if n == spatial => self.padding.iter().chain(&self.padding).copied().to_dims(),
            1 => Dims::filled(self.padding[0], 2 * spatial),
            _ => fail!(
                InvalidArgument,
                op,
                "padding",
                self.padding.to_string(),
                format!("it has 1, {spatial} or {} values (all begins, then all ends)", 2 * spatial),
                "pass one for all sides, one a dimension, or one a side"
            ),
        };
        Ok(ConvNumbers {
            stride: each("stride", &self.stride)?,
            padding,
            dilation: each("dilation", &self.dilation)?,
            groups: self.groups,
            transposed: if transposed { Some(each("output_padding", &self.output_padding)?) } else { None },
            zero_point: integers::zero_point(op, self.x_zero_point)?,
        })
    }
}
