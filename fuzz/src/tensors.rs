//! Sizes, layouts and tensors from the fuzzer's bytes.

use blocktensor::{DType, Layout, MemoryFormat, StridedTensor};

use crate::numbers::Number;
use crate::{Input, with_type};

/// `rank` sizes with a product of at most `most`; sometimes one of them is 0.
pub fn dims_of(input: &mut Input, rank: usize, most: usize) -> Vec<usize> {
    let mut left = most;
    let mut dims = vec![1; rank];
    // The channels are chosen first, as blocks split them.
    for axis in [1, 0].into_iter().chain(2..rank).filter(|&axis| axis < rank) {
        let size = input.below(if axis == 1 { 41 } else { 12 });
        dims[axis] = if size == 0 && !input.one_in(8) { 1 } else { size.min(left) };
        left /= dims[axis].max(1);
    }
    dims
}

/// A blocked layout of this rank: a known one, or a random one.
pub fn blocked_layout(input: &mut Input, rank: usize) -> Option<Layout> {
    const KNOWN: [&str; 18] = [
        "nCw16c",
        "nCw8c",
        "OIw16i16o",
        "nChw16c",
        "nChw8c",
        "nChw4c",
        "nChw32c",
        "nChw64c",
        "CHWN4",
        "OIhw16i16o",
        "OIhw8i8o",
        "OIhw4i16o4i",
        "Oihw16o",
        "nCdhw16c",
        "nCdhw8c",
        "OIdhw16i16o",
        "gOIhw16i16o",
        "Goihw16g",
    ];
    let known: Vec<Layout> =
        KNOWN.iter().filter_map(|n| n.parse().ok()).filter(|l: &Layout| l.rank() == rank).collect();
    if !known.is_empty() && !input.one_in(3) {
        return Some(input.pick(&known));
    }
    if rank == 0 {
        return None;
    }
    let order = input.shuffled(rank);
    let blocks: Vec<(usize, usize)> = (0..input.between(1, 3))
        .map(|_| (input.below(rank), input.pick(&[2, 4, 8, 16, 3, 5, 7, 17, 32])))
        .collect();
    Some(Layout::new(&order, &blocks).expect("a permutation, and blocks of 2 to 32"))
}

/// The kind of elements that a tensor is filled with.
#[derive(Clone, Copy, PartialEq)]
pub enum Fill {
    /// Multiples of a quarter between -4 and 4, and small integers.
    Tame,
    /// Also subnormal and huge numbers; integers of any size.
    Finite,
    /// Also NaN and infinities.
    Any,
}

/// A strided tensor of these sizes: dense in any order, or a view with gaps or of fewer elements.
pub fn strided(input: &mut Input, dims: &[usize], dtype: DType, fill: Fill) -> StridedTensor {
    let seed = input.byte() as usize;
    let way = input.below(8);
    let mut stored = dims.to_vec();
    let mut stretched = false;
    match way {
        // Every second element of a larger one.
        0 => stored.iter_mut().for_each(|d| *d *= 2),
        // A dimension with stride 0.
        1 => {
            if let Some(d) = stored.first_mut() {
                (*d, stretched) = (1, true);
            }
        }
        _ => {}
    }
    let numel: usize = stored.iter().product();
    if numel > 1 << 14 {
        return zeros(dims, dtype);
    }
    let t = with_type!(dtype, E => {
        let data: Vec<E> = (0..numel).map(|i| E::filling(i.wrapping_mul(0x9e37_79b9).wrapping_add(seed * 977), fill)).collect();
        StridedTensor::from_slice(&data, &stored).expect("as many as the sizes say")
    });
    match way {
        0 => {
            let every_second =
                |t: StridedTensor, d: usize| t.slice(d, 1, t.dims()[d], 2).expect("an axis of it");
            (0..dims.len()).fold(t, every_second)
        }
        1 if stretched => t.expand(dims).expect("a size of 1 stretches"),
        2 | 3 => match MemoryFormat::channels_last_of(dims.len()) {
            Some(format) => t.contiguous(format).expect("of its rank"),
            None => t,
        },
        4 if dims.len() > 1 => {
            // The last two dimensions are swapped in memory.
            let last = dims.len() - 1;
            let turned = t
                .transpose(last, last - 1)
                .expect("axes of it")
                .copy(MemoryFormat::Contiguous)
                .expect("small");
            turned.transpose(last, last - 1).expect("axes of it")
        }
        _ => t,
    }
}

fn zeros(dims: &[usize], dtype: DType) -> StridedTensor {
    StridedTensor::zeros(dims, dtype, MemoryFormat::Contiguous).expect("small")
}
