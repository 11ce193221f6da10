//! What keeps a book from being built: every rule, and one report for all that were broken.

use std::fmt::{self, Display};
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Names the rules once: variant, the word in reports, and what breaks it.
macro_rules! kinds {
    ($($(#[doc = $text:literal])+ $variant:ident = $name:literal,)+) => {
        /// A rule of the book. The name in reports is kebab-case: `sentence-differs`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Kind {
            $($(#[doc = $text])+ #[serde(rename = $name)] $variant,)+
        }

        impl Kind {
            /// Every rule, for a suite that plants a fault for each.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

kinds! {
    /// A claim on a page that no listing asserted in this run.
    ClaimWithoutAssertion = "claim-without-assertion",
    /// A listing asserts a sentence that stands on no page.
    AssertionWithoutClaim = "assertion-without-claim",
    /// The sentence on the page and the sentence in the listing are not the same.
    SentenceDiffers = "sentence-differs",
    /// The run did not bear a claim out.
    ClaimFails = "claim-fails",
    /// `{claim=…}` that belongs to no sentence, or whose id cannot be an id.
    ClaimMalformed = "claim-malformed",
    /// A page quotes a fact that no run recorded.
    FactUnknown = "fact-unknown",
    /// The value on the page is not the value of the run.
    FactDiffers = "fact-differs",
    /// A fact whose id does not start with the name of the listing that recorded it.
    FactMisnamed = "fact-misnamed",
    /// A listing records a fact that no page shows.
    FactUnstated = "fact-unstated",
    /// A listing must end in failure, and no page says how it ends.
    ExitUnstated = "exit-unstated",
    /// A listing that no page shows.
    ListingWithoutPage = "listing-without-page",
    /// A listing without the output that is expected of it.
    ListingWithoutOutput = "listing-without-output",
    /// A listing whose program is not among the workspace's binaries.
    ListingWithoutBinary = "listing-without-binary",
    /// A page names a listing that does not exist.
    ListingUnknown = "listing-unknown",
    /// An expected output of which there is no listing.
    OutputWithoutListing = "output-without-listing",
    /// A listing printed something else than what is expected of it.
    OutputDiffers = "output-differs",
    /// A listing in C++ or Python printed something else than the one in Rust prints of the same thing.
    LanguagesDiffer = "languages-differ",
    /// A listing ended otherwise than declared: another exit code, or a signal.
    OutcomeDiffers = "outcome-differs",
    /// A listing ran longer than the time limit.
    TimeLimit = "time-limit",
    /// A listing printed more than the output limit.
    OutputLimit = "output-limit",
    /// A listing could not be started, or the record of its run could not be read.
    RunFails = "run-fails",
    /// The listings do not compile.
    ListingsDoNotCompile = "listings-do-not-compile",
    /// The exporter refused a recipe that must export.
    ExportFails = "export-fails",
    /// An included file does not exist, or lies outside the repository.
    IncludeMissing = "include-missing",
    /// An included anchor does not exist, or has no end.
    AnchorMissing = "anchor-missing",
    /// An included anchor or file has nothing in it.
    AnchorEmpty = "anchor-empty",
    /// An include by line numbers, which move when the file changes.
    LineRange = "line-range",
    /// A whole file is included and its anchor comments would be shown.
    AnchorsShown = "anchors-shown",
    /// `{{…}}` that is none of the directives of this book.
    UnknownDirective = "unknown-directive",
    /// A directive without what it needs.
    DirectiveMalformed = "directive-malformed",
    /// A directive or a claim in a place where it cannot stand.
    DirectiveMisplaced = "directive-misplaced",
    /// A link to a page or a file that does not exist.
    LinkBroken = "link-broken",
    /// A link to a place that its page does not have.
    FragmentBroken = "fragment-broken",
    /// `SUMMARY.md` names a page that has no file.
    PageMissing = "page-missing",
    /// A page in `src/` that `SUMMARY.md` does not name.
    PageUnlisted = "page-unlisted",
    /// A number with a unit that no run stands behind.
    UnclaimedNumber = "unclaimed-number",
    /// A hexadecimal code that no run stands behind.
    UnclaimedCode = "unclaimed-code",
    /// A quoted message that no run stands behind.
    UnclaimedMessage = "unclaimed-message",
    /// A version number that somebody typed.
    TypedVersion = "typed-version",
    /// Code or output that was typed on the page instead of included.
    TypedCode = "typed-code",
    /// A code block that does not say its language.
    FenceWithoutLanguage = "fence-without-language",
    /// A Rust block that is not compiled, with no comment that says why.
    IgnoreWithoutReason = "ignore-without-reason",
    /// A `compile_fail` block, which skeptic compiles and runs as ordinary code.
    CompileFailFence = "compile-fail-fence",
    /// A page that does not say what stands behind it.
    StripMissing = "strip-missing",
    /// A stand-in's message, code or outcome in the index of errors.
    StandInInErrorIndex = "stand-in-in-error-index",
    /// An admonition of a kind that mdBook does not know: it would be shown as it is typed.
    AdmonitionMalformed = "admonition-malformed",
    /// A key in `book.toml` that nothing reads.
    ConfigKey = "config-key",
    /// A setting in `book.toml` with which the book cannot be trusted.
    ConfigValue = "config-value",
    /// mdBook is not the version that this preprocessor speaks.
    MdbookVersion = "mdbook-version",
    /// This `guide-book` was built from other sources than those in the repository.
    StalePreprocessor = "stale-preprocessor",
    /// Something that `cargo xtask setup` makes is missing.
    NotSetUp = "not-set-up",
    /// The built book has no record of the run that proved it.
    RunRecordMissing = "run-record-missing",
    /// A page of the built book does not carry this run's id.
    RunIdMissing = "run-id-missing",
    /// A page of the book was not built.
    PageNotBuilt = "page-not-built",
    /// The built book has a page that `SUMMARY.md` does not name.
    PageUnknown = "page-unknown",
    /// A directive reached the reader.
    DirectiveLeft = "directive-left",
    /// A link in the built book that leads nowhere.
    SiteLinkBroken = "site-link-broken",
    /// A link in the built book to a place that its page does not have.
    SiteFragmentBroken = "site-fragment-broken",
    /// A licence notice that the site must carry is missing, or a page does not link to it.
    NoticesMissing = "notices-missing",
    /// The built book asks somebody else's server for something.
    ThirdPartyRequest = "third-party-request",
}

impl Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The rule.
    pub kind: Kind,
    /// What it is about: the id of a claim or fact, the name of a listing, the target of a link.
    pub id: String,
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What the rule asks for.
    pub expected: String,
    /// What there is.
    pub seen: String,
    /// The command that repeats it.
    #[serde(skip)]
    pub repeat: String,
}

/// The command that repeats a failure which needs the whole book.
pub(crate) const BUILD: &str = "cargo xtask build";

/// The command that repeats a failure of one listing.
pub(crate) fn run_command(listing: &str) -> String {
    format!("cargo run --bin {listing}")
}

impl Failure {
    /// A failure that a build of the whole book repeats.
    pub(crate) fn new(
        kind: Kind,
        id: impl Into<String>,
        file: impl Into<String>,
        line: usize,
        expected: impl Into<String>,
        seen: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            id: id.into(),
            file: file.into(),
            line,
            expected: expected.into(),
            seen: seen.into(),
            repeat: BUILD.to_owned(),
        }
    }

    /// The same, repeated by running one listing, by its name.
    pub(crate) fn of_listing(self, listing: &str) -> Self {
        self.repeated_by(&run_command(listing))
    }

    /// The same, repeated by `command`.
    pub(crate) fn repeated_by(mut self, command: &str) -> Self {
        command.clone_into(&mut self.repeat);
        self
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}:{}: {} `{}`",
            self.file, self.line, self.kind, self.id
        )?;
        let many = |text: &str| text.trim_end().contains('\n');
        if many(&self.expected) && many(&self.seen) {
            writeln!(out, "    - expected, + seen:")?;
            let diff = TextDiff::from_lines(self.expected.trim_end(), self.seen.trim_end());
            for change in diff.iter_all_changes() {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                writeln!(out, "    {sign} {}", change.value().trim_end_matches('\n'))?;
            }
        } else {
            for (name, text) in [("expected", &self.expected), ("seen", &self.seen)] {
                let mut lines = text.trim_end().lines();
                writeln!(
                    out,
                    "    {:<9} {}",
                    format!("{name}:"),
                    lines.next().unwrap_or_default()
                )?;
                for line in lines {
                    writeln!(out, "              {line}")?;
                }
            }
        }
        write!(out, "    repeat:   {}", self.repeat)
    }
}

/// All failures of one run, in the order of files and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures(Vec<Failure>);

impl Failures {
    /// The failures, sorted, each once.
    #[must_use]
    pub fn new(mut all: Vec<Failure>) -> Self {
        all.sort_by(|a, b| {
            (&a.file, a.line, a.kind, &a.id, &a.expected, &a.seen).cmp(&(
                &b.file,
                b.line,
                b.kind,
                &b.id,
                &b.expected,
                &b.seen,
            ))
        });
        all.dedup();
        Self(all)
    }

    /// Whether no rule is broken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The failures.
    #[must_use]
    pub fn all(&self) -> &[Failure] {
        &self.0
    }

    /// Writes them as JSON lines `{kind, id, file, line, expected, seen}` to `path`, an empty file where there are none.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write_json(&self, path: &Path) -> std::io::Result<()> {
        let mut text = Vec::new();
        for failure in &self.0 {
            serde_json::to_writer(&mut text, failure)?;
            text.write_all(b"\n")?;
        }
        std::fs::write(path, text)
    }
}

impl Display for Failures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.0 {
            writeln!(out, "{failure}\n")?;
        }
        let count = self.0.len();
        write!(
            out,
            "{count} {}",
            if count == 1 { "failure" } else { "failures" }
        )
    }
}

impl std::error::Error for Failures {}

impl IntoIterator for Failures {
    type Item = Failure;
    type IntoIter = std::vec::IntoIter<Failure>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<Failure> for Failures {
    fn from(failure: Failure) -> Self {
        Self(vec![failure])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_kebab_case() {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert!(
            names
                .iter()
                .all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
    }

    #[test]
    fn a_report_is_sorted_and_says_how_to_repeat() {
        let at =
            |file: &str, line| Failure::new(Kind::FactDiffers, "a.b", file, line, "768", "1024");
        let failures = Failures::new(vec![
            at("src/b.md", 2),
            at("src/a.md", 9),
            at("src/b.md", 2),
        ]);
        let text = failures.to_string();
        assert_eq!(
            text,
            "src/a.md:9: fact-differs `a.b`\n    expected: 768\n    seen:     1024\n    repeat:   cargo xtask build\n\n\
             src/b.md:2: fact-differs `a.b`\n    expected: 768\n    seen:     1024\n    repeat:   cargo xtask build\n\n\
             2 failures"
        );
    }

    #[test]
    fn two_long_texts_are_shown_as_a_difference() {
        let failure = Failure::new(
            Kind::OutputDiffers,
            "x",
            "listings/x/output.txt",
            1,
            "one\ntwo\n",
            "one\nthree\n",
        );
        let text = failure.of_listing("x").to_string();
        assert!(
            text.contains("      one\n    - two\n    + three\n    repeat:   cargo run --bin x"),
            "{text}"
        );
    }
}
