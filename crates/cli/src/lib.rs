//! `blocktensor`: runs ONNX models, lists their ops, prints and saves their plans, measures.
//!
//! The program is [`main`]. It is a library so that `python -m blocktensor` is the same program.

mod args;
mod array;
mod bench;
mod check;
mod errors;
mod failure;
mod files;
mod inputs;
mod integers;
mod model;
mod npy;
mod ops;
mod pack;
mod plan;
mod preprocess;
mod progress;
mod report;
mod run;
mod top;
mod trace;
mod words;

use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Cli, Command};
use failure::{Failure, one_line};

pub use progress::Progress;

/// What a command prints on the standard output, and why it failed if it did.
type Outcome = (String, Result<(), Failure>);

/// Runs the program with these arguments, the first of which is its own name, and returns its exit code. It replaces the
/// process's panic hook.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    program(args, std::io::stdout().as_fd().try_clone_to_owned().is_err())
}

/// As [`main`], for a program that Rust starts: its start-up opens /dev/null in place of a standard output that is closed.
#[doc(hidden)]
pub fn program(args: impl IntoIterator<Item = OsString>, is_output_closed: bool) -> u8 {
    // Writing to a stream that is closed is no error in Rust.
    if is_output_closed {
        let _ = writeln!(std::io::stderr(), "error: the standard output: it is closed; check where it goes");
        return 1;
    }
    let cli = match Cli::try_parse_from(help_of_help(args)) {
        Ok(cli) => cli,
        Err(usage) => {
            // If even the standard error is closed, the exit code is all that is left.
            let _ = match usage.kind() {
                ErrorKind::DisplayHelp
                | ErrorKind::DisplayVersion
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    if let Some(code) =
                        usage.print().and_then(|()| std::io::stdout().flush()).err().and_then(unprinted)
                    {
                        return code;
                    }
                    Ok(())
                }
                _ => writeln!(std::io::stderr(), "{}", usage_line(&usage.to_string())),
            };
            return u8::try_from(usage.exit_code()).unwrap_or(1);
        }
    };
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" at {at}")).unwrap_or_default();
        let text = info.payload_as_str().unwrap_or("no message");
        let text = one_line(&text);
        let _ = writeln!(
            std::io::stderr(),
            "error: this is a defect in blocktensor{place}: {text}; please report it"
        );
    }));
    let Ok((text, outcome)) = catch_unwind(AssertUnwindSafe(|| command(&cli))) else {
        return 1;
    };
    let printed =
        std::io::stdout().lock().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush());
    if let Some(code) = printed.err().and_then(unprinted) {
        return code;
    }
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            // As above.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            failure.exit_code()
        }
    }
}

/// The arguments, without `--help` after `blocktensor help`: the parser takes the names of commands there, and nothing else.
fn help_of_help(args: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut is_help = false;
    args.into_iter()
        .enumerate()
        .filter(move |(i, arg)| {
            is_help |= *i == 1 && arg == "help";
            !(is_help && (arg == "--help" || arg == "-h"))
        })
        .map(|(_, arg)| arg)
}

/// Says why the standard output was not written, and returns the exit code. A reader that closed the pipe, such as `head`, has
/// what it wants.
fn unprinted(error: std::io::Error) -> Option<u8> {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return None;
    }
    let _ = writeln!(std::io::stderr(), "error: the standard output: {error}; check where it goes");
    Some(1)
}

fn command(cli: &Cli) -> Outcome {
    let result = match &cli.command {
        Command::Run(args) => model::in_pool(&args.planning, || run::run(args)),
        Command::Plan(args) => model::in_pool(&args.planning, || plan::run(args)),
        Command::Ops(args) => ops::run(args),
        Command::Pack(args) => model::in_pool(&args.planning, || pack::run(args)),
        Command::Bench(args) => bench::run(args),
    };
    result.unwrap_or_else(|failure| (String::new(), Err(failure)))
}

/// A mistake on the command line as one line. The parser's text has paragraphs: the mistake, hints, a summary of the usage, and
/// the way to the help. The summary is left out, and so is the hint to put `--` before what looks like an option.
fn usage_line(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| one_line(&paragraph));
    let kept = paragraphs.filter(|p| !p.starts_with("Usage:") && !p.starts_with("tip: to pass"));
    let line = kept.map(|p| p.trim_start_matches("tip: ").replace("For more information, try", "try"));
    line.collect::<Vec<_>>().join("; ").trim_end_matches('.').to_string()
}

/// Prints a note on the standard error.
fn note(text: String) {
    let _ = writeln!(std::io::stderr(), "note: {text}");
}
