//! A list of post-ops on a tensor that is there already, in place: what a graph does with element-wise ops that no kernel
//! fuses.

use super::{Finish, channel_values, check_operands};
use crate::dtype::DType;
use crate::error::{Call, Result, Text, fail};
use crate::kernels::lanes::{Lanes, for_each_chunk};
use crate::ledger;
use crate::post_ops::PostOps;
use crate::tensor::any::{TensorMut, TensorRef, check_f32};
use crate::tensor::strided::StridedTensor;
use crate::threads;

const OP: &str = "post_ops";

/// Elements of a chunk where the functions do not depend on the channel.
const CHUNK: usize = 4096;

impl PostOps {
    /// Applies the list to `target` in one pass over its elements, in place.
    ///
    /// ```
    /// use blocktensor::ops::{Activation, PostOp, PostOps};
    /// use blocktensor::{Operand, StridedTensor};
    /// let mut x = StridedTensor::from_slice(&[-1f32, 2.0, 3.0, -4.0], &[1, 2, 2])?;
    /// let other = StridedTensor::from_slice(&[2f32; 4], &[1, 2, 2])?;
    /// let list = PostOps::new().then(PostOp::Residual).then(PostOp::Activation(Activation::Relu));
    /// list.apply(x.tensor_mut(), Some(other.tensor_ref()), &[])?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 4.0, 5.0, 0.0]);
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    ///
    /// # Shapes
    /// `target` of any sizes; with `channel` operands [N, C, ...] of rank 2 to 5. `residual` has the sizes of `target`. Each of
    /// `channel` is \[C\].
    ///
    /// # Dtypes
    /// f32.
    ///
    /// # Layouts
    /// Strided: dense, without overlap; row-major or channels-last with `channel` operands. Blocked: along channels alone.
    /// `residual` is in the layout of `target`.
    ///
    /// # Errors
    /// `Aliasing` while another tensor shares the storage of `target`. `InvalidArgument` for a list that no kernel can run, and
    /// for another number of operands than the list takes. `ShapeMismatch`, `LayoutMismatch`, `UnsupportedDType`;
    /// `UnsupportedOp` for a tensor of another backend. After an error `target` is unchanged.
    pub fn apply(
        &self,
        target: TensorMut<'_>,
        residual: Option<TensorRef<'_>>,
        channel: &[&StridedTensor],
    ) -> Result<()> {
        threads::enter(OP)?;
        self.check()?;
        self.check_without_integers(OP)?;
        let operands: Vec<TensorRef<'_>> = channel.iter().map(|t| TensorRef::Strided(t)).collect();
        self.check_target(target.as_ref(), residual, &operands)?;
        let start = ledger::is_recording().then(std::time::Instant::now);
        let (key, layout) = (target.as_ref().key(), target.as_ref().layout_name());
        let operands = channel_values(&operands)?;
        let finish = Finish { bias: None, post_ops: self, channel: &operands };
        let shared = "another tensor shares its storage";
        let remedy = "drop the other tensor, or call the ops one by one";
        let described = target.as_ref().describe();
        match target {
            TensorMut::Strided(target) => {
                let view = if operands.is_empty() { None } else { Lanes::of_strided(target) };
                let residual = match residual {
                    Some(TensorRef::Strided(r)) => Some(r.data::<f32>()),
                    _ => None,
                };
                match target.data_mut::<f32>() {
                    Some(values) => on(&finish, view.as_ref(), residual, values),
                    None => fail!(Aliasing, OP, "target", described, shared, remedy),
                }
            }
            TensorMut::Blocked(target) => {
                let view = Lanes::of_blocked(OP, target)?;
                let residual = match residual {
                    Some(TensorRef::Blocked(r)) => Some(r.data::<f32>()),
                    _ => None,
                };
                match target.data_mut::<f32>() {
                    Some(values) => {
                        on(&finish, Some(&view).filter(|_| !operands.is_empty()), residual, values);
                        view.clear_padding(values);
                    }
                    None => fail!(Aliasing, OP, "target", described, shared, remedy),
                }
            }
            // Refused above.
            TensorMut::Opaque(_) => {}
        }
        if let Some(start) = start {
            ledger::ran(OP, key, "blocktensor:in_place", format!("{layout} -> {layout}"), start, 0);
        }
        Ok(())
    }

    fn check_target(
        &self,
        target: TensorRef<'_>,
        residual: Option<TensorRef<'_>>,
        channel: &[TensorRef<'_>],
    ) -> Result<()> {
        let dense = match target {
            TensorRef::Strided(t) if channel.is_empty() => t.is_non_overlapping_and_dense(),
            TensorRef::Strided(t) => Lanes::of_strided(t).is_some(),
            TensorRef::Blocked(t) => Lanes::of_blocked(OP, t).map(|_| true)?,
            TensorRef::Opaque(_) => false,
        };
        if !dense {
            let rule = "it is dense; with channel operands row-major or channels-last";
            let remedy = Text::from("call ") + Call::Contiguous + ", or the ops one by one";
            fail!(LayoutMismatch, OP, "target", target.describe(), rule, remedy);
        }
        check_f32(OP, "target", target, "kernels take f32")?;
        check_operands(OP, self, (target.dims(), 1, DType::F32), residual, channel)?;
        if let Some(residual) = residual {
            let same = match (target, residual) {
                (TensorRef::Strided(t), TensorRef::Strided(r)) => t
                    .dims()
                    .iter()
                    .zip(t.strides().iter().zip(r.strides()))
                    .all(|(&d, (a, b))| d <= 1 || a == b),
                (TensorRef::Blocked(t), TensorRef::Blocked(r)) => t.layout() == r.layout(),
                _ => false,
            };
            if !same {
                let rule = format!("it is in the layout of the target, {}", target.layout_name());
                fail!(LayoutMismatch, OP, "residual", residual.describe(), rule, "reorder it");
            }
        }
        Ok(())
    }
}

fn on(finish: &Finish<'_>, view: Option<&Lanes>, residual: Option<&[f32]>, values: &mut [f32]) {
    match view {
        Some(view) => finish.all(view, residual, values),
        None => for_each_chunk(values, CHUNK, |i, values| {
            let residual = residual.map(|r| &r[i * CHUNK..i * CHUNK + values.len()]);
            finish.pixels(1, 0..1, residual, values);
        }),
    }
}
