//! Options by their names, for programs that pass them as text.

use std::str::FromStr;

use super::{Layouts, PlanOptions, Precision, Profiles};
use crate::error::{Error, Result};

/// An option: its name, what its value may be, and how it is set. `None` is for a value that it may not have.
struct Named {
    name: &'static str,
    rule: &'static str,
    set: fn(PlanOptions, &str) -> Option<PlanOptions>,
}

/// What a value of a switch may be.
const SWITCH: &str = "0 or 1";

const NAMED: [Named; 7] = [
    Named {
        name: "layouts",
        rule: "measured, nchw, nhwc or blocked",
        set: |options, value| {
            let layouts = Layouts::ALL.into_iter().find(|layouts| layouts.name() == value)?;
            Some(PlanOptions { layouts, ..options })
        },
    },
    Named {
        name: "exact",
        rule: SWITCH,
        set: |mut options, value| {
            options.limits.exact = switch(value)?;
            Some(options)
        },
    },
    Named {
        name: "precision",
        rule: "f32 or bf16",
        set: |options, value| {
            let known = Precision::ALL.into_iter().find(|precision| precision.name() == value)?;
            Some(options.precision(known))
        },
    },
    Named {
        name: "strict",
        rule: SWITCH,
        set: |options, value| Some(PlanOptions { strict: switch(value)?, ..options }),
    },
    Named {
        name: "profiles",
        rule: "kept, measured or estimated",
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
        set: |options, value| {
            let times = value.parse().ok().filter(|times: &f64| *times >= 1.0 && times.is_finite())?;
            Some(options.weight_growth(times))
        },
    },
    Named {
        name: "reorders",
        rule: "the most reorders of a run",
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
            return Err(Error::Invalid {
                what: "an option of planning".into(),
                got: format!("`{}`", name.escape_debug()),
                rule: format!("the options are {}", names.join(", ")).into(),
                remedy: "leave it out, or correct its name".into(),
            });
        };
        (named.set)(self, value).ok_or_else(|| Error::Invalid {
            what: format!("option `{name}`"),
            got: format!("`{}`", value.escape_debug()),
            rule: format!("it is {}", named.rule).into(),
            remedy: "correct it".into(),
        })
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
        list.split(',').map(str::trim).try_fold(PlanOptions::default(), |options, part| {
            match part.split_once('=') {
                Some((name, value)) => options.set(name.trim(), value.trim()),
                None if NAMED.iter().any(|named| named.name == part && named.rule == SWITCH) => {
                    options.set(part, "1")
                }
                None => options.set("layouts", part),
            }
        })
    }
}
