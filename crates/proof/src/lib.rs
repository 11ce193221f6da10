//! What a listing says about its own run, and the record that it leaves.
//!
//! A listing is a program that exports a model, runs it, and asserts what the book says about it:
//!
//! ```
//! use proof::{Origin, claim, fact};
//!
//! let planned_bytes = 3 * 256;
//! fact(Origin::Exporter, "pairing-rule.unpaired.planned_bytes", planned_bytes);
//! claim(
//!     Origin::Exporter,
//!     "pairing.duplicate-inputs",
//!     "With both copies skipped and the inputs planned, the program plans a duplicate of each input.",
//!     planned_bytes > 256,
//! );
//! ```
//!
//! Each call appends one JSON line, a [`Record`], to the file named by `$GUIDE_FACTS`; without that variable nothing is
//! written. A claim that does not hold ends the listing: its record is written first, then the call panics.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// The environment variable that names the file to which records are appended.
pub const FACTS_VARIABLE: &str = "GUIDE_FACTS";

/// Who produced what is said: the answer to "would a reader of the book see this too?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The exporter of `executorch`, or the program that it wrote.
    Exporter,
    /// The runtime of `executorch`, from the wheel.
    Runtime,
    /// A crate of this repository that readers use, `executorch-device` or `pte`: they meet the same answers.
    Library,
    /// The device or the delegate that stands in for a GPU. A reader with a GPU may see something else.
    StandIn,
    /// A source that this run did not run, such as the CUDA delegate's. Only [`quoted`] records it.
    Quoted,
}

impl Origin {
    /// The name in records and on pages: `exporter`, `runtime`, `library`, `stand-in` or `quoted`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exporter => "exporter",
            Self::Runtime => "runtime",
            Self::Library => "library",
            Self::StandIn => "stand-in",
            Self::Quoted => "quoted",
        }
    }
}

impl Display for Origin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

/// Where a quoted text stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The file, relative to its repository: `backends/cuda/runtime/cuda_backend.cpp`.
    pub file: String,
    /// The commit: the hexadecimal digits of its hash, from 7 to 40.
    pub commit: String,
}

/// One line of the record of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// A sentence about behaviour, and whether the run bore it out.
    Claim {
        /// The name of the sentence, the same on the page and in the listing: `pairing.unpaired-refused`.
        id: String,
        /// The sentence, in the Markdown of the page.
        sentence: String,
        /// Who produced the behaviour.
        origin: Origin,
        /// Whether the condition was true.
        holds: bool,
        /// The source file of the call, relative to the workspace.
        file: String,
        /// The line of the call, from 1.
        line: u32,
    },
    /// A number or a text that came out of the run, or that is quoted.
    Fact {
        /// The full name: `pairing-rule.unpaired.planned_bytes`.
        id: String,
        /// Who produced the value.
        origin: Origin,
        /// The value as a page shows it.
        value: String,
        /// Where it is quoted from; exactly where the origin is [`Origin::Quoted`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
        /// The source file of the call, relative to the workspace.
        file: String,
        /// The line of the call, from 1.
        line: u32,
    },
}

impl Record {
    /// The name of the claim or fact.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Claim { id, .. } | Self::Fact { id, .. } => id,
        }
    }

    /// Who produced what it says.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match self {
            Self::Claim { origin, .. } | Self::Fact { origin, .. } => *origin,
        }
    }

    /// The source file (relative to the workspace) and line (from 1) of the call.
    #[must_use]
    pub fn place(&self) -> (&str, u32) {
        match self {
            Self::Claim { file, line, .. } | Self::Fact { file, line, .. } => (file, *line),
        }
    }
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is missing or unreadable.
    #[error("{}: cannot read the record of a run: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not a record.
    #[error("{}:{line}: not a record of a run: {source}; `$GUIDE_FACTS` must name a file that only listings write", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the parser said.
        source: serde_json::Error,
    },
}

/// Says that `sentence` is true of this run, and records whether it is.
///
/// `id` is lower-case letters, digits, `.`, `_` and `-`. `sentence` is what the page says, in its Markdown, equal after
/// folding of white space.
///
/// # Panics
///
/// When `holds` is false (after the record is written), when `id` is malformed, when `origin` is [`Origin::Quoted`] (a run
/// cannot bear out what it does not run), or when the record cannot be written.
#[track_caller]
pub fn claim(origin: Origin, id: &str, sentence: &str, holds: bool) {
    RECORDER.claim(origin, id, sentence, holds, Location::caller());
}

/// Records a number or a text that came out of this run, under its full name `<listing>.<what>`.
///
/// The same fact may be recorded again with the same value; it then leaves one record.
///
/// # Panics
///
/// When the value differs from the one recorded earlier in this process, when `id` is malformed, when `origin` is
/// [`Origin::Quoted`] (that is [`quoted`]), or when the record cannot be written.
#[track_caller]
pub fn fact(origin: Origin, id: &str, value: impl Display) {
    assert!(
        origin != Origin::Quoted,
        "fact `{id}` is quoted: use `quoted`, which says from where"
    );
    RECORDER.fact(origin, id, value.to_string(), None, Location::caller());
}

/// A table that came out of a run. The cells are Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows, each with as many cells as the header.
    pub rows: Vec<Vec<String>>,
}

/// Records a table: a fact whose value is a [`Table`] in JSON.
///
/// # Panics
///
/// As [`fact`], and when a row has not as many cells as the header.
#[track_caller]
pub fn table(origin: Origin, id: &str, header: &[&str], rows: Vec<Vec<String>>) {
    for row in &rows {
        assert!(
            row.len() == header.len(),
            "table `{id}`: a row has {} cells and the header {}: {row:?}",
            row.len(),
            header.len()
        );
    }
    let header = header.iter().map(ToString::to_string).collect();
    let table = Table { header, rows };
    fact(
        origin,
        id,
        serde_json::to_string(&table).expect("text is JSON"),
    );
}

/// What moves in one execution, between whom: a picture that came out of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Who has memory or works with it, from left to right.
    pub lanes: Vec<String>,
    /// What goes from one of them to another, in the order of the execution.
    pub moves: Vec<Move>,
}

/// One arrow of a [`Drawing`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The lane that it starts at, by index.
    pub from: usize,
    /// The lane that it ends at, by index; another one.
    pub to: usize,
    /// What moves, in a few words.
    pub what: String,
    /// Whether bytes are copied. If not, an address is handed over, or memory is read or written where it is.
    pub copied: bool,
}

/// Records a drawing: a fact whose value is a [`Drawing`] in JSON.
///
/// # Panics
///
/// As [`fact`], and when an arrow leads nowhere or to where it starts.
#[track_caller]
pub fn drawing(origin: Origin, id: &str, drawing: &Drawing) {
    for arrow in &drawing.moves {
        let lanes = drawing.lanes.len();
        assert!(
            arrow.from != arrow.to && arrow.from < lanes && arrow.to < lanes,
            "drawing `{id}`: {arrow:?} among {lanes} lanes"
        );
    }
    fact(
        origin,
        id,
        serde_json::to_string(drawing).expect("text is JSON"),
    );
}

/// The first line of a text as code for a table's cell: letter by letter, also where it holds backticks.
///
/// ```
/// assert_eq!(proof::code("0x2"), "`0x2`");
/// assert_eq!(proof::code("method `forward`\nmore"), "`` method `forward` ``");
/// ```
#[must_use]
pub fn code(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let longest = line
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    if longest == 0 {
        return format!("`{line}`");
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence} {line} {fence}")
}

/// Records a text that stands in a source which this run does not run: a message of the CUDA delegate. A page shows it
/// with `file` and `commit`, and does not count it as proved.
///
/// ```
/// proof::quoted(
///     "caller-output.null.log",
///     "output is null",
///     "backends/cuda/runtime/cuda_backend.cpp",
///     "0123456789abcdef0123456789abcdef01234567",
/// );
/// ```
///
/// # Panics
///
/// As [`fact`], and when `file` is empty or `commit` is not 7 to 40 lower-case hexadecimal digits.
#[track_caller]
pub fn quoted(id: &str, value: impl Display, file: &str, commit: &str) {
    let is_hash = (7..=40).contains(&commit.len())
        && commit
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    assert!(
        is_hash && !file.trim().is_empty(),
        "fact `{id}` is quoted from file {file:?} at commit {commit:?}: name a file and 7 to 40 lower-case hexadecimal digits"
    );
    let source = Source {
        file: file.to_owned(),
        commit: commit.to_owned(),
    };
    RECORDER.fact(
        Origin::Quoted,
        id,
        value.to_string(),
        Some(source),
        Location::caller(),
    );
}

/// Reads the records of a run, in the order in which they were written.
///
/// # Errors
///
/// When the file cannot be read or a line of it is not a record.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Record>, Error> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| Error::Malformed {
                path: path.to_owned(),
                line: index + 1,
                source,
            })
        })
        .collect()
}

static RECORDER: LazyLock<Recorder> = LazyLock::new(|| Recorder {
    path: std::env::var_os(FACTS_VARIABLE).map(PathBuf::from),
    facts: Mutex::default(),
});

/// Where records go, and the facts that this process has recorded.
struct Recorder {
    path: Option<PathBuf>,
    facts: Mutex<BTreeMap<String, String>>,
}

impl Recorder {
    #[track_caller]
    fn claim(&self, origin: Origin, id: &str, sentence: &str, holds: bool, at: &Location) {
        check_id(id);
        assert!(
            origin != Origin::Quoted,
            "claim `{id}` is quoted: a run bears out only what it runs; record a text with `quoted`"
        );
        self.write(&Record::Claim {
            id: id.to_owned(),
            sentence: sentence.to_owned(),
            origin,
            holds,
            file: at.file().to_owned(),
            line: at.line(),
        });
        assert!(
            holds,
            "claim `{id}` does not hold: {sentence} ({}:{})",
            at.file(),
            at.line()
        );
    }

    #[track_caller]
    fn fact(&self, origin: Origin, id: &str, value: String, source: Option<Source>, at: &Location) {
        check_id(id);
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = facts.get(id) {
            assert!(
                *earlier == value,
                "fact `{id}` was {earlier:?} earlier in this run and is {value:?} now; a fact has one value"
            );
            return;
        }
        facts.insert(id.to_owned(), value.clone());
        self.write(&Record::Fact {
            id: id.to_owned(),
            origin,
            value,
            source,
            file: at.file().to_owned(),
            line: at.line(),
        });
    }

    /// Appends one line with one `write`, so that the lines of two threads or of a child process never mix.
    #[track_caller]
    fn write(&self, record: &Record) {
        let Some(path) = &self.path else { return };
        let mut line =
            serde_json::to_string(record).expect("strings, numbers and booleans are JSON");
        line.push('\n');
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            panic!(
                "${FACTS_VARIABLE} names {}, which cannot be appended to: {error}; name a file in an existing folder",
                path.display()
            );
        }
    }
}

#[track_caller]
fn check_id(id: &str) {
    let valid = !id.is_empty()
        && id
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
    assert!(
        valid,
        "`{id}` cannot name a claim or fact: use lower-case letters, digits, `.`, `_` and `-`"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn recorder(path: Option<PathBuf>) -> Recorder {
        Recorder {
            path,
            facts: Mutex::default(),
        }
    }

    fn panic_text(run: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("must panic");
        payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_else(|| {
                payload
                    .downcast_ref::<&str>()
                    .map_or(String::new(), ToString::to_string)
            })
    }

    #[test]
    fn records_come_back_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts");
        let says = recorder(Some(path.clone()));
        let at = Location::caller();
        says.claim(
            Origin::Runtime,
            "a.b-c",
            "One `line`,\nor \"two\".",
            true,
            at,
        );
        says.fact(Origin::StandIn, "x.bytes", "768".into(), None, at);
        says.fact(Origin::StandIn, "x.bytes", "768".into(), None, at);
        let records = read(&path).unwrap();
        assert_eq!(
            records.len(),
            2,
            "an equal fact leaves one record: {records:?}"
        );
        assert_eq!(
            records[1],
            Record::Fact {
                id: "x.bytes".into(),
                origin: Origin::StandIn,
                value: "768".into(),
                source: None,
                file: at.file().into(),
                line: at.line()
            }
        );
        assert_eq!(records[0].place(), (file!(), at.line()));
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(r#""kind":"fact","id":"x.bytes","origin":"stand-in","value":"768""#),
            "{text}"
        );
    }

    #[test]
    fn a_false_claim_is_recorded_and_panics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts");
        let says = recorder(Some(path.clone()));
        let at = Location::caller();
        let text = panic_text(|| {
            says.claim(
                Origin::Exporter,
                "sky.green",
                "The sky is green.",
                false,
                at,
            );
        });
        assert_eq!(
            text,
            format!(
                "claim `sky.green` does not hold: The sky is green. ({}:{})",
                file!(),
                at.line()
            )
        );
        assert!(matches!(
            &read(&path).unwrap()[..],
            [Record::Claim { holds: false, .. }]
        ));
    }

    #[test]
    fn a_fact_has_one_value() {
        let says = recorder(None);
        let at = Location::caller();
        says.fact(Origin::Runtime, "x.y", "1".into(), None, at);
        let text = panic_text(|| says.fact(Origin::Runtime, "x.y", "2".into(), None, at));
        assert_eq!(
            text,
            "fact `x.y` was \"1\" earlier in this run and is \"2\" now; a fact has one value"
        );
    }

    #[test]
    fn a_quoted_text_says_from_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts");
        let says = recorder(Some(path.clone()));
        let source = Source {
            file: "a/b.cpp".into(),
            commit: "0123abc".into(),
        };
        let at = Location::caller();
        says.fact(
            Origin::Quoted,
            "x.log",
            "m".into(),
            Some(source.clone()),
            at,
        );
        assert!(matches!(
            &read(&path).unwrap()[..],
            [Record::Fact { origin: Origin::Quoted, source: Some(found), .. }] if *found == source
        ));
        let text = panic_text(|| fact(Origin::Quoted, "x.y", 1));
        assert!(text.contains("use `quoted`"), "{text}");
        let text = panic_text(|| claim(Origin::Quoted, "x.y", "It is.", true));
        assert!(text.contains("only what it runs"), "{text}");
        for (file, commit) in [("a.cpp", "main"), ("a.cpp", "0123AB7"), (" ", "0123abc")] {
            let text = panic_text(|| quoted("x.y", "m", file, commit));
            assert!(text.contains("hexadecimal digits"), "{text}");
        }
    }

    #[test]
    fn a_malformed_id_is_refused() {
        let says = recorder(None);
        for id in ["", "A.b", "a b", "a}b"] {
            let text =
                panic_text(|| says.claim(Origin::Runtime, id, "s", true, Location::caller()));
            assert!(text.contains("use lower-case letters"), "{text}");
        }
    }

    #[test]
    fn a_record_that_cannot_be_written_is_no_silence() {
        let folder = tempfile::tempdir().unwrap();
        let says = recorder(Some(folder.path().join("missing/facts")));
        let text =
            panic_text(|| says.fact(Origin::Runtime, "x.y", "1".into(), None, Location::caller()));
        assert!(text.starts_with("$GUIDE_FACTS names "), "{text}");
    }

    #[test]
    fn what_is_not_a_record_names_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts");
        let good = r#"{"kind":"fact","id":"a","origin":"library","value":"1","file":"f","line":1}"#;
        fs::write(&path, format!("{good}\n{{\"kind\":\"guess\"}}\n")).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, Error::Malformed { line: 2, .. }), "{error}");
        assert!(matches!(
            read(folder.path().join("none")),
            Err(Error::Read { .. })
        ));
    }

    #[test]
    fn the_public_calls_name_their_caller() {
        // `$GUIDE_FACTS` is unset under `cargo test`: both are ordinary calls that write nothing.
        claim(Origin::Runtime, "test.holds", "It holds.", true);
        fact(Origin::Runtime, "test.value", 1);
        let text = panic_text(|| claim(Origin::Runtime, "test.false", "It does not.", false));
        assert!(text.contains(&format!("({}:", file!())), "{text}");
    }

    #[test]
    fn an_arrow_leads_from_one_lane_to_another() {
        for (from, to) in [(0, 0), (0, 2), (2, 0)] {
            let drawn = Drawing {
                lanes: vec!["a".into(), "b".into()],
                moves: vec![Move {
                    from,
                    to,
                    what: "x".into(),
                    copied: true,
                }],
            };
            let drawn = || drawing(Origin::Runtime, "x.d", &drawn);
            assert!(std::panic::catch_unwind(drawn).is_err());
        }
    }

    #[test]
    fn a_row_of_another_width_is_no_row() {
        let header = ["a", "b"];
        let short = || table(Origin::Runtime, "x.t", &header, vec![vec!["1".into()]]);
        assert!(std::panic::catch_unwind(short).is_err());
    }
}
