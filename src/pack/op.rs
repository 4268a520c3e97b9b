//! Packed weights of any kind, as one type.

use super::{AnyPackedConv, PackedLinear};
use crate::error::Result;
use crate::file::entry::Entry;
use crate::file::{Loaded, Packable, Saved, sealed};
use crate::operator::Operator;
use crate::ops::Algorithm;

/// Packed weights of any kind: for programs that learn from a file, or from a model, what there is.
///
/// ```
/// use blocktensor::{MemoryFormat, PackedFile, PackedLinear, PackedOp, PackedWriter, StridedTensor};
/// # let dir = std::env::temp_dir().join(format!("blocktensor-doc-op-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("model.packed");
/// let w = StridedTensor::full(&[10, 64], 0.5f32, MemoryFormat::Contiguous)?;
/// let fc = PackedOp::from(PackedLinear::new(&w, None, 1)?);
/// let mut writer = PackedWriter::new();
/// writer.add("fc", &fc)?;
/// writer.save(&path)?;
///
/// let file = PackedFile::read(&path)?;
/// for name in file.names() {
///     let op: PackedOp = file.get(name)?;
///     assert_eq!(op.implementation(), fc.implementation());
/// }
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), blocktensor::Error>(())
/// ```
pub enum PackedOp {
    /// A convolution of any rank and direction, or a stem.
    Conv(Box<AnyPackedConv>),
    /// A linear layer.
    Linear(Box<PackedLinear>),
}

impl PackedOp {
    /// The name of the kernel that runs it, as the ledger has it.
    pub fn implementation(&self) -> String {
        match self {
            PackedOp::Conv(packed) => packed.implementation(),
            PackedOp::Linear(packed) => packed.implementation(),
        }
    }

    /// How a convolution is computed. `None` for a linear layer.
    pub fn algorithm(&self) -> Option<Algorithm> {
        match self {
            PackedOp::Conv(packed) => Some(packed.algorithm()),
            PackedOp::Linear(_) => None,
        }
    }

    /// The linear layer, if it is one.
    pub(crate) fn linear(&self) -> Option<&PackedLinear> {
        match self {
            PackedOp::Linear(packed) => Some(packed),
            PackedOp::Conv(_) => None,
        }
    }

    fn inside(&self) -> &dyn Operator {
        match self {
            PackedOp::Conv(packed) => &**packed,
            PackedOp::Linear(packed) => &**packed,
        }
    }
}

impl std::fmt::Debug for PackedOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inside().fmt(f)
    }
}

operator_inside! { [] PackedOp, packed => packed.inside() }

impl From<AnyPackedConv> for PackedOp {
    fn from(packed: AnyPackedConv) -> PackedOp {
        PackedOp::Conv(Box::new(packed))
    }
}

impl From<PackedLinear> for PackedOp {
    fn from(packed: PackedLinear) -> PackedOp {
        PackedOp::Linear(Box::new(packed))
    }
}

impl sealed::Sealed for PackedOp {}

impl Packable for PackedOp {
    fn saved(&self) -> Result<Saved<'_>> {
        match self {
            PackedOp::Conv(packed) => packed.saved(),
            PackedOp::Linear(packed) => packed.saved(),
        }
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        match from.entry {
            Entry::Conv(_) => AnyPackedConv::loaded(from).map(PackedOp::from),
            Entry::Linear(_) => PackedLinear::loaded(from).map(PackedOp::from),
        }
    }
}
