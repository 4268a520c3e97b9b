//! Dispatch keys: which backend's kernels a tensor is for.

use std::sync::RwLock;

use crate::error::Call;

/// The largest number of keys: two of this crate, the rest for other crates.
pub const MAX_KEYS: usize = 16;

/// A backend. The data operands of a call choose it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DispatchKey(u8);

/// How a backend describes its key, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// The key's name.
    pub name: &'static str,
    /// The call that reorders one of the key's tensors to `strided`.
    pub to_strided: &'static str,
    /// The call that reorders a strided tensor to the key.
    pub from_strided: &'static str,
}

const STRIDED: KeySpec = KeySpec { name: "strided", to_strided: "", from_strided: "" };
const BLOCKED: KeySpec = KeySpec {
    name: "blocked",
    to_strided: "to_strided(MemoryFormat::Contiguous)",
    from_strided: "to_blocked",
};

/// The spec of a key whose registration was refused.
const UNREGISTERED: KeySpec = KeySpec { name: "unregistered", to_strided: "", from_strided: "" };

static KEYS: RwLock<Vec<KeySpec>> = RwLock::new(Vec::new());

fn keys() -> std::sync::RwLockReadGuard<'static, Vec<KeySpec>> {
    KEYS.read().unwrap_or_else(|e| e.into_inner())
}

impl DispatchKey {
    /// Plain sizes and strides: NCHW, NHWC and views of them.
    pub const STRIDED: DispatchKey = DispatchKey(0);
    /// Tensors whose channels are blocked in memory.
    pub const BLOCKED: DispatchKey = DispatchKey(1);

    /// How the key's backend describes it.
    pub fn spec(self) -> KeySpec {
        match self {
            DispatchKey::STRIDED => STRIDED,
            DispatchKey::BLOCKED => BLOCKED,
            DispatchKey(i) => keys().get(i as usize - 2).copied().unwrap_or(UNREGISTERED),
        }
    }

    /// The key's name.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Every key that exists now.
    pub fn all() -> Vec<DispatchKey> {
        (0..keys().len() as u8 + 2).map(DispatchKey).collect()
    }

    /// The key with this name.
    pub fn by_name(name: &str) -> Option<DispatchKey> {
        DispatchKey::all().into_iter().find(|k| k.name() == name)
    }

    /// The call that reorders a strided tensor of this rank to the key.
    pub(crate) fn way_in(self, rank: usize) -> Call {
        match self {
            DispatchKey::BLOCKED => Call::ToBlocked(rank),
            _ => Call::OfBackend(self.spec().from_strided),
        }
    }

    /// The call that reorders tensors of the key to `strided`, and the one that brings results back.
    #[doc(hidden)]
    pub fn way_out(self) -> (Call, Call) {
        match self {
            DispatchKey::BLOCKED => (Call::ToStrided, Call::ToAnyBlocked),
            key => (Call::OfBackend(key.spec().to_strided), Call::OfBackend(key.spec().from_strided)),
        }
    }

    /// The key that [`DispatchKey::commit`] will make after `before` others; `None` if there is no room. The caller holds the
    /// registry's lock from here until `commit`.
    pub(crate) fn next(before: usize) -> Option<DispatchKey> {
        let index = keys().len() + 2 + before;
        (index < MAX_KEYS).then_some(DispatchKey(index as u8))
    }

    pub(crate) fn commit(spec: KeySpec) {
        KEYS.write().unwrap_or_else(|e| e.into_inner()).push(spec);
    }
}

impl std::fmt::Display for DispatchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::fmt::Debug for DispatchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
