//! AdamW.

use blocktensor::{Complaint, Error, Result, Tensor, ops};

use crate::{check_step, slot};

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
    states: Vec<Option<AdamWState>>,
}

/// What [`AdamW`] keeps of one tensor of weights.
#[derive(Clone, Debug)]
pub struct AdamWState {
    /// The number of steps so far.
    pub steps: i32,
    /// The running mean `m` of the gradients.
    pub mean: Tensor,
    /// The running mean `v` of their squares.
    pub square: Tensor,
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

    /// The rate of the next steps.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Sets the rate of the next steps, for a schedule.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// What is kept of the weights of this number, for saving. `None` before their first step.
    pub fn state(&self, number: usize) -> Option<&AdamWState> {
        self.states.get(number)?.as_ref()
    }

    /// Puts a saved state back: the next [`step`](Self::step) goes on from it.
    pub fn set_state(&mut self, number: usize, state: AdamWState) {
        *slot(&mut self.states, number) = Some(state);
    }

    /// The weights after a step. Weights are told from each other by `number`.
    ///
    /// # Errors
    /// `ShapeMismatch` for a gradient of other sizes than the weights, and for a state of other sizes that was put back.
    /// `InvalidArgument` for such a state whose count of steps is below 0, or `i32::MAX`. Those of the element-wise ops.
    /// After an error the state is as it was.
    #[track_caller]
    pub fn step(&mut self, number: usize, weights: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let [b1, b2] = self.betas;
        let blend = |before: Option<&Tensor>, new: &Tensor, beta: f64| match before {
            Some(before) => ops::axpby(before, new, beta, 1.0 - beta),
            None => ops::mul_scalar(new, 1.0 - beta),
        };
        let before = self.state(number);
        check_step(weights, gradient, before.into_iter().flat_map(|s| [&s.mean, &s.square]))?;
        let mean = blend(before.map(|s| &s.mean), gradient, b1)?;
        let square = blend(before.map(|s| &s.square), &ops::square(gradient)?, b2)?;
        let steps = next_step(before)?;
        let root = ops::sqrt(&ops::mul_scalar(&square, 1.0 / (1.0 - b2.powi(steps)))?)?;
        let step = ops::div(&mean, &ops::add_scalar(&root, self.eps)?)?;
        let moved = -self.rate / (1.0 - b1.powi(steps));
        let next = ops::axpby(weights, &step, 1.0 - self.rate * self.weight_decay, moved)?;
        *slot(&mut self.states, number) = Some(AdamWState { steps, mean, square });
        Ok(next)
    }
}

/// The number of the step after this state. A state that was put back may hold any number.
fn next_step(before: Option<&AdamWState>) -> Result<i32> {
    let steps = before.map_or(0, |s| s.steps);
    if let Some(next) = steps.checked_add(1).filter(|&next| next > 0) {
        return Ok(next);
    }
    let rule = format!("their count is 0 or more, and below {}", i32::MAX);
    let remedy = "put back what `AdamW::state` gave";
    Err(Error::InvalidArgument(Complaint::new("step", "state", format!("{steps} steps"), rule, remedy)))
}
