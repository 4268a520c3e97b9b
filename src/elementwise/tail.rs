//! Zeroes the channel tail of a blocked result in the pass that writes it.

use crate::dtype::Element;
use crate::simd::{self, Loop};

/// The padding lanes in the last channel block of each image. The destination is dense in the order images, blocks, pixels,
/// lanes. Sizes in **elements**.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelTail {
    /// Lanes of a pixel.
    pub lanes: usize,
    /// Lanes of the last block that hold channels.
    pub used: usize,
    /// All pixels of one block of one image.
    pub plane: usize,
    /// Blocks of an image.
    pub blocks: usize,
}

impl ChannelTail {
    /// Zeroes the padding lanes in `piece`, which begins with element `at` of the destination. An element has `size` **bytes**.
    pub fn zero(&self, at: usize, piece: &mut [u8], size: usize) {
        let len = piece.len() / size;
        let mut from = 0;
        while from < len {
            let plane = (at + from) / self.plane;
            let end = ((plane + 1) * self.plane - at).min(len);
            if plane % self.blocks == self.blocks - 1 {
                let elements = &mut piece[from * size..end * size];
                let lane = (at + from) % self.lanes;
                simd::dispatch(ZeroLanes {
                    elements,
                    first: lane * size,
                    used: self.used * size,
                    pixel: self.lanes * size,
                });
            }
            from = end;
        }
    }
}

/// Zeroes the lanes from `used` on of each pixel. Everything is in **bytes**; `first` is the position of `elements` within its
/// pixel.
struct ZeroLanes<'a> {
    elements: &'a mut [u8],
    first: usize,
    used: usize,
    pixel: usize,
}

impl Loop for ZeroLanes<'_> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        let ZeroLanes { elements, first, used, pixel } = self;
        let whole = match first {
            0 => elements,
            f => {
                let (begun, whole) = elements.split_at_mut((pixel - f).min(elements.len()));
                let skip = used.saturating_sub(f).min(begun.len());
                begun[skip..].fill(0);
                whole
            }
        };
        match pixel {
            64 => zero_lanes::<64>(whole, used),
            32 => zero_lanes::<32>(whole, used),
            16 => zero_lanes::<16>(whole, used),
            _ => whole.chunks_mut(pixel).for_each(|p| {
                let used = used.min(p.len());
                p[used..].fill(0);
            }),
        }
    }
}

/// Zeroes the lanes from `used` on of each pixel. If all of them are +0 already, nothing is written.
pub(crate) fn clear_tail<E: Element>(pixels: &mut [E], lanes: usize, used: usize) {
    let [used, pixel] = [used, lanes].map(|n| n * size_of::<E>());
    let elements = bytemuck::cast_slice_mut(pixels);
    if !simd::dispatch(IsClear { elements, pixel, used }) {
        simd::dispatch(ZeroLanes { elements, first: 0, used, pixel });
    }
}

/// Whether the **bytes** from `used` on are zero in each pixel of so many.
struct IsClear<'a> {
    elements: &'a [u8],
    pixel: usize,
    used: usize,
}

impl Loop for IsClear<'_> {
    type Out = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let IsClear { elements, pixel, used } = self;
        // Several pixels at once, if a whole number of them fits: five times as fast as one by one.
        let (many, rest) = match AT_ONCE.is_multiple_of(pixel) {
            true => elements.as_chunks::<AT_ONCE>(),
            false => (&[][..], elements),
        };
        let mask: [u8; AT_ONCE] = std::array::from_fn(|i| if i % pixel < used { 0 } else { u8::MAX });
        let mut seen = [0u8; AT_ONCE];
        for p in many {
            for i in 0..AT_ONCE {
                seen[i] |= p[i] & mask[i];
            }
        }
        seen == [0; AT_ONCE] && rest.chunks_exact(pixel).all(|p| p[used..].iter().all(|&v| v == 0))
    }
}

/// **Bytes** that [`IsClear`] checks in one step.
const AT_ONCE: usize = 256;

/// Zeroes the lanes from `used` on, for pixels whose size in **bytes** the compiler knows: a load, a mask, a store.
#[inline(always)]
fn zero_lanes<const BYTES: usize>(whole: &mut [u8], used: usize) {
    let mask: [u8; BYTES] = std::array::from_fn(|i| if i < used { 0xff } else { 0 });
    let (pixels, rest) = whole.as_chunks_mut::<BYTES>();
    for p in pixels {
        for i in 0..BYTES {
            p[i] &= mask[i];
        }
    }
    let used = used.min(rest.len());
    rest[used..].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_that_is_not_zero_is_found_in_every_lane_and_pixel() {
        for lanes in [16, 8, 5] {
            for used in [1, lanes - 1] {
                let pixels = AT_ONCE / 2 / lanes + 3;
                let clear_pixels: Vec<f32> =
                    (0..pixels * lanes).map(|i| if i % lanes < used { f32::NAN } else { 0.0 }).collect();
                for dirty in [0.0, -0.0, f32::NAN, 1.0] {
                    for at in (0..pixels * lanes).filter(|at| at % lanes >= used) {
                        let mut data = clear_pixels.clone();
                        data[at] = dirty;
                        clear_tail(&mut data, lanes, used);
                        assert!(
                            data.iter().zip(&clear_pixels).all(|(d, c)| d.to_bits() == c.to_bits()),
                            "{lanes} {used} {at}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_of_any_length_zero_the_tail_and_nothing_else() {
        for (lanes, size) in [(16, 4), (8, 4), (16, 1), (4, 2), (5, 1), (64, 4)] {
            for used in [1, lanes - 1] {
                let tail = ChannelTail { lanes, used, plane: 3 * lanes, blocks: 2 };
                let len = 2 * 2 * tail.plane;
                for step in [1, 3, lanes - 1, lanes, 2 * lanes + 1, len] {
                    let mut data = vec![1u8; len * size];
                    for at in (0..len).step_by(step) {
                        let end = (at + step).min(len);
                        tail.zero(at, &mut data[at * size..end * size], size);
                    }
                    for (i, &v) in data.iter().enumerate() {
                        let e = i / size;
                        let padding = e / tail.plane % 2 == 1 && e % lanes >= used;
                        assert_eq!(v == 0, padding, "{tail:?} step {step} element {e}");
                    }
                }
            }
        }
    }
}
