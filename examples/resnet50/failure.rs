//! What ends the program early, and the message.

use blocktensor::Error;

/// Why the program ends.
pub enum Failure {
    /// A mistake on the command line, or in a file named there. The text begins with the option.
    Usage(String),
    /// An error of the library.
    Library(Error),
    /// The message has already been printed.
    Told,
    /// The reader has closed the pipe, as in `resnet50 | head`.
    ClosedPipe,
}

impl Failure {
    /// A mistake in one option.
    pub fn usage(option: &str, text: impl std::fmt::Display) -> Failure {
        Failure::Usage(format!("{option} {text}"))
    }

    /// The failure for an error of the standard output.
    pub fn of_stdout(e: std::io::Error) -> Failure {
        match e.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Usage(format!("the standard output: {e}")),
        }
    }

    /// Prints the message and returns the program's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Failure::Usage(text) => eprintln!("resnet50: {text}"),
            Failure::Library(e) => eprintln!("resnet50: {e}"),
            Failure::Told => {}
            Failure::ClosedPipe => return 0,
        }
        1
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Library(e)
    }
}

/// `println!` that ends the program quietly if the reader has closed the pipe.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($part)*).map_err($crate::failure::Failure::of_stdout)?
    }};
}
pub(crate) use say;
