//! The built site in a real browser: every page in both colour schemes on a desktop and on a telephone, by keyboard
//! alone and without scripts; and the faults that these tests are for, planted one at a time.
//!
//! It reads `book/`, which `cargo xtask build` makes, and axe-core and Chromium, which `cargo xtask setup` and
//! `.ci/packages` bring. What is missing fails, with the command that brings it.

mod audit;
mod browser;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use audit::{Audit, Finding, WIDTHS};
use browser::{Browser, Scheme};

/// The workspace, in which `setup` has put its tools.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace")
}

/// The built site: `book/` in the workspace, or in the copy that `$GUIDE_ROOT` names.
fn site() -> PathBuf {
    let root = std::env::var_os("GUIDE_ROOT").map_or_else(|| workspace().to_owned(), PathBuf::from);
    let site = root.join("book");
    assert!(site.join("index.html").exists(), "{} is not built: run `cargo xtask build`", site.display());
    site
}

/// The text of axe-core, which the package `axe-playwright-python` carries.
fn axe() -> String {
    let libraries = workspace().join(".venv/lib");
    fs::read_dir(&libraries)
        .into_iter()
        .flatten()
        .flatten()
        .find_map(|python| fs::read_to_string(python.path().join("site-packages/axe_playwright_python/axe.min.js")).ok())
        .unwrap_or_else(|| panic!("axe-core is not in {}: run `cargo xtask setup`", libraries.display()))
}

/// Fails with everything that was found.
fn require_none(findings: &[Finding]) {
    let list: Vec<String> = findings.iter().map(|finding| format!("  {finding}\n")).collect();
    assert!(list.is_empty(), "{} findings on the site:\n{}", list.len(), list.concat());
}

#[test]
fn every_page_in_both_schemes_and_widths() {
    let audit = Audit::new(&site(), &axe());
    let pages = audit.pages();
    // Two browsers: one for each core of the machine that this must be quick on.
    let findings: Vec<Finding> = thread::scope(|scope| {
        let halves: Vec<_> = WIDTHS
            .into_iter()
            .map(|width| {
                let (audit, pages) = (&audit, &pages);
                scope.spawn(move || {
                    let mut browser = Browser::start();
                    pages.iter().flat_map(|page| audit.page(&mut browser, page, width)).collect::<Vec<_>>()
                })
            })
            .collect();
        halves.into_iter().flat_map(|half| half.join().expect("no finding is a panic")).collect()
    });
    require_none(&findings);
}
