//! Tensors: creating, wrapping, describing and reading them, and with other types and sizes.

use std::any::Any;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

use blocktensor::{
    Complaint, DType, Error, Foreign, MAX_RANK, MemoryFormat, Operand, Result, StridedTensor, Tensor, memory,
};

use crate::handles::{self, Object, bt_handle, give, tensor};
use crate::status::{array, bt_status, guard, null, place};

/// Element types.
#[allow(non_camel_case_types)]
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bt_dtype {
    /// IEEE binary32.
    BT_F32 = 0,
    /// bfloat16.
    BT_BF16 = 1,
    /// IEEE binary16.
    BT_F16 = 2,
    /// Unsigned 8-bit integer.
    BT_U8 = 3,
    /// Signed 8-bit integer.
    BT_S8 = 4,
    /// Signed 32-bit integer.
    BT_S32 = 5,
}

/// From its number; C may pass any number.
pub(crate) fn dtype(op: &'static str, number: i32) -> Result<DType> {
    usize::try_from(number).ok().and_then(|i| DType::ALL.get(i)).copied().ok_or_else(|| {
        let rule = "types must be BT_F32 to BT_S32, 0 to 5";
        let got = format!("type {number}");
        Error::UnsupportedDType(Complaint::new(op, "dtype", got, rule, "pass one of bt_dtype"))
    })
}

/// The number of an element type in `bt_dtype`.
pub(crate) fn number(dtype: DType) -> i32 {
    DType::ALL.iter().position(|&d| d == dtype).unwrap_or(0) as i32
}

pub(crate) fn strided(op: &'static str, argument: &'static str, t: &Tensor) -> Result<StridedTensor> {
    match t {
        Tensor::Strided(s) => Ok(s.clone()),
        other => Err(Error::OpaqueLayout(Complaint::new(
            op,
            argument,
            other.tensor_ref().describe(),
            "it has no strides and no data pointer",
            "reorder it with `bt_to_strided` first",
        ))),
    }
}

/// Makes a tensor with a copy of `bytes` bytes of data.
///
/// # Safety
/// `dims` holds `rank` sizes; `strides` is null (row-major) or holds `rank` strides in elements; `data` holds `bytes` bytes,
/// which may be more than the sizes and strides reach.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_from_data(
    dtype: i32,
    rank: usize,
    dims: *const i64,
    strides: *const i64,
    data: *const c_void,
    bytes: usize,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_tensor_from_data";
    guard(op, || {
        // SAFETY: the caller's promises about each pointer.
        let (out, dims, data) = unsafe {
            (
                place(op, "out", out)?,
                numbers(op, "dims", dims, rank)?,
                array(op, "data", data.cast::<u8>(), bytes)?,
            )
        };
        // SAFETY: as above.
        let strides = unsafe { optional_numbers(op, "strides", strides, rank)? };
        let dtype = self::dtype(op, dtype)?;
        let aligned;
        let (first, owner): (*const u8, Arc<dyn Any + Send + Sync>) =
            if data.as_ptr().addr().is_multiple_of(dtype.size_bytes()) {
                (data.as_ptr(), Arc::new(()))
            } else {
                aligned = Arc::new(copied(data)?);
                (aligned.as_ptr().cast(), aligned)
            };
        let memory = Foreign { data: first.cast_mut(), dtype, dims, strides, writable: false };
        // SAFETY: the data lives as long as this function, which drops the tensor; nothing is read before the bounds check
        // below.
        let t = unsafe { StridedTensor::from_foreign(memory, owner) }?;
        let steps = t.dims().iter().zip(t.strides()).map(|(&d, &s)| (d.max(1) - 1) * s);
        let reach = if t.numel() == 0 { 0 } else { (steps.sum::<usize>() + 1) * dtype.size_bytes() };
        if reach > bytes {
            let rule = format!("sizes {dims:?} with strides {:?} of {dtype} reach over {reach}", t.strides());
            let got = format!("{bytes} bytes");
            return Err(Error::OutOfBounds(Complaint::new(op, "data", got, rule, "pass all of the data")));
        }
        // A copy with its own storage, which ops may write.
        out.write(give(Object::Tensor(t.copy(MemoryFormat::Preserve)?.into())));
        Ok(())
    })
}

/// Copies the bytes into memory that is aligned for every element type.
fn copied(data: &[u8]) -> Result<Vec<u64>> {
    let words = data.chunks(8).map(|bytes| {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(whole)
    });
    memory::try_collect("bt_tensor_from_data", words)
}

/// Sizes or strides passed by the caller, with a rank that tensors here can have.
///
/// # Safety
/// `values` is null or holds `rank` numbers, if rank is at most 12.
pub(crate) unsafe fn numbers<'a>(
    op: &'static str,
    argument: &'static str,
    values: *const i64,
    rank: usize,
) -> Result<&'a [i64]> {
    if rank > MAX_RANK {
        let (got, rule) = (format!("rank {rank}"), format!("tensors have at most {MAX_RANK} dimensions"));
        return Err(Error::RankMismatch(Complaint::new(op, "rank", got, rule, "merge dimensions")));
    }
    // SAFETY: the caller's promise.
    unsafe { array(op, argument, values, rank) }
}

/// Sizes passed by the caller.
///
/// # Safety
/// As `numbers`.
pub(crate) unsafe fn sizes(
    op: &'static str,
    argument: &'static str,
    values: *const i64,
    rank: usize,
) -> Result<Vec<usize>> {
    // SAFETY: the caller's promise.
    let values = unsafe { numbers(op, argument, values, rank)? };
    let size = |&value: &i64| {
        usize::try_from(value).map_err(|_| {
            let (got, remedy) = (format!("{values:?}"), "pass the number of elements");
            Error::InvalidArgument(Complaint::new(op, argument, got, "sizes are not negative", remedy))
        })
    };
    values.iter().map(size).collect()
}

/// As `numbers`; `None` for null.
///
/// # Safety
/// As `numbers`.
unsafe fn optional_numbers<'a>(
    op: &'static str,
    argument: &'static str,
    values: *const i64,
    rank: usize,
) -> Result<Option<&'a [i64]>> {
    if values.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { numbers(op, argument, values, rank) }.map(Some)
}

/// Calls `look` with the address of a tensor's first element, and its strides.
fn with_memory(t: &StridedTensor, look: impl FnOnce(*const u8, &[usize])) {
    let out = t.without_quantization().to_dlpack().expect("it has no scales");
    // SAFETY: our own live export; its deleter is called once, after the last use; its offset is inside its memory.
    unsafe {
        let d = &out.as_ref().dl_tensor;
        look(d.data.cast::<u8>().add(d.byte_offset as usize), t.strides());
        if let Some(delete) = out.as_ref().deleter {
            delete(out.as_ptr());
        }
    }
}

/// Called once with the context of a wrapped tensor, when its memory is no longer used, on any thread.
#[allow(non_camel_case_types)]
pub type bt_release = Option<unsafe extern "C" fn(*mut c_void)>;

pub(crate) struct Owner {
    pub(crate) context: *mut c_void,
    pub(crate) release: bt_release,
}

// SAFETY: the context is only passed back, and the caller of `bt_tensor_wrap` or `bt_input_wrap` promises that any thread may do so.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the caller's function with the caller's context, called once.
            unsafe { release(self.context) };
        }
    }
}

/// Makes a tensor of the caller's memory, without a copy. The address is a multiple of the elements' size; `bt_input_wrap` takes any for
/// inputs of runs. `release` is called once: when the memory is no longer used, or on
/// an error. Other tensors may use it as well, after this handle is freed: views, and results of runs (`bt_plan_run`).
///
/// With a null `release`, nothing says when the memory is no longer used: it must outlive all such tensors, such as memory that
/// lasts as long as the program.
///
/// # Safety
/// As `bt_tensor_from_data`. Every element that sizes and strides reach may be read, and written if `writable`, until
/// `release` is called. Nobody else writes to it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_wrap(
    dtype: i32,
    rank: usize,
    dims: *const i64,
    strides: *const i64,
    data: *mut c_void,
    writable: bool,
    context: *mut c_void,
    release: bt_release,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_tensor_wrap";
    let owner = Arc::new(Owner { context, release });
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, dims) = unsafe { (place(op, "out", out)?, numbers(op, "dims", dims, rank)?) };
        // SAFETY: as above.
        let strides = unsafe { optional_numbers(op, "strides", strides, rank)? };
        let memory = Foreign { data: data.cast(), dtype: self::dtype(op, dtype)?, dims, strides, writable };
        // SAFETY: the caller's promise.
        out.write(give(Object::Tensor(unsafe { StridedTensor::from_foreign(memory, owner) }?.into())));
        Ok(())
    })
}

/// What is known of a tensor. The caller sets `struct_size` to `sizeof(bt_info)`.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bt_info {
    /// Size of the structure that the caller was compiled with, in **bytes**.
    pub struct_size: usize,
    /// A `bt_dtype`.
    pub dtype: i32,
    /// Number of dimensions.
    pub rank: usize,
    /// Sizes, in logical order.
    pub dims: [i64; 12],
    /// Name of the dispatch key: `strided`, `blocked`.
    pub key: [c_char; 32],
    /// Name of the layout or memory format: `nChw16c`, `contiguous`. A longer name is cut after 31 **bytes**;
    /// `bt_layout_name` writes all of it.
    pub layout: [c_char; 32],
}

/// Writes sizes, type, key and layout of a tensor, or of a description (`bt_desc_new`), to `info`.
///
/// # Safety
/// `info` points to a structure of `info->struct_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_info(t: bt_handle, info: *mut bt_info) -> bt_status {
    let op = "bt_tensor_info";
    guard(op, || {
        if info.is_null() {
            return Err(null(op, "info"));
        }
        // SAFETY: the caller's promise: at least the first field exists.
        let size = unsafe { (&raw const (*info).struct_size).read() };
        if size != size_of::<bt_info>() {
            let rule = format!("this library's has {} bytes", size_of::<bt_info>());
            let got = format!("a structure of {size} bytes");
            let remedy = "set struct_size to sizeof(bt_info), and compile with this library's header";
            return Err(Error::AbiMismatch(Complaint::new(op, "info", got, rule, remedy)));
        }
        // SAFETY: the caller's promise; the size shows that the structure is complete.
        let info = unsafe { place(op, "info", info)? };
        let desc = handles::description(op, "t", t)?;
        let mut dims = [0; 12];
        dims.iter_mut().zip(desc.dims()).for_each(|(to, &d)| *to = d as i64);
        info.write(bt_info {
            struct_size: size,
            dtype: number(desc.dtype()),
            rank: desc.dims().len(),
            dims,
            key: cut(desc.key().name()),
            layout: cut(&desc.layout_name()),
        });
        Ok(())
    })
}

/// At most 31 bytes of the text, and the NUL that ends it.
fn cut(text: &str) -> [c_char; 32] {
    let mut cut = [0; 32];
    cut.iter_mut().zip(text.bytes().take(31)).for_each(|(to, b)| *to = b as c_char);
    cut
}

/// Copies the elements of a strided tensor, in row-major order, into `data`. `bytes` must be exactly their size.
///
/// # Safety
/// `data` may be written for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_read(t: bt_handle, data: *mut c_void, bytes: usize) -> bt_status {
    let op = "bt_tensor_read";
    guard(op, || {
        let t = strided(op, "t", &tensor(op, "t", t)?)?;
        let needed = t.numel() * t.dtype().size_bytes();
        if bytes != needed {
            let (got, rule) = (format!("{bytes} bytes"), format!("the tensor has {needed}"));
            return Err(Error::ShapeMismatch(Complaint::new(
                op,
                "bytes",
                got,
                rule,
                "pass exactly that many",
            )));
        }
        if data.is_null() && needed > 0 {
            return Err(null(op, "data"));
        }
        let rows = t.contiguous(MemoryFormat::Contiguous)?;
        with_memory(&rows, |first, _| {
            // SAFETY: the elements are row-major and have `needed` bytes; the caller's memory has the same length and does
            // not overlap them.
            unsafe { std::ptr::copy_nonoverlapping(first, data.cast::<u8>(), needed) };
        });
        Ok(())
    })
}

/// Gives the address of a strided tensor's first element, for reading while its handle lives, and its strides in elements.
///
/// # Safety
/// `data` and `strides` may be written, `strides` for as many values as the tensor has dimensions; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_tensor_data(
    t: bt_handle,
    data: *mut *const c_void,
    strides: *mut i64,
) -> bt_status {
    let op = "bt_tensor_data";
    guard(op, || {
        let t = strided(op, "t", &tensor(op, "t", t)?)?;
        with_memory(&t, |first, steps| {
            if !data.is_null() {
                // SAFETY: the caller's promise. The handle keeps the memory alive.
                unsafe { data.write(first.cast()) };
            }
            if !strides.is_null() {
                for (i, &step) in steps.iter().enumerate() {
                    // SAFETY: the caller's promise: `strides` has room for as many values as there are dimensions.
                    unsafe { strides.add(i).write(step as i64) };
                }
            }
        });
        Ok(())
    })
}

/// The same numbers with another element type, in the same layout. Integers keep their low bits, as with Rust's `as`: 300 of s32 is 44 of
/// u8. Numbers of f32, bf16 and f16 are truncated to integers, limited to what the type can hold, and rounded to f32, bf16 and f16.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_cast(t: bt_handle, dtype: i32, out: *mut bt_handle) -> bt_status {
    let op = "bt_cast";
    guard(op, || {
        // SAFETY: the caller's promise.
        let out = unsafe { place(op, "out", out)? };
        let (t, dtype) = (tensor(op, "t", t)?, self::dtype(op, dtype)?);
        let named = |e: Error| e.in_call(op, "t");
        let cast: Tensor = match &t {
            Tensor::Strided(s) => s.to_dtype(dtype).map_err(named)?.into(),
            Tensor::Blocked(b) => b.to_dtype(dtype).map_err(named)?.into(),
            Tensor::Opaque(_) => strided(op, "t", &t)?.into(),
        };
        out.write(give(Object::Tensor(cast)));
        Ok(())
    })
}

/// The same elements of a strided tensor in row-major order, with other sizes. One size may be -1: it becomes what the
/// number of elements leaves. It shares the tensor's memory where strides can express that, and otherwise copies.
///
/// # Safety
/// `dims` holds `rank` sizes, `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bt_reshape(
    t: bt_handle,
    rank: usize,
    dims: *const i64,
    out: *mut bt_handle,
) -> bt_status {
    let op = "bt_reshape";
    guard(op, || {
        // SAFETY: the caller's promises.
        let (out, dims) = unsafe { (place(op, "out", out)?, numbers(op, "dims", dims, rank)?) };
        let t = strided(op, "t", &tensor(op, "t", t)?)?;
        let dims = with_open_size(op, dims, t.numel())?;
        out.write(give(Object::Tensor(t.reshape(&dims)?.into())));
        Ok(())
    })
}

/// Sizes, of which one may be -1: what the others leave of `elements`.
fn with_open_size(op: &'static str, dims: &[i64], elements: usize) -> Result<Vec<usize>> {
    let known: Option<Vec<usize>> =
        dims.iter().filter(|&&d| d != -1).map(|&d| usize::try_from(d).ok()).collect();
    let open = dims.iter().filter(|&&d| d == -1).count();
    let refused = |rule: String, remedy| {
        Error::InvalidArgument(Complaint::new(op, "dims", format!("{dims:?}"), rule, remedy))
    };
    let Some(known) = known.filter(|_| open <= 1) else {
        let rule = "sizes are not negative, but for one that is -1".to_string();
        return Err(refused(rule, "pass at most one -1"));
    };
    if open == 0 {
        return Ok(known);
    }
    let product = known.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n > 0);
    let Some(left) = product.filter(|n| elements.is_multiple_of(*n)).map(|n| elements / n) else {
        let rule = format!("the tensor has {elements} elements, which these sizes do not divide");
        return Err(refused(rule, "pass all sizes"));
    };
    Ok(dims.iter().map(|&d| usize::try_from(d).unwrap_or(left)).collect())
}
