//! Stochastic gradient descent with momentum and weight decay.

use blocktensor::{Result, Tensor, ops};

use crate::{check_step, slot};

/// `g = gradient + weight_decay * w; v = momentum * v + g; w = w - rate * v`, as `torch.optim.SGD` without dampening.
///
/// Each is an element-wise op in the layout of the weights: blocked weights stay blocked.
#[derive(Clone, Debug)]
pub struct Sgd {
    rate: f64,
    momentum: f64,
    weight_decay: f64,
    velocities: Vec<Option<Tensor>>,
}

impl Sgd {
    /// Without momentum and weight decay.
    pub fn new(rate: f64) -> Sgd {
        Sgd { rate, momentum: 0.0, weight_decay: 0.0, velocities: Vec::new() }
    }

    /// With this momentum.
    pub fn momentum(self, momentum: f64) -> Sgd {
        Sgd { momentum, ..self }
    }

    /// With this weight decay.
    pub fn weight_decay(self, weight_decay: f64) -> Sgd {
        Sgd { weight_decay, ..self }
    }

    /// The rate of the next steps.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Sets the rate of the next steps, for a schedule.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// The velocity `v` of the weights of this number, for saving. `None` before their first step, and without
    /// momentum.
    pub fn velocity(&self, number: usize) -> Option<&Tensor> {
        self.velocities.get(number)?.as_ref()
    }

    /// Puts a saved velocity back: the next [`step`](Self::step) goes on from it.
    pub fn set_velocity(&mut self, number: usize, velocity: Tensor) {
        *slot(&mut self.velocities, number) = Some(velocity);
    }

    /// The weights after a step. Weights are told from each other by `number`.
    ///
    /// # Errors
    /// `ShapeMismatch` for a gradient, or a velocity that was put back, of other sizes than the weights; those of the element-wise ops.
    /// After an error the velocity is as it was.
    #[track_caller]
    pub fn step(&mut self, number: usize, weights: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let before = self.velocity(number).filter(|_| self.momentum != 0.0);
        check_step(weights, gradient, before)?;
        let decayed = match self.weight_decay {
            0.0 => gradient.clone(),
            decay => ops::axpby(gradient, weights, 1.0, decay)?,
        };
        let velocity = match before {
            Some(before) => ops::axpby(before, &decayed, self.momentum, 1.0)?,
            // A copy where it is kept: another library may write to the memory of a gradient.
            None if self.momentum != 0.0 => ops::mul_scalar(&decayed, 1.0)?,
            None => decayed,
        };
        let next = ops::axpby(weights, &velocity, 1.0, -self.rate)?;
        if self.momentum != 0.0 {
            *slot(&mut self.velocities, number) = Some(velocity);
        }
        Ok(next)
    }
}
