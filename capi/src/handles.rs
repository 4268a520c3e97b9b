//! Handles: numbers that stand for objects. An invalid handle is detected.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use blocktensor::{Complaint, Error, PackedConv, PackedLinear, Result, StateDict, Tensor};

use crate::model::Model;
use crate::plan::Planned;
use crate::status::{bt_status, guard};

/// A handle of any object; 0 means none.
#[allow(non_camel_case_types)]
pub type bt_handle = u64;

/// The objects that a handle can stand for.
pub(crate) enum Object {
    Tensor(Tensor),
    Packed(Box<Packed>),
    Dict(Mutex<StateDict>),
    Text(String),
    Model(Box<Model>),
    Plan(Box<Planned>),
}

pub(crate) enum Packed {
    Conv1(PackedConv<1>),
    Conv2(PackedConv<2>),
    Conv3(PackedConv<3>),
    Linear(PackedLinear),
}

impl Object {
    fn kind(&self) -> &'static str {
        match self {
            Object::Tensor(_) => "a tensor",
            Object::Packed(_) => "packed weights",
            Object::Dict(_) => "a state dict",
            Object::Text(_) => "a text",
            Object::Model(_) => "a model",
            Object::Plan(_) => "a plan",
        }
    }
}

#[derive(Default)]
struct Slot {
    generation: u32,
    object: Option<Arc<Object>>,
}

#[derive(Default)]
struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
    live: usize,
}

static TABLE: Mutex<Table> = Mutex::new(Table { slots: Vec::new(), free: Vec::new(), live: 0 });
/// A random mask, so that arbitrary numbers and handles of another process are unlikely to be valid handles.
static MARK: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("blocktensor") | 1);

fn table() -> std::sync::MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a handle for a new object.
pub(crate) fn give(object: Object) -> bt_handle {
    let object = Some(Arc::new(object));
    let mut t = table();
    t.live += 1;
    let index = match t.free.pop() {
        Some(index) => index,
        None => {
            t.slots.push(Slot::default());
            t.slots.len() - 1
        }
    };
    let slot = &mut t.slots[index];
    slot.object = object;
    // Never 0: the highest bit is always set. Generations are below 2^31, so they do not need it.
    (u64::from(slot.generation) << 32 | (index as u64 + 1)) ^ (*MARK & !(1 << 63)) | 1 << 63
}

fn bad(op: &'static str, argument: &str, handle: bt_handle, why: &str) -> Error {
    let rule = format!("it must be a live handle, and this one {why}");
    let remedy = "pass a handle that this library gave, and free it once, after its last use";
    Error::InvalidHandle(Complaint::new(op, argument.to_string(), format!("{handle:#018x}"), rule, remedy))
}

/// The index of a handle's slot.
fn find(t: &Table, op: &'static str, argument: &str, handle: bt_handle) -> Result<usize> {
    if handle == 0 {
        let (rule, remedy) = ("0 is not a handle", "pass a handle that this library gave");
        return Err(Error::NullPointer(Complaint::new(op, argument.to_string(), "0", rule, remedy)));
    }
    let plain = (handle & !(1 << 63)) ^ (*MARK & !(1 << 63));
    let (generation, index) = ((plain >> 32) as u32, plain as u32 as usize);
    let slot = index.checked_sub(1).and_then(|i| t.slots.get(i));
    match slot {
        Some(s) if handle >> 63 == 1 && s.generation == generation && s.object.is_some() => Ok(index - 1),
        Some(s) if handle >> 63 == 1 && generation < s.generation => {
            Err(bad(op, argument, handle, "was freed"))
        }
        _ => Err(bad(op, argument, handle, "was never given by this library")),
    }
}

/// The object of a handle. It stays alive while the caller uses it, even if another thread frees the handle.
pub(crate) fn object(op: &'static str, argument: &str, handle: bt_handle) -> Result<Arc<Object>> {
    let t = table();
    let index = find(&t, op, argument, handle)?;
    t.slots[index].object.clone().ok_or_else(|| bad(op, argument, handle, "was freed"))
}

fn wrong(op: &'static str, argument: &str, handle: bt_handle, object: &Object, asked: &str) -> Error {
    let got = format!("{handle:#018x}, {}", object.kind());
    let (rule, remedy) = (format!("{asked} was asked for"), "pass a handle of that kind");
    Error::InvalidHandle(Complaint::new(op, argument.to_string(), got, rule, remedy))
}

/// The tensor of a handle.
pub(crate) fn tensor(op: &'static str, argument: &str, handle: bt_handle) -> Result<Tensor> {
    match &*object(op, argument, handle)? {
        Object::Tensor(t) => Ok(t.clone()),
        other => Err(wrong(op, argument, handle, other, "a tensor")),
    }
}

/// The tensor of a handle, or `None` for handle 0.
pub(crate) fn optional(
    op: &'static str,
    argument: &'static str,
    handle: bt_handle,
) -> Result<Option<Tensor>> {
    if handle == 0 { Ok(None) } else { tensor(op, argument, handle).map(Some) }
}

/// Calls `f` with the object if it has the expected kind.
pub(crate) fn with<R>(
    op: &'static str,
    argument: &'static str,
    handle: bt_handle,
    asked: &str,
    f: impl FnOnce(&Object) -> Option<Result<R>>,
) -> Result<R> {
    let object = object(op, argument, handle)?;
    f(&object).unwrap_or_else(|| Err(wrong(op, argument, handle, &object, asked)))
}

/// Frees an object of any kind. Freeing it twice is an error, and harmless.
#[unsafe(no_mangle)]
pub extern "C" fn bt_free(handle: bt_handle) -> bt_status {
    guard("bt_free", || {
        let freed = {
            let mut t = table();
            let index = find(&t, "bt_free", "handle", handle)?;
            t.live -= 1;
            let slot = &mut t.slots[index];
            let freed = slot.object.take();
            // A slot whose generations are used up is never reused.
            if slot.generation < (1 << 31) - 2 {
                slot.generation += 1;
                t.free.push(index);
            }
            freed
        };
        // Outside the lock: dropping the object may call a release function of the caller.
        drop(freed);
        Ok(())
    })
}

/// The number of live handles in this process; 0 in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn bt_live_handles() -> usize {
    if blocktensor::check_process("bt_live_handles").is_err() { 0 } else { table().live }
}

/// Drops the primitives that unpacked convolutions and linear layers keep for shapes they have run, at most 1024. Packed
/// weights keep their primitives.
#[unsafe(no_mangle)]
pub extern "C" fn bt_clear_cache() {
    #[cfg(feature = "onednn")]
    blocktensor::onednn::clear_cache();
}
