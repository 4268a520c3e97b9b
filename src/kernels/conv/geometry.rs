//! The shape of a convolution, transposed or not: every rule about its operands, checked once, for every key.

use crate::error::{Complaint, Error, Result, fail};
use crate::layout::dims::{Dims, MAX_SIZE, ToDims};
use crate::layout::memory_format::check_extent;
use crate::op::schema::Ranks;
use crate::weights_kind::WeightsKind;

/// The ranks of source and residual of a convolution.
pub(crate) const fn activation_ranks(spatial: usize) -> Ranks {
    let rule = match spatial {
        1 => "it has rank 3: N, C and 1 spatial dimension",
        2 => "it has rank 4: N, C and 2 spatial dimensions",
        _ => "it has rank 5: N, C and 3 spatial dimensions",
    };
    Ranks::exactly(spatial + 2, rule, "add or merge dimensions, or use the convolution of that rank")
}

/// The ranks of the weights of a convolution.
pub(crate) const fn weights_ranks(spatial: usize) -> Ranks {
    let rule = match spatial {
        1 => {
            "they are [O, C/groups, kernel...] or [groups, O/groups, C/groups, kernel...] with 1 kernel size"
        }
        2 => {
            "they are [O, C/groups, kernel...] or [groups, O/groups, C/groups, kernel...] with 2 kernel sizes"
        }
        _ => {
            "they are [O, C/groups, kernel...] or [groups, O/groups, C/groups, kernel...] with 3 kernel sizes"
        }
    };
    Ranks::between(spatial + 2, spatial + 3, rule, "reshape them")
}

/// Everything that the operands' shapes and the parameters say, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConvGeometry {
    pub op: &'static str,
    /// Whether each source pixel spreads over the result, instead of being gathered into it.
    pub transposed: bool,
    /// Batch.
    pub n: usize,
    /// Input channels, of all groups.
    pub c: usize,
    /// Output channels, of all groups.
    pub o: usize,
    pub groups: usize,
    /// Spatial sizes of source, kernel and destination.
    pub input: Dims,
    pub kernel: Dims,
    pub output: Dims,
    pub stride: Dims,
    /// 1 is dense.
    pub dilation: Dims,
    pub pad_begin: Dims,
    pub pad_end: Dims,
    /// Of a transposed convolution; 0 for the other.
    pub output_padding: Dims,
    /// The integer of the source that stands for 0, and that the padding is of. 0 for other sources.
    pub zero_point: i32,
}

/// The parameters as they come, before any rule.
pub(crate) struct ConvNumbers {
    pub stride: Dims,
    pub padding: Dims,
    pub dilation: Dims,
    pub groups: usize,
    /// The output padding of a transposed convolution.
    pub transposed: Option<Dims>,
    pub zero_point: i32,
}

impl ConvGeometry {
    /// Shape of the result.
    pub fn dst_dims(&self) -> Dims {
        [self.n, self.o].into_iter().chain(self.output.iter().copied()).to_dims()
    }

    /// Shape of the source.
    pub fn src_dims(&self) -> Dims {
        [self.n, self.c].into_iter().chain(self.input.iter().copied()).to_dims()
    }

    /// Whether each pixel of the result reads the pixel at the same place alone.
    pub fn is_pointwise(&self) -> bool {
        let all = |list: &Dims, value: usize| list.iter().all(|&v| v == value);
        let is_padded = !all(&self.pad_begin, 0) || !all(&self.pad_end, 0);
        all(&self.kernel, 1) && all(&self.stride, 1) && !is_padded && !self.transposed
    }

    /// The same pointwise convolution of `n` images of these sizes, which the pixels make as well.
    pub fn on_images(&self, n: usize, sizes: &[usize]) -> ConvGeometry {
        let (image, each) = (Dims::from_slice(sizes), |value: usize| Dims::filled(value, sizes.len()));
        ConvGeometry {
            n,
            input: image,
            output: image,
            kernel: each(1),
            stride: each(1),
            dilation: each(1),
            pad_begin: each(0),
            pad_end: each(0),
            output_padding: each(0),
            ..*self
        }
    }

    /// Which weights it takes.
    pub fn weights_kind(&self) -> WeightsKind {
        WeightsKind::of(self.groups, self.c, self.o)
    }

    /// Shape of the weights with their groups apart: `[g, O/g, C/g, k...]`, or `[O, C, k...]` without groups.
    pub fn weight_dims(&self) -> Dims {
        let mut d = Dims::EMPTY;
        if self.groups > 1 {
            d.push(self.groups);
        }
        d.push(self.o / self.groups);
        d.push(self.c / self.groups);
        self.kernel.iter().for_each(|&k| d.push(k));
        d
    }

    /// How many weights there are.
    pub fn weight_count(&self) -> usize {
        self.weight_dims().iter().product()
    }

    /// Multiply-adds as the definition has them.
    pub fn multiply_adds(&self) -> f64 {
        let pixels = if self.transposed { &self.input } else { &self.output };
        self.n as f64 * pixels.iter().map(|&size| size as f64).product::<f64>() * self.weight_count() as f64
    }

    /// Checks a convolution of `src` by `weights`, which are `[O, C/g, k...]` or `[g, O/g, C/g, k...]`; a transposed one's
    /// have their groups apart, if it has any.
    pub fn new(
        op: &'static str,
        spatial: usize,
        src: &[usize],
        weights: &[usize],
        bias: Option<&[usize]>,
        p: &ConvNumbers,
    ) -> Result<ConvGeometry> {
        let groups = p.groups;
        // Packed convolutions come here without a schema.
        activation_ranks(spatial).check(op, "x", src.len(), || format!("{src:?}"))?;
        if groups == 0 {
            fail!(
                InvalidArgument,
                op,
                "groups",
                "0",
                "there is at least one group",
                "pass 1 for an ungrouped one"
            );
        }
        weights_ranks(spatial).check(op, "weights", weights.len(), || format!("{weights:?}"))?;
        let grouped = weights.len() == spatial + 3;
        let shape = |got: String, rule: String, remedy: &str| {
            Error::ShapeMismatch(Complaint::new(op, "weights", got, rule, remedy))
        };
        let (o, c_of_group) = if grouped {
            if weights[0] != groups {
                return Err(shape(
                    format!("{weights:?}"),
                    format!("their first dimension is `groups`, which is {groups}"),
                    "pass the same number of groups",
                ));
            }
            match weights[0].checked_mul(weights[1]) {
                Some(o) => (o, weights[2]),
                None => return Err(overflow(op, "weights", weights)),
            }
        } else {
            (weights[0], weights[1])
        };
        let kernel = Dims::from_slice(&weights[weights.len() - spatial..]);
        let (n, c) = (src[0], src[1]);
        if let Some(axis) = kernel.iter().position(|&k| k == 0) {
            fail!(
                InvalidArgument,
                op,
                "weights",
                format!("{weights:?}"),
                format!("the kernel is 0 wide along spatial axis {axis}"),
                "pass a kernel of at least 1"
            );
        }
        if c == 0 || o == 0 {
            let (name, got) = if c_of_group == 0 || o == 0 { ("weights", weights) } else { ("x", src) };
            fail!(
                InvalidArgument,
                op,
                name,
                format!("{got:?}"),
                "there is at least one channel of the source, and one of the result",
                "pass 1 or more"
            );
        }
        if !o.is_multiple_of(groups) {
            fail!(
                InvalidArgument,
                op,
                "groups",
                groups.to_string(),
                format!("the {o} output channels do not divide into {groups} groups"),
                "pass a divisor"
            );
        }
        if c_of_group.checked_mul(groups) != Some(c) {
            return Err(shape(
                format!("{weights:?}"),
                format!(
                    "x has {c} channels; weights of {c_of_group} input channels a group and {groups} group(s) take {}",
                    c_of_group.saturating_mul(groups)
                ),
                if p.transposed.is_some() {
                    "pass weights with C / groups input channels, or state the groups; of a transposed convolution \
                     plain weights have input channels first, blocked ones output channels"
                } else {
                    "pass weights with C / groups input channels, or state the groups; sizes are N, C, then H, W, \
                     whatever the memory format"
                },
            ));
        }
        if let Some(b) = bias
            && b != [o]
        {
            fail!(
                ShapeMismatch,
                op,
                "bias",
                format!("{b:?}"),
                format!("it has one value for each of the {o} output channels"),
                format!("pass {o} values")
            );
        }
        let input = Dims::from_slice(&src[2..]);
        let (pad_begin, pad_end) = p.padding.split_at(spatial);
        let mut output = Dims::EMPTY;
        for axis in 0..spatial {
            let window = Window {
                op,
                argument: "weights",
                axis,
                size: input[axis],
                kernel: kernel[axis],
                stride: p.stride[axis],
                dilation: p.dilation[axis],
                pad_begin: pad_begin[axis],
                pad_end: pad_end[axis],
            };
            output.push(match &p.transposed {
                None => window.output()?,
                Some(output_padding) => window.transposed_output(output_padding[axis])?,
            });
        }
        // Of any layout's bytes: channels in blocks of up to 64, elements of 4.
        let padded = o.checked_next_multiple_of(64).and_then(|o| o.checked_mul(size_of::<f32>()));
        let result: Dims =
            [n, padded.unwrap_or(usize::MAX)].into_iter().chain(output.iter().copied()).to_dims();
        check_extent(op, &result).map_err(|_| {
            let got = format!("a result of {n} x {o} x {output}");
            let rule = "its bytes do not fit the address space";
            Error::Overflow(Complaint::new(op, "x", got, rule, "use smaller sizes"))
        })?;
        Ok(ConvGeometry {
            op,
            transposed: p.transposed.is_some(),
            n,
            c,
            o,
            groups,
            input,
            kernel,
            output,
            stride: p.stride,
            dilation: p.dilation,
            pad_begin: Dims::from_slice(pad_begin),
            pad_end: Dims::from_slice(pad_end),
            output_padding: p.transposed.unwrap_or(Dims::filled(0, spatial)),
            zero_point: p.zero_point,
        })
    }
}

/// A window that slides along one axis.
pub(crate) struct Window {
    pub op: &'static str,
    /// The argument that has the size of the kernel.
    pub argument: &'static str,
    pub axis: usize,
    pub size: usize,
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    pub pad_begin: usize,
    pub pad_end: usize,
}

impl Window {
    /// (size + paddings - (dilation * (kernel - 1) + 1)) / stride + 1, with every step checked.
    pub fn output(&self) -> Result<usize> {
        let (padded, reach) = self.reach()?;
        if reach > padded {
            fail!(
                ShapeMismatch,
                self.op,
                self.argument,
                format!("a kernel that reaches over {reach} along spatial axis {}", self.axis),
                format!("the padded input is {padded} there"),
                "pad more, or use a smaller kernel or dilation"
            );
        }
        Ok((padded - reach) / self.stride + 1)
    }

    /// (size - 1) * stride + dilation * (kernel - 1) + 1 - paddings + output padding, with every step checked.
    pub fn transposed_output(&self, output_padding: usize) -> Result<usize> {
        let (_, reach) = self.reach()?;
        let Window { op, axis, size, stride, dilation, pad_begin, pad_end, .. } = *self;
        if output_padding >= stride.max(dilation) {
            fail!(
                InvalidArgument,
                op,
                "output_padding",
                format!("{output_padding} along spatial axis {axis}"),
                format!("it is smaller than the stride ({stride}) or the dilation ({dilation})"),
                "pass less, or pad the result"
            );
        }
        let Some(steps) = size.checked_sub(1) else {
            fail!(
                ShapeMismatch,
                op,
                "x",
                format!("0 pixels along spatial axis {axis}"),
                "a transposed convolution spreads at least one",
                "pass an image of 1 or more"
            );
        };
        let spread = steps
            .checked_mul(stride)
            .and_then(|s| s.checked_add(reach))
            .and_then(|s| s.checked_add(output_padding))
            .filter(|&s| s <= MAX_SIZE);
        let Some(spread) = spread else {
            fail!(
                Overflow,
                op,
                "stride",
                format!("{stride} times {size} pixels along spatial axis {axis}"),
                format!("sizes stay below {MAX_SIZE}"),
                "use smaller numbers"
            );
        };
        match spread.checked_sub(pad_begin + pad_end).filter(|&left| left > 0) {
            Some(left) => Ok(left),
            None => fail!(
                ShapeMismatch,
                op,
                "padding",
                format!("{pad_begin} and {pad_end} along spatial axis {axis}"),
                format!("it takes all of a result of {spread}"),
                "pad less, or use a larger kernel or stride"
            ),
        }
    }

    /// Sizes of the padded input and of the dilated kernel.
    pub fn reach(&self) -> Result<(usize, usize)> {
        let Window { op, argument, axis, size, kernel, stride, dilation, pad_begin, pad_end } = *self;
        for (name, value) in [("stride", stride), ("dilation", dilation)] {
            if value == 0 {
                fail!(
                    InvalidArgument,
                    op,
                    name,
                    format!("0 along spatial axis {axis}"),
                    "it counts from 1 (1 is dense)",
                    "pass 1 or more"
                );
            }
        }
        let too_large = |name: &'static str, got: String| {
            let rule = format!("sizes along spatial axis {axis} stay below {MAX_SIZE}");
            Err(Error::Overflow(Complaint::new(op, name, got, rule, "use smaller numbers")))
        };
        if kernel > MAX_SIZE {
            return too_large(argument, format!("a kernel of {kernel}"));
        }
        let reach =
            dilation.checked_mul(kernel - 1).and_then(|r| r.checked_add(1)).filter(|&r| r <= MAX_SIZE);
        let Some(reach) = reach else {
            return too_large("dilation", format!("{dilation} times a kernel of {kernel}"));
        };
        let padded =
            size.checked_add(pad_begin).and_then(|p| p.checked_add(pad_end)).filter(|&p| p <= MAX_SIZE);
        let Some(padded) = padded else {
            return too_large("padding", format!("{pad_begin} and {pad_end} around {size}"));
        };
        if stride > MAX_SIZE {
            return too_large("stride", stride.to_string());
        }
        Ok((padded, reach))
    }
}

fn overflow(op: &'static str, argument: &'static str, dims: &[usize]) -> Error {
    Error::Overflow(Complaint::new(
        op,
        argument,
        format!("{dims:?}"),
        "the product does not fit",
        "use smaller sizes",
    ))
}
