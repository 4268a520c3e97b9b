//! Scopes that free, numbers of threads, fallbacks, and names of state dicts.

mod support;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use blocktensor::{StateDict, StridedTensor};
use blocktensor_c::*;
use support::calls::*;
use support::{outcome, tensor};

const INVALID: i32 = bt_code::BT_INVALID_HANDLE as i32;

fn live(t: bt_handle) -> bool {
    support::described(bt_describe, t).is_ok()
}

#[test]
fn bt_scope_frees_what_is_made_in_it_and_not_kept() {
    let before = tensor(&[1], &[1.0]);
    let (mut kept, mut lost, mut freed) = (0, 0, 0);
    let status = inside(bt_scope, || {
        (kept, lost, freed) = (tensor(&[1], &[2.0]), tensor(&[1], &[3.0]), tensor(&[1], &[4.0]));
        free(&[freed]);
        // Made by another thread, which has no scope.
        std::thread::spawn(|| free(&[tensor(&[1], &[5.0])])).join().unwrap();
        assert_eq!((bt_keep(kept), bt_keep(kept), bt_keep(before)), (0, 0, 0));
        assert_eq!(bt_keep(freed), INVALID);
        // Results of calls belong to it too, and handles that another thread frees are no concern.
        let gone = call(c"relu", &[t(c"x", lost)]).unwrap();
        std::thread::spawn(move || free(&[gone])).join().unwrap();
        0
    });
    assert_eq!(status, 0);
    assert_eq!([before, kept, lost, freed].map(live), [true, true, false, false]);
    assert_eq!(bt_free(lost), INVALID);
    assert!(last().contains("was freed"), "{}", last());
    free(&[before, kept]);
    assert_eq!(bt_keep(0), bt_code::BT_NULL_POINTER as i32);
    // Outside of scopes it checks the handle, and does nothing.
    let t = tensor(&[1], &[6.0]);
    assert_eq!((bt_keep(t), bt_free(t), bt_keep(t)), (0, 0, INVALID));
}

#[test]
fn bt_scope_nests_and_frees_after_a_failing_body() {
    let (mut inner, mut outer) = (0, 0);
    let status = inside(bt_scope, || {
        let status = inside(bt_scope, || {
            (inner, outer) = (tensor(&[1], &[1.0]), tensor(&[1], &[2.0]));
            assert_eq!(bt_keep(outer), 0);
            42
        });
        // The kept one belongs to this scope now.
        assert_eq!((status, live(inner), live(outer)), (42, false, true));
        // Other scopes inside neither free nor keep.
        let run = tensor(&[1], &[3.0]);
        assert_eq!(inside(bt_run, || bt_free(run)), 0);
        7
    });
    assert_eq!((status, live(outer)), (7, false));
    // SAFETY: null is looked at before it is used.
    assert_eq!(unsafe { bt_scope(None, null_mut()) }, bt_code::BT_NULL_POINTER as i32);
}

/// The handles are freed in the reverse order, and what a release function makes is freed too.
#[test]
fn bt_scope_frees_in_the_reverse_order() {
    static RELEASED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    unsafe extern "C" fn release(context: *mut c_void) {
        RELEASED.lock().unwrap().push(context as usize);
        free(&[tensor(&[1], &[0.0])]);
    }
    let mut data = [0f32; 2];
    let place = data.as_mut_ptr();
    let status = inside(bt_scope, || {
        (1..=3)
            .map(|i| {
                let (mut t, context) = (0, i as *mut c_void);
                // SAFETY: the array outlives the tensor.
                unsafe {
                    bt_tensor_wrap(F32, 1, &2, null(), place.cast(), false, context, Some(release), &mut t)
                }
            })
            .sum()
    });
    assert_eq!((status, &RELEASED.lock().unwrap()[..]), (0, &[3, 2, 1][..]));
}

#[test]
fn many_threads_have_scopes_of_their_own() {
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let mut last = Vec::new();
                for _ in 0..50 {
                    let mut made = Vec::new();
                    let status = inside(bt_scope, || {
                        made.extend((0..20).map(|i| tensor(&[1], &[i as f32])));
                        assert!(made.iter().all(|&t| live(t)));
                        bt_keep(made[7])
                    });
                    assert_eq!((status, made.iter().filter(|&&t| live(t)).count()), (0, 1));
                    last.push(made[7]);
                }
                free(&last);
            });
        }
    });
}

fn threads() -> usize {
    let mut count = 0;
    // SAFETY: a place for the result.
    outcome(unsafe { bt_thread_count(&mut count) }, count).unwrap();
    count
}

/// In a process of its own, on the first processor that this one may use.
#[test]
fn threads_follow_the_affinity() {
    if let Some(count) = std::env::var_os("THREADS_OF_THIS_PROCESS") {
        assert_eq!(threads().to_string(), count.to_str().unwrap());
        return;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = allowed.trim().split([',', '-']).next().unwrap();
    for (number, count) in [(None, "1"), (Some("3"), "3")] {
        let mut process = std::process::Command::new("taskset");
        process.args(["-c", first]).arg(std::env::current_exe().unwrap());
        process.args(["--exact", "threads_follow_the_affinity"]).env("THREADS_OF_THIS_PROCESS", count);
        match number {
            Some(number) => process.env("RAYON_NUM_THREADS", number),
            None => process.env_remove("RAYON_NUM_THREADS"),
        };
        let done = process.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
}

#[test]
fn bt_run_with_threads_sets_the_number_for_its_body() {
    unsafe extern "C" fn three(body: bt_body, context: *mut c_void) -> bt_status {
        // SAFETY: what the caller passes.
        unsafe { bt_run_with_threads(3, body, context) }
    }
    let outside = threads();
    let me = std::thread::current().id();
    let x = random(&[1, 16, 9, 9], 1);
    let w = random(&[16, 16, 3, 3], 2);
    let mut packed = 0;
    let status = inside(three, || {
        assert_eq!((threads(), std::thread::current().id()), (3, me));
        assert_eq!(inside(bt_run, || threads() as i32), 3);
        packed = pack(bt_pack_conv, w, 0, &[], x).unwrap();
        free(&[run_packed(packed, x, 0).unwrap()]);
        0
    });
    assert_eq!((status, threads()), (0, outside));
    if outside != 3 {
        let (code, text) = run_packed(packed, x, 0).unwrap_err();
        assert!(code == bt_code::BT_PACK_MISMATCH as i32 && text.contains("on 3 threads"), "{text}");
    }
    for bad in [0, usize::MAX] {
        // SAFETY: the number is looked at before the body is called.
        let status = unsafe { bt_run_with_threads(bad, Some(never), null_mut()) };
        assert_eq!(status, bt_code::BT_INVALID_ARGUMENT as i32);
        assert!(last().contains("`bt_run_with_threads`") && last().contains("1 to "), "{}", last());
    }
    unsafe extern "C" fn never(_: *mut c_void) -> bt_status {
        unreachable!()
    }
}

#[test]
fn bt_allow_fallback_lasts_until_its_handle_is_freed() {
    static NOTES: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn tell(context: *mut c_void, text: *const c_char) {
        assert!(support::text(text).contains("op `cumsum` has no blocked kernel"));
        NOTES.fetch_add(context as usize, SeqCst);
    }
    let allow = |name: *const c_char, tell, out: &mut bt_handle| {
        // SAFETY: null or a string, a function that takes any context, and a place for the result.
        unsafe { bt_allow_fallback(name, tell, 5 as *mut c_void, out) }
    };
    let x = blocked(random(&[1, 16, 4, 4], 1));
    let sums = || call(c"cumsum", &[t(c"x", x), int(c"axis", 2)]);
    let unsupported = |e: (i32, String)| assert_eq!(e.0, bt_code::BT_UNSUPPORTED_OP as i32, "{}", e.1);
    unsupported(sums().unwrap_err());
    let mut on = 0;
    assert_eq!(allow(c"cumsum".as_ptr(), Some(tell), &mut on), 0);
    assert_eq!(support::described(bt_describe, on).unwrap(), "a fallback that is on");
    let y = sums().unwrap();
    assert_eq!((info(y), NOTES.load(SeqCst)), (info(x), 5));
    free(&[sums().unwrap()]);
    assert_eq!(NOTES.load(SeqCst), 5, "told once");
    // Its reorders are denied where reorders are.
    let denied = inside(bt_deny_reorders, || sums().unwrap_err().0);
    assert_eq!(denied, bt_code::BT_REORDER_DENIED as i32);
    free(&[on]);
    unsupported(sums().unwrap_err());

    // Handles of one op overlap: it falls back until the last is freed, in whatever order, and each is told once.
    let (mut first, mut second) = (0, 0);
    assert_eq!(allow(c"cumsum".as_ptr(), Some(tell), &mut first), 0);
    assert_eq!(allow(null(), Some(tell), &mut second), 0);
    free(&[sums().unwrap(), sums().unwrap()]);
    assert_eq!(NOTES.load(SeqCst), 15, "told once each");
    free(&[first, sums().unwrap(), second]);
    unsupported(sums().unwrap_err());

    // For every op, and without anybody to tell; a scope switches it off.
    let status = inside(bt_scope, || {
        assert_eq!(allow(null(), None, &mut on), 0);
        sums().map_or_else(|e| e.0, |_| 0)
    });
    assert_eq!(status, 0);
    unsupported(sums().unwrap_err());
    assert_eq!(allow(c"nosuch".as_ptr(), None, &mut on), bt_code::BT_INVALID_ARGUMENT as i32);
    assert!(last().contains("`bt_allow_fallback`") && last().contains("`nosuch`"), "{}", last());
}

#[test]
fn names_of_state_dicts_may_contain_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.safetensors");
    let odd = ["a\nb", "nul\0inside", "\u{2603}.weight", ""];
    let mut dict = StateDict::new();
    for (i, name) in odd.iter().enumerate() {
        dict.insert(*name, StridedTensor::from_slice(&[i as f32], &[1]).unwrap());
    }
    dict.save(&path).unwrap();
    let dict = support::calls::dict(&path).unwrap();
    let mut sorted = odd;
    sorted.sort_unstable();
    assert_eq!(names(dict).unwrap(), sorted);
    // Taking changes no index.
    for (index, name) in sorted.iter().enumerate() {
        let t = take_at(dict, index).unwrap();
        let value = odd.iter().position(|o| o == name).unwrap() as f32;
        assert_eq!(numbers(t), [value]);
        assert_eq!(names(dict).unwrap(), sorted);
        assert_eq!(take_at(dict, index).unwrap_err().0, bt_code::BT_INVALID_ARGUMENT as i32, "taken");
    }
    assert_eq!(support::described(bt_describe, dict).unwrap(), "");
    let taken = take_at(dict, 0).unwrap_err().1;
    assert!(taken.contains("`bt_dict_take_at`") && taken.contains("which was taken"), "{taken}");
    let beyond = take_at(dict, 4).unwrap_err().1;
    assert!(beyond.contains("`bt_dict_take_at`") && beyond.contains("there are 4 names"), "{beyond}");
    assert!(name(dict, usize::MAX).unwrap_err().1.contains("`bt_dict_len`"));
    let x = tensor(&[1], &[0.0]);
    assert!(names(x).unwrap_err().1.contains("the call takes a state dict or a packed file"));
    let odd: &CStr = c"a\nb";
    let again = support::calls::dict(&path).unwrap();
    free(&[take_named(again, odd).unwrap(), again, dict]);
}
