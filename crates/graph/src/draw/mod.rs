//! Plans as pictures.

mod dot;
mod svg;

use blocktensor::dispatch::DispatchKey;
use blocktensor::{MemoryFormat, TensorDesc, memory};

use crate::error::Result;
use crate::plan::{Plan, StepInfo, StepKind};

/// Memory in **bytes** for the box of a step, and for the line of a tensor, without their names.
const BOX: usize = 2 << 10;
const LINE: usize = 1 << 10;
/// How often a drawing has a name, with its letters escaped.
const NAMED: usize = 8;

impl Plan {
    /// Asks ahead for the memory that [`to_svg`](Self::to_svg) and [`to_dot`](Self::to_dot) take: a plan of very many steps is then
    /// an error, not the end of the process.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn check_drawing(&self) -> Result<()> {
        let of_step = |step: StepInfo<'_>| {
            let tensors = step.inputs.iter().chain(&step.outputs);
            BOX + NAMED * step.title().len() + tensors.map(|t| LINE + NAMED * t.name.len()).sum::<usize>()
        };
        Ok(memory::require("the drawing of a plan", self.steps().map(of_step).sum())?)
    }
}

/// What a colour stands for: the order of the elements of a step's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Colour {
    RowMajor,
    ChannelsLast,
    Blocked,
    OtherStrides,
    View,
    Reorder,
}

impl Colour {
    /// Fill and border: colours that people of any colour vision tell apart (after Okabe and Ito), and a word.
    const fn of(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Colour::RowMajor => ("#fdeec8", "#e69f00", "row-major"),
            Colour::ChannelsLast => ("#d9effb", "#3a9bd1", "channels-last"),
            Colour::Blocked => ("#cdeee2", "#009e73", "blocked"),
            Colour::OtherStrides => ("#eeeeee", "#999999", "other strides"),
            Colour::View => ("#ffffff", "#999999", "view: nothing runs"),
            Colour::Reorder => ("#f8d3bd", "#d55e00", "reorder"),
        }
    }
}

fn colour(step: &StepInfo<'_>) -> Colour {
    match (step.kind, step.outputs.first()) {
        (StepKind::Reorder, _) => Colour::Reorder,
        (StepKind::View | StepKind::Joined, _) => Colour::View,
        (_, Some(result)) => of_layout(result.desc),
        (_, None) => Colour::OtherStrides,
    }
}

fn of_layout(desc: &TensorDesc) -> Colour {
    let is = |format| {
        TensorDesc::strided(desc.dims(), desc.dtype(), format).is_ok_and(|d| d.strides() == desc.strides())
    };
    if desc.key() != DispatchKey::STRIDED {
        Colour::Blocked
    } else if is(MemoryFormat::Contiguous) {
        Colour::RowMajor
    } else if is(MemoryFormat::ChannelsLast) || is(MemoryFormat::ChannelsLast3d) {
        Colour::ChannelsLast
    } else {
        Colour::OtherStrides
    }
}

/// The op with what is fused into it.
fn title(step: &StepInfo<'_>) -> String {
    match step.fused {
        "" => step.op.to_string(),
        fused => format!("{} + {fused}", step.op),
    }
}

/// The layout and the sizes of the first result; of a reorder the layouts before and after.
fn result(step: &StepInfo<'_>) -> String {
    let Some(to) = step.outputs.first() else { return String::new() };
    let sizes = to.desc.dims().iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    match (step.kind, step.inputs.first()) {
        (StepKind::Reorder, Some(from)) => {
            format!("{} to {}  {sizes}", from.desc.layout_name(), to.desc.layout_name())
        }
        _ => format!("{}  {sizes}", to.desc.layout_name()),
    }
}

/// **Seconds** in a unit that suits them.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 0.1 => format!("{s:.2} s"),
        s if s >= 1e-4 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}
