//! What can go wrong with a graph.

use std::fmt;

use blocktensor::{Door, Rust, Text, counted};

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a graph, a network or a plan. The texts name the node, what came, the rule and a remedy.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// An operator refused the operands of a node.
    Operator {
        /// The node's name.
        node: String,
        /// What the node calls its op.
        op: String,
        /// The operator's own error.
        source: blocktensor::Error,
    },
    /// A call outside any node failed: memory, threads, reorders.
    Engine(blocktensor::Error),
    /// Something in a graph or in the arguments of a call breaks a rule.
    Invalid {
        /// The node, value or argument.
        what: String,
        /// What came.
        got: String,
        /// The rule that it breaks.
        rule: Text,
        /// What to do.
        remedy: Text,
    },
    /// The caller ended the planning ([`PlanOptions::stop_if`](crate::PlanOptions::stop_if)).
    Stopped,
    /// Nodes between `dequantize` and `quantize` would compute in f32, which [`PlanOptions::strict`](crate::PlanOptions::strict) refuses.
    /// All of them are listed.
    InFloat {
        /// Each such node, in the graph's order.
        nodes: Vec<Missing>,
        /// What to do.
        remedy: Text,
    },
    /// Nodes that the wanted outputs need cannot run. All of them are listed.
    Missing {
        /// Each node that cannot run, in the graph's order.
        nodes: Vec<Missing>,
        /// Names of values that can be computed without these nodes, the last of each path: `--outputs` takes them.
        computable: Vec<String>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(&Rust))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Operator { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<blocktensor::Error> for Error {
    fn from(e: blocktensor::Error) -> Error {
        Error::Engine(e)
    }
}

impl Error {
    /// The text of the error with the names of a door.
    pub fn told(&self, door: &dyn Door) -> String {
        match self {
            Error::Operator { node, op, source } => format!("node `{node}` ({op}): {}", source.told(door)),
            Error::Engine(e) => e.told(door),
            Error::Invalid { what, got, rule, remedy } => {
                format!("{what}: got {got}; {}; {}", rule.told(door), remedy.told(door))
            }
            Error::Stopped => "the planning was stopped; plan again".to_string(),
            Error::InFloat { nodes, remedy } => {
                let count = counted(nodes.len(), "quantised node");
                let list: String = nodes.iter().map(|node| format!("\n  {node}")).collect();
                format!("{count} would compute in f32, which `strict` refuses:{list}\n{}", remedy.told(door))
            }
            Error::Missing { nodes, computable } => missing_text(nodes, computable),
        }
    }

    /// The same error with the output of the graph that it is about.
    pub(crate) fn in_output(self, name: &str) -> Error {
        self.at(&format!("output `{name}`"))
    }

    /// The same error with the node where it came up.
    pub(crate) fn within(self, node: &str, op: &str) -> Error {
        match self {
            Error::Engine(source) => Error::Operator { node: node.to_string(), op: op.to_string(), source },
            other => other.at(&format!("node `{node}` ({op})")),
        }
    }

    /// The same error with the place in front of what is wrong.
    fn at(self, place: &str) -> Error {
        match self {
            Error::Invalid { what, got, rule, remedy } => {
                Error::Invalid { what: format!("{place}, {what}"), got, rule, remedy }
            }
            other => other,
        }
    }
}

/// What came, and the rule, where there are more or fewer tensors than inputs or outputs.
pub(crate) fn other_count<'a>(
    count: usize,
    what: &str,
    names: impl Iterator<Item = &'a str>,
) -> (String, String) {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    (counted(count, "tensor"), format!("the {what} are {}", names.join(", ")))
}

/// One node that cannot run, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The node's name.
    pub node: String,
    /// Its op.
    pub op: String,
    /// Its attributes, as text.
    pub attributes: String,
    /// Why it cannot run.
    pub reason: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}`: {}", self.node, self.op)?;
        if !self.attributes.is_empty() {
            write!(f, "({})", self.attributes)?;
        }
        write!(f, ": {}", self.reason)
    }
}

fn missing_text(nodes: &[Missing], computable: &[String]) -> String {
    let mut text = format!("{} cannot run:", counted(nodes.len(), "node"));
    for node in nodes {
        text += &format!("\n  {node}");
    }
    if computable.is_empty() {
        text += "\nno value can be computed without them";
    } else {
        text += "\nwithout them, these values can be computed (choose them as outputs): ";
        text += &computable.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    }
    text
}
