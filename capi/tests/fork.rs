//! A forked child of a process that uses the C interface: its calls are refused, also those that only read a handle.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use blocktensor_c::*;

#[test]
fn a_forked_child_is_refused_and_does_not_hang() {
    let (dims, data, mut t) = ([2i64, 3], [0.5f32; 6], 0);
    let give = |t: &mut bt_handle| {
        // SAFETY: arrays of the lengths that are passed.
        unsafe {
            bt_tensor_from_data(0, 2, dims.as_ptr(), std::ptr::null(), data.as_ptr().cast(), 24, &raw mut *t)
        }
    };
    assert_eq!(give(&mut t), 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while !stop.load(SeqCst) {
                    let mut own = 0;
                    assert_eq!((give(&mut own), bt_free(own)), (0, 0));
                }
            });
        }
        for i in 0..60 {
            // SAFETY: the child makes calls and ends; the signal ends one that hangs.
            let status = unsafe {
                match libc::fork() {
                    0 => {
                        libc::alarm(20);
                        let forked = bt_code::BT_FORKED_PROCESS as i32;
                        let mut own = 0;
                        let refused = give(&mut own) == forked
                            && bt_free(t) == forked
                            && bt_last_error_code() == forked
                            && bt_live_handles() == 0;
                        bt_clear_cache();
                        libc::_exit(i32::from(!refused));
                    }
                    child => {
                        let mut status = 0;
                        assert!(child > 0 && libc::waitpid(child, &mut status, 0) == child);
                        status
                    }
                }
            };
            if status != 0 {
                stop.store(true, SeqCst);
            }
            assert_eq!(status, 0, "child {i}: 14 is a hang, 256 a call that was not refused");
        }
        stop.store(true, SeqCst);
    });
    assert_eq!(bt_free(t), 0);
}
