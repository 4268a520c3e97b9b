//! Measured plans of quantised graphs say which nodes f32 would compute faster.

use std::collections::BTreeSet;
use std::path::Path;

use blocktensor::PackedFile;
use blocktensor::dispatch::Isa;
use blocktensor_graph::{Graph, Layouts, Param, Plan, PlanOptions, Profiles, ValueId};

use crate::integers::Net;

/// Four convolutions, two of which have the same sizes and parameters, an average pool, and a product with means. Quantised, or in f32.
fn graph(quantised: bool) -> Graph {
    let mut n = Net::new();
    let padded: [(&str, Param); 1] = [("padding", 1i64.into())];
    let image = n.graph.input("image", &[1.into(), 16.into(), 14.into(), 12.into()]).unwrap();
    let rounded = |n: &mut Net, x: ValueId| if quantised { n.rounded(x, 0.01, 0, "u8") } else { x };
    let conv = |n: &mut Net, x: ValueId, dims: &[usize], params: &[(&str, Param)]| {
        let y = n.conv(x, dims, params);
        let y = n.op("relu", &[("x", y)], &[]);
        rounded(n, y)
    };
    let x = rounded(&mut n, image);
    let x = conv(&mut n, x, &[16, 16, 3, 3], &padded);
    let x = conv(&mut n, x, &[16, 16, 3, 3], &padded);
    let x = conv(&mut n, x, &[24, 16, 1, 1], &[]);
    let x = conv(&mut n, x, &[24, 1, 3, 3], &[padded[0].clone(), ("groups", 24i64.into())]);
    let pooled = n.op("avg_pool2d", &[("x", x)], &[("kernel", vec![2i64, 2].into())]);
    let x = rounded(&mut n, pooled);
    let means = n.op("global_avg_pool", &[("x", x)], &[]);
    let means = rounded(&mut n, means);
    let y = n.op("mul", &[("a", x), ("b", means)], &[]);
    let y = rounded(&mut n, y);
    let y = n.op("add", &[("a", y), ("b", x)], &[]);
    let y = rounded(&mut n, y);
    n.graph.output("y", y).unwrap();
    n.graph
}

fn plan(graph: &Graph, folder: &Path) -> Plan {
    graph.plan(&PlanOptions::default().profiles(Profiles::KeptIn(folder.into()))).unwrap()
}

/// What times are kept of, in a folder: the operators of f32 with this name.
fn in_f32(folder: &Path, op: &str) -> BTreeSet<String> {
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(file).unwrap();
    let contents: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys = contents["profiles"].as_object().unwrap().keys();
    keys.filter(|key| key.starts_with(op) && !key.contains("u8") && !key.contains("s8")).cloned().collect()
}

#[test]
fn quantised_operators_are_measured_in_f32_too() {
    let folder = tempfile::tempdir().unwrap();
    // Without products of bytes, convolutions stay in f32: pools, sums and products are what is compared.
    let convolutions = if Isa::has_byte_products() { 3 } else { 0 };
    // Beside other work it may take several plannings: each goes on where the one before ended.
    let mut planned = plan(&graph(true), folder.path());
    for _ in 0..30 {
        if planned.measurements().unwrap().compared_with_f32.as_ref().unwrap().unknown == 0 {
            break;
        }
        planned = plan(&graph(true), folder.path());
    }
    let compared = planned.measurements().unwrap().compared_with_f32.clone().unwrap();
    assert_eq!(compared.operators, convolutions + 4, "{planned}");
    assert!(compared.unknown < compared.operators, "nothing was compared: {planned}");
    for op in ["avg_pool2d", "global_avg_pool", "mul", "add"].iter().filter(|_| compared.unknown == 0) {
        assert!(!in_f32(folder.path(), op).is_empty(), "{op}: {planned}");
    }
    let measured = in_f32(folder.path(), "conv2d");
    assert!(measured.len() >= convolutions, "{measured:#?}");
    // A plan of the same model in f32 finds all of its convolutions measured.
    plan(&graph(false), folder.path());
    if compared.unknown == 0 && convolutions > 0 {
        assert_eq!(in_f32(folder.path(), "conv2d"), measured);
    }
    // The text has what the list has.
    let text = planned.to_string();
    assert_eq!(planned.faster_in_f32(), compared.faster);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" in 8 bits, ")).collect();
    assert_eq!(lines.len(), compared.faster.len(), "{text}");
    for (line, node) in lines.iter().zip(&compared.faster) {
        assert!(line.starts_with(&format!("  {}: ", node.name)), "{text}");
        assert!(node.seconds > node.f32_seconds && node.f32_seconds > 0.0, "{node:?}");
    }
    assert_eq!(text.contains("nodes_to_exclude"), !compared.faster.is_empty(), "{text}");
    assert_eq!(text.contains("not compared with f32"), compared.unknown > 0, "{text}");
    // A file keeps it.
    let path = folder.path().join("saved.plan");
    planned.save(&path, false).unwrap();
    let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
    assert_eq!(loaded.measurements().unwrap().compared_with_f32, Some(compared));
}

#[test]
fn nothing_is_compared_where_nothing_is_quantised_or_measured() {
    let folder = tempfile::tempdir().unwrap();
    let measured = || PlanOptions::default().profiles(Profiles::KeptIn(folder.path().into()));
    let quantised = graph(true);
    let estimated = PlanOptions::default().profiles(Profiles::Estimated);
    for (graph, options) in [
        (&graph(false), measured()),
        (&quantised, PlanOptions::new(Layouts::Blocked)),
        (&quantised, estimated),
    ] {
        let plan = graph.plan(&options).unwrap();
        let compared = plan.measurements().and_then(|m| m.compared_with_f32.clone());
        assert_eq!((compared, plan.faster_in_f32().len()), (None, 0));
        let text = plan.to_string();
        assert!(!text.contains("faster in f32") && !text.contains("compared"), "{text}");
    }
}
