//! A convolution with packed weights as an operation of burn's.

use std::sync::Arc;

use blocktensor::ops::{Conv2d, Fusion};
use blocktensor::{MemoryFormat, PackedConv2d, Source};
use burn::backend::Dispatch;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use crate::builder::padding;
use crate::error::Result;
use crate::extension::{BlockedOps, dispatch};
use crate::memory::{self, Place};
use crate::reorder::to_strided;

const NAME: &str = "PackedConv";

/// A convolution of burn's whose weights are packed once, for row-major tensors of one size. It makes no reorder: results are row-major
/// too. Clones share the weights.
///
/// Several layers in a row are faster as a [`Region`](crate::Region), which keeps blocked layouts between them.
#[derive(Clone, Debug)]
pub struct PackedConv {
    packed: Arc<PackedConv2d>,
}

impl PackedConv {
    /// Packs the weights of a layer for sources of these sizes.
    ///
    /// ```
    /// use blocktensor_burn::PackedConv;
    /// use burn::nn::conv::Conv2dConfig;
    /// use burn::tensor::{Device, Tensor};
    ///
    /// let device = Device::flex();
    /// let conv = PackedConv::new(&Conv2dConfig::new([3, 20], [3, 3]).init(&device), [1, 3, 8, 8])?;
    /// let y = conv.forward(Tensor::zeros([1, 3, 8, 8], &device))?;
    /// assert_eq!(y.dims(), [1, 20, 6, 6]);
    /// # Ok::<(), blocktensor_burn::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Backend` and `DType` for weights elsewhere; `Invalid` for `PaddingConfig2d::Same` with a stride; `Engine` for sizes that do not
    /// fit.
    pub fn new(layer: &burn::nn::conv::Conv2d, dims: [usize; 4]) -> Result<PackedConv> {
        let [top, left, bottom, right] = padding(NAME, layer)?;
        let params = Conv2d::new()
            .strides(layer.stride)
            .paddings([top, left], [bottom, right])
            .dilations(layer.dilation)
            .groups(layer.groups);
        let weights = to_strided(&layer.weight.val())?;
        let bias = layer.bias.as_ref().map(|bias| to_strided(&bias.val())).transpose()?;
        let source = Source::strided(&dims, MemoryFormat::Contiguous)?;
        let packed = PackedConv2d::new(&weights, bias.as_ref(), params)?.pack_for(&source)?;
        Ok(PackedConv { packed: Arc::new(packed) })
    }

    /// Runs it.
    ///
    /// # Errors
    /// `Backend` for a tensor of another backend or one with autodiff, `DType`; `Engine` with `PackMismatch` for other sizes or strides
    /// than it was packed for.
    pub fn forward(&self, x: Tensor<4>) -> Result<Tensor<4>> {
        dispatch(NAME, x, |x| <Dispatch as BlockedOps>::packed_conv2d(x, self.clone()))
    }

    pub(crate) fn run(&self, x: &FlexTensor) -> Result<FlexTensor> {
        let x = memory::share(NAME, x)?;
        let mut y = Place::<f32>::new(NAME, &self.packed.dst_dims())?;
        blocktensor::run(|| self.packed.run_into(&x, Fusion::default(), y.tensor()))?;
        Ok(y.into_flex())
    }
}
