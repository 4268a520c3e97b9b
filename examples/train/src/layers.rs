//! The layers of the networks: calls on a tape, with the weights of a model by their name.

use blocktensor::dispatch::Value;
use blocktensor::ops::Algorithm;
use blocktensor::{BoundOp, MemoryFormat, Operand, Result, Tensor};
use blocktensor_grad::{Tape, Var};

use crate::model::{Format, Model, Of};

/// A forward pass: in training with the statistics of the batch, else with the running ones.
pub struct Pass<'a> {
    tape: &'a mut Tape,
    model: &'a mut Model,
    is_training: bool,
    /// The weights that were asked for, by their number in the model.
    weights: Vec<(usize, Var)>,
}

/// The channels of a value.
fn channels(x: &Var) -> usize {
    x.tensor().tensor_ref().dims()[1]
}

impl<'a> Pass<'a> {
    /// A pass that no call was made in.
    pub fn new(tape: &'a mut Tape, model: &'a mut Model, is_training: bool) -> Pass<'a> {
        Pass { tape, model, is_training, weights: Vec::new() }
    }

    /// Weights and their numbers in the model.
    pub fn into_weights(self) -> Vec<(usize, Var)> {
        self.weights
    }

    fn weight(&mut self, name: &str, dims: &[usize], of: Of, start: f32) -> Result<Var> {
        let number = self.model.weight(name, dims, of, start)?;
        let value = self.model.weights[number].value.clone();
        // Without gradients the tape keeps nothing.
        let var = if self.is_training { self.tape.variable(value) } else { self.tape.constant(value) };
        self.weights.push((number, var.clone()));
        Ok(var)
    }

    /// A convolution without bias, padded to keep the size at stride 1.
    pub fn conv(&mut self, name: &str, x: &Var, to: usize, kernel: usize, stride: i64) -> Result<Var> {
        let w = self.weight(&format!("{name}.weight"), &[to, channels(x), kernel, kernel], Of::Dense, 1.0)?;
        let padding = (kernel / 2) as i64;
        let mut params: Vec<(&str, Value)> =
            vec![("padding", vec![padding].into()), ("stride", vec![stride].into())];
        let algorithm = self.model.algorithm;
        if algorithm != Algorithm::Direct
            && self.model.format == Format::Blocked
            && (kernel, stride) == (3, 1)
        {
            params.push(("algorithm", algorithm.to_string().into()));
        }
        self.tape.call(&BoundOp::new("conv2d", &["x", "weights"], &params)?, &[x, &w])
    }

    /// A depthwise convolution of 3x3 without bias, padded to keep the size at stride 1.
    pub fn depthwise(&mut self, name: &str, x: &Var, stride: i64) -> Result<Var> {
        let c = channels(x);
        let w = self.weight(&format!("{name}.weight"), &[c, 1, 3, 3], Of::Depthwise, 1.0)?;
        let params =
            [("padding", vec![1i64].into()), ("stride", vec![stride].into()), ("groups", (c as i64).into())];
        self.tape.call(&BoundOp::new("conv2d", &["x", "weights"], &params)?, &[x, &w])
    }

    /// A convolution with bias: the last layer. On one pixel it is a linear layer. Its weights start small, so that the first loss is
    /// near that of equal probabilities.
    pub fn conv_with_bias(
        &mut self,
        name: &str,
        x: &Var,
        to: usize,
        kernel: usize,
        padding: i64,
    ) -> Result<Var> {
        let w = self.weight(&format!("{name}.weight"), &[to, channels(x), kernel, kernel], Of::Dense, 0.1)?;
        let bias = self.weight(&format!("{name}.bias"), &[to], Of::Dense, 0.0)?;
        let params = [("padding", vec![padding].into())];
        self.tape.call(&BoundOp::new("conv2d", &["x", "weights", "bias"], &params)?, &[x, &w, &bias])
    }

    /// A transposed convolution of 2x2 with stride 2: twice the size.
    pub fn up(&mut self, name: &str, x: &Var, to: usize) -> Result<Var> {
        let w = self.weight(&format!("{name}.weight"), &[channels(x), to, 2, 2], Of::Transposed, 1.0)?;
        let bias = self.weight(&format!("{name}.bias"), &[to], Of::Dense, 0.0)?;
        let params = [("stride", vec![2i64].into())];
        self.tape
            .call(&BoundOp::new("conv_transpose2d", &["x", "weights", "bias"], &params)?, &[x, &w, &bias])
    }

    /// A batch norm whose weights start at 1. In training it also makes the running statistics that evaluation uses.
    pub fn norm(&mut self, name: &str, x: &Var) -> Result<Var> {
        self.norm_from(name, x, 1.0)
    }

    /// A batch norm whose weights start at `start`.
    pub fn norm_from(&mut self, name: &str, x: &Var, start: f32) -> Result<Var> {
        let c = channels(x);
        let weight = self.weight(&format!("{name}.weight"), &[c], Of::Dense, start)?;
        let bias = self.weight(&format!("{name}.bias"), &[c], Of::Dense, 0.0)?;
        let names = ["running_mean", "running_var"].map(|of| format!("{name}.{of}"));
        let mean = self.model.statistics(&names[0], c, 0.0)?;
        let var = self.model.statistics(&names[1], c, 1.0)?;
        let [mean, var] = [mean, var].map(|t| self.tape.constant(t));
        if !self.is_training {
            let op = BoundOp::new("batch_norm", &["x", "mean", "var", "weight", "bias"], &[])?;
            return self.tape.call(&op, &[x, &mean, &var, &weight, &bias]);
        }
        let args = ["x", "running_mean", "running_var", "weight", "bias"];
        let op = BoundOp::new("batch_norm_train", &args, &[])?;
        let mut results = self.tape.call_all(&op, &[x, &mean, &var, &weight, &bias])?.into_iter();
        let y = results.next();
        for (name, new) in names.into_iter().zip(results) {
            self.model.statistics.insert(name, new.tensor().clone());
        }
        Ok(y.expect("the first result of a batch norm is y"))
    }

    /// An element-wise or pooling op without parameters.
    pub fn unary(&mut self, op: &str, x: &Var) -> Result<Var> {
        self.tape.call(&BoundOp::new(op, &["x"], &[])?, &[x])
    }

    /// The sum.
    pub fn add(&mut self, a: &Var, b: &Var) -> Result<Var> {
        self.tape.call(&BoundOp::new("add", &["a", "b"], &[])?, &[a, b])
    }

    /// The largest of each 2x2.
    pub fn max_pool(&mut self, x: &Var) -> Result<Var> {
        self.max_pool_of(x, 2, 0)
    }

    /// The largest of windows that begin two pixels apart.
    pub fn max_pool_of(&mut self, x: &Var, kernel: i64, padding: i64) -> Result<Var> {
        let params = [
            ("kernel", vec![kernel].into()),
            ("stride", vec![2i64].into()),
            ("padding", vec![padding].into()),
        ];
        self.tape.call(&BoundOp::new("max_pool2d", &["x"], &params)?, &[x])
    }

    /// The channels of both.
    pub fn cat(&mut self, a: &Var, b: &Var) -> Result<Var> {
        let op = BoundOp::new("cat", &["tensors", "tensors"], &[("axis", 1i64.into())])?;
        self.tape.call(&op, &[a, b])
    }

    /// The result as a loss takes it: strided. In blocked layout this and its gradient are the only reorders of a step.
    pub fn out(&mut self, x: &Var) -> Result<Var> {
        match self.model.format {
            Format::Blocked => self.tape.to_strided(x, MemoryFormat::ChannelsLast),
            Format::Nhwc => Ok(x.clone()),
        }
    }

    /// Images.
    pub fn images(&mut self, images: &Tensor) -> Var {
        self.tape.constant(images.clone())
    }
}
