//! The dtypes in the text of an op are those with which it runs.

use blocktensor::dispatch::schema::{ArgKind, ArgSpec, OutputDType};
use blocktensor::dispatch::{self, DispatchKey, Op, Value};
use blocktensor::{DType, MemoryFormat, Operand, Tensor};

use super::engines::Given;
use super::rules::valid_calls;

/// What the text of an op says in brackets about an argument or a result, up to its rank.
fn said(text: &str, name: &str) -> String {
    let rest = text.split_once(name).unwrap_or_else(|| panic!("{name} in {text}")).1;
    let rest = rest.split_once('[').unwrap_or_else(|| panic!("{name} in {text}")).1;
    rest.split([']', ',']).next().unwrap().to_string()
}

/// The dtypes that a text lists: those of a key, if it tells keys apart.
fn listed(said: &str, key: DispatchKey) -> Vec<DType> {
    let own = said.split("; ").find_map(|part| part.strip_prefix(&format!("{key}: ")));
    let list = own.unwrap_or(said);
    let named = |d: &DType| list == "any dtype" || list.split(" or ").any(|word| word == d.name());
    DType::ALL.into_iter().filter(named).collect()
}

fn with_dtype(t: &Tensor, dtype: DType) -> Tensor {
    match t {
        Tensor::Strided(t) => t.to_dtype(dtype).unwrap().into(),
        Tensor::Blocked(t) => t.to_dtype(dtype).unwrap().into(),
        Tensor::Opaque(_) => panic!("a tensor of another crate"),
    }
}

/// Every call with other dtypes of its tensors; those of a list are alike.
fn of_all_dtypes(given: &Given) -> Vec<Given> {
    let mut all = vec![Given::new()];
    for (name, value) in given {
        let values: Vec<Value> = match value {
            Value::Tensor(t) => DType::ALL.iter().map(|d| with_dtype(t, *d).into()).collect(),
            Value::Tensors(list) => {
                let of = |d: &DType| list.iter().map(|t| with_dtype(t, *d)).collect::<Vec<_>>().into();
                DType::ALL.iter().map(of).collect()
            }
            other => vec![other.clone()],
        };
        let next = all
            .iter()
            .flat_map(|call| values.iter().map(|value| [&call[..], &[(*name, value.clone())]].concat()));
        all = next.collect();
    }
    all
}

/// The call with its data channels-last: oneDNN has bf16 convolutions of these alone, and its reference in NCHW is refused.
fn channels_last(given: &Given) -> Given {
    let turned = |value: &Value| match value {
        Value::Tensor(Tensor::Strided(t)) => match MemoryFormat::channels_last_of(t.rank()) {
            Some(last) => t.contiguous(last).unwrap().into(),
            None => value.clone(),
        },
        other => other.clone(),
    };
    given.iter().map(|(name, value)| (*name, turned(value))).collect()
}

fn dtype_of(given: &Given, name: &str) -> Option<DType> {
    given.iter().find(|(of, _)| *of == name).and_then(|(_, value)| match value {
        Value::Tensor(t) => Some(t.tensor_ref().dtype()),
        Value::Tensors(list) => list.first().map(|t| t.tensor_ref().dtype()),
        _ => None,
    })
}

/// Compares what the text of an op says with calls of every dtype.
fn check(op: &Op, key: DispatchKey, given: &Given) -> Result<usize, String> {
    let (schema, text) = (op.schema(), op.to_string());
    let runs: Vec<(Given, Vec<Tensor>)> = [of_all_dtypes(given), of_all_dtypes(&channels_last(given))]
        .into_iter()
        .flatten()
        .filter_map(|call| dispatch::call(schema.name, &call).ok().map(|results| (call, results)))
        .collect();
    let is_given = |arg: &&ArgSpec| given.iter().any(|(name, _)| *name == arg.name) && arg.kind.is_tensor();
    for arg in schema.args.iter().filter(is_given) {
        let mut taken: Vec<DType> = runs.iter().filter_map(|(call, _)| dtype_of(call, arg.name)).collect();
        taken.sort_by_key(|d| DType::ALL.iter().position(|of| of == d));
        taken.dedup();
        let said = said(&text, &format!("{}: {}", arg.name, arg.kind.describe()));
        let stated = listed(&said, key);
        if stated != taken {
            return Err(format!("{} of {text} on {key}: {taken:?} runs", arg.name));
        }
    }
    for (call, results) in &runs {
        for (i, result) in results.iter().enumerate() {
            let output = schema.outputs.get(i).unwrap_or(&schema.outputs[0]);
            let (_, results) = text.rsplit_once(" -> ").unwrap();
            let said = said(results, output.name);
            let dtype = result.tensor_ref().dtype();
            let is_stated = match output.dtype {
                OutputDType::Like(arg) => dtype_of(call, arg) == Some(dtype),
                OutputDType::Fixed(of) => of == dtype,
                OutputDType::Stated(_) => true,
            };
            if !is_stated && !listed(&said, key).contains(&dtype) {
                return Err(format!("{} of {text} on {key}: a call gives {dtype}", output.name));
            }
        }
    }
    Ok(runs.len())
}

#[test]
fn the_text_of_an_op_has_the_dtypes_that_run() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (op, key, given) in valid_calls() {
        match check(op, key, &given) {
            Ok(0) => wrong.push(format!("no call of {op} runs")),
            Ok(runs) => count += runs,
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 500, "{count}");
}

#[test]
fn the_text_of_an_op_has_integers_beside_f32() {
    let text = |name: &str| dispatch::op(name).unwrap().to_string();
    assert!(
        text("matmul").contains("a: a data tensor [f32 or u8 or s8, rank 1 or more]"),
        "{}",
        text("matmul")
    );
    assert!(text("matmul").ends_with("-> dst [as a or s32]"), "{}", text("matmul"));
    for name in ["linear", "conv2d", "max_pool2d"] {
        let text = text(name);
        assert!(text.contains("u8 or s8"), "{text}");
    }
    let sort = dispatch::op("sort").unwrap();
    assert_eq!(sort.to_string(), sort.schema().to_string());
    assert!(sort.schema().args.iter().any(|arg| matches!(arg.kind, ArgKind::Data)));
}
