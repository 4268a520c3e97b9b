//! One tensor in every form that an op takes.

use blocktensor::{Layout, MemoryFormat, StridedTensor, Tensor};

/// Contiguous, channels-last, blocked by 16 and by 8, and a view that is dense in neither format; with names.
pub fn all(x: &StridedTensor) -> Vec<(&'static str, Tensor)> {
    let blocked = |block| x.to_blocked(&Layout::blocked_activation(x.rank(), block).unwrap()).unwrap();
    let last = x.contiguous(MemoryFormat::channels_last_of(x.rank()).unwrap()).unwrap();
    vec![
        ("contiguous", x.clone().into()),
        ("channels-last", last.into()),
        ("blocked by 16", blocked(16).into()),
        ("blocked by 8", blocked(8).into()),
        ("a view", gaps(x).into()),
    ]
}

/// The same elements, every second of a tensor twice as wide.
fn gaps(x: &StridedTensor) -> StridedTensor {
    let last = x.rank() - 1;
    let wide = x.unsqueeze(last + 1).unwrap();
    let mut dims = wide.dims().to_vec();
    dims[last + 1] = 2;
    let data: Vec<f32> = x.to_vec::<f32>().unwrap().into_iter().flat_map(|v| [v, f32::NAN]).collect();
    let wide = StridedTensor::from_slice(&data, &dims).unwrap();
    wide.select(last + 1, 0).unwrap()
}

/// The elements in logical order; a blocked tensor's tail is checked on the way.
pub fn values(t: &Tensor) -> Vec<f32> {
    match t {
        Tensor::Strided(t) => t.to_vec().unwrap(),
        Tensor::Blocked(t) => {
            t.check_tail().unwrap();
            t.to_strided(MemoryFormat::Contiguous).unwrap().to_vec().unwrap()
        }
        Tensor::Opaque(_) => unreachable!("only our own"),
    }
}

/// The bits, NaNs and signs of zero included.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Runs `f` in pools of 1, 2 and 3 threads; the results must have the same bits.
#[track_caller]
pub fn same_on_all_threads(what: &str, f: impl Fn() -> Vec<f32> + Sync) {
    let results: Vec<Vec<u32>> = [1, 2, 3]
        .into_iter()
        .map(|n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            bits(&pool.install(&f))
        })
        .collect();
    assert!(results[0] == results[1] && results[0] == results[2], "{what}: bits depend on threads");
}
