//! Runs listings in Python: one process imports ExecuTorch, which takes seconds, and forks for each listing.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Failures, Kind};
use crate::listing::{Listing, Outcome};
use crate::runner::{Broken, Ended, Run, Runner, beside};

/// The process that forks: `python/host.py`.
const HOST: &str = include_str!("../python/host.py");

/// A program to run.
#[derive(Serialize)]
struct Request<'a> {
    program: &'a Path,
    /// Where it runs.
    folder: &'a Path,
    stdout: &'a Path,
    stderr: &'a Path,
    /// The library of the device that stands in for a GPU.
    device: &'a Path,
    seconds: f32,
    /// How much it may print on either stream.
    bytes: u64,
}

/// How it ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The exit code, or minus the signal; none if the time was over.
    ended: Option<i32>,
}

/// A Python process that is importing ExecuTorch, or has imported it.
pub(crate) struct Host {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it says besides.
    stderr: tempfile::NamedTempFile,
}

impl Host {
    /// Starts importing, and returns at once.
    ///
    /// # Errors
    ///
    /// When there is no Python.
    pub(crate) fn start(runner: &Runner) -> Result<Self, Failures> {
        let python = runner.root().join(".venv/bin/python");
        let failed = |error: std::io::Error| {
            let failure = Failure::new(
                Kind::NotSetUp,
                "python",
                ".venv/bin/python",
                1,
                "Python with ExecuTorch, which `cargo xtask setup` installs",
                error.to_string(),
            );
            Failures::from(failure.repeated_by("cargo xtask setup"))
        };
        let stderr = tempfile::NamedTempFile::new().map_err(failed)?;
        let mut command = runner.command(&python);
        command
            // Nothing of the user's own, and the listings' own module.
            .args(["-s", "-P", "-B", "-c", HOST])
            .env_remove("PYTHONHOME")
            .env("PYTHONPATH", runner.root().join("listings"))
            // A driver would find none of the stand-in's addresses.
            .env("CUDA_VISIBLE_DEVICES", "")
            .current_dir(runner.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(stderr.reopen().map_err(failed)?));
        let mut child = command.spawn().map_err(failed)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self {
                child,
                requests,
                answers: BufReader::new(answers),
                stderr,
            }),
            _ => Err(failed(std::io::Error::other("its pipes were not opened"))),
        }
    }

    /// Runs one listing beside `files`, as [`Runner::run`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn run(
        &mut self,
        runner: &Runner,
        listing: &Listing,
        files: &[PathBuf],
        device: &Path,
    ) -> Result<Run, Failures> {
        let start = Instant::now();
        let ended = self.ended(runner, listing, files, device);
        let ended = ended.map_err(|broken| runner.broken(listing, broken))?;
        Ok(runner.run_of(&ended, Vec::new(), start.elapsed()))
    }

    fn ended(
        &mut self,
        runner: &Runner,
        listing: &Listing,
        files: &[PathBuf],
        device: &Path,
    ) -> Result<Ended, Broken> {
        let folder = beside(files).map_err(Broken::System)?;
        let streams = tempfile::tempdir().map_err(Broken::System)?;
        let limits = runner.limits();
        let stream = |name: &str| streams.path().join(name);
        let request = Request {
            program: &runner.root().join(listing.source()),
            folder: folder.path(),
            stdout: &stream("stdout"),
            stderr: &stream("stderr"),
            device,
            seconds: limits.time.as_secs_f32(),
            bytes: limits.output + 1,
        };
        let text = serde_json::to_string(&request).map_err(|error| Broken::System(error.into()))?;
        // A host that is gone says why below.
        let _ = writeln!(self.requests, "{text}");
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        let answer = read
            .ok()
            .and_then(|_| serde_json::from_str::<Answer>(&line).ok());
        let Some(answer) = answer else {
            let said = fs::read_to_string(self.stderr.path()).unwrap_or_default();
            let last = said.trim_end().lines().last().unwrap_or("it ended");
            return Err(Broken::System(std::io::Error::other(format!(
                "Python cannot run listings: {last}"
            ))));
        };
        let mut written = Vec::new();
        for name in ["stdout", "stderr"] {
            let bytes = fs::read(stream(name)).unwrap_or_default();
            if u64::try_from(bytes.len()).is_ok_and(|length| length > limits.output) {
                return Err(Broken::Output(if name == "stdout" {
                    "standard output"
                } else {
                    "standard error"
                }));
            }
            written.push(bytes);
        }
        let stderr = written.pop().unwrap_or_default();
        Ok(Ended {
            outcome: match answer.ended.ok_or(Broken::Time)? {
                signal @ ..0 => Outcome::Signal(-signal),
                code => Outcome::Exit(code),
            },
            stdout: written.pop().unwrap_or_default(),
            stderr,
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It waits for a program, and runs none.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
