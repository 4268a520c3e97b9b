//! Options by their names, for programs that pass them as text.

use std::str::FromStr;

use blocktensor::Text;

use super::{Layouts, PlanOptions, Precision, Profiles};
use crate::error::{Error, Result};

/// An option: its name, what its value may be, whether only measured layouts read it, and how it is set. `None` is for a value that it may
/// not have.
struct Named {
    name: &'static str,
    rule: &'static str,
    of_measured: bool,
    set: fn(PlanOptions, &str) -> Option<PlanOptions>,
}

/// What a value of a switch may be.
const SWITCH: &str = "0 or 1";

const NAMED: [Named; 7] = [
    Named {
        name: "layouts",
        rule: "measured, nchw, nhwc or blocked",
        of_measured: false,
        set: |options, value| {
            let layouts = Layouts::ALL.into_iter().find(|layouts| layouts.name() == value)?;
            Some(PlanOptions { layouts, ..options })
        },
    },
    Named {
        name: "exact",
        rule: SWITCH,
        of_measured: false,
        set: |mut options, value| {
            options.limits.exact = switch(value)?;
            Some(options)
        },
    },
    Named {
        name: "precision",
        rule: "f32 or bf16",
        of_measured: false,
        set: |options, value| {
            let known = Precision::ALL.into_iter().find(|precision| precision.name() == value)?;
            Some(options.precision(known))
        },
    },
    Named {
        name: "strict",
        rule: SWITCH,
        of_measured: false,
        set: |options, value| Some(PlanOptions { strict: switch(value)?, ..options }),
    },
    Named {
        name: "profiles",
        rule: "kept, measured or estimated",
        of_measured: true,
        set: |options, value| {
            let profiles = match value {
                "kept" => Profiles::Kept,
                "measured" => Profiles::Measured,
                "estimated" => Profiles::Estimated,
                _ => return None,
            };
            Some(options.profiles(profiles))
        },
    },
    Named {
        name: "weight_growth",
        rule: "a number of 1 or more, such as 1.25",
        of_measured: true,
        set: |options, value| {
            let times = value.parse().ok().filter(|times: &f64| *times >= 1.0 && times.is_finite())?;
            Some(options.weight_growth(times))
        },
    },
    Named {
        name: "reorders",
        rule: "a whole number, the most reorders of a run",
        of_measured: false,
        set: |options, value| Some(options.at_most_reorders(value.parse().ok()?)),
    },
];

fn switch(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn invalid(what: impl Into<String>, got: &str, rule: impl Into<Text>, remedy: impl Into<Text>) -> Error {
    Error::Invalid {
        what: what.into(),
        got: format!("`{}`", got.escape_debug()),
        rule: rule.into(),
        remedy: remedy.into(),
    }
}

impl PlanOptions {
    /// The options that have names, each with what its value may be.
    ///
    /// ```
    /// # use blocktensor_graph::PlanOptions;
    /// assert!(PlanOptions::names().any(|named| named == ("precision", "f32 or bf16")));
    /// ```
    pub fn names() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
        NAMED.iter().map(|named| (named.name, named.rule))
    }

    /// Sets an option by its name.
    ///
    /// ```
    /// # use blocktensor_graph::PlanOptions;
    /// let options = PlanOptions::default().set("precision", "bf16")?;
    /// let error = options.set("precision", "f64").unwrap_err();
    /// assert!(error.to_string().contains("it is f32 or bf16"));
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for another name or value.
    pub fn set(self, name: &str, value: &str) -> Result<PlanOptions> {
        let Some(named) = NAMED.iter().find(|named| named.name == name) else {
            let names: Vec<&str> = NAMED.iter().map(|named| named.name).collect();
            let rule = format!("the options are {}", names.join(", "));
            return Err(invalid("an option of planning", name, rule, "leave it out, or correct its name"));
        };
        let rule = || format!("it is {}", named.rule);
        (named.set)(self, value)
            .ok_or_else(|| invalid(format!("option `{name}`"), value, rule(), "correct it"))
    }

    /// Refuses options, of those that were set, that these layouts do not read.
    ///
    /// # Errors
    /// [`Error::Invalid`] for one that is for measured layouts, where the layouts are others.
    pub fn check_named(&self, set: &[&str]) -> Result<()> {
        let unread = |named: &&Named| {
            named.of_measured && self.layouts != Layouts::Measured && set.contains(&named.name)
        };
        match NAMED.iter().find(unread) {
            Some(named) => Err(invalid(
                format!("option `{}`", named.name),
                named.name,
                format!("it is for measured layouts, and these are {}", self.layouts.name()),
                "leave it out",
            )),
            None => Ok(()),
        }
    }
}

/// Options as a list of `name=value`, divided by commas. A layout alone, such as `nhwc`, stands for `layouts=nhwc`, and the name of a
/// switch for `1`.
///
/// ```
/// # use blocktensor_graph::PlanOptions;
/// let options: PlanOptions = "blocked, precision=bf16, strict".parse()?;
/// assert!(!options.measures());
/// # Ok::<(), blocktensor_graph::Error>(())
/// ```
impl FromStr for PlanOptions {
    type Err = Error;

    fn from_str(list: &str) -> Result<PlanOptions> {
        let (mut options, mut set) = (PlanOptions::default(), Vec::new());
        for part in list.split(',').map(str::trim) {
            let known = |name: &str| NAMED.iter().find(|named| named.name == name);
            let (named, value) = match (part.split_once('='), known(part)) {
                (Some((name, value)), _) => (name.trim(), value.trim()),
                (None, Some(Named { rule: SWITCH, .. })) => (part, "1"),
                (None, Some(named)) => {
                    let rule = format!("it is {}", named.rule);
                    let remedy = format!("write `{part}=` and one of these");
                    return Err(invalid(format!("option `{part}`"), "", rule, remedy));
                }
                (None, None) if Layouts::ALL.iter().any(|layouts| layouts.name() == part) => {
                    ("layouts", part)
                }
                (None, None) => {
                    let layouts = Layouts::ALL.map(Layouts::name).join(", ");
                    let names: Vec<&str> = NAMED.iter().map(|named| named.name).collect();
                    let rule = format!("the layouts are {layouts}, the options {}", names.join(", "));
                    return Err(invalid("a layout or an option", part, rule, "leave it out, or correct it"));
                }
            };
            options = options.set(named, value)?;
            if set.contains(&named) {
                return Err(invalid(
                    format!("option `{named}`"),
                    value,
                    "it was set before",
                    "leave one out",
                ));
            }
            set.push(named);
        }
        options.check_named(&set)?;
        Ok(options)
    }
}
