//! `Layout`: sizes, strides, offsets, and refused input.

use blocktensor::{DType, Error, Layout, MAX_INNER_BLOCKS, MAX_RANK};

#[test]
fn layout_nchw16c_has_the_sizes_strides_and_offsets_of_its_blocks() {
    let l = Layout::NCHW16C;
    let dims = [2, 20, 3, 5];
    assert_eq!((l.rank(), l.is_plain(), l.block_of(1), l.block_of(2)), (4, false, 16, 1));
    assert_eq!(&*l.padded_dims(&dims).unwrap(), &[2, 32, 3, 5]);
    assert_eq!(&*l.outer_strides(&dims).unwrap(), &[480, 240, 80, 16]);
    assert_eq!(&*l.outer_order(), &[0, 1, 2, 3]);
    assert_eq!(l.inner_blocks().collect::<Vec<_>>(), [(1, 16)]);
    assert_eq!(l.size_elements(&dims).unwrap(), 960);
    assert_eq!(l.size_bytes(&dims, DType::BF16).unwrap(), 1920);
    assert_eq!(l.offset(&dims, &[1, 19, 2, 4]), Some(480 + 240 + 160 + 64 + 3));
    assert_eq!(l.offset(&dims, &[1, 20, 2, 4]), None);
    assert_eq!(l.offset(&dims, &[1, 19, 2]), None);
    assert_eq!(l.offset(&dims[..3], &[1, 19, 2]), None);
}

#[test]
fn layout_with_several_blocks_along_one_dimension_has_the_right_offsets() {
    let l: Layout = "OIhw4i16o4i".parse().unwrap();
    let dims = [20, 20, 1, 2];
    assert_eq!(&*l.padded_dims(&dims).unwrap(), &[32, 32, 1, 2]);
    assert_eq!(&*l.outer_strides(&dims).unwrap(), &[1024, 512, 512, 256]);
    // i = 16 + 4 + 3, o = 16 + 2
    assert_eq!(l.offset(&[32, 32, 1, 2], &[18, 23, 0, 1]), Some(1024 + 512 + 256 + 64 + 2 * 4 + 3));
}

#[test]
fn layout_of_empty_sizes_takes_no_elements_and_counts_them_as_one_in_strides() {
    let l = Layout::NCHW16C;
    for dims in [[0, 16, 2, 2], [1, 0, 2, 2], [1, 16, 0, 2]] {
        assert_eq!(l.size_elements(&dims).unwrap(), 0);
        assert_eq!(l.size_bytes(&dims, DType::F32).unwrap(), 0);
        assert_eq!(l.outer_strides(&dims).unwrap()[3], 16);
    }
    assert_eq!(l.offset(&[1, 16, 0, 2], &[0, 0, 0, 0]), None);
}

#[test]
fn layout_sizes_that_overflow_with_or_without_padding_are_an_error() {
    let l = Layout::NCHW16C;
    let huge = isize::MAX as usize;
    for dims in [[huge, 16, 2, 2], [1, usize::MAX, 1, 1], [1 << 32, 1 << 32, 1, 1], [0, usize::MAX, 1, 1]] {
        assert!(matches!(l.size_elements(&dims), Err(Error::Overflow(_))), "{dims:?}");
        assert_eq!(l.offset(&dims, &[0, 0, 0, 0]), None);
    }
    // One channel becomes sixteen.
    let dims = [1, 1, 1, huge / 8];
    assert!(Layout::NCHW.size_elements(&dims).is_ok());
    assert!(matches!(l.size_elements(&dims), Err(Error::Overflow(_))));
    // The number of elements fits, their bytes overflow.
    let dims = [1, 16, 1, huge / 32];
    assert!(l.size_elements(&dims).is_ok() && l.size_bytes(&dims, DType::U8).is_ok());
    assert!(matches!(l.size_bytes(&dims, DType::F32), Err(Error::Overflow(_))));
    // The product of the blocks overflows.
    let blocks = vec![(0, 65535); 5];
    let l = Layout::new(&[0], &blocks).unwrap();
    assert!(matches!(l.padded_dims(&[1]), Err(Error::Overflow(_))));
}

#[test]
fn layout_names_both_ranks_where_they_differ() {
    let e = Layout::NCHW16C.padded_dims(&[1, 2, 3]).unwrap_err();
    assert!(matches!(e, Error::RankMismatch(_)));
    let text = e.to_string();
    for part in ["nChw16c", "rank 4", "rank 3", "[1, 2, 3]"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
}

#[test]
fn layout_refuses_bad_parts_with_typed_errors() {
    type Blocks<'a> = &'a [(usize, usize)];
    let bad: [(&[usize], Blocks<'_>); 8] = [
        (&[0, 0], &[]),
        (&[1, 2], &[]),
        (&[0, usize::MAX], &[]),
        (&[0, 1], &[(2, 4)]),
        (&[0, 1], &[(0, 1)]),
        (&[0, 1], &[(0, 0)]),
        (&[0, 1], &[(usize::MAX, usize::MAX)]),
        (&[0], &[(0, 2); MAX_INNER_BLOCKS + 1]),
    ];
    for (order, blocks) in bad {
        let e = Layout::new(order, blocks).unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{order:?} {blocks:?}: {e}");
    }
    for order in [&[][..], &[0; MAX_RANK + 1]] {
        assert!(matches!(Layout::new(order, &[]), Err(Error::RankMismatch(_))));
    }
    assert_eq!(Layout::new(&[0, 1, 2, 3], &[(1, 16)]).unwrap(), Layout::NCHW16C);
}

#[test]
fn layout_constants_match_their_names() {
    for (layout, name) in [
        (Layout::NCHW, "nchw"),
        (Layout::NHWC, "nhwc"),
        (Layout::NCHW16C, "nChw16c"),
        (Layout::NCHW8C, "nChw8c"),
        (Layout::CHWN4, "CHWN4"),
        (Layout::OIHW, "oihw"),
        (Layout::OIHW16I16O, "OIhw16i16o"),
        (Layout::OIHW8I8O, "OIhw8i8o"),
    ] {
        assert_eq!(layout.to_string(), name);
        assert_eq!(layout, name.parse().unwrap());
    }
}
