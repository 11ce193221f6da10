//! What is wrong with a program for a given caller, before it is run.
//!
//! [`check()`] reads nothing but a [`Program`](crate::Program) and answers with [`Finding`]s. What a runtime will say to each is in it as
//! an [`Answer`], with the version that said so and with who said it: ExecuTorch's runtime, its CUDA delegate (read in
//! its source), or nobody yet.

mod check;
mod expect;
mod inputs;
mod memory;
mod needs;
mod outputs;
mod rules;
mod whole;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use check::check;
pub use expect::Expectation;
pub use rules::{RULES, Rule};

use crate::DataFile;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What a caller must know.
    Note,
    /// Probably not what was meant.
    Warning,
    /// A call fails.
    Error,
}

/// Who calls the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caller {
    /// `executorch.runtime` or the older Python bindings.
    Python,
    /// `executorch::extension::Module`.
    Cpp,
    /// The crate `executorch` 0.13, which has no `set_output`.
    Rust,
    /// The crate `executorch` with `executorch-device` beside it, which has.
    RustDevice,
}

impl Caller {
    /// Every caller there is.
    pub const ALL: [Self; 4] = [Self::Python, Self::Cpp, Self::Rust, Self::RustDevice];

    /// The name that the command takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Cpp => "cpp",
            Self::Rust => "rust",
            Self::RustDevice => "rust-device",
        }
    }

    /// Whether it can hand an output's memory to the runtime (`set_output`).
    pub fn can_set_outputs(self) -> bool {
        matches!(self, Self::Cpp | Self::RustDevice)
    }

    /// How a person calls it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Cpp => "C++",
            Self::Rust => "Rust (executorch 0.13)",
            Self::RustDevice => "Rust with executorch-device",
        }
    }
}

impl FromStr for Caller {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|caller| caller.name() == text)
            .ok_or_else(|| {
                format!("`{text}` is no caller: expected python, cpp, rust or rust-device")
            })
    }
}

/// A version of ExecuTorch's runtime, as far as answers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Runtime {
    /// The 1 of 1.5.1.
    pub major: u32,
    /// The 5 of 1.5.1.
    pub minor: u32,
    /// The last 1 of 1.5.1; 0 if it was not given.
    pub patch: u32,
}

impl Runtime {
    /// The version whose answers were measured.
    pub const MEASURED: Self = Self {
        major: 1,
        minor: 5,
        patch: 1,
    };
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no version of ExecuTorch: expected one like {}",
                Self::MEASURED
            )
        };
        let mut parts = text
            .split('.')
            .map(|part| part.parse::<u32>().map_err(|_| wrong()));
        let mut next = || parts.next().transpose();
        let (major, minor, patch) = (
            next()?.ok_or_else(wrong)?,
            next()?.ok_or_else(wrong)?,
            next()?.unwrap_or(0),
        );
        if parts.next().is_some() {
            Err(wrong())
        } else {
            Ok(Self {
                major,
                minor,
                patch,
            })
        }
    }
}

impl From<Runtime> for String {
    fn from(runtime: Runtime) -> Self {
        runtime.to_string()
    }
}

impl TryFrom<String> for Runtime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// What is known of the data files that the program is loaded with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Nothing.
    #[default]
    Unsaid,
    /// These. No files: it is loaded without.
    Files(Vec<DataFile>),
}

/// What the program is held against.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Who calls it; `None`: nobody in particular, so that only what fails for every caller is an error.
    pub caller: Option<Caller>,
    /// Which runtime loads it.
    pub runtime: Runtime,
    /// With which data files.
    pub data: Data,
    /// What it was meant to be.
    pub expect: Vec<Expectation>,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            caller: None,
            runtime: Runtime::MEASURED,
            data: Data::Unsaid,
            expect: Vec::new(),
        }
    }
}

/// Something to say about a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// How bad it is for the caller asked about.
    pub level: Level,
    /// The method; `None`: the whole file.
    pub method: Option<String>,
    /// What it is about, in the order of the method's inputs, outputs, and other values.
    pub subjects: Vec<Subject>,
    /// What is the matter, in one sentence.
    pub message: String,
    /// What the runtime will say.
    pub answer: Option<Answer>,
    /// The export setting to change, or what the caller must do.
    pub help: Option<String>,
    /// More that follows from it.
    pub notes: Vec<String>,
    /// What the guide says about the rule: a page and a heading on it, from the guide's root.
    pub page: String,
}

/// A part of a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// What kind of part.
    pub part: Part,
    /// Its position among the inputs, outputs, arenas or steps; for another value its index in the value table.
    pub index: u32,
    /// Its name, where the file has one.
    pub name: Option<String>,
}

/// A kind of part of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// An input.
    Input,
    /// An output.
    Output,
    /// Any other value.
    Value,
    /// An arena.
    Arena,
    /// A step of the chain.
    Step,
    /// A delegate.
    Delegate,
}

/// ``input 0 `mask` ``.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Input => "input",
            Part::Output => "output",
            Part::Value => "value",
            Part::Arena => "arena",
            Part::Step => "step",
            Part::Delegate => "delegate",
        };
        write!(f, "{part} {}", self.index)?;
        self.name.iter().try_for_each(|name| write!(f, " `{name}`"))
    }
}

/// What a runtime says when the program meets its caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The version that says it.
    pub runtime: Runtime,
    /// The call that fails: `load`, `set_input`, `set_output` or `execute`.
    pub at: String,
    /// ExecuTorch's error code; `None` where there is none, because the process ends.
    pub code: Option<u32>,
    /// The text in its log, without time and source line; empty if there is none.
    pub text: String,
    /// Who says it.
    pub origin: Origin,
}

/// Who says what an [`Answer`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// ExecuTorch's runtime: measured.
    Runtime,
    /// ExecuTorch's CUDA delegate: read in its source, not run.
    CudaSource,
    /// Nobody yet: what happens depends on the driver and was not measured.
    Unverified,
}
