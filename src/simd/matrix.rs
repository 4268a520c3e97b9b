//! Products of matrices of bytes, on machines with tile registers (AMX).
//!
//! A tile of the source has a row of bytes for each pixel, at most 16 of each 64. A tile of weights has 16 sums' weights for each quad of
//! those bytes. One instruction adds the products of both to 16 sums of each pixel.

use std::cell::Cell;
use std::marker::PhantomData;

use super::arch;

/// Rows of a tile at most: pixels, or quads of bytes.
pub(crate) const ROWS: usize = 16;

/// **Bytes** that are fetched in each step.
pub(crate) const AHEAD: usize = 512;

/// Proof of tile registers that multiply bytes, and that this process may use them. `None` on other machines, and where
/// `ONEDNN_MAX_CPU_ISA` does not allow them.
pub(crate) fn matrix_unit() -> Option<MatrixUnit> {
    arch::matrix_unit().map(MatrixUnit)
}

/// The unit that multiplies tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixUnit(arch::MatrixUnit);

/// Which bytes of the source and of the weights a sum meets, tile by tile.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Where the tiles begin, in **bytes**.
    pub(super) list: Vec<[usize; 2]>,
    /// The furthest of them.
    pub(super) furthest: [usize; 2],
}

impl Steps {
    /// Of where the tiles of the source and of the weights begin, in **bytes**.
    pub fn new(list: Vec<[usize; 2]>) -> Steps {
        let furthest = list.iter().fold([0; 2], |far, at| [far[0].max(at[0]), far[1].max(at[1])]);
        Steps { list, furthest }
    }
}

/// What sums are computed of.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// The unsigned bytes.
    pub src: &'a [u8],
    /// **Bytes** from one pixel to the next.
    pub pixel: usize,
    /// The signed bytes: quad by quad, 16 sums of four for each block.
    pub weights: &'a [u8],
    /// How many **bytes** behind those of each step the weights lie that this thread reads next: [`AHEAD`] of them are fetched.
    pub ahead: usize,
    pub steps: &'a Steps,
    /// Of 16 sums: one, or two.
    pub blocks: usize,
}

impl MatrixUnit {
    /// Tiles of so many pixels and quads: [`ROWS`] at most. A thread has them once at a time.
    pub fn tiles(self, pixels: usize, quads: usize) -> Tiles {
        assert!((1..=ROWS).contains(&pixels) && (1..=ROWS).contains(&quads));
        assert!(!ARE_USED.replace(true), "other tiles of this thread are in use");
        Tiles { registers: self.0.configure(pixels, quads), pixels, quads, of_thread: PhantomData }
    }
}

thread_local! {
    static ARE_USED: Cell<bool> = const { Cell::new(false) };
}

/// The tile registers of this thread, until it is dropped.
pub(crate) struct Tiles {
    registers: arch::TileRegisters,
    pixels: usize,
    quads: usize,
    /// No other thread may have it.
    of_thread: PhantomData<*const ()>,
}

impl Drop for Tiles {
    fn drop(&mut self) {
        ARE_USED.set(false);
    }
}

impl Tiles {
    /// Writes the sums of one tile or two. `places` are where a tile begins in `src`, in **bytes**, and where its sums begin in `to`,
    /// which has those of a pixel's blocks one after the other.
    pub fn multiply(&self, of: Factors<'_>, places: &[[usize; 2]], to: &mut [[i32; 16]]) {
        let Factors { src, pixel, weights, steps, blocks, .. } = of;
        assert!((1..=2).contains(&blocks) && (1..=2).contains(&places.len()));
        let read = (self.pixels - 1).saturating_mul(pixel).saturating_add(self.quads * 4);
        let fits = |at: usize, count: usize, length: usize| at.saturating_add(count) <= length;
        let is_inside = |at: &[usize; 2]| {
            let is_read = fits(at[0].saturating_add(steps.furthest[0]), read, src.len());
            (is_read || steps.list.is_empty()) && fits(at[1], self.pixels * blocks, to.len())
        };
        assert!(places.iter().all(is_inside));
        assert!(fits(steps.furthest[1], self.quads * blocks * 64, weights.len()) || steps.list.is_empty());
        // SAFETY: every tile that is read or written lies inside, as was checked.
        unsafe { self.registers.multiply(of, places, to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_tiles_are_sums_of_products() {
        let Some(unit) = matrix_unit() else { return };
        let src: Vec<u8> = (0..4096).map(|i| (i * 37 + i / 256) as u8).collect();
        let weights: Vec<u8> = (0..8192).map(|i| (i * 91 + i / 128) as u8).collect();
        for (pixels, quads, blocks, tiles) in
            [(16, 16, 2, 2), (16, 16, 1, 1), (1, 1, 1, 2), (7, 3, 2, 1), (13, 15, 1, 2), (5, 16, 2, 2)]
        {
            let steps = Steps::new(vec![[3, 64], [200, 0], [77, 128]]);
            let of = Factors { src: &src, pixel: 70, weights: &weights, ahead: 128, steps: &steps, blocks };
            let places: Vec<[usize; 2]> = (0..tiles).map(|t| [500 * t, 40 * t]).collect();
            let mut got = vec![[7; 16]; 80];
            unit.tiles(pixels, quads).multiply(of, &places, &mut got);
            let mut want = vec![[7; 16]; 80];
            for (place, pixel, block, lane) in sums_of(&places, pixels, blocks) {
                let product = |at: &[usize; 2], k: usize| {
                    let s = src[place[0] + at[0] + pixel * 70 + k];
                    let w = weights[at[1] + ((k / 4 * blocks + block) * 16 + lane) * 4 + k % 4];
                    i32::from(s) * i32::from(w.cast_signed())
                };
                let all = |at: &[usize; 2]| (0..quads * 4).map(|k| product(at, k)).sum::<i32>();
                want[place[1] + pixel * blocks + block][lane] = steps.list.iter().map(all).sum();
            }
            assert_eq!(got, want, "{pixels} {quads} {blocks} {tiles}");
        }
    }

    /// Every sum: its tile's place, pixel, block and lane.
    fn sums_of(
        places: &[[usize; 2]],
        pixels: usize,
        blocks: usize,
    ) -> impl Iterator<Item = ([usize; 2], usize, usize, usize)> {
        places.iter().flat_map(move |&place| {
            (0..pixels * blocks * 16).map(move |i| (place, i / 16 / blocks, i / 16 % blocks, i % 16))
        })
    }

    #[test]
    #[should_panic(expected = "is_inside")]
    fn tiles_that_reach_beyond_the_source_are_refused() {
        let steps = Steps::new(vec![[0, 0]]);
        let unit = matrix_unit().unwrap_or_else(|| panic!("is_inside"));
        let of =
            Factors { src: &[0; 1023], pixel: 64, weights: &[0; 1024], ahead: 0, steps: &steps, blocks: 1 };
        unit.tiles(16, 16).multiply(of, &[[0, 0]], &mut [[0; 16]; 16]);
    }
}
