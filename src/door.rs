//! How other languages spell the calls that errors name.
//!
//! Errors are written with the calls of Rust, in backticks. One table has the other spellings, so that a program in C reads of
//! calls that it can make.

use crate::error::Error;
use crate::layout::blocked::Layout;
use crate::layout::native::WeightsKind;
use crate::registry;

/// A language from which the library is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Door {
    /// Rust: errors as they print.
    Rust,
    /// C: the functions of `blocktensor.h`, where `t` is the tensor that the error is about.
    C,
    /// Python: the functions and methods of the package `blocktensor`.
    Python,
}

/// Calls in Rust, and what they are in C and in Python; empty where no call of the language leads to an error that names it. `{}`
/// stands for any text.
const CALLS: &[[&str; 3]] = &[
    ["to_strided(MemoryFormat::Contiguous)", "bt_to_strided(t, \"contiguous\", &out)", ".to_strided()"],
    ["to_strided", "bt_to_strided", ".to_strided()"],
    ["to_blocked", "bt_to_blocked", ".to_blocked()"],
    ["to_blocked(&Layout::native().0)", "bt_to_blocked(t, NULL, &out)", ".to_blocked()"],
    ["to_blocked(&Layout::native_activation({})?)", "bt_to_blocked(t, NULL, &out)", ".to_blocked()"],
    ["reorder_to(&Layout::native_activation({})?)", "bt_to_blocked(t, NULL, &out)", ".to_blocked()"],
    ["reorder_to(&\"{}\".parse()?)", "bt_to_blocked(t, \"{}\", &out)", ".to_blocked(\"{}\")"],
    ["reorder_to(&Layout)", "bt_to_blocked", ".to_blocked(layout)"],
    ["Layout::native_activation({})?", "NULL", "None"],
    ["Layout::native_activation", "bt_to_blocked(t, NULL, &out)", ".to_blocked()"],
    ["contiguous(MemoryFormat::Contiguous)", "bt_to_strided(t, \"contiguous\", &out)", ".contiguous()"],
    ["copy(MemoryFormat::Preserve)", "bt_to_strided(t, \"contiguous\", &out)", "copy.deepcopy"],
    ["to_dtype(DType::{})", "bt_cast(t, BT_{}, &out)", ".to_dtype(\"{}\")"],
    ["to_dtype", "bt_cast", ".to_dtype()"],
    ["reshape", "bt_reshape", ".reshape()"],
    ["unsqueeze({})", "bt_call(\"unsqueeze\", axis = {})", "blocktensor.ops.unsqueeze(x, {})"],
    ["transpose({})", "bt_call(\"transpose\", a and b = {})", "blocktensor.ops.transpose(x, {})"],
    ["to_vec", "bt_tensor_read", ".numpy()"],
    ["to_dlpack", "bt_tensor_to_dlpack", ".__dlpack__()"],
    ["as_blocked_dlpack", "bt_blocked_to_dlpack", ".as_blocks()"],
    ["empty_like", "bt_tensor_zeros", "blocktensor.zeros"],
    ["zeros", "bt_tensor_zeros", "blocktensor.zeros"],
    ["blocktensor::dispatch::ops()", "bt_schema", "blocktensor.ops.__all__"],
    ["pack_for(&Source::of(&x)?)", "bt_pack_conv", "blocktensor.pack_conv(..., like=x)"],
    ["pack_for", "bt_pack_conv", "blocktensor.pack_conv"],
    ["Source::strided", "bt_desc_new", "like of blocktensor.pack_conv"],
    ["TensorDesc::strided", "bt_desc_new", "blocktensor.zeros"],
    ["TensorDesc::blocked", "bt_desc_new", "blocktensor.zeros"],
    ["PackedConv2d", "bt_pack_conv", "blocktensor.pack_conv"],
    ["PackedConvTranspose", "bt_pack_conv_transpose", "blocktensor.pack_conv_transpose"],
    ["PackedStem", "bt_pack_stem", "blocktensor.pack_stem"],
    ["PackedLinear", "bt_pack_linear", "blocktensor.pack_linear"],
    ["PackedWriter::keep_plain", "keep_plain of bt_packed_writer_new", "keep_plain of Plan.save"],
    ["PackedWriter::save", "bt_packed_writer_save", "Plan.save"],
    [
        "PackedFile::read_or_repack",
        "repack of bt_packed_file_read",
        "blocktensor.load_plan(..., replan=True)",
    ],
    ["PackedFile::map_or_repack", "repack of bt_packed_file_map", "blocktensor.load_plan(..., replan=True)"],
    ["PackedFile::read", "bt_packed_file_read", "blocktensor.load_plan"],
    ["PackedFile::map", "bt_packed_file_map", "blocktensor.load_plan"],
    ["PackedFile::get", "bt_packed_file_get", "blocktensor.load_plan"],
    ["PackedFile::kind", "bt_packed_file_get", "blocktensor.load_plan"],
    ["PackedWriter::add", "bt_packed_writer_add", "Plan.save"],
    ["StateDict::read", "bt_dict_load", ""],
    ["StateDict::map", "bt_dict_map", ""],
    ["StateDict::take", "bt_dict_take", ""],
    ["StateDict::names", "bt_dict_name", ""],
    ["run_fused", "bt_packed_run", "residual of PackedWeights"],
    ["PlanOptions::size", "sizes of bt_plan_new", "sizes of Model.plan"],
    ["PlanOptions::size(\"{}\", 1)", "sizes of bt_plan_new", "Model.plan(sizes={\"{}\": 1})"],
    [".residual()", "the word residual in post_ops", "the word residual in post_ops"],
    ["std::thread::Builder::stack_size", "pthread_attr_setstacksize", "threading.stack_size"],
    ["std::process::Command", "posix_spawn", "subprocess.Popen"],
    ["deny_reorders", "bt_deny_reorders", "blocktensor.deny_reorders"],
    ["ReorderBudget", "bt_deny_reorders", "blocktensor.budget"],
    ["run_with_threads({}, ..)", "bt_run_with_threads({}, ...)", "threads={}"],
    ["blocktensor_onnx::from_path", "bt_model_load", "blocktensor.load_onnx"],
    ["Plan::load", "bt_plan_load", "blocktensor.load_plan"],
    ["Plan::load_or_replan", "bt_plan_load", "blocktensor.load_plan"],
    ["Plan::load_with_constants", "", "blocktensor.load_plan(..., keep_constants=True)"],
    ["PlanOptions::keep_constants", "", "Model.plan(keep_constants=True)"],
    ["Plan::save", "bt_plan_save", "Plan.save"],
    ["Plan::run_timed", "", "Plan.run_timed"],
];

/// Arguments of calls in Rust whose parameters have other names in C.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("layout", "name", "layout"),
    ("memory_format", "name", "format"),
    ("contiguous", "memory_format", "format"),
    ("to_strided", "memory_format", "format"),
    ("TensorDesc::strided", "memory_format", "layout"),
];

impl Error {
    /// The text of the error, with the calls of a language in its backticks.
    ///
    /// ```
    /// use blocktensor::{Door, Layout, MemoryFormat, StridedTensor, ops};
    /// let x = StridedTensor::full(&[1, 32, 4, 4], 1f32, MemoryFormat::Contiguous)?.to_blocked(&Layout::native().0)?;
    /// let error = ops::cumsum(&x, 1).unwrap_err();
    /// assert!(error.to_string().contains("`to_strided(MemoryFormat::Contiguous)`"));
    /// assert!(error.text_for(Door::C).contains("`bt_to_strided(t, \"contiguous\", &out)`"));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn text_for(&self, door: Door) -> String {
        door.spell(&self.to_string())
    }
}

impl Door {
    /// A text of this crate's errors, with the calls of this language in its backticks.
    pub fn spell(self, text: &str) -> String {
        self.spell_parts(&text.split('`').collect::<Vec<_>>())
    }

    /// As [`spell`](Self::spell), for an error that a function of this language returned. Where the error names a method of Rust as
    /// the op that was called, it names the function instead; registered ops keep their names.
    ///
    /// ```
    /// use blocktensor::{Door, Layout, MemoryFormat, StridedTensor};
    /// let x = StridedTensor::full(&[1, 32, 4, 4], 1f32, MemoryFormat::Contiguous)?.to_blocked(&Layout::native().0)?;
    /// let text = x.to_dlpack().unwrap_err().to_string();
    /// assert!(text.starts_with("op `to_dlpack`: argument `self`: "));
    /// let text = Door::C.spell_from("bt_tensor_to_dlpack", &text);
    /// assert!(text.starts_with("op `bt_tensor_to_dlpack`: argument `t`: "));
    /// # Ok::<(), blocktensor::Error>(())
    /// ```
    pub fn spell_from(self, function: &str, text: &str) -> String {
        let mut parts: Vec<&str> = text.split('`').collect();
        if self == Door::Rust {
            return text.to_string();
        }
        for i in (1..parts.len()).step_by(2) {
            let (before, name) = (parts[i - 1], parts[i]);
            let is_subject = before == "op " || before.ends_with(": op ") || before.ends_with(" bytes for ");
            if !is_subject || name.starts_with("bt_") || registry::op(name).is_some() {
                continue;
            }
            parts[i] = function;
            if let [": argument ", argument] = parts.get_mut(i + 1..i + 3).unwrap_or_default() {
                let known = ARGUMENTS.iter().find(|(op, rust, _)| (*op, *rust) == (name, *argument));
                *argument = match (known, *argument) {
                    (Some((_, _, c)), _) => c,
                    (None, "self") => "t",
                    (None, other) => other,
                };
            }
        }
        self.spell_parts(&parts)
    }

    fn spell_parts(self, parts: &[&str]) -> String {
        if self == Door::Rust {
            return parts.join("`");
        }
        let spelled = |(i, part): (usize, &&str)| {
            // Ops have the same names everywhere; methods and functions have not.
            let is_op = i > 0 && parts[i - 1].ends_with("op ") && !part.contains("::");
            let call = if i % 2 == 1 && !is_op { self.call(part) } else { None };
            call.unwrap_or_else(|| part.to_string())
        };
        parts.iter().enumerate().map(spelled).collect::<Vec<_>>().join("`")
    }

    /// What the language calls a call of Rust.
    pub fn call(self, rust: &str) -> Option<String> {
        let column = match self {
            Door::Rust => return Some(rust.to_string()),
            Door::C => 1,
            Door::Python => 2,
        };
        if let Some(layout) = weights_layout(rust) {
            return Some(match self {
                Door::Python => format!(".to_blocked(\"{layout}\")"),
                _ => format!("bt_to_blocked(t, \"{layout}\", &out)"),
            });
        }
        if let Some(dims) = rust.strip_prefix("reshape(&[").and_then(|rest| rest.strip_suffix("])")) {
            let rank = dims.split(',').count();
            return Some(match self {
                Door::Python => format!(".reshape([{dims}])"),
                _ => format!("bt_reshape(t, {rank}, (int64_t[]){{{dims}}}, &out)"),
            });
        }
        CALLS.iter().find_map(|row| match row[0].split_once("{}") {
            None => (row[0] == rust && !row[column].is_empty()).then(|| row[column].to_string()),
            Some((before, after)) => {
                let hole = rust.strip_prefix(before)?.strip_suffix(after)?;
                // Python names dtypes as errors print them.
                let is_dtype = self == Door::Python && before.ends_with("DType::");
                let hole = if is_dtype { hole.to_lowercase() } else { hole.to_string() };
                Some(row[column].replace("{}", &hole))
            }
        })
    }
}

/// The layout for weights that a call of `to_blocked` names: in C it has a name.
fn weights_layout(rust: &str) -> Option<Layout> {
    if rust == "to_blocked(&Layout::native().1)" {
        return Some(Layout::native().1);
    }
    let arguments = rust.strip_prefix("to_blocked(&Layout::native_weights(")?.strip_suffix(")?)")?;
    let (rank, kind) = arguments.split_once(", WeightsKind::")?;
    let kind = match kind {
        "Dense" => WeightsKind::Dense,
        "Grouped" => WeightsKind::Grouped,
        _ => WeightsKind::Depthwise,
    };
    Layout::native_weights(rank.parse().ok()?, kind).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_spelled_in_other_languages() {
        let text = Door::C
            .spell("reorder `weights` with `to_blocked(&Layout::native().1)`, or `to_dtype(DType::F32)`");
        let layout = Layout::native().1;
        assert_eq!(
            text,
            format!(
                "reorder `weights` with `bt_to_blocked(t, \"{layout}\", &out)`, or `bt_cast(t, BT_F32, &out)`"
            )
        );
        let reshape = Door::C.call("reshape(&[1, 16, 1, 1])").unwrap();
        assert_eq!(reshape, "bt_reshape(t, 4, (int64_t[]){1, 16, 1, 1}, &out)");
        assert_eq!(
            Door::C.call("to_blocked(&Layout::native_weights(3, WeightsKind::Dense)?)").unwrap().len(),
            {
                let layout = Layout::native_weights(3, WeightsKind::Dense).unwrap().to_string();
                "bt_to_blocked(t, \"\", &out)".len() + layout.len()
            }
        );
        assert_eq!(Door::Python.call("reshape(&[1, 16, 1, 1])").unwrap(), ".reshape([1, 16, 1, 1])");
        assert_eq!(Door::Python.call("to_dtype(DType::BF16)").unwrap(), ".to_dtype(\"bf16\")");
        assert_eq!(
            Door::Python.spell("`to_blocked(&Layout::native().1)`"),
            format!("`.to_blocked(\"{layout}\")`")
        );
        assert_eq!(Door::Python.call("StateDict::read"), None);
        let threads = "load it with `run_with_threads(4, ..)`, or save it with `Plan::save`";
        assert_eq!(Door::Python.spell(threads), "load it with `threads=4`, or save it with `Plan.save`");
        assert!(Door::C.spell(threads).starts_with("load it with `bt_run_with_threads(4, ...)`"));
        assert_eq!(Door::C.call("softmax"), None);
        assert_eq!(Door::Rust.spell("`to_vec`"), "`to_vec`");
        let op = Door::C.spell("op `reshape`: call `reshape`; op `StateDict::take`");
        assert_eq!(op, "op `reshape`: call `bt_reshape`; op `bt_dict_take`");
    }
}
