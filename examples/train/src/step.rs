//! Steps of training, and evaluation.

use blocktensor::{Result, StridedTensor, Tensor};
use blocktensor_grad::{check, cross_entropy, record};

use crate::data::Data;
use crate::layers::Pass;
use crate::model::Model;
use crate::net::Net;

/// Makes the weights of a network, or takes them out of the file that it is resumed from. Nothing is computed.
///
/// # Errors
/// Those of the calls: weights of a file that do not fit.
pub fn prepare(net: Net, model: &mut Model, data: &Data) -> Result<()> {
    check(|tape| {
        let mut pass = Pass::new(tape, model, false);
        let images = pass.images(&data.images[0]);
        net.forward(&mut pass, &images)
    })?;
    Ok(())
}

/// Trains one step on the batch that is next, and returns its loss.
///
/// # Errors
/// Those of the calls.
pub fn step(net: Net, model: &mut Model, data: &Data) -> Result<f32> {
    let batch = model.steps % data.images.len();
    let recording = record(|tape| {
        let mut pass = Pass::new(tape, model, true);
        let images = pass.images(&data.images[batch]);
        let logits = net.forward(&mut pass, &images)?;
        let weights = pass.into_weights();
        let classes = tape.constant(data.classes[batch].clone().into());
        Ok((weights, cross_entropy(tape, &logits, &classes)?))
    })?;
    let (weights, loss) = recording.value().clone();
    let gradients = recording.backward(&loss)?;
    for (number, var) in weights {
        let gradient = gradients.of(&var).expect("the loss depends on all weights");
        model.weights[number].value = model.sgd.step(number, var.tensor(), gradient)?;
    }
    model.steps += 1;
    Ok(strided(loss.tensor()).to_vec()?[0])
}

/// Of each pixel or image the share whose class has the largest logit, with the running statistics.
///
/// # Errors
/// Those of the calls.
pub fn accuracy(net: Net, model: &mut Model, data: &Data) -> Result<f64> {
    let (mut right, mut all) = (0, 0);
    for (images, classes) in data.images.iter().zip(&data.classes) {
        let logits = record(|tape| {
            let mut pass = Pass::new(tape, model, false);
            let images = pass.images(images);
            net.forward(&mut pass, &images)
        })?;
        let logits = strided(logits.value().tensor());
        let (dims, values, classes) = (logits.dims(), logits.to_vec::<f32>()?, classes.to_vec::<i32>()?);
        let pixels = dims[2] * dims[3];
        for (i, &class) in classes.iter().enumerate() {
            let at = |c: usize| values[(i / pixels * dims[1] + c) * pixels + i % pixels];
            let best = (0..dims[1]).max_by(|&a, &b| at(a).total_cmp(&at(b)));
            right += usize::from(best == usize::try_from(class).ok());
        }
        all += classes.len();
    }
    Ok(right as f64 / all as f64)
}

fn strided(t: &Tensor) -> &StridedTensor {
    match t {
        Tensor::Strided(t) => t,
        _ => unreachable!("the loss and the logits are strided"),
    }
}
