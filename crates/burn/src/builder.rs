//! `Builder`: burn's modules as nodes of a graph.

use blocktensor::MemoryFormat;
use blocktensor_graph::{Graph, Param, PlanOptions, ValueId};
use burn::nn::conv::Conv2d;
use burn::nn::pool::{AvgPool2d, MaxPool2d};
use burn::nn::{BatchNorm, Linear, PaddingConfig2d};
use burn::tensor::Tensor;

use crate::error::{Error, Result};
use crate::region::Region;
use crate::reorder::to_strided;

/// Builds a region from burn's modules: it reads their configuration and copies their weights. Nodes have the names that you give them,
/// so that plans and errors name them. What is missing here can be added by the name of an op ([`op`](Self::op)).
#[derive(Clone, Debug, Default)]
pub struct Builder {
    graph: Graph,
}

impl Builder {
    /// A region whose input has these sizes, and the input.
    ///
    /// # Errors
    /// None today.
    pub fn new(sizes: &[usize]) -> Result<(Builder, ValueId)> {
        let mut graph = Graph::new();
        let dims: Vec<_> = sizes.iter().map(|&d| d.into()).collect();
        let x = graph.input("x", &dims)?;
        Ok((Builder { graph }, x))
    }

    /// Adds a registered op by its name, with inputs and parameters by their names (`blocktensor::dispatch::ops()` lists them). Without a
    /// name the node has the op's.
    ///
    /// # Errors
    /// `Graph` for an op, an input or a parameter that is not there.
    pub fn op(
        &mut self,
        name: &str,
        op: &str,
        inputs: &[(&str, ValueId)],
        params: &[(&str, Param)],
    ) -> Result<ValueId> {
        let name = self.fresh(if name.is_empty() { op } else { name });
        Ok(self.graph.op(&name, op, inputs, params)?)
    }

    /// Adds weights: a row-major copy.
    ///
    /// # Errors
    /// As [`to_strided`]; `Graph` unless they are f32, when the region is planned.
    pub fn constant<const D: usize>(&mut self, name: &str, weights: &Tensor<D>) -> Result<ValueId> {
        let name = self.fresh(name);
        Ok(self.graph.constant(&name, to_strided(weights)?.copy(MemoryFormat::Contiguous)?)?)
    }

    /// `burn::nn::conv::Conv2d`.
    ///
    /// # Errors
    /// `Backend`, `DType`, `Graph`; `Invalid` for `PaddingConfig2d::Same` with a stride.
    pub fn conv2d(&mut self, name: &str, x: ValueId, layer: &Conv2d) -> Result<ValueId> {
        let mut inputs =
            vec![("x", x), ("weights", self.constant(&format!("{name}.weight"), &layer.weight.val())?)];
        if let Some(bias) = &layer.bias {
            inputs.push(("bias", self.constant(&format!("{name}.bias"), &bias.val())?));
        }
        let params = [
            ("stride", ints(&layer.stride)),
            ("padding", ints(&padding("Builder::conv2d", layer)?)),
            ("dilation", ints(&layer.dilation)),
            ("groups", int(layer.groups)),
        ];
        self.op(name, "conv2d", &inputs, &params)
    }

    /// `burn::nn::BatchNorm` as in evaluation, with the running statistics.
    ///
    /// # Errors
    /// `Backend`, `DType`, `Graph`.
    pub fn batch_norm(&mut self, name: &str, x: ValueId, layer: &BatchNorm) -> Result<ValueId> {
        let inputs = [
            ("x", x),
            ("mean", self.constant(&format!("{name}.running_mean"), &layer.running_mean.value_sync())?),
            ("var", self.constant(&format!("{name}.running_var"), &layer.running_var.value_sync())?),
            ("weight", self.constant(&format!("{name}.gamma"), &layer.gamma.val())?),
            ("bias", self.constant(&format!("{name}.beta"), &layer.beta.val())?),
        ];
        self.op(name, "batch_norm", &inputs, &[("eps", layer.epsilon.into())])
    }

    /// `burn::nn::Linear`, whose weights have the input's axis first.
    ///
    /// # Errors
    /// `Backend`, `DType`, `Graph`.
    pub fn linear(&mut self, name: &str, x: ValueId, layer: &Linear) -> Result<ValueId> {
        let weight = layer.weight.val().transpose();
        let mut inputs = vec![("x", x), ("weights", self.constant(&format!("{name}.weight"), &weight)?)];
        if let Some(bias) = &layer.bias {
            inputs.push(("bias", self.constant(&format!("{name}.bias"), &bias.val())?));
        }
        self.op(name, "linear", &inputs, &[])
    }

    /// `burn::nn::pool::MaxPool2d`.
    ///
    /// # Errors
    /// `Graph`; `Invalid` for `PaddingConfig2d::Same` with a stride.
    pub fn max_pool2d(&mut self, x: ValueId, layer: &MaxPool2d) -> Result<ValueId> {
        let padding = sides("Builder::max_pool2d", &layer.padding, layer.kernel_size, layer.stride)?;
        let params = [
            ("kernel", ints(&layer.kernel_size)),
            ("stride", ints(&layer.stride)),
            ("padding", ints(&padding)),
            ("dilation", ints(&layer.dilation)),
            ("ceil_mode", layer.ceil_mode.into()),
        ];
        self.op("", "max_pool2d", &[("x", x)], &params)
    }

    /// `burn::nn::pool::AvgPool2d`.
    ///
    /// # Errors
    /// As [`max_pool2d`](Self::max_pool2d).
    pub fn avg_pool2d(&mut self, x: ValueId, layer: &AvgPool2d) -> Result<ValueId> {
        let padding = sides("Builder::avg_pool2d", &layer.padding, layer.kernel_size, layer.stride)?;
        let params = [
            ("kernel", ints(&layer.kernel_size)),
            ("stride", ints(&layer.stride)),
            ("padding", ints(&padding)),
            ("ceil_mode", layer.ceil_mode.into()),
            ("count_include_pad", layer.count_include_pad.into()),
        ];
        self.op("", "avg_pool2d", &[("x", x)], &params)
    }

    /// `burn::tensor::activation::relu`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn relu(&mut self, x: ValueId) -> Result<ValueId> {
        self.op("", "relu", &[("x", x)], &[])
    }

    /// `a + b`.
    ///
    /// # Errors
    /// `Graph`.
    pub fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.op("", "add", &[("a", a), ("b", b)], &[])
    }

    /// Plans the nodes that `y` needs.
    ///
    /// # Errors
    /// `Graph` with the errors of [`Graph::plan`]: sizes that do not fit, with the node's name; more reorders than allowed.
    pub fn region(mut self, y: ValueId, options: &PlanOptions) -> Result<Region> {
        self.graph.output("y", y)?;
        Region::new(self.graph.plan(options)?)
    }

    /// The name, with a number if another value has it.
    fn fresh(&self, name: &str) -> String {
        let numbered = (2..).map(|n: u64| format!("{name}_{n}"));
        let mut names = std::iter::once(name.to_string()).chain(numbered);
        names.find(|name| self.graph.find(name).is_none()).unwrap_or_default()
    }
}

/// Padding before both axes, and after both.
pub(crate) fn padding(call: &'static str, layer: &Conv2d) -> Result<[usize; 4]> {
    sides(call, &layer.padding, layer.kernel_size, layer.stride)
}

fn sides(
    call: &'static str,
    padding: &PaddingConfig2d,
    kernel: [usize; 2],
    stride: [usize; 2],
) -> Result<[usize; 4]> {
    match *padding {
        PaddingConfig2d::Valid => Ok([0; 4]),
        PaddingConfig2d::Explicit(top, left, bottom, right) => Ok([top, left, bottom, right]),
        // burn's rule, which leaves dilation out.
        PaddingConfig2d::Same if stride == [1, 1] => {
            let [h, w] = kernel.map(|k| k.saturating_sub(1));
            Ok([h / 2, w / 2, h - h / 2, w - w / 2])
        }
        PaddingConfig2d::Same => Err(Error::Invalid {
            call,
            got: format!("`PaddingConfig2d::Same` with stride {stride:?}"),
            rule: "it depends on the size of the image then".to_string(),
            remedy: "say `PaddingConfig2d::Explicit`",
        }),
    }
}

fn int(n: usize) -> Param {
    i64::try_from(n).unwrap_or(i64::MAX).into()
}

fn ints(list: &[usize]) -> Param {
    list.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect::<Vec<_>>().into()
}
