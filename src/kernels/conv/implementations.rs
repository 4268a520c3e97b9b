//! The list of all ways to compute a convolution.

use super::gemm::Gemm;
use super::implementation::{ConvImplementation, Problem};
use super::int8::Int8;
#[cfg(feature = "onednn")]
use super::onednn::OneDnn;
use super::pointwise::Pointwise;
use super::tiled::Tiled;
use super::winograd::Winograd;
use crate::error::{Result, fail};

/// All implementations. Where several compute a problem by the algorithm that is asked for, the first one runs.
pub(crate) static ALL: &[&dyn ConvImplementation] = &[
    #[cfg(feature = "onednn")]
    &OneDnn,
    &Gemm,
    &Pointwise,
    &Tiled,
    &Int8,
    &Winograd { outputs: 4, ahead: true },
    &Winograd { outputs: 4, ahead: false },
    &Winograd { outputs: 2, ahead: true },
    &Winograd { outputs: 2, ahead: false },
];

/// The implementation of this name.
///
/// # Errors
/// `InvalidArgument`, with the names that there are.
pub(crate) fn of_name(op: &'static str, name: &str) -> Result<&'static dyn ConvImplementation> {
    match ALL.iter().find(|i| i.name() == name) {
        Some(found) => Ok(*found),
        None => fail!(
            InvalidArgument,
            op,
            "implementation",
            format!("`{}`", name.escape_debug()),
            "it is the name of a way to compute convolutions in this build",
            format!("write one of {}", ALL.iter().map(|i| i.name()).collect::<Vec<_>>().join(", "))
        ),
    }
}

/// Those that compute with the dtypes of a problem.
pub(crate) fn of_types(p: &Problem<'_>) -> impl Iterator<Item = &'static dyn ConvImplementation> + use<> {
    let types = p.types;
    ALL.iter().copied().filter(move |i| i.types().contains(&types))
}

/// Those that can be for a problem.
pub(crate) fn candidates<'a>(
    p: &'a Problem<'a>,
) -> impl Iterator<Item = &'static dyn ConvImplementation> + 'a {
    of_types(p).filter(|i| i.check(p).is_ok())
}
