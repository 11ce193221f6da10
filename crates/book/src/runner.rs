//! Runs listings: the one place where a program of the book is started.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use export::Exporter;
use proof::Record;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::failure::{Failure, Failures, Kind};
use crate::fingerprint::hex;
use crate::listing::{Language, Listing, Outcome};
use crate::normalise::normalise;
use crate::workspace::{ROOT_VARIABLE, Workspace};

/// Cargo features with which the listings are built; for the tests that plant faults in the device.
pub(crate) const FEATURES_VARIABLE: &str = "GUIDE_FEATURES";

/// What a listing inherits of our own variables: how programs are exported, the fault that a test plants in the device,
/// and whether ExecuTorch's log goes to standard error.
const PASSED: &[&str] = &[
    "GUIDE_CACHE",
    "GUIDE_EXPORT_PLANT",
    "GUIDE_EXPORT_TIMEOUT",
    "GUIDE_DEVICE_PLANT",
    "GUIDE_LOG",
];

/// Seconds that a listing may take; for slow machines.
const TIMEOUT_VARIABLE: &str = "GUIDE_LISTING_TIMEOUT";

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the start to the end.
    pub time: Duration,
    /// Bytes of standard output, and as many of standard error.
    pub output: u64,
}

impl Limits {
    /// One minute, or `$GUIDE_LISTING_TIMEOUT` seconds, and one mebibyte.
    ///
    /// # Errors
    ///
    /// When the variable is no number of seconds.
    pub fn from_environment() -> Result<Self, Failures> {
        let mut limits = Self {
            time: Duration::from_secs(60),
            output: 1 << 20,
        };
        if let Some(value) = env::var_os(TIMEOUT_VARIABLE) {
            let seconds = value.to_str().and_then(|value| value.parse().ok());
            let seconds = seconds.filter(|seconds| *seconds > 0).ok_or_else(|| {
                let expected = "a whole number of seconds above 0";
                let seen = value.to_string_lossy().into_owned();
                Failure::new(
                    Kind::RunFails,
                    TIMEOUT_VARIABLE,
                    "listings",
                    1,
                    expected,
                    seen,
                )
            })?;
            limits.time = Duration::from_secs(seconds);
        }
        Ok(limits)
    }
}

/// What a listing did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Standard output, without what differs from run to run.
    pub stdout: String,
    /// Standard error as it was.
    pub stderr: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Its claims and facts, in their order.
    pub records: Vec<Record>,
    /// How long it took.
    pub took: Duration,
}

impl Run {
    /// The last lines of standard error, for a report.
    pub(crate) fn last_words(&self) -> String {
        let lines: Vec<_> = self.stderr.trim_end().lines().collect();
        let from = lines.len().saturating_sub(8);
        lines[from..].join("\n")
    }
}

/// The programs of the listings, by name, as they were built from the sources of this moment.
pub type Binaries = BTreeMap<String, PathBuf>;

/// The library of the device that stands in for a GPU, for listings in other languages, as cargo builds it now.
///
/// # Errors
///
/// What the compiler or cargo said, whole.
pub(crate) fn device_library(workspace: &Workspace) -> Result<PathBuf, Failures> {
    // A book about something else has none.
    let members = fs::read_to_string(workspace.root().join("Cargo.toml"));
    if !members.is_ok_and(|text| text.contains("crates/device-library")) {
        return Ok(PathBuf::new());
    }
    let mut cargo = cargo_build(workspace, &["--package", "device-library"]);
    with_features(&mut cargo);
    let mut built = made(cargo)?;
    Ok(built.remove("guide_device").unwrap_or_default())
}

/// Builds every listing in Rust and says where cargo put the programs.
///
/// With nothing changed this costs what it costs cargo to see that.
///
/// # Errors
///
/// What the compiler or cargo said, whole.
pub fn build(workspace: &Workspace) -> Result<Binaries, Failures> {
    let mut cargo = cargo_build(workspace, &["--package", "listings", "--bins"]);
    with_features(&mut cargo);
    made(cargo)
}

/// `cargo build` of what `selection` selects.
pub(crate) fn cargo_build(workspace: &Workspace, selection: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .arg("build")
        .args(selection)
        .current_dir(workspace.root());
    command
}

/// With the features that the listings are to have.
fn with_features(cargo: &mut Command) {
    if let Some(features) = env::var_os(FEATURES_VARIABLE) {
        cargo.arg("--features").arg(features);
    }
}

/// Builds what `command` builds: its programs and shared libraries, by name.
///
/// # Errors
///
/// What the compiler or cargo said, whole.
pub(crate) fn made(mut command: Command) -> Result<Binaries, Failures> {
    let repeat = command.get_args().map(OsStr::to_string_lossy);
    let repeat = format!("cargo {}", repeat.collect::<Vec<_>>().join(" "));
    command
        .arg("--message-format=json")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failure = |file: &str, line: usize, seen: String| {
        Failure::new(
            Kind::ListingsDoNotCompile,
            "listings",
            file,
            line,
            "listings that compile",
            seen,
        )
        .repeated_by(&repeat)
    };
    let started = |error: io::Error| {
        failure(
            "listings/Cargo.toml",
            1,
            format!("cannot run cargo: {error}"),
        )
    };

    let mut child = command.spawn().map_err(started)?;
    let progress = child
        .stderr
        .take()
        .map(|stderr| thread::spawn(move || show_progress(stderr)));
    let mut binaries = Binaries::new();
    let mut errors = Vec::new();
    let mut place = None;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            match message["reason"].as_str() {
                Some("compiler-artifact") => {
                    let target = &message["target"];
                    let path = match target["kind"][0].as_str() {
                        Some("bin") => &message["executable"],
                        Some("cdylib") => &message["filenames"][0],
                        _ => continue,
                    };
                    if let (Some(name), Some(path)) = (target["name"].as_str(), path.as_str()) {
                        binaries.insert(name.to_owned(), path.into());
                    }
                }
                Some("compiler-message") if message["message"]["level"] == "error" => {
                    let message = &message["message"];
                    errors.push(
                        message["rendered"]
                            .as_str()
                            .unwrap_or_default()
                            .trim_end()
                            .to_owned(),
                    );
                    let span = &message["spans"][0];
                    if let (None, Some(file), Some(line)) = (
                        &place,
                        span["file_name"].as_str(),
                        span["line_start"].as_u64(),
                    ) {
                        place = Some((file.to_owned(), usize::try_from(line).unwrap_or(1)));
                    }
                }
                _ => {}
            }
        }
    }
    let status = child.wait().map_err(started)?;
    let said = progress
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    if status.success() {
        return Ok(binaries);
    }
    let (file, line) = place.unwrap_or_else(|| ("listings/Cargo.toml".to_owned(), 1));
    if errors.is_empty() {
        errors.push(said);
    }
    Err(failure(&file, line, errors.join("\n")).into())
}

/// Passes cargo's progress on, since a first build takes minutes, and keeps what it said.
fn show_progress(stderr: impl Read) -> String {
    let mut said = String::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if ["Compiling", "Downloading", "Downloaded", "Blocking"]
            .iter()
            .any(|word| line.trim_start().starts_with(word))
        {
            eprintln!("{line}");
        } else {
            said.push_str(&line);
            said.push('\n');
        }
    }
    said
}

/// Runs listings: the same way for the book, for the tests and for `bless`.
#[derive(Debug)]
pub struct Runner<'a> {
    workspace: &'a Workspace,
    runtime_lib: PathBuf,
    exporter: &'a Exporter,
    limits: Limits,
}

impl<'a> Runner<'a> {
    /// A runner in `workspace`, whose listings find their programs where `exporter` put them.
    ///
    /// # Errors
    ///
    /// When the runtime's libraries are not where they must be.
    pub fn new(
        workspace: &'a Workspace,
        exporter: &'a Exporter,
        limits: Limits,
    ) -> Result<Self, Failures> {
        Ok(Self {
            workspace,
            runtime_lib: workspace.runtime_lib()?,
            exporter,
            limits,
        })
    }

    /// Runs several listings at once, as many as there are processors, each with the exported files of its folder, and gives
    /// back each run or what kept it from being one.
    pub(crate) fn run_all(
        &self,
        work: &[(&Listing, &Path, &[PathBuf])],
    ) -> BTreeMap<String, Result<Run, Failures>> {
        let next = AtomicUsize::new(0);
        let runs = Mutex::new(BTreeMap::new());
        let workers = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(work.len());
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some((listing, executable, files)) =
                        work.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let run = self.run(listing, executable, files);
                        let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                        runs.insert(listing.name.clone(), run);
                    }
                });
            }
        });
        runs.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one listing: `executable` with the runtime's libraries. One in Rust runs in the workspace's root, exports for
    /// itself and has a file for its records; one in C++ runs beside `files`, which is what a reader has.
    ///
    /// The processes that it started end with it. A run that outlives the limits is ended and is no run.
    ///
    /// # Errors
    ///
    /// When it cannot be started, breaks a limit (which the failure names), or leaves an unreadable record.
    pub fn run(
        &self,
        listing: &Listing,
        executable: &Path,
        files: &[PathBuf],
    ) -> Result<Run, Failures> {
        let fails = |error| self.broken(listing, Broken::System(error));
        let facts = tempfile::NamedTempFile::new().map_err(fails)?;
        let folder = beside(files).map_err(fails)?;
        let mut command = self.command(executable);
        command.current_dir(folder.path());
        if listing.language == Language::Rust {
            command
                .current_dir(self.workspace.root())
                .env(proof::FACTS_VARIABLE, facts.path())
                .env(ROOT_VARIABLE, self.workspace.root())
                .env("RUST_BACKTRACE", "0");
            if listing.exports {
                // Only saves the listing from looking at the installation itself.
                let _ = self.exporter.hand_down(&mut command);
            }
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);

        let start = Instant::now();
        let ended = command
            .spawn()
            .map_err(Broken::System)
            .and_then(|child| watch(child, self.limits))
            .map_err(|broken| self.broken(listing, broken))?;
        let took = start.elapsed();
        let records = proof::read(facts.path()).map_err(|error| {
            let expected = "a record of claims and facts";
            fails_with(listing, Kind::RunFails, expected, error.to_string())
        })?;
        Ok(self.run_of(&ended, records, took))
    }

    /// A command with the runtime's libraries, and of our own variables those that are for listings.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for (variable, _) in env::vars_os() {
            let inherited = variable.to_str().is_some_and(|variable| {
                !variable.starts_with("GUIDE_") || PASSED.contains(&variable)
            });
            if !inherited {
                command.env_remove(variable);
            }
        }
        command.env("LD_LIBRARY_PATH", &self.runtime_lib);
        command
    }

    /// What the environment of [`command`](Self::command) and the installed files are, as a hash: what one process may do
    /// for another.
    ///
    /// # Errors
    ///
    /// When the installation cannot be read.
    pub(crate) fn circumstances(&self, others: &[&OsStr]) -> Result<String, export::Error> {
        let installation = self.exporter.installation()?;
        let passed = PASSED
            .iter()
            .map(|variable| env::var_os(variable).unwrap_or_default());
        let passed: Vec<_> = passed.collect();
        let parts = [OsStr::new(&installation), self.runtime_lib.as_os_str()].into_iter();
        let parts = parts
            .chain(passed.iter().map(OsString::as_os_str))
            .chain(others.iter().copied());
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_encoded_bytes());
        }
        Ok(hex(&hash.finalize()))
    }

    /// The root of the workspace.
    pub(crate) fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// What a run may use.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// A process that ended within its limits, as a run.
    pub(crate) fn run_of(&self, ended: &Ended, records: Vec<Record>, took: Duration) -> Run {
        let root = self.workspace.root();
        Run {
            stdout: normalise(&String::from_utf8_lossy(&ended.stdout), root),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
            outcome: ended.outcome,
            records: records
                .into_iter()
                .map(|record| normalised(record, root))
                .collect(),
            took,
        }
    }

    /// A process that did not, as a failure.
    pub(crate) fn broken(&self, listing: &Listing, broken: Broken) -> Failures {
        let (kind, expected, seen) = match broken {
            Broken::Time => (
                Kind::TimeLimit,
                format!(
                    "an end within {} s ({TIMEOUT_VARIABLE} allows more)",
                    self.limits.time.as_secs_f32()
                ),
                "still running; it was ended with everything that it had started".to_owned(),
            ),
            Broken::Output(stream) => (
                Kind::OutputLimit,
                format!("at most {} bytes on {stream}", self.limits.output),
                "more than that; it was ended with everything that it had started".to_owned(),
            ),
            Broken::System(error) => (
                Kind::RunFails,
                "a program that starts".to_owned(),
                error.to_string(),
            ),
        };
        fails_with(listing, kind, &expected, seen).into()
    }
}

fn fails_with(listing: &Listing, kind: Kind, expected: &str, seen: String) -> Failure {
    Failure::new(kind, &listing.name, listing.source(), 1, expected, seen)
        .repeated_by(&listing.repeat())
}

/// A new folder with links to `files`: what the reader's folder has in it.
pub(crate) fn beside(files: &[PathBuf]) -> io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for file in files {
        let link = folder.path().join(file.file_name().unwrap_or_default());
        // Two exports with weights write one file twice, the reader's too.
        let _ = fs::remove_file(&link);
        symlink(file, link)?;
    }
    Ok(folder)
}

/// Facts pass through the same table as output; a sentence is compared as it is.
fn normalised(mut record: Record, root: &Path) -> Record {
    if let Record::Fact { value, .. } = &mut record {
        *value = normalise(value, root);
    }
    record
}

/// A process that ended within its limits.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Why a process was ended by us, or never was one.
pub(crate) enum Broken {
    Time,
    Output(&'static str),
    System(io::Error),
}

enum Event {
    Exited(io::Result<ExitStatus>),
    Closed(Stream, io::Result<Vec<u8>>),
    Overflow(Stream),
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Out => "standard output",
            Self::Err => "standard error",
        }
    }
}

/// Waits for the leader of a process group, for as long as it keeps its limits, and then ends the whole group.
///
/// The threads are detached on purpose: a descendant that left the group may hold a pipe open for ever, and then the
/// time limit, not a join, must end the wait.
fn watch(mut child: Child, limits: Limits) -> Result<Ended, Broken> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let end_group = move || {
        if let Some(group) = group {
            // An empty group is no error: that is what it is for.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    };
    let (send, events) = mpsc::channel();
    for (stream, pipe) in [
        (
            Stream::Out,
            child
                .stdout
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ),
        (
            Stream::Err,
            child
                .stderr
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ),
    ] {
        let Some(pipe) = pipe else { continue };
        let send = send.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(limits.output + 1).read_to_end(&mut bytes);
            let overflow = u64::try_from(bytes.len()).is_ok_and(|length| length > limits.output);
            // The other side hangs up once it knows enough.
            let _ = send.send(if overflow {
                Event::Overflow(stream)
            } else {
                Event::Closed(stream, read.map(|_| bytes))
            });
        });
    }
    thread::spawn(move || {
        let _ = send.send(Event::Exited(child.wait()));
    });

    let deadline = Instant::now() + limits.time;
    let (mut status, mut stdout, mut stderr) = (None, None, None);
    loop {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Exited(Ok(exit))) => {
                end_group();
                status = Some(exit);
            }
            Ok(Event::Closed(Stream::Out, Ok(bytes))) => stdout = Some(bytes),
            Ok(Event::Closed(Stream::Err, Ok(bytes))) => stderr = Some(bytes),
            Ok(Event::Overflow(stream)) => {
                end_group();
                return Err(Broken::Output(stream.name()));
            }
            Ok(Event::Exited(Err(error)) | Event::Closed(_, Err(error))) => {
                end_group();
                return Err(Broken::System(error));
            }
            Err(_) => {
                end_group();
                return Err(Broken::Time);
            }
        }
        if let (Some(status), true, true) = (status, stdout.is_some(), stderr.is_some()) {
            return Ok(Ended {
                outcome: match (status.code(), status.signal()) {
                    (Some(code), _) => Outcome::Exit(code),
                    (None, signal) => Outcome::Signal(signal.unwrap_or_default()),
                },
                stdout: stdout.unwrap_or_default(),
                stderr: stderr.unwrap_or_default(),
            });
        }
    }
}

/// Keeps listings that must die by a signal from leaving core files in the workspace.
pub(crate) fn forbid_core_files() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Only a convenience: without it a core file may be left behind.
    let _ = rustix::process::setrlimit(Resource::Core, none);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Program {
        folder: tempfile::TempDir,
        workspace: Workspace,
    }

    impl Program {
        fn new(script: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(folder.path().join(".venv/executorch/lib")).unwrap();
            // Another process writes the program: a file that this one has open for writing, in a child that another
            // test is forking, could not be executed.
            let script_file = folder.path().join("script");
            std::fs::write(&script_file, format!("#!/bin/sh\n{script}\n")).unwrap();
            let installed = Command::new("install")
                .arg("-m755")
                .arg(script_file)
                .arg(folder.path().join("program"))
                .status();
            assert!(installed.unwrap().success());
            let workspace = Workspace::at(folder.path()).unwrap();
            Self { folder, workspace }
        }

        fn run(&self, limits: Limits) -> Result<Run, Failures> {
            let listing = Listing {
                name: "program".into(),
                folder: "program".into(),
                language: Language::Rust,
                command: "program".into(),
                exports: false,
                expected: None,
            };
            let exporter = Exporter::new(self.workspace.root());
            Runner::new(&self.workspace, &exporter, limits)?.run(
                &listing,
                &self.folder.path().join("program"),
                &[],
            )
        }
    }

    fn only(run: Result<Run, Failures>) -> Failure {
        let failures = run.expect_err("must fail");
        assert_eq!(failures.all().len(), 1);
        failures.all()[0].clone()
    }

    fn generous() -> Limits {
        Limits::from_environment().unwrap()
    }

    fn short() -> Limits {
        Limits {
            time: Duration::from_millis(700),
            output: 1000,
        }
    }

    #[test]
    fn a_run_is_output_outcome_and_records() {
        let program = Program::new(
            r#"echo '{"kind":"fact","id":"program.at","origin":"runtime","value":"0x7f0011223344","file":"f","line":1}' >> "$GUIDE_FACTS"
               pwd; echo "$LD_LIBRARY_PATH"; echo oops >&2; exit 3"#,
        );
        let run = program.run(generous()).unwrap();
        let root = program.workspace.root().display();
        assert_eq!(
            run.stdout,
            format!("{root}\n<workspace>/.venv/executorch/lib\n")
        );
        assert_eq!(run.last_words(), "oops");
        assert_eq!(run.outcome, Outcome::Exit(3));
        assert!(matches!(&run.records[..], [Record::Fact { value, .. }] if value == "<address>"));
    }

    #[test]
    fn a_listing_sees_a_fault_planted_in_the_device() {
        const ITSELF: &str = "runner::tests::a_listing_sees_a_fault_planted_in_the_device";
        if env::var_os("GUIDE_DEVICE_PLANT").is_none() {
            let output = Command::new(env::current_exe().unwrap())
                .args(["--exact", ITSELF])
                .envs([("GUIDE_DEVICE_PLANT", "x"), ("GUIDE_LOG", "1")])
                .env("GUIDE_FAILURES", "not for listings")
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && text.contains("1 passed"),
                "{text}"
            );
            return;
        }
        let program = Program::new("env | grep '^GUIDE_' | cut -d= -f1 | sort");
        let seen = program.run(generous()).unwrap().stdout;
        assert!(!seen.contains("GUIDE_FAILURES"), "{seen}");
        for passed in ["GUIDE_DEVICE_PLANT\n", "GUIDE_LOG\n", "GUIDE_FACTS\n"] {
            assert!(seen.contains(passed), "{seen}");
        }
    }

    #[test]
    fn a_signal_is_an_outcome() {
        let run = Program::new("kill -SEGV $$").run(generous()).unwrap();
        assert_eq!(run.outcome.to_string(), "signal SIGSEGV");
    }

    #[test]
    fn a_hanging_listing_ends_with_its_children() {
        let program = Program::new("(sleep 5; touch survived) & sleep 5");
        let start = Instant::now();
        let failure = only(program.run(short()));
        assert!(start.elapsed() < Duration::from_secs(3));
        assert_eq!(failure.kind, Kind::TimeLimit);
        assert!(
            failure.expected.starts_with("an end within 0.7 s"),
            "{failure}"
        );
        assert_eq!(failure.repeat, "cargo run --bin program");
    }

    #[test]
    fn what_a_listing_leaves_behind_ends_with_it() {
        let start = Instant::now();
        let run = Program::new("sleep 30 & echo done")
            .run(generous())
            .unwrap();
        assert_eq!(run.stdout, "done\n");
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "the child held the pipe open"
        );
    }

    #[test]
    fn too_much_output_is_no_run() {
        let failure = only(Program::new("while :; do echo more and more; done").run(short()));
        assert_eq!(failure.kind, Kind::OutputLimit);
        assert_eq!(failure.expected, "at most 1000 bytes on standard output");
    }

    #[test]
    fn a_record_that_is_none_is_no_run() {
        let failure = only(Program::new(r#"echo nonsense >> "$GUIDE_FACTS""#).run(short()));
        assert_eq!(failure.kind, Kind::RunFails);
        assert!(failure.seen.contains("not a record of a run"), "{failure}");
    }

    #[test]
    fn a_missing_program_or_runtime_is_one_line() {
        let program = Program::new("");
        std::fs::remove_file(program.folder.path().join("program")).unwrap();
        assert_eq!(only(program.run(short())).kind, Kind::RunFails);
        std::fs::remove_dir(program.folder.path().join(".venv/executorch/lib")).unwrap();
        let failure = only(program.run(short()));
        assert_eq!(
            (failure.kind, failure.repeat.as_str()),
            (Kind::NotSetUp, "cargo xtask setup")
        );
    }
}
