//! Compiled models: nodes `EPContext`, each of which carries a plan with its packed weights.

use std::path::{Path, PathBuf};

use blocktensor::{Call, Complaint, Error, PackedFile};
use blocktensor_graph::{Error as GraphError, Plan};
use blocktensor_onnx::{Attribute, HostNode, file_beside};

use crate::failure::{Failure, Result};
use crate::options::{NAME, Options};

/// The domain of such nodes.
pub(crate) const DOMAIN: &str = "com.microsoft";
/// Their op.
pub(crate) const OP: &str = "EPContext";
/// The attribute that has the plan, or the name of the plan's file.
pub(crate) const DATA: &str = "ep_cache_context";

/// The attribute that tells the plan's file from others: its fingerprint, in hexadecimal digits.
pub(crate) const NOTES: &str = "notes";

/// What a session's entries say of compiled models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contexts {
    /// Whether the session writes one.
    pub(crate) are_written: bool,
    /// Whether it carries the plans; else they are files beside it.
    pub(crate) are_embedded: bool,
    /// Its file: one to write or, for a compiled model from memory, one that it could be.
    path: Option<PathBuf>,
}

impl Contexts {
    /// Reads them among a session's entries, which are keys with values.
    pub(crate) fn read<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Contexts {
        let mut contexts = Contexts::default();
        for (key, value) in entries {
            match key {
                "ep.context_enable" => contexts.are_written = value == "1",
                "ep.context_embed_mode" => contexts.are_embedded = value == "1",
                "ep.context_file_path" if !value.is_empty() => contexts.path = Some(value.into()),
                _ => {}
            }
        }
        contexts
    }

    /// The file for the plan of this number, beside the compiled model. Without a path that one is beside the model: ONNX Runtime adds
    /// `_ctx` to its name.
    pub(crate) fn file(&self, model: Option<&Path>, number: usize) -> Result<PathBuf> {
        let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let compiled = self.path.as_ref().and_then(|path| Some((path.clone(), stem(path)?)));
        let beside = || model.and_then(|model| Some((model.to_path_buf(), stem(model)? + "_ctx")));
        let Some((path, stem)) = compiled.or_else(beside) else {
            return Err(Failure::invalid(format!(
                "{NAME}: a compiled model without a path cannot have its plans in files beside it; set `ep.context_file_path`, or \
                 `ep.context_embed_mode` to 1"
            )));
        };
        Ok(path.with_file_name(format!("{stem}_{number}.plan")))
    }

    /// The plan's file that a node names. `model` is the compiled model's path, if it has one.
    pub(crate) fn named(&self, node: &HostNode, model: Option<&Path>, name: &str) -> Result<PathBuf> {
        let what = place(node);
        let Some(model) = model.or(self.path.as_deref()) else {
            return Err(Failure::invalid(format!(
                "{what}: its plan is in the file `{}`, and the model is from memory; set `ep.context_file_path` to the path that the \
                 model would have",
                name.escape_debug()
            )));
        };
        Ok(file_beside(&what, model, DATA, name)?)
    }
}

/// Whether a node is a part of a compiled model, of whichever provider.
pub(crate) fn is_context(node: &HostNode) -> bool {
    node.domain == DOMAIN && node.op_type == OP
}

fn attribute<'a>(node: &'a HostNode, name: &str) -> Option<&'a Attribute> {
    node.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Why this provider does not have the plan of a node.
pub(crate) fn foreign(node: &HostNode) -> Option<String> {
    match attribute(node, "source") {
        Some(Attribute::Str(source)) if source == NAME => None,
        Some(Attribute::Str(source)) => {
            let source = source.escape_debug();
            Some(format!("it was compiled for the provider `{source}`; add that one to the session"))
        }
        _ => Some("it does not say for which provider it was compiled (attribute `source`)".to_string()),
    }
}

/// How a node has its plan.
pub(crate) fn is_embedded(node: &HostNode) -> Result<bool> {
    let number = |name: &str| match attribute(node, name) {
        Some(Attribute::Int(number)) => *number,
        // What the op's definition says.
        _ => 1,
    };
    if number("main_context") != 1 {
        let text = "its plan is in another node (`main_context`), and each of this provider's has its own";
        return Err(Failure::invalid(format!("{}: {text}; compile the model again", place(node))));
    }
    Ok(number("embed_mode") == 1)
}

/// A node in errors.
pub(crate) fn place(node: &HostNode) -> String {
    format!("node `{}`", node.name)
}

/// What a node says of its plan's file.
pub(crate) fn notes(file: &PackedFile) -> String {
    format!("{:016x}", file.fingerprint())
}

/// The plan in a file, or why it cannot run here.
pub(crate) fn plan(node: &HostNode, file: Result<PackedFile, Error>, options: &Options) -> Result<Plan> {
    let plan = file.map_err(GraphError::from).and_then(|file| options.run(|| Plan::load(&file)));
    plan.map_err(|e| told(e).at(&place(node)))
}

/// Refuses a plan's file that is of another node, or of another time, than the node.
pub(crate) fn check_notes(node: &HostNode, path: &Path, file: &PackedFile) -> Result<()> {
    match attribute(node, NOTES) {
        Some(Attribute::Str(said)) if *said == notes(file) => Ok(()),
        _ => Err(Failure::invalid(format!(
            "{}: `{}` is another plan than the one that was compiled with the model (attribute `{NOTES}`); compile the model again, or copy \
             its files together",
            place(node),
            path.display()
        ))),
    }
}

/// The error with a remedy that a session's program has.
fn told(e: GraphError) -> Failure {
    let again = "compile the model again";
    let complaint = |c: Box<Complaint>, remedy: String| {
        Box::new(Complaint { op: OP.into(), argument: DATA.into(), remedy: remedy.into(), ..*c })
    };
    let e = match e {
        GraphError::Engine(Error::PackMismatch(c)) => {
            let threads = c.remedy.calls().find_map(|call| match call {
                Call::RunWithThreads(threads) => Some(*threads),
                _ => None,
            });
            let option = threads.map(|threads| format!("set the option `threads` to {threads}, or "));
            let remedy = format!("{}{again} here", option.unwrap_or_default());
            GraphError::Engine(Error::PackMismatch(complaint(c, remedy)))
        }
        GraphError::Engine(Error::CorruptFile(c)) => {
            GraphError::Engine(Error::CorruptFile(complaint(c, format!("{again}, or copy it again"))))
        }
        GraphError::Invalid { what, got, rule, .. } => {
            GraphError::Invalid { what, got, rule, remedy: again.into() }
        }
        other => other,
    };
    e.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(attributes: Vec<(&str, Attribute)>) -> HostNode {
        let attributes = attributes.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        HostNode {
            name: "c".into(),
            op_type: OP.into(),
            domain: DOMAIN.into(),
            attributes,
            ..HostNode::default()
        }
    }

    fn contexts(entries: &[(&str, &str)]) -> Contexts {
        Contexts::read(entries.iter().copied())
    }

    #[test]
    fn a_session_writes_compiled_models_only_if_it_is_asked_to() {
        assert_eq!(contexts(&[]), Contexts::default());
        assert_eq!(
            contexts(&[("ep.context_enable", "0"), ("ep.context_embed_mode", "0")]),
            Contexts::default()
        );
        let asked = contexts(&[("ep.context_enable", "1"), ("ep.context_embed_mode", "1"), ("x", "1")]);
        assert!(asked.are_written && asked.are_embedded && asked.path.is_none());
    }

    #[test]
    fn plans_are_beside_the_compiled_model() {
        let (given, model) =
            (contexts(&[("ep.context_file_path", "out/net.ctx.onnx")]), Path::new("in/net.onnx"));
        assert_eq!(given.file(Some(model), 0).unwrap(), Path::new("out/net.ctx_0.plan"));
        assert_eq!(given.file(None, 2).unwrap(), Path::new("out/net.ctx_2.plan"));
        let none = contexts(&[("ep.context_file_path", "")]);
        assert_eq!(none.file(Some(model), 1).unwrap(), Path::new("in/net_ctx_1.plan"));
        let text = none.file(None, 0).unwrap_err().text;
        assert!(
            text.contains("`ep.context_file_path`") && text.contains("`ep.context_embed_mode`"),
            "{text}"
        );
    }

    #[test]
    fn nodes_of_other_providers_are_not_ours() {
        let of = |source: &str| node(vec![("source", Attribute::Str(source.into()))]);
        assert!(is_context(&of(NAME)) && foreign(&of(NAME)).is_none());
        assert!(foreign(&of("QNN")).unwrap().contains("the provider `QNN`"));
        assert!(foreign(&node(vec![])).unwrap().contains("`source`"));
        assert!(!is_context(&HostNode { domain: String::new(), ..node(vec![]) }));
        assert!(!is_context(&HostNode { op_type: "Conv".into(), ..node(vec![]) }));
    }

    #[test]
    fn where_the_plan_is_follows_the_definition_of_the_op() {
        let with = |name: &str, number: i64| node(vec![(name, Attribute::Int(number))]);
        assert!(is_embedded(&node(vec![])).unwrap() && is_embedded(&with("embed_mode", 1)).unwrap());
        assert!(!is_embedded(&with("embed_mode", 0)).unwrap());
        let text = is_embedded(&with("main_context", 0)).unwrap_err().text;
        assert!(text.starts_with("node `c`: ") && text.contains("`main_context`"), "{text}");
    }

    #[test]
    fn files_of_plans_are_beside_the_model_or_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("net.onnx");
        std::fs::write(folder.path().join("net_0.plan"), "plan").unwrap();
        let none = Contexts::default();
        let found = none.named(&node(vec![]), Some(&model), "net_0.plan").unwrap();
        assert_eq!(found, folder.path().canonicalize().unwrap().join("net_0.plan"));
        let memory = contexts(&[("ep.context_file_path", model.to_str().unwrap())]);
        assert_eq!(memory.named(&node(vec![]), None, "net_0.plan").unwrap(), found);
        for name in ["../net_0.plan", "/etc/passwd", "missing.plan", ""] {
            let text = none.named(&node(vec![]), Some(&model), name).unwrap_err().text;
            assert!(text.contains("node `c`") && text.contains(&format!("`{name}`")), "{text}");
            assert!(text.contains("`ep_cache_context`") && !text.contains("location"), "{text}");
        }
        let text = none.named(&node(vec![]), None, "net_0.plan").unwrap_err().text;
        assert!(text.contains("`net_0.plan`") && text.contains("`ep.context_file_path`"), "{text}");
    }
}
