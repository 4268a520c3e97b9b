//! Element-wise functions, binary functions, sums, pooling and resampling.

use super::{DTYPES, FORWARD, Printer, SIZES, TAGS};
use onednn_sys::*;
use std::ptr::null;

/// Element-wise functions, binary functions and sums.
pub fn pointwise(printer: &mut Printer) {
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
                    printer.print(&format!("eltwise {f} {name}"), |pd, printer| {
                        let x = printer.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_eltwise_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                f,
                                x,
                                x,
                                0.5,
                                1.0,
                                printer.attr,
                            )
                        }
                    });
                }
                for f in pairs {
                    for other in [size, [size[0], 1, 1], [1, 1, 1]] {
                        printer.print(&format!("binary {f} {other:?} {name}"), |pd, printer| {
                            let (x, y) = (
                                printer.image(2, size, dtype, *layout),
                                printer.image(2, other, dtype, *layout),
                            );
                            // SAFETY: live handles.
                            unsafe {
                                dnnl_binary_primitive_desc_create(
                                    pd,
                                    printer.engine,
                                    f,
                                    x,
                                    y,
                                    x,
                                    printer.attr,
                                )
                            }
                        });
                    }
                }
                printer.print(&format!("prelu {name}"), |pd, printer| {
                    let (x, w) = (
                        printer.image(2, size, dtype, *layout),
                        printer.image(1, [size[0], 1, 1], dtype, dnnl_format_tag_any),
                    );
                    // SAFETY: live handles.
                    unsafe {
                        dnnl_prelu_forward_primitive_desc_create(
                            pd,
                            printer.engine,
                            FORWARD,
                            x,
                            w,
                            x,
                            printer.attr,
                        )
                    }
                });
                printer.print(&format!("sum {name}"), |pd, printer| {
                    let x = printer.image(2, size, dtype, *layout);
                    // SAFETY: live handles; two sources and two scales.
                    unsafe {
                        dnnl_sum_primitive_desc_create(
                            pd,
                            printer.engine,
                            x,
                            2,
                            [1.0, 2.0].as_ptr(),
                            [x, x].as_ptr(),
                            printer.attr,
                        )
                    }
                });
            }
        }
    }
}

/// Pooling and resampling.
pub fn windows(printer: &mut Printer) {
    for size in SIZES {
        for (t, dtype) in DTYPES {
            for (tag, layout) in TAGS {
                for f in
                    [dnnl_pooling_max, dnnl_pooling_avg_include_padding, dnnl_pooling_avg_exclude_padding]
                {
                    for [k, stride, pad] in [[2, 2, 0], [3, 2, 1], [3, 1, 1]] {
                        printer.print(
                            &format!("pool {f} {size:?} k{k}s{stride}p{pad} {t} {tag}"),
                            |pd, printer| {
                                let [c, h, w] = size;
                                let side = |x| (x + 2 * pad - k) / stride + 1;
                                let src = printer.image(
                                    2,
                                    size,
                                    dtype,
                                    if layout == dnnl_format_tag_any { dnnl_nhwc } else { layout },
                                );
                                let dst = printer.image(2, [c, side(h), side(w)], dtype, layout);
                                let (k, s, p) = ([k; 2], [stride; 2], [pad; 2]);
                                let (k, s, p, d) = (k.as_ptr(), s.as_ptr(), p.as_ptr(), [0; 2]);
                                // SAFETY: live handles, and arrays of two numbers.
                                unsafe {
                                    dnnl_pooling_forward_primitive_desc_create(
                                        pd,
                                        printer.engine,
                                        FORWARD,
                                        f,
                                        src,
                                        dst,
                                        s,
                                        k,
                                        d.as_ptr(),
                                        p,
                                        p,
                                        printer.attr,
                                    )
                                }
                            },
                        );
                    }
                }
                for f in [dnnl_resampling_nearest, dnnl_resampling_linear] {
                    printer.print(&format!("resampling {f} {size:?} {t} {tag}"), |pd, printer| {
                        let [c, h, w] = size;
                        let src = printer.image(
                            2,
                            size,
                            dtype,
                            if layout == dnnl_format_tag_any { dnnl_nchw } else { layout },
                        );
                        let dst = printer.image(2, [c, 2 * h, 2 * w], dtype, layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_resampling_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                f,
                                null(),
                                src,
                                dst,
                                printer.attr,
                            )
                        }
                    });
                }
            }
        }
    }
}
