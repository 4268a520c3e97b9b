//! Plans as ONNX files, for programs that draw graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use blocktensor::{Call, DType, TensorDesc, Text};
use blocktensor_graph::{Plan, StepInfo, StepTensor};
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use crate::error::{Error, Result};

/// The domain of the nodes.
const DOMAIN: &str = "blocktensor";
/// The program that made the file.
const PRODUCER: &str = "blocktensor";

/// A plan as an ONNX file that shows it, for Netron and other programs that draw such files. Each step is a node of the domain
/// `blocktensor`, each reorder too; its attributes tell layout, implementation, what is fused into it, multiply-adds and
/// **bytes**. With the time of each step in **seconds**, as [`Plan::run_timed`] gives them, they tell microseconds and the share
/// as well. Weights are not in the file, so nothing can run it.
///
/// ```
/// use blocktensor_graph::{Graph, Layouts, PlanOptions};
///
/// let mut graph = Graph::new();
/// let x = graph.input("x", &[2.into()])?;
/// let y = graph.op("act", "relu", &[("x", x)], &[])?;
/// graph.output("y", y)?;
/// let plan = graph.plan(&PlanOptions::new(Layouts::Nchw))?;
/// let file = blocktensor_onnx::show(&plan, None)?;
/// assert!(!file.is_empty());
/// # Ok::<(), blocktensor_onnx::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] unless there is a time for each step.
pub fn show(plan: &Plan, times: Option<&[f64]>) -> Result<Vec<u8>> {
    if let Some(times) = times.filter(|times| times.len() != plan.len()) {
        let rule = format!("the plan has {} steps", plan.len());
        let got = format!("{} numbers", times.len());
        return Err(Error::invalid("times", got, rule, Text::from("pass those of ") + Call::RunTimed));
    }
    let total = times.map_or(0.0, |times| times.iter().sum::<f64>());
    let mut names = Names::of(plan);
    let mut graph = GraphProto::default();
    for (i, step) in plan.steps().enumerate() {
        let seconds = times.map(|times| (times[i], total));
        graph.node.push(node(&step, &mut names, seconds));
        for tensor in &step.outputs {
            graph.value_info.push(value(&names.of_tensor(tensor), tensor.desc));
        }
    }
    // An output that is an input, or another output.
    for (id, (name, _)) in plan.output_ids().zip(plan.outputs()) {
        let known = names.by_id.get(&id).filter(|known| *known != name);
        graph.node.extend(known.map(|known| NodeProto {
            op_type: Some("Identity".to_string()),
            input: vec![known.clone()],
            output: vec![name.to_string()],
            ..NodeProto::default()
        }));
    }
    graph.input = plan.inputs().map(|(name, desc)| value(name, desc)).collect();
    graph.output = plan.outputs().map(|(name, desc)| value(name, desc)).collect();
    let version = |domain: Option<&str>| OperatorSetIdProto {
        domain: domain.map(str::to_string),
        version: Some(if domain.is_some() { 1 } else { 17 }),
    };
    let about =
        [("layouts", plan.layouts().name().to_string()), ("arena bytes", plan.arena_bytes().to_string())];
    let about =
        about.map(|(key, value)| StringStringEntryProto { key: Some(key.into()), value: Some(value) });
    let model = ModelProto {
        ir_version: Some(8),
        producer_name: Some(PRODUCER.to_string()),
        producer_version: Some(env!("CARGO_PKG_VERSION").to_string()),
        opset_import: vec![version(None), version(Some(DOMAIN))],
        metadata_props: about.into(),
        graph: Some(graph),
    };
    model
        .write_buf()
        .map_err(|e| Error::invalid("plan", e.to_string(), "an ONNX file holds it", "report this"))
}

/// How a drawing begins: the version of the format, and the producer.
const START: &[u8] = b"\x08\x08\x12\x0bblocktensor";

/// Whether the content is that of a file that [`show`] made, from its first bytes alone: for programs that must not replace a
/// model by a drawing.
///
/// ```
/// assert!(!blocktensor_onnx::is_shown(&mut &b"\x08\x08\x12\x07pytorch"[..])?);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of reading.
pub fn is_shown(content: &mut dyn Read) -> std::io::Result<bool> {
    let mut start = Vec::new();
    content.take(START.len() as u64).read_to_end(&mut start)?;
    Ok(start == START)
}

/// Refuses a drawing in place of a model.
pub(crate) fn refuse(model: &ModelProto) -> Result<()> {
    let has_domain = model.opset_import.iter().any(|set| set.domain.as_deref() == Some(DOMAIN));
    if model.producer_name.as_deref() != Some(PRODUCER) || !has_domain {
        return Ok(());
    }
    let rule = "it shows a plan, and has no weights";
    Err(Error::invalid("the model", "a drawing of a plan", rule, "pass the model that was planned"))
}

/// A name of its own for each tensor in each layout. Inputs and outputs keep theirs.
struct Names {
    by_id: BTreeMap<usize, String>,
    taken: BTreeSet<String>,
}

impl Names {
    fn of(plan: &Plan) -> Names {
        let taken = plan.inputs().chain(plan.outputs()).map(|(name, _)| name.to_string()).collect();
        let mut names = Names { by_id: BTreeMap::new(), taken };
        let ports = plan.input_ids().zip(plan.inputs()).chain(plan.output_ids().zip(plan.outputs()));
        for (id, (name, _)) in ports {
            names.by_id.entry(id).or_insert_with(|| name.to_string());
        }
        names
    }

    fn of_tensor(&mut self, tensor: &StepTensor<'_>) -> String {
        let Names { by_id, taken } = self;
        let name = by_id.entry(tensor.id).or_insert_with(|| {
            let plain = format!("{} ({})", tensor.name, tensor.desc.layout_name());
            let numbered = |n: usize| if n == 0 { plain.clone() } else { format!("{plain} {n}") };
            (0..).map(numbered).find(|name| !taken.contains(name)).unwrap_or(plain.clone())
        });
        taken.insert(name.clone());
        name.clone()
    }
}

fn node(step: &StepInfo<'_>, names: &mut Names, seconds: Option<(f64, f64)>) -> NodeProto {
    let layouts = |list: &[StepTensor<'_>]| {
        let computed = list.iter().filter(|t| !t.is_constant);
        computed.map(|t| t.desc.layout_name()).collect::<Vec<_>>().join(", ")
    };
    let mut attribute = vec![
        text("from", layouts(&step.inputs)),
        text("to", layouts(&step.outputs)),
        text("kind", step.kind.name().to_string()),
        whole("bytes", step.bytes() as u64),
    ];
    if step.nodes.len() > 1 {
        attribute.push(text("nodes", step.title()));
    }
    if !step.fused.is_empty() {
        attribute.push(text("fused", step.fused.to_string()));
    }
    attribute.extend(step.implementation.map(|name| text("implementation", name.to_string())));
    if step.multiply_adds > 0 {
        attribute.push(whole("multiply_adds", step.multiply_adds));
    }
    if let Some((own, total)) = seconds {
        attribute.push(number("microseconds", own * 1e6));
        attribute.push(number("percent", if total > 0.0 { own / total * 100.0 } else { 0.0 }));
    }
    let inputs = step.inputs.iter().filter(|t| !t.is_constant);
    NodeProto {
        domain: Some(DOMAIN.to_string()),
        name: Some(step.name.to_string()),
        op_type: Some(step.op.to_string()),
        input: inputs.map(|t| names.of_tensor(t)).collect(),
        output: step.outputs.iter().map(|t| names.of_tensor(t)).collect(),
        attribute,
    }
}

fn text(name: &str, value: String) -> AttributeProto {
    let name = Some(name.to_string());
    AttributeProto { name, s: Some(value), r#type: Some(AttributeType::STRING), ..AttributeProto::default() }
}

fn whole(name: &str, value: u64) -> AttributeProto {
    let (name, value) = (Some(name.to_string()), i64::try_from(value).unwrap_or(i64::MAX));
    AttributeProto { name, i: Some(value), r#type: Some(AttributeType::INT), ..AttributeProto::default() }
}

fn number(name: &str, value: f64) -> AttributeProto {
    let name = Some(name.to_string());
    AttributeProto {
        name,
        f: Some(value as f32),
        r#type: Some(AttributeType::FLOAT),
        ..AttributeProto::default()
    }
}

fn value(name: &str, desc: &TensorDesc) -> ValueInfoProto {
    let dim = |&d: &usize| Dimension { dim_value: i64::try_from(d).ok(), dim_param: None };
    let shape = Some(TensorShapeProto { dim: desc.dims().iter().map(dim).collect() });
    let of = match desc.dtype() {
        DType::F32 => DataType::FLOAT,
        DType::S32 => DataType::INT32,
        DType::U8 => DataType::UINT8,
        DType::S8 => DataType::INT8,
        DType::F16 => DataType::FLOAT16,
        _ => DataType::BFLOAT16,
    };
    let tensor_type = Some(TypeProtoTensor { elem_type: Some(of), shape });
    ValueInfoProto {
        name: Some(name.to_string()),
        r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }),
    }
}
