//! Exceptions become statuses, and panics pass through.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use core::ffi::c_char;

use onednn_sys::{dnnl_invalid_arguments, dnnl_out_of_memory, dnnl_runtime_error, guard};

// libstdc++'s own.
unsafe extern "C-unwind" {
    #[link_name = "_ZSt17__throw_bad_allocv"]
    fn throw_bad_alloc() -> !;
    #[link_name = "_ZSt20__throw_length_errorPKc"]
    fn throw_length_error(what: *const c_char) -> !;
}

#[test]
fn statuses_come_back_as_they_are() {
    assert_eq!(guard(|| dnnl_invalid_arguments), dnnl_invalid_arguments);
}

#[test]
fn exceptions_become_statuses() {
    // SAFETY: takes nothing; the exception is caught by `guard`.
    assert_eq!(guard(|| unsafe { throw_bad_alloc() }), dnnl_out_of_memory);
    // SAFETY: a text that ends with 0; as above.
    assert_eq!(guard(|| unsafe { throw_length_error(c"too long".as_ptr()) }), dnnl_runtime_error);
}

#[test]
fn what_is_alive_is_dropped_on_the_way() {
    struct Count<'a>(&'a mut usize);
    impl Drop for Count<'_> {
        fn drop(&mut self) {
            *self.0 += 1;
        }
    }
    let mut dropped = 0;
    let count = Count(&mut dropped);
    let status = guard(move || {
        let _count = count;
        // SAFETY: as above.
        unsafe { throw_bad_alloc() }
    });
    assert_eq!((status, dropped), (dnnl_out_of_memory, 1));
}

#[test]
fn a_panic_passes_through() {
    let caught = std::panic::catch_unwind(|| guard(|| panic!("told as it was")));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"told as it was"));
}
