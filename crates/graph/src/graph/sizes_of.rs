//! The numbers that tensors give to a graph's named sizes.

use blocktensor::{Call, DType, Text};

use super::Graph;
use crate::error::{Error, Result, other_count};
use crate::sizes::{Dim, Sizes};

impl Graph {
    /// The numbers that inputs of these dtypes and sizes give to the graph's named sizes; in the order of [`inputs`](Self::inputs).
    ///
    /// # Errors
    /// `Invalid` for another number of inputs, and for one with another dtype or other sizes than the graph says.
    pub fn sizes_of(&self, given: &[(DType, &[usize])]) -> Result<Sizes> {
        if given.len() != self.inputs.len() {
            let (got, rule) = other_count(given.len(), "inputs", self.inputs().map(|(name, ..)| name));
            let (what, rule, remedy) = ("inputs".to_string(), rule.into(), "pass one for each".into());
            return Err(Error::Invalid { what, got, rule, remedy });
        }
        let mut sizes = Sizes::new();
        for ((name, of, dims), &(dtype, shape)) in self.inputs().zip(given) {
            let fits = sizes.take(dims, shape).is_ok();
            if fits && dtype == of.dtype() {
                continue;
            }
            let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
            let known: String = sizes.iter().map(|(name, size)| format!(", {name} = {size}")).collect();
            let convert = Text::from("convert it with ") + Call::ToDType(of.dtype().name());
            return Err(Error::Invalid {
                what: format!("input `{name}`"),
                got: format!("{shape:?} {dtype}"),
                rule: format!("the model takes {} [{}]{known}", of.dtype(), dims.join(", ")).into(),
                remedy: if dtype == of.dtype() { "pass a tensor of these sizes".into() } else { convert },
            });
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use crate::{ElementType, Graph};
    use blocktensor::DType::{F16, F32, U8};

    #[test]
    fn inputs_give_numbers_to_names() {
        let mut graph = Graph::new();
        graph.input("x", &["n".into(), 3.into()]).unwrap();
        graph.input_of("mask", ElementType::Bool, &["n".into(), "m".into()]).unwrap();
        let sizes = graph.sizes_of(&[(F32, &[2, 3]), (U8, &[2, 5])]).unwrap();
        assert!(sizes.iter().eq([("m", 5), ("n", 2)]));
        let text = |x, mask| graph.sizes_of(&[x, mask]).unwrap_err().to_string();
        let good = (F32, &[2usize, 3][..]);
        let other =
            "input `x`: got [2, 4] f32; the model takes f32 [n, 3], n = 2; pass a tensor of these sizes";
        assert_eq!(text((F32, &[2, 4]), (U8, &[2, 5])), other);
        assert!(
            text(good, (U8, &[4, 5])).contains("`mask`: got [4, 5] u8; the model takes u8 [n, m], n = 2")
        );
        assert!(text(good, (U8, &[2])).contains("`mask`: got [2] u8"));
        assert!(text((F16, &[2, 3]), (U8, &[2, 5])).ends_with("convert it with `to_dtype(DType::F32)`"));
        let count = graph.sizes_of(&[good]).unwrap_err().to_string();
        assert_eq!(count, "inputs: got 1 tensor; the inputs are `x`, `mask`; pass one for each");
    }
}
