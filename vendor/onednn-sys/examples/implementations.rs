//! Prints the name of every implementation that the linked oneDNN has of 71,832 descriptors, a line for each. Two builds can do
//! the same where the output is the same:
//!
//! `cargo run --release --example implementations >here`, and again with `--no-default-features --features system` and
//! `ONEDNN_DIR` for the other build. `ONEDNN_MAX_CPU_ISA=AVX2` and the like ask for older machines.

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

struct Run {
    engine: dnnl_engine_t,
    attr: dnnl_primitive_attr_t,
    out: std::io::BufWriter<std::io::StdoutLock<'static>>,
    descriptors: usize,
}

impl Run {
    /// A memory descriptor. A process that ends soon does not destroy it.
    fn desc(&self, dims: &[dnnl_dim_t], dtype: dnnl_data_type_t, tag: dnnl_format_tag_t) -> Desc {
        let mut desc = null_mut();
        // SAFETY: `dims` has as many elements as it says. A tag of another rank is an error, which leaves a null pointer.
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
    fn print(&mut self, name: &str, create: impl FnOnce(*mut dnnl_primitive_desc_t, &Run) -> dnnl_status_t) {
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
            // SAFETY: the descriptor is live; the query writes a pointer to a string that lives as long.
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
    // SAFETY: each call writes the handle that it is given a place for.
    unsafe {
        assert_eq!(dnnl_engine_create(&mut engine, dnnl_cpu, 0), dnnl_success);
        assert_eq!(dnnl_primitive_attr_create(&mut attr), dnnl_success);
        assert_eq!(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), dnnl_success);
    }
    let out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut run = Run { engine, attr, out, descriptors: 0 };
    convolutions(&mut run);
    products(&mut run);
    pointwise(&mut run);
    windows(&mut run);
    norms(&mut run);
    moves(&mut run);
    eprintln!("{} descriptors", run.descriptors);
}

/// Convolutions and transposed ones: 1x1, 3x3, strided, dilated, in groups, depthwise.
fn convolutions(run: &mut Run) {
    // Kernel, stride, dilation, padding.
    let shapes = [[1, 1, 0, 0], [1, 2, 0, 0], [3, 1, 0, 1], [3, 2, 0, 1], [3, 1, 1, 2], [7, 2, 0, 3]];
    let channels =
        [(3, 64, 1), (16, 32, 1), (20, 33, 1), (64, 64, 1), (32, 32, 2), (32, 32, 32), (24, 24, 3)];
    let dtypes = [
        (dnnl_f32, dnnl_f32, dnnl_f32),
        (dnnl_bf16, dnnl_bf16, dnnl_bf16),
        (dnnl_bf16, dnnl_bf16, dnnl_f32),
        (dnnl_f16, dnnl_f16, dnnl_f16),
        (dnnl_u8, dnnl_s8, dnnl_u8),
        (dnnl_u8, dnnl_s8, dnnl_f32),
        (dnnl_s8, dnnl_s8, dnnl_s8),
    ];
    for (transposed, n, prop) in
        [(false, 1, FORWARD), (false, 16, FORWARD), (false, 1, dnnl_forward_training), (true, 1, FORWARD)]
    {
        for [k, stride, dilation, pad] in shapes {
            for (c, o, groups) in channels {
                for (src, weights, dst) in dtypes {
                    for (src_tag, dst_tag) in TAGS.into_iter().flat_map(|s| TAGS.map(|d| (s, d))) {
                        for bias in [false, true] {
                            let side = 14;
                            let reach = (k - 1) * (dilation + 1);
                            let result = if transposed {
                                (side - 1) * stride + reach + 1 - 2 * pad
                            } else {
                                (side + 2 * pad - reach - 1) / stride + 1
                            };
                            let name = format!(
                                "conv{} n{n} p{prop} {c}-{o} g{groups} k{k}s{stride}d{dilation}p{pad} {src}:{weights}:{dst} {} {} b{}",
                                if transposed { "_transpose" } else { "" },
                                src_tag.0,
                                dst_tag.0,
                                u8::from(bias)
                            );
                            run.print(&name, |pd, run| {
                                let kernel = [groups, o / groups, c / groups, k, k];
                                let kernel = if groups == 1 { &kernel[1..] } else { &kernel[..] };
                                let bias_dtype = if src == dnnl_bf16 { dnnl_bf16 } else { dnnl_f32 };
                                let (s, w, d) = (
                                    run.image(n, [c, side, side], src, src_tag.1),
                                    run.desc(kernel, weights, dnnl_format_tag_any),
                                    run.image(n, [o, result, result], dst, dst_tag.1),
                                );
                                let b = if bias { run.desc(&[o], bias_dtype, dnnl_a) } else { null() };
                                let (steps, gaps, pads) = ([stride; 2], [dilation; 2], [pad; 2]);
                                let (steps, gaps, pads) = (steps.as_ptr(), gaps.as_ptr(), pads.as_ptr());
                                let (engine, attr) = (run.engine, run.attr);
                                // SAFETY: live handles, and arrays of two numbers.
                                unsafe {
                                    if transposed {
                                        dnnl_deconvolution_forward_primitive_desc_create(
                                            pd,
                                            engine,
                                            prop,
                                            dnnl_deconvolution_direct,
                                            s,
                                            w,
                                            b,
                                            d,
                                            steps,
                                            gaps,
                                            pads,
                                            pads,
                                            attr,
                                        )
                                    } else {
                                        dnnl_convolution_forward_primitive_desc_create(
                                            pd,
                                            engine,
                                            prop,
                                            dnnl_convolution_direct,
                                            s,
                                            w,
                                            b,
                                            d,
                                            steps,
                                            gaps,
                                            pads,
                                            pads,
                                            attr,
                                        )
                                    }
                                }
                            });
                        }
                    }
                }
            }
        }
    }
}

/// Matrix products and inner products.
fn products(run: &mut Run) {
    let tags = [("any", dnnl_format_tag_any), ("ab", dnnl_ab), ("ba", dnnl_ba)];
    for [m, k, n] in [[1, 64, 1000], [16, 33, 17], [128, 128, 128]] {
        for (s, src) in DTYPES {
            for (w, weights) in DTYPES {
                for (d, dst) in DTYPES {
                    for (tag, layout) in tags {
                        run.print(&format!("matmul {m}x{k}x{n} {s} {w} {d} {tag}"), |pd, run| {
                            let (a, b, c) = (
                                run.desc(&[m, k], src, dnnl_ab),
                                run.desc(&[k, n], weights, layout),
                                run.desc(&[m, n], dst, dnnl_ab),
                            );
                            // SAFETY: live handles.
                            unsafe {
                                dnnl_matmul_primitive_desc_create(pd, run.engine, a, b, null(), c, run.attr)
                            }
                        });
                        run.print(&format!("inner_product {m}x{k}x{n} {s} {w} {d} {tag}"), |pd, run| {
                            let (a, b, c) = (
                                run.desc(&[m, k], src, dnnl_ab),
                                run.desc(&[n, k], weights, layout),
                                run.desc(&[m, n], dst, dnnl_ab),
                            );
                            // SAFETY: as above.
                            unsafe {
                                dnnl_inner_product_forward_primitive_desc_create(
                                    pd,
                                    run.engine,
                                    FORWARD,
                                    a,
                                    b,
                                    null(),
                                    c,
                                    run.attr,
                                )
                            }
                        });
                    }
                }
            }
        }
    }
}

/// Element-wise functions, sums and pairs.
fn pointwise(run: &mut Run) {
    let functions = [
        dnnl_eltwise_relu,
        dnnl_eltwise_tanh,
        dnnl_eltwise_elu,
        dnnl_eltwise_logistic,
        dnnl_eltwise_gelu_erf,
        dnnl_eltwise_clip,
        dnnl_eltwise_swish,
        dnnl_eltwise_hardswish,
        dnnl_eltwise_linear,
        dnnl_eltwise_mish,
    ];
    let pairs =
        [dnnl_binary_add, dnnl_binary_mul, dnnl_binary_max, dnnl_binary_div, dnnl_binary_sub, dnnl_binary_ge];
    for size in SIZES {
        for (t, dtype) in DTYPES {
            for (tag, layout) in &TAGS[1..] {
                let name = format!("{size:?} {t} {tag}");
                for f in functions {
                    run.print(&format!("eltwise {f} {name}"), |pd, run| {
                        let x = run.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_eltwise_forward_primitive_desc_create(
                                pd, run.engine, FORWARD, f, x, x, 0.5, 1.0, run.attr,
                            )
                        }
                    });
                }
                for f in pairs {
                    for other in [size, [size[0], 1, 1], [1, 1, 1]] {
                        run.print(&format!("binary {f} {other:?} {name}"), |pd, run| {
                            let (x, y) =
                                (run.image(2, size, dtype, *layout), run.image(2, other, dtype, *layout));
                            // SAFETY: live handles.
                            unsafe { dnnl_binary_primitive_desc_create(pd, run.engine, f, x, y, x, run.attr) }
                        });
                    }
                }
                run.print(&format!("prelu {name}"), |pd, run| {
                    let (x, w) = (
                        run.image(2, size, dtype, *layout),
                        run.image(1, [size[0], 1, 1], dtype, dnnl_format_tag_any),
                    );
                    // SAFETY: live handles.
                    unsafe {
                        dnnl_prelu_forward_primitive_desc_create(pd, run.engine, FORWARD, x, w, x, run.attr)
                    }
                });
                run.print(&format!("sum {name}"), |pd, run| {
                    let x = run.image(2, size, dtype, *layout);
                    // SAFETY: live handles; two sources and two scales.
                    unsafe {
                        dnnl_sum_primitive_desc_create(
                            pd,
                            run.engine,
                            x,
                            2,
                            [1.0, 2.0].as_ptr(),
                            [x, x].as_ptr(),
                            run.attr,
                        )
                    }
                });
            }
        }
    }
}

/// Pooling and resampling.
fn windows(run: &mut Run) {
    for size in SIZES {
        for (t, dtype) in DTYPES {
            for (tag, layout) in TAGS {
                for f in
                    [dnnl_pooling_max, dnnl_pooling_avg_include_padding, dnnl_pooling_avg_exclude_padding]
                {
                    for [k, stride, pad] in [[2, 2, 0], [3, 2, 1], [3, 1, 1]] {
                        run.print(&format!("pool {f} {size:?} k{k}s{stride}p{pad} {t} {tag}"), |pd, run| {
                            let [c, h, w] = size;
                            let side = |x| (x + 2 * pad - k) / stride + 1;
                            let src = run.image(
                                2,
                                size,
                                dtype,
                                if layout == dnnl_format_tag_any { dnnl_nhwc } else { layout },
                            );
                            let dst = run.image(2, [c, side(h), side(w)], dtype, layout);
                            let (k, s, p) = ([k; 2], [stride; 2], [pad; 2]);
                            let (k, s, p, d) = (k.as_ptr(), s.as_ptr(), p.as_ptr(), [0; 2]);
                            // SAFETY: live handles, and arrays of two numbers.
                            unsafe {
                                dnnl_pooling_forward_primitive_desc_create(
                                    pd,
                                    run.engine,
                                    FORWARD,
                                    f,
                                    src,
                                    dst,
                                    s,
                                    k,
                                    d.as_ptr(),
                                    p,
                                    p,
                                    run.attr,
                                )
                            }
                        });
                    }
                }
                for f in [dnnl_resampling_nearest, dnnl_resampling_linear] {
                    run.print(&format!("resampling {f} {size:?} {t} {tag}"), |pd, run| {
                        let [c, h, w] = size;
                        let src = run.image(
                            2,
                            size,
                            dtype,
                            if layout == dnnl_format_tag_any { dnnl_nchw } else { layout },
                        );
                        let dst = run.image(2, [c, 2 * h, 2 * w], dtype, layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_resampling_forward_primitive_desc_create(
                                pd,
                                run.engine,
                                FORWARD,
                                f,
                                null(),
                                src,
                                dst,
                                run.attr,
                            )
                        }
                    });
                }
            }
        }
    }
}

/// Normalisations, softmax and reductions.
fn norms(run: &mut Run) {
    for size in SIZES {
        for (t, dtype) in DTYPES {
            for (tag, layout) in &TAGS[1..] {
                let name = format!("{size:?} {t} {tag}");
                for flags in [0, dnnl_use_scale | dnnl_use_shift, dnnl_use_global_stats] {
                    run.print(&format!("batch_norm {flags} {name}"), |pd, run| {
                        let x = run.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_batch_normalization_forward_primitive_desc_create(
                                pd, run.engine, FORWARD, x, x, 1e-5, flags, run.attr,
                            )
                        }
                    });
                    run.print(&format!("group_norm {flags} {name}"), |pd, run| {
                        let x = run.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_group_normalization_forward_primitive_desc_create(
                                pd, run.engine, FORWARD, x, x, 1, 1e-5, flags, run.attr,
                            )
                        }
                    });
                    run.print(&format!("layer_norm {flags} {name}"), |pd, run| {
                        let x = run.image(2, size, dtype, *layout);
                        // SAFETY: live handles; the descriptor of the statistics may be left out.
                        unsafe {
                            dnnl_layer_normalization_forward_primitive_desc_create(
                                pd,
                                run.engine,
                                FORWARD,
                                x,
                                x,
                                null(),
                                1e-5,
                                flags,
                                run.attr,
                            )
                        }
                    });
                }
                for f in [dnnl_lrn_across_channels, dnnl_lrn_within_channel] {
                    run.print(&format!("lrn {f} {name}"), |pd, run| {
                        let x = run.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_lrn_forward_primitive_desc_create(
                                pd, run.engine, FORWARD, f, x, x, 5, 1e-4, 0.75, 1.0, run.attr,
                            )
                        }
                    });
                }
                for (f, axis) in
                    [(dnnl_softmax_accurate, 1), (dnnl_softmax_accurate, 3), (dnnl_softmax_log, 1)]
                {
                    run.print(&format!("softmax {f} {axis} {name}"), |pd, run| {
                        let x = run.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_softmax_forward_primitive_desc_create(
                                pd, run.engine, FORWARD, f, x, x, axis, run.attr,
                            )
                        }
                    });
                }
                for (f, to) in [
                    (dnnl_reduction_mean, [size[0], 1, 1]),
                    (dnnl_reduction_sum, [1, size[1], size[2]]),
                    (dnnl_reduction_max, [1, 1, 1]),
                ] {
                    run.print(&format!("reduction {f} {to:?} {name}"), |pd, run| {
                        let (x, y) = (run.image(2, size, dtype, *layout), run.image(2, to, dtype, *layout));
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_reduction_primitive_desc_create(pd, run.engine, f, x, y, 0.0, 0.0, run.attr)
                        }
                    });
                }
            }
        }
    }
}

/// Reorders, concatenation and shuffle.
fn moves(run: &mut Run) {
    for size in SIZES {
        for (f, from) in DTYPES {
            for (t, to) in DTYPES {
                for (src_tag, src) in &TAGS[1..] {
                    for (dst_tag, dst) in &TAGS[1..] {
                        run.print(&format!("reorder {size:?} {f} {src_tag} {t} {dst_tag}"), |pd, run| {
                            let (x, y) = (run.image(2, size, from, *src), run.image(2, size, to, *dst));
                            // SAFETY: live handles.
                            unsafe {
                                dnnl_reorder_primitive_desc_create(pd, x, run.engine, y, run.engine, run.attr)
                            }
                        });
                    }
                }
                for (tag, weights) in [
                    ("OIhw16i16o", dnnl_OIhw16i16o),
                    ("OIhw8i8o", dnnl_OIhw8i8o),
                    ("Ohwi16o", dnnl_Ohwi16o),
                    ("OIhw4i16o4i", dnnl_OIhw4i16o4i),
                    ("OIhw8i16o2i", dnnl_OIhw8i16o2i),
                ] {
                    run.print(&format!("reorder weights {size:?} {f} {t} {tag}"), |pd, run| {
                        let (x, y) = (run.image(40, size, from, dnnl_oihw), run.image(40, size, to, weights));
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_reorder_primitive_desc_create(pd, x, run.engine, y, run.engine, run.attr)
                        }
                    });
                }
            }
            for (tag, layout) in &TAGS[1..] {
                for axis in [1, 2] {
                    run.print(&format!("concat {axis} {size:?} {f} {tag}"), |pd, run| {
                        let x = run.image(2, size, from, *layout);
                        // SAFETY: live handles; two sources.
                        unsafe {
                            dnnl_concat_primitive_desc_create(
                                pd,
                                run.engine,
                                null(),
                                2,
                                axis,
                                [x, x].as_ptr(),
                                run.attr,
                            )
                        }
                    });
                }
                run.print(&format!("shuffle {size:?} {f} {tag}"), |pd, run| {
                    let x = run.image(2, size, from, *layout);
                    // SAFETY: live handles.
                    unsafe {
                        dnnl_shuffle_forward_primitive_desc_create(
                            pd, run.engine, FORWARD, x, x, 1, size[0], run.attr,
                        )
                    }
                });
            }
        }
    }
}
