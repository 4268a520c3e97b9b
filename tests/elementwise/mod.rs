mod maps;
mod reductions;

use blocktensor::{Element, MemoryFormat, StridedTensor};

use crate::random::Random;

/// A tensor of these sizes with random strides: permuted, stepped, of any memory format, and with stride 0 along some axes if
/// `stretch`.
pub fn strided<E: Element>(
    r: &mut Random,
    dims: &[usize],
    stretch: bool,
    value: impl Fn(usize) -> E,
) -> StridedTensor {
    let order = r.shuffled(dims.len());
    let steps: Vec<usize> = dims.iter().map(|_| r.pick(&[1, 1, 1, 1, 2, 3])).collect();
    let stretched: Vec<bool> = dims.iter().map(|_| stretch && r.below(5) == 0).collect();
    let size = |d: usize| if stretched[d] { 1 } else { dims[d] * steps[d] };
    let stored: Vec<usize> = order.iter().map(|&d| size(d)).collect();
    let data: Vec<E> = (0..stored.iter().product()).map(value).collect();
    let mut x = StridedTensor::from_slice(&data, &stored).unwrap();
    let mut back = vec![0; dims.len()];
    order.iter().enumerate().for_each(|(at, &d)| back[d] = at);
    x = x.permute(&back).unwrap();
    for d in 0..dims.len() {
        if !stretched[d] {
            x = x.slice(d, r.below(steps[d]), usize::MAX, steps[d]).unwrap();
        }
    }
    let x = x.expand(dims).unwrap();
    match (r.below(3), MemoryFormat::channels_last_of(dims.len())) {
        (0, Some(last)) if !stretch => x.contiguous(last).unwrap(),
        _ => x,
    }
}

/// Random sizes of at most `most` elements.
pub fn sizes(r: &mut Random, rank: usize, most: usize) -> Vec<usize> {
    let mut dims: Vec<usize> = vec![1; rank];
    for _ in 0..3 * rank {
        let d = r.below(rank);
        let size = r.pick(&[1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 65, 70, 130, 300]);
        let rest: usize = dims.iter().product::<usize>() / dims[d];
        if rest * size <= most {
            dims[d] = size;
        }
    }
    dims
}
