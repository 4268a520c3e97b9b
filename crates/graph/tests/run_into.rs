//! Runs into the caller's memory.

use blocktensor::{DType, MemoryFormat, StridedTensor, TensorDesc, ledger};
use blocktensor_graph::{Constant, Error, Graph, Layouts, Param, PlanOptions, ValueId};

use crate::plans::network;
use crate::support::random;

fn refs(tensors: &mut [StridedTensor]) -> Vec<&mut StridedTensor> {
    tensors.iter_mut().collect()
}

/// Outputs of all kinds: what a step computes, views of it, parts of it, one result twice, an input, a constant.
#[test]
fn a_run_into_the_callers_memory_gives_the_bits_of_a_run() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[2.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    let op = |graph: &mut Graph, name: &str, op: &str, of: ValueId, params: &[(&str, Param)]| {
        graph.op(name, op, &[("x", of)], params).unwrap()
    };
    let relu = op(&mut graph, "relu", "relu", x, &[]);
    let flat = op(&mut graph, "flat", "flatten", relu, &[("start", 1i64.into()), ("end", 3i64.into())]);
    let after = op(&mut graph, "after", "neg", flat, &[]);
    let constant = graph.constant("c", Constant::F32(random(&[3], 1))).unwrap();
    for (name, value) in [
        ("scores", y),
        ("flat", flat),
        ("relu", relu),
        ("again", y),
        ("same", x),
        ("constant", constant),
        ("after", after),
    ] {
        graph.output(name, value).unwrap();
    }
    let x = random(&[2, 3, 9, 13], 9);
    for layouts in Layouts::FIXED {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        let want = plan.run(&[&x]).unwrap();
        let made =
            |desc: &TensorDesc| StridedTensor::full(desc.dims(), f32::NAN, MemoryFormat::Contiguous).unwrap();
        let mut outputs: Vec<StridedTensor> = plan.outputs().map(|(_, desc)| made(desc)).collect();
        let places: Vec<*const f32> = outputs.iter().map(|y| y.as_slice::<f32>().unwrap().as_ptr()).collect();
        for _ in 0..2 {
            plan.run_into(&[&x], &mut refs(&mut outputs)).unwrap();
            for ((y, want), place) in outputs.iter_mut().zip(&want).zip(&places) {
                assert_eq!(y.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
                // The caller's memory, of which it is the only owner again.
                assert_eq!(y.as_slice::<f32>().unwrap().as_ptr(), *place);
                assert!(y.is_writable() && y.dims() == want.dims());
            }
        }
    }
}

/// The memory has guards on both sides: nothing beyond a part of a larger storage is written.
#[test]
fn a_run_writes_into_a_part_of_a_larger_storage() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    graph.output("scores", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nhwc)).unwrap();
    let x = random(&[1, 3, 9, 13], 9);
    let want = plan.run(&[&x]).unwrap().remove(0);
    let n = want.numel();
    // An offset that is no multiple of a vector.
    let whole = StridedTensor::full(&[n + 10], 7f32, MemoryFormat::Contiguous).unwrap();
    let strides: Vec<usize> = want.strides().to_vec();
    let mut part = [whole.as_strided(want.dims(), &strides, 3).unwrap()];
    drop(whole);
    plan.run_into(&[&x], &mut refs(&mut part)).unwrap();
    let whole = part[0].as_strided(&[n + 10], &[1], 0).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(whole[3..3 + n], want.to_vec::<f32>().unwrap()[..]);
    assert!(whole[..3].iter().chain(&whole[3 + n..]).all(|v| *v == 7.0));
}

#[test]
fn outputs_that_do_not_fit_are_refused_before_anything_runs() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = graph.op("relu", "relu", &[("x", x)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let x = random(&[1, 3, 9, 13], 9);
    let good = || random(&[1, 3, 9, 13], 1);
    let shared = good();
    for (outputs, text) in [
        (vec![], "the outputs are `y`"),
        (vec![good(), good()], "got 2 tensors"),
        (vec![random(&[1, 3, 9, 12], 1)], "a run gives [1, 3, 9, 13]"),
        (vec![good().to_dtype(DType::F16).unwrap()], "a run gives [1, 3, 9, 13]"),
        (vec![good().contiguous(MemoryFormat::ChannelsLast).unwrap()], "results are row-major"),
        (vec![shared.clone()], "drop the other tensor"),
        (vec![x.clone()], "memory that input `image` has too"),
    ] {
        let mut outputs = outputs;
        let before: Vec<Vec<u8>> = outputs.iter().map(|y| format!("{y:?}").into_bytes()).collect();
        let (result, ledger) = ledger::record(|| plan.run_into(&[&x], &mut refs(&mut outputs)));
        let error = result.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
        assert!(ledger.runs.is_empty(), "{ledger}");
        assert_eq!(outputs.iter().map(|y| format!("{y:?}").into_bytes()).collect::<Vec<_>>(), before);
    }
}

/// Parts of one storage cannot be written at the same time, and so are no outputs; that two storages over one memory of the caller's are
/// none is tested where there is unsafe code (capi, Python).
#[test]
fn parts_of_one_storage_are_no_outputs() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[8.into()]).unwrap();
    for (name, op) in [("y", "relu"), ("z", "neg")] {
        let value = graph.op(name, op, &[("x", x)], &[]).unwrap();
        graph.output(name, value).unwrap();
    }
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let (x, memory) = (random(&[8], 1), random(&[16], 2));
    for (first, second, text) in [
        (0, 8, "got storage that another tensor shares, or that is read-only for `y`"),
        (0, 4, "got storage that another tensor shares, or that is read-only for `y`"),
    ] {
        let mut outputs = [first, second].map(|at| memory.narrow(0, at, 8).unwrap());
        let error = plan.run_into(&[&x], &mut refs(&mut outputs)).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert!(matches!(error, Error::Engine(blocktensor::Error::Aliasing(_))), "{error}");
    }
}

#[test]
fn a_run_that_fails_gives_the_memory_back() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = graph.op("relu", "relu", &[("x", x)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let y = network(&mut graph, y);
    graph.output("scores", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nhwc)).unwrap();
    let x = random(&[1, 3, 9, 13], 9);
    let mut outputs = [random(&[1, 3, 9, 13], 1), random(plan.outputs().nth(1).unwrap().1.dims(), 2)];
    let places = |outputs: &[StridedTensor]| -> Vec<_> {
        outputs.iter().map(|y| (y.dims().to_vec(), y.as_slice::<f32>().unwrap().as_ptr())).collect()
    };
    let before = places(&outputs);
    let error = ledger::deny_reorders(|| plan.run_into(&[&x], &mut refs(&mut outputs))).unwrap_err();
    assert!(error.to_string().contains("reorder"), "{error}");
    assert_eq!(places(&outputs), before);
    plan.run_into(&[&x], &mut refs(&mut outputs)).unwrap();
    assert_eq!(places(&outputs), before);
}

/// Programs of C and Python write into results.
#[test]
fn a_result_that_is_a_constant_is_a_copy_in_each_run() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[4.into()]).unwrap();
    let c = graph.constant("c", Constant::F32(random(&[4], 1))).unwrap();
    let y = graph.op("y", "add", &[("a", x), ("b", c)], &[]).unwrap();
    graph.output("y", y).unwrap();
    graph.output("c", c).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let x = random(&[4], 2);
    let mut first = plan.run(&[&x]).unwrap();
    assert!(first[1].is_writable() && first[1].to_vec::<f32>() == random(&[4], 1).to_vec::<f32>());
    let again = plan.run(&[&x]).unwrap();
    assert!(!again[1].overlaps(&first[1]));
}
