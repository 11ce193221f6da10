//! What reading a program costs: `pte show --json` beside ExecuTorch's own reader in Python and its runtime, on the same
//! files in one run. And a program of ten gigabytes, held against what is promised.
//!
//! ```text
//! cargo run --release -p reading -- [RUNS]
//! ```
//!
//! The three take turns, so that what else the machine does falls on all of them. In one process: a pass over all files
//! after a first one that does not count. As a process: from its start to its end, with one pass.

use std::error::Error;
use std::fs::{self, File};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use executorch_device::Module;
use serde_json::Value;

/// How often each is timed, unless the command says.
const RUNS: usize = 5;

/// What is promised of a program of [`LARGE`] bytes: at most so long, from start to end, …
const TIME: Duration = Duration::from_millis(10);
/// … and at most so many kilobytes of memory.
const MEMORY_KB: u64 = 10_000;
const LARGE: u64 = 10_000_000_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Who reads, in the order of a round and of the table.
const READERS: [&str; 3] = [
    "pte show --json",
    "Python: deserialize_pte_binary",
    "runtime: load the program, ask for its metadata",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [load, passes, files @ ..] if load == "load" => load_all(passes, files),
        [] => measure(RUNS),
        [runs] => runs
            .parse()
            .ok()
            .filter(|runs| (1..=100).contains(runs))
            .ok_or_else(|| format!("`{runs}` is no number of runs: expected 1 to 100").into())
            .and_then(measure),
        _ => Err("one number at most, from 1 to 100".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What this program does as the third reader: prints the seconds of the last pass.
fn load_all(passes: &str, files: &[String]) -> Outcome<()> {
    let mut took = Duration::ZERO;
    for _ in 0..passes.parse()? {
        let start = Instant::now();
        for file in files {
            let mut module = Module::load(file)?;
            for method in module.method_names()? {
                module.method_meta(&method)?;
            }
        }
        took = start.elapsed();
    }
    println!("{}", took.as_secs_f64());
    Ok(())
}

fn measure(runs: usize) -> Outcome<()> {
    says("exports what is not in the cache");
    let files = programs()?;
    says("builds the command");
    let pte = command()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = folder.join("../../.venv/bin/python");
    let reader = folder.join("deserialize.py");
    let this = std::env::current_exe()?;

    let mut library = Vec::new();
    let (mut inside, mut whole) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
    for round in 1..=runs {
        for (index, name) in READERS.iter().enumerate() {
            says(&format!("{round} of {runs}: {name}"));
            let reading = |passes: usize| {
                let mut command = match index {
                    1 => Command::new(&python),
                    _ => Command::new(&this),
                };
                match index {
                    1 => command.args(["-W", "ignore"]).arg(&reader),
                    _ => command.arg("load"),
                };
                command.arg(passes.to_string()).args(&files);
                command
            };
            if index == 0 {
                library.push(read_all(&files)?);
                let shown: Vec<_> = ["show", "--json"].into_iter().map(Into::into).collect();
                let shown = || shown.iter().cloned().chain(files.iter().map(Into::into));
                pte::command::run(shown());
                let start = Instant::now();
                let outcome = pte::command::run(shown());
                inside[index].push(start.elapsed());
                if outcome.code != pte::command::FINE {
                    return Err(outcome.stderr.into());
                }
                whole[index].push(timed(Command::new(&pte).args(shown()))?.0);
            } else {
                let (_, seconds) = timed(&mut reading(2))?;
                inside[index].push(Duration::from_secs_f64(seconds.trim().parse()?));
                whole[index].push(timed(&mut reading(1))?.0);
            }
        }
    }
    let large = Large::new(&pte)?;
    let mut times = Vec::new();
    for round in 1..=runs.max(RUNS) {
        says(&format!("{round}: a program of 10 GB"));
        times.push(timed(&mut large.show())?.0);
    }
    says("a program of 10 GB, with less and less memory");
    let memory = large.least_memory()?;
    says("");

    report(files.len(), &library, &inside, &whole);
    let least = times.iter().min().copied().unwrap_or_default();
    println!(
        "\na program of 10 GB: {:.1} ms, at best {:.1} ms (promised: {:.0} ms); {:.1} MB of memory, with everything that \
         the process maps (promised: {:.0} MB)",
        millis(median(&times)),
        millis(least),
        millis(TIME),
        memory as f64 / 1000.0,
        MEMORY_KB as f64 / 1000.0,
    );
    if least > TIME || memory > MEMORY_KB {
        return Err("a program of 10 GB costs more than is promised".into());
    }
    Ok(())
}

/// How long the library alone takes for a pass over all files.
fn read_all(files: &[PathBuf]) -> Outcome<Duration> {
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        let start = Instant::now();
        for file in files {
            std::hint::black_box(pte::Program::open(file)?);
        }
        took = start.elapsed();
    }
    Ok(took)
}

/// Every program that a listing exports.
fn programs() -> Outcome<Vec<PathBuf>> {
    let mut requests = Vec::new();
    for listing in export::listings()? {
        requests.extend(export::programs(&listing)?.into_iter().map(Into::into));
    }
    let exported = export::all(&requests)?.into_iter();
    let files = exported.map(|program| Ok(program?.pte));
    files.collect()
}

/// The command, built as it is installed.
fn command() -> Outcome<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--release",
            "--package",
            "pte",
            "--message-format=json",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()?;
    let messages = String::from_utf8(output.stdout)?;
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    messages
        .lines()
        .find_map(executable)
        .ok_or_else(|| "`cargo build --release --package pte` makes no program".into())
}

/// How long a process takes, and what it prints.
fn timed(command: &mut Command) -> Outcome<(Duration, String)> {
    let start = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    let took = start.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {}", output.status, said.trim_end()).into());
    }
    Ok((took, String::from_utf8(output.stdout)?))
}

/// A program whose file goes on for ten gigabytes, of which the disk holds next to nothing.
struct Large<'a> {
    pte: &'a Path,
    folder: tempfile::TempDir,
}

impl<'a> Large<'a> {
    const NAME: &'static str = "large.pte";

    fn new(pte: &'a Path) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join(Self::NAME);
        fs::copy(export::pte("first-device-program/device")?.pte, &file)?;
        File::options().write(true).open(&file)?.set_len(LARGE)?;
        Ok(Self { pte, folder })
    }

    fn show(&self) -> Command {
        let mut command = Command::new(self.pte);
        command
            .args(["show", "--json", Self::NAME])
            .current_dir(self.folder.path());
        command
    }

    /// The kilobytes of addresses (what the process maps, its libraries and stack included) with which the command still
    /// answers: resident memory cannot be more.
    fn least_memory(&self) -> Outcome<u64> {
        let enough = |kilobytes: u64| {
            let limited = format!(
                "ulimit -v {}; exec \"$0\" show --json {}",
                kilobytes * 1000 / 1024,
                Self::NAME
            );
            let mut command = Command::new("sh");
            command
                .args(["-c", &limited])
                .arg(self.pte)
                .current_dir(self.folder.path());
            timed(&mut command).is_ok()
        };
        let (mut too_little, mut least) = (0, 100_000);
        if !enough(least) {
            return Err("a program of 10 GB needs more than 100 MB".into());
        }
        while least - too_little > 100 {
            let between = too_little.midpoint(least);
            *(if enough(between) {
                &mut least
            } else {
                &mut too_little
            }) = between;
        }
        Ok(least)
    }
}

fn report(
    files: usize,
    library: &[Duration],
    inside: &[Vec<Duration>; 3],
    whole: &[Vec<Duration>; 3],
) {
    println!(
        "{:<50} {:>16} {:>9} {:>16} {:>9}",
        format!("{files} programs, {} runs of each, medians", library.len()),
        "a file, inside",
        "times",
        "whole process",
        "times"
    );
    let [ours_inside, ours_whole] = [median(&inside[0]), median(&whole[0])];
    let inside_cells = |time: Duration| {
        let times = time.as_secs_f64() / ours_inside.as_secs_f64();
        format!("{:>13.4} ms {times:>9.2}", millis(time) / files as f64)
    };
    for (name, (inside, whole)) in READERS.iter().zip(inside.iter().zip(whole)) {
        let (inside, whole) = (median(inside), median(whole));
        println!(
            "{name:<50} {} {:>13.1} ms {:>9.2}",
            inside_cells(inside),
            millis(whole),
            whole.as_secs_f64() / ours_whole.as_secs_f64(),
        );
    }
    println!(
        "{:<50} {}",
        "the library alone: pte::Program::open",
        inside_cells(median(library))
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Of an even number of times the later of the two in the middle.
fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What is going on, on one line of a terminal and on a line each elsewhere.
fn says(what: &str) {
    let mut out = std::io::stderr().lock();
    let _ = if out.is_terminal() {
        write!(out, "\r\x1b[K{what}").and_then(|()| out.flush())
    } else if what.is_empty() {
        Ok(())
    } else {
        writeln!(out, "{what}")
    };
}
