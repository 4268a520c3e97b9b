//! The program `blocktensor`: everything is in the library.

mod closed;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(blocktensor_cli::program(std::env::args_os(), closed::is_output_closed()))
}
