//! The program `blocktensor`: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(blocktensor_cli::main(std::env::args_os()))
}
