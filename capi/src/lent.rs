//! Tensors that a call writes its results into.

use blocktensor::{Operand, Result, Tensor, TensorMut};

use crate::handles::{self, bt_handle};

/// A tensor that is out of the table of handles. Dropping it puts the tensor back.
struct Lent {
    handle: bt_handle,
    tensor: Option<Tensor>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(tensor) = self.tensor.take() {
            handles::put_back(self.handle, tensor);
        }
    }
}

/// Calls `write` with the tensors of these handles. Meanwhile no other call can use them: a tensor that a call writes must be
/// the only one that uses its memory.
pub(crate) fn write_into(
    op: &'static str,
    argument: &'static str,
    handles: &[bt_handle],
    write: impl FnOnce(Vec<TensorMut<'_>>) -> Result<()>,
) -> Result<()> {
    let lend = |&handle| Ok(Lent { handle, tensor: Some(handles::lend(op, argument, handle)?) });
    let mut lent = handles.iter().map(lend).collect::<Result<Vec<Lent>>>()?;
    write(lent.iter_mut().filter_map(|lent| lent.tensor.as_mut()).map(Operand::tensor_mut).collect())
}
