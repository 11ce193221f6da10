//! The command: arguments in, text and an exit code out.

mod args;
mod check;
mod describe;
mod diff;
mod explain;
mod input;
mod sarif;
mod show;

use std::ffi::OsString;
use std::fmt;

/// The version of every JSON document that the command writes. It grows when a field changes its meaning or goes.
pub(crate) const JSON_VERSION: u32 = 1;
/// Where the guide's pages are, from the root of its site.
pub(crate) const PAGES: &str = "the ExecuTorch CUDA Guide";

/// Everything went well.
pub(crate) const FINE: u8 = 0;
/// There is something to say: findings, or changes.
pub(crate) const FOUND: u8 = 1;
/// An input could not be read, or the arguments are wrong.
pub(crate) const FAILED: u8 = 2;

/// What a run of the command answers.
pub(crate) struct Outcome {
    pub code: u8,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    fn new(code: u8, stdout: String) -> Self {
        Self {
            code,
            stdout,
            stderr: String::new(),
        }
    }

    /// Adds the line of an error.
    fn fail(&mut self, error: impl fmt::Display) {
        self.code = FAILED;
        self.stderr.push_str(&format!("error: {error}\n"));
    }
}

/// Runs the command with these arguments, without the command's own name.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    match args::parse(arguments) {
        Ok(args::Asked::Text(text)) => Outcome::new(FINE, text),
        Ok(args::Asked::Show(show)) => show::run(&show),
        Ok(args::Asked::Check(check)) => check::run(&check),
        Ok(args::Asked::Diff(diff)) => diff::run(&diff),
        Ok(args::Asked::Explain(rule)) => Outcome::new(FINE, explain::text(rule)),
        Err(error) => {
            let mut outcome = Outcome::new(FAILED, String::new());
            outcome.fail(format_args!(
                "{error}\n       `pte --help` shows how to call it"
            ));
            outcome
        }
    }
}

/// JSON, as people and programs read it.
fn json(value: &impl serde::Serialize) -> String {
    // The types here have string keys alone and fail at nothing.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
