//! The ops themselves, called by name, give the strides that PyTorch's give.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, MemoryFormat, StridedTensor, Tensor, elementwise};

use super::{every_line, f32_tensor, list, same};

type Args = Vec<(&'static str, Value)>;

fn ones(dims: &[usize]) -> Value {
    StridedTensor::full(dims, 1f32, MemoryFormat::Contiguous).unwrap().into()
}

fn ints(list: &[i64]) -> Value {
    Value::Ints(list.to_vec())
}

/// The call that answers a line.
fn call_of(op: &str, x: &StridedTensor) -> Option<(&'static str, Args)> {
    let c = x.dims()[1];
    let convolution = |weights: [usize; 4], groups: usize| -> Args {
        vec![("weights", ones(&weights)), ("padding", ints(&[1, 1])), ("groups", Value::Int(groups as i64))]
    };
    let pool = || -> Args { vec![("kernel", ints(&[2])), ("stride", ints(&[1])), ("padding", ints(&[1]))] };
    let scaled = || -> Args {
        let output: Vec<i64> = x.dims()[2..].iter().map(|&d| 2 * d as i64).collect();
        vec![("output", Value::Ints(output))]
    };
    let params = || -> Args { vec![("weight", ones(&[c])), ("bias", ones(&[c]))] };
    let tensors = |other: StridedTensor| -> Args {
        vec![("tensors", Value::Tensors(vec![x.clone().into(), other.into()])), ("axis", Value::Int(1))]
    };
    let (name, args): (&'static str, Args) = match op {
        "conv2d" => ("conv2d", convolution([8, c, 3, 3], 1)),
        "conv2d_grouped" => ("conv2d", convolution([c, 1, 3, 3], c)),
        "conv_transpose2d" => {
            ("conv_transpose2d", vec![("weights", ones(&[c, 8, 2, 2])), ("stride", ints(&[2, 2]))])
        }
        "max_pool2d" => ("max_pool2d", pool()),
        "avg_pool2d" => ("avg_pool2d", pool()),
        "adaptive_avg_pool2d" => ("adaptive_avg_pool2d", vec![("output", ints(&[2, 1]))]),
        "batch_norm" => {
            let statistics = vec![("mean", ones(&[c])), ("var", ones(&[c]))];
            ("batch_norm", statistics.into_iter().chain(params()).collect())
        }
        "group_norm" => ("group_norm", [("groups", Value::Int(1))].into_iter().chain(params()).collect()),
        "instance_norm" => ("instance_norm", vec![]),
        "layer_norm" => {
            let shape: Vec<i64> = x.dims()[1..].iter().map(|&d| d as i64).collect();
            ("layer_norm", vec![("normalized_shape", Value::Ints(shape))])
        }
        "upsample_nearest" => ("upsample_nearest", scaled()),
        "upsample_bilinear" => ("upsample_bilinear", scaled()),
        "pad" => ("pad", vec![("padding", ints(&[1, 1, 1, 1]))]),
        "pad_reflect" => ("pad", vec![("padding", ints(&[1, 1, 1, 1])), ("mode", "reflect".into())]),
        "softmax_c" => ("softmax", vec![("axis", Value::Int(1))]),
        "mean_hw" => ("mean", vec![("axes", ints(&[2, 3])), ("keepdim", Value::Bool(true))]),
        "dropout_train" => ("dropout", vec![]),
        "feature_dropout" => ("feature_dropout", vec![]),
        "cat_c" => return Some(("cat", tensors(x.clone()))),
        "cat_mixed" => {
            // A fresh one: `contiguous` gives a tensor back that is contiguous both ways.
            let other = StridedTensor::zeros(x.dims(), DType::F32, MemoryFormat::Contiguous).ok()?;
            return Some(("cat", tensors(other)));
        }
        "relu" => ("relu", vec![]),
        "prelu" => ("prelu", vec![("weights", ones(&[c]))]),
        "pixel_shuffle" => ("pixel_shuffle", vec![("factor", Value::Int(2))]),
        "channel_shuffle" => ("channel_shuffle", vec![("groups", Value::Int(2))]),
        _ => return None,
    };
    Some((name, [("x", Value::from(x.clone()))].into_iter().chain(args).collect()))
}

#[test]
fn goldens_strides_ops_called() {
    every_line("ops.jsonl", |line| {
        let x = f32_tensor(&line["input"])?;
        let (dims, strides) = (list(&line["out"]["size"])?, list(&line["out"]["stride"])?);
        let op = line["op"].as_str().ok_or("no op")?;
        let result = if op == "clone" {
            let mut to = x.empty_like(MemoryFormat::Preserve).map_err(|e| e.to_string())?;
            elementwise::copy_into("clone", &mut to, &x).map_err(|e| e.to_string())?;
            to
        } else {
            let (name, args) = call_of(op, &x).ok_or_else(|| format!("unknown op {op}"))?;
            match dispatch::call(name, &args).map_err(|e| e.to_string())?.remove(0) {
                Tensor::Strided(t) => t,
                other => return Err(format!("{other:?}")),
            }
        };
        same("dtype", result.dtype(), DType::F32)?;
        same("size", result.dims().to_vec(), dims)?;
        same("stride", result.strides().to_vec(), strides)
    });
}
