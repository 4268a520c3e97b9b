//! Runs on stand-ins: values that no program passed.

use std::cell::Cell;

thread_local! {
    static STAND_INS: Cell<bool> = const { Cell::new(false) };
}

/// Runs steps of a plan on zeros, which stand for the elements of a run. A value that is an error of a run is replaced then: no
/// program passed it.
pub fn with_stand_ins<R>(run: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            STAND_INS.set(self.0);
        }
    }
    let _before = Before(STAND_INS.replace(true));
    run()
}

/// Whether the elements of a call stand for others.
pub fn are_stand_ins() -> bool {
    STAND_INS.get()
}
