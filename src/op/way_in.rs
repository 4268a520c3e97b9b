//! The remedy for a strided operand beside one of another key: the calls that bring it into the form that goes with the other.

use crate::error::{Call, Text};
use crate::layout::blocked::Layout;
use crate::op::facts::WeightsRole;
use crate::op::schema::ArgSpec;
use crate::tensor::any::TensorRef;
use crate::tensor::desc::TensorDesc;
use crate::weights_kind::WeightsKind;

impl ArgSpec {
    /// The remedy for a strided tensor that was passed for this argument, and is `called` so, beside one of another key. The kernel of that
    /// key prefers the form `wanted`.
    pub(crate) fn way_to(
        &self,
        called: &str,
        t: TensorRef<'_>,
        beside: TensorRef<'_>,
        wanted: Option<&TensorDesc>,
    ) -> Text {
        let (name, dims, rank) = (self.name, t.dims(), beside.dims().len());
        let with = |call: Call| Text::from(format!("reorder {called} with ")) + call;
        let TensorRef::Blocked(beside) = beside else { return with(beside.key().way_in(dims.len())) };
        if self.role == Some(WeightsRole::Weights) {
            return self.weights_way_in(called, dims, rank, wanted);
        }
        if dims.len() >= rank && Layout::native_activation(dims.len()).is_err() {
            return no_layout(called, dims.len());
        }
        let native = Layout::native_activation(rank).ok();
        let reorder = match beside.layout() {
            layout if dims.len() > rank || Some(*layout) == native => Call::ToBlocked(rank.max(dims.len())),
            layout => Call::ToBlockedIn(layout.to_string()),
        };
        if dims.len() < rank {
            // It broadcasts as if it had leading dimensions of 1.
            let mut all = vec![1; rank - dims.len()];
            all.extend(dims);
            let first = Text::from(format!("give `{name}` the rank of the other with ")) + Call::Reshape(all);
            return first + ", then reorder it with " + reorder;
        }
        with(reorder)
    }

    /// The remedy for strided weights of these sizes beside a blocked source of this rank.
    fn weights_way_in(&self, called: &str, dims: &[usize], rank: usize, wanted: Option<&TensorDesc>) -> Text {
        let wanted = wanted.and_then(|wanted| Some((wanted.dims(), *wanted.layout()?)));
        let (of, layout) = match (wanted, Layout::native_weights(dims.len(), WeightsKind::Dense)) {
            (Some(wanted), _) => wanted,
            // The sizes do not go together, which the next error says.
            (None, Ok(layout)) => (dims, layout),
            (None, Err(_)) => return no_layout(called, dims.len()),
        };
        let reorder = Call::ToBlockedIn(layout.to_string());
        // With groups apart that are not, or without the only one.
        let is_other = of.len() != dims.len();
        let mut of = of.to_vec();
        if self.is_input_first && dims.len() == rank {
            // Blocking these unchanged swaps I and O, and no shape check can detect it when I == O.
            let once = Text::from("pack it once with ") + Call::PackedConvTranspose;
            let first = ", which takes it as it is; blocked weights have their output channels first: those of one group \
                         come there with ";
            if !is_other {
                return once + first + Call::Transpose(0, 1) + " and " + reorder;
            }
            of.swap(1, 2);
            let first = ", which takes it as it is; blocked weights have their groups apart and then output channels: \
                         these come there with ";
            return once + first + Call::Reshape(of) + ", " + Call::Transpose(1, 2) + " and " + reorder;
        }
        if is_other {
            let first =
                Text::from(format!("give {called} the sizes of blocked weights with ")) + Call::Reshape(of);
            return first + ", then reorder it with " + reorder;
        }
        Text::from(format!("reorder {called} with ")) + reorder
    }
}

/// The remedy for a tensor of a rank that no blocked layout has.
fn no_layout(called: &str, rank: usize) -> Text {
    let rule = format!("no blocked layout has rank {rank}");
    format!("pass {called} with the rank that the op takes, blocked as the other is: {rule}").into()
}
