//! The arguments, and what they mean.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::str::FromStr;

use crate::lint::{Caller, Expectation, Level, Rule, Runtime};
use lexopt::prelude::*;

/// What `pte --help` prints.
pub(crate) const HELP: &str = "\
pte asks an ExecuTorch program (.pte) what it expects of its caller, from the file alone.

usage: pte show FILE...     what it takes and gives, where the memory is, what is copied
       pte check FILE...    what is wrong with it, for whoever calls it
       pte diff OLD NEW     which contract changed between two exports
       pte explain [RULE]   a rule of `check`: why, a bad and a good recipe
       pte schema [show|check|diff]   the JSON Schema of what --json prints

A FILE called `-` is standard input.

options of show
  --method NAME     this method alone
  --json            everything as JSON

options of check
  --caller WHO      python, cpp, rust (the crate executorch 0.13), rust-device (with executorch-device);
                    without it, only what fails for every caller is an error
  --runtime VERSION the ExecuTorch that loads it (default 1.5.1, the one whose answers were measured)
  --data FILE.ptd   the data file that it is loaded with; `none`: it is loaded without; may be repeated
  --expect WHAT,... what it was meant to be: [planned-|unplanned-][device-|host-] and in or out
                    (device-in, planned-device-out)
  --deny LEVEL      exit with 1 at findings from this level on: error (default), warning, note
  --method NAME     this method alone
  --format FORMAT   text (default), json, sarif, github
  --json            the same as --format json

options of diff
  --format FORMAT   text (default), json
  --json            the same as --format json

options of all
  --color WHEN      auto (default), always, never
  -h, --help        this text
  -V, --version     the version

exit codes
  0  nothing wrong, or no change
  1  findings at the level of --deny or above, or a changed contract
  2  a file that cannot be read as a program, or wrong arguments
";

/// What was asked for.
pub(crate) enum Asked {
    /// A text that is known already.
    Text(String),
    Show(Show),
    Check(Check),
    Diff(Diff),
    /// One rule, or all of them in short.
    Explain(Option<Rule>),
}

/// `pte show`.
pub(crate) struct Show {
    pub files: Vec<PathBuf>,
    pub method: Option<String>,
    pub json: bool,
}

/// `pte check`.
pub(crate) struct Check {
    pub files: Vec<PathBuf>,
    pub method: Option<String>,
    pub caller: Option<Caller>,
    pub runtime: Runtime,
    /// `None`: nothing was said. Empty: it is loaded without.
    pub data: Option<Vec<PathBuf>>,
    pub expect: Vec<Expectation>,
    pub deny: Level,
    pub format: Format,
    pub color: bool,
}

/// `pte diff`.
pub(crate) struct Diff {
    pub old: PathBuf,
    pub new: PathBuf,
    pub json: bool,
}

/// How findings are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Sarif,
    Github,
}

/// Every option that may appear, with what it was given.
#[derive(Default)]
struct Given {
    files: Vec<PathBuf>,
    words: Vec<String>,
    method: Option<String>,
    caller: Option<Caller>,
    runtime: Option<Runtime>,
    data: Option<Vec<PathBuf>>,
    expect: Vec<Expectation>,
    deny: Option<Level>,
    format: Option<Format>,
    color: Option<bool>,
}

/// The options that each subcommand knows, besides those of all.
const KNOWN: &[(&str, &[&str])] = &[
    ("show", &["method", "json"]),
    (
        "check",
        &[
            "method", "json", "caller", "runtime", "data", "expect", "deny", "format",
        ],
    ),
    ("diff", &["json", "format"]),
    ("explain", &[]),
    ("schema", &[]),
];

/// Reads the arguments.
///
/// # Errors
/// What is wrong with them, in one line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let command = match parser.next().map_err(|error| error.to_string())? {
        None => return Err("no subcommand: expected show, check, diff, explain or schema".into()),
        Some(Short('h') | Long("help")) => return Ok(Asked::Text(HELP.into())),
        Some(Short('V') | Long("version")) => {
            return Ok(Asked::Text(
                concat!("pte ", env!("CARGO_PKG_VERSION"), "\n").into(),
            ));
        }
        Some(Value(command)) => command.to_string_lossy().into_owned(),
        Some(other) => return Err(other.unexpected().to_string()),
    };
    if command == "help" {
        return Ok(Asked::Text(HELP.into()));
    }
    let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == command) else {
        return Err(format!(
            "`{command}` is no subcommand: expected show, check, diff, explain or schema"
        ));
    };
    let mut given = Given::default();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let name = match argument {
            Short('h') | Long("help") => return Ok(Asked::Text(HELP.into())),
            Value(value) => {
                given.words.push(value.to_string_lossy().into_owned());
                given.files.push(value.into());
                continue;
            }
            Long(name) if name == "color" || known.contains(&name) => name.to_owned(),
            Long(name) if KNOWN.iter().any(|(_, options)| options.contains(&name)) => {
                return Err(format!("--{name} is no option of `pte {command}`"));
            }
            other => return Err(other.unexpected().to_string()),
        };
        given.take(&name, &mut parser)?;
    }
    given.asked(&command)
}

impl Given {
    fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), String> {
        if name == "json" {
            self.format = Some(Format::Json);
            return Ok(());
        }
        let value = parser.value().map_err(|error| error.to_string())?;
        if name == "data" {
            let files = self.data.get_or_insert_default();
            if value != "none" {
                files.push(value.into());
            }
            return Ok(());
        }
        let text = value
            .into_string()
            .map_err(|_| format!("the value of --{name} is no UTF-8"))?;
        match name {
            "method" => self.method = Some(text),
            "caller" => self.caller = Some(text.parse()?),
            "runtime" => self.runtime = Some(text.parse()?),
            "expect" => {
                let words = text.split(',').map(Expectation::from_str);
                self.expect.extend(words.collect::<Result<Vec<_>, _>>()?);
            }
            "deny" => {
                self.deny = Some(choice(
                    "deny",
                    &text,
                    &[
                        ("error", Level::Error),
                        ("warning", Level::Warning),
                        ("note", Level::Note),
                    ],
                )?);
            }
            "format" => {
                let formats = [
                    ("text", Format::Text),
                    ("json", Format::Json),
                    ("sarif", Format::Sarif),
                    ("github", Format::Github),
                ];
                self.format = Some(choice("format", &text, &formats)?);
            }
            _ => {
                self.color = choice(
                    "color",
                    &text,
                    &[
                        ("auto", None),
                        ("always", Some(true)),
                        ("never", Some(false)),
                    ],
                )?;
            }
        }
        Ok(())
    }

    fn asked(self, command: &str) -> Result<Asked, String> {
        if matches!(command, "show" | "check") && self.files.is_empty() {
            return Err(format!(
                "`pte {command}` needs a file, or `-` for standard input"
            ));
        }
        let json = self.format == Some(Format::Json);
        match command {
            "show" => Ok(Asked::Show(Show {
                files: self.files,
                method: self.method,
                json,
            })),
            "check" => Ok(Asked::Check(Check {
                files: self.files,
                method: self.method,
                caller: self.caller,
                runtime: self.runtime.unwrap_or(Runtime::MEASURED),
                data: self.data,
                expect: self.expect,
                deny: self.deny.unwrap_or(Level::Error),
                format: self.format.unwrap_or(Format::Text),
                color: self.color.unwrap_or_else(|| {
                    std::env::var_os("NO_COLOR").is_none() && std::io::stdout().is_terminal()
                }),
            })),
            "diff" => {
                if !matches!(self.format, None | Some(Format::Text | Format::Json)) {
                    return Err("--format of `pte diff` is text or json".into());
                }
                match <[PathBuf; 2]>::try_from(self.files) {
                    Ok([old, new]) => Ok(Asked::Diff(Diff { old, new, json })),
                    Err(files) => Err(format!(
                        "`pte diff` needs two files, the old and the new, and got {}",
                        files.len()
                    )),
                }
            }
            "explain" => match self.words.as_slice() {
                [] => Ok(Asked::Explain(None)),
                [rule] => Ok(Asked::Explain(Some(rule.parse()?))),
                _ => Err("`pte explain` explains one rule at a time".into()),
            },
            _ => match self
                .words
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .as_slice()
            {
                [] | ["show"] => Ok(Asked::Text(super::show::schema())),
                ["check"] => Ok(Asked::Text(super::check::schema())),
                ["diff"] => Ok(Asked::Text(super::diff::schema())),
                _ => Err("`pte schema` knows show, check and diff".into()),
            },
        }
    }
}

/// One of a few words.
fn choice<T: Copy>(option: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let known = words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value);
    known.ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("--{option} is one of {}, not `{text}`", words.join(", "))
    })
}
