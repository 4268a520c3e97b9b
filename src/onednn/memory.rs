//! Memory descriptors and memory objects.

use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onednn_sys as sys;

use super::engine::engine;
use super::status::{call, check, status_of};
use super::{Refused, to_c_dims};
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result, Unsupported};
use crate::layout::blocked::Layout;
use crate::layout::dims::Dims;
use crate::layout::identity::Identity;

/// A memory descriptor as a value that is cheap to write into a cache key.
#[derive(Clone, Copy)]
pub(crate) enum Spec<'a> {
    /// Dense or strided; strides in **elements**.
    Strided { dims: &'a [usize], strides: &'a [usize], dtype: DType },
    /// A named layout.
    Layout { dims: &'a [usize], layout: &'a Layout, dtype: DType },
    /// oneDNN chooses the layout.
    Any { dims: &'a [usize], dtype: DType },
    /// The layout that oneDNN chose earlier. The key holds the descriptor's id, because not all of its parts can be read.
    Chosen(&'a MemoryDesc),
}

impl std::fmt::Display for Spec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Spec::Strided { strides, .. } => write!(f, "strides {strides:?}"),
            Spec::Layout { layout, .. } => write!(f, "{layout}"),
            Spec::Any { .. } => f.write_str("any"),
            Spec::Chosen(desc) => desc.blocking().map_or(Ok(()), |b| write!(f, "{b}")),
        }
    }
}

impl Spec<'_> {
    /// Appends everything that distinguishes this spec from others.
    pub(crate) fn push_key(&self, key: &mut Vec<u64>) {
        let (kind, dims, dtype) = match self {
            Spec::Strided { dims, dtype, .. } => (1, dims, dtype),
            Spec::Layout { dims, dtype, .. } => (2, dims, dtype),
            Spec::Any { dims, dtype } => (3, dims, dtype),
            Spec::Chosen(desc) => return key.extend([4, desc.id]),
        };
        key.push(kind | (*dtype as u64) << 8 | (dims.len() as u64) << 16);
        key.extend(dims.iter().map(|&d| d as u64));
        match self {
            Spec::Strided { dims, strides, .. } => {
                key.extend(canonical_strides(dims, strides).iter().map(|&s| s as u64));
            }
            Spec::Layout { layout, .. } => {
                let order = layout.outer_order().iter().fold(0u64, |word, &d| word << 4 | d as u64);
                let blocks = layout.inner_blocks();
                key.push(order << 8 | blocks.len() as u64);
                key.extend(blocks.map(|(dim, size)| (dim as u64) << 32 | size as u64));
            }
            Spec::Any { .. } | Spec::Chosen(_) => {}
        }
    }

    /// The descriptor; refused for a layout for which oneDNN has no public tag.
    pub(crate) fn describe(&self) -> Result<MemoryDesc, Refused> {
        Ok(match *self {
            Spec::Strided { dims, strides, dtype } => MemoryDesc::strided(dims, strides, dtype)?,
            Spec::Layout { dims, layout, dtype } => match format_tag(&layout.tag()) {
                Some(tag) => MemoryDesc::with_tag(dims, dtype, tag)?,
                None => return Err(Unsupported::NoImplementation.into()),
            },
            Spec::Any { dims, dtype } => MemoryDesc::with_tag(dims, dtype, sys::dnnl_format_tag_any)?,
            // SAFETY: the descriptor is alive.
            Spec::Chosen(desc) => unsafe { MemoryDesc::borrowed(desc.raw())? },
        })
    }
}

/// The strides, with those of dimensions of size 1, which have no effect, replaced by the strides of a dense tensor with the
/// same order of channels and pixels. So kernels and cache keys are the same for all such tensors. Any other number would
/// mislead oneDNN: some of its kernels compare all strides to find out where the channels are.
fn canonical_strides(dims: &[usize], strides: &[usize]) -> Dims {
    let told = |d: usize| dims[d] != 1;
    let inside = dims.len() > 2
        && told(1)
        && (2..dims.len())
            .filter(|&d| told(d))
            .min_by_key(|&d| strides[d])
            .is_some_and(|d| strides[1] < strides[d]);
    let mut canonical = Dims::from_slice(strides);
    let mut next = 1;
    let innermost = inside.then_some(1);
    for d in innermost.into_iter().chain((0..dims.len()).rev().filter(|&d| Some(d) != innermost)) {
        if !told(d) {
            canonical[d] = next;
        }
        next = next.max(canonical[d].saturating_mul(dims[d]));
    }
    canonical
}

/// An owned memory descriptor. It identifies a physical layout, even one that has no name.
pub(crate) struct MemoryDesc {
    raw: sys::dnnl_memory_desc_t,
    /// A number that no other descriptor of this process ever has; an address may be reused.
    id: u64,
}

// SAFETY: a descriptor is never changed after creation.
unsafe impl Send for MemoryDesc {}
// SAFETY: as above.
unsafe impl Sync for MemoryDesc {}

impl MemoryDesc {
    fn owned(raw: sys::dnnl_memory_desc_t) -> MemoryDesc {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        MemoryDesc { raw, id: NEXT.fetch_add(1, Relaxed) }
    }

    /// The empty descriptor, for an argument that is left out.
    pub(crate) fn none() -> MemoryDesc {
        MemoryDesc::owned(std::ptr::null_mut())
    }

    pub(crate) fn strided(dims: &[usize], strides: &[usize], dtype: DType) -> Result<MemoryDesc> {
        let (d, s) = (to_c_dims(dims), to_c_dims(&canonical_strides(dims, strides)));
        let mut md = std::ptr::null_mut();
        // SAFETY: both arrays hold at least `dims.len()` values.
        let status = status_of(|| unsafe {
            sys::dnnl_memory_desc_create_with_strides(
                &mut md,
                dims.len() as c_int,
                d.as_ptr(),
                c_dtype(dtype),
                s.as_ptr(),
            )
        });
        described("dnnl_memory_desc_create_with_strides", status, dims)?;
        Ok(MemoryDesc::owned(md))
    }

    fn with_tag(dims: &[usize], dtype: DType, tag: sys::dnnl_format_tag_t) -> Result<MemoryDesc> {
        let d = to_c_dims(dims);
        let mut md = std::ptr::null_mut();
        // SAFETY: the array holds at least `dims.len()` values.
        let status = status_of(|| unsafe {
            sys::dnnl_memory_desc_create_with_tag(
                &mut md,
                dims.len() as c_int,
                d.as_ptr(),
                c_dtype(dtype),
                tag,
            )
        });
        described("dnnl_memory_desc_create_with_tag", status, dims)?;
        Ok(MemoryDesc::owned(md))
    }

    /// A copy of a descriptor that another object owns.
    ///
    /// # Safety
    /// `md` is null or a live descriptor.
    pub(super) unsafe fn borrowed(md: sys::const_dnnl_memory_desc_t) -> Result<MemoryDesc> {
        if md.is_null() {
            return Ok(MemoryDesc::none());
        }
        let mut copy = std::ptr::null_mut();
        // SAFETY: the caller's promise.
        call("dnnl_memory_desc_clone", || unsafe { sys::dnnl_memory_desc_clone(&mut copy, md) })?;
        Ok(MemoryDesc::owned(copy))
    }

    pub(super) fn raw(&self) -> sys::const_dnnl_memory_desc_t {
        self.raw
    }

    /// Size in **bytes**, padding and compensation included.
    pub(crate) fn size_bytes(&self) -> usize {
        if self.raw.is_null() {
            return 0;
        }
        // SAFETY: the descriptor is alive.
        unsafe { sys::dnnl_memory_desc_get_size(self.raw) }
    }

    /// The inner blocks and outer strides, as oneDNN reports them.
    pub(crate) fn blocking(&self) -> Result<Identity> {
        let rank = self.query_i32(sys::dnnl_query_ndims_s32)?;
        let blocks = self.query_i32(sys::dnnl_query_inner_nblks_s32)?;
        Ok(Identity {
            dims: self.query_dims(sys::dnnl_query_dims, rank)?,
            padded_dims: self.query_dims(sys::dnnl_query_padded_dims, rank)?,
            strides: self.query_dims(sys::dnnl_query_strides, rank)?,
            inner_sizes: self.query_dims(sys::dnnl_query_inner_blks, blocks)?,
            inner_dims: self.query_dims(sys::dnnl_query_inner_idxs, blocks)?,
        })
    }

    fn query_i32(&self, what: sys::dnnl_query_t) -> Result<usize> {
        let mut value: i32 = 0;
        // SAFETY: queries of this kind write one int.
        call("dnnl_memory_desc_query", || unsafe {
            sys::dnnl_memory_desc_query(self.raw, what, (&raw mut value).cast())
        })?;
        Ok(usize::try_from(value).unwrap_or(0))
    }

    fn query_dims(&self, what: sys::dnnl_query_t, len: usize) -> Result<Vec<usize>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let mut values: *const sys::dnnl_dim_t = std::ptr::null();
        // SAFETY: queries of this kind write one pointer, borrowed from the descriptor.
        call("dnnl_memory_desc_query", || unsafe {
            sys::dnnl_memory_desc_query(self.raw, what, (&raw mut values).cast())
        })?;
        // SAFETY: the array has one value per dimension, or per inner block, and outlives this call.
        let values = unsafe { std::slice::from_raw_parts(values, len) };
        Ok(values.iter().map(|&v| usize::try_from(v).unwrap_or(0)).collect())
    }
}

impl Drop for MemoryDesc {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: owned and destroyed once.
            unsafe { sys::dnnl_memory_desc_destroy(self.raw) };
        }
    }
}

impl std::fmt::Display for Identity {
    /// oneDNN's letters: `Acdb64a`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut order: Vec<usize> = (0..self.dims.len()).collect();
        order.sort_by_key(|&d| (std::cmp::Reverse(self.strides[d]), d));
        for d in order {
            let letter = (b'a' + d as u8) as char;
            if self.inner_dims.contains(&d) {
                write!(f, "{}", letter.to_ascii_uppercase())?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        for (size, &d) in self.inner_sizes.iter().zip(&self.inner_dims) {
            write!(f, "{size}{}", (b'a' + d as u8) as char)?;
        }
        Ok(())
    }
}

/// oneDNN has its own limits for sizes; all other errors in a descriptor were found before.
fn described(call: &'static str, status: sys::dnnl_status_t, dims: &[usize]) -> Result<()> {
    if status != sys::dnnl_invalid_arguments {
        return check(call, status);
    }
    let rule = format!("`{call}` refuses tensors of these sizes");
    let remedy = "use smaller sizes, for example a smaller batch";
    Err(Error::Overflow(Complaint::new("memory descriptor", "dims", format!("{dims:?}"), rule, remedy)))
}

/// A memory object; its data handle changes from run to run.
pub(super) struct Memory(sys::dnnl_memory_t);

// SAFETY: used by one thread at a time: it is taken out of a pool for the duration of a run.
unsafe impl Send for Memory {}

impl Memory {
    pub(super) fn new(desc: &MemoryDesc) -> Result<Memory> {
        let mut memory = std::ptr::null_mut();
        let engine = engine()?;
        // SAFETY: descriptor and engine are alive; no buffer is attached yet.
        call("dnnl_memory_create", || unsafe {
            sys::dnnl_memory_create(&mut memory, desc.raw(), engine, sys::DNNL_MEMORY_NONE)
        })?;
        Ok(Memory(memory))
    }

    pub(super) fn raw(&self) -> sys::dnnl_memory_t {
        self.0
    }

    /// # Safety
    /// `data` stays valid for the descriptor's size until the next call of this function or the end of the run.
    pub(super) unsafe fn set(&mut self, data: *mut u8) -> Result<()> {
        // SAFETY: the caller's promise.
        call("dnnl_memory_set_data_handle", || unsafe {
            sys::dnnl_memory_set_data_handle(self.0, data.cast())
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: owned and destroyed once.
        unsafe { sys::dnnl_memory_destroy(self.0) };
    }
}

fn c_dtype(dtype: DType) -> sys::dnnl_data_type_t {
    match dtype {
        DType::F32 => sys::dnnl_f32,
        DType::BF16 => sys::dnnl_bf16,
        DType::F16 => sys::dnnl_f16,
        DType::U8 => sys::dnnl_u8,
        DType::S8 => sys::dnnl_s8,
        DType::S32 => sys::dnnl_s32,
    }
}

/// The public tag with this name, in oneDNN's letters (`aBcd16b`), if there is one.
pub(crate) fn format_tag(name: &str) -> Option<sys::dnnl_format_tag_t> {
    static TAGS: LazyLock<HashMap<String, sys::dnnl_format_tag_t>> = LazyLock::new(|| {
        (sys::dnnl_format_tag_any + 1..sys::dnnl_format_tag_last)
            .map(|tag| {
                // SAFETY: the function returns a static NUL-terminated string for every value.
                let text = unsafe { CStr::from_ptr(sys::dnnl_fmt_tag2str(tag)) };
                (text.to_string_lossy().into_owned(), tag)
            })
            .collect()
    });
    TAGS.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After packed weights are freed, other weights in another layout may get the same address.
    #[test]
    fn a_chosen_descriptor_in_the_place_of_another_has_another_key() {
        let key = |desc: &MemoryDesc| {
            let mut key = Vec::new();
            Spec::Chosen(desc).push_key(&mut key);
            key
        };
        let mut place = MemoryDesc::strided(&[2, 3], &[3, 1], DType::F32).unwrap();
        let before = key(&place);
        assert_eq!(key(&place), before);
        place = MemoryDesc::strided(&[2, 3], &[1, 2], DType::F32).unwrap();
        assert_ne!(key(&place), before);
    }
}
