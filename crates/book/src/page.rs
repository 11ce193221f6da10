//! A page in its source: its directives and claims, and the rules that need nothing but the page.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::failure::{Failure, Kind};
use crate::markdown::{Block, Fence, Parsed};
use crate::normalise::fold;
use crate::pattern::regex;

/// A page of `src/` as mdBook hands it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path in `src/`: `recipes/planned-output.md`.
    pub path: String,
    /// The file as reports show it: `src/recipes/planned-output.md`.
    pub file: String,
    /// Its Markdown.
    pub text: String,
}

/// What `{{…}}` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// mdBook's own `{{#include file:anchor}}` or `{{#rustdoc_include file:anchor}}`; the second hides the rest of the file.
    Include {
        path: String,
        selector: Option<String>,
        hides_the_rest: bool,
    },
    /// `{{fact id = value}}`: the value of the run, which must be this one.
    Fact { id: String, value: String },
    /// `{{output listing}}`: what the listing printed in this run.
    Output { listing: String },
    /// `{{table listing.name: caption}}`: a table that the run made.
    /// A table or a drawing.
    Table { id: String, caption: String },
    /// `{{strip}}`: what stands behind this page.
    Strip,
    /// `{{gpu sentence}}`: a sentence that only a GPU can show.
    Gpu { sentence: String },
    /// `{{version executorch}}`: the version that this build used.
    Version { of: String },
    /// `{{drift}}`: how many planted faults the tests caught.
    Drift,
}

/// Where a directive stands, which decides how its value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    Prose,
    InlineCode,
    Fence,
    Html,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive {
    pub(crate) span: Range<usize>,
    pub(crate) context: Context,
    pub(crate) action: Action,
}

/// `[sentence]{claim=id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// From `[` to `}`.
    pub(crate) span: Range<usize>,
    /// Between the brackets.
    pub(crate) sentence: Range<usize>,
}

/// A page that has been read.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) source: Source,
    pub(crate) parsed: Parsed,
    /// What a reader reads, without directives and claims: what the rules about unproved statements look at.
    prose: Vec<Block>,
    pub(crate) directives: Vec<Directive>,
    pub(crate) claims: Vec<Claim>,
    /// Each `\{{…}}`: braces that a reader shall see.
    pub(crate) escaped: Vec<Range<usize>>,
    line_starts: Vec<usize>,
}

impl Page {
    /// Reads a page, and says what on it cannot be read.
    pub(crate) fn read(source: Source) -> (Self, Vec<Failure>) {
        let text = source.text.clone();
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let mut page = Self {
            source,
            parsed: Parsed::new(&text),
            prose: Vec::new(),
            directives: Vec::new(),
            claims: Vec::new(),
            escaped: Vec::new(),
            line_starts,
        };
        let mut failures = Vec::new();
        let blanked = page.find_directives(&text, &mut failures);
        let masked = mask(&text, &blanked);
        page.parsed = Parsed::new(&masked);
        page.find_claims(&masked, &mut failures);

        let marks: Vec<_> = page
            .claims
            .iter()
            .flat_map(|claim| {
                [
                    claim.span.start..claim.sentence.start,
                    claim.sentence.end..claim.span.end,
                ]
            })
            .collect();
        page.parsed = Parsed::new(&mask_with(&masked, &marks, b' '));
        let claims: Vec<_> = page.claims.iter().map(|claim| claim.span.clone()).collect();
        page.prose = Parsed::new(&mask(&masked, &claims)).blocks;
        page.check_places(&mut failures);
        (page, failures)
    }

    /// The line of the byte `offset`, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub(crate) fn failure(
        &self,
        kind: Kind,
        id: impl Into<String>,
        at: usize,
        expected: impl Into<String>,
        seen: impl Into<String>,
    ) -> Failure {
        Failure::new(
            kind,
            id,
            self.source.file.clone(),
            self.line(at),
            expected,
            seen,
        )
    }

    /// The text of a range.
    pub(crate) fn text(&self, span: &Range<usize>) -> &str {
        &self.source.text[span.clone()]
    }

    /// Whether a directive stands alone on an unindented line.
    pub(crate) fn alone(&self, directive: &Directive) -> bool {
        let text = &self.source.text;
        let before = text[..directive.span.start]
            .rsplit('\n')
            .next()
            .unwrap_or_default();
        let after = text[directive.span.end..]
            .split('\n')
            .next()
            .unwrap_or_default();
        before.is_empty() && after.trim().is_empty()
    }

    /// The sentence of a claim as the listing must say it: its Markdown with the directives' values, white space folded.
    pub(crate) fn sentence(
        &self,
        claim: &Claim,
        version: impl Fn(&str) -> Option<String>,
    ) -> String {
        let mut sentence = String::new();
        let mut at = claim.sentence.start;
        for directive in self.inside(&claim.sentence) {
            sentence.push_str(&self.source.text[at..directive.span.start]);
            match &directive.action {
                Action::Fact { value, .. } => sentence.push_str(value),
                Action::Version { of } => sentence.push_str(&version(of).unwrap_or_default()),
                _ => {}
            }
            at = directive.span.end;
        }
        sentence.push_str(&self.source.text[at..claim.sentence.end]);
        fold(&sentence)
    }

    fn inside<'a>(&'a self, span: &'a Range<usize>) -> impl Iterator<Item = &'a Directive> {
        self.directives
            .iter()
            .filter(|directive| span.contains(&directive.span.start))
    }

    /// Finds `{{…}}`; gives back what to blank out before the Markdown is read again.
    fn find_directives(&mut self, text: &str, failures: &mut Vec<Failure>) -> Vec<Range<usize>> {
        let mut blanked = Vec::new();
        let mut at = 0;
        while let Some(found) = text[at..].find("{{") {
            let start = at + found;
            let end = text[start..].find("}}").map(|close| {
                let close = start + close + 2;
                close + text[close..].bytes().take_while(|b| *b == b'}').count()
            });
            let inner = end.map(|end| text[start + 2..end - 2].trim());
            let fence = self.parsed.fence_around(start);
            let typed_rust = fence.is_some_and(|fence| fence.language() == "rust")
                && !inner.is_some_and(|inner| KNOWN.is_match(inner));
            if typed_rust {
                at = start + 2;
                continue;
            }
            let Some((end, inner)) = end.zip(inner) else {
                failures.push(self.failure(
                    Kind::UnknownDirective,
                    "{{",
                    start,
                    "`}}` somewhere behind `{{`",
                    "none",
                ));
                break;
            };
            at = end;
            if text[..start].ends_with('\\') {
                self.escaped.push(start - 1..end);
                blanked.push(start - 1..end);
                continue;
            }
            let context = if fence.is_some() {
                Context::Fence
            } else if self.parsed.in_inline_code(start) {
                Context::InlineCode
            } else if self.parsed.html.iter().any(|block| block.contains(&start)) {
                Context::Html
            } else {
                Context::Prose
            };
            blanked.push(start..end);
            match parse(inner) {
                Ok(action) => self.directives.push(Directive {
                    span: start..end,
                    context,
                    action,
                }),
                Err((kind, expected)) => {
                    let shown = fold(&text[start..end]);
                    let id = shown
                        .trim_matches(['{', '}', ' '])
                        .split(' ')
                        .next()
                        .unwrap_or_default();
                    failures.push(self.failure(kind, id, start, expected, &shown));
                }
            }
        }
        blanked
    }

    /// Finds `[sentence]{claim=id}` outside code.
    fn find_claims(&mut self, masked: &str, failures: &mut Vec<Failure>) {
        for mark in CLAIM_MARK.captures_iter(masked) {
            let (Some(whole), id) = (mark.get(0), mark.get(1)) else {
                continue;
            };
            let at = whole.start();
            if self.parsed.in_inline_code(at) || self.parsed.fence_around(at).is_some() {
                continue;
            }
            let close = at.saturating_sub(1);
            let opened = masked[..at]
                .ends_with(']')
                .then(|| self.opening(masked, close))
                .flatten();
            let claim = opened
                .zip(id.filter(|id| is_id(id.as_str())))
                .filter(|(opened, _)| !masked[opened + 1..close].trim().is_empty())
                .map(|(opened, id)| Claim {
                    id: id.as_str().to_owned(),
                    span: opened..whole.end(),
                    sentence: opened + 1..close,
                });
            let (expected, seen) = match claim {
                Some(claim)
                    if self
                        .claims
                        .iter()
                        .all(|inner| inner.span.start < claim.span.start) =>
                {
                    self.claims.push(claim);
                    continue;
                }
                Some(_) => ("claims beside each other", "a claim inside a claim"),
                None => (
                    "`[sentence]{claim=id}` in one paragraph, the id of lower-case letters, digits, `.`, `_` and `-`",
                    self.line_text(at),
                ),
            };
            failures.push(self.failure(Kind::ClaimMalformed, whole.as_str(), at, expected, seen));
        }
    }

    /// The bracket that the one at `close` closes, in the same paragraph; brackets in code do not count.
    fn opening(&self, text: &str, close: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let paragraph = BLANK_LINE
            .find_iter(&text[..close])
            .last()
            .map_or(0, |blank| blank.end());
        let mut depth = 0;
        for at in (paragraph..close).rev() {
            if !matches!(bytes[at], b'[' | b']')
                || at > 0 && bytes[at - 1] == b'\\'
                || self.parsed.in_inline_code(at)
            {
                continue;
            }
            match (bytes[at], depth) {
                (b'[', 0) => return Some(at),
                (b'[', _) => depth -= 1,
                _ => depth += 1,
            }
        }
        None
    }

    fn line_text(&self, at: usize) -> &str {
        let from = self.line_starts[self.line(at) - 1];
        self.source.text[from..]
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
    }

    /// What may stand where.
    fn check_places(&self, failures: &mut Vec<Failure>) {
        let mut misplaced = |id: &str, at: usize, expected: &str, seen: &str| {
            failures.push(self.failure(Kind::DirectiveMisplaced, id, at, expected, seen));
        };
        for directive in &self.directives {
            let at = directive.span.start;
            let (name, block) = match &directive.action {
                Action::Include { path, .. } => {
                    if directive.context != Context::Fence {
                        misplaced(
                            path,
                            at,
                            "an include in a fenced block that names its language",
                            "an include outside",
                        );
                    }
                    continue;
                }
                Action::Fact { id, .. } => (id.as_str(), false),
                Action::Version { .. } => ("version", false),
                Action::Drift => ("drift", false),
                Action::Gpu { .. } => ("gpu", false),
                Action::Output { listing } => (listing.as_str(), true),
                Action::Table { id, .. } => (id.as_str(), true),
                Action::Strip => ("strip", true),
            };
            let in_block = self
                .parsed
                .fences
                .iter()
                .any(|fence| fence.span.contains(&at));
            if block && (in_block || directive.context != Context::Prose || !self.alone(directive))
            {
                misplaced(
                    name,
                    at,
                    "the directive alone on its line, unindented, outside code",
                    "something beside it",
                );
            }
            let gpu = matches!(directive.action, Action::Gpu { .. });
            if gpu && directive.context != Context::Prose {
                misplaced(name, at, "a sentence in prose", "a sentence in code");
            }
            if self
                .parsed
                .headings
                .iter()
                .any(|heading| heading.contains(&at))
            {
                misplaced(
                    name,
                    at,
                    "a heading whose text, and so whose link, stays the same",
                    "a directive in a heading",
                );
            }
            if (gpu || block) && self.claims.iter().any(|claim| claim.span.contains(&at)) {
                misplaced(
                    name,
                    at,
                    "facts and versions inside a claim",
                    "another directive inside a claim",
                );
            }
        }
        for claim in &self.claims {
            if self
                .parsed
                .headings
                .iter()
                .any(|heading| heading.contains(&claim.span.start))
            {
                misplaced(
                    &claim.id,
                    claim.span.start,
                    "a claim in a paragraph, a list or a table",
                    "a claim in a heading",
                );
            }
        }
    }

    /// The rules about code: where it comes from, and that its language is said.
    pub(crate) fn check_fences(&self, failures: &mut Vec<Failure>) {
        for fence in &self.parsed.fences {
            self.check_fence(fence, failures);
        }
        for at in &self.parsed.raw_code {
            failures.push(self.failure(
                Kind::TypedCode,
                "html",
                *at,
                "a fenced block that includes a listing",
                "code in raw HTML",
            ));
        }
    }

    fn check_fence(&self, fence: &Fence, failures: &mut Vec<Failure>) {
        let at = fence.span.start;
        let language = fence.language();
        if language.is_empty() {
            failures.push(self.failure(
                Kind::FenceWithoutLanguage,
                "",
                at,
                "a fenced block that names its language",
                fold(self.text(&fence.span)),
            ));
            return;
        }
        let directives: Vec<_> = self.inside(&fence.content).collect();
        let includes_only = directives
            .iter()
            .all(|directive| matches!(directive.action, Action::Include { .. }));
        let facts_or_includes = directives.iter().all(|directive| {
            matches!(
                directive.action,
                Action::Include { .. } | Action::Fact { .. } | Action::Version { .. }
            )
        });
        let typed = self.is_typed(fence, &directives);
        if language == "rust" {
            if fence.has("compile_fail") {
                failures.push(
                    self.failure(
                        Kind::CompileFailFence,
                        "compile_fail",
                        at,
                        "a case in tests/ui/ whose source and compiler message are included",
                        "a block that skeptic would compile and run as ordinary code",
                    )
                    .repeated_by("cargo test --package snippets"),
                );
            }
            let compiled_elsewhere = !typed && includes_only;
            if fence.has("ignore") && !compiled_elsewhere && !self.has_reason(at) {
                failures.push(self.failure(
                    Kind::IgnoreWithoutReason,
                    "ignore",
                    at,
                    "a comment `<!-- why this is not compiled -->` on the line above",
                    "none",
                ));
            }
            return;
        }
        let shows_runs = matches!(language, "text" | "console");
        let allowed = !typed
            && if shows_runs {
                facts_or_includes
            } else {
                includes_only
            };
        if !allowed {
            let expected = if shows_runs {
                "facts or includes, nothing typed"
            } else {
                "`{{#include file:anchor}}`, nothing typed"
            };
            failures.push(self.failure(
                Kind::TypedCode,
                language,
                at,
                expected,
                self.text(&fence.content).trim_end(),
            ));
        }
    }

    /// Whether anything in a block stands outside its directives, or nothing at all is in it.
    fn is_typed(&self, fence: &Fence, directives: &[&Directive]) -> bool {
        let mut at = fence.content.start;
        for directive in directives {
            if !self.source.text[at.min(directive.span.start)..directive.span.start]
                .trim()
                .is_empty()
            {
                return true;
            }
            at = directive.span.end;
        }
        directives.is_empty()
            || !self.source.text[at.min(fence.content.end)..fence.content.end]
                .trim()
                .is_empty()
    }

    fn has_reason(&self, at: usize) -> bool {
        let line_start = self.line_starts[self.line(at) - 1];
        self.source.text[..line_start]
            .trim_end_matches('\n')
            .rsplit('\n')
            .next()
            .map(str::trim)
            .and_then(|line| line.strip_prefix("<!--")?.strip_suffix("-->"))
            .is_some_and(|reason| reason.split_whitespace().count() >= 2)
    }

    /// The rules about statements that no run stands behind. `messages` are texts that runs recorded.
    pub(crate) fn check_prose(&self, messages: &[&str], failures: &mut Vec<Failure>) {
        for block in &self.prose {
            let mut found = |kind, offset: usize, text: &str, expected: &str| {
                failures.push(self.failure(kind, text, block.place(offset), expected, text));
            };
            for number in NUMBER
                .captures_iter(&block.text)
                .filter_map(|captures| captures.get(1))
            {
                let expected = "a claim, a fact or an included output around a number with a unit";
                found(
                    Kind::UnclaimedNumber,
                    number.start(),
                    number.as_str(),
                    expected,
                );
            }
            for code in CODE.find_iter(&block.text) {
                let expected = "`{{fact … = code}}` or a claim around a code";
                found(Kind::UnclaimedCode, code.start(), code.as_str(), expected);
            }
            for version in VERSION.find_iter(&block.text) {
                let expected = "`{{version executorch}}` or the like";
                found(
                    Kind::TypedVersion,
                    version.start(),
                    version.as_str(),
                    expected,
                );
            }
            let expected = "`{{fact … = message}}` or a claim around a quoted message";
            let mut quoted: Vec<(usize, &str)> = QUOTED
                .captures_iter(&block.text)
                .filter_map(|captures| captures.get(1))
                .filter(|text| words(text.as_str()) >= 3)
                .map(|text| (text.start(), text.as_str()))
                .collect();
            for message in messages {
                quoted.extend(block.text.match_indices(message));
            }
            quoted.sort_unstable();
            quoted.dedup_by_key(|(at, _)| *at);
            for (offset, text) in quoted {
                found(Kind::UnclaimedMessage, offset, text, expected);
            }
            for (code, at) in &block.code {
                if is_sentence(code) && !messages.iter().any(|message| code.contains(message)) {
                    failures.push(self.failure(Kind::UnclaimedMessage, code, *at, expected, code));
                }
            }
        }
    }
}

/// The words that start a directive of ours or of mdBook's.
static KNOWN: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:#\s*\w|(?:fact|output|gpu|version)\s|(?:strip|drift)$)"));

/// A number with a unit. The letters `B` and `s` count as units only behind a space, so that `31B` can be a name.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?:^|[^\w.])((?:\d[\d,.]*(?:[\s\u{a0}-]?(?:bytes?|[KMGT]iB|[kKMGT]B|ns|µs|μs|us|ms|milliseconds?|microseconds?|",
        r"nanoseconds?|seconds?|minutes?|hours?|copies|copy|allocations?|percent|%|×)|[\s\u{a0}](?:B|s))",
        r"|(?i:two|three|four|five|six|seven|eight|nine|ten|twelve)\s(?:bytes|copies|allocations)))(?:\W|$)"
    ))
});

static CLAIM_MARK: LazyLock<Regex> = LazyLock::new(|| regex(r"\{claim(?:=([^}\n]*))?\}?"));

static BLANK_LINE: LazyLock<Regex> = LazyLock::new(|| regex(r"\n[ \t]*\n"));

static CODE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b0x[0-9A-Fa-f]+\b"));

static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\bv?\d+\.\d+\.\d+\b|\b(?i:executorch|pytorch|torch)\s?(?:==)?\s?v?\d+\.\d+\b")
});

static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#"["“]([^"“”]+)["”]"#));

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Whether inline code reads like a message rather than like code: a capital first, and words.
fn is_sentence(code: &str) -> bool {
    let plain = code
        .split_whitespace()
        .filter(|word| {
            let word = word.trim_end_matches([',', '.', ':', ';']);
            !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'\'' || b == b'-')
        })
        .count();
    code.starts_with(|c: char| c.is_ascii_uppercase()) && words(code) >= 4 && plain >= 3
}

/// Whether `id` can name a claim or a fact.
fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
}

/// Reads what stands between the braces; else the rule that it breaks and what was expected.
fn parse(inner: &str) -> Result<Action, (Kind, &'static str)> {
    const DIRECTIVES: &str = "`#include`, `#rustdoc_include`, `fact`, `output`, `table`, `drawing`, `strip`, `gpu`, `version` or `drift`; \
                              `\\{{` where a reader shall see the braces";
    let malformed = |expected| Err((Kind::DirectiveMalformed, expected));
    let (word, rest) = inner
        .split_once(char::is_whitespace)
        .map_or((inner, ""), |(word, rest)| (word, rest.trim()));
    match word {
        "#include" | "#rustdoc_include" => {
            let (path, selector) = rest
                .split_once(':')
                .map_or((rest, None), |(path, selector)| {
                    (path, Some(selector.to_owned()))
                });
            if path.is_empty() || rest.contains(char::is_whitespace) {
                return malformed("`{{#include file:anchor}}`");
            }
            Ok(Action::Include {
                path: path.to_owned(),
                selector,
                hides_the_rest: word == "#rustdoc_include",
            })
        }
        "fact" => match rest
            .split_once('=')
            .map(|(id, value)| (id.trim(), fold(value)))
        {
            Some((id, value)) if is_id(id) && !value.is_empty() => Ok(Action::Fact {
                id: id.to_owned(),
                value,
            }),
            _ => malformed("`{{fact listing.name = value}}`"),
        },
        "output" if is_id(rest) => Ok(Action::Output {
            listing: rest.to_owned(),
        }),
        "output" => malformed("`{{output listing}}`"),
        "table" | "drawing" => match rest
            .split_once(':')
            .map(|(id, caption)| (id.trim(), fold(caption)))
        {
            Some((id, caption)) if is_id(id) && words(&caption) >= 2 => Ok(Action::Table {
                id: id.to_owned(),
                caption,
            }),
            _ => malformed("`{{table listing.name: What it shows.}}`, or `drawing`"),
        },
        "strip" if rest.is_empty() => Ok(Action::Strip),
        "drift" if rest.is_empty() => Ok(Action::Drift),
        "strip" | "drift" => malformed("the word alone"),
        "gpu" if words(rest) >= 2 => Ok(Action::Gpu {
            sentence: fold(rest),
        }),
        "gpu" => malformed("`{{gpu A sentence.}}`"),
        "version" if !rest.is_empty() && !rest.contains(char::is_whitespace) => {
            Ok(Action::Version {
                of: rest.to_owned(),
            })
        }
        "version" => malformed("`{{version executorch}}`"),
        _ => Err((Kind::UnknownDirective, DIRECTIVES)),
    }
}

/// `text` with the bytes of `spans` as letters, lines kept, so that Markdown reads a word in each place.
fn mask(text: &str, spans: &[Range<usize>]) -> String {
    mask_with(text, spans, b'x')
}

fn mask_with(text: &str, spans: &[Range<usize>], fill: u8) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    let mut spans = spans.to_vec();
    spans.sort_by_key(|span| span.start);
    for span in &spans {
        masked.push_str(&text[at..span.start]);
        masked.extend(
            text[span.clone()]
                .bytes()
                .map(|b| char::from(if b == b'\n' { b } else { fill })),
        );
        at = span.end;
    }
    masked.push_str(&text[at..]);
    masked
}
