//! Running sums, selection by indices, sorting: strided only.

mod axis_lines;
pub(crate) mod cumsum;
pub(crate) mod gather;
pub(crate) mod sort;
