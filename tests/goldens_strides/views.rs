use blocktensor::{Result, StridedTensor, ledger};
use serde_json::Value;

use super::{every_line, f32_tensor, list, number, same};

#[test]
fn goldens_strides_views() {
    every_line("views.jsonl", |line| {
        let x = f32_tensor(&line["input"])?;
        let op = line["op"].as_str().ok_or("no op")?;
        let args = line["args"].as_array().ok_or("no args")?;
        let (result, moved) = ledger::record(|| apply(&x, op, args));
        let out = &line["out"];
        let kind = out["kind"].as_str().ok_or("no kind")?;
        let y = match (result?, kind) {
            (Err(_), "error") => return Ok(()),
            (Err(e), _) => return Err(e.to_string()),
            (Ok(y), _) => y,
        };
        same("kind", if y.shares_storage(&x) { "view" } else { "copy" }, kind)?;
        same("copies in the ledger", moved.reorders.len(), usize::from(kind == "copy"))?;
        same("size", y.dims().to_vec(), list(&out["size"])?)?;
        same("stride", y.strides().to_vec(), list(&out["stride"])?)?;
        same("offset", y.offset(), number(&out["offset"])?)
    });
}

fn apply(x: &StridedTensor, op: &str, args: &[Value]) -> Result<Result<StridedTensor>, String> {
    let arg = |i: usize| args.get(i).ok_or_else(|| format!("{op} has no argument {i}"));
    let n = |i: usize| number(arg(i)?);
    let last = |pieces: Vec<StridedTensor>| pieces.last().cloned().ok_or("no pieces");
    Ok(match op {
        "permute" => x.permute(&list(arg(0)?)?),
        "transpose" => x.transpose(n(0)?, n(1)?),
        "narrow" => x.narrow(n(0)?, n(1)?, n(2)?),
        "unfold_step" => x.slice(n(0)?, 0, usize::MAX, n(1)?),
        "slice" => x.slice(n(0)?, n(1)?, n(2)?, n(3)?),
        "select" => x.select(n(0)?, n(1)?),
        "expand" => x.expand(&list(arg(0)?)?),
        "unsqueeze" => x.unsqueeze(n(0)?),
        "squeeze" if args.is_empty() => Ok(x.squeeze()),
        "squeeze" => x.squeeze_axis(n(0)?),
        "view" => x.view(&list(arg(0)?)?),
        "reshape" => x.reshape(&list(arg(0)?)?),
        "flatten" => x.flatten(n(0)?, n(1)?),
        "as_strided" => x.as_strided(&list(arg(0)?)?, &list(arg(1)?)?, n(2)?),
        "chunk" => match x.chunk(n(0)?, n(1)?) {
            Ok(pieces) => Ok(last(pieces)?),
            Err(e) => Err(e),
        },
        "split" => match x.split(n(0)?, n(1)?) {
            Ok(pieces) => Ok(last(pieces)?),
            Err(e) => Err(e),
        },
        other => return Err(format!("unknown view {other}")),
    })
}
