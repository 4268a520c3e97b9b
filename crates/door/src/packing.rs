//! Convolutions to pack.

use blocktensor::dispatch::Value;
use blocktensor::ops::BatchNorm;
use blocktensor::{AnyConvPacker, Complaint, Error, Result, Source, StridedTensor};

/// The tensors and the number of a batch norm to fold.
pub struct Norm {
    /// The mean of each channel.
    pub mean: StridedTensor,
    /// The variance of each channel.
    pub var: StridedTensor,
    /// The weight of each channel.
    pub weight: Option<StridedTensor>,
    /// The bias of each channel.
    pub bias: Option<StridedTensor>,
    /// What is added to the variance.
    pub eps: f64,
}

impl Norm {
    /// `eps` where the caller says none.
    pub const EPS: f64 = 1e-5;
}

/// What a convolution is packed of, and for.
pub struct Request<'a> {
    /// Plain weights.
    pub weights: StridedTensor,
    /// A bias.
    pub bias: Option<StridedTensor>,
    /// A batch norm that is folded into weights and bias.
    pub norm: Option<Norm>,
    /// The op's parameters.
    pub params: Vec<(&'a str, Value)>,
    /// The source that the weights are for.
    pub source: Source,
}

impl Request<'_> {
    /// The op of this kind, `conv` or `conv_transpose`, for a source of this rank, which `function` was called with.
    ///
    /// # Errors
    /// `RankMismatch` if there is none.
    pub fn op(function: &'static str, kind: &str, rank: usize) -> Result<String> {
        if (3..=5).contains(&rank) {
            return Ok(format!("{kind}{}d", rank - 2));
        }
        let got = format!("a tensor of rank {rank}");
        let rule = "convolutions have 1 to 3 spatial dimensions: rank 3 to 5";
        let remedy = "pass a source of one of these ranks";
        Err(Error::RankMismatch(Complaint::new(function, "like", got, rule, remedy)))
    }

    /// The packer of this op.
    ///
    /// # Errors
    /// As [`AnyConvPacker::new`] and [`AnyConvPacker::fold_batch_norm`].
    pub fn packer(&self, op: &str) -> Result<AnyConvPacker> {
        let packer = AnyConvPacker::new(op, &self.weights, self.bias.as_ref(), &self.params)?;
        let Some(Norm { mean, var, weight, bias, eps }) = &self.norm else { return Ok(packer) };
        let norm = BatchNorm { mean, var, weight: weight.as_ref(), bias: bias.as_ref(), eps: *eps };
        packer.fold_batch_norm(&norm)
    }
}
