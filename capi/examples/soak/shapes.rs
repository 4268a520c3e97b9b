//! One shape through convolutions, pooling, linear layers and reorders, in every layout. Values are integers, so all layouts
//! must agree to the bit.

use blocktensor::ops::{self, Conv2d, MaxPool};
use blocktensor::{
    Error, Layout, MemoryFormat::ChannelsLast, MemoryFormat::Contiguous, PackedConv2d, PackedLinear, Result,
    Source, StridedTensor,
};

/// Integers from -4 to 4.
pub fn integers(seed: usize, n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 9) as f32 - 4.0).collect()
}

fn tensor(seed: usize, dims: &[usize]) -> Result<StridedTensor> {
    StridedTensor::from_slice(&integers(seed, dims.iter().product()), dims)
}

/// N, C, H, W of a shape: all 5,000 are distinct.
pub fn dims(i: usize) -> [usize; 4] {
    [1 + i % 2, 1 + i / 200, 4 + i % 20, 4 + i / 20 % 10]
}

fn same(what: &str, got: &StridedTensor, want: &[f32]) -> std::result::Result<(), String> {
    let got = got.to_vec::<f32>().map_err(|e| e.to_string())?;
    if got == want { Ok(()) } else { Err(format!("{what}: other numbers than the strided convolution's")) }
}

pub fn run(i: usize) -> std::result::Result<(), String> {
    let text = |e: Error| e.to_string();
    let d = dims(i);
    let outputs = 1 + i * 7 % 33;
    let x = tensor(i, &d).map_err(text)?;
    let (w, b) =
        (tensor(i + 1, &[outputs, d[1], 3, 3]).map_err(text)?, tensor(i + 2, &[outputs]).map_err(text)?);
    let params = Conv2d::new().padding(1).relu();
    let (act, wei) = Layout::native();

    let y = ops::conv2d(&x, &w, Some(&b), &params).map_err(text)?;
    let want = y.to_vec::<f32>().map_err(text)?;
    let last = x.contiguous(ChannelsLast).map_err(text)?;
    same("NHWC", &ops::conv2d(&last, &w, Some(&b), &params).map_err(text)?, &want)?;
    let xb = x.to_blocked(&act).map_err(text)?;
    let wb = w.to_blocked(&wei).map_err(text)?;
    let yb = ops::conv2d(&xb, &wb, Some(&b), &params).map_err(text)?;
    same("blocked", &yb.to_strided(Contiguous).map_err(text)?, &want)?;

    let packer = PackedConv2d::new(&w, Some(&b), params).map_err(text)?;
    let packed = match i % 3 {
        0 => {
            packer.pack_for(&Source::of(&xb).map_err(text)?).and_then(|p| p.run(&xb)?.to_strided(Contiguous))
        }
        1 => packer.pack_for(&Source::of(&last).map_err(text)?).and_then(|p| p.run(&last)),
        _ => packer.pack_for(&Source::of(&x).map_err(text)?).and_then(|p| p.run(&x)),
    };
    same("packed", &packed.map_err(text)?, &want)?;

    let pool = MaxPool::new(3).stride(2).padding(1);
    let pooled = ops::max_pool2d(&y, &pool).and_then(|p| p.to_vec::<f32>()).map_err(text)?;
    same(
        "pooled",
        &ops::max_pool2d(&yb, &pool).and_then(|p| p.to_strided(ChannelsLast)).map_err(text)?,
        &pooled,
    )?;

    let lanes = if act == Layout::blocked_activation(4, 8).map_err(text)? { 16 } else { 8 };
    let other = Layout::blocked_activation(4, lanes).map_err(text)?;
    let there = xb.reorder_to(&other).map_err(text)?.to_strided(ChannelsLast).map_err(text)?;
    same("reordered", &there, &integers(i, d.iter().product()))?;

    let rows = x.flatten(1, 3).map_err(text)?;
    let weights = tensor(i + 3, &[8, rows.dims()[1]]).map_err(text)?;
    let plain = ops::linear(&rows, &weights, None).and_then(|y| y.to_vec::<f32>()).map_err(text)?;
    let packed = PackedLinear::new(&weights, None, d[0]).and_then(|p| p.run(&rows)).map_err(text)?;
    same("linear", &packed, &plain)?;

    // Errors must not leak either.
    match ops::matmul(&yb, &yb) {
        Err(Error::UnsupportedOp(_)) => Ok(()),
        other => Err(format!("a blocked matmul: {other:?}")),
    }
}
