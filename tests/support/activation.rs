//! The same activation in every layout and memory format that ops take, and its elements in logical order.

use blocktensor::{DType, Layout, MemoryFormat, StridedTensor, Tensor, ops};

use super::Rng;

/// Random sizes of rank 3 to 5. They cover channel tails, images of one pixel, empty batches, and H != W.
pub fn sizes(rng: &mut Rng) -> Vec<usize> {
    let rank = 3 + rng.below(3);
    let mut dims = vec![rng.pick(&[1, 1, 2, 2, 3, 0]), rng.pick(&[1, 3, 15, 16, 17, 31, 33])];
    let largest = [40, 12, 6][rank - 3];
    match rng.below(8) {
        0 => dims.resize(rank, 1),
        _ => (2..rank).for_each(|_| dims.push(1 + rng.below(largest))),
    }
    if rng.below(40) == 0 {
        dims[rank - 1] = 0;
    }
    dims
}

/// Tensors with the same elements: row-major, channels-last, tagged as channels-last, a dense view in neither format, a view
/// with gaps, and blocked by 16, 8 and 4.
pub fn forms(x: &StridedTensor) -> Vec<(&'static str, Tensor)> {
    let rank = x.rank();
    let last = MemoryFormat::channels_last_of(rank).unwrap();
    let nhwc = x.contiguous(last).unwrap();
    let mut forms: Vec<(&'static str, Tensor)> = vec![
        ("contiguous", x.clone().into()),
        ("channels_last", nhwc.clone().into()),
        ("tagged", nhwc.with_format_tag(last).unwrap_or(nhwc).into()),
        ("reversed", reversed(x).into()),
        ("with gaps", with_gaps(x).into()),
    ];
    for (name, block) in [("blocked by 16", 16), ("blocked by 8", 8), ("blocked by 4", 4)] {
        let layout = Layout::blocked_activation(rank, block).unwrap();
        forms.push((name, x.to_blocked(&layout).unwrap().into()));
    }
    forms
}

/// The same elements, with stride 1 along the first dimension.
fn reversed(x: &StridedTensor) -> StridedTensor {
    let axes: Vec<usize> = (0..x.rank()).rev().collect();
    let turned = x.permute(&axes).unwrap();
    turned.contiguous(MemoryFormat::Contiguous).unwrap().permute(&axes).unwrap()
}

/// The same elements in a view with a gap of one element after each.
fn with_gaps(x: &StridedTensor) -> StridedTensor {
    let rank = x.rank();
    let gaps = StridedTensor::full(x.dims(), f32::NAN, MemoryFormat::Contiguous).unwrap();
    let both = [x, &gaps.to_dtype(x.dtype()).unwrap()].map(|t| t.unsqueeze(rank).unwrap());
    let dense = ops::cat(&[&both[0], &both[1]], rank).unwrap();
    dense.narrow(rank, 0, 1).unwrap().squeeze_axis(rank).unwrap()
}

/// The elements of a result in row-major order, as f32. Fails if a padding lane is not zero.
#[track_caller]
pub fn elements(t: &Tensor) -> Vec<f32> {
    let strided = match t {
        Tensor::Strided(t) => t.clone(),
        Tensor::Blocked(t) => {
            t.check_tail().unwrap();
            t.to_strided(MemoryFormat::Contiguous).unwrap()
        }
        Tensor::Opaque(t) => panic!("{t:?}"),
    };
    match strided.dtype() {
        DType::S32 => strided.to_vec::<i32>().unwrap().into_iter().map(|v| v as f32).collect(),
        DType::U8 => strided.to_vec::<u8>().unwrap().into_iter().map(f32::from).collect(),
        _ => strided.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap(),
    }
}

/// The index of element `i` of a row-major tensor.
pub fn index(dims: &[usize], i: usize) -> Vec<usize> {
    let mut rest = i;
    let mut index: Vec<usize> = dims
        .iter()
        .rev()
        .map(|d| {
            let at = rest % d;
            rest /= d;
            at
        })
        .collect();
    index.reverse();
    index
}

/// Fails unless `f` gives the same bits for 1, 2 and 3 threads.
#[track_caller]
pub fn same_bits_for_all_threads(what: &str, f: impl Fn() -> Vec<f32> + Sync) {
    let bits = |threads: usize| -> Vec<u32> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| blocktensor::run(&f)).into_iter().map(f32::to_bits).collect()
    };
    let one = bits(1);
    for threads in [2, 3] {
        assert!(one == bits(threads), "{what}: other bits with {threads} threads");
    }
}
