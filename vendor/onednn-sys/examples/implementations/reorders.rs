//! Reorders.

use super::{DTYPES, Printer, SIZES, TAGS};
use onednn_sys::*;

/// Reorders.
pub fn reorders(printer: &mut Printer) {
    for size in SIZES {
        for (f, from) in DTYPES {
            for (t, to) in DTYPES {
                for (src_tag, src) in &TAGS[1..] {
                    for (dst_tag, dst) in &TAGS[1..] {
                        printer.print(
                            &format!("reorder {size:?} {f} {src_tag} {t} {dst_tag}"),
                            |pd, printer| {
                                let (x, y) =
                                    (printer.image(2, size, from, *src), printer.image(2, size, to, *dst));
                                // SAFETY: live handles.
                                unsafe {
                                    dnnl_reorder_primitive_desc_create(
                                        pd,
                                        x,
                                        printer.engine,
                                        y,
                                        printer.engine,
                                        printer.attr,
                                    )
                                }
                            },
                        );
                    }
                }
                for (tag, weights) in [
                    ("OIhw16i16o", dnnl_OIhw16i16o),
                    ("OIhw8i8o", dnnl_OIhw8i8o),
                    ("Ohwi16o", dnnl_Ohwi16o),
                    ("OIhw4i16o4i", dnnl_OIhw4i16o4i),
                    ("OIhw8i16o2i", dnnl_OIhw8i16o2i),
                ] {
                    printer.print(&format!("reorder weights {size:?} {f} {t} {tag}"), |pd, printer| {
                        let (x, y) =
                            (printer.image(40, size, from, dnnl_oihw), printer.image(40, size, to, weights));
                        // SAFETY: live handles.
                        unsafe {
                            dnnl_reorder_primitive_desc_create(
                                pd,
                                x,
                                printer.engine,
                                y,
                                printer.engine,
                                printer.attr,
                            )
                        }
                    });
                }
            }
        }
    }
}
