//! `BlockedTensor`: reorders, factories, and refused calls.

use blocktensor::ledger::{deny_reorders, record};
use blocktensor::{BlockedTensor, DType, Element, Error, Layout, MemoryFormat, StridedTensor};
use half::{bf16, f16};

fn numbered(dims: &[usize]) -> StridedTensor {
    let n: usize = dims.iter().product();
    let data: Vec<f32> = (1..=n).map(|i| i as f32).collect();
    StridedTensor::from_slice(&data, dims).unwrap()
}

fn round_trip<E: Element>(of: impl Fn(usize) -> E) {
    let dims = [2, 20, 3, 5];
    let data: Vec<E> = (0..600).map(of).collect();
    let x = StridedTensor::from_slice(&data, &dims).unwrap();
    for name in ["nChw4c", "nChw8c", "nChw16c", "nChw32c", "nChw64c", "CHWN4"] {
        let layout: Layout = name.parse().unwrap();
        let b = x.to_blocked(&layout).unwrap();
        assert_eq!((b.dims(), b.rank(), b.numel(), b.dtype()), (&dims[..], 4, 600, E::DTYPE));
        assert_eq!(b.layout().to_string(), name);
        assert_eq!(b.bytes(), layout.size_bytes(&dims, E::DTYPE).unwrap());
        b.check_tail().unwrap();
        for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
            let y = b.to_strided(format).unwrap();
            assert_eq!(y.strides(), &*format.strides("test", &dims).unwrap());
            assert_eq!(y.to_vec::<E>().unwrap(), data);
            assert_eq!(y.to_blocked(&layout).unwrap().reorder_to(&Layout::NCHW8C).unwrap().dtype(), E::DTYPE);
        }
    }
}

#[test]
fn to_blocked_and_to_strided_keep_elements_of_every_dtype() {
    round_trip(|i| i as f32);
    round_trip(|i| bf16::from_bits(i as u16));
    round_trip(|i| f16::from_bits(i as u16));
    round_trip(|i| i as u8);
    round_trip(|i| i as i8);
    round_trip(|i| i as i32);
}

#[test]
fn to_blocked_keeps_nan_payloads_and_negative_zero() {
    let bits = [0x7fc0_1234u32, 0xff80_0001, 0x8000_0000, 1];
    let data = bits.map(f32::from_bits);
    let x = StridedTensor::from_slice(&data, &[1, 4, 1, 1]).unwrap();
    let y = x.to_blocked(&Layout::NCHW16C).unwrap().to_strided(MemoryFormat::ChannelsLast).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), bits);
}

#[test]
fn reorders_have_one_record_each_and_can_be_denied() {
    let x = numbered(&[1, 20, 3, 5]);
    let (b, ledger) = record(|| {
        let b = x.to_blocked(&Layout::NCHW16C).unwrap();
        let nhwc = b.to_strided(MemoryFormat::ChannelsLast).unwrap();
        let b8 = nhwc.to_blocked(&Layout::NCHW8C).unwrap();
        b8.reorder_to(&Layout::NCHW8C).unwrap();
        b8.reorder_to(&Layout::NCHW16C).unwrap()
    });
    let moves: Vec<_> = ledger.reorders.iter().map(|r| (r.op.as_ref(), &*r.from, &*r.to, r.bytes)).collect();
    assert_eq!(
        moves,
        [
            ("to_blocked", "contiguous", "nChw16c", 32 * 15 * 4),
            ("to_strided", "nChw16c", "channels_last", 20 * 15 * 4),
            ("to_blocked", "channels_last", "nChw8c", 24 * 15 * 4),
            ("reorder_to", "nChw8c", "nChw16c", 32 * 15 * 4),
        ]
    );
    assert!(ledger.reorders.iter().all(|r| r.site.location().unwrap().file().ends_with("tensor/blocked.rs")));
    for e in [
        deny_reorders(|| x.to_blocked(&Layout::NCHW16C).map(drop)),
        deny_reorders(|| b.to_strided(MemoryFormat::Contiguous).map(drop)),
        deny_reorders(|| b.reorder_to(&Layout::NCHW8C).map(drop)),
        deny_reorders(|| b.to_strided_into(&mut numbered(&[1, 20, 3, 5]))),
        deny_reorders(|| x.to_blocked_into(&mut b.zeros_like().unwrap())),
    ] {
        let e = e.unwrap_err();
        assert!(matches!(e, Error::ReorderDenied(_)) && e.to_string().contains("tensor/blocked.rs"), "{e}");
    }
}

#[test]
fn to_blocked_into_and_to_strided_into_write_an_existing_tensor() {
    let x = numbered(&[2, 20, 3, 5]);
    let mut b = BlockedTensor::full(&[2, 20, 3, 5], 7f32, &Layout::NCHW16C).unwrap();
    x.to_blocked_into(&mut b).unwrap();
    b.check_tail().unwrap();
    let mut y = StridedTensor::zeros(&[2, 20, 3, 5], DType::F32, MemoryFormat::ChannelsLast).unwrap();
    b.to_strided_into(&mut y).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap());
}

#[test]
fn to_blocked_into_and_to_strided_into_refuse_misfits_and_shared_storage() {
    let x = numbered(&[2, 20, 3, 5]);
    let b = x.to_blocked(&Layout::NCHW16C).unwrap();
    let mut shared = b.clone();
    assert!(matches!(x.to_blocked_into(&mut shared), Err(Error::Aliasing(_))));
    let mut other = BlockedTensor::zeros(&[2, 20, 5, 3], DType::F32, &Layout::NCHW16C).unwrap();
    assert!(matches!(x.to_blocked_into(&mut other), Err(Error::ShapeMismatch(_))));
    let mut other = BlockedTensor::zeros(&[2, 20, 3, 5], DType::S32, &Layout::NCHW16C).unwrap();
    assert!(matches!(x.to_blocked_into(&mut other), Err(Error::DTypeMismatch(_))));

    let mut y = numbered(&[2, 20, 3, 5]);
    let view = y.clone();
    assert!(matches!(b.to_strided_into(&mut y), Err(Error::Aliasing(_))));
    assert_eq!(view.to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap());
    assert!(matches!(b.to_strided_into(&mut numbered(&[2, 20, 15])), Err(Error::ShapeMismatch(_))));
    let mut y = StridedTensor::zeros(&[2, 20, 3, 5], DType::S32, MemoryFormat::Contiguous).unwrap();
    assert!(matches!(b.to_strided_into(&mut y), Err(Error::DTypeMismatch(_))));
}

#[test]
fn reorders_refuse_a_layout_that_does_not_fit_with_both_names() {
    let x = numbered(&[2, 20, 15]);
    let e = x.to_blocked(&Layout::NCHW16C).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    assert!(e.to_string().contains("nChw16c") && e.to_string().contains("[2, 20, 15]"), "{e}");
    let b = x.to_blocked(&"nCw16c".parse().unwrap()).unwrap();
    assert!(matches!(b.reorder_to(&Layout::NCHW16C), Err(Error::RankMismatch(_))));
    assert!(matches!(b.reorder_to(&"nwc".parse().unwrap()), Err(Error::LayoutMismatch(_))));
    assert!(matches!(b.to_strided(MemoryFormat::ChannelsLast), Err(Error::RankMismatch(_))));
    assert!(matches!(b.to_strided(MemoryFormat::Preserve), Err(Error::InvalidArgument(_))));
    assert!(matches!(numbered(&[1, 4, 2, 2]).to_blocked(&Layout::NHWC), Err(Error::LayoutMismatch(_))));
    let huge = [1, 1, 1, isize::MAX as usize / 8];
    assert!(matches!(BlockedTensor::zeros(&huge, DType::U8, &Layout::NCHW16C), Err(Error::Overflow(_))));
    assert!(matches!(
        BlockedTensor::zeros(&[1; 13], DType::U8, &Layout::NCHW16C),
        Err(Error::RankMismatch(_))
    ));
}

#[test]
#[cfg_attr(miri, ignore = "Miri ends where memory cannot be had")]
fn to_blocked_beyond_memory_is_a_typed_error() {
    let much = [1, 16, 1, 1 << 54];
    assert!(matches!(BlockedTensor::full(&much, 1u8, &Layout::NCHW16C), Err(Error::OutOfMemory { .. })));
}

#[test]
fn empty_tensors_reorder_to_every_layout() {
    for dims in [[0, 20, 3, 5], [2, 0, 3, 5], [2, 20, 0, 5], [2, 20, 3, 0]] {
        let x = StridedTensor::from_slice::<f32>(&[], &dims).unwrap();
        let b = x.to_blocked(&Layout::NCHW16C).unwrap();
        assert_eq!((b.numel(), b.bytes()), (0, 0));
        b.check_tail().unwrap();
        let y = b.reorder_to(&Layout::NCHW8C).unwrap().to_strided(MemoryFormat::ChannelsLast).unwrap();
        assert_eq!((y.dims(), y.numel()), (&dims[..], 0));
        b.to_strided_into(&mut StridedTensor::from_slice::<f32>(&[], &dims).unwrap()).unwrap();
        x.to_blocked_into(&mut b.zeros_like().unwrap()).unwrap();
    }
}

#[test]
fn blocked_full_leaves_zero_tails() {
    for (name, dims) in
        [("nChw16c", &[2, 20, 3, 5]), ("OIhw4i16o4i", &[20, 21, 3, 3]), ("nChw64c", &[1, 3, 2, 2])]
    {
        let layout: Layout = name.parse().unwrap();
        let b = BlockedTensor::full(dims, 3f32, &layout).unwrap();
        b.check_tail().unwrap();
        let like = b.full_like(4f32).unwrap();
        like.check_tail().unwrap();
        assert!(
            like.to_strided(MemoryFormat::Contiguous)
                .unwrap()
                .to_vec::<f32>()
                .unwrap()
                .iter()
                .all(|&v| v == 4.0)
        );
        assert!(matches!(b.full_like(4i32), Err(Error::DTypeMismatch(_))));
        let zeros = b.zeros_like().unwrap();
        assert_eq!((zeros.layout(), zeros.dims()), (b.layout(), b.dims()));
        assert!(
            b.to_strided(MemoryFormat::Contiguous)
                .unwrap()
                .to_vec::<f32>()
                .unwrap()
                .iter()
                .all(|&v| v == 3.0)
        );
    }
}

#[test]
fn blocked_clones_share_storage_across_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let b = numbered(&[1, 20, 3, 5]).to_blocked(&Layout::NCHW16C).unwrap();
    shared(&b);
    assert_eq!(format!("{:?}", b.clone()), "BlockedTensor { f32 [1, 20, 3, 5] nChw16c }");
}

#[test]
fn reorder_into_another_blocked_layout_writes_every_element_and_the_padding() {
    let values: Vec<f32> = (0..2 * 19 * 3 * 4).map(|i| i as f32).collect();
    let x = StridedTensor::from_slice(&values, &[2, 19, 3, 4]).unwrap();
    let of_block = |block| Layout::blocked_activation(4, block).unwrap();
    let from = x.to_blocked(&of_block(8)).unwrap();
    for block in [4, 8, 16, 32] {
        let mut to = BlockedTensor::full(&[2, 19, 3, 4], -1f32, &of_block(block)).unwrap();
        let (result, book) = record(|| from.reorder_into(&mut to));
        result.unwrap();
        assert_eq!(book.reorders.len(), usize::from(block != 8), "{block}");
        to.check_tail().unwrap();
        assert_eq!(to.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), values);
        let shared = to.clone();
        assert!(matches!(from.reorder_into(&mut to), Err(Error::Aliasing(_))));
        drop(shared);
        let denied = deny_reorders(|| from.reorder_into(&mut to));
        assert_eq!(denied.is_err(), block != 8);
    }
}
