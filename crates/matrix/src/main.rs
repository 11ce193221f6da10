//! `matrix`: measures what every configuration does for every caller, and compares it with what is committed.

use std::env;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use matrix::bite::{self, Bite};
use matrix::releases::{self, Compared, Releases};
use matrix::{Caller, Error, Key, Matrix, Sweep, committed, run_case};

const HELP: &str = "\
What every configuration does for every caller: measured with the real exporter and runtime, each case in a process
of its own, on the device that stands in for a GPU.

    matrix check [WORD]...            measure again, and name every cell that is not what matrix.json says
    matrix measure [--out FILE]       measure everything and write it (default: crates/matrix/matrix.json)
    matrix show CELL                  what matrix.json says of a cell, and of its program
    matrix bite check [WORD]...       the same three for bite.json, the models and calls that bite
    matrix bite measure [--out FILE]
    matrix bite show WORD...

A CELL is PROGRAM SETTINGS CALLER INPUTS OUTPUT. With WORDs, only the cells whose names have all of them are measured.

    settings   h: skip_h2d_for_method_inputs   d: skip_d2h_for_method_outputs
               i: alloc_graph_input   o: alloc_graph_output   n: enable_non_cpu_memory_planning

Example:
    cargo run -p matrix -- show static h1d1_i0o0_n1 cpp device-tensor set-output-device
    cargo run -p matrix -- check h1d1_i0o0_n1 cpp
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["check", words @ ..] => check(words),
        ["measure"] => measure(&committed()),
        ["measure", "--out", file] => measure(Path::new(file)),
        ["bite", "check", words @ ..] => check_bite(words),
        ["bite", "measure"] => measure_bite(&bite::committed()),
        ["bite", "measure", "--out", file] => measure_bite(Path::new(file)),
        // For `cargo xtask releases`, which says with which release's exporter and where its answers belong.
        ["export", "--out", file] => Matrix::export_all()
            .and_then(|matrix| matrix.write(file))
            .map(|()| true),
        // For `cargo xtask bench`.
        ["export", "--each", "--out", file] => Matrix::export_each()
            .and_then(|matrix| matrix.write(file))
            .map(|()| true),
        ["bite", "export", "--out", file] => Bite::export()
            .and_then(|bite| bite.write(file))
            .map(|()| true),
        ["release", version, matrix, bite] => release(version, matrix, bite),
        ["bite", "show", words @ ..] if !words.is_empty() => show_bite(words),
        ["show", words @ ..] if !words.is_empty() => show(&words.join(" ")),
        // For the sweep, which starts this program once for each case.
        ["case", line] => run_case(line).map(|()| true),
        ["bite-case", line] => bite::run_case(line).map(|()| true),
        [] | ["-h" | "--help" | "help"] => {
            print!("{HELP}");
            Ok(true)
        }
        _ => {
            eprintln!("matrix: cannot read these arguments; see `matrix --help`");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("matrix: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(file: &Path) -> Result<bool, Error> {
    let matrix = sweep(&|_| true)?;
    matrix.write(file)?;
    let cells = matrix.cells.len();
    println!(
        "{}: {cells} cells, {} of them measured, {} different answers",
        file.display(),
        matrix.measured(),
        matrix.answers.len()
    );
    Ok(true)
}

fn check(words: &[&str]) -> Result<bool, Error> {
    let has = |key: &Key| {
        let name = key.to_string();
        words
            .iter()
            .all(|word| name.split(' ').any(|part| part == *word))
    };
    let committed = Matrix::read(committed())?;
    let measured = sweep(&has)?;
    let differences = committed.differences(&measured, has);
    for difference in &differences {
        println!("{difference}");
    }
    println!(
        "{} cells measured again, {} differences",
        measured.measured(),
        differences.len()
    );
    Ok(differences.is_empty())
}

fn show(name: &str) -> Result<bool, Error> {
    let key: Key = name.parse()?;
    let matrix = Matrix::read(committed())?;
    let pretty =
        |text: Result<String, serde_json::Error>| text.unwrap_or_else(|error| error.to_string());
    println!(
        "{}",
        pretty(serde_json::to_string_pretty(&matrix.export(&key)))
    );
    println!(
        "{}",
        pretty(serde_json::to_string_pretty(&matrix.cell(&key)))
    );
    Ok(true)
}

fn measure_bite(file: &Path) -> Result<bool, Error> {
    let bite = Bite::measure(|_| true)?;
    bite.write(file)?;
    println!("{}: {} cases", file.display(), bite.cases.len());
    Ok(true)
}

fn check_bite(words: &[&str]) -> Result<bool, Error> {
    let measured = Bite::measure(|name| bite::has(name, words))?;
    let differences =
        Bite::read(bite::committed())?.differences(&measured, |name| bite::has(name, words));
    for difference in &differences {
        println!("{difference}");
    }
    println!(
        "{} cases measured again, {} differences",
        measured.cases.len(),
        differences.len()
    );
    Ok(differences.is_empty())
}

/// Records what another release does otherwise.
fn release(version: &str, matrix: &str, bite: &str) -> Result<bool, Error> {
    let (matrix, bite) = (Matrix::read(matrix)?, Bite::read(bite)?);
    for measured in [&matrix.executorch, &bite.executorch] {
        if measured.split('+').next() != Some(version) {
            let why = format!("measured with ExecuTorch {measured}");
            return Err(Error::Case {
                case: version.to_owned(),
                why,
            });
        }
    }
    let compared = Compared::new(&matrix, &bite)?;
    println!(
        "{version}: {} exports, {} cells and {} cases compared, {} differ",
        compared.programs,
        compared.cells,
        compared.cases,
        compared.changed.len()
    );
    let mut releases = Releases::read(releases::committed())?;
    releases.releases.insert(version.to_owned(), compared);
    releases.write(releases::committed())?;
    Ok(true)
}

/// The lines of the file whose names have these words.
fn show_bite(words: &[&str]) -> Result<bool, Error> {
    let text = Bite::read(bite::committed())?.to_json();
    let has = |line: &&str| {
        words.iter().all(|word| {
            line.split('"')
                .nth(1)
                .is_some_and(|name| name.contains(word))
        })
    };
    for line in text.lines().filter(has) {
        println!("{}", line.trim_end_matches(','));
    }
    Ok(true)
}

/// Measures, with a line that says how far it is.
fn sweep(of_interest: &dyn Fn(&Key) -> bool) -> Result<Matrix, Error> {
    let start = Instant::now();
    let terminal = std::io::stderr().is_terminal();
    let percent = AtomicUsize::new(0);
    let progress = |caller: Caller, done: usize, total: usize| {
        let now = 100 * done / total;
        // A log gets ten lines, a terminal one that changes.
        let step = if terminal { 1 } else { 10 };
        if now / step > percent.fetch_max(now, Ordering::Relaxed) / step {
            let seconds = start.elapsed().as_secs();
            let line = format!("matrix: {done}/{total} cases, {caller}, {seconds} s");
            if terminal {
                eprint!("\r{line}\x1b[K{}", if now == 100 { "\n" } else { "" });
            } else {
                eprintln!("{line}");
            }
        }
    };
    Sweep {
        of_interest,
        progress: &progress,
    }
    .measure()
}
