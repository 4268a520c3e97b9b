//! Vectors of `B` f32 lanes, for kernels whose accumulators must stay in registers.
//!
//! The compiler vectorises a loop over one slice ([`super::dispatch`]). It does not do so well for a tile of 28 accumulators:
//! it vectorises the wrong loop, with gathers. Such kernels are written as a [`VectorLoop`] over a [`Vector`], and
//! [`VectorWidth::dispatch`] runs them with the widest vector of this machine.

/// `B` f32 lanes in as many registers as they need. A vector can only be made from a proof, so a vector's existence proves
/// that the machine has the instructions of its methods.
pub(crate) trait Vector<const B: usize>: Copy {
    /// Proof of the instructions: `()` if the compilation target guarantees them.
    type Proof: Copy;
    /// How many such vectors fit in the machine's registers.
    const REGISTERS: usize;
    fn splat(proof: Self::Proof, x: f32) -> Self;
    fn load(proof: Self::Proof, x: &[f32; B]) -> Self;
    fn store(self, to: &mut [f32; B]);
    /// `self + a * b`, rounded once if the machine has fused multiply-add.
    fn add_product(self, a: Self, b: Self) -> Self;
    /// `self - a * b`, rounded once if the machine has fused multiply-add.
    fn sub_product(self, a: Self, b: Self) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// `self` where it is larger than `b`, else `b`: also where one of them is NaN, and of two zeros.
    fn larger_or(self, b: Self) -> Self;
    /// `yes` where `self` equals `b`, else `no`: also where one of them is NaN.
    fn if_equal(self, b: Self, yes: Self, no: Self) -> Self;
    /// Lane l of the result is lane `index[l]` of `src`, or of `self` if `index[l]` is [`KEEP`].
    fn pick(self, src: Self, index: &[i32; B]) -> Self;
}

/// The lane index that keeps the lane's value. Every other index is below `B`.
pub(crate) const KEEP: i32 = -1;

/// Work over vectors of `B` lanes. `run`, and everything that it calls, is `#[inline(always)]`.
pub(crate) trait VectorLoop<const B: usize> {
    /// Runs the loop.
    fn run<V: Vector<B>>(self, proof: V::Proof);
}

/// The supported numbers of lanes: `Width<8>` and `Width<16>`.
pub(crate) struct Width<const B: usize>;

/// Runs loops over vectors of `B` lanes.
pub(crate) trait VectorWidth<const B: usize> {
    /// Runs the loop with the best vectors of this machine.
    fn dispatch<L: VectorLoop<B>>(l: L);

    /// [`Vector::REGISTERS`] of the vectors that `dispatch` uses.
    fn registers() -> usize {
        let mut count = 0;
        Self::dispatch(Count(&mut count));
        count
    }
}

struct Count<'a>(&'a mut usize);

impl<const B: usize> VectorLoop<B> for Count<'_> {
    #[inline(always)]
    fn run<V: Vector<B>>(self, _: V::Proof) {
        *self.0 = V::REGISTERS;
    }
}
