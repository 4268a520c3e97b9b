use blocktensor::{DType, FormatRule, MemoryFormat, StridedTensor};

use super::{every_line, f32_tensor, list, same};

/// The rule of each op, applied to operands as PyTorch's op sees them, gives the strides of PyTorch's result.
#[test]
fn goldens_strides_ops_rules() {
    every_line("ops.jsonl", |line| {
        let x = f32_tensor(&line["input"])?;
        let (dims, strides) = (list(&line["out"]["size"])?, list(&line["out"]["stride"])?);
        let contiguous = |dims: &[usize]| {
            StridedTensor::zeros(dims, DType::F32, MemoryFormat::Contiguous).map_err(|e| e.to_string())
        };
        let mut operands = vec![x.clone()];
        let rule = match line["op"].as_str().ok_or("no op")? {
            "conv2d" | "conv2d_grouped" | "conv_transpose2d" => {
                operands.push(contiguous(&[8, 4, 3, 3])?);
                FormatRule::AnySuggests
            }
            "max_pool2d"
            | "avg_pool2d"
            | "adaptive_avg_pool2d"
            | "group_norm"
            | "upsample_nearest"
            | "upsample_bilinear"
            | "pad"
            | "pad_reflect"
            | "pixel_shuffle"
            | "channel_shuffle" => FormatRule::Suggested,
            "cat_c" => {
                operands.push(x.clone());
                FormatRule::AllSuggest
            }
            "cat_mixed" => {
                operands.push(contiguous(x.dims())?);
                FormatRule::AllSuggest
            }
            "feature_dropout" => {
                operands.push(contiguous(&[x.dims()[0], x.dims()[1], 1, 1])?);
                FormatRule::ElementWise
            }
            "batch_norm" | "relu" | "dropout_train" => FormatRule::ElementWise,
            "prelu" | "clone" => FormatRule::Like,
            "softmax_c" | "layer_norm" | "instance_norm" | "mean_hw" => FormatRule::Contiguous,
            other => return Err(format!("unknown op {other}")),
        };
        let operands: Vec<&StridedTensor> = operands.iter().collect();
        let result = rule.empty_result("golden", &operands, &dims, DType::F32).map_err(|e| e.to_string())?;
        same("stride", result.strides().to_vec(), strides)
    });
}
