//! The callers' processes.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use crate::judge::End;
use crate::observe::{Case, Observation};
use crate::{Caller, Error};

/// What a caller is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    Rust,
    Cpp,
    Python,
}

impl Language {
    pub(crate) fn of(caller: Caller) -> Self {
        match caller {
            Caller::Rust | Caller::RustPublic => Self::Rust,
            Caller::Cpp => Self::Cpp,
            Caller::PythonRuntime | Caller::PythonLoad => Self::Python,
        }
    }
}

/// What runs one language's cases, one after the other, each in a process of its own.
pub(crate) enum Runner {
    /// This program, started for each case.
    Rust(PathBuf),
    /// A program that forks for each case.
    Forking(Forking),
}

/// A program that reads a case a line, and after what the forked process says writes how it ended: an [`Ended`].
pub(crate) struct Forking {
    child: Child,
    cases: ChildStdin,
    lines: BufReader<ChildStdout>,
}

/// The last line of a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    /// The exit code, or minus the signal.
    ended: i32,
}

impl Runner {
    pub(crate) fn new(language: Language) -> Result<Self, Error> {
        let command = match language {
            Language::Rust => {
                let own = env::current_exe().map_err(Error::io("/proc/self/exe"))?;
                return Ok(Self::Rust(own));
            }
            Language::Cpp => {
                let mut command = Command::new(env!("CPP_CALLER"));
                command.arg(library()?);
                command
            }
            Language::Python => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR"));
                let mut command = Command::new(root.join("../../.venv/bin/python"));
                command
                    // Nothing of the user's own; `-I` would ignore the first of the variables too.
                    .args(["-s", "-P"])
                    .env_remove("PYTHONPATH")
                    .env_remove("PYTHONHOME")
                    // PyTorch's and ExecuTorch's modules are 400 MB of heap: in huge pages, where the system has them,
                    // a fork takes 3 ms instead of 17 and its end a third of the time.
                    .env("PYTHONMALLOC", "malloc")
                    .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
                    .arg(root.join("python/caller.py"))
                    .arg(library()?);
                command
            }
        };
        Ok(Self::Forking(Forking::start(command)?))
    }

    /// Runs a case: what was seen, and how it ended.
    pub(crate) fn run(&mut self, case: &Case) -> Result<(Vec<Observation>, End), Error> {
        let failed = |why: String| Error::Case {
            case: format!("{} {}", case.key, case.policy),
            why,
        };
        let (lines, ended) = match self {
            Self::Rust(program) => {
                let output = Command::new(&*program)
                    .arg("case")
                    .arg(case.to_line())
                    .output()
                    .map_err(Error::io(program))?;
                let status = output.status;
                let ended = status.code().or(status.signal().map(|signal| -signal));
                if status.code().is_some_and(|code| code != 0) {
                    return Err(failed(
                        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                    ));
                }
                let lines = String::from_utf8_lossy(&output.stdout)
                    .lines()
                    .map(str::to_owned)
                    .collect();
                (lines, ended.unwrap_or(0))
            }
            Self::Forking(process) => process.run(&case.to_line()).map_err(failed)?,
        };
        let end = match ended {
            0 => End::Exited,
            code if code > 0 => return Err(failed(format!("the caller gave up with {code}"))),
            signal => End::Signal(-signal),
        };
        // The only path of this machine that a message can hold.
        let path = case.pte.display().to_string();
        let observations = lines.iter().map(|line: &String| {
            serde_json::from_str(&line.replace(&path, "<program>"))
                .map_err(|error| failed(format!("`{line}`: {error}")))
        });
        Ok((observations.collect::<Result<_, _>>()?, end))
    }
}

impl Forking {
    fn start(mut command: Command) -> Result<Self, Error> {
        let program = PathBuf::from(command.get_program());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::io(&program))?;
        let (Some(cases), Some(lines)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::io(&program)(std::io::Error::other(
                "its pipes could not be opened",
            )));
        };
        Ok(Self {
            child,
            cases,
            lines: BufReader::new(lines),
        })
    }

    /// The lines that a case wrote, and how it ended.
    fn run(&mut self, case: &str) -> Result<(Vec<String>, i32), String> {
        writeln!(self.cases, "{case}").map_err(|error| format!("the caller is gone: {error}"))?;
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            match self.lines.read_line(&mut line) {
                Ok(1..) => {}
                Ok(0) => return Err("the caller ended without an answer".to_owned()),
                Err(error) => return Err(format!("the caller's output: {error}")),
            }
            if let Ok(Ended { ended }) = serde_json::from_str(&line) {
                return Ok((lines, ended));
            }
            lines.push(line);
        }
    }
}

impl Drop for Forking {
    fn drop(&mut self) {
        // It waits for a case, and runs none.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The device for callers in other languages, as cargo builds it now: it is not a dependency, see its README.
fn library() -> Result<PathBuf, Error> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["build", "--quiet", "--package", "device-library"])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit());
    // As this program's own device is built: another would take the place of one that is in use.
    if !device::PLANTED_FAULTS.is_empty() {
        command.args(["--features", "device/planted"]);
    }
    let output = command.output().map_err(Error::io("cargo"))?;
    let built = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "guide_device")
        .find_map(|message| Some(PathBuf::from(message["filenames"][0].as_str()?)));
    built.filter(|_| output.status.success()).ok_or_else(|| {
        let why = "it does not build; repeat with: cargo build -p device-library";
        Error::io("crates/device-library")(std::io::Error::other(why))
    })
}
