//! The options of a session.

use blocktensor_graph::{Layouts, PlanOptions};

use crate::failure::{Failure, Result};

/// The provider's name.
pub(crate) const NAME: &str = "BlocktensorExecutionProvider";

/// Where a session keeps the options: before each one's name.
pub(crate) const PREFIX: &str = "ep.blocktensorexecutionprovider.";

/// An option: its name, and what it may be.
const KNOWN: [(&str, &str); 4] = [
    ("threads", "a number of threads"),
    ("layouts", "measured, nchw, nhwc or blocked"),
    ("exact", "0 or 1"),
    ("partial", "0 or 1"),
];

/// What a session asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Threads of each run; the process's number if `None`.
    pub(crate) threads: Option<usize>,
    pub(crate) layouts: Layouts,
    /// Whether convolutions keep to the direct algorithm.
    pub(crate) exact: bool,
    /// Whether nodes that cannot run are left to other providers.
    pub(crate) partial: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { threads: None, layouts: Layouts::Measured, exact: false, partial: false }
    }
}

impl Options {
    /// Reads the options among a session's entries, which are keys with values.
    pub(crate) fn read<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Options> {
        let mut options = Options::default();
        for (key, value) in entries {
            let Some(name) = key.strip_prefix(PREFIX) else {
                continue;
            };
            match name {
                "threads" => options.threads = Some(threads(value)?),
                "layouts" => {
                    let known = Layouts::ALL.into_iter().find(|layouts| layouts.name() == value);
                    options.layouts = known.ok_or_else(|| refused(name, value))?;
                }
                "exact" => options.exact = switch(name, value)?,
                "partial" => options.partial = switch(name, value)?,
                _ => {
                    let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
                    let text = format!(
                        "{NAME}: got the option `{name}`; the options are {}; leave it out, or correct its name",
                        names.join(", ")
                    );
                    return Err(Failure::invalid(text));
                }
            }
        }
        Ok(options)
    }

    /// How regions are planned, but for their sizes.
    pub(crate) fn planning(&self) -> PlanOptions {
        let options = PlanOptions::new(self.layouts);
        if self.exact { options.exact() } else { options }
    }

    /// Runs `work` with the session's number of threads.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.threads {
            Some(threads) => blocktensor::run_with_threads(threads, work),
            None => blocktensor::run(work),
        }
    }
}

fn threads(value: &str) -> Result<usize> {
    let most = blocktensor::max_threads();
    match value.parse() {
        Ok(threads) if (1..=most).contains(&threads) => Ok(threads),
        _ => {
            let text =
                format!("{NAME}, option `threads`: got `{value}`; it is a number from 1 to {most}; pass one");
            Err(Failure::invalid(text))
        }
    }
}

fn switch(name: &str, value: &str) -> Result<bool> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(refused(name, value)),
    }
}

fn refused(name: &str, value: &str) -> Failure {
    let rule = KNOWN.iter().find(|(known, _)| *known == name).map_or("", |(_, rule)| rule);
    Failure::invalid(format!("{NAME}, option `{name}`: got `{value}`; it is {rule}; pass one of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[(&str, &str)]) -> Result<Options> {
        let entries: Vec<(String, &str)> =
            options.iter().map(|(name, value)| (format!("{PREFIX}{name}"), *value)).collect();
        Options::read(entries.iter().map(|(key, value)| (key.as_str(), *value)))
    }

    #[test]
    fn options_are_read_and_entries_of_others_are_not() {
        assert_eq!(Options::read([("session.intra_op", "1")].into_iter()).unwrap(), Options::default());
        let options = [("threads", "2"), ("layouts", "nhwc"), ("exact", "1"), ("partial", "1")];
        let expected = Options { threads: Some(2), layouts: Layouts::Nhwc, exact: true, partial: true };
        assert_eq!(read(&options).unwrap(), expected);
        let lower = format!("ep.{}.", NAME.to_lowercase());
        assert_eq!(lower, PREFIX);
    }

    #[test]
    fn what_is_no_option_is_refused_with_those_that_are() {
        let text = |options: &[(&str, &str)]| read(options).unwrap_err().text;
        let unknown = text(&[("thread", "2")]);
        assert!(
            unknown.contains("`thread`") && unknown.contains("threads, layouts, exact, partial"),
            "{unknown}"
        );
        for (name, value) in
            [("threads", "0"), ("threads", "two"), ("layouts", "NCHW"), ("exact", "yes"), ("partial", "")]
        {
            let refused = text(&[(name, value)]);
            let named = [format!("option `{name}`"), format!("got `{value}`")];
            assert!(named.iter().all(|part| refused.contains(part)), "{refused}");
        }
    }
}
