//! The listings: what each is, what it must print, and how it must end.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::failure::{Failure, Kind, run_command};
use crate::workspace::Workspace;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// With this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// Signals by the names that `output.txt` and the pages use, with Linux's numbers on x86-64.
const SIGNALS: &[(i32, &str)] = &[
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
];

impl Outcome {
    /// The outcome of a listing that declares none.
    pub const SUCCESS: Self = Self::Exit(0);

    /// The fact `<listing>.exit`: the exit code, or the name of the signal.
    #[must_use]
    pub fn fact(self) -> String {
        match self {
            Self::Exit(code) => code.to_string(),
            Self::Signal(number) => SIGNALS
                .iter()
                .find(|(known, _)| *known == number)
                .map_or_else(|| format!("SIG{number}"), |(_, name)| (*name).to_owned()),
        }
    }

    /// Reads the last line of an `output.txt`: `# exit 1` or `# signal SIGSEGV`.
    fn parse(line: &str) -> Option<Self> {
        if let Some(code) = line.strip_prefix("# exit ") {
            return code.parse().ok().map(Self::Exit);
        }
        let name = line.strip_prefix("# signal ")?;
        SIGNALS
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(number, _)| Self::Signal(*number))
    }
}

impl Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(_) => write!(out, "exit {}", self.fact()),
            Self::Signal(_) => write!(out, "signal {}", self.fact()),
        }
    }
}

/// What `output.txt` expects of a run.
///
/// The file is the command on its first line ([`Listing::command`]), then standard output, then, for a listing
/// that must fail, its outcome: `# exit 1` or `# signal SIGSEGV`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The first line.
    pub command: String,
    /// Standard output.
    pub stdout: String,
    /// How the run must end.
    pub outcome: Outcome,
}

impl Expected {
    pub(crate) fn parse(text: &str) -> Self {
        let (command, mut rest) = text.split_once('\n').unwrap_or((text, ""));
        let mut outcome = Outcome::SUCCESS;
        let lines = rest.trim_end_matches('\n');
        let last = lines.rsplit('\n').next().unwrap_or_default();
        if let Some(declared) = Outcome::parse(last) {
            outcome = declared;
            rest = &lines[..lines.len() - last.len()];
        }
        Self {
            command: command.to_owned(),
            stdout: rest.to_owned(),
            outcome,
        }
    }

    /// The text of an `output.txt`: [`Expected::parse`] of it gives the same back.
    pub(crate) fn render(command: &str, stdout: &str, outcome: Outcome) -> String {
        let mut text = format!("$ {command}\n{stdout}");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if outcome != Outcome::SUCCESS {
            text.push_str(&format!("# {outcome}\n"));
        }
        text
    }
}

/// One folder of `listings/`.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The name of the folder and of the binary.
    pub name: String,
    /// What a reader types to see its output: `cargo run --bin <name>`, or what a line `//! $ …` among the first lines of
    /// its `main.rs` declares, where the reader's own project has another.
    pub command: String,
    /// Whether it has an `export.py`.
    pub exports: bool,
    /// What it must print; none where `output.txt` is missing.
    pub expected: Option<Expected>,
}

impl Listing {
    /// `listings/<name>/<file>`, as reports show it.
    #[must_use]
    pub fn file(&self, file: &str) -> String {
        format!("listings/{}/{file}", self.name)
    }

    /// How it must end.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.expected
            .as_ref()
            .map_or(Outcome::SUCCESS, |expected| expected.outcome)
    }
}

/// All listings by name, and what is wrong with their folders.
///
/// A listing is a folder of `listings/` with a `main.rs` and without a `Cargo.toml`: one with it is a project by itself,
/// which pages may include from. A folder that is no listing and expects an output is a failure.
pub(crate) fn discover(workspace: &Workspace) -> (BTreeMap<String, Listing>, Vec<Failure>) {
    let mut listings = BTreeMap::new();
    let mut failures = Vec::new();
    let folders: Vec<PathBuf> = match fs::read_dir(workspace.listings()) {
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect(),
        Err(error) => {
            failures.push(Failure::new(
                Kind::RunFails,
                "listings",
                "listings",
                1,
                "the folder of the listings",
                error.to_string(),
            ));
            Vec::new()
        }
    };
    for folder in folders {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let expected = fs::read_to_string(folder.join("output.txt")).ok();
        if !folder.join("main.rs").is_file() || folder.join("Cargo.toml").is_file() {
            if expected.is_some() {
                failures.push(Failure::new(
                    Kind::OutputWithoutListing,
                    name,
                    format!("listings/{name}/output.txt"),
                    1,
                    format!("listings/{name}/main.rs, or no expected output"),
                    "an expected output without the program that prints it",
                ));
            }
            continue;
        }
        if expected.is_none() {
            failures.push(
                Failure::new(
                    Kind::ListingWithoutOutput,
                    name,
                    format!("listings/{name}/main.rs"),
                    1,
                    format!("listings/{name}/output.txt"),
                    "no such file",
                )
                .repeated_by("cargo xtask bless"),
            );
        }
        let source = fs::read_to_string(folder.join("main.rs")).unwrap_or_default();
        let listing = Listing {
            name: name.to_owned(),
            command: declared_command(&source).map_or_else(|| run_command(name), str::to_owned),
            exports: folder.join("export.py").is_file(),
            expected: expected.as_deref().map(Expected::parse),
        };
        listings.insert(listing.name.clone(), listing);
    }
    (listings, failures)
}

/// The command that the first lines of a listing's source declare.
fn declared_command(source: &str) -> Option<&str> {
    source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .find_map(|line| line.trim().strip_prefix("$ "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_declare_the_command() {
        let declared =
            declared_command("//! Says.\n//!\n//! $ cargo run -- paired.pte\n\nfn main() {}\n");
        assert_eq!(declared, Some("cargo run -- paired.pte"));
        assert_eq!(declared_command("//! Says.\nfn main() {}\n//! $ x\n"), None);
    }

    #[test]
    fn an_output_is_command_text_and_outcome() {
        let expected = Expected::parse("$ cargo run --bin x\none\ntwo\n");
        assert_eq!(expected.command, "$ cargo run --bin x");
        assert_eq!(expected.stdout, "one\ntwo\n");
        assert_eq!(expected.outcome, Outcome::SUCCESS);
        let expected = Expected::parse("$ cargo run --bin x\none\n# signal SIGSEGV\n");
        assert_eq!(expected.stdout, "one\n");
        assert_eq!(expected.outcome, Outcome::Signal(11));
        assert_eq!(
            Expected::parse("$ c\n# exit 101\n").outcome,
            Outcome::Exit(101)
        );
        assert_eq!(Expected::parse("$ c\n# exit\n").outcome, Outcome::SUCCESS);
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for (stdout, outcome) in [
            ("", Outcome::SUCCESS),
            ("a\n", Outcome::Exit(3)),
            ("a\n\nb\n", Outcome::Signal(6)),
        ] {
            let expected = Expected::parse(&Expected::render("x", stdout, outcome));
            assert_eq!(
                (expected.stdout.as_str(), expected.outcome),
                (stdout, outcome)
            );
        }
    }
}
