//! oneDNN's reorder: between descriptors, so also into layouts that have no name.

use std::sync::Arc;

use onednn_sys as sys;

use super::engine::engine;
use super::memory::{MemoryDesc, Spec};
use super::primitive::{Answer, Executable, PrimitiveDesc, RunArg};
use super::{Refused, cache};
use crate::buffer::Buffer;
use crate::error::{Result, Unsupported};
use crate::threads;

/// Reorders between two stated layouts through the primitive cache.
pub(crate) fn reorder(from: Spec<'_>, src: &[u8], to: Spec<'_>, dst: &mut [u8]) -> Result<(), Refused> {
    let executable: Arc<Executable> = cache::get(
        |key| {
            key.extend([4, threads::current_threads() as u64]);
            from.push_key(key);
            to.push_key(key);
        },
        || create(&from.describe()?, &to.describe()?),
    )?;
    executable.run(&mut [RunArg::In(src), RunArg::Out(dst)])?;
    Ok(())
}

/// Packs plain weights into the layout that a primitive chose. Not cached: a descriptor that oneDNN chose cannot
/// be compared as a value, and packing happens once.
pub(crate) fn pack(from: Spec<'_>, src: &[u8], to: &MemoryDesc) -> Result<Buffer, Refused> {
    let mut packed = Buffer::zeroed(to.size_bytes())?;
    let executable = create(&from.describe()?, to)?;
    executable.run(&mut [RunArg::In(src), RunArg::Out(packed.as_bytes_mut())])?;
    Ok(packed)
}

/// The way back from [`pack`].
pub(crate) fn unpack(from: &MemoryDesc, src: &[u8], to: Spec<'_>, dst: &mut [u8]) -> Result<(), Refused> {
    let executable = create(from, &to.describe()?)?;
    executable.run(&mut [RunArg::In(src), RunArg::Out(dst)])?;
    Ok(())
}

fn create(from: &MemoryDesc, to: &MemoryDesc) -> Result<Executable, Refused> {
    let engine = engine()?;
    let threads = threads::current_threads();
    // SAFETY: both descriptors are alive, and the engine is the process's own.
    let answer = unsafe {
        PrimitiveDesc::ask("dnnl_reorder_primitive_desc_create", threads, &[], |place, _, attr| {
            sys::dnnl_reorder_primitive_desc_create(place, from.raw(), engine, to.raw(), engine, attr)
        })?
    };
    match answer {
        Answer::Found(desc) => {
            Ok(Executable::new(&desc, &[sys::DNNL_ARG_FROM as i32, sys::DNNL_ARG_TO as i32])?)
        }
        Answer::Unimplemented => Err(Unsupported::NoImplementation.into()),
    }
}
