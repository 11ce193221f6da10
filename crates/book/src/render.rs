//! Writes the pages: what a reader sees in place of each directive and claim.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;

use proof::Origin;

use crate::drawing;
use crate::failure::run_command;
use crate::gate::listing_of;
use crate::html::escape;
use crate::listing::{Language, Outcome};
use crate::markdown::Fence;
use crate::page::{Action, Claim, Context, Directive, Page};
use crate::pattern::regex;
use crate::proving::{Assertion, Measured, Proof};
use crate::record::ProvedClaim;
use crate::workspace::Workspace;

/// Where the drift tests keep the sentence that `{{drift}}` shows.
pub(crate) const DRIFT_FILE: &str = "tests/drift.txt";

/// How many planted faults were caught, as the drift tests left it.
pub(crate) fn drift(workspace: &Workspace) -> Option<String> {
    let text = fs::read_to_string(workspace.root().join(DRIFT_FILE)).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The ids that a page gets besides those of its headings.
pub(crate) fn generated_ids(
    page: &Page,
    shown: &BTreeMap<String, Vec<String>>,
) -> BTreeSet<String> {
    let claims = page
        .claims
        .iter()
        .map(|claim| format!("claim-{}", claim.id));
    let listings = shown
        .iter()
        .filter(|(_, pages)| pages.contains(&page.source.path))
        .map(|(listing, _)| format!("listing-{listing}"));
    let gpu = gpu_sentences(page)
        .enumerate()
        .map(|(index, _)| format!("gpu-{}", index + 1));
    claims.chain(listings).chain(gpu).collect()
}

fn gpu_sentences(page: &Page) -> impl Iterator<Item = &str> {
    page.directives
        .iter()
        .filter_map(|directive| match &directive.action {
            Action::Gpu { sentence } => Some(sentence.as_str()),
            _ => None,
        })
}

/// All pages with what they show.
pub(crate) struct Book<'a> {
    pub(crate) pages: &'a [Page],
    pub(crate) proof: &'a Proof,
    /// For each listing, the pages that show it.
    pub(crate) shown: &'a BTreeMap<String, Vec<String>>,
    /// What each page includes, by the place of the directive.
    pub(crate) included: &'a BTreeMap<String, BTreeMap<usize, String>>,
    pub(crate) drift: Option<String>,
}

impl<'a> Book<'a> {
    /// The claims in the order of the pages, each with the first listing that asserts it.
    pub(crate) fn claims(&self) -> Vec<ProvedClaim> {
        let mut claims = Vec::new();
        for page in self.pages {
            let mut seen = BTreeSet::new();
            for claim in &page.claims {
                let Some(assertion) = self.assertion(claim).filter(|_| seen.insert(&claim.id))
                else {
                    continue;
                };
                claims.push(ProvedClaim {
                    id: claim.id.clone(),
                    sentence: assertion.sentence.clone(),
                    page: page.source.path.clone(),
                    listing: assertion.listing.clone(),
                    origin: assertion.origin,
                    file: assertion.file.clone(),
                    line: assertion.line,
                });
            }
        }
        claims
    }

    fn assertion(&self, claim: &Claim) -> Option<&'a Assertion> {
        self.proof.assertions.get(&claim.id)?.first()
    }

    /// The Markdown of a page with everything in its place.
    pub(crate) fn page(&self, page: &Page) -> String {
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let mut ids = BTreeSet::new();
        for claim in &page.claims {
            let text = page.text(&claim.sentence);
            let from = claim.sentence.start + (text.len() - text.trim_start().len());
            let to = claim.sentence.start + text.trim_end().len();
            let id = format!("claim-{}", claim.id);
            let attribute = if ids.insert(id.clone()) {
                format!(" id=\"{id}\"")
            } else {
                String::new()
            };
            edits.push((
                claim.span.start..from,
                format!("<span class=\"claim\"{attribute}>"),
            ));
            edits.push((
                to..claim.span.end,
                format!("</span>{}", self.claim_links(page, claim, &id)),
            ));
        }
        for range in &page.escaped {
            edits.push(unescaped(page, range));
        }
        let mut listing_ids = BTreeSet::new();
        let mut fact_ids = BTreeSet::new();
        let mut gpu = 0;
        for directive in &page.directives {
            let text = match &directive.action {
                Action::Include { hides_the_rest, .. } => match self.included_at(page, directive) {
                    Some(text) if !hides_the_rest => excerpt(page, directive, text),
                    _ => continue,
                },
                Action::Fact { id, .. } => {
                    let Some(fact) = self.proof.facts.get(id) else {
                        continue;
                    };
                    let first = fact_ids.insert(id);
                    fact_in_place(page, directive, id, fact, first, &mut edits)
                }
                Action::Version { of } => {
                    let version = self.proof.provenance.version(of).unwrap_or_default();
                    in_context(&version, directive.context, str::to_owned)
                }
                Action::Drift => in_context(
                    self.drift.as_deref().unwrap_or_default(),
                    directive.context,
                    str::to_owned,
                ),
                Action::Output { listing } => {
                    self.output(listing, listing_ids.insert(listing.clone()))
                }
                Action::Table { id, caption } => {
                    let Some(fact) = self.proof.facts.get(id) else {
                        continue;
                    };
                    let first = listing_ids.insert(fact.listing.clone());
                    self.table(id, caption, fact, first)
                }
                Action::Strip => self.strip(page),
                Action::Gpu { sentence } => {
                    gpu += 1;
                    gpu_item(page, directive, sentence, gpu)
                }
            };
            edits.push((directive.span.clone(), text));
        }
        self.name_files(page, &mut listing_ids, &mut edits);
        self.add_tabs(page, &mut edits);

        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = String::with_capacity(page.source.text.len() * 2);
        let mut at = 0;
        for (range, replacement) in edits {
            text.push_str(&page.source.text[at..range.start]);
            text.push_str(&replacement);
            at = range.end;
        }
        text.push_str(&page.source.text[at..]);
        text
    }

    fn included_at(&self, page: &Page, directive: &Directive) -> Option<&'a str> {
        let text = self
            .included
            .get(&page.source.path)?
            .get(&directive.span.start)?;
        Some(text)
    }

    /// What mdBook will put into the page after us.
    pub(crate) fn left_to_mdbook(&self, page: &Page) -> String {
        page.directives
            .iter()
            .filter(|directive| {
                matches!(
                    directive.action,
                    Action::Include {
                        hides_the_rest: true,
                        ..
                    }
                )
            })
            .filter_map(|directive| self.included_at(page, directive))
            .collect()
    }

    /// To the claim itself, and to the listing that proved it.
    fn claim_links(&self, page: &Page, claim: &Claim, id: &str) -> String {
        let mut links = format!(
            "<a class=\"claim-link\" href=\"#{id}\" aria-label=\"Link to this statement\" title=\"Link to this statement\">#</a>"
        );
        if let Some(assertion) = self.assertion(claim) {
            let how = match assertion.origin {
                Origin::Exporter | Origin::Runtime => "Proved in this build",
                Origin::Library => "Proved in this build, of a crate of this guide,",
                Origin::StandIn => "Shown with our stand-in in this build",
                Origin::Quoted => "Quoted, not run,",
            };
            let label = format!("{how} by {}, line {}", assertion.file, assertion.line);
            if let Some(place) = self.place_of(&assertion.listing, page) {
                let _ = write!(
                    links,
                    "<a class=\"claim-proof\" href=\"{place}\" data-origin=\"{}\" aria-label=\"{label}\" title=\"{label}\">✓</a>",
                    assertion.origin
                );
            }
        }
        links
    }

    /// A link from `page` to where a listing is shown: on the same page if it is, else on the first that shows it.
    fn place_of(&self, listing: &str, page: &Page) -> Option<String> {
        let pages = self.shown.get(listing)?;
        let fragment = format!("#listing-{listing}");
        if pages.contains(&page.source.path) {
            return Some(fragment);
        }
        Some(format!(
            "{}{fragment}",
            relative_link(&page.source.path, pages.first()?)
        ))
    }

    /// What a listing printed in this run, as a console block, and under it where it comes from.
    fn output(&self, name: &str, first: bool) -> String {
        let (Some(run), Some(listing)) = (self.proof.runs.get(name), self.proof.listings.get(name))
        else {
            return String::new();
        };
        let command = match listing.language {
            Language::Rust => run_command(name),
            Language::Cpp | Language::Python => listing.source(),
        };
        let shown = format!("$ {}\n{}", listing.command, run.stdout.trim_end());
        let longest = shown
            .split(|c| c != '`')
            .map(str::len)
            .max()
            .unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let end = match run.outcome {
            Outcome::Exit(0) => String::new(),
            outcome => format!(" It ended with {outcome}, as it must."),
        };
        let id = if first {
            format!(" id=\"listing-{name}\"")
        } else {
            String::new()
        };
        format!(
            "<div class=\"output\"{id}>\n\n{fence}console\n{}\n{fence}\n\n<p class=\"provenance\">Printed in this build by \
             <code>{command}</code> with ExecuTorch {}.{end}</p>\n\n</div>",
            without_includes(shown.trim_end()),
            escape(&self.proof.provenance.executorch),
        )
    }

    /// A table that the run made, and under it where it comes from.
    fn table(&self, id: &str, caption: &str, fact: &Measured, first: bool) -> String {
        let listing = if first {
            format!(" id=\"listing-{}\"", fact.listing)
        } else {
            String::new()
        };
        let how = match fact.origin {
            Origin::StandIn => "Measured in this build, with our stand-in,",
            _ => "Measured in this build",
        };
        format!(
            "<div class=\"measured\"{listing}>\n\n<p id=\"fact-{id}\">{caption}</p>\n\n{}\n\n<p class=\"provenance\">{how} by \
             <code>{}</code> with ExecuTorch {}.</p>\n\n</div>",
            table(&fact.value).unwrap_or_default(),
            run_command(&fact.listing),
            escape(&self.proof.provenance.executorch),
        )
    }

    /// The three lines that say what stands behind a page.
    fn strip(&self, page: &Page) -> String {
        let mut proved = 0;
        let (mut ours, mut quoted) = (Vec::new(), Vec::new());
        let mut stands_on = |origin: Origin, link: String| match origin {
            Origin::Exporter | Origin::Runtime | Origin::Library => proved += 1,
            Origin::StandIn => ours.push(link),
            Origin::Quoted => quoted.push(link),
        };
        let (mut claims, mut facts) = (BTreeSet::new(), BTreeSet::new());
        for claim in &page.claims {
            let Some(assertion) = self.assertion(claim).filter(|_| claims.insert(&claim.id)) else {
                continue;
            };
            let sentence = shortened(&without_links(&assertion.sentence));
            let link = format!("[{sentence}](#claim-{})", claim.id);
            stands_on(assertion.origin, link);
        }
        for directive in &page.directives {
            let (Action::Fact { id, .. } | Action::Table { id, .. }) = &directive.action else {
                continue;
            };
            let Some(fact) = self.proof.facts.get(id).filter(|_| facts.insert(id)) else {
                continue;
            };
            let label = match &directive.action {
                Action::Table { caption, .. } => shortened(&without_links(caption)),
                _ => format!("<code>{}</code>", literal(&shortened(&fact.value))),
            };
            let link = format!("[{label}](#fact-{id})");
            stands_on(fact.origin, link);
        }
        let proved = match proved {
            0 => "nothing".to_owned(),
            1 => "1 claim or fact".to_owned(),
            _ => format!("{proved} claims and facts"),
        };
        let ours = if ours.is_empty() {
            "nothing".to_owned()
        } else {
            ours.join(" · ")
        };
        let sentences: Vec<_> = gpu_sentences(page)
            .enumerate()
            .map(|(index, sentence)| format!("[{}](#gpu-{})", without_links(sentence), index + 1))
            .collect();
        let mut gpu = Vec::new();
        if !sentences.is_empty() {
            gpu.push(format!("{} (not verified on a GPU)", sentences.join(" · ")));
        }
        if !quoted.is_empty() {
            gpu.push(format!("{} (quoted, not run here)", quoted.join(" · ")));
        }
        let gpu = if gpu.is_empty() {
            "nothing on this page".to_owned()
        } else {
            gpu.join(" · ")
        };
        format!(
            "<div class=\"strip\" role=\"note\" aria-label=\"What stands behind this page\">\n\n\
             - **Proved in this build** (ExecuTorch {}, {}): {proved}\n\
             - **From our stand-in**: {ours}\n\
             - **Only a GPU shows**: {gpu}\n\n</div>",
            self.proof.provenance.executorch,
            self.proof.provenance.sources(),
        )
    }

    /// Under each block that shows a part of a listing: of which file.
    fn name_files(
        &self,
        page: &Page,
        ids: &mut BTreeSet<String>,
        edits: &mut Vec<(Range<usize>, String)>,
    ) {
        for fence in &page.parsed.fences {
            let included = page
                .directives
                .iter()
                .find_map(|directive| match &directive.action {
                    Action::Include { path, .. }
                        if fence.content.contains(&directive.span.start) =>
                    {
                        let (_, inside) = path.split_once("listings/")?;
                        Some((inside, listing_of(inside.as_ref())?))
                    }
                    _ => None,
                });
            let Some((inside, listing)) = included else {
                continue;
            };
            let first = self.shown.contains_key(&listing) && ids.insert(listing.clone());
            let id = if first {
                format!(" id=\"listing-{listing}\"")
            } else {
                String::new()
            };
            let line = format!(
                "<p class=\"listing-file\"{id}><code>listings/{}</code></p>",
                escape(inside)
            );
            edits.push(under(page, fence, &line));
        }
    }
}

/// The Markdown of a fact that is a table, or the picture of one that is a drawing; `None` if it is neither.
pub(crate) fn table(value: &str) -> Option<String> {
    if let Ok(drawn) = serde_json::from_str(value) {
        return Some(drawing::svg(&drawn));
    }
    let table: proof::Table = serde_json::from_str(value).ok()?;
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", without_includes(&cells.join(" | ")))
    };
    let mut lines = vec![
        line(&table.header),
        format!("|{}", "---|".repeat(table.header.len())),
    ];
    lines.extend(table.rows.iter().map(|row| line(row)));
    Some(lines.join("\n"))
}

impl Book<'_> {
    /// Around blocks that stand one under the other and say the same in several languages: what the site's script makes
    /// tabs of, and what reads as a list of blocks with the language above each where no script runs.
    fn add_tabs(&self, page: &Page, edits: &mut Vec<(Range<usize>, String)>) {
        for group in self.in_several_languages(page) {
            for (place, (span, language)) in group.iter().enumerate() {
                let open = if place == 0 {
                    "<div class=\"tabs\">\n\n"
                } else {
                    ""
                };
                let close = if place + 1 == group.len() {
                    "\n\n</div>"
                } else {
                    ""
                };
                edits.push((
                    span.start..span.start,
                    format!(
                        "{open}<div class=\"tab\">\n\n<p class=\"tab-name\">{}</p>\n\n",
                        language.name()
                    ),
                ));
                edits.push((span.end..span.end, format!("\n\n</div>{close}")));
            }
        }
    }

    /// The included blocks, and the outputs, that follow each other with nothing between in the order of
    /// [`Language::ALL`], two at least.
    fn in_several_languages(&self, page: &Page) -> Vec<Vec<(Range<usize>, Language)>> {
        let language_of = |fence: &Fence| {
            let mut all = Language::ALL.into_iter();
            all.find(|language| language.fence() == fence.language())
        };
        let at_the_margin =
            |at: usize| matches!(page.source.text[..at].chars().last(), None | Some('\n'));
        let fences = page
            .parsed
            .fences
            .iter()
            .filter(|fence| at_the_margin(fence.span.start));
        let fences = fences.filter_map(|fence| {
            let end = fence.span.start + page.text(&fence.span).trim_end().len();
            Some((fence.span.start..end, language_of(fence)?))
        });
        let outputs = page.directives.iter().filter_map(|directive| {
            let Action::Output { listing } = &directive.action else {
                return None;
            };
            let listing = self.proof.listings.get(listing)?;
            Some((directive.span.clone(), listing.language))
        });
        let mut groups: Vec<Vec<(Range<usize>, Language)>> = Vec::new();
        for kind in [fences.collect::<Vec<_>>(), outputs.collect()] {
            let first = groups.len();
            for block in kind {
                let last = groups[first..].last_mut();
                let continued = last.filter(|group| {
                    group.last().is_some_and(|(span, language)| {
                        *language < block.1
                            && page.text(&(span.end..block.0.start)).trim().is_empty()
                    })
                });
                match continued {
                    Some(group) => group.push(block),
                    None => groups.push(vec![block]),
                }
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }
}

/// What mdBook would include, without the indentation that all its lines share in their file and with the one that the
/// page asks for.
fn excerpt(page: &Page, directive: &Directive, text: &str) -> String {
    let lines = || text.trim_end().lines();
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let shared = lines()
        .filter(|line| !line.trim().is_empty())
        .map(indent)
        .min()
        .unwrap_or_default();
    let before = page.source.text[..directive.span.start]
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let own = if before.trim().is_empty() { before } else { "" };
    lines()
        .map(|line| line.get(shared..).unwrap_or_default())
        .collect::<Vec<_>>()
        .join(&format!("\n{own}"))
}

/// A sentence that only a GPU can show: an item of a list where it stands alone on its line.
fn gpu_item(page: &Page, directive: &Directive, sentence: &str, number: usize) -> String {
    let bullet = if page.alone(directive) { "- " } else { "" };
    format!(
        "{bullet}<span class=\"gpu\" id=\"gpu-{number}\">{sentence} <span class=\"gpu-mark\">Not verified on a GPU.</span></span>"
    )
}

/// The value of a fact where a directive asks for it. One that is not proved says what it is: the strip links to the first
/// of its places, under a block stands whose it is, and a quoted one names its source everywhere.
fn fact_in_place(
    page: &Page,
    directive: &Directive,
    id: &str,
    fact: &Measured,
    first: bool,
    edits: &mut Vec<(Range<usize>, String)>,
) -> String {
    let proved = !matches!(fact.origin, Origin::StandIn | Origin::Quoted);
    let anchor = if first && !proved {
        format!(" id=\"fact-{id}\"")
    } else {
        String::new()
    };
    let quoted = fact.source.as_ref().map(|source| {
        format!(
            "quoted from <code>{}</code> at <code>{}</code>, not run here",
            escape(&source.file),
            escape(source.commit.get(..12).unwrap_or(&source.commit)),
        )
    });
    let small = quoted
        .as_ref()
        .map(|quoted| format!(" <small class=\"quoted\">({quoted})</small>"))
        .unwrap_or_default();
    let at = directive.span.start;
    match directive.context {
        Context::Fence if !proved => {
            let said = quoted.as_deref().unwrap_or("from our stand-in");
            let line = format!("<p class=\"provenance\"{anchor}>{}</p>", capital(said));
            edits.extend(
                page.parsed
                    .fence_around(at)
                    .map(|fence| under(page, fence, &line)),
            );
        }
        Context::InlineCode if !proved => {
            if let Some(code) = page.parsed.code.iter().find(|code| code.contains(&at)) {
                if !anchor.is_empty() {
                    edits.push((code.start..code.start, format!("<span{anchor}></span>")));
                }
                edits.push((code.end..code.end, small.clone()));
            }
        }
        _ => {}
    }
    in_context(&fact.value, directive.context, |value| {
        format!("<span class=\"fact\"{anchor}>{value}</span>{small}")
    })
}

/// An edit that puts a line of HTML under a block of code, wherever the block stands.
fn under(page: &Page, fence: &Fence, html: &str) -> (Range<usize>, String) {
    let line_start = page.source.text[..fence.span.start]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let before = &page.source.text[line_start..fence.span.start];
    let indent: String = before
        .chars()
        .map(|c| if c == '>' { '>' } else { ' ' })
        .collect();
    let end = fence.span.start + page.text(&fence.span).trim_end().len();
    (end..end, format!("\n{indent}\n{indent}{html}\n{indent}"))
}

/// `text` with a capital first.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// The first words of a Markdown sentence, or all of it where it is short. No code or emphasis is cut in two.
fn shortened(sentence: &str) -> String {
    const CHARACTERS: usize = 80;
    let mut end = 0;
    let mut kept = 0;
    for word in sentence.split_inclusive(' ') {
        end += word.len();
        let whole = |mark| sentence[..end].matches(mark).count() % 2 == 0;
        if sentence[..end].chars().count() > CHARACTERS && kept > 0 {
            return format!(
                "{} …",
                sentence[..kept].trim_end_matches([' ', ',', ';', ':'])
            );
        }
        if whole('`') && whole('*') {
            kept = end;
        }
    }
    sentence.to_owned()
}

/// `value` as it must be written where it stands.
fn in_context(value: &str, context: Context, prose: impl Fn(&str) -> String) -> String {
    match context {
        Context::Prose => prose(&literal(value)),
        Context::Html => prose(&escape(value)),
        Context::InlineCode | Context::Fence => without_includes(value),
    }
}

/// `text` so that Markdown shows it as it is.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

/// `text` so that mdBook's `links` leaves it alone.
fn without_includes(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.contains("}}") {
                line.replace("{{#", "\\{{#")
            } else {
                line.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// `\{{…}}` as a reader shall see it. mdBook itself takes the backslash from `\{{#…}}`.
fn unescaped(page: &Page, range: &Range<usize>) -> (Range<usize>, String) {
    let text = page.text(range);
    let kept = if text.starts_with("\\{{#") {
        text
    } else {
        &text[1..]
    };
    (range.clone(), kept.to_owned())
}

/// `[text](target)` as `text`, so that it can stand in a link.
fn without_links(markdown: &str) -> String {
    static LINK: std::sync::LazyLock<regex::Regex> =
        std::sync::LazyLock::new(|| regex(r"\[([^\]]*)\]\([^)]*\)"));
    LINK.replace_all(markdown, "$1").into_owned()
}

/// The link from one page to another, both paths in `src/`.
fn relative_link(from: &str, to: &str) -> String {
    let folders: Vec<_> = from
        .split('/')
        .rev()
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    let target: Vec<_> = to.split('/').collect();
    let common = folders
        .iter()
        .zip(&target)
        .take_while(|(a, b)| a == b)
        .count();
    let up = "../".repeat(folders.len() - common);
    format!("{up}{}", target[common..].join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_between_pages_are_relative() {
        assert_eq!(relative_link("index.md", "recipes/a.md"), "recipes/a.md");
        assert_eq!(relative_link("recipes/a.md", "recipes/b.md"), "b.md");
        assert_eq!(relative_link("recipes/a.md", "why/b.md"), "../why/b.md");
        assert_eq!(relative_link("recipes/a.md", "index.md"), "../index.md");
    }

    #[test]
    fn a_value_is_shown_as_it_is() {
        assert_eq!(literal("a*b|<c>"), r"a\*b\|\<c\>");
        assert_eq!(
            without_includes("x {{#include y}} z\n{{fact}}"),
            "x \\{{#include y}} z\n{{fact}}"
        );
        let value = r#"{"header":["a","b"],"rows":[["1|2","`x`"]]}"#;
        assert_eq!(
            table(value).as_deref(),
            Some("| a | b |\n|---|---|\n| 1\\|2 | `x` |")
        );
        assert_eq!(table("| a |"), None);
        assert_eq!(shortened("A short one."), "A short one.");
        let long = format!("{}, `a b c` d", "x".repeat(75));
        assert_eq!(shortened(&long), format!("{} …", "x".repeat(75)));
        assert_eq!(
            without_links("see [this](x.md) and `y`"),
            "see this and `y`"
        );
    }
}
