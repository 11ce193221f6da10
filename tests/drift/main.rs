//! Planted drift: does the book's gate notice?
//!
//! A copy of the repository (`target/drift/tree`) passes; then faults are planted in it, one at a time, and each must
//! cause exactly the failures that its row of [`table`] declares: rule, id, file and line, and no other. A fault goes
//! through the commands that a person would use ([`doors`]): `cargo xtask build` always, plain `mdbook build` too, and
//! plain `cargo test --package listings` where a listing itself must notice. A build takes over the runs of an earlier one
//! (`$GUIDE_RUNS`) where nothing that a listing is made of or reads has changed since: those of the unchanged copy where
//! the fault is on a page, and `cargo xtask build`'s in `mdbook build`. Last, every listing is run on the programs of every
//! other one ([`exchange`]).
//!
//! ```text
//! cargo test -p tests --test drift                     everything; compares tests/drift.txt, which pages quote
//! cargo test -p tests --test drift -- NAME…            the named faults
//! cargo test -p tests --test drift -- --list           the names
//! cargo test -p tests --test drift -- --bless          writes tests/drift.txt
//! ```

mod doors;
mod exchange;
mod fault;
mod python;
mod runtime;
mod table;
mod tree;
mod warm;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fault::{Area, Fault};
use python::Python;
use tree::Tree;
use warm::Warm;

/// The sentence that pages quote with `{{drift}}`.
const SENTENCE_FILE: &str = "tests/drift.txt";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let asked = Asked::read()?;
    if asked.list {
        for fault in table::FAULTS {
            println!("{:<28} {:<9} {}", fault.name, fault.area.name(), fault.what);
        }
        println!("{:<28} {:<9} each listing on the programs of each other one", exchange::NAME, "programs");
        return Ok(());
    }
    table::check()?;
    let start = Instant::now();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("tests/ lies in the repository")?;
    let mut tree = Tree::new(repository)?;
    println!("the unchanged copy: {}", tree.root.display());
    let _python = Python::start(&tree)?;
    doors::unchanged(&mut tree)?;
    println!("passes through all doors ({:.0} s)\n", start.elapsed().as_secs_f32());

    let mut faults: Vec<_> = table::FAULTS.iter().filter(|fault| asked.wants(fault.name)).collect();
    // A changed recipe is exported by its own build, for which nobody else must be exporting.
    faults.sort_by_key(|fault| (fault.area == Area::Exporter, !fault.changes_a_recipe()));
    let mut warm = None;
    let mut misses = Vec::new();
    for fault in &faults {
        if !fault.changes_a_recipe() && warm.is_none() {
            warm = Some(Warm::start(&tree, &faults)?);
        }
        if let Some(warm) = &warm {
            warm.wait_for(fault);
        }
        let start = Instant::now();
        let (doors, wrong) = try_fault(&mut tree, fault);
        let took = start.elapsed().as_secs_f32();
        let word = if wrong.is_empty() { "caught" } else { "MISSED" };
        println!("{word} {:<28} {took:>5.1} s  {}", fault.name, doors.join(", "));
        for line in &wrong {
            println!("       {}", line.replace('\n', "\n       "));
        }
        if !wrong.is_empty() {
            misses.push(fault.name);
        }
    }
    let caught = faults.len() - misses.len();
    if asked.wants(exchange::NAME) {
        println!();
        match exchange::all(&tree) {
            Ok(report) => println!("{report}"),
            Err(wrong) => {
                println!("{wrong}");
                misses.push(exchange::NAME);
            }
        }
    }
    println!("\ncaught {caught}/{} ({:.0} s)", faults.len(), start.elapsed().as_secs_f32());
    if !misses.is_empty() {
        let repeat = misses.iter().map(|name| format!("\n    cargo test -p tests --test drift -- {name}"));
        return Err(format!("not as declared; repeat each with:{}", repeat.collect::<String>()));
    }
    if asked.names.is_empty() { sentence(&repository.join(SENTENCE_FILE), asked.bless) } else { Ok(()) }
}

/// Plants one fault, sends it through its doors, takes it out again. Gives back the doors and what was not as declared.
fn try_fault(tree: &mut Tree, fault: &Fault) -> (Vec<String>, Vec<String>) {
    let mut doors = Vec::new();
    let mut wrong = Vec::new();
    match tree.plant(fault.plant) {
        Err(error) => wrong.push(error),
        Ok(planted) => {
            for (door, expected) in fault.doors() {
                let start = Instant::now();
                if let Err(error) = doors::send(tree, &planted, door, &expected) {
                    wrong.push(format!("{}: {error}", door.name()));
                }
                let lets_it_pass = if expected.is_refusal() { "" } else { " (lets it pass)" };
                doors.push(format!("{}{lets_it_pass} {:.1} s", door.name(), start.elapsed().as_secs_f32()));
            }
        }
    }
    if let Err(error) = tree.restore() {
        wrong.push(error);
    }
    (doors, wrong)
}

/// What the command line asks for.
#[derive(Default)]
struct Asked {
    names: BTreeSet<String>,
    list: bool,
    bless: bool,
}

impl Asked {
    fn read() -> Result<Self, String> {
        let mut asked = Self::default();
        for argument in std::env::args().skip(1) {
            match argument.as_str() {
                "--list" => asked.list = true,
                "--bless" => asked.bless = true,
                // What `cargo test --workspace -- …` hands to every test.
                "--nocapture" | "--no-capture" | "--quiet" | "-q" => {}
                name if name == exchange::NAME || table::FAULTS.iter().any(|fault| fault.name == name) => {
                    asked.names.insert(argument);
                }
                other => {
                    return Err(format!(
                        "`{other}` is no planted fault; `cargo test -p tests --test drift -- --list` names them"
                    ));
                }
            }
        }
        Ok(asked)
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }
}

/// Compares the sentence that pages show with this run, or writes it.
fn sentence(path: &Path, bless: bool) -> Result<(), String> {
    let areas = Area::ALL.map(|area| {
        let count = table::FAULTS.iter().filter(|fault| fault.area == area).count();
        format!("{count} {}", area.place())
    });
    let (last, first) = areas.split_last().ok_or("no areas")?;
    let now = format!("{} planted faults are caught: {} and {last}.\n", table::FAULTS.len(), first.join(", "));
    if fs::read_to_string(path).ok().as_deref() == Some(&now) {
        return Ok(());
    }
    if !bless {
        return Err(format!(
            "{SENTENCE_FILE} does not say `{}`; write it with: cargo test -p tests --test drift -- --bless",
            now.trim_end()
        ));
    }
    let temporary = path.with_extension("txt.new");
    fs::write(&temporary, &now)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{SENTENCE_FILE}: {}", now.trim_end());
    Ok(())
}
