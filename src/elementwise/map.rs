//! Maps over one to three operands.

use std::marker::PhantomData;

use super::loops::{Function, Function2, Map1, Map2, Map3};
use super::plan::LoopNest;
use super::run::{self, SourceStorage, TileRows};
use super::tail::ChannelTail;
use crate::buffer::Buffer;
use crate::dtype::{DType, Element};
use crate::error::{Result, fail};
use crate::layout::dims::Dims;
use crate::layout::iterator::{self, Operand};
use crate::layout::memory_format::MemoryFormat;
use crate::layout::overlap::{check_own_memory, has_own_memory, span};
use crate::simd;
use crate::tensor::any::TensorRef;
use crate::tensor::quantization;
use crate::tensor::result_format::FormatRule;
use crate::tensor::strided::StridedTensor;
use crate::threads::{SyncPtr, check_process};

/// Applies `f` to every element of `a`. The result has the strides that [`FormatRule::ElementWise`] gives.
///
/// `f` should be a function marked `#[inline(always)]`, or a small closure: it is compiled into a vector loop.
///
/// # Errors
/// `DTypeMismatch` when the operand's elements are not `A`; `OutOfMemory`.
pub fn map1<A: Element, O: Element>(
    op: &'static str,
    a: &StridedTensor,
    f: impl Fn(A) -> O + Sync,
) -> Result<StridedTensor> {
    let mut dst = result::<O>(op, &[a])?;
    map1_into(op, &mut dst, a, f)?;
    Ok(dst)
}

/// Applies `f` to every pair of elements. The operands broadcast against each other. As [`map1`].
///
/// # Errors
/// As `map1`, and `ShapeMismatch` for shapes that do not broadcast.
pub fn map2<A: Element, B: Element, O: Element>(
    op: &'static str,
    a: &StridedTensor,
    b: &StridedTensor,
    f: impl Fn(A, B) -> O + Sync,
) -> Result<StridedTensor> {
    let mut dst = result::<O>(op, &[a, b])?;
    map2_into(op, &mut dst, a, b, f)?;
    Ok(dst)
}

/// Applies `f` to every triple of elements. The operands broadcast against each other. As [`map1`].
///
/// # Errors
/// As `map1`, and `ShapeMismatch` for shapes that do not broadcast.
pub fn map3<A: Element, B: Element, C: Element, O: Element>(
    op: &'static str,
    a: &StridedTensor,
    b: &StridedTensor,
    c: &StridedTensor,
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<StridedTensor> {
    let mut dst = result::<O>(op, &[a, b, c])?;
    map3_into(op, &mut dst, a, b, c, f)?;
    Ok(dst)
}

/// As [`map1`], into a tensor that keeps its strides.
///
/// # Errors
/// As `map1`; `ShapeMismatch` when `dst` does not have the operands' common shape; `OverlappingOutput` when elements of `dst`
/// share memory; `Aliasing` when another tensor shares its storage. After an error `dst` is unchanged.
pub fn map1_into<A: Element, O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    a: &StridedTensor,
    f: impl Fn(A) -> O + Sync,
) -> Result<()> {
    map1_to(op, MapDestination::<O>::of(op, dst)?, a, f)
}

/// As [`map1_into`], into any destination.
pub(crate) fn map1_to<A: Element, O: Element>(
    op: &'static str,
    dst: MapDestination<'_, O>,
    a: &StridedTensor,
    f: impl Function<A, O>,
) -> Result<()> {
    let Some((map, to)) = prepare(op, dst, &[(a, A::DTYPE)], false)? else { return Ok(()) };
    let kernel = |rows: &TileRows| {
        simd::dispatch_math(Map1 { rows, f: &f, of: PhantomData::<(A, O)> });
        map.zero_tail(rows);
    };
    // SAFETY: `prepare` checked shapes and dtypes. The destination was checked for overlap and sharing when it was made. No
    // tensor reaches an element outside its storage.
    unsafe { run::run(&map.nest, to, size_of::<O>(), &[source_storage::<A>(a)], &kernel) };
    Ok(())
}

/// As [`map2`], into a tensor that keeps its strides.
///
/// # Errors
/// As [`map1_into`].
pub fn map2_into<A: Element, B: Element, O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    a: &StridedTensor,
    b: &StridedTensor,
    f: impl Fn(A, B) -> O + Sync,
) -> Result<()> {
    map2_to(op, MapDestination::<O>::of(op, dst)?, a, b, f)
}

/// As [`map2_into`], into any destination.
pub(crate) fn map2_to<A: Element, B: Element, O: Element>(
    op: &'static str,
    dst: MapDestination<'_, O>,
    a: &StridedTensor,
    b: &StridedTensor,
    f: impl Function2<A, B, O>,
) -> Result<()> {
    let Some((map, to)) = prepare(op, dst, &[(a, A::DTYPE), (b, B::DTYPE)], false)? else { return Ok(()) };
    let kernel = |rows: &TileRows| {
        simd::dispatch(Map2 { rows, f: &f, of: PhantomData::<(A, B, O)> });
        map.zero_tail(rows);
    };
    let sources = [source_storage::<A>(a), source_storage::<B>(b)];
    // SAFETY: as in `map1_to`.
    unsafe { run::run(&map.nest, to, size_of::<O>(), &sources, &kernel) };
    Ok(())
}

/// As [`map3`], into a tensor that keeps its strides.
///
/// # Errors
/// As [`map1_into`].
pub fn map3_into<A: Element, B: Element, C: Element, O: Element>(
    op: &'static str,
    dst: &mut StridedTensor,
    a: &StridedTensor,
    b: &StridedTensor,
    c: &StridedTensor,
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<()> {
    map3_to(op, MapDestination::<O>::of(op, dst)?, a, b, c, f)
}

/// As [`map3_into`], into any destination.
pub(crate) fn map3_to<A: Element, B: Element, C: Element, O: Element>(
    op: &'static str,
    dst: MapDestination<'_, O>,
    a: &StridedTensor,
    b: &StridedTensor,
    c: &StridedTensor,
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<()> {
    let srcs = [(a, A::DTYPE), (b, B::DTYPE), (c, C::DTYPE)];
    let Some((map, to)) = prepare(op, dst, &srcs, false)? else { return Ok(()) };
    let kernel = |rows: &TileRows| {
        simd::dispatch(Map3 { rows, f: &f, of: PhantomData::<(A, B, C, O)> });
        map.zero_tail(rows);
    };
    let sources = [source_storage::<A>(a), source_storage::<B>(b), source_storage::<C>(c)];
    // SAFETY: as in `map1_to`.
    unsafe { run::run(&map.nest, to, size_of::<O>(), &sources, &kernel) };
    Ok(())
}

/// Copies `src`, broadcast to the shape of `dst`, into `dst`, which keeps its strides. No dtype is converted. PyTorch's
/// `copy_`. Both have the same scales and zero points, or none.
///
/// The ledger does not count this as a reorder. Callers that reorder, such as `contiguous`, record that themselves.
///
/// # Errors
/// As [`map1_into`].
pub fn copy_into(op: &'static str, dst: &mut StridedTensor, src: &StridedTensor) -> Result<()> {
    quantization::check_same(op, TensorRef::Strided(dst), src.quantization())?;
    match dst.dtype() {
        DType::F32 => copy_elements::<f32>(op, dst, src),
        DType::S32 => copy_elements::<i32>(op, dst, src),
        DType::BF16 => copy_elements::<half::bf16>(op, dst, src),
        DType::F16 => copy_elements::<half::f16>(op, dst, src),
        DType::U8 => copy_elements::<u8>(op, dst, src),
        DType::S8 => copy_elements::<i8>(op, dst, src),
    }
}

fn copy_elements<E: Element>(op: &'static str, dst: &mut StridedTensor, src: &StridedTensor) -> Result<()> {
    copy_to(op, MapDestination::<E>::of(op, dst)?, src)
}

/// As [`copy_into`], into any destination.
fn copy_to<E: Element>(op: &'static str, dst: MapDestination<'_, E>, src: &StridedTensor) -> Result<()> {
    if let Some((map, to)) = prepare(op, dst, &[(src, E::DTYPE)], true)? {
        // SAFETY: as in `map1_to`.
        unsafe { run::copy(&map.nest, to, source_storage::<E>(src)) };
    }
    Ok(())
}

fn result<O: Element>(op: &'static str, operands: &[&StridedTensor]) -> Result<StridedTensor> {
    let views: Vec<Operand<'_>> = operands.iter().map(|o| o.operand()).collect();
    let shape = iterator::broadcast(op, &views)?;
    FormatRule::ElementWise.empty_result(op, operands, &shape, O::DTYPE)
}

fn source_storage<E: Element>(of: &StridedTensor) -> SourceStorage<'_> {
    SourceStorage { bytes: bytemuck::cast_slice(of.data::<E>()), size: size_of::<E>() }
}

/// What a map writes: a strided tensor whose storage nobody shares, or the storage of a blocked result.
pub(crate) struct MapDestination<'a, O> {
    dims: Dims,
    strides: Dims,
    data: &'a mut [O],
    tail: Option<ChannelTail>,
}

impl<'a, O: Element> MapDestination<'a, O> {
    /// The elements of a tensor, checked: its dtype, that its elements share no memory, and that nobody shares its storage.
    pub(crate) fn of(op: &'static str, dst: &'a mut StridedTensor) -> Result<MapDestination<'a, O>> {
        check_dtype(op, "dst", dst, O::DTYPE)?;
        check_own_memory(op, &dst.dims, &dst.strides)?;
        let (dims, strides) = (dst.dims, dst.strides);
        match dst.data_mut::<O>() {
            Some(data) => Ok(MapDestination { dims, strides, data, tail: None }),
            None => Err(Buffer::not_for_writing(op)),
        }
    }

    /// The elements of a result that a kernel got from [`Results`](crate::op::Results), which has checked its memory.
    ///
    /// # Panics
    /// For a result of another dtype, or with shared storage.
    pub(crate) fn of_result(dst: &'a mut StridedTensor) -> MapDestination<'a, O> {
        assert_eq!(dst.dtype(), O::DTYPE, "the dtype of the result");
        debug_assert!(has_own_memory(&dst.dims, &dst.strides));
        let (dims, strides) = (dst.dims, dst.strides);
        MapDestination { dims, strides, data: dst.result_data::<O>(), tail: None }
    }

    /// Elements that are dense in the order of `dims`. The map zeroes the padding lanes that `tail` describes.
    ///
    /// # Panics
    /// When `data` is too short.
    pub(crate) fn dense(
        op: &'static str,
        dims: Dims,
        data: &'a mut [O],
        tail: Option<ChannelTail>,
    ) -> Result<MapDestination<'a, O>> {
        let strides = MemoryFormat::Contiguous.strides(op, &dims)?;
        assert!(dims.iter().product::<usize>() <= data.len(), "{dims} in {} elements", data.len());
        Ok(MapDestination { dims, strides, data, tail })
    }
}

/// A strided region of some storage: sizes, strides and offset in **elements**.
#[derive(Clone, Copy)]
pub(crate) struct StridedRegion {
    pub dims: Dims,
    pub strides: Dims,
    pub offset: usize,
}

impl StridedRegion {
    /// The region of a view's elements within its storage.
    pub fn of(view: &StridedTensor) -> StridedRegion {
        StridedRegion { dims: view.dims, strides: view.strides, offset: view.offset }
    }
}

impl<'a, O: Element> MapDestination<'a, O> {
    /// A region of a storage.
    ///
    /// # Errors
    /// `OverlappingOutput` if two elements of the region share memory.
    ///
    /// # Panics
    /// When the region reaches past the storage.
    fn of_region(
        op: &'static str,
        storage: &'a mut [O],
        region: StridedRegion,
    ) -> Result<MapDestination<'a, O>> {
        let StridedRegion { dims, strides, offset } = region;
        if !has_own_memory(&dims, &strides) {
            fail!(
                OverlappingOutput,
                op,
                "dst",
                format!("{dims} with strides {strides}"),
                "they overlap",
                "copy"
            );
        }
        let data = storage.get_mut(offset..).unwrap_or_default();
        assert!(span(&dims, &strides) <= data.len(), "{dims} with strides {strides} from {offset}");
        Ok(MapDestination { dims, strides, data, tail: None })
    }
}

/// Copies `src` into a region of a storage, which is given in bytes. No dtype is converted.
///
/// # Errors
/// As [`copy_into`].
pub(crate) fn copy_part(
    op: &'static str,
    storage: &mut [u8],
    region: StridedRegion,
    src: &StridedTensor,
) -> Result<()> {
    fn typed<E: Element>(
        op: &'static str,
        s: &mut [u8],
        region: StridedRegion,
        src: &StridedTensor,
    ) -> Result<()> {
        copy_to(op, MapDestination::<E>::of_region(op, bytemuck::cast_slice_mut(s), region)?, src)
    }
    match src.dtype() {
        DType::F32 => typed::<f32>(op, storage, region, src),
        DType::S32 => typed::<i32>(op, storage, region, src),
        DType::BF16 => typed::<half::bf16>(op, storage, region, src),
        DType::F16 => typed::<half::f16>(op, storage, region, src),
        DType::U8 => typed::<u8>(op, storage, region, src),
        DType::S8 => typed::<i8>(op, storage, region, src),
    }
}

/// A map or copy whose operands were checked: its loops, and the channel tail to zero.
struct CheckedMap {
    nest: LoopNest,
    tail: Option<ChannelTail>,
    /// Address of the destination.
    dst_address: usize,
    /// Size of an element of the destination in **bytes**.
    dst_size: usize,
}

impl CheckedMap {
    /// Zeroes the padding lanes in rows that were just written.
    fn zero_tail(&self, rows: &TileRows) {
        let Some(tail) = &self.tail else { return };
        // Rows that follow each other in memory are one piece.
        let (pieces, length) = match rows.dst_stride == rows.length {
            true => (1, rows.rows * rows.length),
            false => (rows.rows, rows.length),
        };
        for r in 0..pieces {
            // SAFETY: the rows are in the destination, which is dense if it has a tail, and no other task has them.
            unsafe {
                let row = rows.dst.add(r * rows.dst_stride * self.dst_size);
                let at = (row as usize - self.dst_address) / self.dst_size;
                tail.zero(at, std::slice::from_raw_parts_mut(row, length * self.dst_size), self.dst_size);
            }
        }
    }
}

/// Checks the sources against the destination. `None` if there are no elements. With `broadcast_to_dst` the
/// common shape of the sources may broadcast to the destination.
fn prepare<O: Element>(
    op: &'static str,
    dst: MapDestination<'_, O>,
    srcs: &[(&StridedTensor, DType)],
    broadcast_to_dst: bool,
) -> Result<Option<(CheckedMap, SyncPtr<u8>)>> {
    check_process(op)?;
    for &(src, dtype) in srcs {
        check_dtype(op, "operand", src, dtype)?;
    }
    let views: Vec<Operand<'_>> = srcs.iter().map(|(s, _)| s.operand()).collect();
    let shape = iterator::broadcast(op, &views)?;
    // A copy broadcasts to its destination, as PyTorch's `copy_` does. An op's result has the common shape.
    let whole = Operand { dims: &dst.dims, strides: &dst.strides };
    let all: Vec<Operand<'_>> = views.iter().copied().chain([whole]).collect();
    let wanted = if broadcast_to_dst { iterator::broadcast(op, &all).ok() } else { Some(shape) };
    if wanted != Some(dst.dims) {
        fail!(
            ShapeMismatch,
            op,
            "dst",
            dst.dims.to_string(),
            format!("the operands have the common shape {shape}"),
            "pass a destination of that shape"
        );
    }
    if dst.dims.contains(&0) {
        return Ok(None);
    }
    let mut strides = vec![dst.strides];
    strides.extend(views.iter().map(|&v| iterator::stretched(&dst.dims, v)));
    let nest = LoopNest::new(&dst.dims, &strides);
    let to = SyncPtr::new(bytemuck::cast_slice_mut(dst.data));
    let map = CheckedMap { nest, tail: dst.tail, dst_address: to.get() as usize, dst_size: size_of::<O>() };
    Ok(Some((map, to)))
}

pub(super) fn check_dtype(
    op: &'static str,
    argument: &'static str,
    tensor: &StridedTensor,
    wanted: DType,
) -> Result<()> {
    if tensor.dtype() == wanted {
        return Ok(());
    }
    fail!(
        DTypeMismatch,
        op,
        argument,
        tensor.dtype().name(),
        format!("this kernel takes {wanted}"),
        "pass a tensor of that dtype"
    )
}
