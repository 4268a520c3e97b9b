//! Calls that make, wrap, read, reorder, export and import tensors.

use std::cell::Cell;
use std::ffi::c_void;

use blocktensor_c::*;
use blocktensor_fuzz::dims_of;

use crate::{Kind, SIZES, State, UNTOUCHED, Wrapped, release};

impl State<'_> {
    pub(crate) fn make(&mut self) {
        let hostile = self.input.one_in(6);
        let rank = self.input.below(6);
        let dims = dims_of(&mut self.input, rank, 512);
        let mut dims: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        let mut dtype = if self.input.flag() { 0 } else { self.input.below(6) as i32 };
        let size = SIZES[dtype as usize];
        let mut bytes = dims.iter().product::<i64>() as usize * size;
        let mut given_rank = rank;
        if hostile {
            match self.input.below(4) {
                0 => dtype = self.input.hostile() as i32,
                1 if rank > 0 => dims[0] = self.input.hostile(),
                // More axes than a tensor can have: the list must not be read.
                2 => given_rank = self.input.pick(&[13, 1 << 20, usize::MAX]),
                _ => bytes = self.input.below(bytes + 1),
            }
        }
        let skip = self.input.below(4);
        let seed = self.input.byte();
        let data: Vec<u8> =
            (0..bytes + skip).map(|i| (i.wrapping_mul(37) as u8).wrapping_add(seed) & 0x3f).collect();
        let mut out = UNTOUCHED;
        let (no_dims, no_data, no_out) =
            (self.input.one_in(32), self.input.one_in(32), self.input.one_in(32));
        // SAFETY: arrays of these lengths; a null one where the library must say so.
        let status = unsafe {
            bt_tensor_from_data(
                dtype,
                given_rank,
                if no_dims { std::ptr::null() } else { dims.as_ptr() },
                std::ptr::null(),
                if no_data { std::ptr::null() } else { data[skip..].as_ptr().cast() },
                bytes,
                if no_out { std::ptr::null_mut() } else { &mut out },
            )
        };
        let good = !(no_out || given_rank != rank || no_dims && rank > 0 || no_data && bytes > 0);
        assert!(hostile || !good || status == 0, "{dims:?} of {dtype}: {status}");
        if self.said(status, good, &[out]) {
            let kind = self.described(out, None);
            let Kind::Tensor { dtype: got, dims: got_dims, blocked: false, .. } = &kind else {
                panic!("{kind:?}")
            };
            assert!(*got == dtype && got_dims.iter().map(|&d| d as i64).eq(dims.iter().copied()));
            let used = got_dims.iter().product::<usize>() * SIZES[dtype as usize];
            let held = data[skip..skip + used].to_vec();
            let kind = Kind::Tensor { dtype, dims: got_dims.clone(), blocked: false, bytes: Some(held) };
            self.add(out, kind);
        }
    }

    pub(crate) fn wrap(&mut self) {
        let rank = self.input.below(5);
        let dims: Vec<i64> = dims_of(&mut self.input, rank, 256).iter().map(|&d| d as i64).collect();
        let numel = dims.iter().product::<i64>() as usize;
        // Strides of twice the dense ones stay within twice the memory.
        let gap = self.input.between(1, 2);
        let mut strides = vec![gap as i64; rank];
        for d in (0..rank.saturating_sub(1)).rev() {
            strides[d] = strides[d + 1] * dims[d + 1].max(1);
        }
        let bad = self.input.one_in(8);
        let given = if bad { dims.iter().map(|&d| -1 - d).collect() } else { dims.clone() };
        let wrapped: Wrapped = Box::new(((0..numel as u64 * gap as u64).collect(), Cell::new(0)));
        let mut out = UNTOUCHED;
        // SAFETY: memory as far as sizes and strides say, until it is released; or sizes that are refused.
        let status = unsafe {
            let context = std::ptr::from_ref(&wrapped.1).cast_mut().cast();
            let (data, writable) = (wrapped.0.as_ptr().cast_mut().cast(), self.input.flag());
            bt_tensor_wrap(
                0,
                rank,
                given.as_ptr(),
                strides.as_ptr(),
                data,
                writable,
                context,
                Some(release),
                &mut out,
            )
        };
        assert_eq!(status != 0, bad && rank > 0);
        if self.said(status, true, &[out]) {
            let floats: Vec<[u8; 4]> =
                wrapped.0.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).map(u32::to_ne_bytes).collect();
            let bytes = (0..numel).flat_map(|i| floats[i * gap]).collect();
            let kind = self.described(out, Some(bytes));
            assert_eq!(wrapped.1.get(), 0);
            self.add(out, kind);
        } else {
            assert_eq!(wrapped.1.get(), 1);
        }
        self.released.push(wrapped);
    }

    pub(crate) fn info(&mut self) {
        let h = self.tensor();
        let known = self.look(h);
        // SAFETY: all zeros is one.
        let mut info: bt_info = unsafe { std::mem::zeroed() };
        let right = !self.input.one_in(6);
        info.struct_size = if right { size_of::<bt_info>() } else { self.input.below(500) };
        let right = info.struct_size == size_of::<bt_info>();
        // SAFETY: a place of the true size.
        let status = unsafe { bt_tensor_info(h, &mut info) };
        if self.said(status, right && matches!(known, Some(Kind::Tensor { .. })), &[]) {
            let bytes = match &known {
                Some(Kind::Tensor { bytes, .. }) => bytes.clone(),
                _ => None,
            };
            assert_eq!(Some(self.described(h, bytes)), known);
        }
    }

    pub(crate) fn read(&mut self) {
        let h = self.tensor();
        let (needed, expected, good) = match self.look(h) {
            Some(Kind::Tensor { dtype, dims, blocked, bytes }) => {
                (dims.iter().product::<usize>() * SIZES[dtype as usize], bytes, !blocked)
            }
            _ => (16, None, false),
        };
        if needed > 1 << 20 {
            return;
        }
        let length = if self.input.one_in(8) { self.input.below(64) } else { needed };
        let mut to = vec![0xa5u8; length];
        let data = if self.input.one_in(16) { std::ptr::null_mut() } else { to.as_mut_ptr().cast() };
        // SAFETY: as long as it says.
        let status = unsafe { bt_tensor_read(h, data, length) };
        let good = good && length == needed && (needed == 0 || !data.is_null());
        if self.said(status, good, &[]) {
            assert!(expected.is_none_or(|e| e == to), "other bytes were read");
        } else {
            assert!(to.iter().all(|&b| b == 0xa5));
            // Inside a scope that forbids reorders, only row-major tensors can be read.
            assert!(!good || self.denied > 0, "{status}");
        }
    }

    pub(crate) fn address(&mut self) {
        let h = self.tensor();
        let (mut data, mut strides) = (std::ptr::null::<c_void>(), [-1i64; 12]);
        let good = matches!(self.look(h), Some(Kind::Tensor { blocked: false, .. }));
        let place = if self.input.one_in(8) { std::ptr::null_mut() } else { &mut data };
        // SAFETY: places for an address, and for as many strides as any tensor has.
        let status = unsafe { bt_tensor_data(h, place, strides.as_mut_ptr()) };
        if self.said(status, good, &[])
            && let Some(Kind::Tensor { dtype, dims, bytes: Some(bytes), .. }) = self.look(h)
            && !bytes.is_empty()
            && !data.is_null()
        {
            let size = SIZES[dtype as usize];
            let last: usize = dims.iter().zip(strides).map(|(&d, s)| (d - 1) * s as usize).sum();
            // SAFETY: the first and the last element, while the handle lives.
            unsafe {
                assert_eq!(std::slice::from_raw_parts(data.cast::<u8>(), size), &bytes[..size]);
                let end = std::slice::from_raw_parts(data.cast::<u8>().add(last * size), size);
                assert_eq!(end, &bytes[bytes.len() - size..]);
            }
        }
    }

    pub(crate) fn reorder(&mut self) {
        const LAYOUTS: [&str; 9] = [
            "nChw16c",
            "nChw8c",
            "CHWN4",
            "nCw16c",
            "nCdhw16c",
            "OIhw16i16o",
            "nchw",
            "aB2b",
            "aBcdef65535b65535b65535b65535b",
        ];
        const FORMATS: [&str; 5] =
            ["contiguous", "channels_last", "channels_last_3d", "channels_last_1d", "preserve"];
        let h = self.tensor();
        let to_blocked = self.input.flag();
        let name = self.string(if to_blocked { &LAYOUTS } else { &FORMATS });
        let name = if self.input.one_in(3) { std::ptr::null() } else { name.as_ptr() };
        let mut out = UNTOUCHED;
        // SAFETY: a string or null, and a place.
        let status = unsafe {
            match to_blocked {
                true => bt_to_blocked(h, name, &mut out),
                false => bt_to_strided(h, name, &mut out),
            }
        };
        let known = self.look(h);
        if self.said(status, matches!(known, Some(Kind::Tensor { .. })), &[out]) {
            let Some(Kind::Tensor { dtype, dims, bytes, .. }) = known else { panic!("{known:?}") };
            let kind = self.described(out, bytes.clone());
            assert_eq!(kind, Kind::Tensor { dtype, dims, blocked: to_blocked, bytes });
            self.add(out, kind);
        }
    }

    /// Exports by one of three calls, and imports again; or calls the deleter at once.
    pub(crate) fn dlpack(&mut self) {
        let h = self.tensor();
        let which = self.input.below(3);
        let mut managed: bt_dlpack = std::ptr::null_mut();
        // SAFETY: a place.
        let status = unsafe {
            match which {
                0 => bt_tensor_to_dlpack(h, &mut managed),
                1 => bt_tensor_into_dlpack_unversioned(h, &mut managed),
                _ => bt_blocked_to_dlpack(h, &mut managed),
            }
        };
        let known = self.look(h);
        let good = match &known {
            Some(Kind::Tensor { blocked, .. }) => *blocked == (which == 2),
            _ => false,
        };
        if !self.said(status, good, &[]) {
            assert!(managed.is_null());
            return;
        }
        let mut out = UNTOUCHED;
        let no_place = self.input.one_in(4);
        let place = if no_place { std::ptr::null_mut() } else { &mut out };
        // SAFETY: an export that nobody else consumes. It is given back also where there is no place.
        let status = unsafe {
            match which {
                1 => bt_tensor_from_dlpack_unversioned(managed, place),
                _ => bt_tensor_from_dlpack(managed, place),
            }
        };
        if self.said(status, !no_place, &[out]) {
            let bytes = match known {
                Some(Kind::Tensor { bytes, .. }) if which < 2 => bytes,
                _ => None,
            };
            let kind = self.described(out, bytes);
            self.add(out, kind);
        }
    }
}
