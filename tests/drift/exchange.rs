//! Every listing, run on the programs of every other one: what it shows must depend on what it was given.
//!
//! A listing that would run through on any program proves nothing about its own. So each is run in a root of its own
//! whose cache of exports has another recipe's programs under the names that it asks for, and must fail: a claim that
//! does not hold, another end, another output or another fact.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use book::{Language, Limits, Listing, Runner, Workspace};
use export::{Exporter, Request};
use proof::Record;
use serde_json::Value;

use crate::doors::cargo;
use crate::tree::Tree;

/// How this part is asked for.
pub const NAME: &str = "exchange";

/// What a folder of the cache holds.
const MANIFEST: &str = "entry.json";

/// A listing, the other whose programs it may take for its own, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "host-memcpy",
        "know-what-you-have",
        "a program for the host alone has planned host inputs as well, so it crashes and refuses alike",
    ),
    ("host-memcpy", "see-the-reason", "its program has planned host inputs as well, so it crashes and refuses alike"),
    ("see-the-reason", "device-in-host-out", REFUSED_ALIKE),
    ("see-the-reason", "dynamic-shapes", REFUSED_ALIKE),
    ("see-the-reason", "first-device-program", REFUSED_ALIKE),
    ("see-the-reason", "load-the-weights", REFUSED_ALIKE),
    ("see-the-reason", "mixed-models", REFUSED_ALIKE),
    ("see-the-reason", "pairing-rule", REFUSED_ALIKE),
    ("see-the-reason", "planned-output", REFUSED_ALIKE),
    ("see-the-reason", "stand-in", REFUSED_ALIKE),
];

/// `see-the-reason` shows who hears of a refusal.
const REFUSED_ALIKE: &str =
    "any program that plans device memory is refused alike when it loads, which is all that it does";

/// A listing with a recipe.
struct Recipe {
    name: String,
    /// Its programs: the name, and the folder in the cache that has it.
    programs: Vec<(String, PathBuf)>,
}

/// What became of one pair.
enum Outcome {
    /// The listing noticed.
    Fails,
    /// There was nothing to notice: both recipes make the same programs, byte for byte.
    Same,
    /// The listing ran through.
    Passes,
}

/// Runs all pairs.
pub fn all(tree: &Tree) -> Result<String, String> {
    let mut command = Command::new(cargo());
    command.args(["build", "--quiet", "--package", "listings", "--bins"]).current_dir(&tree.root);
    tree.environment(&mut command);
    if !command.status().map_err(|error| format!("cannot start cargo: {error}"))?.success() {
        return Err("the listings do not build".to_owned());
    }
    let recipes = recipes(tree)?;
    let folder = tree.folder.join("exchange");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed(&folder))?;
    }
    let pairs: Vec<_> = recipes.iter().flat_map(|listing| recipes.iter().map(move |other| (listing, other))).collect();
    let shown = thread_each(&pairs, |(listing, other)| {
        let root = folder.join(format!("{}-on-{}", listing.name, other.name));
        make_root(tree, &root, listing, other)?;
        run(tree, &root, &listing.name)
    })?;
    // A listing on its own programs, in such a root as well.
    let own: BTreeMap<&str, &Shown> = pairs
        .iter()
        .zip(&shown)
        .filter(|((listing, other), _)| listing.name == other.name)
        .map(|((listing, _), shown)| (listing.name.as_str(), shown))
        .collect();
    for (name, shown) in &own {
        if shown.end != "exit 0" {
            return Err(format!("MISSED {NAME}\n       {name} fails on its own programs: {}", shown.end));
        }
    }
    let mut outcomes = Vec::new();
    for ((listing, other), shown) in pairs.iter().zip(&shown) {
        if listing.name != other.name {
            let outcome = if same_programs(listing, other)? {
                Outcome::Same
            } else if own[listing.name.as_str()] == shown {
                Outcome::Passes
            } else {
                Outcome::Fails
            };
            outcomes.push((*listing, *other, outcome));
        }
    }

    let (mut fail, mut same, mut excepted, mut wrong) = (0, Vec::new(), 0, Vec::new());
    let count = outcomes.len();
    for (listing, other, outcome) in outcomes {
        let exception = EXCEPTIONS.iter().find(|(a, b, _)| *a == listing.name && *b == other.name);
        match (outcome, exception) {
            (Outcome::Fails, None) => fail += 1,
            (Outcome::Same, None) => same.push(format!("{} on {}", listing.name, other.name)),
            (Outcome::Passes, Some(_)) => excepted += 1,
            (Outcome::Passes, None) => {
                wrong.push(format!("{} runs through on the programs of {}", listing.name, other.name));
            }
            (_, Some((.., reason))) => {
                wrong.push(format!("{} on {} is no exception any more: {reason}", listing.name, other.name));
            }
        }
    }
    if !wrong.is_empty() {
        return Err(format!("MISSED {NAME}\n       {}", wrong.join("\n       ")));
    }
    let mut report = format!("caught {NAME}: each listing on the programs of each other one: {fail}/{count} fail");
    if !same.is_empty() {
        report += &format!("\n       the same programs, byte for byte: {}", same.join(", "));
    }
    for (listing, other, reason) in EXCEPTIONS {
        report += &format!("\n       {listing} on {other} runs through: {reason}");
    }
    debug_assert_eq!(excepted, EXCEPTIONS.len());
    Ok(report)
}

/// The recipes of all listings, in order, with what the cache has of them.
fn recipes(tree: &Tree) -> Result<Vec<Recipe>, String> {
    let exporter = Exporter::new(&tree.root).cache(tree.cache());
    let listings = tree.root.join("listings");
    let mut recipes = Vec::new();
    for entry in fs::read_dir(&listings).map_err(failed(&listings))? {
        let path = entry.map_err(failed(&listings))?.path();
        if !path.join("export.py").is_file() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = exporter.programs(&name).map_err(|error| error.to_string())?;
        let requests: Vec<Request> = names.iter().map(|name| name.as_str().into()).collect();
        let mut programs = Vec::new();
        for exported in exporter.all(&requests).map_err(|error| error.to_string())? {
            let pte = exported.map_err(|error| error.to_string())?.pte;
            let program = pte.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            programs.push((program, pte.parent().unwrap_or(&pte).to_owned()));
        }
        recipes.push(Recipe { name, programs });
    }
    recipes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(recipes)
}

/// Each program of a listing with the other's program that takes its place, one after the other and again from the first.
fn exchanged<'a>(
    listing: &'a Recipe,
    other: &'a Recipe,
) -> impl Iterator<Item = (&'a (String, PathBuf), &'a (String, PathBuf))> {
    listing.programs.iter().zip(other.programs.iter().cycle())
}

/// A root with the tree's listings and tools, and with a cache in which the programs of `listing` are those of `other`.
///
/// The listing finds them there as its own, because what a cache entry is made from, its name says. Should that not work
/// any more, the listing exports for itself and runs through, which is a miss.
fn make_root(tree: &Tree, root: &Path, listing: &Recipe, other: &Recipe) -> Result<(), String> {
    let cache = root.join("target/exports");
    fs::create_dir_all(&cache).map_err(failed(&cache))?;
    for link in [".venv", "crates", "listings"] {
        symlink(tree.root.join(link), root.join(link)).map_err(failed(root))?;
    }
    for entry in fs::read_dir(tree.cache()).map_err(failed(root))? {
        let entry = entry.map_err(failed(root))?.path();
        let replaced = listing.programs.iter().any(|(_, folder)| *folder == entry);
        if entry.is_dir() && !replaced {
            symlink(&entry, cache.join(entry.file_name().unwrap_or_default())).map_err(failed(&entry))?;
        }
    }
    for ((program, folder), (theirs, from)) in exchanged(listing, other) {
        let to = cache.join(folder.file_name().unwrap_or_default());
        fs::create_dir(&to).map_err(failed(&to))?;
        let manifest = from.join(MANIFEST);
        let text = fs::read_to_string(&manifest).map_err(failed(&manifest))?;
        let mut json: Value =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", manifest.display()))?;
        let files = json["files"].as_object_mut().ok_or_else(|| format!("{}: no files", manifest.display()))?;
        let mut renamed = serde_json::Map::new();
        for (name, hash) in std::mem::take(files) {
            // `<program>.pte`, but `aoti_cuda_blob.ptd`.
            let new = name.strip_prefix(&format!("{theirs}.")).map_or(name.clone(), |rest| format!("{program}.{rest}"));
            symlink(from.join(&name), to.join(&new)).map_err(failed(&to))?;
            renamed.insert(new, hash);
        }
        *files = renamed;
        fs::write(to.join(MANIFEST), json.to_string()).map_err(failed(&to))?;
    }
    Ok(())
}

/// Whether the exchange gives a listing what it had.
fn same_programs(listing: &Recipe, other: &Recipe) -> Result<bool, String> {
    for ((program, folder), (theirs, from)) in exchanged(listing, other) {
        let bytes = |folder: &Path, name: &str| {
            let path = folder.join(format!("{name}.pte"));
            fs::read(&path).map_err(failed(&path))
        };
        if bytes(folder, program)? != bytes(from, theirs)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What a run shows.
#[derive(PartialEq, Eq)]
struct Shown {
    claims: Vec<String>,
    facts: BTreeMap<String, String>,
    output: String,
    end: String,
}

fn run(tree: &Tree, root: &Path, name: &str) -> Result<Shown, String> {
    let workspace = Workspace::at(root).map_err(failed(root))?;
    let exporter = Exporter::new(workspace.root());
    let limits = Limits::from_environment().map_err(|error| error.to_string())?;
    let runner = Runner::new(&workspace, &exporter, limits).map_err(|error| error.to_string())?;
    let listing = Listing {
        name: name.to_owned(),
        folder: name.to_owned(),
        language: Language::Rust,
        command: String::new(),
        exports: true,
        expected: None,
    };
    let mut shown = Shown { claims: Vec::new(), facts: BTreeMap::new(), output: String::new(), end: String::new() };
    match runner.run(&listing, &tree.root.join("target/debug").join(name), &[]) {
        // It ran too long or printed too much: it failed.
        Err(failures) => shown.end = failures.to_string(),
        Ok(run) => {
            for record in run.records {
                match record {
                    Record::Claim { id, holds, .. } => shown.claims.push(format!("{id}: {holds}")),
                    Record::Fact { id, value, .. } => drop(shown.facts.insert(id, value)),
                }
            }
            shown.output = run.stdout;
            shown.end = run.outcome.to_string();
        }
    }
    Ok(shown)
}

/// Does the work for each on all processors, and keeps the order.
fn thread_each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> Result<R, String> + Sync) -> Result<Vec<R>, String> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, one)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    all.get(index).map(|one| (index, one))
                } {
                    let result = work(one);
                    done.lock().expect("no thread panics while it holds the lock").insert(index, result);
                }
            });
        }
    });
    done.into_inner().expect("no thread panicked").into_values().collect()
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String {
    let path: PathBuf = path.to_owned();
    move |error| format!("{}: {error}", path.display())
}
