//! `WeightsKind`: how the groups of a convolution divide its weights.

/// The kind of weights that a layout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightsKind {
    /// O, I, spatial: one group.
    Dense,
    /// G, O/G, I/G, spatial.
    Grouped,
    /// G, 1, 1, spatial: one channel per group.
    Depthwise,
}

impl WeightsKind {
    /// The kind for a convolution with this many groups, and channels counted over all groups.
    pub(crate) fn of(groups: usize, c: usize, o: usize) -> WeightsKind {
        match groups {
            1 => WeightsKind::Dense,
            g if g == c && g == o => WeightsKind::Depthwise,
            _ => WeightsKind::Grouped,
        }
    }
}
