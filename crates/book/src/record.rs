//! The record of a run: what the preprocessor leaves for the check of what mdBook built.

use proof::Origin;
use serde::{Deserialize, Serialize};

/// What the built pages must agree with: `target/guide/run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// The id that every page of this run carries: a hash of everything that went into it.
    pub run: String,
    /// ExecuTorch's version.
    pub executorch: String,
    /// The pages in the order of `SUMMARY.md`.
    pub pages: Vec<ProvedPage>,
    /// The claims in the order of the pages.
    pub claims: Vec<ProvedClaim>,
    /// How many facts the runs recorded.
    pub facts: usize,
    /// Milliseconds: making or finding the exports, building the listings at the same time, running them, and all.
    pub took: Took,
}

/// Milliseconds of the parts of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Took {
    /// Exporting, or finding everything in the cache.
    pub exports: u128,
    /// Building the listings, or finding them built.
    pub build: u128,
    /// Running the listings.
    pub runs: u128,
    /// Everything, from the first byte of input.
    pub all: u128,
}

/// The comment with which a page names its run.
pub(crate) fn run_mark(run: &str) -> String {
    format!("<!-- guide-run: {run} -->")
}

/// A claim of the book, for whoever wants to check the list: `claims.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProvedClaim {
    /// The id.
    pub id: String,
    /// The sentence, in Markdown.
    pub sentence: String,
    /// The page, a path in `src/`.
    pub page: String,
    /// The listing that asserts it.
    pub listing: String,
    /// Who produced the behaviour.
    pub origin: Origin,
    /// The source of the assertion, relative to the workspace.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

/// A page of the proved book.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProvedPage {
    /// The path in `src/`.
    pub path: String,
    /// Words of prose.
    pub words: usize,
    /// How many directives and claims a reader shall see as such.
    pub literals: usize,
}
