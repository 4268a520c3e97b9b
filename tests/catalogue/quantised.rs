//! Rows of tensors with scales and zero points, and of packed weights of integers.

use blocktensor::ops::{self, Conv2d};
use blocktensor::{DType, MemoryFormat, PackedConv2d, Quantization, Source, StridedTensor, Tensor};

use super::followed::row;
use super::silent;

fn vector<E: blocktensor::Element>(values: &[E]) -> StridedTensor {
    StridedTensor::from_slice(values, &[values.len()]).unwrap()
}

#[test]
fn bad_calls_of_quantised_tensors_are_typed_errors() {
    silent("catalogue::quantised::bad_calls_of_quantised_tensors_are_typed_errors", || {
        let bytes = StridedTensor::full(&[1, 3, 2, 2], 9u8, MemoryFormat::Contiguous).unwrap();
        let given = |axis, scales: &[f32], zeros: &[i32]| {
            bytes.quantized(Quantization { axis, scales: scales.into(), zero_points: zeros.into() })
        };
        let right = || given(None, &[0.5], &[3]);
        row("another axis", 8, &["`axis`", "4 axes"], &[], || given(Some(4), &[0.5], &[3]))
            .by_hand("name an existing axis", || given(Some(0), &[0.5], &[3]));
        row("scales that are too few", 7, &["2 scales and 3 zero points"], &[], || {
            given(Some(1), &[0.5; 2], &[0; 3])
        })
        .by_hand("pass 3", || given(Some(1), &[0.5; 3], &[0; 3]));
        row("a scale of 0", 8, &["`scales`", "at index 0", "above 0"], &[], || given(None, &[0.0], &[3]))
            .by_hand("pass such a number", right);
        row("a zero point of no byte", 8, &["`zero_points`", "256"], &[], || given(None, &[0.5], &[256]))
            .by_hand("pass 0 to 255", right);
        let numbers = bytes.to_dtype(DType::F32).unwrap();
        let of_numbers = || numbers.quantized(Quantization::per_tensor(0.5, 3));
        row("scales of f32", 4, &["`self`", "u8, s8 or s32"], &[], of_numbers)
            .by_hand("make integers of it with `quantize`", right);
        row("numbers without scales", 8, &["no scales and zero points"], &[], || bytes.dequantized())
            .by_hand("give it some", || right()?.dequantized());

        let x = right().unwrap();
        let xt = Tensor::from(x.clone());
        row("an op that reads no scales", 4, &["`x`", "quantised"], &[&xt], || ops::flip(&x, &[2]))
            .by_hand("pass its integers", || ops::flip(&x.without_quantization(), &[2]));
        row("row 5, scales", 4, &["DLPack"], &[&xt], || x.to_dlpack())
            .by_hand("pass its integers", || x.without_quantization().to_dlpack());
        let (half, one, zero, three) = (vector(&[0.5f32]), vector(&[1f32]), vector(&[0i32]), vector(&[3i32]));
        let own = ["`scale`", "`x` has scale 0.5 and zero point 3"];
        row("other scales than its own", 8, &own, &[&xt], || ops::dequantize(&x, &one, &three, 0))
            .by_hand("use its own", || ops::dequantize(&x, &half, &three, 0));
        let again = |scale, zero_point| ops::requantize(&x, scale, zero_point, &one, &zero, 0, DType::U8);
        row("another zero point than its own", 8, &own, &[&xt], || again(&half, &zero))
            .by_hand("use its own", || again(&half, &three));
    });
}

#[test]
fn bad_packed_weights_of_integers_are_typed_errors() {
    silent("catalogue::quantised::bad_packed_weights_of_integers_are_typed_errors", || {
        let full = |dims: &[usize], value: f32, dtype| {
            StridedTensor::full(dims, value, MemoryFormat::Contiguous).unwrap().to_dtype(dtype).unwrap()
        };
        let x = full(&[1, 4, 5, 5], 3.0, DType::U8);
        let pack = |w: &StridedTensor, bias: Option<&StridedTensor>, params| {
            PackedConv2d::new(w, bias, params)?.pack_for(&Source::of(&x)?)
        };
        let w = full(&[8, 4, 3, 3], 2.0, DType::S8);
        let right = || pack(&w, None, Conv2d::new());
        let wide = full(&[8, 4, 3, 3], 0.25, DType::F32);
        row("weights of f32", 4, &["`weights`", "takes s8 weights"], &[], || {
            pack(&wide, None, Conv2d::new())
        })
        .by_hand("divide them by the scale", right);
        let numbers = full(&[1, 4, 5, 5], 3.0, DType::F32);
        row("weights of s8 for f32", 4, &["`weights`", "f32 or bf16"], &[], || {
            PackedConv2d::new(&w, None, Conv2d::new())?.pack_for(&Source::of(&numbers)?)
        })
        .by_hand("convert it", || {
            PackedConv2d::new(&w.to_dtype(DType::F32)?, None, Conv2d::new())?.pack_for(&Source::of(&numbers)?)
        });
        let zero_point = |zero| pack(&w, None, Conv2d::new().x_zero_point(zero));
        row("a zero point of no byte", 8, &["`x_zero_point`", "-1"], &[], || zero_point(-1))
            .by_hand("pass 0 to 255", || zero_point(255));
        let bias = |value| pack(&w, Some(&full(&[8], value, DType::F32)), Conv2d::new());
        row("a bias of fractions", 8, &["`bias`", "0.5", "whole"], &[], || bias(0.5))
            .by_hand("round it", || bias(1.0));
    });
}
