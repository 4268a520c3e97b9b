//! Packed convolutions, stems and linear layers as operators: what they say before a run, and what they write.

use blocktensor::ops::{Conv2d, ConvTranspose2d, PostOp};
use blocktensor::{
    DType, Error, Layout, MemoryFormat, Operand, Operator, PackedConv2d, PackedConvTranspose2d, PackedLinear,
    Scratchpad, Source, StridedTensor, Tensor, TensorDesc, TensorRef, ledger,
};

use crate::support::Rng;

fn plain(dims: &[usize], format: MemoryFormat) -> StridedTensor {
    let t = StridedTensor::from_slice(&Rng(3).reals(dims.iter().product()), dims).unwrap();
    t.contiguous(format).unwrap()
}

/// Asks an operator before a run, runs it into new and into given tensors, and compares.
#[track_caller]
fn check(op: &dyn Operator, inputs: &[TensorRef<'_>]) -> Tensor {
    let descs: Vec<TensorDesc> = inputs.iter().map(|&t| TensorDesc::of(t)).collect();
    assert_eq!(op.inputs().len(), inputs.len(), "{op:?}");
    let said = op.infer(&descs).unwrap();
    let bytes = op.scratchpad_bytes(&descs).unwrap();
    let (made, book) = ledger::record(|| op.run(inputs));
    let made = made.unwrap().remove(0);
    assert!(book.reorders.is_empty(), "{book}");
    assert_eq!(said, [TensorDesc::of(made.tensor_ref())]);
    assert_eq!(book.runs.iter().map(|r| r.scratchpad_bytes).max(), Some(bytes), "{book}");
    let mut given = op.run(inputs).unwrap().remove(0);
    let mut scratchpad = Scratchpad::with_bytes(bytes).unwrap();
    let held = scratchpad.bytes();
    // The given tensor holds another result before.
    let other: Vec<Tensor> = inputs.iter().map(|t| zeros_like(*t)).collect();
    let others: Vec<TensorRef<'_>> = other.iter().map(Operand::tensor_ref).collect();
    op.run_into(&others, vec![given.tensor_mut()], &mut scratchpad).unwrap();
    op.run_into(inputs, vec![given.tensor_mut()], &mut scratchpad).unwrap();
    assert_eq!(scratchpad.bytes(), held);
    assert_eq!(values(&given), values(&made));
    let shared = made.clone();
    let mut made = made;
    let e = op.run_into(inputs, vec![made.tensor_mut()], &mut scratchpad).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)), "{e}");
    let e = op.run_into(inputs, vec![], &mut scratchpad).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    let e = op.infer(&[]).unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("inputs"), "{e}");
    shared
}

fn zeros_like(t: TensorRef<'_>) -> Tensor {
    match t {
        TensorRef::Strided(t) => t.zeros_like(MemoryFormat::Preserve).unwrap().into(),
        TensorRef::Blocked(t) => t.zeros_like().unwrap().into(),
        TensorRef::Opaque(_) => unreachable!("not used here"),
    }
}

fn values(t: &Tensor) -> Vec<f32> {
    match t {
        Tensor::Strided(t) => t.to_vec().unwrap(),
        Tensor::Blocked(t) => {
            t.check_tail().unwrap();
            t.to_strided(MemoryFormat::Contiguous).unwrap().to_vec().unwrap()
        }
        Tensor::Opaque(_) => unreachable!("not used here"),
    }
}

#[test]
fn packed_convolutions_with_a_residual_and_channel_vectors_are_operators_on_both_keys() {
    let w = plain(&[20, 17, 3, 3], MemoryFormat::Contiguous);
    let params = Conv2d::new().padding(1).post_op(PostOp::MulChannel).residual().relu();
    let packer = PackedConv2d::new(&w, None, params).unwrap();
    let channel = plain(&[20], MemoryFormat::Contiguous);
    let layout = Layout::native().0;
    for batch in [1, 3] {
        for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
            let (x, r) = (plain(&[batch, 17, 6, 5], format), plain(&[batch, 20, 6, 5], format));
            let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
            assert_eq!(Operator::inputs(&conv), ["x", "residual", "channel"]);
            let want = values(&check(&conv, &[x.tensor_ref(), r.tensor_ref(), channel.tensor_ref()]));
            if format == MemoryFormat::Contiguous {
                let (x, r) = (x.to_blocked(&layout).unwrap(), r.to_blocked(&layout).unwrap());
                let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
                let got = values(&check(&conv, &[x.tensor_ref(), r.tensor_ref(), channel.tensor_ref()]));
                assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0)));
            }
        }
    }
}

#[test]
fn transposed_convolutions_stems_and_linear_layers_are_operators() {
    let x = plain(&[2, 16, 5, 4], MemoryFormat::ChannelsLast);
    let w = plain(&[16, 24, 2, 2], MemoryFormat::Contiguous);
    let up = PackedConvTranspose2d::new(&w, None, ConvTranspose2d::new().stride(2)).unwrap();
    check(&up.pack_for(&Source::of(&x).unwrap()).unwrap(), &[x.tensor_ref()]);

    let image = plain(&[1, 3, 12, 10], MemoryFormat::Contiguous);
    let w = plain(&[32, 3, 3, 3], MemoryFormat::Contiguous);
    let packer = PackedConv2d::new(&w, None, Conv2d::new().stride(2).padding(1)).unwrap();
    let source = Source::of(&image).unwrap();
    match packer.pack_stem(&source, &Layout::native().0) {
        Ok(stem) => {
            let y = check(&stem, &[image.tensor_ref()]);
            assert!(matches!(y, Tensor::Blocked(_)));
        }
        // Only oneDNN has stems, and not on every machine.
        Err(e) => assert!(matches!(e, Error::UnsupportedOp(_)), "{e}"),
    }

    let (rows, w) =
        (plain(&[3, 2, 64], MemoryFormat::Contiguous), plain(&[10, 64], MemoryFormat::Contiguous));
    let layer = PackedLinear::new(&w, Some(&plain(&[10], MemoryFormat::Contiguous)), 6).unwrap();
    let y = check(&layer, &[rows.tensor_ref()]);
    assert_eq!(y.tensor_ref().dims(), [3, 2, 10]);
    let blocked = TensorDesc::blocked(&[1, 16, 2, 2], DType::F32, &Layout::NCHW16C).unwrap();
    let e = layer.infer(&[blocked]).unwrap_err();
    assert!(matches!(e, Error::KeyMismatch(_)) && e.to_string().contains("to_strided"), "{e}");
}
