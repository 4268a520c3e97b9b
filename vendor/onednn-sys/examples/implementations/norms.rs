//! Normalisations, softmax and reductions.

use super::{DTYPES, FORWARD, Printer, SIZES, TAGS};
use onednn_sys::*;
use std::ptr::null;

/// Normalisations, softmax and reductions.
pub fn norms(printer: &mut Printer) {
    for size in SIZES {
        for (t, dtype) in DTYPES {
            for (tag, layout) in &TAGS[1..] {
                let name = format!("{size:?} {t} {tag}");
                for flags in [0, dnnl_use_scale | dnnl_use_shift, dnnl_use_global_stats] {
                    printer.print(&format!("batch_norm {flags} {name}"), |pd, printer| {
                        let x = printer.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_batch_normalization_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                x,
                                x,
                                1e-5,
                                flags,
                                printer.attr,
                            )
                        }
                    });
                    printer.print(&format!("group_norm {flags} {name}"), |pd, printer| {
                        let x = printer.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_group_normalization_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                x,
                                x,
                                1,
                                1e-5,
                                flags,
                                printer.attr,
                            )
                        }
                    });
                    printer.print(&format!("layer_norm {flags} {name}"), |pd, printer| {
                        let x = printer.image(2, size, dtype, *layout);
                        // SAFETY: live handles; the descriptor of the statistics is optional.
                        unsafe {
                            dnnl_layer_normalization_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                x,
                                x,
                                null(),
                                1e-5,
                                flags,
                                printer.attr,
                            )
                        }
                    });
                }
                for f in [dnnl_lrn_across_channels, dnnl_lrn_within_channel] {
                    printer.print(&format!("lrn {f} {name}"), |pd, printer| {
                        let x = printer.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_lrn_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                f,
                                x,
                                x,
                                5,
                                1e-4,
                                0.75,
                                1.0,
                                printer.attr,
                            )
                        }
                    });
                }
                for (f, axis) in
                    [(dnnl_softmax_accurate, 1), (dnnl_softmax_accurate, 3), (dnnl_softmax_log, 1)]
                {
                    printer.print(&format!("softmax {f} {axis} {name}"), |pd, printer| {
                        let x = printer.image(2, size, dtype, *layout);
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_softmax_forward_primitive_desc_create(
                                pd,
                                printer.engine,
                                FORWARD,
                                f,
                                x,
                                x,
                                axis,
                                printer.attr,
                            )
                        }
                    });
                }
                for (f, to) in [
                    (dnnl_reduction_mean, [size[0], 1, 1]),
                    (dnnl_reduction_sum, [1, size[1], size[2]]),
                    (dnnl_reduction_max, [1, 1, 1]),
                ] {
                    printer.print(&format!("reduction {f} {to:?} {name}"), |pd, printer| {
                        let (x, y) =
                            (printer.image(2, size, dtype, *layout), printer.image(2, to, dtype, *layout));
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_reduction_primitive_desc_create(
                                pd,
                                printer.engine,
                                f,
                                x,
                                y,
                                0.0,
                                0.0,
                                printer.attr,
                            )
                        }
                    });
                }
            }
        }
    }
}
