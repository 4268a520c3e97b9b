//! The result of an op on a view depends on the elements of the view alone, not on the rest of its storage.

use blocktensor::dispatch::schema::ArgKind;
use blocktensor::dispatch::{self, DispatchKey, Value};
use blocktensor::{MemoryFormat, StridedTensor, Tensor};

use crate::support::activation::elements;
use crate::support::{Rng, amid, arguments};

#[test]
fn no_op_depends_on_elements_outside_a_view() {
    let (mut compared, mut refused) = (0, 0);
    for dims in
        [&[17][..], &[2, 17], &[1, 17], &[2, 17, 5], &[1, 17, 3, 4], &[2, 17, 3, 4], &[1, 17, 2, 3, 2]]
    {
        // Few different numbers, so that the maximum outside of the view also occurs inside.
        let x = StridedTensor::from_slice(&Rng(3).integers(dims.iter().product()), dims).unwrap();
        let last = dims.len() - 1;
        let mut views = Vec::new();
        for around in [f32::NAN, 8.0, -8.0, 1e30] {
            for format in [Some(MemoryFormat::Contiguous), MemoryFormat::channels_last_of(dims.len())] {
                let Some(format) = format else { continue };
                views.extend(
                    [0, last].map(|axis| (around, format, axis, amid(&x, axis, [1, 1], around, format))),
                );
            }
        }
        for op in dispatch::ops().iter().filter(|op| op.kernel(DispatchKey::STRIDED).is_some()) {
            let name = op.schema().name;
            let axes = op.schema().args.iter().find(|a| {
                matches!(a.kind, ArgKind::Ints(Some(_)) | ArgKind::Int(Some(_)))
                    && ["axis", "axes"].contains(&a.name)
            });
            let mut variants: Vec<Option<(&str, Value)>> = vec![None];
            for axis in [0, last] {
                variants.extend(axes.map(|a| match a.kind {
                    ArgKind::Int(_) => Some((a.name, Value::Int(axis as i64))),
                    _ => Some((a.name, Value::Ints(vec![axis as i64]))),
                }));
            }
            for variant in variants {
                let call = |t: &StridedTensor| {
                    let mut args = arguments(op, &Tensor::from(t.clone()));
                    args.extend(variant.clone());
                    dispatch::call(name, &args)
                };
                let Ok(want) = call(&x) else {
                    assert!(call(&views[0].3).is_err(), "{name} of {dims:?}, {variant:?}");
                    refused += 1;
                    continue;
                };
                for (around, format, axis, view) in &views {
                    let what =
                        format!("{name} of {dims:?} amid {around} along {axis}, {format:?}, {variant:?}");
                    let got = call(view).unwrap_or_else(|e| panic!("{what}: {e}"));
                    for (got, want) in got.iter().zip(&want) {
                        let (got, want) = (elements(got), elements(want));
                        assert_eq!(got.len(), want.len(), "{what}");
                        let near = |(g, w): (&f32, &f32)| {
                            (g - w).abs() <= 1e-5 * (1.0 + w.abs()) || g == w || g.is_nan() && w.is_nan()
                        };
                        assert!(got.iter().zip(&want).all(near), "{what}: {got:?} instead of {want:?}");
                        compared += 1;
                    }
                }
            }
        }
    }
    println!("{compared} compared, {refused} refused");
    assert!(compared > 5_000, "{compared}");
}
