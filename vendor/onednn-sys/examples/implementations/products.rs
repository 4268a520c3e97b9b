//! Convolutions, transposed convolutions, matrix products and inner products.

use super::{DTYPES, FORWARD, Printer, TAGS};
use onednn_sys::*;
use std::ptr::null;

/// Convolutions and transposed convolutions: 1x1, 3x3, strided, dilated, grouped, depthwise.
pub fn convolutions(printer: &mut Printer) {
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
                            printer.print(&name, |pd, printer| {
                                let kernel = [groups, o / groups, c / groups, k, k];
                                let kernel = if groups == 1 { &kernel[1..] } else { &kernel[..] };
                                let bias_dtype = if src == dnnl_bf16 { dnnl_bf16 } else { dnnl_f32 };
                                let (s, w, d) = (
                                    printer.image(n, [c, side, side], src, src_tag.1),
                                    printer.desc(kernel, weights, dnnl_format_tag_any),
                                    printer.image(n, [o, result, result], dst, dst_tag.1),
                                );
                                let b = if bias { printer.desc(&[o], bias_dtype, dnnl_a) } else { null() };
                                let (steps, gaps, pads) = ([stride; 2], [dilation; 2], [pad; 2]);
                                let (steps, gaps, pads) = (steps.as_ptr(), gaps.as_ptr(), pads.as_ptr());
                                let (engine, attr) = (printer.engine, printer.attr);
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
pub fn matrix_products(printer: &mut Printer) {
    let tags = [("any", dnnl_format_tag_any), ("ab", dnnl_ab), ("ba", dnnl_ba)];
    for [m, k, n] in [[1, 64, 1000], [16, 33, 17], [128, 128, 128]] {
        for (s, src) in DTYPES {
            for (w, weights) in DTYPES {
                for (d, dst) in DTYPES {
                    for (tag, layout) in tags {
                        printer.print(&format!("matmul {m}x{k}x{n} {s} {w} {d} {tag}"), |pd, printer| {
                            let (a, b, c) = (
                                printer.desc(&[m, k], src, dnnl_ab),
                                printer.desc(&[k, n], weights, layout),
                                printer.desc(&[m, n], dst, dnnl_ab),
                            );
                            // SAFETY: live handles.
                            unsafe {
                                dnnl_matmul_primitive_desc_create(
                                    pd,
                                    printer.engine,
                                    a,
                                    b,
                                    null(),
                                    c,
                                    printer.attr,
                                )
                            }
                        });
                        printer.print(
                            &format!("inner_product {m}x{k}x{n} {s} {w} {d} {tag}"),
                            |pd, printer| {
                                let (a, b, c) = (
                                    printer.desc(&[m, k], src, dnnl_ab),
                                    printer.desc(&[n, k], weights, layout),
                                    printer.desc(&[m, n], dst, dnnl_ab),
                                );
                                // SAFETY: as above.
                                unsafe {
                                    dnnl_inner_product_forward_primitive_desc_create(
                                        pd,
                                        printer.engine,
                                        FORWARD,
                                        a,
                                        b,
                                        null(),
                                        c,
                                        printer.attr,
                                    )
                                }
                            },
                        );
                    }
                }
            }
        }
    }
}
