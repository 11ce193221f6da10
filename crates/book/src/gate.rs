//! Compares the pages with what the runs showed, and writes the pages when nothing is left to say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proof::Origin;

use crate::config::Settings;
use crate::failure::{Failure, Kind};
use crate::include;
use crate::listing::{Language, Outcome};
use crate::markdown::{DIRECTIVE, has_scheme};
use crate::page::{Action, Page, Source};
use crate::proving::{Proof, output_of};
use crate::record::{ProvedClaim, ProvedPage};
use crate::render;
use crate::workspace::{Workspace, files_below};

/// A change that makes an expectation what the run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The file, relative to the workspace.
    pub(crate) file: String,
    /// The bytes that change; the whole file where there are none.
    pub(crate) span: Option<Range<usize>>,
    pub(crate) text: String,
}

/// What judging the pages gave.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Every broken rule.
    pub failures: Vec<Failure>,
    /// The Markdown for mdBook, by path in `src/`; empty while a rule is broken.
    pub pages: BTreeMap<String, String>,
    /// The pages, in their order.
    pub proved_pages: Vec<ProvedPage>,
    /// The claims, in the order of the pages.
    pub proved_claims: Vec<ProvedClaim>,
    /// What `bless` would change.
    pub(crate) edits: Vec<Edit>,
}

/// Reads and judges all pages, in the order of `SUMMARY.md`. `src` is the folder of the pages, relative to the root.
#[must_use]
pub fn judge(
    workspace: &Workspace,
    src: &Path,
    settings: &Settings,
    sources: Vec<Source>,
    proof: &Proof,
) -> Judgement {
    let mut failures = Vec::new();
    let mut pages = Vec::new();
    for source in sources {
        let (page, unreadable) = Page::read(source);
        failures.extend(unreadable);
        pages.push(page);
    }
    let mut gate = Gate {
        workspace,
        src: workspace.root().join(src),
        settings,
        proof,
        pages: &pages,
        failures,
        edits: Vec::new(),
        shown: BTreeMap::new(),
        included: BTreeMap::new(),
        stated: BTreeSet::new(),
    };
    gate.check_includes();
    for page in &pages {
        gate.check_page(page);
    }
    gate.check_links();
    gate.check_assertions();
    gate.check_facts();
    gate.check_listings();
    gate.check_files();

    let mut judgement = Judgement {
        failures: gate.failures,
        edits: gate.edits,
        ..Judgement::default()
    };
    if judgement.failures.is_empty() {
        let book = render::Book {
            pages: &pages,
            proof,
            shown: &gate.shown,
            included: &gate.included,
            drift: render::drift(workspace),
        };
        for page in &pages {
            let text = book.page(page);
            let path = page.source.path.clone();
            judgement.proved_pages.push(ProvedPage {
                literals: literals(&text) + literals(&book.left_to_mdbook(page)),
                words: page.parsed.words,
                path: path.clone(),
            });
            judgement.pages.insert(path, text);
        }
        judgement.proved_claims = book.claims();
    }
    judgement
}

/// How many directives and claims in a page for mdBook will still be there when mdBook is done: all but its includes.
fn literals(markdown: &str) -> usize {
    let is_include =
        |at: usize| markdown[at..].starts_with("{{#") && !markdown[..at].ends_with('\\');
    DIRECTIVE
        .find_iter(markdown)
        .filter(|found| !is_include(found.start()))
        .count()
}

/// The listing that a file in `listings/` shows, by its path there.
pub(crate) fn listing_of(inside: &Path) -> Option<String> {
    let folder = inside.iter().next()?.to_str()?;
    let language = Language::ALL
        .into_iter()
        .find(|language| inside.ends_with(language.source()));
    Some(language.unwrap_or(Language::Rust).listing(folder))
}

struct Gate<'a> {
    workspace: &'a Workspace,
    /// The folder of the pages, absolute.
    src: PathBuf,
    settings: &'a Settings,
    proof: &'a Proof,
    pages: &'a [Page],
    failures: Vec<Failure>,
    edits: Vec<Edit>,
    /// For each listing, the pages that show it, in order.
    shown: BTreeMap<String, Vec<String>>,
    /// What each page includes, by the place of the directive.
    included: BTreeMap<String, BTreeMap<usize, String>>,
    /// Facts that some page quotes.
    stated: BTreeSet<String>,
}

impl Gate<'_> {
    fn check_includes(&mut self) {
        for page in self.pages {
            let base = self.src.join(&page.source.path);
            let base = base.parent().unwrap_or(&self.src);
            for directive in &page.directives {
                let listing = match &directive.action {
                    Action::Include { path, selector, .. } => {
                        match include::check(self.workspace.root(), base, path, selector.as_deref())
                        {
                            Ok(included) => {
                                let texts =
                                    self.included.entry(page.source.path.clone()).or_default();
                                texts.insert(directive.span.start, included.text);
                                let inside = included.file.strip_prefix("listings").ok();
                                inside.and_then(listing_of)
                            }
                            Err((kind, expected, seen)) => {
                                let id = selector
                                    .as_ref()
                                    .map_or(path.clone(), |selector| format!("{path}:{selector}"));
                                self.failures.push(page.failure(
                                    kind,
                                    id,
                                    directive.span.start,
                                    expected,
                                    seen,
                                ));
                                None
                            }
                        }
                    }
                    Action::Output { listing } => Some(listing.clone()),
                    Action::Table { id, .. } => id.split('.').next().map(str::to_owned),
                    _ => None,
                };
                if let Some(listing) = listing {
                    let pages = self.shown.entry(listing).or_default();
                    if pages.last() != Some(&page.source.path) {
                        pages.push(page.source.path.clone());
                    }
                }
            }
        }
    }

    fn check_page(&mut self, page: &Page) {
        let in_index = page.source.path == self.settings.error_index;
        let stand_in = |id: &str, at: usize, origin: Origin| {
            (in_index && origin == Origin::StandIn).then(|| {
                page.failure(
                    Kind::StandInInErrorIndex,
                    id,
                    at,
                    "what a reader with a GPU meets: the exporter's or the runtime's, or the CUDA delegate's",
                    "our stand-in's",
                )
            })
        };
        for claim in &page.claims {
            let at = claim.span.start;
            let Some(asserted) = self.proof.assertions.get(&claim.id) else {
                if !self.proof.may_be_missing(&claim.id) {
                    let expected = "a listing that asserts it";
                    let seen = "no listing asserted it in this run";
                    self.failures.push(page.failure(
                        Kind::ClaimWithoutAssertion,
                        &claim.id,
                        at,
                        expected,
                        seen,
                    ));
                }
                continue;
            };
            let sentence = page.sentence(claim, |of| self.proof.provenance.version(of));
            for assertion in asserted {
                if assertion.sentence != sentence {
                    self.failures.push(
                        page.failure(
                            Kind::SentenceDiffers,
                            &claim.id,
                            at,
                            &sentence,
                            format!(
                                "{} ({}:{})",
                                assertion.sentence, assertion.file, assertion.line
                            ),
                        )
                        .of_listing(&assertion.listing),
                    );
                }
                self.failures
                    .extend(stand_in(&claim.id, at, assertion.origin));
            }
        }
        for directive in &page.directives {
            let at = directive.span.start;
            match &directive.action {
                Action::Fact { id, value } => {
                    self.stated.insert(id.clone());
                    if let Some(measured) = self.proof.facts.get(id) {
                        self.failures.extend(stand_in(id, at, measured.origin));
                    }
                    self.check_fact(page, at, &directive.span, id, value);
                }
                Action::Table { id, .. } => {
                    self.stated.insert(id.clone());
                    match self.proof.facts.get(id) {
                        Some(measured) if render::table(&measured.value).is_some() => {
                            self.failures.extend(stand_in(id, at, measured.origin));
                        }
                        Some(measured) => {
                            let expected =
                                "a table or a drawing that a listing recorded in this run";
                            let seen = &measured.value;
                            self.failures.push(page.failure(
                                Kind::FactUnknown,
                                id,
                                at,
                                expected,
                                seen,
                            ));
                        }
                        None => self.check_fact(page, at, &directive.span, id, ""),
                    }
                }
                Action::Output { listing } if !self.proof.listings.contains_key(listing) => {
                    self.failures.push(page.failure(
                        Kind::ListingUnknown,
                        listing,
                        at,
                        format!("listings/{listing}/main.rs"),
                        "no such listing",
                    ));
                }
                Action::Output { listing } => {
                    let rests_on_us = self
                        .proof
                        .facts
                        .values()
                        .any(|fact| fact.listing == *listing && fact.origin == Origin::StandIn)
                        || self.proof.assertions.values().flatten().any(|assertion| {
                            assertion.listing == *listing && assertion.origin == Origin::StandIn
                        });
                    // The others record nothing, and run on the device all the same.
                    if rests_on_us || self.proof.listings[listing].language != Language::Rust {
                        self.failures.extend(stand_in(listing, at, Origin::StandIn));
                    }
                }
                Action::Version { of } if self.proof.provenance.version(of).is_none() => {
                    self.failures.push(page.failure(
                        Kind::DirectiveMalformed,
                        "version",
                        at,
                        "`executorch`, `torch`, `python`, `rust`, or `crate:NAME` with one version in Cargo.lock",
                        of,
                    ));
                }
                Action::Drift if render::drift(self.workspace).is_none() => {
                    self.failures.push(page.failure(
                        Kind::DirectiveMalformed,
                        "drift",
                        at,
                        format!(
                            "a line in {}, which the drift tests keep",
                            render::DRIFT_FILE
                        ),
                        "no such file",
                    ));
                }
                _ => {}
            }
        }
        self.check_strip(page);
        page.check_fences(&mut self.failures);
        let messages: Vec<&str> = self
            .proof
            .facts
            .values()
            .map(|fact| fact.value.as_str())
            .filter(|value| value.split_whitespace().count() >= 4)
            .collect();
        page.check_prose(&messages, &mut self.failures);
        for &at in &page.parsed.unknown_admonitions {
            let line = page.source.text[at..].lines().next().unwrap_or_default();
            self.failures.push(page.failure(
                Kind::AdmonitionMalformed,
                "admonition",
                at,
                "`> [!NOTE]`, or TIP, IMPORTANT, WARNING, CAUTION, alone on its line",
                line,
            ));
        }
    }

    fn check_fact(&mut self, page: &Page, at: usize, span: &Range<usize>, id: &str, value: &str) {
        let listing = id.split('.').next().unwrap_or_default();
        let Some(measured) = self.proof.facts.get(id) else {
            if !self.proof.may_be_missing(id) {
                let known: Vec<_> = self
                    .proof
                    .facts
                    .keys()
                    .filter(|known| known.split('.').next() == Some(listing))
                    .map(String::as_str)
                    .collect();
                let seen = if known.is_empty() {
                    format!("no facts of `{listing}`")
                } else {
                    format!("only {}", known.join(", "))
                };
                let failure = page.failure(
                    Kind::FactUnknown,
                    id,
                    at,
                    "a fact that a listing recorded in this run",
                    seen,
                );
                self.failures.push(failure);
            }
            return;
        };
        if measured.value != value {
            let failure = page.failure(Kind::FactDiffers, id, at, value, &measured.value);
            self.failures.push(failure.of_listing(&measured.listing));
            self.edits.push(Edit {
                file: page.source.file.clone(),
                span: Some(span.clone()),
                text: format!("{{{{fact {id} = {}}}}}", measured.value),
            });
        }
    }

    fn check_strip(&mut self, page: &Page) {
        let strips: Vec<_> = page
            .directives
            .iter()
            .filter(|directive| directive.action == Action::Strip)
            .collect();
        if let Some(second) = strips.get(1) {
            let failure = page.failure(
                Kind::DirectiveMisplaced,
                "strip",
                second.span.start,
                "one `{{strip}}` a page",
                "a second one",
            );
            self.failures.push(failure);
        }
        let states_nothing = page.claims.is_empty()
            && page.directives.iter().all(|directive| {
                matches!(
                    directive.action,
                    Action::Include { .. } | Action::Version { .. } | Action::Drift
                )
            });
        let declared = self.settings.without_strip.contains(&page.source.path);
        let wrong = if declared {
            (!states_nothing).then_some("a page that `without-strip` of book.toml declares to state nothing about behaviour")
        } else {
            strips.is_empty().then_some("no strip")
        };
        if let Some(seen) = wrong {
            let expected = "`{{strip}}` alone on a line, on every page that states something";
            self.failures
                .push(page.failure(Kind::StripMissing, "strip", 0, expected, seen));
        }
    }

    fn check_links(&mut self) {
        for page in self.pages {
            for link in &page.parsed.links {
                if let Some(failure) = self.check_link(page, &link.target, link.at) {
                    self.failures.push(failure);
                }
            }
        }
    }

    fn check_link(&self, page: &Page, target: &str, at: usize) -> Option<Failure> {
        if has_scheme(target) {
            return None;
        }
        let broken = |expected: String, seen: &str| {
            Some(page.failure(Kind::LinkBroken, target, at, expected, seen))
        };
        let (path, fragment) = target
            .split_once('#')
            .map_or((target, None), |(path, fragment)| (path, Some(fragment)));
        let linked = if path.is_empty() {
            page
        } else {
            if path.starts_with('/') {
                return broken(
                    "a path relative to this page".to_owned(),
                    "an absolute path",
                );
            }
            let folder = self.src.join(&page.source.path);
            let file = include::normalise(
                &folder
                    .parent()
                    .unwrap_or(&self.src)
                    .join(path.replace("%20", " ")),
            );
            let Ok(inside) = file.strip_prefix(&self.src) else {
                return broken(
                    "a page or a file in src/".to_owned(),
                    "a path that leaves it",
                );
            };
            let inside = inside.to_string_lossy();
            match self.pages.iter().find(|page| page.source.path == inside) {
                Some(page) => page,
                None if inside.ends_with(".md") => {
                    return broken("a page that SUMMARY.md names".to_owned(), "no such page");
                }
                None if file.is_file() && fragment.is_none() => return None,
                None => {
                    return broken(
                        format!("a page, written as .md, or a file: {inside}"),
                        "no such page or file",
                    );
                }
            }
        };
        let fragment = fragment.filter(|fragment| !fragment.is_empty())?;
        if linked.parsed.ids.contains(fragment)
            || render::generated_ids(linked, &self.shown).contains(fragment)
        {
            return None;
        }
        let headings: Vec<_> = linked.parsed.ids.iter().map(String::as_str).collect();
        Some(page.failure(
            Kind::FragmentBroken,
            target,
            at,
            format!("a place on {}", linked.source.file),
            format!("only {}", headings.join(", ")),
        ))
    }

    fn check_assertions(&mut self) {
        let claimed: BTreeSet<&str> = self
            .pages
            .iter()
            .flat_map(|page| page.claims.iter().map(|claim| claim.id.as_str()))
            .collect();
        for (id, assertions) in &self.proof.assertions {
            if claimed.contains(id.as_str()) {
                continue;
            }
            for assertion in assertions {
                self.failures.push(
                    Failure::new(
                        Kind::AssertionWithoutClaim,
                        id,
                        &assertion.file,
                        assertion.line,
                        format!("[{}]{{claim={id}}} on a page", assertion.sentence),
                        "no page makes this claim",
                    )
                    .of_listing(&assertion.listing),
                );
            }
        }
    }

    fn check_facts(&mut self) {
        for (id, fact) in &self.proof.facts {
            let Some((file, line)) = &fact.place else {
                continue;
            };
            if !self.stated.contains(id) {
                let expected = format!("`{{{{fact {id} = {}}}}}` on a page", fact.value);
                let seen = "no page shows it";
                let failure = Failure::new(Kind::FactUnstated, id, file, *line, expected, seen);
                self.failures.push(failure.of_listing(&fact.listing));
            }
        }
    }

    fn check_listings(&mut self) {
        for listing in self.proof.listings.values() {
            let name = &listing.name;
            if !self.shown.contains_key(name) {
                let expected = match listing.language {
                    Language::Rust => format!("an include from listings/{name}/"),
                    _ => format!("an include of {}", listing.source()),
                };
                let expected = format!("a page with `{{{{output {name}}}}}` or {expected}");
                let file = listing.source();
                let failure = Failure::new(
                    Kind::ListingWithoutPage,
                    name,
                    file,
                    1,
                    expected,
                    "no page shows it",
                );
                self.failures.push(failure);
            }
            let exit = format!("{name}.exit");
            if listing.outcome() != Outcome::SUCCESS && !self.stated.contains(&exit) {
                let file = listing.output();
                let line = fs::read_to_string(self.workspace.root().join(&file))
                    .map_or(1, |text| text.lines().count());
                let expected = format!(
                    "`{{{{fact {exit} = {}}}}}` on a page",
                    listing.outcome().fact()
                );
                let failure = Failure::new(
                    Kind::ExitUnstated,
                    &exit,
                    file,
                    line,
                    expected,
                    "no page says how it ends",
                );
                self.failures.push(failure.repeated_by(&listing.repeat()));
            }
            let Some(run) = self.proof.runs.get(name) else {
                continue;
            };
            let text = output_of(listing, run);
            let file = listing.output();
            if fs::read_to_string(self.workspace.root().join(&file))
                .ok()
                .as_ref()
                != Some(&text)
            {
                self.edits.push(Edit {
                    file,
                    span: None,
                    text,
                });
            }
        }
    }

    /// Pages on disk that the book does not have, and settings about pages that there are not.
    fn check_files(&mut self) {
        let known: BTreeSet<&str> = self
            .pages
            .iter()
            .map(|page| page.source.path.as_str())
            .collect();
        let shown = |path: &str| self.workspace.relative(&self.src.join(path));
        for path in files_below(&self.src, "md") {
            if path != "SUMMARY.md" && !known.contains(path.as_str()) {
                let seen = "a page that no reader can reach";
                let failure = Failure::new(
                    Kind::PageUnlisted,
                    &path,
                    shown(&path),
                    1,
                    "a line in src/SUMMARY.md",
                    seen,
                );
                self.failures.push(failure);
            }
        }
        for path in &self.settings.without_strip {
            if !known.contains(path.as_str()) {
                let failure = Failure::new(
                    Kind::ConfigValue,
                    path,
                    "book.toml",
                    crate::config::line_of(self.workspace, path),
                    "a page of the book in `without-strip`",
                    "no such page",
                );
                self.failures.push(failure);
            }
        }
    }
}
