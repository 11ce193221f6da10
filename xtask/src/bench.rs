//! `bench`: what a build costs, what reading a program does, and what measuring the matrix does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::book::{Python, mdbook};
use crate::failure::Failure;
use crate::process::{Group, ask, run as run_shown, run_quietly};
use crate::progress::{Progress, Task};
use crate::setup;
use crate::terminal::{bold, elapsed};
use crate::workspace::{Workspace, exclusive, failed, read, remove, write};

/// How often each way is timed, unless the command says.
const RUNS: usize = 5;

/// A way to spend time, in the order of a round. The programs are compiled in all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Cold,
    Warm,
    Sentence,
    Together,
    Apart,
}

const WAYS: [(Way, &str); 5] = [
    (Way::Cold, "the book, nothing exported yet (cold)"),
    (Way::Warm, "the book, nothing changed (warm)"),
    (
        Way::Sentence,
        "the book, one sentence changed while it is served",
    ),
    (Way::Together, "exports alone, one Python process"),
    (Way::Apart, "exports alone, one Python process a listing"),
];

/// The command `bench`.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let runs = match arguments {
        [] => Some(RUNS),
        [word] if word == "sweep" => None,
        [number] if let Ok(runs @ 1..=100) = number.parse() => Some(runs),
        _ => {
            return Err(Failure::environment(
                "`cargo xtask bench` takes one word at most: a number from 1 to 100, or `sweep`",
            ));
        }
    };
    let guide_book = setup::ensure(workspace)?;
    let work = workspace.book.join(".book");
    let lock = exclusive(&work.join("lock"), "building the book")?;
    let group = Group::holding(&lock, &workspace.root)?;
    let Some(runs) = runs else {
        return sweep(workspace, &group);
    };
    let bench = Bench::prepare(workspace, &group, &guide_book)?;
    let times = bench.times(runs);
    bench.clean()?;
    report(&times?);
    println!();
    reading(workspace, &group, runs)
}

/// What measuring the matrix costs, once: an export takes seconds, and there are as many as configurations and programs.
fn sweep(workspace: &Workspace, group: &Group) -> Result<(), Failure> {
    let folder = workspace.book.join(".book/bench");
    remove(&folder)?;
    let progress = Progress::start();
    let task = progress.task("bench", "compiles the sweep");
    let matrix = |arguments: &[&str]| {
        let mut matrix = group.cargo();
        matrix
            .args(["run", "--quiet", "--package", "matrix", "--"])
            .args(arguments)
            .current_dir(&workspace.root);
        matrix
    };
    run_quietly(&mut matrix(&["--help"]), &task)?;
    let measured = |name: &str, arguments: &[&str]| {
        task.says(name);
        let mut command = matrix(arguments);
        // Nothing exported yet.
        command.env("GUIDE_CACHE", folder.join("cache"));
        command.args(["--out"]).arg(folder.join("matrix.json"));
        fs::create_dir_all(&folder).map_err(|error| failed("make the folder", &folder, &error))?;
        let start = Instant::now();
        run_quietly(&mut command, &task)?;
        let time = start.elapsed();
        remove(&folder)?;
        Ok::<_, Failure>((name.to_owned(), time))
    };
    let times = [
        measured("the whole sweep: exports and cases", &["measure"])?,
        measured("its exports, one Python process", &["export"])?,
        measured(
            "its exports, a Python process for each",
            &["export", "--each"],
        )?,
    ];
    task.done();
    for (name, time) in &times {
        println!("{name:<46} {:>11}", elapsed(*time));
    }
    let [whole, together, apart] = times.map(|(_, time)| time.as_secs_f64());
    println!(
        "\none Python process for all exports is {:.1} times as fast as one for each",
        apart / together
    );
    println!(
        "the sweep is {:.1} times as fast as it would be with one for each",
        (whole - together + apart) / whole
    );
    Ok(())
}

/// What reading a program costs: a program of its own, which may link what this one may not.
fn reading(workspace: &Workspace, group: &Group, runs: usize) -> Result<(), Failure> {
    let mut bench = group.cargo();
    bench
        .args(["run", "--release", "--package", "reading", "--"])
        .arg(runs.to_string())
        .current_dir(&workspace.root);
    run_shown(&mut bench)
}

struct Bench<'a> {
    workspace: &'a Workspace,
    group: &'a Group,
    /// Where books and caches go.
    folder: PathBuf,
    /// A copy of `src` in which a sentence can change. Beside it, so that its includes find what they name.
    pages: PathBuf,
    listings: Vec<String>,
    python: Python,
    /// The runs that serving took over, as `serve` has them from its first build.
    runs: PathBuf,
}

impl<'a> Bench<'a> {
    fn prepare(
        workspace: &'a Workspace,
        group: &'a Group,
        guide_book: &Path,
    ) -> Result<Self, Failure> {
        let mut list = group.cargo();
        list.args(["run", "--quiet", "--package", "export", "--", "list"]);
        let programs = ask(&mut list).ok_or_else(|| {
            Failure::check(
                "the programs cannot be listed; repeat with: cargo run --package export -- list",
            )
        })?;
        let mut listings: Vec<_> = programs
            .lines()
            .filter_map(|program| Some(program.split_once('/')?.0.to_owned()))
            .collect();
        listings.dedup();
        let folder = workspace.book.join(".book/bench");
        let pages = workspace.book.join(".book-src");
        remove(&folder)?;
        remove(&pages)?;
        let python = Python::start(workspace, group, guide_book, &folder.join("python"))?;
        let runs = folder.join("runs");
        fs::create_dir_all(&runs).map_err(|error| failed("make the folder", &runs, &error))?;
        let bench = Self {
            workspace,
            group,
            folder,
            pages,
            listings,
            python,
            runs,
        };
        copy(&workspace.book.join("src"), &bench.pages)?;
        Ok(bench)
    }

    fn clean(&self) -> Result<(), Failure> {
        remove(&self.pages)?;
        remove(&self.folder)
    }

    /// The times of each way. The ways take turns, so that what else the machine does falls on all of them.
    fn times(&self, runs: usize) -> Result<[Vec<Duration>; WAYS.len()], Failure> {
        let progress = Progress::start();
        let task = progress.task("bench", "builds everything once");
        // Fills the cache, compiles what is not compiled, and shows that the book is proved.
        let first = self.time(Way::Warm, 0, &task);
        first
            .and_then(|_| self.time(Way::Sentence, 0, &task))
            .map_err(|_| {
                Failure::check(
                    "the book is not proved, so its build cannot be timed; see: cargo xtask build",
                )
            })?;
        let mut times = WAYS.map(|_| Vec::new());
        for round in 1..=runs {
            for ((way, name), times) in WAYS.iter().zip(&mut times) {
                task.says(&format!("{round} of {runs}: {name}"));
                times.push(self.time(*way, round, &task)?);
            }
        }
        task.done();
        Ok(times)
    }

    fn time(&self, way: Way, round: usize, task: &Task) -> Result<Duration, Failure> {
        let cache = self.folder.join("cache");
        remove(&cache)?;
        let mut commands = match way {
            Way::Cold | Way::Warm => vec![self.book()],
            Way::Sentence => {
                let page = self.pages.join("index.md");
                write(
                    &page,
                    &format!("{}\nAnd a sentence of round {round}.\n", read(&page)?),
                )?;
                let mut book = self.book();
                book.env("MDBOOK_BOOK__SRC", ".book-src")
                    .env("GUIDE_PYTHON_HOST", &self.python.sockets)
                    .env("GUIDE_RUNS", &self.runs);
                vec![book]
            }
            Way::Together => vec![self.export(&[])],
            Way::Apart => self
                .listings
                .iter()
                .map(|name| self.export(&["--listing", name]))
                .collect(),
        };
        if !matches!(way, Way::Warm | Way::Sentence) {
            for command in &mut commands {
                command.env("GUIDE_CACHE", &cache);
            }
        }
        let start = Instant::now();
        for command in &mut commands {
            run_quietly(command, task)?;
        }
        Ok(start.elapsed())
    }

    fn book(&self) -> Command {
        mdbook(
            self.workspace,
            self.group,
            "build",
            &self.folder.join("book"),
        )
    }

    fn export(&self, arguments: &[&str]) -> Command {
        let mut export = self.group.cargo();
        export
            .args(["run", "--quiet", "--package", "export", "--", "all"])
            .args(arguments);
        export
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| failed("make the folder", to, &error))?;
    for entry in fs::read_dir(from)
        .map_err(|error| failed("read", from, &error))?
        .filter_map(Result::ok)
    {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(|error| failed("copy to", &target, &error))?;
        }
    }
    Ok(())
}

fn report(times: &[Vec<Duration>; WAYS.len()]) {
    println!(
        "{}",
        bold(&format!(
            "{:<46} {:>11} {:>11} {:>11}",
            "what", "median", "least", "most"
        ))
    );
    for ((_, name), times) in WAYS.iter().zip(times) {
        let least = times.iter().min().copied().unwrap_or_default();
        let most = times.iter().max().copied().unwrap_or_default();
        println!(
            "{name:<46} {:>11} {:>11} {:>11}",
            elapsed(median(times)),
            elapsed(least),
            elapsed(most)
        );
    }
    let of = |way: Way| {
        WAYS.iter()
            .zip(times)
            .find(|((other, _), _)| *other == way)
            .map_or(0.0, |(_, times)| median(times).as_secs_f64())
    };
    let (cold, together, apart) = (of(Way::Cold), of(Way::Together), of(Way::Apart));
    println!(
        "\n{} runs of each, taken in turns, with the programs compiled:",
        times[0].len()
    );
    println!(
        "exports are {:.0} % of a cold build",
        100.0 * together / cold
    );
    println!(
        "one Python process for all exports is {:.1} times as fast as one a listing",
        apart / together
    );
    println!(
        "a cold build is {:.1} times as fast as it would be with one a listing",
        (cold - together + apart) / cold
    );
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    match times.len() {
        0 => Duration::ZERO,
        even if even % 2 == 0 => (times[even / 2 - 1] + times[even / 2]) / 2,
        odd => times[odd / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let seconds = |list: &[u64]| {
            median(
                &list
                    .iter()
                    .copied()
                    .map(Duration::from_secs)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(seconds(&[]), Duration::ZERO);
        assert_eq!(seconds(&[9, 1, 5]), Duration::from_secs(5));
        assert_eq!(seconds(&[4, 2]), Duration::from_secs(3));
    }
}
