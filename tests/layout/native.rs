//! The native layouts of this machine.

use blocktensor::{Error, Layout, WeightsKind};

#[test]
fn native_layouts_of_activations_and_weights_have_the_same_block() {
    let (act, wei) = Layout::native();
    let b = act.block_of(1);
    assert!(b == 16 || b == 8);
    assert_eq!(act.to_string(), format!("nChw{b}c"));
    assert_eq!(wei.to_string(), format!("OIhw{b}i{b}o"));
    assert_eq!(Layout::native_activation(4).unwrap(), act);
    assert_eq!(Layout::native_weights(4, WeightsKind::Dense).unwrap(), wei);
    let name = |rank, kind| Layout::native_weights(rank, kind).unwrap().to_string();
    assert_eq!(Layout::native_activation(3).unwrap().to_string(), format!("nCw{b}c"));
    assert_eq!(Layout::native_activation(5).unwrap().to_string(), format!("nCdhw{b}c"));
    assert_eq!(name(3, WeightsKind::Dense), format!("OIw{b}i{b}o"));
    assert_eq!(name(5, WeightsKind::Dense), format!("OIdhw{b}i{b}o"));
    assert_eq!(name(5, WeightsKind::Grouped), format!("gOIhw{b}i{b}o"));
    assert_eq!(name(4, WeightsKind::Depthwise), format!("Goiw{b}g"));
    assert_eq!(name(6, WeightsKind::Depthwise), format!("Goidhw{b}g"));
}

#[test]
fn native_layouts_refuse_other_ranks_and_blocks() {
    for rank in [0, 1, 2, 6, 13, usize::MAX] {
        assert!(matches!(Layout::native_activation(rank), Err(Error::RankMismatch(_))));
    }
    for (rank, kind) in [(2, WeightsKind::Dense), (6, WeightsKind::Dense), (3, WeightsKind::Grouped)] {
        assert!(matches!(Layout::native_weights(rank, kind), Err(Error::RankMismatch(_))));
    }
    assert!(matches!(Layout::native_weights(7, WeightsKind::Depthwise), Err(Error::RankMismatch(_))));
    assert_eq!(Layout::blocked_activation(4, 64).unwrap().to_string(), "nChw64c");
    for block in [0, 1, 65536, usize::MAX] {
        assert!(matches!(Layout::blocked_activation(4, block), Err(Error::InvalidArgument(_))));
    }
}
