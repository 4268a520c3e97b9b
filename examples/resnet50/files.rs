//! The tensors of `--input` and `--output`.

use std::path::Path;

use blocktensor::{DType, Error, StateDict, StridedTensor};

use crate::failure::Failure;

/// Tensor `input` of a safetensors file: f32, [N, 3, H, H]; [3, H, H] is one image.
pub fn read_input(path: &Path) -> Result<StridedTensor, Failure> {
    let bad = |text: String| Failure::usage("--input", format!("{}: {text}", path.display()));
    let mut dict = StateDict::read(path).map_err(|e| bad(told(&e)))?;
    let Ok(input) = dict.take("input") else {
        let names: Vec<&str> = dict.names().take(6).collect();
        let more = if names.len() > 5 { ", ..." } else { "" };
        let shown = names[..names.len().min(5)].join(", ");
        return Err(bad(format!("it has no tensor `input`, but: {shown}{more}; name the tensor `input`")));
    };
    if input.dtype() != DType::F32 {
        return Err(bad(format!("`input` is {}; write it as f32", input.dtype())));
    }
    let dims = match *input.dims() {
        [c, h, w] => [1, c, h, w],
        [n, c, h, w] => [n, c, h, w],
        _ => return Err(bad(format!("`input` is {:?}, and images are [N, 3, H, H]", input.dims()))),
    };
    let [n, c, h, w] = dims;
    let remedy = match () {
        _ if c != 3 && w == 3 => "channels come before height and width: permute it to [N, 3, H, H]",
        _ if c != 3 => "images have three channels, [N, 3, H, H]",
        _ if n == 0 || h == 0 || w == 0 => "there is nothing in it; pass an image",
        _ if h != w => "images are square; crop or pad them",
        _ => return Ok(input.reshape(&dims)?),
    };
    Err(bad(format!("`input` is {:?}; {remedy}", input.dims())))
}

/// Fails now if the file could not be written after the runs.
pub fn check(option: &str, path: &Path) -> Result<(), Failure> {
    blocktensor::files::check(path).map_err(|e| unwritable(option, path, &e))
}

/// Writes logits as tensor `output`.
pub fn write_output(path: &Path, logits: &StridedTensor) -> Result<(), Failure> {
    let mut dict = StateDict::new();
    dict.insert("output", logits.clone());
    dict.save(path).map_err(|e| unwritable("--output", path, &told(&e)))
}

/// The error's message, without the names of the library's own arguments.
fn told(e: &Error) -> String {
    e.complaint().map_or(e.to_string(), |c| format!("{}, but {}; {}", c.got, c.rule, c.remedy))
}

fn unwritable(option: &str, path: &Path, e: &dyn std::fmt::Display) -> Failure {
    Failure::usage(option, format!("{}: {e}", path.display()))
}
