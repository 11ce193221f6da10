//! The command `pte`: asks ExecuTorch programs what they expect of their caller.

use std::io::{self, Write};
use std::process::ExitCode;

use pte::command;

fn main() -> ExitCode {
    let outcome = command::run(std::env::args_os().skip(1));
    // Whoever reads has read enough: no error, and nothing more to write.
    let written = io::stdout()
        .lock()
        .write_all(outcome.stdout.as_bytes())
        .and_then(|()| io::stdout().flush());
    _ = io::stderr().lock().write_all(outcome.stderr.as_bytes());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            _ = writeln!(io::stderr(), "error: the output cannot be written: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::from(outcome.code),
    }
}
