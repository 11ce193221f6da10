//! Runs listings in Python: one process imports ExecuTorch, which takes seconds, and forks for each listing.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::exports;
use crate::failure::{Failure, Failures, Kind};
use crate::listing::{Listing, Outcome};
use crate::runner::{Broken, Ended, Limits, Run, Runner, beside};
use crate::workspace::Workspace;

/// The process that forks: `python/host.py`.
const HOST: &str = include_str!("../python/host.py");

/// A program to run.
#[derive(Serialize)]
struct Request {
    program: PathBuf,
    /// Where it runs.
    folder: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
    /// The library of the device that stands in for a GPU.
    device: PathBuf,
    seconds: f32,
    /// How much it may print on either stream.
    bytes: u64,
}

/// How it ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// Which of the programs that were asked for at once.
    number: usize,
    /// The exit code, or minus the signal; none if the time was over.
    ended: Option<i32>,
}

/// The folder of the sockets where a process that has imported ExecuTorch already answers: see [`share`].
const SHARED_VARIABLE: &str = "GUIDE_PYTHON_HOST";

/// A Python process that is importing ExecuTorch, or has imported it.
pub(crate) struct Host {
    requests: Box<dyn Write + Send>,
    answers: BufReader<Box<dyn Read + Send>>,
    /// None if it is another process's.
    own: Option<Own>,
}

/// A process that ends with its [`Host`].
struct Own {
    child: Child,
    /// What it says besides.
    stderr: tempfile::NamedTempFile,
}

impl Host {
    /// The process that `$GUIDE_PYTHON_HOST` shares, if there is one for just these circumstances; else starts one, and returns
    /// at once.
    ///
    /// # Errors
    ///
    /// When there is no Python.
    pub(crate) fn start(runner: &Runner) -> Result<Self, Failures> {
        if let Some(stream) = shared(runner)
            && let Ok(writing) = stream.try_clone()
        {
            return Ok(Self {
                requests: Box::new(writing),
                answers: BufReader::new(Box::new(stream)),
                own: None,
            });
        }
        let stderr = tempfile::NamedTempFile::new().map_err(not_set_up)?;
        let mut command = command(runner);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(stderr.reopen().map_err(not_set_up)?));
        let mut child = command.spawn().map_err(not_set_up)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self {
                requests: Box::new(requests),
                answers: BufReader::new(Box::new(answers)),
                own: Some(Own { child, stderr }),
            }),
            _ => Err(not_set_up("its pipes were not opened")),
        }
    }

    /// Runs several listings at once, as many as there are processors, each beside the exported files of its folder, as
    /// [`Runner::run`] does, and gives back each run or what kept it from being one.
    pub(crate) fn run_all(
        &mut self,
        runner: &Runner,
        work: &[(&Listing, &[PathBuf])],
        device: &Path,
    ) -> BTreeMap<String, Result<Run, Failures>> {
        let start = Instant::now();
        let mut runs = BTreeMap::new();
        let mut places = Vec::new();
        for (listing, files) in work {
            match Place::beside(files) {
                Ok(place) => places.push((*listing, place)),
                Err(error) => {
                    let broken = runner.broken(listing, Broken::System(error));
                    runs.insert(listing.name.clone(), Err(broken));
                }
            }
        }
        let requests: Vec<_> = places
            .iter()
            .map(|(listing, place)| place.request(runner, listing, device))
            .collect();
        let asked = serde_json::to_string(&requests).unwrap_or_default();
        if !requests.is_empty() {
            // A host that is gone says why below.
            let _ = writeln!(self.requests, "{asked}");
        }
        for _ in &places {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line);
            let answer = read
                .ok()
                .and_then(|_| serde_json::from_str::<Answer>(&line).ok());
            let Some((answer, (listing, place))) =
                answer.and_then(|answer| Some((answer.ended, places.get(answer.number)?)))
            else {
                break;
            };
            let run = match place.ended(answer, runner.limits()) {
                Ok(ended) => Ok(runner.run_of(&ended, Vec::new(), start.elapsed())),
                Err(broken) => Err(runner.broken(listing, broken)),
            };
            runs.insert(listing.name.clone(), run);
        }
        for (listing, _) in places {
            runs.entry(listing.name.clone())
                .or_insert_with(|| Err(runner.broken(listing, self.gone())));
        }
        runs
    }

    /// Why the host answers no more.
    fn gone(&self) -> Broken {
        let stderr = self.own.as_ref().map(|own| own.stderr.path());
        let said = stderr
            .and_then(|path| fs::read_to_string(path).ok())
            .unwrap_or_default();
        let last = said.trim_end().lines().last().unwrap_or("it ended");
        Broken::System(io::Error::other(format!(
            "Python cannot run listings: {last}"
        )))
    }
}

/// Where a program runs, and what it says.
struct Place {
    folder: tempfile::TempDir,
    streams: tempfile::TempDir,
}

impl Place {
    fn beside(files: &[PathBuf]) -> io::Result<Self> {
        Ok(Self {
            folder: beside(files)?,
            streams: tempfile::tempdir()?,
        })
    }

    fn stream(&self, name: &str) -> PathBuf {
        self.streams.path().join(name)
    }

    fn request(&self, runner: &Runner, listing: &Listing, device: &Path) -> Request {
        let limits = runner.limits();
        Request {
            program: runner.root().join(listing.source()),
            folder: self.folder.path().to_owned(),
            stdout: self.stream("stdout"),
            stderr: self.stream("stderr"),
            device: device.to_owned(),
            seconds: limits.time.as_secs_f32(),
            bytes: limits.output + 1,
        }
    }

    /// What there is of a run that ended so.
    fn ended(&self, ended: Option<i32>, limits: Limits) -> Result<Ended, Broken> {
        let mut written = Vec::new();
        for name in ["stdout", "stderr"] {
            let bytes = fs::read(self.stream(name)).unwrap_or_default();
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
            outcome: match ended.ok_or(Broken::Time)? {
                signal @ ..0 => Outcome::Signal(-signal),
                code => Outcome::Exit(code),
            },
            stdout: written.pop().unwrap_or_default(),
            stderr,
        })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // It waits for a program, and runs none.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Python as it runs listings.
fn command(runner: &Runner) -> Command {
    let mut command = runner.command(&runner.root().join(".venv/bin/python"));
    command
        // Nothing of the user's own, and the listings' own module.
        .args(["-s", "-P", "-B", "-c", HOST])
        .env_remove("PYTHONHOME")
        .env("PYTHONPATH", runner.root().join("listings"))
        // A driver would find none of the stand-in's addresses.
        .env("CUDA_VISIBLE_DEVICES", "")
        .current_dir(runner.root());
    command
}

fn not_set_up(error: impl std::fmt::Display) -> Failures {
    let failure = Failure::new(
        Kind::NotSetUp,
        "python",
        ".venv/bin/python",
        1,
        "Python with ExecuTorch, which `cargo xtask setup` installs",
        error.to_string(),
    );
    failure.repeated_by("cargo xtask setup").into()
}

/// The socket in `folder` for a process that would be started now: named after all that it is made of, so that nobody
/// meets one of other libraries or another environment.
fn socket(runner: &Runner, folder: &Path) -> Result<PathBuf, export::Error> {
    let name = runner.circumstances(&[runner.root().as_os_str(), OsStr::new(HOST)])?;
    // A socket's path has 107 bytes at most.
    Ok(folder.join(&name[..16]))
}

fn shared(runner: &Runner) -> Option<UnixStream> {
    let folder = env::var_os(SHARED_VARIABLE)?;
    UnixStream::connect(socket(runner, Path::new(&folder)).ok()?).ok()
}

/// Imports ExecuTorch once for all runs whose `$GUIDE_PYTHON_HOST` is `folder`, and forks for their listings in Python, until
/// standard input ends. They notice when the installation, the environment or the workspace is another than here, and
/// import for themselves. Prints an empty line once it can be connected to.
///
/// # Errors
///
/// When there is no Python, or no socket can be made in `folder`.
pub fn share(workspace: &Workspace, folder: &Path) -> Result<(), Failures> {
    let exporter = exports::exporter(workspace)?;
    let runner = Runner::new(workspace, &exporter, Limits::from_environment()?)?;
    let socket = socket(&runner, folder).map_err(not_set_up)?;
    let ended = command(&runner).arg(socket).status().map_err(not_set_up)?;
    if ended.success() {
        Ok(())
    } else {
        Err(not_set_up(ended))
    }
}
