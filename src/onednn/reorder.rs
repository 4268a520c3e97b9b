//! oneDNN's reorder between descriptors, which also supports layouts that have no name.

use onednn_sys as sys;

use super::Refused;
use super::chosen;
use super::engine::engine;
use super::memory::{MemoryDesc, Spec};
use super::primitive::{Answer, Executable, PrimitiveDesc, RunArg};
use crate::buffer::Buffer;
use crate::elementwise;
use crate::error::{Result, Unsupported};
use crate::layout;
use crate::layout::blocked::Layout;
use crate::layout::dims::{Dims, ToDims};
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// Packs plain weights, of any strides, into the layout and the dtype that a primitive chose. It is not cached: a descriptor that
/// oneDNN chose cannot be compared by value, and packing happens once.
///
/// Layouts that this crate can describe are written by its own reorder, as oneDNN's takes about as long as a convolution of a 7x7 image
/// (docs/measurements.md).
pub(crate) fn pack(weights: &StridedTensor, to: &MemoryDesc) -> Result<Buffer, Refused> {
    let (dims, strides, dtype) = (weights.dims(), weights.strides(), weights.dtype());
    // Of another dtype, or with sums behind the weights, the size is another.
    let is_all = |layout: &Layout| layout.size_bytes(dims, dtype).is_ok_and(|bytes| bytes == to.size_bytes());
    let identity = to.blocking()?;
    if identity.dims == dims
        && let Some(layout) = chosen::layout(&identity).filter(is_all)
    {
        let mut packed = Buffer::zeroed(to.size_bytes())?;
        let bytes = packed.as_bytes_mut();
        layout::reorder::strided_to_blocked(
            dtype.size_bytes(),
            weights.bytes(),
            dims,
            strides,
            &layout,
            bytes,
        );
        return Ok(packed);
    }
    let src = weights.bytes();
    // oneDNN counts a view to the end of its last row, which may be beyond the end of the storage.
    if is_nested(dims, strides) {
        let from = Spec::Strided { dims, strides, dtype }.describe()?;
        if from.size_bytes() <= src.len() {
            return packed(&from, src, to);
        }
    }
    let strides = MemoryFormat::Contiguous.strides("pack", dims)?;
    let mut dense = StridedTensor::for_result("pack", Dims::from_slice(dims), strides, dtype)?;
    elementwise::copy_into("pack", &mut dense, weights)?;
    let from = Spec::Strided { dims, strides: &strides, dtype }.describe()?;
    packed(&from, dense.bytes(), to)
}

/// Whether each dimension's stride covers all that is inside it, including the gap behind its last element. oneDNN treats all
/// other tensors as if their elements shared memory.
fn is_nested(dims: &[usize], strides: &[usize]) -> bool {
    let mut order: Dims = (0..dims.len()).filter(|&d| dims[d] != 1).to_dims();
    order.sort_by_key(|&d| strides[d]);
    order
        .iter()
        .try_fold(1, |least, &d| (strides[d] >= least).then(|| strides[d].saturating_mul(dims[d])))
        .is_some()
}

fn packed(from: &MemoryDesc, src: &[u8], to: &MemoryDesc) -> Result<Buffer, Refused> {
    let mut packed = Buffer::zeroed(to.size_bytes())?;
    create(from, to)?.run(&mut [RunArg::In(src), RunArg::Out(packed.as_bytes_mut())])?;
    Ok(packed)
}

/// The inverse of [`pack`].
pub(crate) fn unpack(from: &MemoryDesc, src: &[u8], to: Spec<'_>, dst: &mut [u8]) -> Result<(), Refused> {
    let executable = create(from, &to.describe()?)?;
    executable.run(&mut [RunArg::In(src), RunArg::Out(dst)])?;
    Ok(())
}

fn create(from: &MemoryDesc, to: &MemoryDesc) -> Result<Executable, Refused> {
    let engine = engine()?;
    let threads = threads::current_threads();
    // SAFETY: both descriptors are alive, and the engine lives as long as the process.
    let answer = unsafe {
        PrimitiveDesc::ask("dnnl_reorder_primitive_desc_create", threads, &[], |place, _, attr| {
            sys::dnnl_reorder_primitive_desc_create(place, from.raw(), engine, to.raw(), engine, attr)
        })?
    };
    match answer {
        Answer::Found(desc) => Ok(Executable::new(&desc, &[sys::DNNL_ARG_FROM, sys::DNNL_ARG_TO])?),
        Answer::Unimplemented => Err(Unsupported::NoImplementation.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::Dims;
    use crate::layout::blocked::Layout;
    use crate::onednn::memory::format_tag;
    use crate::tensor::blocked::BlockedTensor;

    /// Reorders a strided tensor with oneDNN.
    fn by_onednn(x: &StridedTensor, layout: &Layout) -> Vec<u8> {
        let to = Spec::Layout { dims: x.dims(), layout, dtype: x.dtype() }.describe().unwrap();
        pack(x, &to).unwrap().as_bytes().to_vec()
    }

    #[test]
    fn our_reorders_and_onednns_give_the_same_bytes() {
        let names = [
            "nCw8c",
            "nCw16c",
            "nChw4c",
            "nChw8c",
            "nChw16c",
            "nChw32c",
            "nCdhw8c",
            "nCdhw16c",
            "OIw16i16o",
            "OIhw8i8o",
            "OIhw16i16o",
            "OIdhw16i16o",
            "gOIhw16i16o",
            "Goihw8g",
            "Goihw16g",
            "Ohwi16o",
            "Ohwi8o",
        ];
        let sizes = [33, 17, 3, 5, 2, 1];
        for name in names {
            let layout: Layout = name.parse().unwrap();
            assert!(format_tag(&layout.tag()).is_some(), "{name}: oneDNN has no tag {}", layout.tag());
            let dims = &sizes[..layout.rank()];
            let n: usize = dims.iter().product();
            let values: Vec<f32> = (0..n).map(|i| i as f32 + 1.0).collect();
            let x = StridedTensor::from_slice(&values, dims).unwrap();
            let mut forms = vec![x.clone()];
            if let Some(f) = MemoryFormat::channels_last_of(dims.len()) {
                forms.push(x.contiguous(f).unwrap());
            }
            for x in forms {
                let ours: BlockedTensor = x.to_blocked(&layout).unwrap();
                assert_eq!(ours.storage_bytes(), by_onednn(&x, &layout), "{name} from {:?}", x.strides());
            }
        }
    }

    #[test]
    fn sizes_agree_with_dnnl_memory_desc_get_size() {
        for c in [1, 3, 15, 16, 17, 31, 33] {
            for (name, dims) in [
                ("nChw16c", vec![2, c, 3, 5]),
                ("OIhw16i16o", vec![c, c + 1, 3, 1]),
                ("OIhw4i16o4i", vec![c, c, 1, 2]),
            ] {
                let layout: Layout = name.parse().unwrap();
                for dtype in DType::ALL {
                    let desc = Spec::Layout { dims: &dims, layout: &layout, dtype }.describe().unwrap();
                    assert_eq!(
                        layout.size_bytes(&dims, dtype).unwrap(),
                        desc.size_bytes(),
                        "{name} {dims:?} {dtype}"
                    );
                    let blocking = desc.blocking().unwrap();
                    assert_eq!(blocking.to_string(), layout.tag());
                    let (padded, dims) = (layout.padded_dims(&dims).unwrap(), Dims::from_slice(&dims));
                    assert_eq!((blocking.dims, blocking.padded_dims), (dims.to_vec(), padded.to_vec()));
                }
            }
        }
    }
}
