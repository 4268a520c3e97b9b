//! The options of a session.

use std::collections::BTreeSet;
use std::path::PathBuf;

use blocktensor::Rust;
use blocktensor_graph::{Error as GraphError, PlanOptions, Sizes};

use crate::failure::{Failure, Result};

/// The provider's name.
pub(crate) const NAME: &str = "BlocktensorExecutionProvider";

/// Where a session keeps the options: before each one's name.
pub(crate) const PREFIX: &str = "ep.blocktensorexecutionprovider.";

/// An option of a session that is none of planning's ([`PlanOptions::names`]): its name, and what it may be.
const OWN: [(&str, &str); 7] = [
    ("threads", "a number of threads"),
    (
        "sizes",
        "numbers from 1 on for the model's sizes, each size once, such as `batch=1, height=224`; `;` divides several such lists",
    ),
    ("measure_new_shapes", "0 or 1"),
    ("partial", "0 or 1"),
    ("min_nodes", "a number from 1 on"),
    ("map_plans", "0 or 1"),
    ("report", "a file that can be written"),
];

/// What a session asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Threads of each run; the process's number if `None`.
    pub(crate) threads: Option<usize>,
    /// How regions are planned, but for their sizes.
    pub(crate) planning: PlanOptions,
    /// The options that were set and matter only where plans are made.
    pub(crate) planning_set: Vec<&'static str>,
    /// Numbers for named sizes: plans for them are made with the session.
    pub(crate) sizes: Vec<Sizes>,
    /// Whether a shape that a run brings is measured while that run waits.
    pub(crate) measure_new_shapes: bool,
    /// Whether nodes that cannot run are left to other providers.
    pub(crate) partial: bool,
    /// With `partial`, the least number of nodes of a fused node. Smaller ones are left, too.
    pub(crate) min_nodes: usize,
    /// Whether plans that compiled models have in files are mapped. The program promises that nobody changes the files.
    pub(crate) map_plans: bool,
    /// The file that all plans are written to.
    pub(crate) report: Option<PathBuf>,
}

impl Options {
    /// Reads the options among a session's entries, which are keys with values.
    pub(crate) fn read<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Options> {
        let mut options = Options::default();
        for (key, value) in entries {
            let Some(name) = key.strip_prefix(PREFIX) else {
                continue;
            };
            let refused = || refused(name, value);
            match name {
                "threads" => options.threads = Some(threads(value)?),
                "sizes" => {
                    let lists = value.split(';').map(sizes).collect::<Option<_>>();
                    options.sizes = lists.ok_or_else(refused)?;
                }
                "measure_new_shapes" => {
                    options.measure_new_shapes = switch(value).ok_or_else(refused)?;
                    options.planning_set.push("measure_new_shapes");
                }
                "partial" => options.partial = switch(value).ok_or_else(refused)?,
                "min_nodes" => {
                    let number = value.parse::<usize>().ok().filter(|number| *number > 0);
                    options.min_nodes = number.ok_or_else(refused)?;
                }
                "map_plans" => options.map_plans = switch(value).ok_or_else(refused)?,
                "report" if value.is_empty() => return Err(refused()),
                "report" => options.report = Some(value.into()),
                _ => {
                    let Some((known, rule)) = PlanOptions::names().find(|(known, _)| *known == name) else {
                        return Err(unknown(name));
                    };
                    let planning = options.planning.clone().set(name, value);
                    options.planning = planning.map_err(|_| refused_by(rule, name, value))?;
                    options.planning_set.push(known);
                }
            }
        }
        if options.min_nodes > 0 && !options.partial {
            let text = format!(
                "{NAME}, option `min_nodes`: got `{}` without `partial`; only with it are nodes left to other providers; set `partial` \
                 to 1, or leave the option out",
                options.min_nodes
            );
            return Err(Failure::invalid(text));
        }
        if let Err(GraphError::Invalid { what, rule, remedy, .. }) =
            options.planning.check_named(&options.planning_set)
        {
            let text = format!("{NAME}, {what}: {}; {}", rule.told(&Rust), remedy.told(&Rust));
            return Err(Failure::invalid(text));
        }
        Ok(options)
    }

    /// Refuses numbers for sizes that the model has not. `names` are those of what runs here, `others` those of all nodes.
    pub(crate) fn check_sizes(&self, names: &BTreeSet<String>, others: &BTreeSet<String>) -> Result<()> {
        let mut given = self.sizes.iter().flat_map(Sizes::iter).map(|(name, _)| name);
        let Some(name) = given.find(|name| !names.contains(*name) && !others.contains(*name)) else {
            return Ok(());
        };
        let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let known = match known.is_empty() {
            true => "the model has no sizes with names; leave the option out".to_string(),
            false => format!("the sizes with names are {}; correct it", known.join(", ")),
        };
        Err(Failure::invalid(format!("{NAME}, option `sizes`: got `{name}`; {known}")))
    }

    /// Whether planning runs kernels to time them.
    pub(crate) fn measures(&self) -> bool {
        self.planning.measures()
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

fn switch(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// The numbers of `batch=1, height=224`.
fn sizes(list: &str) -> Option<Sizes> {
    list.split(',').try_fold(Sizes::new(), |sizes, part| {
        let (name, number) = part.rsplit_once('=')?;
        let (name, number) = (name.trim(), number.trim().parse().ok().filter(|number| *number > 0)?);
        let is_new = !name.is_empty() && sizes.iter().all(|(known, _)| known != name);
        is_new.then(|| sizes.with(name, number))
    })
}

fn refused(name: &str, value: &str) -> Failure {
    refused_by(OWN.iter().find(|(known, _)| *known == name).map_or("", |(_, rule)| rule), name, value)
}

fn refused_by(rule: &str, name: &str, value: &str) -> Failure {
    Failure::invalid(format!("{NAME}, option `{name}`: got `{value}`; it is {rule}; correct it"))
}

/// The error of a name that no option has.
fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = PlanOptions::names().chain(OWN).map(|(name, _)| name).collect();
    let names = names.join(", ");
    let text = format!(
        "{NAME}: got the option `{name}`; the options are {names}; leave it out, or correct its name"
    );
    Failure::invalid(text)
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
        let told = |options: &Options| format!("{options:?}");
        let none = Options::read([("session.intra_op", "1")].into_iter()).unwrap();
        assert_eq!(told(&none), told(&Options::default()));
        let own = [
            ("threads", "2"),
            ("sizes", "n=1, h = 224;n=8,h=64"),
            ("measure_new_shapes", "1"),
            ("partial", "1"),
            ("min_nodes", "4"),
            ("map_plans", "1"),
            ("report", "plan.svg"),
        ];
        let expected = Options {
            threads: Some(2),
            sizes: vec![Sizes::new().with("n", 1).with("h", 224), Sizes::new().with("n", 8).with("h", 64)],
            measure_new_shapes: true,
            partial: true,
            min_nodes: 4,
            map_plans: true,
            report: Some("plan.svg".into()),
            planning: PlanOptions::default(),
            planning_set: vec!["measure_new_shapes"],
        };
        assert_eq!(told(&read(&own).unwrap()), told(&expected));
        assert!(own.map(|(name, _)| name) == OWN.map(|(name, _)| name));
        let lower = format!("ep.{}.", NAME.to_lowercase());
        assert_eq!(lower, PREFIX);
    }

    #[test]
    fn options_of_planning_are_told_apart() {
        let all = [
            ("layouts", "nhwc"),
            ("exact", "1"),
            ("precision", "bf16"),
            ("strict", "1"),
            ("profiles", "measured"),
            ("weight_growth", "2"),
            ("reorders", "1"),
        ];
        assert!(PlanOptions::names().map(|(name, _)| name).eq(all.map(|(name, _)| name)));
        let default = format!("{:?}", PlanOptions::default());
        for (name, value) in all {
            let options = read(&[(name, value)]).unwrap();
            assert_eq!(options.planning_set, [name]);
            assert_ne!(format!("{:?}", options.planning), default);
        }
        assert_eq!(read(&[("measure_new_shapes", "1")]).unwrap().planning_set, ["measure_new_shapes"]);
        let others = [("threads", "1"), ("partial", "1"), ("map_plans", "1"), ("report", "plan.svg")];
        assert!(read(&others).unwrap().planning_set.is_empty());
    }

    #[test]
    fn what_is_no_option_is_refused_with_those_that_are() {
        let text = |options: &[(&str, &str)]| read(options).unwrap_err().text;
        let unknown = text(&[("thread", "2")]);
        assert!(
            unknown.contains("`thread`")
                && unknown.contains("layouts, exact, precision")
                && unknown.contains(", threads, sizes"),
            "{unknown}"
        );
        for (name, value) in [
            ("threads", "0"),
            ("threads", "two"),
            ("layouts", "NCHW"),
            ("exact", "yes"),
            ("precision", "bfloat16"),
            ("profiles", "offline"),
            ("strict", "true"),
            ("layouts", "NCHW"),
            ("reorders", "-1"),
            ("weight_growth", "0.5"),
            ("weight_growth", "inf"),
            ("weight_growth", "NaN"),
            ("sizes", ""),
            ("sizes", "n"),
            ("sizes", "n=-1"),
            ("sizes", "n=0"),
            ("sizes", "n=1;n=0"),
            ("sizes", "=1"),
            ("sizes", "n=1,n=2"),
            ("sizes", "n=1;"),
            ("measure_new_shapes", "2"),
            ("partial", ""),
            ("min_nodes", "0"),
            ("min_nodes", "few"),
            ("min_nodes", "4"),
            ("map_plans", "yes"),
            ("report", ""),
        ] {
            let refused = text(&[(name, value)]);
            let named = [format!("option `{name}`"), format!("got `{value}`")];
            assert!(named.iter().all(|part| refused.contains(part)), "{refused}");
        }
    }

    #[test]
    fn a_size_that_is_there_twice_is_told() {
        let text = read(&[("sizes", "N=1,N=2")]).unwrap_err().text;
        assert!(
            text.contains(
                "option `sizes`: got `N=1,N=2`; it is numbers from 1 on for the model's sizes, each size once"
            ),
            "{text}"
        );
    }

    #[test]
    fn sizes_without_a_region_are_refused_by_name() {
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect();
        let options = read(&[("sizes", "n=1,h=2;n=3")]).unwrap();
        options.check_sizes(&names(&["h", "n", "w"]), &names(&[])).unwrap();
        options.check_sizes(&names(&["n"]), &names(&["h"])).unwrap();
        let text = |list: &[&str]| options.check_sizes(&names(list), &names(&["k"])).unwrap_err().text;
        assert!(text(&["n", "w"]).ends_with("got `h`; the sizes with names are `n`, `w`; correct it"));
        assert!(text(&[]).ends_with("got `h`; the model has no sizes with names; leave the option out"));
    }
}
