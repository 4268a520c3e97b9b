//! AdamW.

use blocktensor::{Result, Tensor, ops};

/// As `torch.optim.AdamW`. Step `t` with gradient `g`:
///
/// - The weights decay: `w = w - rate * decay * w`.
/// - Running means: `m = b1 * m + (1 - b1) * g` and `v = b2 * v + (1 - b2) * g^2`.
/// - Without their start at 0 they are `m / (1 - b1^t)` and `v / (1 - b2^t)`.
/// - The weights move: `w = w - rate * m / (sqrt(v) + eps)`, of those.
///
/// Each is an element-wise op in the layout of the weights: blocked weights stay blocked.
#[derive(Clone, Debug)]
pub struct AdamW {
    rate: f64,
    betas: [f64; 2],
    eps: f64,
    weight_decay: f64,
    states: Vec<Option<State>>,
}

/// Of one tensor of weights.
#[derive(Clone, Debug)]
struct State {
    steps: i32,
    mean: Tensor,
    square: Tensor,
}

impl AdamW {
    /// With PyTorch's defaults: betas 0.9 and 0.999, eps 1e-8, weight decay 0.01.
    pub fn new(rate: f64) -> AdamW {
        AdamW { rate, betas: [0.9, 0.999], eps: 1e-8, weight_decay: 0.01, states: Vec::new() }
    }

    /// With these factors of the running means of gradients and of their squares.
    pub fn betas(self, mean: f64, square: f64) -> AdamW {
        AdamW { betas: [mean, square], ..self }
    }

    /// With this number added to each root.
    pub fn eps(self, eps: f64) -> AdamW {
        AdamW { eps, ..self }
    }

    /// With this weight decay.
    pub fn weight_decay(self, weight_decay: f64) -> AdamW {
        AdamW { weight_decay, ..self }
    }

    /// The weights after a step. Weights are told from each other by `number`.
    ///
    /// # Errors
    /// Those of the element-wise ops: a gradient that is not as its weights.
    #[track_caller]
    pub fn step(&mut self, number: usize, weights: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let [b1, b2] = self.betas;
        if self.states.len() <= number {
            self.states.resize(number + 1, None);
        }
        let blend = |before: Option<&Tensor>, new: &Tensor, beta: f64| {
            let new = ops::mul_scalar(new, 1.0 - beta)?;
            before.map_or(Ok(new.clone()), |before| ops::add(&ops::mul_scalar(before, beta)?, &new))
        };
        let before = self.states[number].as_ref();
        let mean = blend(before.map(|s| &s.mean), gradient, b1)?;
        let square = blend(before.map(|s| &s.square), &ops::square(gradient)?, b2)?;
        let steps = before.map_or(0, |s| s.steps) + 1;
        let root = ops::sqrt(&ops::mul_scalar(&square, 1.0 / (1.0 - b2.powi(steps)))?)?;
        let step = ops::div(&mean, &ops::add_scalar(&root, self.eps)?)?;
        let decayed = ops::mul_scalar(weights, 1.0 - self.rate * self.weight_decay)?;
        let next = ops::sub(&decayed, &ops::mul_scalar(&step, self.rate / (1.0 - b1.powi(steps)))?)?;
        self.states[number] = Some(State { steps, mean, square });
        Ok(next)
    }
}
