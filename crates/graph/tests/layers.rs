//! Linear layers as a program writes them: of integers, and with post-ops, which no packed layer has.

use blocktensor::StridedTensor;
use blocktensor_graph::{Constant, Layouts, PlanOptions};

use crate::integers::{Net, as_written};
use crate::support::random;

#[test]
fn layers_with_post_ops_run_as_they_are_written() {
    let mut n = Net::new();
    let rows = n.graph.input("rows", &[5.into(), 33.into()]).unwrap();
    let w = random(&[17, 33], 1);
    let factors = n.floats(&[0.5; 17]);
    let in_f32 = n.constant(Constant::F32(w.clone()));
    let params = [("post_ops", "mul_channel,relu".into())];
    let inputs = |x, weights| [("x", x), ("weights", weights), ("channel", factors)];
    let y = n.op("linear", &inputs(rows, in_f32), &params);
    let y = n.op("sigmoid", &[("x", y)], &[]);
    n.graph.output("of numbers", y).unwrap();
    // Between roundings, with weights that a convolution of integers would take.
    let x = n.rounded(rows, 0.01, 120, "u8");
    let weights = n.weights(&[17, 33], 0);
    let y = n.op("linear", &inputs(x, weights), &params);
    let y = n.rounded(y, 0.01, 3, "u8");
    n.graph.output("rounded", y).unwrap();
    // Of integers itself.
    let x = n.quantize(rows, 0.01, 120, "u8");
    let values: Vec<i8> = w.to_vec::<f32>().unwrap().iter().map(|v| (v * 127.0) as i8).collect();
    let weights = n.constant(Constant::SignedByte(StridedTensor::from_slice(&values, &[17, 33]).unwrap()));
    let small = n.floats(&[0.002; 17]);
    let params = [("post_ops", "mul_channel,quantize(s8,-9)".into()), ("x_zero_point", 120i64.into())];
    let y = n.op("linear", &[("x", x), ("weights", weights), ("channel", small)], &params);
    let y = n.dequantize(y, 0.1, -9);
    n.graph.output("of integers", y).unwrap();

    let x = random(&[5, 33], 7);
    let want = as_written(&n.graph).run(&[&x]).unwrap();
    for layouts in Layouts::FIXED {
        let plan = n.graph.plan(&PlanOptions::new(layouts).keep_constants()).unwrap();
        let got = plan.run(&[&x]).unwrap();
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let (got, want) = (got.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
            assert!(want.iter().any(|v| *v != want[0]));
            assert_eq!(got, want, "result {i}, {layouts:?}: {plan}");
        }
        // Roundings to integers are off by one beside ties, in any arithmetic.
        for step in plan.errors(&[&x]).unwrap().steps.iter().filter(|step| step.op == "linear") {
            assert!(step.relative_l2.unwrap() < 1e-3, "{step:?}");
        }
    }
}
