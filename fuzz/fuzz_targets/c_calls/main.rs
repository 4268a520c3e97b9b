//! The C interface: calls in any order, with handles that are live, freed, null, of another kind, or never given. A model knows
//! the live handles and the elements of tensors. At the end all is freed.
#![no_main]

mod into;
mod ops;
mod rest;
mod tensors;

use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};

use blocktensor_c::*;
use blocktensor_fuzz::{Input, limit_memory, setup, storage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    setup();
    let mut input = Input::new(data);
    storage(input.flag());
    limit_memory();
    assert_eq!(bt_live_handles(), 0);
    let mut state = State { input, known: Vec::new(), live: 0, released: Vec::new(), depth: 0, denied: 0 };
    while !state.input.is_empty() {
        state.step();
    }
    state.end();
});

const NULL_POINTER: i32 = bt_code::BT_NULL_POINTER as i32;
const INVALID_HANDLE: i32 = bt_code::BT_INVALID_HANDLE as i32;
/// The value of an output that no call has written.
const UNTOUCHED: u64 = 0xdead_beef_dead_beef;
const SIZES: [usize; 6] = [4, 2, 2, 1, 1, 4];

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Tensor { dtype: i32, dims: Vec<usize>, blocked: bool, bytes: Option<Vec<u8>> },
    Packed,
    Description,
    Operator,
    Writer,
    Dict(Vec<String>),
    Text,
}

#[derive(Clone, Debug)]
struct Known {
    handle: bt_handle,
    kind: Kind,
    live: bool,
}

/// Memory of the caller that a tensor wraps, and how often it was released.
type Wrapped = Box<(Vec<u64>, Cell<usize>)>;

struct State<'a> {
    input: Input<'a>,
    known: Vec<Known>,
    live: usize,
    released: Vec<Wrapped>,
    depth: usize,
    /// How many open scopes forbid reorders.
    denied: usize,
}

unsafe extern "C" fn release(context: *mut c_void) {
    // SAFETY: the counter of a `Wrapped`, which outlives the tensor.
    let count = unsafe { &*context.cast::<Cell<usize>>() };
    count.set(count.get() + 1);
}

/// The body of a scope: some more steps.
unsafe extern "C" fn body(context: *mut c_void) -> bt_status {
    // SAFETY: the state, which only this runs on while the scope lasts.
    let state = unsafe { &mut *context.cast::<State<'_>>() };
    for _ in 0..state.input.below(4) {
        state.step();
    }
    state.input.pick(&[0, 0, 0, 7, -1])
}

impl State<'_> {
    /// A handle: mostly of a live tensor, or of the kind that is asked for.
    fn handle(&mut self, of: impl Fn(&Kind) -> bool) -> bt_handle {
        let fitting: Vec<bt_handle> =
            self.known.iter().filter(|k| k.live && of(&k.kind)).map(|k| k.handle).collect();
        match self.input.below(16) {
            0 => 0,
            1 => self.input.word(),
            2 | 3 if !self.known.is_empty() => {
                let at = self.input.below(self.known.len());
                self.known[at].handle
            }
            _ if fitting.is_empty() => 0,
            _ => self.input.pick(&fitting),
        }
    }

    fn tensor(&mut self) -> bt_handle {
        self.handle(|k| matches!(k, Kind::Tensor { .. }))
    }

    fn look(&self, handle: bt_handle) -> Option<Kind> {
        self.known.iter().find(|k| k.live && k.handle == handle).map(|k| k.kind.clone())
    }

    /// Checks the status of a call. A failure must set the last error of the thread and leave the outputs untouched. A bad
    /// handle must be a failure.
    fn said(&mut self, status: bt_status, good: bool, out: &[bt_handle]) -> bool {
        if status == 0 {
            assert!(good, "a handle that is not good was taken");
            assert_eq!(bt_live_handles(), self.live + out.len());
            return true;
        }
        assert_eq!(bt_last_error_code(), status);
        // SAFETY: the library's text, until the next call that fails.
        let text = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_str().expect("UTF-8");
        assert!(!text.is_empty() && text.len() < 4000, "{text}");
        let ours = [bt_code::BT_PANICKED, bt_code::BT_BACKEND, bt_code::BT_REGISTRATION].map(|c| c as i32);
        assert!((1..=28).contains(&status) && !ours.contains(&status), "{status}: {text}");
        assert!(out.iter().all(|&h| h == UNTOUCHED), "a place was written, and the call failed: {text}");
        assert_eq!(bt_live_handles(), self.live, "{text}");
        false
    }

    fn add(&mut self, handle: bt_handle, kind: Kind) {
        assert!(
            handle != 0 && handle != UNTOUCHED && !self.known.iter().any(|k| k.handle == handle),
            "a handle again"
        );
        self.live += 1;
        self.known.push(Known { handle, kind, live: true });
    }

    /// Compares what a tensor reports with the model.
    fn described(&mut self, handle: bt_handle, bytes: Option<Vec<u8>>) -> Kind {
        // SAFETY: all zeros is one.
        let mut info: bt_info = unsafe { std::mem::zeroed() };
        info.struct_size = size_of::<bt_info>();
        // SAFETY: a place of that size.
        assert_eq!(unsafe { bt_tensor_info(handle, &mut info) }, 0);
        // SAFETY: names end with NUL.
        let key = unsafe { CStr::from_ptr(info.key.as_ptr()) }.to_str().expect("a name");
        let dims = info.dims[..info.rank].iter().map(|&d| d as usize).collect();
        Kind::Tensor { dtype: info.dtype, dims, blocked: key == "blocked", bytes }
    }

    fn string(&mut self, from: &[&str]) -> CString {
        let bytes =
            if self.input.one_in(12) { self.input.bytes(8) } else { self.input.pick(from).as_bytes() };
        CString::new(bytes.iter().copied().filter(|&b| b != 0).collect::<Vec<_>>()).expect("no NUL")
    }

    fn step(&mut self) {
        match self.input.below(24) {
            0 | 1 => self.make(),
            2 => self.wrap(),
            3 => self.info(),
            4 => self.read(),
            5 => self.address(),
            6 | 7 => self.reorder(),
            8 | 9 => self.call(),
            10 => self.pack(),
            11 => self.run_packed(),
            12 => self.dict(),
            13 => self.scope(),
            14 => self.describe(),
            15 => self.dlpack(),
            16 => self.others(),
            17 => self.description(),
            18 => self.operator(),
            19 => self.run_into(),
            20 => self.writer(),
            _ => self.free(),
        }
    }

    /// Frees every handle once. Then no handle is live, and all memory was released.
    fn end(self) {
        for k in &self.known {
            assert_eq!(bt_free(k.handle), if k.live { 0 } else { INVALID_HANDLE });
        }
        assert_eq!(bt_live_handles(), 0);
        assert!(self.known.iter().all(|k| bt_free(k.handle) == INVALID_HANDLE));
        assert!(self.released.iter().all(|w| w.1.get() == 1), "memory was not given back once");
    }
}
