//! The preprocessor's one step: the book as mdBook hands it over, proved or refused.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use mdbook_preprocessor::book::{Book, BookItem};
use mdbook_preprocessor::{MDBOOK_VERSION, PreprocessorContext, parse_input};
use sha2::{Digest as _, Sha256};

use crate::config;
use crate::failure::{Failure, Failures, Kind};
use crate::fingerprint::{self, hex};
use crate::gate::{Judgement, judge};
use crate::page::Source;
use crate::proving::{Proof, prove};
use crate::record::{RunRecord, Took, run_mark};
use crate::runner::Limits;
use crate::site::notices;
use crate::workspace::{Workspace, write_whole};

/// Reads the book from `input` and writes it, proved, to `output`; the record of the run goes to `target/guide/run.json`.
///
/// # Errors
///
/// Everything that keeps the book from being true. Then nothing is written, and there is no record of a run.
pub fn preprocess(
    workspace: &Workspace,
    input: impl Read,
    output: impl Write,
) -> Result<RunRecord, Failures> {
    let start = Instant::now();
    let system = |what: &str, error: &dyn std::fmt::Display| {
        Failures::from(Failure::new(
            Kind::RunFails,
            what,
            "book.toml",
            1,
            "a preprocessor that mdBook starts",
            error.to_string(),
        ))
    };
    let record = workspace.run_record();
    if let Err(error) = fs::remove_file(&record).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }) {
        return Err(system("run.json", &error));
    }
    let (context, mut book) =
        parse_input(input).map_err(|error| system("mdbook", &format!("{error:#}")))?;
    check_versions(workspace, &context)?;
    let (settings, mut failures) = config::check(workspace, &context.config);
    let src = config::src(&context.config);
    let (sources, missing) = sources(workspace, src, &book);
    failures.extend(missing);

    let (proof, unproved) = prove(workspace, Limits::from_environment()?)?;
    failures.extend(unproved);
    let judgement = judge(workspace, src, &settings, sources.clone(), &proof);
    failures.extend(judgement.failures.iter().cloned());
    if !failures.is_empty() {
        return Err(Failures::new(failures));
    }

    let run = run_id(workspace, &sources, &proof, &judgement);
    book.for_each_chapter_mut(|chapter| {
        let path = chapter
            .path
            .as_deref()
            .and_then(Path::to_str)
            .unwrap_or_default();
        if let Some(text) = judgement.pages.get(path) {
            chapter.content = format!(
                "{}\n\n{}\n\n{}\n",
                text.trim_end(),
                notices(path),
                run_mark(&run)
            );
        }
    });
    let record_of_run = RunRecord {
        run,
        executorch: proof.provenance.executorch.clone(),
        facts: proof.facts.len(),
        took: Took {
            exports: proof.times.exports.as_millis(),
            build: proof.times.build.as_millis(),
            runs: proof.times.runs.as_millis(),
            all: start.elapsed().as_millis(),
        },
        pages: judgement.proved_pages,
        claims: judgement.proved_claims,
    };
    write_whole(
        &record,
        &serde_json::to_vec_pretty(&record_of_run).map_err(|error| system("run.json", &error))?,
    )
    .map_err(|error| system("run.json", &error))?;
    serde_json::to_writer(output, &book).map_err(|error| system("mdbook", &error))?;
    Ok(record_of_run)
}

/// Whether this program, its sources and mdBook belong together.
fn check_versions(workspace: &Workspace, context: &PreprocessorContext) -> Result<(), Failures> {
    let built_from = env!("GUIDE_SOURCES");
    let stale = |seen: String| {
        Failures::from(
            Failure::new(
                Kind::StalePreprocessor,
                "guide-book",
                "crates/book",
                1,
                "a guide-book built from the sources in this repository; `cargo xtask setup` builds it",
                seen,
            )
            .repeated_by("cargo xtask setup"),
        )
    };
    let sources = fingerprint::of_sources(workspace.root())
        .map_err(|error| stale(format!("sources that cannot be read: {error}")))?;
    if sources != built_from {
        return Err(stale("one built from other sources".to_owned()));
    }
    if context.mdbook_version != MDBOOK_VERSION {
        return Err(Failures::from(
            Failure::new(
                Kind::MdbookVersion,
                "mdbook",
                "book.toml",
                1,
                format!(
                    "mdBook {MDBOOK_VERSION}, which `cargo xtask setup` installs under .venv/tools"
                ),
                format!("mdBook {}", context.mdbook_version),
            )
            .repeated_by("cargo xtask setup"),
        ));
    }
    Ok(())
}

/// The pages of the book as they are on disk, and chapters that have none.
fn sources(workspace: &Workspace, src: &Path, book: &Book) -> (Vec<Source>, Vec<Failure>) {
    let mut sources = Vec::new();
    let mut missing = Vec::new();
    let shown = |path: &Path| workspace.relative(&workspace.root().join(src).join(path));
    for item in book.iter() {
        let BookItem::Chapter(chapter) = item else {
            continue;
        };
        let Some(path) = chapter.path.as_deref() else {
            let summary = shown(Path::new("SUMMARY.md"));
            let line = fs::read_to_string(workspace.root().join(&summary))
                .ok()
                .and_then(|text| {
                    text.lines()
                        .position(|line| line.contains(&format!("[{}]", chapter.name)))
                })
                .map_or(1, |index| index + 1);
            missing.push(Failure::new(
                Kind::PageMissing,
                &chapter.name,
                summary,
                line,
                "a page for every line of SUMMARY.md",
                "a line without a page",
            ));
            continue;
        };
        sources.push(Source {
            path: path.to_string_lossy().into_owned(),
            file: shown(chapter.source_path.as_deref().unwrap_or(path)),
            text: chapter.content.clone(),
        });
    }
    (sources, missing)
}

/// A hash of everything that went into the pages and that came out of the runs.
fn run_id(
    workspace: &Workspace,
    sources: &[Source],
    proof: &Proof,
    judgement: &Judgement,
) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    part(env!("GUIDE_SOURCES").as_bytes());
    part(proof.provenance.executorch.as_bytes());
    part(proof.provenance.sources().as_bytes());
    part(&fs::read(workspace.root().join("book.toml")).unwrap_or_default());
    for source in sources {
        part(source.path.as_bytes());
        part(source.text.as_bytes());
        part(
            judgement
                .pages
                .get(&source.path)
                .map(String::as_bytes)
                .unwrap_or_default(),
        );
    }
    for (name, run) in &proof.runs {
        part(name.as_bytes());
        let listing = &proof.listings[name];
        for file in [
            listing.source(),
            listing.file("export.py"),
            listing.output(),
        ] {
            part(&fs::read(workspace.root().join(file)).unwrap_or_default());
        }
        part(run.stdout.as_bytes());
        part(run.outcome.to_string().as_bytes());
        part(&serde_json::to_vec(&run.records).unwrap_or_default());
    }
    hex(&hash.finalize()[..16])
}
