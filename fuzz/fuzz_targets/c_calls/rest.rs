//! Scopes, texts, versions, freeing.

use std::ffi::{CStr, c_void};

use blocktensor_c::*;

use crate::{INVALID_HANDLE, Kind, NULL_POINTER, State, UNTOUCHED, body};

impl State<'_> {
    pub(crate) fn scope(&mut self) {
        if self.depth == 2 {
            return;
        }
        let (which, null) = (self.input.below(4), self.input.one_in(8));
        let known = self.known.len();
        self.depth += 1;
        self.denied += usize::from(which == 1);
        let mut out = UNTOUCHED;
        let context: *mut c_void = std::ptr::from_mut(self).cast();
        let f: bt_body = if null { None } else { Some(body) };
        // SAFETY: the body gets the state that it asks for, and nobody else uses it until the scope ends.
        let status = unsafe {
            match which {
                0 => bt_run(f, context),
                1 => bt_deny_reorders(f, context),
                2 => bt_record(f, context, &mut out),
                _ => bt_scope(f, context),
            }
        };
        self.depth -= 1;
        self.denied -= usize::from(which == 1);
        assert_eq!(null, status == NULL_POINTER, "{status}");
        if which == 3 {
            // The scope freed what was made in it and is not freed yet.
            for k in self.known[known..].iter_mut().filter(|k| k.live) {
                k.live = false;
                self.live -= 1;
            }
        }
        if which == 2 && status == 0 {
            self.add(out, Kind::Text);
        } else {
            assert_eq!(out, UNTOUCHED);
        }
        assert_eq!(bt_live_handles(), self.live);
    }

    pub(crate) fn describe(&mut self) {
        let h = self.handle(|_| true);
        let room = self.input.pick(&[0, 1, 2, 16, 4096]);
        let (mut text, mut needed) = (vec![0xa5u8; room], usize::MAX);
        // SAFETY: that much room.
        let status = unsafe { bt_describe(h, text.as_mut_ptr().cast(), room, &mut needed) };
        let known = self.look(h);
        if self.said(status, known.is_some(), &[]) {
            assert!(needed > 0);
            if room > 0 {
                let said =
                    CStr::from_bytes_until_nul(&text).expect("a NUL in the room").to_str().expect("UTF-8");
                assert!(said.len() < room && (needed > room || said.len() + 1 == needed));
                if let Some(Kind::Dict(names)) = known
                    && needed <= room
                {
                    assert_eq!(said, names.join("\n"));
                }
            }
        } else {
            assert!(known.is_none() && text.iter().all(|&b| b == 0xa5));
        }
    }

    pub(crate) fn others(&mut self) {
        match self.input.below(8) {
            0 => bt_clear_cache(),
            1 => {
                let (version, size) =
                    (self.input.below(5) as u32, self.input.pick(&[0, 8, 24, size_of::<bt_api>(), 1 << 20]));
                let table = bt_get_api(version, size);
                let runs = (BT_ABI_OLDEST..=BT_ABI_VERSION).contains(&version);
                let good = runs && (size == 24 || size == size_of::<bt_api>());
                assert_eq!(!table.is_null(), good, "{version} {size}");
            }
            2 => assert_eq!(bt_abi_version(), BT_ABI_VERSION),
            3 => {
                let op = self.string(&["relu", "conv2d", "no such op"]);
                let known = op.as_c_str() == c"relu" || op.as_c_str() == c"conv2d";
                let said = self.schema(op.as_ptr());
                assert!(!known || said.contains("x: a data tensor"));
            }
            4 => {
                let mut out = UNTOUCHED;
                // SAFETY: null, which is refused.
                let status = unsafe { bt_tensor_from_dlpack(std::ptr::null_mut(), &mut out) };
                assert_eq!(status, NULL_POINTER);
                self.said(status, false, &[out]);
            }
            _ => {
                // SAFETY: the library's text.
                assert!(!unsafe { CStr::from_ptr(bt_version()) }.is_empty());
            }
        }
    }

    pub(crate) fn free(&mut self) {
        let h = self.handle(|_| true);
        let good = self.look(h).is_some();
        let status = bt_free(h);
        assert_eq!(
            status,
            if good {
                0
            } else if h == 0 {
                NULL_POINTER
            } else {
                INVALID_HANDLE
            }
        );
        if good {
            self.live -= 1;
            self.known.iter_mut().filter(|k| k.handle == h).for_each(|k| k.live = false);
        }
        assert_eq!(bt_live_handles(), self.live);
    }
}
