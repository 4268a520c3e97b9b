//! `blocktensor`: runs ONNX models, lists their ops, prints and saves their plans, measures.

mod args;
mod array;
mod bench;
mod check;
mod errors;
mod failure;
mod files;
mod inputs;
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

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use failure::{Failure, one_line};

/// What a command prints on the standard output, and why it failed if it did.
type Outcome = (String, Result<(), Failure>);

fn main() -> ExitCode {
    let cli = Cli::parse();
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
        return ExitCode::from(1);
    };
    if let Err(error) =
        std::io::stdout().lock().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush())
    {
        // A reader that closed the pipe, such as `head`, has what it wants.
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            let _ = writeln!(std::io::stderr(), "error: the standard output: {error}; check where it goes");
            return ExitCode::from(1);
        }
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If even the standard error is closed, the exit code is all that is left.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
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

/// Prints a note on the standard error.
fn note(text: String) {
    let _ = writeln!(std::io::stderr(), "note: {text}");
}
