//! The tensor that `--input` names and the one that `--output` does.

use std::path::Path;

use blocktensor::{MemoryFormat, StridedTensor};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::failure::Failure;

/// Tensor `input` of a safetensors file: f32, [N, 3, H, H]; [3, H, H] is one image.
pub fn read_input(path: &Path) -> Result<StridedTensor, Failure> {
    let bad = |text: String| Failure::usage("--input", format!("{}: {text}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|e| bad(format!("this is no whole safetensors file ({e}); write it again")))?;
    let view = file.tensor("input").map_err(|_| {
        let names = file.names();
        let shown: Vec<&str> = names.iter().take(5).copied().collect();
        let more = if names.len() > shown.len() { ", ..." } else { "" };
        bad(format!("it has no tensor `input`, but: {}{more}; name the tensor `input`", shown.join(", ")))
    })?;
    if view.dtype() != Dtype::F32 {
        return Err(bad(format!("`input` is {:?}; write it as f32", view.dtype())));
    }
    let dims = match *view.shape() {
        [c, h, w] => [1, c, h, w],
        [n, c, h, w] => [n, c, h, w],
        _ => return Err(bad(format!("`input` is {:?}, and images are [N, 3, H, H]", view.shape()))),
    };
    let [n, c, h, w] = dims;
    let remedy = match () {
        _ if c != 3 && w == 3 => "channels come before height and width: permute it to [N, 3, H, H]",
        _ if c != 3 => "images have three channels, [N, 3, H, H]",
        _ if n == 0 || h == 0 || w == 0 => "there is nothing in it; pass an image",
        _ if h != w => "images are square; crop or pad them",
        _ => {
            let values: Vec<f32> =
                view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            return Ok(StridedTensor::from_slice(&values, &dims)?);
        }
    };
    Err(bad(format!("`input` is {:?}; {remedy}", view.shape())))
}

/// Fails now if the file cannot be written after the runs. What is there stays as it is.
pub fn check_output(path: &Path) -> Result<(), Failure> {
    let existed = path.symlink_metadata().is_ok();
    std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(|e| unwritable(path, &e))?;
    if !existed {
        std::fs::remove_file(path).map_err(|e| unwritable(path, &e))?;
    }
    Ok(())
}

/// Writes logits as tensor `output`.
pub fn write_output(path: &Path, logits: &StridedTensor) -> Result<(), Failure> {
    let logits = logits.contiguous(MemoryFormat::Contiguous)?;
    let bytes: Vec<u8> = logits.to_vec::<f32>()?.into_iter().flat_map(f32::to_le_bytes).collect();
    let file = TensorView::new(Dtype::F32, logits.dims().to_vec(), &bytes)
        .and_then(|view| safetensors::serialize([("output", view)], None))
        .map_err(|e| unwritable(path, &e))?;
    std::fs::write(path, file).map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &Path, e: &dyn std::fmt::Display) -> Failure {
    Failure::usage("--output", format!("{}: {e}", path.display()))
}
