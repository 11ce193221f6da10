//! The exporting process: started once for any number of programs, never outlived, never waited for in vain.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Starting Python and importing PyTorch and ExecuTorch, as it is called where no program can be blamed.
const STARTING: &str = "starting Python";

/// How much of what it wrote to standard error is kept, from the end.
const KEPT_OUTPUT: usize = 64 * 1024;

/// Work that takes longer says so.
const QUIET: Duration = Duration::from_secs(2);

/// What the process is given on the first line of its standard input.
#[derive(Serialize)]
pub(crate) struct Asked<'a> {
    /// A Python file to run before the first recipe.
    pub plant: Option<&'a Path>,
    /// What to export, in order.
    pub requests: Vec<Job<'a>>,
}

/// One program to export.
#[derive(Serialize)]
pub(crate) struct Job<'a> {
    /// For people.
    pub name: String,
    /// Where to leave its files.
    pub folder: &'a Path,
    /// What to export.
    #[serde(flatten)]
    pub what: What<'a>,
}

/// Where a program comes from.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum What<'a> {
    /// A listing's own file.
    Recipe { recipe: &'a Path, program: &'a str },
    /// A model of `guide_export.models`.
    Config {
        model: &'a str,
        config: &'a crate::ExecutorchBackendConfig,
    },
}

/// What the process answers, a line at a time.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// Everything is imported.
    Ready {},
    /// The next program's files are there.
    Exported {},
    /// The next program raised.
    Failed {
        kind: String,
        message: String,
        traceback: String,
    },
}

/// How one program ended.
pub(crate) type Outcome = Result<(), Error>;

/// Exports every job, calling `done` as each ends. A process that dies or hangs costs the program that it was at, and
/// the rest is given to a new one.
pub(crate) fn export(
    interpreter: &Path,
    program: &Path,
    folder: &Path,
    mut asked: Asked<'_>,
    limit: Duration,
    mut done: impl FnMut(usize, Outcome),
) -> Result<(), Error> {
    let total = asked.requests.len();
    let started = Instant::now();
    while !asked.requests.is_empty() {
        let mut process = Process::start(interpreter, program, folder, &asked)?;
        process.next(STARTING, limit, started)?;
        let offset = total - asked.requests.len();
        let mut answered = 0;
        for job in &asked.requests {
            if started.elapsed() > QUIET {
                eprintln!("export: {}/{total} {}", offset + answered + 1, job.name);
            }
            let answer = process.next(&job.name, limit, started);
            let gone = matches!(answer, Err(Error::Died { .. } | Error::TimedOut { .. }));
            done(offset + answered, answer);
            answered += 1;
            if gone {
                break;
            }
        }
        asked.requests.drain(..answered);
    }
    Ok(())
}

/// A running process, killed with its group and reaped when this goes out of scope.
struct Process {
    child: Child,
    group: Pid,
    answers: Receiver<String>,
    output: Arc<Mutex<Vec<u8>>>,
    /// Keeps standard input open: its end tells the process that we are gone.
    _alive: Sender<()>,
}

impl Process {
    fn start(
        interpreter: &Path,
        program: &Path,
        folder: &Path,
        asked: &Asked<'_>,
    ) -> Result<Self, Error> {
        let mut command = Command::new(interpreter);
        // Isolated: no user site-packages, no PYTHON* variable, no current folder on the path. What is exported may not
        // depend on who asks.
        command
            .arg("-I")
            .arg(program)
            .current_dir(folder)
            .env_clear()
            .env("LANG", "C.UTF-8");
        for name in ["PATH", "HOME", "TMPDIR"] {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().map_err(Error::io(interpreter))?;
        let missing =
            || Error::io(interpreter)(std::io::Error::other("its pipes could not be opened"));
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut line =
            serde_json::to_vec(asked).map_err(|error| Error::io(program)(error.into()))?;
        line.push(b'\n');
        Ok(Self {
            group: Pid::from_child(&child),
            answers: lines(stdout.ok_or_else(missing)?),
            output: tail(stderr.ok_or_else(missing)?),
            _alive: feed(stdin.ok_or_else(missing)?, line),
            child,
        })
    }

    /// The next answer.
    fn next(&mut self, job: &str, limit: Duration, started: Instant) -> Outcome {
        let deadline = Instant::now() + limit;
        let mut say_so = Some(started + QUIET).filter(|_| job == STARTING);
        loop {
            let now = Instant::now();
            if say_so.take_if(|at| now > *at).is_some() {
                eprintln!("export: {job}, PyTorch and ExecuTorch");
            }
            let wait = deadline
                .saturating_duration_since(now)
                .min(Duration::from_millis(100));
            match self.answers.recv_timeout(wait) {
                Ok(line) => return self.understand(job, &line),
                Err(RecvTimeoutError::Timeout) if deadline <= now => {
                    return Err(Error::TimedOut {
                        program: job.to_owned(),
                        limit,
                    });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.died(job).unwrap_or_else(|| Error::Died {
                        program: job.to_owned(),
                        status: "its standard output was closed".to_owned(),
                        output: self.output(),
                    }));
                }
            }
        }
    }

    fn understand(&mut self, job: &str, line: &str) -> Outcome {
        match serde_json::from_str(line) {
            Ok(Answer::Ready {} | Answer::Exported {}) => Ok(()),
            Ok(Answer::Failed {
                kind,
                message,
                traceback,
            }) => Err(Error::Python {
                program: job.to_owned(),
                kind,
                message,
                traceback,
            }),
            Err(error) => Err(Error::Died {
                program: job.to_owned(),
                status: format!("it answered `{line}`: {error}"),
                output: self.output(),
            }),
        }
    }

    /// How it ended, waiting a moment for it to.
    fn died(&mut self, job: &str) -> Option<Error> {
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(Error::Died {
                    program: job.to_owned(),
                    status: status.to_string(),
                    output: self.output(),
                });
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn output(&self) -> String {
        let output = self
            .output
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        String::from_utf8_lossy(&output).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // All it had to write is written and closed. Its group first: once reaped, the id may be somebody else's.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Writes in a thread of its own, since a process that hangs does not read; then keeps the pipe open until the sender is
/// gone. A process that is gone itself is noticed by what it answers.
fn feed(mut stdin: ChildStdin, line: Vec<u8>) -> Sender<()> {
    let (alive, until) = mpsc::channel();
    thread::spawn(move || {
        let _ = stdin.write_all(&line);
        let _ = until.recv();
    });
    alive
}

/// Reads lines in a thread of its own, so that waiting for one can have a limit.
fn lines(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Keeps the end of what is read.
fn tail(mut stderr: impl Read + Send + 'static) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&kept);
    thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut chunk) {
            let mut kept = shared
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            kept.extend_from_slice(&chunk[..read]);
            let excess = kept.len().saturating_sub(KEPT_OUTPUT);
            kept.drain(..excess);
        }
    });
    kept
}
