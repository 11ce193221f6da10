//! The gate of the book: mdBook's preprocessor `guide-book`, the runner of its listings, and the check of what was built.
//!
//! A page is Markdown with six additions, and each of them is held against a run of the listings that the build makes:
//!
//! | on the page | means |
//! |---|---|
//! | `[sentence]{claim=id}` | a listing asserts this sentence, in these words |
//! | `{{fact listing.name = value}}` | a listing recorded this value, or quotes it from a named source |
//! | `{{output listing}}` | what the listing printed in this run, which is its `output.txt`; `listing.cc` and `listing.py` are those in C++ and Python |
//! | `{{table listing.name: caption}}` | a table that a listing made of this run |
//! | `{{gpu sentence}}` | only a GPU can show this; the page's strip says so |
//! | `{{strip}}` | what stands behind this page: proved, from our stand-in, only on a GPU |
//!
//! besides `{{version executorch}}` and the like, and mdBook's own `{{#include file:anchor}}`. Every rule is a [`Kind`];
//! a run collects all [`Failure`]s and reports them at once. mdBook itself carries on after most faults, so nothing here
//! does.
//!
//! Blocks that include Rust, C++ and Python, in this order with nothing between, are shown as tabs, and so are their outputs.
//!
//! The stages, each a module: `listing` and `runner` (what a listing is, and running it; `cpp` and `python` for those in
//! other languages), `proving` (all of them),
//! `page` and `markdown` (what a page says), `gate` (comparing the two), `render` (what a reader sees), `record` (what a
//! run leaves), `site` (what mdBook made of it), `bless` (the comparison, written instead of reported).

mod bless;
mod config;
mod cpp;
mod drawing;
mod exports;
mod failure;
#[doc(hidden)]
pub mod fingerprint;
mod gate;
mod html;
mod include;
mod listing;
mod llms;
mod markdown;
mod normalise;
mod page;
mod pattern;
mod preprocess;
mod provenance;
mod proving;
mod python;
mod record;
mod render;
mod replay;
mod runner;
mod site;

mod web;
mod workspace;

pub use bless::bless;
pub use config::Settings;
pub use failure::{Failure, Failures, Kind};
pub use gate::{Judgement, judge};
pub use listing::{Expected, Language, Listing, Outcome};
pub use page::Source;
pub use preprocess::preprocess;
pub use provenance::{Commit, Provenance};
pub use proving::{Proof, Times, prove, prove_listing};
pub use python::share as share_python;
pub use record::{ProvedClaim, ProvedPage, RunRecord, Took};
pub use runner::{Binaries, Limits, Run, Runner, build};
pub use site::check;
pub use workspace::{ROOT_VARIABLE, RUNTIME_LIB_VARIABLE, Workspace};

/// Keeps this process and the listings that it starts from leaving core files behind.
pub fn forbid_core_files() {
    runner::forbid_core_files();
}
