//! The listings: what each is, what it must print, and how it must end.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Failures, Kind, run_command};
use crate::workspace::Workspace;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// What a listing is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// The one that makes the claims and records the facts of its folder.
    Rust,
    /// Compiled against the ExecuTorch wheel's CMake package.
    Cpp,
    /// Run by the Python in which the wheel is installed.
    Python,
}

impl Language {
    /// In the order in which pages show them.
    pub const ALL: [Self; 3] = [Self::Rust, Self::Cpp, Self::Python];

    /// For readers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Cpp => "C++",
            Self::Python => "Python",
        }
    }

    /// As a fenced block names it.
    #[must_use]
    pub fn fence(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Cpp => "cpp",
            Self::Python => "python",
        }
    }

    /// The file of a listing's folder that holds the program.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Self::Rust => "main.rs",
            Self::Cpp => "main.cc",
            Self::Python => "main.py",
        }
    }

    /// The file of a listing's folder that holds what the program must print.
    #[must_use]
    pub fn output(self) -> &'static str {
        match self {
            Self::Rust => "output.txt",
            Self::Cpp => "output.cc.txt",
            Self::Python => "output.py.txt",
        }
    }

    /// The listing of the folder `folder` in this language.
    pub(crate) fn listing(self, folder: &str) -> String {
        match self {
            Self::Rust => folder.to_owned(),
            Self::Cpp => format!("{folder}.cc"),
            Self::Python => format!("{folder}.py"),
        }
    }

    /// What a reader types to run the program, beside the files that the folder's `export.py` wrote.
    fn command(self, folder: &str) -> String {
        match self {
            Self::Rust => run_command(folder),
            Self::Cpp => format!("./{folder}"),
            Self::Python => "python main.py".to_owned(),
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

/// One program of a folder of `listings/`.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The name of the folder and of the binary; for another language with `.cc` or `.py`.
    pub name: String,
    /// The folder in `listings/`.
    pub folder: String,
    /// What it is written in.
    pub language: Language,
    /// What a reader types to see its output: `cargo run --bin <name>`, or what a line `//! $ …` among the first lines of
    /// its `main.rs` declares, where the reader's own project has another.
    pub command: String,
    /// Whether its folder has an `export.py`.
    pub exports: bool,
    /// What it must print; none where that file is missing.
    pub expected: Option<Expected>,
}

impl Listing {
    /// `listings/<folder>/<file>`, as reports show it.
    #[must_use]
    pub fn file(&self, file: &str) -> String {
        format!("listings/{}/{file}", self.folder)
    }

    /// The program, as reports show it.
    #[must_use]
    pub fn source(&self) -> String {
        self.file(self.language.source())
    }

    /// What it must print, as reports show it.
    #[must_use]
    pub fn output(&self) -> String {
        self.file(self.language.output())
    }

    /// What runs this listing alone, in the repository.
    #[must_use]
    pub fn repeat(&self) -> String {
        match self.language {
            Language::Rust => run_command(&self.name),
            Language::Cpp | Language::Python => format!(
                "cargo test --package listings --test listings {}",
                self.folder.replace('-', "_")
            ),
        }
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
/// A listing is a `main.rs`, a `main.cc` or a `main.py` in a folder of `listings/` without a `Cargo.toml`: one with it is
/// a project by itself, which pages may include from. An expected output without its program is a failure.
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
    for path in folders {
        let Some(folder) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        for language in Language::ALL {
            match read(&path, folder, language) {
                Ok(None) => {}
                Ok(Some(listing)) => {
                    failures.extend(without_output(&listing));
                    listings.insert(listing.name.clone(), listing);
                }
                Err(orphaned) => failures.extend(orphaned),
            }
        }
    }
    (listings, failures)
}

/// The listing in a language in the folder at `path`, if there is one.
fn read(path: &Path, folder: &str, language: Language) -> Result<Option<Listing>, Failures> {
    let name = language.listing(folder);
    let file = |file: &str| format!("listings/{folder}/{file}");
    let expected = fs::read_to_string(path.join(language.output())).ok();
    let program = path.join(language.source());
    if !program.is_file() || path.join("Cargo.toml").is_file() {
        return match expected {
            None => Ok(None),
            Some(_) => Err(Failure::new(
                Kind::OutputWithoutListing,
                name,
                file(language.output()),
                1,
                format!("{}, or no expected output", file(language.source())),
                "an expected output without the program that prints it",
            )
            .into()),
        };
    }
    let source = fs::read_to_string(program).unwrap_or_default();
    let declared = declared_command(&source).map(str::to_owned);
    Ok(Some(Listing {
        name,
        folder: folder.to_owned(),
        language,
        command: declared.unwrap_or_else(|| language.command(folder)),
        exports: path.join("export.py").is_file(),
        expected: expected.as_deref().map(Expected::parse),
    }))
}

fn without_output(listing: &Listing) -> Option<Failure> {
    let missing = Failure::new(
        Kind::ListingWithoutOutput,
        &listing.name,
        listing.source(),
        1,
        listing.output(),
        "no such file",
    );
    listing
        .expected
        .is_none()
        .then(|| missing.repeated_by("cargo xtask bless"))
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
