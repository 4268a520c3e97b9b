//! The layers.

use blocktensor_graph::{Param, ValueId};
use candle_core::{D, Tensor, ToUsize2};
use candle_nn::{
    Activation, BatchNorm, BatchNormConfig, Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose2d,
    ConvTranspose2dConfig, LayerNorm, LayerNormConfig, Linear, VarBuilder,
};

use super::Builder;
use crate::error::{Error, Result};

/// The parameters that convolutions of any rank have.
fn window(stride: usize, padding: usize, dilation: usize, groups: usize) -> [(&'static str, Param); 4] {
    [("stride", int(stride)), ("padding", int(padding)), ("dilation", int(dilation)), ("groups", int(groups))]
}

fn int(n: usize) -> Param {
    i64::try_from(n).unwrap_or(i64::MAX).into()
}

fn pair((h, w): (usize, usize)) -> Param {
    vec![i64::try_from(h).unwrap_or(i64::MAX), i64::try_from(w).unwrap_or(i64::MAX)].into()
}

/// `candle_nn::conv2d` and its like: with bias, without, and of a layer that exists.
macro_rules! convolutions {
    ($($(#[$doc:meta])* $name:ident, $no_bias:ident, $of:ident: $layer:ty, $config:ty, |$c:ident| $params:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `Candle` for weights that the `VarBuilder` does not have; `DType`, `Graph`.
        pub fn $name(
            &mut self,
            x: ValueId,
            in_channels: usize,
            out_channels: usize,
            kernel_size: usize,
            cfg: $config,
            vb: VarBuilder<'_>,
        ) -> Result<ValueId> {
            let name = vb.prefix();
            self.$of(&name, x, &candle_nn::$name(in_channels, out_channels, kernel_size, cfg, vb)?)
        }

        #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), without bias.")]
        ///
        /// # Errors
        #[doc = concat!("As `", stringify!($name), "`.")]
        pub fn $no_bias(
            &mut self,
            x: ValueId,
            in_channels: usize,
            out_channels: usize,
            kernel_size: usize,
            cfg: $config,
            vb: VarBuilder<'_>,
        ) -> Result<ValueId> {
            let name = vb.prefix();
            self.$of(&name, x, &candle_nn::$no_bias(in_channels, out_channels, kernel_size, cfg, vb)?)
        }

        #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), of a layer that exists.")]
        ///
        /// # Errors
        /// `DType`, `Graph`.
        pub fn $of(&mut self, name: &str, x: ValueId, layer: &$layer) -> Result<ValueId> {
            let $c = layer.config();
            let params = $params;
            self.weighted(name, stringify!($name), x, "weights", layer.weight(), layer.bias(), &params)
        }
    )*};
}

impl Builder {
    convolutions! {
        /// `candle_nn::conv1d`.
        conv1d, conv1d_no_bias, conv1d_of: Conv1d, Conv1dConfig,
            |c| window(c.stride, c.padding, c.dilation, c.groups);
        /// `candle_nn::conv2d`.
        conv2d, conv2d_no_bias, conv2d_of: Conv2d, Conv2dConfig,
            |c| window(c.stride, c.padding, c.dilation, c.groups);
        /// `candle_nn::conv_transpose2d`.
        conv_transpose2d, conv_transpose2d_no_bias, conv_transpose2d_of: ConvTranspose2d, ConvTranspose2dConfig,
            |c| {
                let [stride, padding, dilation, groups] = window(c.stride, c.padding, c.dilation, 1);
                [stride, padding, dilation, groups, ("output_padding", int(c.output_padding))]
            };
    }

    /// `candle_nn::batch_norm` as in evaluation, with the running statistics.
    ///
    /// # Errors
    /// As [`conv2d`](Self::conv2d).
    pub fn batch_norm<C: Into<BatchNormConfig>>(
        &mut self,
        x: ValueId,
        num_features: usize,
        cfg: C,
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let name = vb.prefix();
        self.batch_norm_of(&name, x, &candle_nn::batch_norm(num_features, cfg, vb)?)
    }

    /// As [`batch_norm`](Self::batch_norm), of a layer that exists.
    ///
    /// # Errors
    /// `DType`, `Graph`.
    pub fn batch_norm_of(&mut self, name: &str, x: ValueId, layer: &BatchNorm) -> Result<ValueId> {
        let mean = self.constant(&format!("{name}.running_mean"), layer.running_mean())?;
        let var = self.constant(&format!("{name}.running_var"), layer.running_var())?;
        let mut inputs = vec![("x", x), ("mean", mean), ("var", var)];
        if let Some((weight, bias)) = layer.weight_and_bias() {
            inputs.push(("weight", self.constant(&format!("{name}.weight"), weight)?));
            inputs.push(("bias", self.constant(&format!("{name}.bias"), bias)?));
        }
        self.op(name, "batch_norm", &inputs, &[("eps", layer.eps().into())])
    }

    /// `candle_nn::group_norm`.
    ///
    /// # Errors
    /// As [`conv2d`](Self::conv2d).
    pub fn group_norm(
        &mut self,
        x: ValueId,
        num_groups: usize,
        num_channels: usize,
        eps: f64,
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let name = vb.prefix();
        // candle's layer keeps its weights to itself.
        let weight = vb.get_with_hints(num_channels, "weight", candle_nn::Init::Const(1.))?;
        let bias = vb.get_with_hints(num_channels, "bias", candle_nn::Init::Const(0.))?;
        let params = [("groups", int(num_groups)), ("eps", eps.into())];
        self.weighted(&name, "group_norm", x, "weight", &weight, Some(&bias), &params)
    }

    /// `candle_nn::layer_norm` over the last axis.
    ///
    /// # Errors
    /// As [`conv2d`](Self::conv2d).
    pub fn layer_norm<C: Into<LayerNormConfig>>(
        &mut self,
        x: ValueId,
        size: usize,
        cfg: C,
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let name = vb.prefix();
        self.layer_norm_of(&name, x, &candle_nn::layer_norm(size, cfg, vb)?)
    }

    /// As [`layer_norm`](Self::layer_norm), of a layer that exists.
    ///
    /// # Errors
    /// `Invalid` for a layer that does not remove the mean (an RMS norm); `DType`, `Graph`.
    pub fn layer_norm_of(&mut self, name: &str, x: ValueId, layer: &LayerNorm) -> Result<ValueId> {
        if !layer.remove_mean() {
            return Err(Error::Invalid {
                call: "Builder::layer_norm",
                got: format!("`{name}`, which does not remove the mean"),
                rule: "there is no such norm here".to_string(),
                remedy: "end the region before it, and run candle's layer".to_string(),
            });
        }
        let sizes: Vec<i64> =
            layer.weight().dims().iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
        let params = [("normalized_shape", sizes.into()), ("eps", layer.eps().into())];
        self.weighted(name, "layer_norm", x, "weight", layer.weight(), layer.bias(), &params)
    }

    /// `candle_nn::linear`.
    ///
    /// # Errors
    /// As [`conv2d`](Self::conv2d).
    pub fn linear(
        &mut self,
        x: ValueId,
        in_dim: usize,
        out_dim: usize,
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let name = vb.prefix();
        self.linear_of(&name, x, &candle_nn::linear(in_dim, out_dim, vb)?)
    }

    /// As [`linear`](Self::linear), without bias.
    ///
    /// # Errors
    /// As `linear`.
    pub fn linear_no_bias(
        &mut self,
        x: ValueId,
        in_dim: usize,
        out_dim: usize,
        vb: VarBuilder<'_>,
    ) -> Result<ValueId> {
        let name = vb.prefix();
        self.linear_of(&name, x, &candle_nn::linear_no_bias(in_dim, out_dim, vb)?)
    }

    /// As [`linear`](Self::linear), of a layer that exists.
    ///
    /// # Errors
    /// `DType`, `Graph`.
    pub fn linear_of(&mut self, name: &str, x: ValueId, layer: &Linear) -> Result<ValueId> {
        self.weighted(name, "linear", x, "weights", layer.weight(), layer.bias(), &[])
    }

    /// An activation of `candle_nn`.
    ///
    /// # Errors
    /// `Invalid` for `Swiglu`, which is two halves of its operand; `Graph`.
    pub fn activation(&mut self, x: ValueId, activation: Activation) -> Result<ValueId> {
        let op = match activation {
            Activation::Gelu => "gelu",
            Activation::NewGelu | Activation::GeluPytorchTanh => "gelu_tanh",
            Activation::Relu => "relu",
            Activation::Relu2 => {
                let x = self.relu(x)?;
                return self.unary(x, "square", &[]);
            }
            Activation::Relu6 => "relu6",
            Activation::Silu | Activation::Swish => "silu",
            Activation::Sigmoid => "sigmoid",
            Activation::HardSigmoid => "hardsigmoid",
            Activation::HardSwish => "hardswish",
            Activation::Mish => "mish",
            Activation::Elu(alpha) => return self.unary(x, "elu", &[("alpha", alpha.into())]),
            Activation::LeakyRelu(slope) => return self.unary(x, "leaky_relu", &[("slope", slope.into())]),
            Activation::Swiglu => {
                return Err(Error::Invalid {
                    call: "Builder::activation",
                    got: "Swiglu".to_string(),
                    rule: "it halves the last axis, and is no activation of each element".to_string(),
                    remedy: "end the region before it, and call `candle_nn::ops::swiglu`".to_string(),
                });
            }
        };
        self.unary(x, op, &[])
    }

    /// `Tensor::relu`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn relu(&mut self, x: ValueId) -> Result<ValueId> {
        self.unary(x, "relu", &[])
    }

    /// `Tensor::max_pool2d`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn max_pool2d<T: ToUsize2>(&mut self, x: ValueId, size: T) -> Result<ValueId> {
        let size = size.to_usize2();
        self.max_pool2d_with_stride(x, size, size)
    }

    /// `Tensor::max_pool2d_with_stride`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn max_pool2d_with_stride<T: ToUsize2>(&mut self, x: ValueId, size: T, stride: T) -> Result<ValueId> {
        self.unary(
            x,
            "max_pool2d",
            &[("kernel", pair(size.to_usize2())), ("stride", pair(stride.to_usize2()))],
        )
    }

    /// `Tensor::avg_pool2d`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn avg_pool2d<T: ToUsize2>(&mut self, x: ValueId, size: T) -> Result<ValueId> {
        let size = size.to_usize2();
        self.avg_pool2d_with_stride(x, size, size)
    }

    /// `Tensor::avg_pool2d_with_stride`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn avg_pool2d_with_stride<T: ToUsize2>(&mut self, x: ValueId, size: T, stride: T) -> Result<ValueId> {
        self.unary(
            x,
            "avg_pool2d",
            &[("kernel", pair(size.to_usize2())), ("stride", pair(stride.to_usize2()))],
        )
    }

    /// `Tensor::upsample_nearest2d`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn upsample_nearest2d(&mut self, x: ValueId, target_h: usize, target_w: usize) -> Result<ValueId> {
        self.unary(x, "upsample_nearest", &[("output", pair((target_h, target_w)))])
    }

    /// `Tensor::pad_with_zeros` of an axis that is counted from the last one, such as `D::Minus1`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn pad_with_zeros(&mut self, x: ValueId, axis: D, left: usize, right: usize) -> Result<ValueId> {
        let from_last = match axis {
            D::Minus1 => 1,
            D::Minus2 => 2,
            D::Minus(n) => n,
        };
        let mut padding = vec![0i64; 2 * from_last.saturating_sub(1)];
        padding.extend([left, right].map(|n| i64::try_from(n).unwrap_or(i64::MAX)));
        self.unary(x, "pad", &[("padding", padding.into())])
    }

    /// `Tensor::flatten_from`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn flatten_from(&mut self, x: ValueId, axis: usize) -> Result<ValueId> {
        self.unary(x, "flatten", &[("start", int(axis)), ("end", (-1i64).into())])
    }

    /// `Tensor::mean` over these axes.
    ///
    /// # Errors
    /// `Graph`.
    pub fn mean(&mut self, x: ValueId, axes: &[usize]) -> Result<ValueId> {
        let axes: Vec<i64> = axes.iter().map(|&axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect();
        self.unary(x, "mean", &[("axes", axes.into())])
    }

    /// `a + b`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.op("", "add", &[("a", a), ("b", b)], &[])
    }

    /// `a * b`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn mul(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.op("", "mul", &[("a", a), ("b", b)], &[])
    }

    /// `Tensor::cat`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn cat(&mut self, tensors: &[ValueId], axis: usize) -> Result<ValueId> {
        let inputs: Vec<_> = tensors.iter().map(|&t| ("tensors", t)).collect();
        self.op("", "cat", &inputs, &[("axis", int(axis))])
    }

    fn unary(&mut self, x: ValueId, op: &str, params: &[(&str, Param)]) -> Result<ValueId> {
        self.op("", op, &[("x", x)], params)
    }

    /// An op of one operand with weights and a bias.
    #[expect(clippy::too_many_arguments, reason = "one call for every layer")]
    fn weighted(
        &mut self,
        name: &str,
        op: &str,
        x: ValueId,
        role: &str,
        weight: &Tensor,
        bias: Option<&Tensor>,
        params: &[(&str, Param)],
    ) -> Result<ValueId> {
        let mut inputs = vec![("x", x), (role, self.constant(&format!("{name}.weight"), weight)?)];
        if let Some(bias) = bias {
            inputs.push(("bias", self.constant(&format!("{name}.bias"), bias)?));
        }
        self.op(name, op, &inputs, params)
    }
}
