//! Prints the names of all implementations that the linked oneDNN has for each of 65,712 descriptors of the primitives that
//! blocktensor uses, one line per descriptor.
//! Two builds have the same implementations if their output is the same:
//!
//! `cargo run --release --example implementations >here`, and again with `--no-default-features --features system` and
//! `ONEDNN_DIR` for the other build. `ONEDNN_MAX_CPU_ISA=AVX2` and similar values select the implementations for older machines.

mod products;
mod reorders;

use onednn_sys::*;
use std::ffi::CStr;
use std::io::Write;
use std::ptr::{null, null_mut};

const DTYPES: [(&str, dnnl_data_type_t); 6] = [
    ("f32", dnnl_f32),
    ("bf16", dnnl_bf16),
    ("f16", dnnl_f16),
    ("u8", dnnl_u8),
    ("s8", dnnl_s8),
    ("s32", dnnl_s32),
];
const TAGS: [(&str, dnnl_format_tag_t); 5] = [
    ("any", dnnl_format_tag_any),
    ("nchw", dnnl_nchw),
    ("nhwc", dnnl_nhwc),
    ("nChw8c", dnnl_nChw8c),
    ("nChw16c", dnnl_nChw16c),
];
/// C, H and W.
const SIZES: [[dnnl_dim_t; 3]; 4] = [[3, 7, 9], [16, 14, 14], [20, 7, 5], [64, 28, 28]];
const FORWARD: dnnl_prop_kind_t = dnnl_forward_inference;

type Desc = const_dnnl_memory_desc_t;

struct Printer {
    engine: dnnl_engine_t,
    attr: dnnl_primitive_attr_t,
    out: std::io::BufWriter<std::io::StdoutLock<'static>>,
    descriptors: usize,
}

impl Printer {
    /// A memory descriptor. It is never destroyed: the process ends soon.
    fn desc(&self, dims: &[dnnl_dim_t], dtype: dnnl_data_type_t, tag: dnnl_format_tag_t) -> Desc {
        let mut desc = null_mut();
        // SAFETY: the length is that of `dims`. A tag of another rank is an error, which leaves a null pointer.
        unsafe { dnnl_memory_desc_create_with_tag(&mut desc, dims.len() as i32, dims.as_ptr(), dtype, tag) };
        desc
    }

    fn image(
        &self,
        n: dnnl_dim_t,
        [c, h, w]: [dnnl_dim_t; 3],
        dtype: dnnl_data_type_t,
        tag: dnnl_format_tag_t,
    ) -> Desc {
        self.desc(&[n, c, h, w], dtype, tag)
    }

    /// Prints the implementations of one descriptor, the first choice first.
    fn print(
        &mut self,
        name: &str,
        create: impl FnOnce(*mut dnnl_primitive_desc_t, &Printer) -> dnnl_status_t,
    ) {
        self.descriptors += 1;
        let mut pd = null_mut();
        let status = create(&mut pd, self);
        write!(self.out, "{name}:").expect("standard output");
        if status != dnnl_success {
            writeln!(self.out, " status {status}").expect("standard output");
            return;
        }
        loop {
            let mut text = null::<std::ffi::c_char>();
            // SAFETY: the descriptor is live; the query writes a pointer to a string that lives as long as the descriptor.
            unsafe {
                dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (&raw mut text).cast());
                write!(self.out, " {}", CStr::from_ptr(text).to_string_lossy()).expect("standard output");
                if dnnl_primitive_desc_next_impl(pd) != dnnl_success {
                    break;
                }
            }
        }
        writeln!(self.out).expect("standard output");
        // SAFETY: made above, and not used again.
        unsafe { dnnl_primitive_desc_destroy(pd) };
    }
}

fn main() {
    let (mut engine, mut attr) = (null_mut(), null_mut());
    // SAFETY: each call writes its handle to the local that is passed.
    unsafe {
        assert_eq!(dnnl_engine_create(&mut engine, dnnl_cpu, 0), dnnl_success);
        assert_eq!(dnnl_primitive_attr_create(&mut attr), dnnl_success);
        assert_eq!(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), dnnl_success);
    }
    let out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut printer = Printer { engine, attr, out, descriptors: 0 };
    products::convolutions(&mut printer);
    products::matrix_products(&mut printer);
    reorders::reorders(&mut printer);
    eprintln!("{} descriptors", printer.descriptors);
}
