//! The commands through which a person builds or tests the book, and what each must do about a fault.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

use book::Kind;
use serde_json::Value;

use crate::fault::Declared;
use crate::tree::{Planted, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `cargo xtask build`.
    Build,
    /// `mdbook build`, without anything of ours around it.
    Plain,
    /// `cargo test --package listings`.
    Test,
}

impl Door {
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "cargo xtask build",
            Self::Plain => "mdbook build",
            Self::Test => "cargo test -p listings",
        }
    }
}

/// What must happen at a door.
#[derive(Clone, Debug)]
pub enum Expected {
    /// It fails, with these failures and no others, and says this.
    Refused { failures: &'static [Declared], says: Option<&'static str> },
    /// It fails on every page: none has this run's mark, and each shows directives as they were written.
    Unproved,
    /// It passes: the fault is one that this door cannot see.
    Passed,
    /// It fails in the tests of these listings and of no others.
    TestsFail(Vec<&'static str>),
}

impl Expected {
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Passed)
    }
}

/// A failure as the gate reports it: rule, id, file, line.
type Found = (String, String, String, usize);

/// What a command did.
struct Ran {
    passed: bool,
    failures: BTreeSet<Found>,
    text: String,
}

impl Ran {
    /// The last lines, for a report.
    fn last_words(&self) -> String {
        let lines: Vec<_> = self.text.trim_end().lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

/// The copy passes through every door while nothing is planted in it.
pub fn unchanged(tree: &mut Tree) -> Result<(), String> {
    let nothing = tree.plant(&[])?;
    for door in [Door::Build, Door::Plain, Door::Test] {
        let ran = run(tree, &nothing, door)?;
        if !ran.passed || !ran.failures.is_empty() {
            return Err(format!(
                "the unchanged copy does not pass `{}`; a planted fault would show nothing:\n{}",
                door.name(),
                ran.last_words()
            ));
        }
        if door == Door::Build {
            tree.keep_run_record()?;
        }
    }
    Ok(())
}

/// Sends a planted fault through a door.
pub fn send(tree: &Tree, planted: &Planted, door: Door, expected: &Expected) -> Result<(), String> {
    tree.bring_back_run_record()?;
    let ran = run(tree, planted, door)?;
    match expected {
        Expected::Passed if ran.passed && ran.failures.is_empty() => Ok(()),
        Expected::Passed => Err(format!("now notices it: declare what it says\n{}", ran.last_words())),
        Expected::Unproved => {
            let pages = tree.pages()?;
            let of = |kind: Kind| {
                let found = ran.failures.iter().filter(move |(found, ..)| *found == kind.name());
                found.map(|(_, id, ..)| id.clone()).collect::<BTreeSet<_>>()
            };
            let only_these = ran.failures.iter().all(|(kind, _, file, line)| {
                file.starts_with(".book/new/")
                    && (*kind == Kind::DirectiveLeft.name() || *kind == Kind::RunIdMissing.name() && *line == 1)
            });
            if !ran.passed && only_these && of(Kind::RunIdMissing) == pages && of(Kind::DirectiveLeft) == pages {
                return Ok(());
            }
            Err(format!("every page must be found unproved, and nothing else\n{}", ran.last_words()))
        }
        Expected::TestsFail(listings) => {
            let expected: BTreeSet<String> = listings.iter().map(|listing| (*listing).to_owned()).collect();
            let failed = failed_tests(&ran.text);
            if !ran.passed && failed == expected {
                return Ok(());
            }
            Err(format!("the tests of {expected:?} must fail, those of {failed:?} did\n{}", ran.last_words()))
        }
        Expected::Refused { failures, says } => {
            let declared = failures
                .iter()
                .map(|(kind, id, file, at)| {
                    let line = tree.line(file, at)?;
                    Ok((kind.name().to_owned(), (*id).to_owned(), (*file).to_owned(), line))
                })
                .collect::<Result<BTreeSet<Found>, String>>()?;
            let mut wrong = Vec::new();
            for (kind, id, file, line) in declared.difference(&ran.failures) {
                wrong.push(format!("not reported:  {file}:{line}: {kind} `{id}`"));
            }
            for (kind, id, file, line) in ran.failures.difference(&declared) {
                wrong.push(format!("not declared:  {file}:{line}: {kind} `{id}`"));
            }
            if ran.passed {
                wrong.push("it passed".to_owned());
            }
            if let Some(says) = says.filter(|says| !ran.text.contains(*says)) {
                wrong.push(format!("it does not say `{says}`"));
            }
            if wrong.is_empty() { Ok(()) } else { Err(format!("\n{}\n{}", wrong.join("\n"), ran.last_words())) }
        }
    }
}

fn run(tree: &Tree, planted: &Planted, door: Door) -> Result<Ran, String> {
    let failures_file = tree.folder.join("failures.jsonl");
    let _ = fs::remove_file(&failures_file);
    let mut command = match door {
        Door::Build => {
            let mut command = Command::new(cargo());
            command.args(["xtask", "build"]).current_dir(&tree.repository);
            command
        }
        Door::Plain => {
            let mut command = Command::new(tree.repository.join(".venv/tools/bin/mdbook"));
            command.arg("build").current_dir(&tree.root);
            command
        }
        Door::Test => {
            let mut command = Command::new(cargo());
            command.args(["test", "--package", "listings", "--no-fail-fast"]);
            if let Some(features) = planted.features() {
                command.arg("--features").arg(features);
            }
            command.current_dir(&tree.root);
            command
        }
    };
    tree.environment(&mut command);
    planted.environment(&mut command);
    if door == Door::Build {
        command.env("GUIDE_ROOT", &tree.root);
    }
    let output = command
        .env("GUIDE_FAILURES", &failures_file)
        .output()
        .map_err(|error| format!("cannot start {}: {error}; `cargo xtask setup` installs the tools", door.name()))?;
    let failures = match fs::read_to_string(&failures_file) {
        Ok(text) => text.lines().map(found).collect::<Result<_, _>>()?,
        Err(_) => BTreeSet::new(),
    };
    Ok(Ran { passed: output.status.success(), failures, text: text(&output) })
}

/// The cargo that runs this test.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Reads a line of `$GUIDE_FAILURES`.
fn found(line: &str) -> Result<Found, String> {
    let failure: Value = serde_json::from_str(line).map_err(|error| format!("GUIDE_FAILURES: {error}: {line}"))?;
    let text = |key: &str| failure[key].as_str().map(str::to_owned).ok_or_else(|| format!("no `{key}` in {line}"));
    let kind = text("kind")?;
    if !Kind::ALL.iter().any(|known| known.name() == kind) {
        return Err(format!("`{kind}` is no rule: {line}"));
    }
    let number = failure["line"].as_u64().and_then(|number| usize::try_from(number).ok());
    Ok((kind, text("id")?, text("file")?, number.ok_or_else(|| format!("no `line` in {line}"))?))
}

/// The listings whose tests failed: `test pairing_rule ... FAILED`.
fn failed_tests(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .map(|name| name.rsplit("::").next().unwrap_or(name).replace('_', "-"))
        .collect()
}
