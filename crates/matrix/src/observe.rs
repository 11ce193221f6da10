//! What a caller says of one case, and how it is asked: the protocol between the sweep and the callers.
//!
//! A case is one line of words between tabs (see [`Case::to_line`]). The caller answers with one JSON object a line, an
//! [`Observation`] after each call, written before the next call is made: what ends the process is the call that has none.
//! A caller judges nothing.

use std::path::{Path, PathBuf};

use device::Report;
use serde::{Deserialize, Serialize};

use crate::schema::Call;
use crate::{Inputs, Key, Output, Policy};

/// Columns of every tensor.
pub const COLUMNS: usize = 8;

/// One case: a cell under one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The cell.
    pub key: Key,
    /// What copies do with a pointer on the wrong side.
    pub policy: Policy,
    /// The program.
    pub pte: PathBuf,
    /// A program of the same shapes that takes host tensors and leaves its result on the device: how a caller without
    /// device memory of its own gets some.
    pub maker: PathBuf,
    /// The values of both inputs of both executions, one after the other: float32 in the machine's order.
    pub values: PathBuf,
}

impl Case {
    /// The line: program, method, inputs, output, policy, caller, rows of the first and the second execution, values,
    /// maker.
    #[must_use]
    pub fn to_line(&self) -> String {
        let [first, second] = self.key.program.rows();
        let path = |path: &Path| path.display().to_string();
        [
            path(&self.pte),
            self.key.program.method().to_owned(),
            self.key.inputs.to_string(),
            self.key.output.to_string(),
            self.policy.to_string(),
            self.key.caller.to_string(),
            first.to_string(),
            second.to_string(),
            path(&self.values),
            path(&self.maker),
        ]
        .join("\t")
    }
}

/// A case as a caller in Rust reads it.
pub(crate) struct Asked {
    pub(crate) pte: PathBuf,
    pub(crate) method: String,
    pub(crate) inputs: Inputs,
    pub(crate) output: Output,
    pub(crate) policy: Policy,
    pub(crate) public: bool,
    pub(crate) rows: [usize; 2],
    pub(crate) values: PathBuf,
}

impl Asked {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
        let [
            pte,
            method,
            inputs,
            output,
            policy,
            caller,
            first,
            second,
            values,
            _,
        ] = words[..]
        else {
            return None;
        };
        Some(Self {
            pte: pte.into(),
            method: method.to_owned(),
            inputs: inputs.parse().ok()?,
            output: output.parse().ok()?,
            policy: policy.parse().ok()?,
            public: caller.parse::<crate::Caller>().ok()? == crate::Caller::RustPublic,
            rows: [first.parse().ok()?, second.parse().ok()?],
            values: values.into(),
        })
    }
}

/// What a caller saw of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Which call.
    pub call: Call,
    /// How it failed; `None`: it did not.
    pub failure: Option<Failure>,
    /// The addresses that the caller passed: of the inputs, or of the output's memory.
    pub given: Vec<usize>,
    /// What the runtime and the device did meanwhile.
    pub report: Report,
    /// The result.
    pub result: Option<Tensor>,
}

/// An error as the caller gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failure {
    /// ExecuTorch's number.
    pub code: Option<u32>,
    /// An exception: class and text.
    pub exception: Option<String>,
    /// The text of a refusal by the crate `executorch-device` itself.
    pub refusal: Option<String>,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// Its address.
    pub data: usize,
    /// Its sizes.
    pub sizes: Vec<usize>,
    /// Whether the address is in a live block of the device.
    pub on_device: bool,
    /// The bits of its elements; `None` if they cannot be read where the tensor says they are.
    pub bits: Option<Vec<u32>>,
}
