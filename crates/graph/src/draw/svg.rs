//! Plans as pictures for a browser.
//!
//! Steps stand below each other in the order in which they run. A step that does not follow the one whose result it takes stands
//! in a lane beside it. Results that wait for a later step are arcs on the left.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use blocktensor::counted;

use super::{Colour, colour, result, time, title};
use crate::plan::{Plan, StepInfo, StepKind};

const WIDTH: f64 = 330.0;
const LANE: f64 = WIDTH + 26.0;
const LEAST_HEIGHT: f64 = 34.0;
/// What the heights above the least of all steps sum up to, for each step.
const MEAN_EXTRA: f64 = 16.0;
const GAP: f64 = 14.0;
const TOP: f64 = 96.0;
/// Between two arcs on the left.
const ARC: f64 = 9.0;
/// How many letters of a name a box shows.
const LETTERS: usize = 44;

/// Where a step stands.
struct Box {
    lane: usize,
    top: f64,
    height: f64,
}

impl Box {
    fn middle(&self) -> f64 {
        self.top + self.height / 2.0
    }
}

/// A result that a step takes: the steps that make and take it.
struct Edge {
    from: usize,
    to: usize,
    label: String,
}

impl Plan {
    /// The plan as an SVG picture: steps in a column, coloured by the layout of their results, reorders as steps of their own,
    /// branches beside. `seconds` has a time for each step, as [`run_timed`](Self::run_timed) gives them: a step is as much
    /// higher as it takes longer.
    pub fn to_svg(&self, seconds: Option<&[f64]>) -> String {
        let steps: Vec<StepInfo<'_>> = self.steps().collect();
        let seconds = seconds.filter(|list| list.len() == steps.len());
        let edges = edges(&steps);
        let boxes = boxes(&steps, &edges, seconds);
        let (levels, depth) = levels(&edges, &boxes);
        let left = 24.0 + ARC * depth as f64;
        let lanes = boxes.iter().map(|b| b.lane + 1).max().unwrap_or(1);
        let width = (left + LANE * lanes as f64 + 16.0).max(760.0);
        let height = boxes.iter().map(|b| b.top + b.height).fold(TOP, f64::max) + 24.0;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        self.heading(&mut text, &steps, seconds);
        let x = |lane: usize| left + LANE * lane as f64;
        for (edge, level) in edges.iter().zip(levels) {
            let (from, to) = (&boxes[edge.from], &boxes[edge.to]);
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "<path d=\"{}\" fill=\"none\" stroke=\"#666666\" stroke-width=\"1.3\"><title>{}</title></path>",
                path(from, to, x(from.lane), x(to.lane), level),
                escaped(&edge.label)
            );
        }
        let total: f64 = seconds.map_or(0.0, |list| list.iter().sum());
        for (i, (step, b)) in steps.iter().zip(&boxes).enumerate() {
            let share = seconds.map(|list| (list[i], if total > 0.0 { list[i] / total } else { 0.0 }));
            draw(&mut text, step, b, x(b.lane), share);
        }
        text + "</svg>\n"
    }

    /// A line about the plan, and what the colours mean.
    fn heading(&self, text: &mut String, steps: &[StepInfo<'_>], seconds: Option<&[f64]>) {
        let total = seconds.map(|list| format!(", {} in all", time(list.iter().sum()))).unwrap_or_default();
        let bytes: usize = self.reorders().iter().map(|r| r.bytes).sum();
        let count = self.reorders().len();
        let inside = self.reorders().iter().filter(|r| r.in_kernel).count();
        let _ = writeln!(
            text,
            "<text x=\"24\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{} layouts: {} steps{total}</text>\n<text x=\"24\" y=\"47\" fill=\"#444444\">{} ({inside} inside kernels), {:.1} MB; intermediate results take {:.1} MB</text>",
            self.layouts().name(),
            steps.len(),
            counted(count, "reorder"),
            bytes as f64 / 1e6,
            self.arena_bytes() as f64 / 1e6
        );
        let used: BTreeSet<Colour> = steps.iter().map(colour).collect();
        let mut x = 24.0;
        for colour in used {
            let (fill, border, word) = colour.of();
            let _ = writeln!(
                text,
                "<rect x=\"{x:.0}\" y=\"62\" width=\"14\" height=\"14\" rx=\"3\" fill=\"{fill}\" stroke=\"{border}\"/><text x=\"{:.0}\" y=\"73\">{word}</text>",
                x + 20.0
            );
            x += 40.0 + 6.2 * word.len() as f64;
        }
        if seconds.is_some() {
            let _ = writeln!(text, "<text x=\"{x:.0}\" y=\"73\" fill=\"#444444\">height: time</text>");
        }
    }
}

/// Who takes whose results.
fn edges(steps: &[StepInfo<'_>]) -> Vec<Edge> {
    let mut makers: HashMap<usize, usize> = HashMap::new();
    let mut edges: Vec<Edge> = Vec::new();
    for (to, step) in steps.iter().enumerate() {
        let first = edges.len();
        for input in step.inputs.iter().filter(|t| !t.is_constant) {
            if let Some(&from) = makers.get(&input.id)
                && !edges[first..].iter().any(|e| e.from == from)
            {
                edges.push(Edge { from, to, label: format!("{} {}", input.name, input.desc) });
            }
        }
        makers.extend(step.outputs.iter().map(|output| (output.id, to)));
    }
    edges
}

/// Places the steps. A step stands below the step whose result it takes, unless another one stands there already.
fn boxes(steps: &[StepInfo<'_>], edges: &[Edge], seconds: Option<&[f64]>) -> Vec<Box> {
    let mut last_use = vec![0; steps.len()];
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for edge in edges {
        last_use[edge.from] = last_use[edge.from].max(edge.to);
        sources[edge.to].push(edge.from);
    }
    let mean =
        seconds.map(|list| list.iter().sum::<f64>() / list.len().max(1) as f64).filter(|mean| *mean > 0.0);
    let mut boxes: Vec<Box> = Vec::with_capacity(steps.len());
    // For each lane the step at its end.
    let mut lanes: Vec<usize> = Vec::new();
    let mut top = TOP;
    for i in 0..steps.len() {
        let ends_with = |source: &usize| lanes.iter().position(|end| end == source);
        let free = |end: &usize| last_use[*end] < i;
        let lane = sources[i].iter().filter_map(ends_with).min();
        let lane = lane.or_else(|| lanes.iter().position(free)).unwrap_or(lanes.len());
        match lanes.get_mut(lane) {
            Some(end) => *end = i,
            None => lanes.push(i),
        }
        let extra = mean.zip(seconds).map_or(0.0, |(mean, list)| MEAN_EXTRA * list[i] / mean);
        let height = LEAST_HEIGHT + extra.min(20.0 * MEAN_EXTRA);
        boxes.push(Box { lane, top, height });
        top += height + GAP;
    }
    boxes
}

/// For each edge how far to the left its arc goes: 0 for lines to the next box of a lane, and between lanes. And the most.
/// Short arcs are inside long ones. Arcs from one step share a level: a result that thousands of steps take is one line.
fn levels(edges: &[Edge], boxes: &[Box]) -> (Vec<usize>, usize) {
    // For each level the arcs that it has.
    let mut arcs: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut levels = vec![0; edges.len()];
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|&e| (edges[e].to - edges[e].from, edges[e].from));
    for e in order {
        let (from, to) = (edges[e].from, edges[e].to);
        let (lane, other) = (boxes[from].lane, boxes[to].lane);
        let is_clear = |lane: usize| boxes[from + 1..to].iter().all(|b| b.lane != lane);
        if lane == other && is_clear(lane) || lane != other && is_clear(lane.max(other)) {
            continue;
        }
        let is_free =
            |arcs: &Vec<(usize, usize)>| arcs.iter().all(|&(a, b)| a == from || b <= from || to <= a);
        let level = arcs.iter().position(is_free).unwrap_or(arcs.len());
        match arcs.get_mut(level) {
            Some(own) => own.push((from, to)),
            None => arcs.push(vec![(from, to)]),
        }
        levels[e] = level + 1;
    }
    (levels, arcs.len())
}

/// The line of a tensor between two boxes, whose left sides are given.
fn path(from: &Box, to: &Box, from_x: f64, to_x: f64, level: usize) -> String {
    let (from_middle, to_middle) = (from_x + WIDTH / 2.0, to_x + WIDTH / 2.0);
    let (bottom, top) = (from.top + from.height, to.top);
    if level == 0 && from.lane == to.lane {
        return format!("M{from_middle:.1} {bottom:.1}V{top:.1}");
    }
    if level == 0 {
        // Between lanes: along the gap below the upper box, down in the target's column.
        let turn = bottom + GAP / 2.0;
        if from.lane < to.lane {
            return format!("M{:.1} {bottom:.1}V{turn:.1}H{to_middle:.1}V{top:.1}", from_x + WIDTH * 0.75);
        }
        let landing = to_x + WIDTH * 0.75;
        let turn = top - GAP / 2.0;
        return format!("M{from_middle:.1} {bottom:.1}V{turn:.1}H{landing:.1}V{top:.1}");
    }
    let (start, end) = (from.middle(), to.middle());
    let bend = from_x.min(to_x) - 4.0 - ARC * level as f64;
    let r = ARC.min((end - start) / 2.0);
    format!(
        "M{from_x:.1} {start:.1}H{:.1}Q{bend:.1} {start:.1} {bend:.1} {:.1}V{:.1}Q{bend:.1} {end:.1} {:.1} {end:.1}H{to_x:.1}",
        bend + r,
        start + r,
        end - r,
        bend + r
    )
}

fn draw(text: &mut String, step: &StepInfo<'_>, b: &Box, x: f64, time_and_share: Option<(f64, f64)>) {
    let (fill, border, _) = colour(step).of();
    let style = match step.kind {
        StepKind::View | StepKind::Joined => " stroke-dasharray=\"4 3\"",
        StepKind::Reorder => " stroke-width=\"2\"",
        _ => "",
    };
    let whole = format!(
        "{}: {}\n{}\n{}",
        step.title(),
        title(step),
        result(step),
        step.implementation.unwrap_or(step.kind.name())
    );
    let _ = writeln!(
        text,
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{WIDTH}\" height=\"{:.1}\" rx=\"6\" fill=\"{fill}\" stroke=\"{border}\"{style}/>",
        escaped(&whole),
        b.top,
        b.height
    );
    let lines = b.middle() - 3.0;
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{lines:.1}\" font-weight=\"bold\">{}</text><text x=\"{:.1}\" y=\"{:.1}\" fill=\"#444444\" font-size=\"10\">{}</text>",
        x + 8.0,
        escaped(&shortened(&title(step), LETTERS - 8)),
        x + 8.0,
        lines + 13.0,
        escaped(&second_line(step))
    );
    if let Some((seconds, share)) = time_and_share.filter(|(seconds, _)| *seconds > 0.0) {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{lines:.1}\" text-anchor=\"end\">{}</text><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#444444\" font-size=\"10\">{:.1} %</text>",
            x + WIDTH - 8.0,
            time(seconds),
            x + WIDTH - 8.0,
            lines + 13.0,
            share * 100.0
        );
    }
    text.push_str("</g>\n");
}

/// The result, and as much of the end of the node's name as there is room for.
fn second_line(step: &StepInfo<'_>) -> String {
    let result = shortened(&result(step), LETTERS + 6);
    let room = (LETTERS + 2).saturating_sub(result.chars().count());
    let name = step.title();
    let letters = name.chars().count();
    match room {
        _ if step.kind == StepKind::Reorder => result,
        0..8 => result,
        _ if letters <= room => format!("{result}   {name}"),
        _ => {
            let end: String = name.chars().skip(letters - (room - 1)).collect();
            format!("{result}   …{end}")
        }
    }
}

/// The beginning of a text, where it is too long for its place.
fn shortened(text: &str, letters: usize) -> String {
    match text.chars().count() > letters {
        true => text.chars().take(letters - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
