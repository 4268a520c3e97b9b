//! What the elements of a window are folded into, one element or one vector of lanes at a time.

/// What a window's elements are folded into.
pub(crate) trait Fold: 'static {
    /// State on the way.
    type Acc: Copy + Default + Send + Sync;
    /// The result of a window without elements.
    const EMPTY: f32;
    fn load(x: f32) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of a window that counts `count` elements.
    fn finish(a: Self::Acc, count: f64) -> f32;
}

/// The largest element; NaN where there is one.
pub(crate) struct Max;

impl Fold for Max {
    type Acc = f32;
    const EMPTY: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn load(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        // Each is one instruction, and gives its second operand where either is NaN. So one of them is NaN then, and
        // their bits together are; else they agree. (Of zeros with both signs -0 is left.) In any order of joins.
        let (one, other) = (if a > b { a } else { b }, if b > a { b } else { a });
        f32::from_bits(one.to_bits() | other.to_bits())
    }
    #[inline(always)]
    fn finish(a: f32, _: f64) -> f32 {
        a
    }
}

/// The mean of a window of few elements.
pub(crate) struct MeanOfFew;

impl Fold for MeanOfFew {
    type Acc = f32;
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn load(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn join(a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn finish(a: f32, count: f64) -> f32 {
        a / count as f32
    }
}

/// The mean of a window of many elements: the sum is f64.
pub(crate) struct MeanOfMany;

impl Fold for MeanOfMany {
    type Acc = f64;
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn load(x: f32) -> f64 {
        f64::from(x)
    }
    #[inline(always)]
    fn join(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn finish(a: f64, count: f64) -> f32 {
        (a / count) as f32
    }
}

#[inline(always)]
pub(crate) fn load_all<F: Fold, const L: usize>(x: &[f32; L]) -> [F::Acc; L] {
    let mut a = [F::Acc::default(); L];
    for l in 0..L {
        a[l] = F::load(x[l]);
    }
    a
}

#[inline(always)]
pub(crate) fn join_all<F: Fold, const L: usize>(a: &mut [F::Acc; L], b: &[F::Acc; L]) {
    for l in 0..L {
        a[l] = F::join(a[l], b[l]);
    }
}

#[inline(always)]
pub(crate) fn finish_all<F: Fold, const L: usize>(dst: &mut [f32; L], a: &[F::Acc; L], count: f64) {
    for l in 0..L {
        dst[l] = F::finish(a[l], count);
    }
}
