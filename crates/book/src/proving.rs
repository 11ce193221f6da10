//! Exports, builds and runs every listing, and judges each by what is expected of it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use export::Exporter;
use proof::{Origin, Record, Source};
use regex::Regex;
use serde::Serialize;

use crate::cpp;
use crate::exports::{self, Exports};
use crate::failure::{Failure, Failures, Kind};
use crate::listing::{Expected, Language, Listing, Outcome, discover};
use crate::pattern::regex;
use crate::provenance::Provenance;
use crate::python::Host;
use crate::replay::Replay;
use crate::runner::{Binaries, Limits, Run, Runner, build, device_library};
use crate::web;
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
    let of = |language: Language| {
        let all = listings.values();
        all.filter(move |listing| listing.language == language)
    };
    let replay = Replay::asked(&runner);
    let kept = replay.as_ref().and_then(Replay::runs);
    // It imports for seconds, while the rest is made.
    let host = of(Language::Python)
        .next()
        .filter(|_| kept.is_none())
        .map(|_| Host::start(&runner));
    let mut host = host.transpose()?;
    let mut times = Times::default();

    let ((exports, took), (built, took_to_build), reader) = thread::scope(|scope| {
        let exports = scope.spawn(|| timed(|| exports::make(&exporter, listings.values())));
        let reader = scope.spawn(|| web::build(workspace));
        let built = timed(|| build_all(workspace, &listings));
        let exports = exports
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let reader = reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (exports, built, reader)
    });
    failures.extend(reader.err().into_iter().flatten());
    times.exports = took;
    times.build = took_to_build;

    let mut unknown = BTreeSet::new();
    for (folder, failed) in &exports.failed {
        failures.extend(failed.iter().cloned());
        unknown.extend(Language::ALL.map(|language| language.listing(folder)));
    }
    unknown.retain(|name| listings.contains_key(name));
    let (binaries, device) = built.unwrap_or_else(|failure| {
        failures.extend(failure);
        unknown.extend(listings.keys().cloned());
        (Binaries::new(), PathBuf::new())
    });
    let mut work = Vec::new();
    let mut in_python = Vec::new();
    for listing in listings
        .values()
        .filter(|listing| !unknown.contains(&listing.name))
    {
        let files = exports.files.get(&listing.folder);
        let files = files.map_or(&[][..], Vec::as_slice);
        match (binaries.get(&listing.name), listing.language) {
            (Some(path), _) => work.push((listing, path.as_path(), files)),
            (None, Language::Python) => in_python.push((listing, files)),
            (None, _) => failures.push(without_binary(listing)),
        }
    }
    unknown.extend(
        of(Language::Rust)
            .chain(of(Language::Cpp))
            .map(|listing| listing.name.clone())
            .filter(|name| !binaries.contains_key(name)),
    );

    let (runs, took) = timed(|| {
        if let Some(kept) = kept {
            return kept
                .into_iter()
                .map(|(name, run)| (name, Ok(run)))
                .collect();
        }
        thread::scope(|scope| {
            let others = scope.spawn(|| runner.run_all(&work));
            let mut runs = match &mut host {
                Some(host) => host.run_all(&runner, &in_python, &device),
                None => BTreeMap::new(),
            };
            let others = others.join();
            runs.append(&mut others.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            runs
        })
    });
    drop(host);
    if let Some(replay) = replay
        && let Ok(all) = runs
            .iter()
            .map(|(name, run)| Ok((name.clone(), run.as_ref()?)))
            .collect::<Result<_, &Failures>>()
        && unknown.is_empty()
    {
        replay.keep(&all);
    }
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
            // What the listing in Rust fails with, the others would say again.
            _ if !proof.may_be_compared(&listing) => {
                unknown.insert(name);
            }
            Err(failure) => {
                failures.extend(failure);
                unknown.insert(name);
            }
            Ok(run) => {
                let mut wrong = judge(&listing, &run);
                if !ends_early(&wrong) {
                    let rust = proof.runs.get(&listing.folder);
                    wrong.extend(rust.and_then(|rust| differs(&listing, &run, rust)));
                }
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
        // Those in other languages say nothing of claims and facts.
        let sources = sources(&workspace.listings().join(&name));
        proof.unknown.insert(name, sources);
    }
    Ok((proof, failures))
}

/// Builds the listings in Rust, and then those in C++, which are linked with the device's library that cargo built.
fn build_all(
    workspace: &Workspace,
    listings: &BTreeMap<String, Listing>,
) -> Result<(Binaries, PathBuf), Failures> {
    let mut binaries = build(workspace)?;
    let in_rust = |listing: &Listing| listing.language == Language::Rust;
    if listings.values().all(in_rust) {
        return Ok((binaries, PathBuf::new()));
    }
    let device = device_library(workspace)?;
    binaries.append(&mut cpp::build(workspace, listings.values(), &device)?);
    Ok((binaries, device))
}

fn without_binary(listing: &Listing) -> Failure {
    let expected = match listing.language {
        Language::Rust => format!(
            "a `[[bin]]` named `{}` in listings/Cargo.toml",
            listing.name
        ),
        _ => format!(
            "`add_executable({} {}/{})` in listings/CMakeLists.txt",
            listing.folder,
            listing.folder,
            listing.language.source()
        ),
    };
    Failure::new(
        Kind::ListingWithoutBinary,
        &listing.name,
        listing.source(),
        1,
        expected,
        "no such program",
    )
}

impl Proof {
    /// Whether a listing is in Rust, or the one in Rust beside it, if there is one, gave a run.
    fn may_be_compared(&self, listing: &Listing) -> bool {
        listing.language == Language::Rust
            || !self.listings.contains_key(&listing.folder)
            || self.runs.contains_key(&listing.folder)
    }

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
                .repeated_by(&listing.repeat()),
            );
        }
    }
    if !failures.is_empty() {
        return failures;
    }
    if run.outcome != listing.outcome() {
        let (file, line) = place_of_panic(&run.stderr).unwrap_or_else(|| (listing.source(), 1));
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
            .repeated_by(&listing.repeat()),
        ];
    }
    let Some(expected) = &listing.expected else {
        return failures;
    };
    let command = format!("$ {}", listing.command);
    let file = listing.output();
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
            .repeated_by(&listing.repeat()),
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
            .repeated_by(&listing.repeat()),
        );
    }
    failures
}

/// What a listing in another language prints of a thing that the one in Rust prints too: the words before a line's first
/// colon name it, and what stands behind must be the same, but for the case of letters (`true`, `True`). One that ends
/// well has such a line.
fn differs(listing: &Listing, run: &Run, rust: &Run) -> Option<Failure> {
    if listing.language == Language::Rust {
        return None;
    }
    let failure = |line, expected: &str, seen: &str| {
        let kind = Kind::LanguagesDiffer;
        let failure = Failure::new(kind, &listing.name, listing.output(), line, expected, seen);
        Some(failure.repeated_by(&listing.repeat()))
    };
    let values: BTreeMap<&str, &str> = said(rust).map(|(_, what, value)| (what, value)).collect();
    let mut shared = said(run)
        .filter_map(|(line, what, value)| Some((line, what, value, *values.get(what)?)))
        .peekable();
    if shared.peek().is_none() && run.outcome == Outcome::SUCCESS {
        let expected = "a line `words: value` whose words the listing in Rust prints too";
        return failure(1, expected, run.stdout.trim_end());
    }
    let (line, what, value, in_rust) =
        shared.find(|(.., value, in_rust)| !value.eq_ignore_ascii_case(in_rust))?;
    // Behind the line with the command.
    failure(
        line + 1,
        &format!("{what}: {in_rust}, as in Rust"),
        &format!("{what}: {value}"),
    )
}

/// The lines `words: value` of an output, each with its number.
fn said(run: &Run) -> impl Iterator<Item = (usize, &str, &str)> {
    let lines = run.stdout.lines().zip(1..);
    lines.filter_map(|(line, number)| {
        let (what, value) = line.split_once(": ")?;
        Some((number, what, value))
    })
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

/// Runs the listings of one folder, in every language, and judges each by its own expectations: the test of a listing.
///
/// `executable` is the program that cargo built for the test, `env!("CARGO_BIN_EXE_…")`. All exports of all listings are
/// made first, once for the process. Gives back the run of the listing in Rust.
///
/// # Errors
///
/// Everything that is wrong with these listings.
pub fn prove_listing(name: &str, executable: &Path) -> Result<Run, Failures> {
    static MADE: OnceLock<Result<(Exporter, Exports), Failures>> = OnceLock::new();
    let workspace = Workspace::find()?;
    let (listings, failures) = discover(&workspace);
    let names = Language::ALL.map(|language| language.listing(name));
    let mut failures: Vec<_> = failures
        .into_iter()
        .filter(|failure| names.contains(&failure.id))
        .collect();
    let in_rust = listings.get(name).ok_or_else(|| {
        Failures::from(Failure::new(
            Kind::ListingUnknown,
            name,
            format!("listings/{name}/main.rs"),
            1,
            "a listing",
            "no such file",
        ))
    })?;
    let made = MADE.get_or_init(|| {
        let exporter = exports::exporter(&workspace)?;
        let exports = exports::make(&exporter, listings.values());
        Ok((exporter, exports))
    });
    let (exporter, exports) = made.as_ref().map_err(Clone::clone)?;
    if let Some(failed) = exports.failed.get(name) {
        return Err(Failures::new(failed.clone()));
    }
    let files = exports.files.get(name).map_or(&[][..], Vec::as_slice);
    let others: Vec<_> = names[1..]
        .iter()
        .filter_map(|name| listings.get(name))
        .collect();
    let device = if others.is_empty() {
        PathBuf::new()
    } else {
        device_library(&workspace)?
    };
    let runner = Runner::new(&workspace, exporter, Limits::from_environment()?)?;
    let rust = runner.run(in_rust, executable, files)?;
    failures.extend(judge(in_rust, &rust));
    if ends_early(&failures) {
        return Err(Failures::new(failures));
    }
    for listing in others {
        let run = match listing.language {
            Language::Python => in_python(&runner, listing, files, &device)?,
            _ => {
                let built = cpp::build(&workspace, listings.values(), &device)?;
                let program = built.get(&listing.name);
                runner.run(
                    listing,
                    program.ok_or_else(|| without_binary(listing))?,
                    files,
                )?
            }
        };
        let wrong = judge(listing, &run);
        if !ends_early(&wrong) {
            failures.extend(differs(listing, &run, &rust));
        }
        failures.extend(wrong);
    }
    if failures.is_empty() {
        return Ok(rust);
    }
    Err(Failures::new(failures))
}

/// Runs a listing in Python for its test. One process imports ExecuTorch for all of them.
fn in_python(
    runner: &Runner,
    listing: &Listing,
    files: &[PathBuf],
    device: &Path,
) -> Result<Run, Failures> {
    static HOST: Mutex<Option<Host>> = Mutex::new(None);
    let mut host = HOST.lock().unwrap_or_else(PoisonError::into_inner);
    let host = match &mut *host {
        Some(host) => host,
        none => none.insert(Host::start(runner)?),
    };
    let mut run = host.run_all(runner, &[(listing, files)], device);
    run.remove(&listing.name)
        .unwrap_or_else(|| Err(without_binary(listing).into()))
}

/// The text of the `output.txt` that this run would be expected to give again.
pub(crate) fn output_of(listing: &Listing, run: &Run) -> String {
    Expected::render(&listing.command, &run.stdout, run.outcome)
}
