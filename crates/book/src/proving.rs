//! Exports, builds and runs every listing, and judges each by what is expected of it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use export::Exporter;
use proof::{Origin, Record, Source};
use regex::Regex;
use serde::Serialize;

use crate::exports;
use crate::failure::{Failure, Failures, Kind};
use crate::listing::{Expected, Listing, Outcome, discover};
use crate::pattern::regex;
use crate::provenance::Provenance;
use crate::runner::{Limits, Run, Runner, build};
use crate::workspace::Workspace;

/// A claim as a run bore it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assertion {
    pub(crate) sentence: String,
    pub(crate) origin: Origin,
    pub(crate) listing: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// A fact as a run recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) value: String,
    pub(crate) origin: Origin,
    /// Where a quoted value stands.
    pub(crate) source: Option<Source>,
    pub(crate) listing: String,
    /// The source of the call, relative to the workspace, and its line; none where no listing recorded it by itself.
    pub(crate) place: Option<(String, usize)>,
}

/// How long the parts of a proof took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Times {
    /// Exporting, or seeing that all exports are in the cache.
    pub exports: Duration,
    /// Building the listings, or seeing that they are built; at the same time as the exports.
    pub build: Duration,
    /// Running the listings.
    pub runs: Duration,
}

/// What all listings showed in this run.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Versions and commit.
    pub provenance: Provenance,
    /// All listings by name.
    pub listings: BTreeMap<String, Listing>,
    /// The runs that ended as expected, by listing.
    pub runs: BTreeMap<String, Run>,
    /// How long it took.
    pub times: Times,
    /// Listings of which we do not know what they would have shown, with the text of their sources.
    unknown: BTreeMap<String, String>,
    pub(crate) assertions: BTreeMap<String, Vec<Assertion>>,
    pub(crate) facts: BTreeMap<String, Measured>,
}

impl Proof {
    /// Whether a listing that gave no run speaks about `id`; then its absence says nothing.
    pub(crate) fn may_be_missing(&self, id: &str) -> bool {
        let quoted = format!("\"{id}\"");
        self.unknown.iter().any(|(listing, sources)| {
            id.strip_prefix(listing.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
                || sources.contains(&quoted)
        })
    }
}

/// Exports, builds and runs all listings. What failed is in the second part; the first holds what is known all the same.
///
/// # Errors
///
/// When nothing can be run at all.
pub fn prove(workspace: &Workspace, limits: Limits) -> Result<(Proof, Vec<Failure>), Failures> {
    let (listings, mut failures) = discover(workspace);
    let provenance = Provenance::read(workspace)?;
    let exporter = exports::exporter(workspace)?;
    let runner = Runner::new(workspace, &exporter, limits)?;
    let mut times = Times::default();

    let (exported, built) = thread::scope(|scope| {
        let exports = scope.spawn(|| timed(|| exports::make(&exporter, listings.values())));
        let build = timed(|| build(workspace));
        let exports = exports
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (exports, build)
    });
    let (exports_failed, took) = exported;
    times.exports = took;
    let (binaries, took) = built;
    times.build = took;

    let mut unknown = BTreeSet::new();
    for (listing, failed) in exports_failed {
        failures.extend(failed);
        unknown.insert(listing);
    }
    let binaries = binaries.unwrap_or_else(|failure| {
        failures.extend(failure);
        unknown.extend(listings.keys().cloned());
        BTreeMap::new()
    });
    let mut work = Vec::new();
    for listing in listings
        .values()
        .filter(|listing| !unknown.contains(&listing.name))
    {
        match binaries.get(&listing.name) {
            Some(path) => work.push((listing, path.as_path())),
            None => failures.push(Failure::new(
                Kind::ListingWithoutBinary,
                &listing.name,
                listing.file("main.rs"),
                1,
                format!(
                    "a `[[bin]]` named `{}` in listings/Cargo.toml",
                    listing.name
                ),
                "no such program",
            )),
        }
    }
    unknown.extend(
        listings
            .keys()
            .filter(|name| !binaries.contains_key(*name))
            .cloned(),
    );

    let (runs, took) = timed(|| runner.run_all(work));
    times.runs = took;
    let mut proof = Proof {
        provenance,
        listings,
        runs: BTreeMap::new(),
        times,
        unknown: BTreeMap::new(),
        assertions: BTreeMap::new(),
        facts: BTreeMap::new(),
    };
    for (name, run) in runs {
        let Some(listing) = proof.listings.get(&name).cloned() else {
            continue;
        };
        match run {
            Err(failure) => {
                failures.extend(failure);
                unknown.insert(name);
            }
            Ok(run) => {
                let wrong = judge(&listing, &run);
                proof.record(&listing, &run, &mut failures);
                if ends_early(&wrong) {
                    unknown.insert(name);
                } else {
                    proof.runs.insert(name, run);
                }
                failures.extend(wrong);
            }
        }
    }
    for name in unknown {
        let sources = sources(&workspace.listings().join(&name));
        proof.unknown.insert(name, sources);
    }
    Ok((proof, failures))
}

impl Proof {
    fn record(&mut self, listing: &Listing, run: &Run, failures: &mut Vec<Failure>) {
        for record in &run.records {
            let (file, line) = record.place();
            let line = usize::try_from(line).unwrap_or(1);
            match record {
                Record::Claim {
                    id,
                    sentence,
                    origin,
                    ..
                } => {
                    let assertion = Assertion {
                        sentence: crate::normalise::fold(sentence),
                        origin: *origin,
                        listing: listing.name.clone(),
                        file: file.to_owned(),
                        line,
                    };
                    let known = self.assertions.entry(id.clone()).or_default();
                    if !known.contains(&assertion) {
                        known.push(assertion);
                    }
                }
                Record::Fact {
                    id,
                    origin,
                    value,
                    source,
                    ..
                } => {
                    if id
                        .strip_prefix(&listing.name)
                        .is_none_or(|rest| !rest.starts_with('.'))
                    {
                        failures.push(
                            Failure::new(
                                Kind::FactMisnamed,
                                id,
                                file,
                                line,
                                format!("a fact named `{}.…`, after its listing", listing.name),
                                id,
                            )
                            .of_listing(&listing.name),
                        );
                    }
                    let measured = Measured {
                        value: crate::normalise::fold(value),
                        origin: *origin,
                        source: source.clone(),
                        listing: listing.name.clone(),
                        place: Some((file.to_owned(), line)),
                    };
                    self.facts.insert(id.clone(), measured);
                }
            }
        }
        // A signal comes from the fence of our device, an exit code from what the runtime answered.
        let origin = match run.outcome {
            Outcome::Exit(_) => Origin::Runtime,
            Outcome::Signal(_) => Origin::StandIn,
        };
        let exit = Measured {
            value: run.outcome.fact(),
            origin,
            source: None,
            listing: listing.name.clone(),
            place: None,
        };
        self.facts.insert(format!("{}.exit", listing.name), exit);
    }
}

/// What a run shows about its own listing: claims that do not hold, or another end, or another output.
///
/// A run that ended early is judged by its end alone: what it did not get to say is not missing.
fn judge(listing: &Listing, run: &Run) -> Vec<Failure> {
    let name = listing.name.as_str();
    let mut failures = Vec::new();
    for record in &run.records {
        if let Record::Claim {
            id,
            sentence,
            holds: false,
            file,
            line,
            ..
        } = record
        {
            let line = usize::try_from(*line).unwrap_or(1);
            failures.push(
                Failure::new(
                    Kind::ClaimFails,
                    id,
                    file,
                    line,
                    sentence,
                    "it does not hold in this run",
                )
                .of_listing(name),
            );
        }
    }
    if !failures.is_empty() {
        return failures;
    }
    if run.outcome != listing.outcome() {
        let (file, line) =
            place_of_panic(&run.stderr).unwrap_or_else(|| (listing.file("main.rs"), 1));
        let seen = format!("{}\n{}", run.outcome, run.last_words());
        let expected = listing.outcome().to_string();
        return vec![
            Failure::new(
                Kind::OutcomeDiffers,
                name,
                file,
                line,
                expected,
                seen.trim_end(),
            )
            .of_listing(name),
        ];
    }
    let Some(expected) = &listing.expected else {
        return failures;
    };
    let command = format!("$ {}", listing.command);
    let file = listing.file("output.txt");
    if expected.command != command {
        failures.push(
            Failure::new(
                Kind::OutputDiffers,
                name,
                &file,
                1,
                &expected.command,
                command,
            )
            .of_listing(name),
        );
    }
    if expected.stdout.trim_end() != run.stdout.trim_end() {
        let line = expected
            .stdout
            .lines()
            .zip(run.stdout.lines())
            .take_while(|(expected, seen)| expected == seen)
            .count();
        failures.push(
            Failure::new(
                Kind::OutputDiffers,
                name,
                file,
                line + 2,
                &expected.stdout,
                &run.stdout,
            )
            .of_listing(name),
        );
    }
    failures
}

/// Whether a run ended before it had said everything.
fn ends_early(failures: &[Failure]) -> bool {
    failures
        .iter()
        .any(|failure| matches!(failure.kind, Kind::ClaimFails | Kind::OutcomeDiffers))
}

/// Where Rust says that a program panicked.
fn place_of_panic(stderr: &str) -> Option<(String, usize)> {
    static PANIC: LazyLock<Regex> = LazyLock::new(|| regex(r"panicked at ([^:\n]+):(\d+):"));
    let captures = PANIC.captures(stderr)?;
    Some((captures[1].to_owned(), captures[2].parse().ok()?))
}

/// What a listing says in its sources, to find the ids in them.
fn sources(folder: &Path) -> String {
    let Ok(entries) = fs::read_dir(folder) else {
        return String::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// Runs one listing and judges it by its own expectations: the test of a listing.
///
/// `executable` is the program that cargo built for the test, `env!("CARGO_BIN_EXE_…")`. All exports of all listings are
/// made first, once for the process.
///
/// # Errors
///
/// Everything that is wrong with this listing.
pub fn prove_listing(name: &str, executable: &Path) -> Result<Run, Failures> {
    type Exports = (Exporter, BTreeMap<String, Vec<Failure>>);
    static EXPORTS: OnceLock<Result<Exports, Failures>> = OnceLock::new();
    let workspace = Workspace::find()?;
    let (listings, failures) = discover(&workspace);
    let of_this = |failures: Vec<Failure>| {
        failures
            .into_iter()
            .filter(|failure| failure.id == name)
            .collect::<Vec<_>>()
    };
    let mut failures = of_this(failures);
    let listing = listings.get(name).ok_or_else(|| {
        Failures::from(Failure::new(
            Kind::ListingUnknown,
            name,
            format!("listings/{name}/main.rs"),
            1,
            "a listing",
            "no such file",
        ))
    })?;
    let exports = EXPORTS.get_or_init(|| {
        let exporter = exports::exporter(&workspace)?;
        let failed = exports::make(&exporter, listings.values());
        Ok((exporter, failed))
    });
    let (exporter, exports_failed) = exports.as_ref().map_err(Clone::clone)?;
    if let Some(failed) = exports_failed.get(name) {
        return Err(Failures::new(failed.clone()));
    }
    let run =
        Runner::new(&workspace, exporter, Limits::from_environment()?)?.run(listing, executable)?;
    failures.extend(judge(listing, &run));
    if failures.is_empty() {
        return Ok(run);
    }
    Err(Failures::new(failures))
}

/// The text of the `output.txt` that this run would be expected to give again.
pub(crate) fn output_of(listing: &Listing, run: &Run) -> String {
    Expected::render(&listing.command, &run.stdout, run.outcome)
}
