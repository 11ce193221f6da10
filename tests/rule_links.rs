//! Every finding of `pte check` leads into the guide: to a page of it, and to the rule's own heading there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pte::lint::RULES;

/// What is wrong with a link from the guide's root, if its pages are below `src`.
fn broken(src: &Path, link: &str) -> Option<String> {
    let (page, id) = link.split_once('#')?;
    let page = page.replace(".html", ".md");
    let named = |text: String| text.contains(&format!("({page})"));
    if !fs::read_to_string(src.join("SUMMARY.md")).is_ok_and(named) {
        return Some(format!("{link}: SUMMARY.md names no {page}"));
    }
    let text = fs::read_to_string(src.join(&page)).ok()?;
    let ids: BTreeSet<String> = text.lines().filter_map(heading).collect();
    (!ids.contains(id)).then(|| format!("{link}: {page} has no such heading"))
}

/// The id that mdBook gives to the heading on this line.
fn heading(line: &str) -> Option<String> {
    let text = line.strip_prefix('#')?.trim_start_matches('#');
    let kept = text.trim().chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || "-_".contains(c) => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    Some(kept.collect())
}

#[test]
fn every_rule_leads_to_its_own_heading() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let broken: Vec<String> = RULES
        .iter()
        .filter_map(|rule| broken(&src, &rule.page()))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let pages: BTreeSet<String> = RULES.iter().map(|rule| rule.page()).collect();
    assert_eq!(pages.len(), RULES.len(), "a heading each");
    assert!(RULES.iter().all(|rule| rule.page().contains('#')));
}

#[test]
fn a_link_to_nothing_is_broken() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    for link in [
        "reference/none.html#the-rules",
        "reference/pte.html#l0-nothing",
    ] {
        assert!(broken(&src, link).is_some(), "{link}");
    }
    assert_eq!(broken(&src, "reference/pte.html#the-rules"), None);
}
