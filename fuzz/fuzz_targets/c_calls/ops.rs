//! Ops by name, packed weights, state dicts.

use std::ffi::{CStr, CString, c_char};

use blocktensor_c::*;
use blocktensor_fuzz::MemoryFile;

use crate::{Kind, State, UNTOUCHED};

impl State<'_> {
    pub(crate) fn call(&mut self) {
        let names = self.schema(std::ptr::null());
        let names: Vec<&str> = names.lines().collect();
        let common =
            ["relu", "add", "conv2d", "cat", "permute", "max_pool2d", "sum", "chunk", "narrow", "softmax"];
        let any = self.input.flag();
        let op = self.string(if any { &names } else { &common });
        let schema = self.schema(op.as_ptr());
        let inside = schema.split_once('(').map_or("", |(_, rest)| rest);
        let arguments: Vec<&str> = inside.split(", ").filter_map(|a| Some(a.split_once(": ")?.0)).collect();
        let (mut texts, mut lists, mut tensors) = (Vec::new(), Vec::new(), Vec::new());
        let mut args: Vec<bt_arg> = Vec::new();
        let mut bad = false;
        for name in arguments {
            if self.input.one_in(3) {
                continue;
            }
            let what = inside.split_once(&format!("{name}: ")).map_or("", |(_, rest)| rest);
            let kind = match () {
                () if self.input.one_in(16) => self.input.below(9) as i32,
                () if what.starts_with("a list of integers") => 4,
                () if what.starts_with("a list") => 2,
                () if what.starts_with("a data") || what.starts_with("a 1-D") => 1,
                () if what.starts_with("an integer") => 3,
                () if what.starts_with("a number") => 5,
                () if what.starts_with("a flag") => 6,
                () => 7,
            };
            let handles: Vec<bt_handle> =
                (0..if kind == 2 { self.input.below(4) } else { 1 }).map(|_| self.tensor()).collect();
            let integers: Vec<i64> = (0..self.input.below(5)).map(|_| self.integer()).collect();
            let text = self.string(&["relu", "constant", "reflect", "residual"]);
            let name = CString::new(name).expect("no NUL");
            let count = if kind == 2 { handles.len() } else { integers.len() };
            if kind == 1 || kind == 2 {
                bad |= handles.iter().any(|&h| !matches!(self.look(h), Some(Kind::Tensor { .. })));
            }
            args.push(bt_arg {
                name: name.as_ptr(),
                kind,
                number: self.integer(),
                real: if self.input.one_in(4) { self.input.hostile_float() } else { 0.5 },
                text: text.as_ptr(),
                integers: integers.as_ptr(),
                tensors: handles.as_ptr(),
                count,
            });
            // The buffers behind these pointers do not move when the lists grow.
            texts.extend([name, text]);
            lists.push(integers);
            tensors.push(handles);
        }
        let mut outs = [UNTOUCHED; 8];
        let (room, mut count) = (self.input.pick(&[1, 8, 8, 8, 0]), usize::MAX);
        // SAFETY: every field of the arguments leads to what it says; `outs` has that much room.
        let status =
            unsafe { bt_call(op.as_ptr(), args.as_ptr(), args.len(), outs.as_mut_ptr(), room, &mut count) };
        let given = if status == 0 { count } else { 8 };
        assert!(given <= 8);
        if self.said(status, !bad, &outs[..given]) {
            for &h in &outs[..given] {
                let kind = self.described(h, None);
                self.add(h, kind);
            }
        }
    }

    pub(crate) fn integer(&mut self) -> i64 {
        if self.input.one_in(8) { self.input.hostile() } else { self.input.below(5) as i64 }
    }

    /// The text of a call that is made twice: for the length, and for the text.
    pub(crate) fn schema(&mut self, op: *const c_char) -> String {
        let mut needed = 0;
        // SAFETY: a string or null; no room.
        if unsafe { bt_schema(op, std::ptr::null_mut(), 0, &mut needed) } != 0 {
            return String::new();
        }
        let mut text = vec![0u8; needed];
        // SAFETY: as long as it says.
        assert_eq!(unsafe { bt_schema(op, text.as_mut_ptr().cast(), needed, std::ptr::null_mut()) }, 0);
        CStr::from_bytes_with_nul(&text).expect("one NUL, at its end").to_str().expect("UTF-8").into()
    }

    pub(crate) fn pack(&mut self) {
        let (weights, like) = (self.tensor(), self.tensor());
        let bias = if self.input.flag() { 0 } else { self.tensor() };
        let mut out = UNTOUCHED;
        let good = |s: &State<'_>, h| matches!(s.look(h), Some(Kind::Tensor { .. }));
        let fine = good(self, weights) && (bias == 0 || good(self, bias));
        if self.input.one_in(3) {
            let rows = self.input.pick(&[0, 1, 2, 7, usize::MAX]);
            // SAFETY: a place.
            let status = unsafe { bt_pack_linear(weights, bias, rows, &mut out) };
            if self.said(status, fine, &[out]) {
                self.add(out, Kind::Packed);
            }
            return;
        }
        let integers = [self.integer()];
        let names = [c"stride", c"padding", c"dilation", c"groups", c"post_ops", c"nobody's"];
        let text = self.string(&["relu", "residual", "mul_channel", "clip(0,6)"]);
        let args: Vec<bt_arg> = (0..self.input.below(3))
            .map(|_| {
                let which = self.input.below(names.len());
                bt_arg {
                    name: names[which].as_ptr(),
                    kind: [4, 4, 4, 3, 7, 3][which],
                    number: self.integer(),
                    real: 0.0,
                    text: text.as_ptr(),
                    integers: integers.as_ptr(),
                    tensors: std::ptr::null(),
                    count: 1,
                }
            })
            .collect();
        // SAFETY: arguments as they say, and a place.
        let status = unsafe { bt_pack_conv(weights, bias, args.as_ptr(), args.len(), like, &mut out) };
        let fine = fine && good(self, like);
        if self.said(status, fine, &[out]) {
            self.add(out, Kind::Packed);
        }
    }

    pub(crate) fn run_packed(&mut self) {
        let packed = self.handle(|k| *k == Kind::Packed);
        let x = self.tensor();
        let residual = if self.input.one_in(3) { self.tensor() } else { 0 };
        let mut out = UNTOUCHED;
        // SAFETY: a place.
        let status = unsafe { bt_packed_run(packed, x, residual, &mut out) };
        let good = |h| matches!(self.look(h), Some(Kind::Tensor { .. }));
        let fine = self.look(packed) == Some(Kind::Packed) && good(x) && (residual == 0 || good(residual));
        if self.said(status, fine, &[out]) {
            let kind = self.described(out, None);
            self.add(out, kind);
        }
    }

    pub(crate) fn dict(&mut self) {
        let mut out = UNTOUCHED;
        if self.input.one_in(3) {
            let header = br#"{"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"i":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}}"#;
            let whole = !self.input.one_in(4);
            let data = if whole { &[0u8; 16][..] } else { &[0; 15] };
            let file = MemoryFile::of(&[&(header.len() as u64).to_le_bytes()[..], header, data].concat());
            let there = !self.input.one_in(8);
            let path = if there { file.path() } else { "/nowhere/of.safetensors".into() };
            let path = CString::new(path.to_str().expect("ASCII")).expect("no NUL");
            let load = if self.input.flag() { bt_dict_load } else { bt_dict_map };
            // SAFETY: a string and a place; nobody changes the file.
            let status = unsafe { load(path.as_ptr(), &mut out) };
            assert_eq!(status == 0, whole && there);
            if self.said(status, true, &[out]) {
                self.add(out, Kind::Dict(vec!["i".into(), "w".into()]));
            }
            return;
        }
        let dict = self.handle(|k| matches!(k, Kind::Dict(_)));
        let name = self.string(&["w", "i", "other"]);
        // SAFETY: a string and a place.
        let status = unsafe { bt_dict_take(dict, name.as_ptr(), &mut out) };
        let there = matches!(self.look(dict), Some(Kind::Dict(names)) if names.contains(&"w".into()))
            && name.as_c_str() == c"w";
        assert_eq!(status == 0, there);
        if self.said(status, there, &[out]) {
            let known = self.known.iter_mut().find(|k| k.live && k.handle == dict).expect("a dict");
            known.kind = Kind::Dict(vec!["i".into()]);
            let kind = self.described(out, Some(vec![0; 8]));
            self.add(out, kind);
        }
    }
}
