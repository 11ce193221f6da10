//! `releases.json`: what other releases of ExecuTorch do otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bite::Bite;
use crate::schema::{json, read, write};
use crate::{Error, Matrix};

/// The version of the schema that this module reads and writes.
pub const VERSION: u32 = 1;

/// The whole of `releases.json`: one entry a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Releases {
    /// [`VERSION`].
    pub version: u32,
    /// By release: `1.5.0`.
    pub releases: BTreeMap<String, Compared>,
}

/// One release beside the one of the guide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// A hash of the `matrix.json` and `bite.json` that it was compared with: others ask for another comparison.
    pub against: String,
    /// How many exports were compared, of both files.
    pub programs: usize,
    /// How many cells of `matrix.json`. 0: that release's wheel has no runtime to run them on.
    pub cells: usize,
    /// How many cases of `bite.json`.
    pub cases: usize,
    /// What that release does otherwise, by the name of the program, the cell or the case.
    pub changed: BTreeMap<String, Change>,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// In that release, as in its file.
    pub then: serde_json::Value,
    /// In the guide's.
    pub now: serde_json::Value,
}

/// The committed file.
#[must_use]
pub fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("releases.json")
}

/// What [`Compared::against`] has to be.
///
/// # Errors
///
/// When one of the two committed files cannot be read.
pub fn against() -> Result<String, Error> {
    let mut hash = blake3::Hasher::new();
    for file in [crate::committed(), crate::bite::committed()] {
        hash.update(&fs::read(&file).map_err(Error::io(&file))?);
    }
    Ok(hash.finalize().to_hex()[..16].to_owned())
}

impl Compared {
    /// Holds what was measured with another release, the whole or its exports alone, against the committed files.
    ///
    /// # Errors
    ///
    /// When a committed file cannot be read.
    pub fn new(matrix: &Matrix, bite: &Bite) -> Result<Self, Error> {
        let (our_matrix, our_bite) = (
            Matrix::read(crate::committed())?,
            Bite::read(crate::bite::committed())?,
        );
        let mut changed = BTreeMap::new();
        let programs = compare(&our_matrix.programs, &matrix.programs, &mut changed)
            + compare(&our_bite.programs, &bite.programs, &mut changed);
        let whole = |matrix: &Matrix| -> BTreeMap<String, crate::Answer> {
            let cells = matrix.cells.iter();
            cells
                .map(|(cell, answer)| (cell.clone(), matrix.answers[answer].clone()))
                .collect()
        };
        let cells = match matrix.cells.len() {
            0 => 0,
            _ => compare(&whole(&our_matrix), &whole(matrix), &mut changed),
        };
        let cases = match bite.cases.len() {
            0 => 0,
            _ => compare(&our_bite.cases, &bite.cases, &mut changed),
        };
        let against = against()?;
        Ok(Self {
            against,
            programs,
            cells,
            cases,
            changed,
        })
    }
}

/// Adds what differs, and says how many entries there are.
fn compare<T: Serialize + PartialEq>(
    now: &BTreeMap<String, T>,
    then: &BTreeMap<String, T>,
    changed: &mut BTreeMap<String, Change>,
) -> usize {
    let names: BTreeSet<&String> = now.keys().chain(then.keys()).collect();
    let value = |of: Option<&T>| {
        of.and_then(|value| serde_json::to_value(value).ok())
            .unwrap_or_default()
    };
    for name in &names {
        let (now, then) = (now.get(*name), then.get(*name));
        if now != then {
            let (then, now) = (value(then), value(now));
            changed.insert((*name).clone(), Change { then, now });
        }
    }
    names.len()
}

impl Releases {
    /// Reads a file; one that is not there is empty.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Malformed`], also for another version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if !path.exists() {
            return Ok(Self {
                version: VERSION,
                releases: BTreeMap::new(),
            });
        }
        read(path, VERSION, |releases: &Self| releases.version)
    }

    /// Writes a file: a temporary one beside it, then the rename.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let entries = self.releases.iter().map(|(release, of)| {
            let changes = of.changed.iter().map(|(name, change)| format!("{}: {}", json(name), json(change)));
            let changes: Vec<String> = changes.collect();
            let break_ = if changes.is_empty() { "" } else { "\n" };
            format!(
                "{}: {{\"against\": {}, \"programs\": {}, \"cells\": {}, \"cases\": {}, \"changed\": {{{break_}{}{break_}}}}}",
                json(release),
                json(&of.against),
                of.programs,
                of.cells,
                of.cases,
                changes.join(",\n"),
            )
        });
        let entries: Vec<String> = entries.collect();
        let text = format!(
            "{{\n\"version\": {VERSION},\n\"releases\": {{\n{}\n}}\n}}\n",
            entries.join(",\n")
        );
        write(path.as_ref(), &text)
    }
}
