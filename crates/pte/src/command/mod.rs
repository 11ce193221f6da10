//! The command `pte`: arguments in, text and an exit code out. `main` prints it; who wants the command's own words without
//! a process calls [`run`].

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

use crate::{Files, System};

/// The version of every JSON document that the command writes. It grows when a field changes its meaning or goes.
pub const JSON_VERSION: u32 = 1;
/// Where the guide's pages are, from the root of its site.
pub(crate) const PAGES: &str = "the ExecuTorch CUDA Guide";

/// The exit code where everything went well.
pub const FINE: u8 = 0;
/// The exit code where there is something to say: findings, or changes.
pub const FOUND: u8 = 1;
/// The exit code where an input could not be read, or the arguments are wrong.
pub const FAILED: u8 = 2;

/// What a run of the command answers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Outcome {
    /// The exit code: [`FINE`], [`FOUND`] or [`FAILED`].
    pub code: u8,
    /// What it prints.
    pub stdout: String,
    /// Its errors, a line each.
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

/// Runs the command with these arguments, without the command's own name. A file called `-` is this process's standard
/// input, and colour depends on its standard output; nothing else of the process is touched.
///
/// ```
/// let outcome = pte::command::run(["explain", "L1"].map(Into::into));
/// assert_eq!(outcome.code, pte::command::FINE);
/// assert!(outcome.stdout.starts_with("L1 planned-device-input"));
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    run_on(arguments, &System)
}

/// The same with files of the caller's.
pub fn run_on(arguments: impl IntoIterator<Item = OsString>, files: &dyn Files) -> Outcome {
    match args::parse(arguments) {
        Ok(args::Asked::Text(text)) => Outcome::new(FINE, text),
        Ok(args::Asked::Show(show)) => show::run(&show, files),
        Ok(args::Asked::Check(check)) => check::run(&check, files),
        Ok(args::Asked::Diff(diff)) => diff::run(&diff, files),
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
