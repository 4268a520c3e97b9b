//! What a training changes: weights, running statistics, and the optimiser's velocities.

use std::collections::BTreeMap;
use std::path::Path;

use blocktensor::ops::Algorithm;
use blocktensor::{
    Complaint, Error, Layout, MemoryFormat, Result, StateDict, StridedTensor, Tensor, WeightsKind,
};
use blocktensor_grad::Sgd;

use crate::random::Random;

/// In which format a network computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Channels last, strided.
    Nhwc,
    /// Blocked: `nChw16c` where vectors have 16 numbers.
    Blocked,
}

/// Weights of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Weight {
    pub name: String,
    pub value: Tensor,
    of: Of,
}

/// What weights belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// A convolution, or a vector of one number for each channel.
    Dense,
    /// A convolution with a group for each channel.
    Depthwise,
    /// A transposed convolution: blocked ones have their output channels first, PyTorch's have them second.
    Transposed,
}

/// A network's state. Weights are made when the network first asks for them, from their name and the seed.
#[derive(Debug)]
pub struct Model {
    /// In which format it computes.
    pub format: Format,
    /// How many steps it was trained.
    pub steps: usize,
    /// How 3x3 convolutions with stride 1 are computed, and the gradients of their sources and weights, in blocked layout.
    pub algorithm: Algorithm,
    seed: u64,
    pub(crate) weights: Vec<Weight>,
    pub(crate) statistics: BTreeMap<String, Tensor>,
    pub(crate) sgd: Sgd,
    /// Of a file: weights and velocities that are not asked for yet.
    saved: Option<StateDict>,
}

/// In a file, the name of the number of steps, and the prefix of velocities.
const STEPS: &str = "train.steps";
const VELOCITY: &str = "train.velocity.";

impl Model {
    /// A network before its training.
    pub fn new(format: Format, seed: u64, sgd: Sgd) -> Model {
        let (weights, statistics) = (Vec::new(), BTreeMap::new());
        Model { format, steps: 0, algorithm: Algorithm::Direct, seed, weights, statistics, sgd, saved: None }
    }

    /// A network as [`save`](Self::save) left it, in any format.
    ///
    /// # Errors
    /// Those of [`StateDict::read`]; `InvalidArgument` if the file is not of a training.
    pub fn resume(path: &Path, format: Format, sgd: Sgd) -> Result<Model> {
        let mut saved = StateDict::read(path)?;
        let steps = saved.take(STEPS)?.to_vec::<i32>()?;
        let mut model = Model::new(format, 0, sgd);
        model.steps = match steps[..] {
            [steps] if steps >= 0 => steps as usize,
            _ => {
                let rule = format!("`{STEPS}` is one number of 0 or more");
                let remedy = "resume with a file that `save` wrote";
                let complaint = Complaint::new("resume", "file", format!("{steps:?}"), rule, remedy);
                return Err(Error::InvalidArgument(complaint));
            }
        };
        model.saved = Some(saved);
        Ok(model)
    }

    /// Writes weights and statistics under PyTorch's names, velocities, and the number of steps.
    ///
    /// # Errors
    /// Those of [`StateDict::save`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut dict = StateDict::new();
        for (number, weight) in self.weights.iter().enumerate() {
            dict.insert(&weight.name, self.plain(weight, &weight.value)?);
            if let Some(velocity) = self.sgd.velocity(number) {
                dict.insert(format!("{VELOCITY}{}", weight.name), self.plain(weight, velocity)?);
            }
        }
        for (name, statistics) in &self.statistics {
            dict.insert(name, strided(statistics)?);
        }
        dict.insert(STEPS, StridedTensor::from_slice(&[self.steps as i32], &[1])?);
        dict.save(path)
    }

    /// Weights, or their velocity, as PyTorch has them.
    fn plain(&self, weight: &Weight, value: &Tensor) -> Result<StridedTensor> {
        let plain = strided(value)?;
        match (weight.of, value) {
            (Of::Transposed, Tensor::Blocked(_)) => {
                plain.transpose(0, 1)?.contiguous(MemoryFormat::Contiguous)
            }
            // The groups apart.
            (Of::Depthwise, Tensor::Blocked(_)) => {
                let dims = plain.dims();
                plain.reshape(&[dims[0], 1, dims[3], dims[4]])
            }
            _ => Ok(plain),
        }
    }

    /// The same of PyTorch's, in the network's format.
    fn packed(&self, plain: StridedTensor, of: Of) -> Result<Tensor> {
        Ok(match (plain.rank(), self.format) {
            (4, Format::Blocked) => {
                let (plain, kind) = match of {
                    Of::Dense => (plain, WeightsKind::Dense),
                    Of::Transposed => (plain.transpose(0, 1)?, WeightsKind::Dense),
                    Of::Depthwise => {
                        let [groups, _, h, w] = plain.dims()[..] else { unreachable!("the rank is 4") };
                        (plain.reshape(&[groups, 1, 1, h, w])?, WeightsKind::Depthwise)
                    }
                };
                plain.to_blocked(&Layout::native_weights(plain.rank(), kind)?)?.into()
            }
            // Also in NHWC: convolutions take row-major weights without a copy.
            _ => plain.into(),
        })
    }

    /// The number of the weights of this name. New ones of rank 4 are uniform with the variance 2 / `fan_in` (He et al.), times `start`;
    /// those of rank 1 are `start`.
    pub(crate) fn weight(&mut self, name: &str, dims: &[usize], of: Of, start: f32) -> Result<usize> {
        if let Some(number) = self.weights.iter().position(|w| w.name == name) {
            return Ok(number);
        }
        let number = self.weights.len();
        let plain = match &mut self.saved {
            Some(saved) => {
                if let Ok(velocity) = saved.take(&format!("{VELOCITY}{name}")) {
                    let velocity = self.packed(velocity, of)?;
                    self.sgd.set_velocity(number, velocity);
                }
                self.taken(name, dims)?
            }
            None if dims.len() == 1 => StridedTensor::from_slice(&vec![start; dims[0]], dims)?,
            None => {
                let fan_in = dims[1..].iter().product::<usize>();
                let bound = start * (6.0 / fan_in as f32).sqrt();
                let mut random = Random::of(self.seed, name);
                let values: Vec<f32> =
                    (0..dims.iter().product()).map(|_| random.between(-bound, bound)).collect();
                StridedTensor::from_slice(&values, dims)?
            }
        };
        let value = self.packed(plain, of)?;
        self.weights.push(Weight { name: name.into(), value, of });
        Ok(number)
    }

    /// The running statistics of this name; new ones are `fill`.
    pub(crate) fn statistics(&mut self, name: &str, channels: usize, fill: f32) -> Result<Tensor> {
        if !self.statistics.contains_key(name) {
            let new = match self.saved {
                Some(_) => self.taken(name, &[channels])?,
                None => StridedTensor::from_slice(&vec![fill; channels], &[channels])?,
            };
            self.statistics.insert(name.into(), new.into());
        }
        Ok(self.statistics[name].clone())
    }

    /// A tensor of the file, of these sizes.
    fn taken(&mut self, name: &str, dims: &[usize]) -> Result<StridedTensor> {
        let tensor = self.saved.get_or_insert_default().take(name)?;
        if tensor.dims() == dims {
            return Ok(tensor);
        }
        let rule = format!("`{name}` of this network is {dims:?}");
        let got = format!("{:?}", tensor.dims());
        let remedy = "resume with the same network";
        Err(Error::ShapeMismatch(Complaint::new("resume", "file", got, rule, remedy)))
    }
}

/// In row-major order.
fn strided(t: &Tensor) -> Result<StridedTensor> {
    match t {
        Tensor::Strided(t) => t.contiguous(MemoryFormat::Contiguous),
        Tensor::Blocked(t) => t.to_strided(MemoryFormat::Contiguous),
        Tensor::Opaque(_) => unreachable!("all weights are strided or blocked"),
    }
}
