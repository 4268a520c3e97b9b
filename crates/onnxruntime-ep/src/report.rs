//! The file that shows a session's plans.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use blocktensor::{StridedTensor, files};
use blocktensor_graph::Plan;

use crate::failure::{Failure, Result};
use crate::options::NAME;
use crate::region::MOST_PLANS;

/// A file with a section for each plan that the session keeps. It is written anew whenever one is made.
#[derive(Debug)]
pub(crate) struct Report {
    path: PathBuf,
    /// Whether it is a picture; else it is text.
    is_svg: bool,
    sections: Mutex<Vec<Section>>,
}

#[derive(Clone, Debug)]
struct Section {
    region: String,
    heading: String,
    /// The plan as text, or as a picture.
    body: String,
}

/// How often a plan runs for the times of its picture.
const RUNS: usize = 3;

impl Report {
    /// The file at this path: a picture if it ends with `.svg`, else text.
    pub(crate) fn new(path: &Path) -> Result<Report> {
        let is_svg = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg"));
        let report = Report { path: path.to_path_buf(), is_svg, sections: Mutex::default() };
        let begin = report.begin();
        let begins = |content: &mut dyn Read| {
            let mut read = Vec::new();
            content.take(begin.len() as u64).read_to_end(&mut read)?;
            Ok(read == begin.as_bytes())
        };
        files::check_kind(path, begins)
            .and_then(|()| files::check(path))
            .map_err(|e| report.unwritable(&e))?;
        Ok(report)
    }

    /// How each such file begins.
    fn begin(&self) -> String {
        if self.is_svg { "<svg".to_string() } else { format!("Plans of {NAME}") }
    }

    fn unwritable(&self, why: &io::Error) -> Failure {
        let (path, remedy) = (
            blocktensor::shown_path(&self.path),
            match why.kind() {
                io::ErrorKind::AlreadyExists => "remove it, or choose another name",
                io::ErrorKind::NotFound => "make it first, or choose another file",
                _ => "choose another file",
            },
        );
        Failure::invalid(format!("{NAME}, option `report`: {path}: {why}; {remedy}"))
    }

    /// Adds a plan of a region. With `timed` a picture has the time of each step, for which the plan runs.
    pub(crate) fn add(&self, region: &str, heading: &str, plan: &Plan, timed: bool) -> Result<()> {
        let body = match self.is_svg {
            true => {
                plan.check_drawing()?;
                plan.to_svg(timed.then(|| times(plan)).flatten().as_deref())
            }
            false => {
                let measured = plan.measurements().filter(|m| !m.estimated);
                let explained = measured.map(ToString::to_string).unwrap_or_default();
                format!("{plan}{explained}")
            }
        };
        let section = Section { region: region.to_string(), heading: heading.to_string(), body };
        let mut sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        // As many as a region keeps plans.
        let of_region = sections.iter().enumerate().filter(|(_, other)| other.region == region);
        let of_region: Vec<usize> = of_region.map(|(i, _)| i).collect();
        if of_region.len() >= MOST_PLANS {
            sections.remove(of_region[0]);
        }
        sections.push(section);
        let text = if self.is_svg { picture(&sections) } else { self.text(&sections) };
        files::write(&self.path, |out| out.write_all(text.as_bytes())).map_err(|e| self.unwritable(&e))
    }

    fn text(&self, sections: &[Section]) -> String {
        let section = |s: &Section| format!("\n{}\n{}", s.heading, s.body);
        format!("{}\n{}", self.begin(), sections.iter().map(section).collect::<String>())
    }
}

/// Room for a heading, in the picture's units.
const HEADING: f64 = 44.0;

/// The pictures of all sections, one below the other.
fn picture(sections: &[Section]) -> String {
    let (mut body, mut top, mut width) = (String::new(), 0.0, 0.0f64);
    for Section { heading, body: picture, .. } in sections {
        let number = |name: &str| {
            let after = picture.split_once(&format!(" {name}=\"")).map_or("", |(_, after)| after);
            after.split('"').next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0)
        };
        let heading = heading.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        body += &format!("<text x=\"24\" y=\"{:.0}\" font-weight=\"bold\">{heading}</text>\n", top + 28.0);
        body += &picture.replacen("<svg", &format!("<svg y=\"{:.0}\"", top + HEADING), 1);
        (top, width) = (top + HEADING + number("height"), width.max(number("width")));
    }
    let longest = sections.iter().map(|s| s.heading.chars().count()).max().unwrap_or(0);
    let width = width.max(48.0 + 7.0 * longest as f64);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{top:.0}\" viewBox=\"0 0 {width:.0} {top:.0}\" \
         font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// The least time of each step, in **seconds**. `None` if the plan does not run on made-up inputs.
fn times(plan: &Plan) -> Option<Vec<f64>> {
    use blocktensor::{DType, MemoryFormat::Contiguous};
    let made = |desc: &blocktensor::TensorDesc| match desc.dtype() {
        DType::F32 => StridedTensor::full(desc.dims(), 0.5f32, Contiguous).ok(),
        other => StridedTensor::zeros(desc.dims(), other, Contiguous).ok(),
    };
    let inputs: Vec<StridedTensor> = plan.inputs().map(|(_, desc)| made(desc)).collect::<Option<_>>()?;
    let inputs: Vec<&StridedTensor> = inputs.iter().collect();
    let mut least = vec![f64::INFINITY; plan.len()];
    for _ in 0..=RUNS {
        let (_, seconds) = plan.run_timed(&inputs).ok()?;
        least.iter_mut().zip(seconds).for_each(|(least, time)| *least = least.min(time));
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use blocktensor_graph::{Layouts, PlanOptions};

    use super::*;
    use crate::options::Options;
    use crate::region::tests::region;

    fn plan(n: usize) -> std::sync::Arc<Plan> {
        region(Options { planning: PlanOptions::new(Layouts::Nchw), ..Options::default() })
            .plan_for(&[vec![n, 3]])
            .unwrap()
            .0
    }

    #[test]
    fn a_file_holds_the_plans_that_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plans.txt");
        let report = Report::new(&path).unwrap();
        for n in 1..20 {
            report.add("a", &format!("a of {n} rows"), &plan(n), true).unwrap();
        }
        report.add("b", "b of one row", &plan(1), true).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("Plans of BlocktensorExecutionProvider\n\na of 4 rows\nlayouts: nchw\n"),
            "{text}"
        );
        assert!(text.contains("a of 19 rows\n") && text.contains("b of one row\n"), "{text}");
        assert_eq!(text.matches(" rows\n").count(), MOST_PLANS);
        // The next session replaces it.
        Report::new(&path).unwrap();
    }

    #[test]
    fn a_picture_holds_all_plans_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plans.SVG");
        let report = Report::new(&path).unwrap();
        report.add("a", "a < b", &plan(1), true).unwrap();
        report.add("a", "second", &plan(2), false).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("<svg") && text.contains(">a &lt; b<") && text.contains(">second<"),
            "{text}"
        );
        assert_eq!((text.matches("<svg").count(), text.matches("</svg>").count()), (3, 3));
        assert_eq!(text.matches("height: time").count(), 1, "{text}");
        Report::new(&path).unwrap();
    }

    #[test]
    fn files_of_others_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plans.txt", "plans.svg"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "weights").unwrap();
            let text = Report::new(&path).unwrap_err().text;
            assert!(
                text.contains("option `report`") && text.contains(name) && text.ends_with("another name"),
                "{text}"
            );
            let text = Report::new(&folder.path().join("missing").join(name)).unwrap_err().text;
            assert!(text.contains("option `report`") && text.contains(name), "{text}");
        }
    }
}
