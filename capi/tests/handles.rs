//! Handles, pointers and callbacks: wrong use from C is an error with a code.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor_c::*;

mod support;

const NULL: i32 = 25;
const INVALID: i32 = 26;
const ABI: i32 = 27;

fn text() -> String {
    // SAFETY: this thread's, until its next failing call.
    let text = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_str().unwrap();
    support::words::check(text);
    text.to_string()
}

fn tensor(dims: &[i64]) -> bt_handle {
    let data: Vec<f32> = (0..dims.iter().product::<i64>()).map(|i| i as f32).collect();
    let mut out = 0;
    // SAFETY: arrays of the lengths that are passed.
    let status = unsafe {
        bt_tensor_from_data(
            0,
            dims.len(),
            dims.as_ptr(),
            null(),
            data.as_ptr().cast(),
            data.len() * 4,
            &mut out,
        )
    };
    assert_eq!(status, 0, "{}", text());
    out
}

fn read(t: bt_handle, n: usize) -> Vec<f32> {
    let mut values = vec![0f32; n];
    // SAFETY: room for `n` numbers.
    assert_eq!(unsafe { bt_tensor_read(t, values.as_mut_ptr().cast(), n * 4) }, 0, "{}", text());
    values
}

/// A blocked copy, or the status of the call.
fn blocked(t: bt_handle) -> Result<bt_handle, i32> {
    let mut out = 0;
    // SAFETY: a place for the result.
    match unsafe { bt_to_blocked(t, null(), &mut out) } {
        0 => Ok(out),
        status => Err(status),
    }
}

#[test]
fn null_stale_foreign_and_doubly_freed_handles_are_errors() {
    let t = tensor(&[1, 3, 2, 2]);
    assert_eq!(blocked(0), Err(NULL));
    for foreign in [1, 2, 77, u64::MAX, t ^ (1 << 62), t ^ (1 << 61), 1 << 63] {
        assert_eq!(blocked(foreign), Err(INVALID), "{foreign:x}");
        assert!(text().contains("never given"), "{}", text());
        assert_eq!(bt_free(foreign), INVALID);
    }
    let b = blocked(t).unwrap();
    assert_eq!(bt_free(t), 0);
    assert_eq!(bt_free(t), INVALID);
    assert!(text().contains("was freed"), "{}", text());
    // The slot is used again, and the old handle is still invalid.
    let new = tensor(&[1, 3, 2, 2]);
    assert_ne!(new, t);
    assert_eq!(blocked(t), Err(INVALID));
    // A handle of another kind.
    let mut out = 0;
    // SAFETY: a place for the result.
    assert_eq!(unsafe { bt_packed_run(b, new, 0, &mut out) }, INVALID);
    assert!(text().contains("a tensor, but the call takes packed weights"), "{}", text());
    // SAFETY: as above.
    assert_eq!(unsafe { bt_dict_take(new, c"x".as_ptr(), &mut out) }, INVALID);
    assert_eq!(bt_free(0), NULL);
    assert_eq!((bt_free(b), bt_free(new)), (0, 0));
}

#[test]
fn null_and_misaligned_pointers_are_errors() {
    let t = tensor(&[4]);
    // SAFETY: null and misaligned pointers are looked at before they are used.
    unsafe {
        assert_eq!(bt_to_strided(t, null(), null_mut()), NULL);
        assert_eq!(bt_call(null(), null(), 0, null_mut(), 0, null_mut()), NULL);
        assert_eq!(bt_call(c"relu".as_ptr(), null(), 1, null_mut(), 0, null_mut()), NULL);
        assert_eq!(bt_tensor_from_data(0, 2, null(), null(), null(), 0, &mut 0), NULL);
        assert_eq!(bt_tensor_from_dlpack(null_mut(), &mut 0), NULL);
        assert_eq!(bt_run(None, null_mut()), NULL);
        assert_eq!(bt_dict_load(c"/no/such/file".as_ptr(), &mut 0), 19);
        assert_eq!(bt_dict_load(c"\xff".as_ptr(), &mut 0), 8);
        assert_eq!(bt_dict_map(c"/no/such/file".as_ptr(), &mut 0), 19);
        assert_eq!(bt_dict_map(c"\xff".as_ptr(), &mut 0), 8);
        let mut room = [0u64; 2];
        let odd = room.as_mut_ptr().cast::<u8>().add(1).cast::<bt_handle>();
        assert_eq!(bt_to_strided(t, null(), odd), 22);
        let dims = [2i64, 2];
        let few = [0f32; 3];
        assert_eq!(bt_tensor_from_data(0, 2, dims.as_ptr(), null(), few.as_ptr().cast(), 12, &mut 0), 10);
        assert_eq!(bt_tensor_from_data(9, 2, dims.as_ptr(), null(), few.as_ptr().cast(), 12, &mut 0), 4);
        // The stride of an axis of size 1 has no meaning, and does not hide other errors.
        let (one, odd_steps) = ([1i64, 1000], [-5i64, 1]);
        let status =
            bt_tensor_from_data(0, 2, one.as_ptr(), odd_steps.as_ptr(), few.as_ptr().cast(), 12, &mut 0);
        assert_eq!(status, 10, "{}", text());
        assert_eq!(
            bt_tensor_from_data(0, 1 << 40, dims.as_ptr(), null(), few.as_ptr().cast(), 12, &mut 0),
            6
        );
        let bytes = [0u8; 13];
        let mut odd_place = 0;
        let odd_data = bytes.as_ptr().add(1).cast();
        assert_eq!(bt_tensor_from_data(0, 1, [3i64].as_ptr(), null(), odd_data, 12, &mut odd_place), 0);
        assert_eq!(bt_free(odd_place), 0);
        let back = [-1i64, 1];
        assert_eq!(
            bt_tensor_from_data(0, 2, dims.as_ptr(), back.as_ptr(), few.as_ptr().cast(), 12, &mut 0),
            11
        );
        assert_eq!(bt_tensor_read(t, room.as_mut_ptr().cast(), 8), 7);
        assert_eq!(bt_to_strided(t, c"sideways".as_ptr(), &mut 0), 8);
        assert_eq!(bt_to_blocked(t, c"nChw16c".as_ptr(), &mut 0), 6);
    }
    assert_eq!(bt_free(t), 0);
}

#[test]
fn bt_tensor_from_data_and_bt_tensor_wrap_take_strides_and_memory_of_the_caller() {
    // A transposed matrix, copied.
    let (dims, strides, data) = ([2i64, 3], [1i64, 2], [0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let mut t = 0;
    // SAFETY: arrays of the lengths that are passed.
    let status = unsafe {
        bt_tensor_from_data(0, 2, dims.as_ptr(), strides.as_ptr(), data.as_ptr().cast(), 24, &mut t)
    };
    assert_eq!((status, read(t, 6)), (0, vec![0.0, 2.0, 4.0, 1.0, 3.0, 5.0]));
    // `bt_to_strided` without a format makes a contiguous tensor of any strides.
    let (mut plain, mut place, mut steps) = (0, null(), [0i64; 2]);
    // SAFETY: places to write to; the tensor lives while its memory is read.
    let values = unsafe {
        assert_eq!(bt_to_strided(t, null(), &mut plain), 0, "{}", text());
        assert_eq!(bt_tensor_data(plain, &mut place, steps.as_mut_ptr()), 0, "{}", text());
        std::slice::from_raw_parts(place.cast::<f32>(), 6).to_vec()
    };
    assert_eq!((values, steps), (vec![0.0, 2.0, 4.0, 1.0, 3.0, 5.0], [3, 1]));
    assert_eq!(bt_free(plain), 0);
    let mut info = bt_info {
        struct_size: size_of::<bt_info>(),
        dtype: 9,
        rank: 0,
        dims: [0; 12],
        key: [0; 32],
        layout: [0; 32],
    };
    // SAFETY: a structure of its size.
    assert_eq!(unsafe { bt_tensor_info(t, &mut info) }, 0);
    assert_eq!((info.dtype, info.rank, &info.dims[..2]), (0, 2, &[2i64, 3][..]));
    info.struct_size = 8;
    // SAFETY: as above.
    assert_eq!(unsafe { bt_tensor_info(t, &mut info) }, ABI);
    assert_eq!(bt_free(t), 0);

    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn release(context: *mut c_void) {
        RELEASED.fetch_add(context as usize, SeqCst);
    }
    let mut mine = [1f32, -2.0, 3.0];
    let (dims, context) = ([3i64], 5usize as *mut c_void);
    // SAFETY: the array outlives the tensor.
    let status = unsafe {
        bt_tensor_wrap(
            0,
            1,
            dims.as_ptr(),
            null(),
            mine.as_mut_ptr().cast(),
            false,
            context,
            Some(release),
            &mut t,
        )
    };
    assert_eq!((status, read(t, 3)), (0, vec![1.0, -2.0, 3.0]));
    let mut data = null();
    // SAFETY: places for the results.
    assert_eq!(unsafe { bt_tensor_data(t, &mut data, null_mut()) }, 0);
    assert_eq!(data, mine.as_ptr().cast(), "where it lies");
    assert_eq!(RELEASED.load(SeqCst), 0);
    assert_eq!((bt_free(t), RELEASED.load(SeqCst)), (0, 5));
    // A refused call releases the memory at once.
    // SAFETY: as above.
    let status = unsafe {
        bt_tensor_wrap(
            77,
            1,
            dims.as_ptr(),
            null(),
            mine.as_mut_ptr().cast(),
            false,
            context,
            Some(release),
            &mut t,
        )
    };
    assert_eq!((status, RELEASED.load(SeqCst)), (4, 10));
}

#[test]
fn errors_are_per_thread_and_scopes_return_the_status_of_their_body() {
    assert_eq!(bt_free(0), NULL);
    std::thread::spawn(|| assert_eq!((bt_last_error_code(), text()), (0, String::new()))).join().unwrap();
    assert_eq!(bt_last_error_code(), NULL);

    unsafe extern "C" fn body(context: *mut c_void) -> bt_status {
        // SAFETY: the test's own handle.
        let t = unsafe { *context.cast::<bt_handle>() };
        match blocked(t) {
            Ok(b) => bt_free(b),
            Err(status) => status,
        }
    }
    let mut t = tensor(&[1, 3, 2, 2]);
    let context = (&raw mut t).cast();
    let mut book = 0;
    // SAFETY: the context is a handle, which the body reads.
    unsafe {
        assert_eq!(bt_run(Some(body), context), 0);
        let mut none = 0;
        unsafe extern "C" fn fails(_: *mut c_void) -> bt_status {
            42
        }
        assert_eq!((bt_record(Some(fails), context, &mut none), none), (42, 0));
        assert_eq!(bt_deny_reorders(Some(body), context), 16);
        assert!(text().contains("to_blocked") && text().contains("deny_reorders"), "{}", text());
        // A line of Rust would be of no use to a C program.
        assert!(text().contains("a foreign call of `bt_to_blocked`"), "{}", text());
        assert_eq!(bt_record(Some(body), context, &mut book), 0);
        let (mut said, mut needed) = ([0; 512], 0);
        assert_eq!(bt_describe(book, said.as_mut_ptr(), said.len(), &mut needed), 0);
        let said = CStr::from_ptr(said.as_ptr()).to_str().unwrap();
        assert!(said.contains("1 reorder") && needed == said.len() + 1, "{said}");
        // The call is named, and not the method of Rust behind it.
        assert!(said.contains("reorder bt_to_blocked"), "{said}");
        let mut few = [1; 4];
        assert_eq!(bt_describe(book, few.as_mut_ptr(), few.len(), null_mut()), 0);
        assert_eq!(few[3], 0, "cut, and still a string");
    }
    assert_eq!((bt_free(t), bt_free(book)), (0, 0));
}

#[test]
fn bt_build_info_describes_the_build() {
    let (mut text, mut needed) = ([0; 1024], 0);
    // SAFETY: a place of that length.
    assert_eq!(unsafe { bt_build_info(text.as_mut_ptr(), text.len(), &mut needed) }, 0);
    // SAFETY: written above.
    let said = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap();
    assert_eq!((said, needed), (blocktensor::build_info().to_string().as_str(), said.len() + 1));
    // SAFETY: a null place has no room.
    assert_eq!(unsafe { bt_build_info(null_mut(), 0, &mut needed) }, 0);
}

#[test]
fn bt_schema_lists_the_arguments_of_an_op() {
    let mut text = [0; 1024];
    let mut needed = 0;
    let mut said = |op: *const std::ffi::c_char| {
        // SAFETY: null or a string, and a place of that length.
        let status = unsafe { bt_schema(op, text.as_mut_ptr(), text.len(), &mut needed) };
        assert_eq!(status, 0, "{}", self::text());
        // SAFETY: written above.
        unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap().to_string()
    };
    let conv = said(c"conv2d".as_ptr());
    assert!(
        conv.starts_with(
            // Of bf16 with oneDNN, where the machine has instructions for it.
            "conv2d(x: a data tensor [f32 or "
        ) && conv.contains("weights: a data tensor [f32 or ")
            && conv.contains("u8 or s8, rank 4], weights:")
            && conv.contains("-> dst [as x or "),
        "{conv}"
    );
    assert!(
        conv.contains("stride: a list of integers = [1]") && conv.contains("groups: an integer = 1"),
        "{conv}"
    );
    assert!(said(null()).contains("\nconv2d\n"));
    // SAFETY: a string, and no place.
    assert_eq!(unsafe { bt_schema(c"gelu!".as_ptr(), null_mut(), 0, null_mut()) }, 8);
}

#[test]
fn bt_get_api_refuses_other_versions_and_sizes() {
    let size = size_of::<bt_api>();
    for (version, bytes) in [
        (BT_ABI_VERSION + 1, size),
        (BT_ABI_OLDEST - 1, size),
        (BT_ABI_VERSION, size + 8),
        (BT_ABI_VERSION, 0),
    ] {
        assert!(bt_get_api(version, bytes).is_null());
        assert_eq!(bt_last_error_code(), ABI);
    }
    assert_eq!(bt_code::BT_INVALID_HANDLE as i32, INVALID);
    // A program with an older header knows fewer functions.
    let api = bt_get_api(BT_ABI_OLDEST, size - 8);
    // SAFETY: not null, and static.
    let api = unsafe { &*api };
    assert_eq!((api.struct_size, api.table_version), (size, BT_ABI_VERSION));
}

/// Calls from a thread-local destructor, when the thread-local variables of the library may already be dropped.
#[test]
fn calls_from_thread_local_destructors_work() {
    struct Last(std::sync::mpsc::Sender<(i32, usize)>);
    impl Drop for Last {
        fn drop(&mut self) {
            let status = bt_free(0);
            // SAFETY: a string, whatever happened.
            let length = unsafe { CStr::from_ptr(bt_last_error_message()) }.to_bytes().len();
            let t = tensor(&[1, 3, 2, 2]);
            let b = blocked(t).unwrap();
            assert_eq!((bt_free(t), bt_free(b)), (0, 0));
            self.0.send((status, length)).unwrap();
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Made first, so it is dropped last.
        LAST.set(Some(Last(send)));
        assert_eq!(bt_free(0), NULL);
    })
    .join()
    .unwrap();
    assert_eq!(receive.recv().unwrap().0, NULL);
}

#[test]
fn many_threads_make_use_and_free_handles() {
    std::thread::scope(|s| {
        for seed in 0..8 {
            s.spawn(move || {
                let mut mine = Vec::new();
                for i in 0..200 {
                    mine.push(tensor(&[1, 3, 2, (seed + i) % 5 + 1]));
                    if i % 3 == 0 {
                        let t = mine.swap_remove(i as usize / 3 % mine.len());
                        let b = blocked(t).unwrap();
                        assert_eq!((bt_free(t), bt_free(b), bt_free(b)), (0, 0, INVALID));
                    }
                }
                mine.into_iter().for_each(|t| assert_eq!(bt_free(t), 0));
            });
        }
    });
}
