//! Plans as ONNX files.

use std::collections::BTreeSet;
use std::path::Path;

use blocktensor::{MemoryFormat, StridedTensor};
use blocktensor_graph::{Constant, Graph, Layouts, PlanOptions, Profiles};
use rten_onnx::onnx::ModelProto;

#[test]
fn a_shown_plan_has_each_step_with_its_layout_and_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/onnx_models");
    for name in ["resnet", "densenet", "unet"] {
        let graph = blocktensor_onnx::from_path(&folder.join(format!("{name}.onnx"))).unwrap();
        let mut options = PlanOptions::new(Layouts::Measured).profiles(Profiles::Estimated);
        for size in graph.named_sizes() {
            options = options.size(size, 1);
        }
        let plan = graph.plan(&options).unwrap();
        let times: Vec<f64> = (0..plan.len()).map(|i| i as f64 * 1e-6).collect();
        let bytes = blocktensor_onnx::show(&plan, Some(&times)).unwrap();
        let model = ModelProto::parse_buf(&bytes).unwrap();
        let shown = model.graph.unwrap();
        assert_eq!(shown.node.len(), plan.len());
        let mut known: BTreeSet<&str> = shown.input.iter().filter_map(|v| v.name.as_deref()).collect();
        for (i, (node, step)) in shown.node.iter().zip(plan.steps()).enumerate() {
            assert_eq!((node.name.as_deref(), node.op_type.as_deref()), (Some(step.name), Some(step.op)));
            let find = |name: &str| node.attribute.iter().find(|a| a.name.as_deref() == Some(name));
            assert_eq!(find("to").unwrap().s.as_deref(), Some(&*step.outputs[0].desc.layout_name()));
            assert_eq!(find("microseconds").unwrap().f, Some((times[i] * 1e6) as f32));
            assert_eq!(find("implementation").and_then(|a| a.s.as_deref()), step.implementation);
            for input in &node.input {
                assert!(known.contains(&**input), "{input} of {} comes from nowhere", step.name);
            }
            for output in &node.output {
                assert!(known.insert(output), "{output} has two makers");
            }
        }
        assert!(shown.output.iter().all(|v| known.contains(v.name.as_deref().unwrap())));
        assert!(blocktensor_onnx::show(&plan, Some(&times[1..])).is_err());
        // It shows, and does not run.
        let error = blocktensor_onnx::from_bytes(&bytes).unwrap_err();
        assert!(error.to_string().contains("got a drawing of a plan"), "{error}");
        assert!(blocktensor_onnx::is_shown(&mut &bytes[..]).unwrap());
        let model = std::fs::read(folder.join(format!("{name}.onnx"))).unwrap();
        assert!(!blocktensor_onnx::is_shown(&mut &model[..]).unwrap());
    }
}

#[test]
fn a_step_of_several_nodes_names_them() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2.into(), 3.into()]).unwrap();
    let w = StridedTensor::full(&[4, 3], 1f32, MemoryFormat::Contiguous).unwrap();
    let w = graph.constant("w", Constant::F32(w)).unwrap();
    let y = graph.op("layer", "linear", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("act", "relu", &[("x", y)], &[]).unwrap();
    let y = graph.op("alone", "exp", &[("x", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let shown = ModelProto::parse_buf(&blocktensor_onnx::show(&plan, None).unwrap()).unwrap().graph.unwrap();
    let nodes = shown.node.iter().map(|node| {
        let list = node.attribute.iter().find(|a| a.name.as_deref() == Some("nodes"));
        list.and_then(|a| a.s.as_deref())
    });
    assert_eq!(nodes.collect::<Vec<_>>(), [Some("layer, act"), None]);
}
