//! The weight layout that a primitive chose, against the one that a file holds.

use crate::error::Result;
use crate::layout::blocked::Layout;
use crate::layout::identity::Identity;
use crate::onednn::Executable;

/// What tells the layout of a primitive's weights from others.
pub(crate) fn identity(primitive: &Executable) -> Result<Identity> {
    primitive.desc(1).blocking()
}

/// Its name, in oneDNN's letters.
pub(crate) fn layout_name(primitive: &Executable) -> Result<String> {
    primitive.desc(1).blocking().map(|b| b.to_string())
}

/// What the primitive wants instead, unless weights of so many **bytes** in a file's layout are what it chose.
pub(crate) fn instead(primitive: &Executable, held: &Identity, bytes: usize) -> Result<Option<String>> {
    let wanted = primitive.desc(1).size_bytes();
    if identity(primitive)? == *held && wanted == bytes {
        return Ok(None);
    }
    Ok(Some(format!("the engine wants them as {}, {wanted} bytes", layout_name(primitive)?)))
}

/// The same layout by its name; `None` for one that this crate cannot describe, such as one with gaps.
pub(super) fn layout(of: &Identity) -> Option<Layout> {
    let mut order: Vec<usize> = (0..of.dims.len()).collect();
    order.sort_by_key(|&d| (std::cmp::Reverse(of.strides[d]), d));
    let blocks: Vec<(usize, usize)> =
        of.inner_dims.iter().copied().zip(of.inner_sizes.iter().copied()).collect();
    let layout = Layout::new(&order, &blocks).ok()?;
    if layout.padded_dims(&of.dims).ok()?[..] != of.padded_dims {
        return None;
    }
    let mut stride: usize = of.inner_sizes.iter().product();
    for &d in order.iter().rev() {
        let outer = of.padded_dims[d] / layout.block_of(d);
        if outer > 1 && of.strides[d] != stride {
            return None;
        }
        stride *= outer;
    }
    Some(layout)
}
