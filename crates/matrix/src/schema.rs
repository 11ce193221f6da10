//! `matrix.json`: what was measured.
//!
//! The file is one JSON object, written with one entry a line so that a change shows as the lines that changed:
//!
//! ```json
//! {
//! "version": 1,
//! "executorch": "1.5.1+cpu",
//! "programs": {
//! "static h1d1_i0o0_n1": {"plan": {"arenas": [], "inputs": ["unplanned cuda", "unplanned cuda"], "outputs": ["unplanned cuda"], "chain": ["delegate"]}}
//! },
//! "answers": {
//! "4f0c91d2": {"is": "measured", "run": {"first": {"outcome": "right", "origin": "stand-in", "inputs": "as-they-are", "output": {"on": "device", "of": "caller"}}, …}}
//! },
//! "cells": {
//! "static h1d1_i0o0_n1 cpp device-tensor set-output-device": "4f0c91d2"
//! }
//! }
//! ```
//!
//! An answer that many cells share is written once, under a name made of its contents. Nothing in the file depends on
//! addresses, times or the machine.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use device::Copies;
use proof::Origin;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Error, Key};

/// The version of the schema that this crate reads and writes. It is raised when a reader of an older file would
/// misunderstand a newer one.
pub const VERSION: u32 = 1;

/// The whole of `matrix.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// [`VERSION`].
    pub version: u32,
    /// The version of the ExecuTorch package that exported and ran.
    pub executorch: String,
    /// What each export gave, by program and settings: `static h1d1_i0o0_n1`.
    pub programs: BTreeMap<String, Export>,
    /// Each answer that some cell has, by a name made of its contents.
    pub answers: BTreeMap<String, Answer>,
    /// The answer of each cell, by the cell's [`Key`].
    pub cells: BTreeMap<String, String>,
}

/// What an export gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Export {
    /// The method's plan.
    Plan(Plan),
    /// The exporter's refusal: [`Origin::Exporter`].
    Refused {
        /// The Python exception's class.
        kind: String,
        /// Its text.
        message: String,
    },
}

/// What a program says of one of its methods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The buffers that loading reserves, in order: `512 cpu`, in bytes.
    pub arenas: Vec<String>,
    /// Each input: `planned cpu`, `unplanned cuda`.
    pub inputs: Vec<String>,
    /// Each output.
    pub outputs: Vec<String>,
    /// What an execution does, in order: `h2d`, `delegate`, `d2h`, or an operator's name.
    pub chain: Vec<String>,
    /// How many device tensors of a delegate have no memory and cannot be given any: such a program cannot run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreachable: usize,
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer<R = Run> {
    /// There is no program: [`Matrix::programs`] has the exporter's reason. Nothing was run.
    NotExported,
    /// The caller's language cannot say this. Nothing was run.
    NotApplicable {
        /// Why.
        reason: String,
    },
    /// What happened, under both policies of the device.
    Measured {
        /// What.
        run: R,
    },
    /// The policies differ: what CUDA does here depends on its driver and is not known.
    DependsOnTheDriver {
        /// With copies that refuse a pointer on the wrong side.
        refuse: R,
        /// With copies that accept it.
        accept: R,
    },
}

/// Two executions of one loaded method: the second with other values, and, of the dynamic program, with fewer rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The first execution, or what prevented it.
    pub first: Execution,
    /// The second. Absent when the first ended the process, or when what comes
    /// before it failed: the caller then stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Execution>,
    /// Whether the second execution's result lies where the first one's did. Absent unless both gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_overwrites_first: Option<bool>,
}

/// One execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Who decided that. Of a result the values are the stand-in's; that the call came to the delegate, through which
    /// copies and with which pointers, is the runtime's. [`Origin::Runtime`] stands for ExecuTorch's bindings and PyTorch
    /// too.
    pub origin: Origin,
    /// ExecuTorch's copies from the host to the device.
    #[serde(default, skip_serializing_if = "no_copies")]
    pub h2d: Copies,
    /// ExecuTorch's copies from the device to the host.
    #[serde(default, skip_serializing_if = "no_copies")]
    pub d2h: Copies,
    /// Where the delegate read its inputs. Absent if it was not called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Read>,
    /// Where the delegate was told to write its output. Absent if it was not called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Written>,
    /// The result's memory. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Place>,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// With the values of eager PyTorch, bit for bit.
    Right,
    /// With other values, or with none that can be read where the tensor says they are.
    Wrong,
    /// With an error.
    Failed {
        /// In which call.
        call: Call,
        /// ExecuTorch's code, `0x10`, where the caller gets it as a number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The exception, where the caller gets one: its class and its text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exception: Option<String>,
        /// What ExecuTorch logged at error level, oldest first, each line with its origin.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        log: Vec<Line>,
    },
    /// With an error that a missing NVIDIA driver decides: what happens with one is not known here.
    NeedsAGpu {
        /// In which call.
        call: Call,
        /// The text seen.
        exception: String,
    },
    /// With the end of the process.
    Died {
        /// In which call.
        call: Call,
        /// By which signal: `SIGSEGV`.
        signal: String,
    },
}

/// A line of ExecuTorch's log, with `<address>` for addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Who said it.
    pub origin: Origin,
    /// The text.
    pub text: String,
}

/// A call of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// Making the tensors to pass. Only a failure is recorded.
    Inputs,
    /// Loading the method.
    Load,
    /// `set_output`.
    SetOutput,
    /// The execution, inputs included.
    Execute,
}

/// Where the delegate read its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Read {
    /// At the addresses that the caller passed.
    AsTheyAre,
    /// Somewhere else: they were copied.
    Copied,
}

/// Where the delegate was told to write its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Written {
    /// Nowhere: a null pointer.
    Null,
    /// Where the result is.
    Result,
    /// Somewhere else: the result, if there is one, was copied from there.
    Elsewhere,
}

/// The memory of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// On which side.
    pub on: Side,
    /// Whose.
    pub of: Owner,
}

/// A side of the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Host memory.
    Host,
    /// Device memory.
    Device,
}

/// Whose memory a result is in, as far as behaviour shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// What the caller gave to `set_output`.
    Caller,
    /// The method's: both executions gave the same address.
    Runtime,
    /// New for each execution: the two gave different addresses.
    Fresh,
    /// Not told: there was no second result to compare with.
    Unknown,
}

/// A cell that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The cell, the program, or a field of the file.
    pub name: String,
    /// What the committed file says; `None`: nothing.
    pub committed: Option<String>,
    /// What was measured; `None`: nothing.
    pub measured: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "{}: committed {}; measured {}",
            self.name,
            text(&self.committed),
            text(&self.measured)
        )
    }
}

impl Matrix {
    /// An empty one.
    pub(crate) fn new(executorch: String) -> Self {
        Self {
            version: VERSION,
            executorch,
            programs: BTreeMap::new(),
            answers: BTreeMap::new(),
            cells: BTreeMap::new(),
        }
    }

    /// Sets a cell.
    pub(crate) fn insert(&mut self, key: &Key, answer: Answer) {
        let text = json(&answer);
        let name = blake3::hash(text.as_bytes()).to_hex()[..8].to_owned();
        self.answers.insert(name.clone(), answer);
        self.cells.insert(key.to_string(), name);
    }

    /// The answer of a cell; `None` if the matrix does not have it.
    #[must_use]
    pub fn cell(&self, key: &Key) -> Option<&Answer> {
        self.answers.get(self.cells.get(&key.to_string())?)
    }

    /// What the export of a cell's program gave.
    #[must_use]
    pub fn export(&self, key: &Key) -> Option<&Export> {
        self.programs.get(&key.program_name())
    }

    /// How many cells are the answer of a run.
    #[must_use]
    pub fn measured(&self) -> usize {
        let ran = |name: &&String| {
            matches!(
                self.answers.get(*name),
                Some(Answer::Measured { .. } | Answer::DependsOnTheDriver { .. })
            )
        };
        self.cells.values().filter(ran).count()
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Malformed`] for another version or a cell without an answer.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let matrix: Self = read(path, VERSION, |matrix: &Self| matrix.version)?;
        let orphan = matrix
            .cells
            .iter()
            .find(|(_, name)| !matrix.answers.contains_key(*name));
        match orphan {
            Some((cell, name)) => Err(Error::Malformed {
                path: path.to_owned(),
                what: format!("`{cell}`: no answer `{name}`"),
            }),
            None => Ok(matrix),
        }
    }

    /// Writes a file: a temporary one beside it, then the rename.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write(path.as_ref(), &self.to_json())
    }

    /// The file's text: one entry a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!(
            "{{\n\"version\": {},\n\"executorch\": {},\n{},\n{},\n{}\n}}\n",
            self.version,
            json(&self.executorch),
            table("programs", &self.programs),
            table("answers", &self.answers),
            table("cells", &self.cells)
        )
    }

    /// What differs between this, the committed matrix, and `measured`, among the cells that `of_interest` accepts: the
    /// programs first, then the cells.
    #[must_use]
    pub fn differences(
        &self,
        measured: &Self,
        of_interest: impl Fn(&Key) -> bool,
    ) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut compare = |name: String, committed: Option<String>, measured: Option<String>| {
            if committed != measured {
                found.push(Difference {
                    name,
                    committed,
                    measured,
                });
            }
        };
        compare(
            "executorch".to_owned(),
            Some(self.executorch.clone()),
            Some(measured.executorch.clone()),
        );
        let keys: Vec<Key> = Key::all().filter(|key| of_interest(key)).collect();
        let mut last = String::new();
        for key in &keys {
            let name = key.program_name();
            if name != last {
                compare(
                    name.clone(),
                    self.export(key).map(json),
                    measured.export(key).map(json),
                );
                last = name;
            }
        }
        for key in &keys {
            compare(
                key.to_string(),
                self.cell(key).map(json),
                measured.cell(key).map(json),
            );
        }
        for (name, answer) in &self.cells {
            if name.parse::<Key>().is_err() {
                compare(name.clone(), Some(answer.clone()), None);
            }
        }
        found
    }
}

/// Reads a file of the version that this program writes.
///
/// # Errors
///
/// [`Error::Io`], and [`Error::Malformed`], also for another version.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    version: u32,
    version_of: impl Fn(&T) -> u32,
) -> Result<T, Error> {
    let text = fs::read(path).map_err(Error::io(path))?;
    let malformed = |what: String| Error::Malformed {
        path: path.to_owned(),
        what,
    };
    let file: T = serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
    match version_of(&file) {
        found if found == version => Ok(file),
        found => Err(malformed(format!(
            "its version is {found}, this program reads {version}"
        ))),
    }
}

/// A field of a file: its entries, one a line.
pub(crate) fn table<T: Serialize>(name: &str, entries: &BTreeMap<String, T>) -> String {
    let lines: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("{}: {}", json(key), json(value)))
        .collect();
    format!("{}: {{\n{}\n}}", json(name), lines.join(",\n"))
}

/// Writes a file: a temporary one beside it, then the rename.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(Error::io(folder))?;
    file.write_all(text.as_bytes()).map_err(Error::io(path))?;
    file.persist(path)
        .map_err(|error| Error::io(path)(error.error))?;
    Ok(())
}

/// What these types hold is text, numbers and truth values, which are JSON.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(crate) fn no_copies(copies: &Copies) -> bool {
    *copies == Copies::default()
}
