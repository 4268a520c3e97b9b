//! Bad backward calls, held to what is promised of every refused call.

use blocktensor::dispatch::Value;
use blocktensor::{BoundOp, DType, Error, Layout, Operand, Operator, Result, StridedTensor, Tensor};

use super::cases::plain;
use super::{refused, silent};

fn tensor(dims: &[usize]) -> Tensor {
    let Value::Tensor(t) = plain(dims) else { unreachable!("a tensor") };
    t
}

fn blocked(dims: &[usize], layout: &Layout) -> Tensor {
    let Tensor::Strided(t) = tensor(dims) else { unreachable!("a strided tensor") };
    t.to_blocked(layout).unwrap().into()
}

/// A backward call: the op and its parameters, inputs, results, their gradients, and the names of what is wanted.
struct Call {
    op: &'static str,
    params: Vec<(&'static str, Value)>,
    inputs: Vec<(&'static str, Tensor)>,
    results: Vec<Tensor>,
    diffs: Vec<Option<Tensor>>,
    wanted: Vec<&'static str>,
}

impl Call {
    /// A call of one input whose results are their own gradients.
    fn new(op: &'static str, x: Tensor, params: &[(&'static str, Value)]) -> Call {
        let bound = BoundOp::new(op, &["x"], params).unwrap();
        let results = bound.run(&[x.tensor_ref()]).unwrap();
        let diffs = results.iter().map(|y| Some(y.clone())).collect();
        Call { op, params: params.to_vec(), inputs: vec![("x", x)], results, diffs, wanted: vec!["x"] }
    }

    fn run(&self) -> Result<Vec<Tensor>> {
        let (names, inputs): (Vec<&str>, Vec<Tensor>) = self.inputs.iter().cloned().unzip();
        BoundOp::new(self.op, &names, &self.params)?.backward_by(
            &inputs,
            &self.results,
            &self.diffs,
            &self.wanted,
        )
    }

    fn operands(&self) -> Vec<&Tensor> {
        let inputs = self.inputs.iter().map(|(_, t)| t);
        inputs.chain(&self.results).chain(self.diffs.iter().flatten()).collect()
    }
}

/// What is wrong, code of the error, parts of its text, and the change of a good call that makes it so.
type Case = (&'static str, i32, &'static [&'static str], fn(&mut Call));

const CASES: &[Case] = &[
    ("a name of nothing", 8, &["wanted", "`weights`", "`x`"], |c| c.wanted = vec!["weights"]),
    ("no gradient at all", 8, &["diff_dst", "leave the call out"], |c| c.diffs = vec![None]),
    ("two gradients of one result", 8, &["diff_dst", "2 values", "pass 1"], |c| c.diffs.push(None)),
    ("no results", 8, &["results"], |c| {
        c.results.clear();
        c.diffs.clear();
    }),
    ("another result", 7, &["results", "pass what the forward call gave"], |c| {
        c.results = vec![tensor(&[2, 8, 3, 5])];
        c.diffs = vec![Some(tensor(&[2, 8, 3, 5]))];
    }),
    ("a gradient of other sizes", 7, &["diff_dst", "[2, 8, 6, 5]", "sizes"], |c| {
        c.diffs = vec![Some(tensor(&[2, 8, 6, 4]))];
    }),
    ("a gradient of another dtype", 5, &["diff_dst", "u8", "to_dtype(DType::F32)"], |c| {
        let wrong: StridedTensor = StridedTensor::from_slice(&[1u8; 480], &[2, 8, 6, 5]).unwrap();
        c.diffs = vec![Some(wrong.into())];
    }),
    ("a gradient of another key", 2, &["diff_dst", "nChw16c", "to_strided"], |c| {
        c.diffs = vec![Some(blocked(&[2, 8, 6, 5], &Layout::NCHW16C))];
    }),
];

#[test]
fn bad_backward_calls_are_typed_errors() {
    silent("catalogue::backward::bad_backward_calls_are_typed_errors", || {
        for (what, code, holds, change) in CASES {
            let mut call = Call::new("relu", tensor(&[2, 8, 6, 5]), &[]);
            assert!(call.run().is_ok());
            change(&mut call);
            refused(what, *code, holds, &call.operands(), || call.run());
        }
        let native = Layout::NCHW16C;
        let mut other = Call::new("relu", blocked(&[2, 8, 6, 5], &native), &[]);
        other.diffs = vec![Some(blocked(&[2, 8, 6, 5], &Layout::NCHW8C))];
        let holds = ["diff_dst", "nChw8c", "reorder_to(&\"nChw16c\".parse()?)"];
        refused("another block", 3, &holds, &other.operands(), || other.run());
        for (x, key) in [(tensor(&[2, 8, 6, 5]), "strided"), (blocked(&[2, 8, 6, 5], &native), "blocked")] {
            let call = Call::new("gt_scalar", x, &[("other", 0.0.into())]);
            let has = format!("op `gt_scalar` has no gradient for dispatch key `{key}`");
            let e = refused("no gradient", 1, &[&has], &call.operands(), || call.run());
            assert!(matches!(e, Error::UnsupportedOp(_)));
        }
        let integers = Tensor::from(StridedTensor::from_slice(&[1i32; 6], &[2, 3]).unwrap());
        let mut call = Call::new("reshape", integers, &[("dims", vec![3i64, 2].into())]);
        call.diffs = vec![Some(call.results[0].clone())];
        assert_eq!(call.inputs[0].1.tensor_ref().dtype(), DType::S32);
        refused("a gradient of integers", 4, &["reshape", "s32"], &call.operands(), || call.run());
    });
}
