//! `Arena`: a chain of operators whose results take turns in the same memory.

use blocktensor::{
    ALIGN, Arena, BoundOp, DType, Error, Layout, MemoryFormat, Operand, Operator, Scratchpad, StridedTensor,
    Tensor, TensorDesc, TensorRef,
};

use crate::support::element_bytes;

fn image(format: Option<MemoryFormat>) -> Tensor {
    let dims = [2, 24, 9, 7];
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i * 29 % 31) as f32 - 15.0).collect();
    let x = StridedTensor::from_slice(&values, &dims).unwrap();
    match format {
        Some(format) => x.contiguous(format).unwrap().into(),
        None => x.to_blocked(&Layout::native().0).unwrap().into(),
    }
}

/// A chain of ops. Some results have the size of the operand, others are larger or smaller.
fn chain() -> Vec<BoundOp> {
    let bind =
        |op: &str, params: &[(&str, blocktensor::dispatch::Value)]| BoundOp::new(op, &["x"], params).unwrap();
    vec![
        bind("hardswish", &[]),
        bind("max_pool2d", &[("kernel", vec![3i64, 2].into()), ("stride", vec![1i64, 1].into())]),
        bind("upsample_nearest", &[("output", vec![11i64, 8].into())]),
        bind("avg_pool2d", &[("kernel", vec![2i64, 2].into())]),
        bind("softmax", &[("axis", 1.into())]),
        bind("relu", &[]),
    ]
}

/// Two results live at a time, at both ends of the arena. The third takes the place of the first, as in an executor.
#[test]
fn tensors_that_take_turns_in_an_arena_hold_the_bits_of_plain_calls() {
    for format in [Some(MemoryFormat::Contiguous), Some(MemoryFormat::ChannelsLast), None] {
        let x = image(format);
        let mut descs = vec![TensorDesc::of(x.tensor_ref())];
        for op in chain() {
            let next = op.infer(&descs[descs.len() - 1..]).unwrap().remove(0);
            descs.push(next);
        }
        // Just enough for two neighbours, so that places of different sizes overlap in part.
        let bytes: Vec<usize> =
            descs[1..].iter().map(|d| d.bytes().unwrap().next_multiple_of(ALIGN)).collect();
        let whole = bytes.windows(2).map(|pair| pair[0] + pair[1]).max().unwrap();
        let arena = Arena::new(whole).unwrap();
        let place = |i: usize| if i.is_multiple_of(2) { 0 } else { whole - bytes[i] };
        let overlaps = |a: usize, b: usize| place(a) < place(b) + bytes[b] && place(b) < place(a) + bytes[a];
        let pairs = (0..bytes.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        assert!(pairs.filter(|&(a, b)| overlaps(a, b) && bytes[a] != bytes[b]).count() > 3);

        let (mut plain, mut live): (Tensor, Option<Tensor>) = (x.clone(), None);
        let mut scratchpad = Scratchpad::new();
        for (i, op) in chain().iter().enumerate() {
            let mut result = arena.tensor(place(i), &descs[i + 1]).unwrap();
            // Both places are taken now.
            if let Some(before) = &live {
                for (taken, at) in [(before, place(i - 1)), (&result, place(i))] {
                    let again = arena.tensor(at, &TensorDesc::of(taken.tensor_ref()));
                    assert!(matches!(again, Err(Error::Aliasing(_))), "{op}");
                }
            }
            let input: TensorRef<'_> = live.as_ref().unwrap_or(&x).tensor_ref();
            op.run_into(&[input], vec![result.tensor_mut()], &mut scratchpad).unwrap();
            plain = op.run(&[plain.tensor_ref()]).unwrap().remove(0);
            assert!(element_bytes(&result) == element_bytes(&plain), "{op} of {}", descs[i]);
            live = Some(result);
        }
        // A piece outlives the arena.
        let last = live.unwrap();
        drop(arena);
        assert!(element_bytes(&last) == element_bytes(&plain));
    }
}

#[test]
fn three_tensors_share_one_place_one_after_the_other() {
    let arena = Arena::new(4096).unwrap();
    let relu = BoundOp::new("relu", &["x"], &[]).unwrap();
    let descs = [
        TensorDesc::strided(&[1, 16, 4, 4], DType::F32, MemoryFormat::ChannelsLast).unwrap(),
        TensorDesc::blocked(&[1, 3, 4, 8], DType::F32, &Layout::NCHW16C).unwrap(),
        TensorDesc::strided(&[5, 7], DType::F32, MemoryFormat::Contiguous).unwrap(),
    ];
    for (desc, offset) in descs.iter().zip([0, 2 * ALIGN, ALIGN]) {
        let n = desc.dims().iter().product::<usize>();
        let values: Vec<f32> = (0..n).map(|i| (i % 9) as f32 - 4.0).collect();
        let x = StridedTensor::from_slice(&values, desc.dims()).unwrap();
        let x: Tensor = match desc.layout() {
            Some(layout) => x.to_blocked(layout).unwrap().into(),
            None => x.into(),
        };
        let mut y = arena.tensor(offset, desc).unwrap();
        relu.run_into(&[x.tensor_ref()], vec![y.tensor_mut()], &mut Scratchpad::new()).unwrap();
        let plain = relu.run(&[x.tensor_ref()]).unwrap().remove(0);
        assert!(element_bytes(&y) == element_bytes(&plain), "{desc}");
    }
}

#[test]
fn a_tensor_of_another_backend_has_no_place_in_an_arena() {
    let key = blocktensor_third_backend::key();
    let desc = TensorDesc::opaque(&[1, 4], DType::F32, key, "back_to_front").unwrap();
    assert!(matches!(Arena::new(64).unwrap().tensor(0, &desc), Err(Error::KeyMismatch(_))));
}

#[test]
fn a_scratchpad_of_an_arena_is_lent_like_a_tensor() {
    let arena = Arena::new(1024).unwrap();
    let row = TensorDesc::strided(&[64], DType::F32, MemoryFormat::Contiguous).unwrap();
    let scratchpad = arena.scratchpad(256, 512).unwrap();
    assert_eq!(scratchpad.bytes(), 512);
    assert!(matches!(arena.tensor(512, &row), Err(Error::Aliasing(_))));
    arena.tensor(0, &row).unwrap();
    drop(scratchpad);
    arena.tensor(512, &row).unwrap();
}
