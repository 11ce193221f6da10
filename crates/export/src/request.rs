//! What can be asked for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ExecutorchBackendConfig;

/// A program to export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// A program that a listing's `export.py` defines, as `listing/program`.
    Recipe(String),
    /// A model of our own, with any configuration.
    Config {
        /// The model and its example inputs.
        model: Model,
        /// Handed to `to_executorch` as it is.
        config: ExecutorchBackendConfig,
    },
}

/// A model that can be exported with any configuration, whole on the device unless it says otherwise (`python/guide_export/models.py`). Weights and inputs are small
/// multiples of 1/8, so that float32 results are exact in any order of summation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// `a + b`, two 8×8 float32 (256 bytes each).
    Add,
    /// [`Add`](Self::Add), exported for 2 to 8 rows; its eager call has 8.
    AddDynamic,
    /// Two methods: `encode` is `a + b`, `decode` is `a + b + b`, each with the inputs of [`Add`](Self::Add).
    TwoMethods,
    /// Linear 8 → 16, ReLU, linear 16 → 4 on one 8×8 float32; its weights lie in `aoti_cuda_blob.ptd`.
    Mlp,
    /// `a + a`: a placeholder that the delegate uses twice.
    AddItself,
    /// `a + b`, two 0×8 float32.
    AddEmpty,
    /// [`Add`](Self::Add), for the second GPU.
    AddSecondDevice,
    /// `a + b`, and `c * c`, which stays on the CPU.
    Apart,
    /// `a + b`, and ReLU of `c`, which XNNPACK's partitioner takes first.
    XnnpackApart,
    /// ReLU of `a + b`, `+ c`: two partitions, with XNNPACK's delegate on the CPU between them.
    XnnpackBetween,
    /// `a + b`, and `a * a`, which stays on the CPU: a placeholder with two users.
    InputUsedTwice,
    /// `a + b`, and the square of that, which stays on the CPU.
    OutputUsedTwice,
    /// `(a + b) * c`: two delegates, one after the other.
    InARow,
    /// [`InARow`](Self::InARow), the second delegate on the second GPU.
    TwoDevices,
    /// `(a + b) * (a + b) + c`: two delegates, with the multiplication on the CPU between them.
    CpuBetween,
    /// `a + b`, and `a` itself.
    ReturnsInput,
    /// `a + b`, twice.
    ReturnsTwice,
    /// `a + weight`, one 8×8 float32, with a parameter that the delegate owns.
    Weight,
    /// [`Weight`](Self::Weight), with a parameter that the delegate is given like an input: its partitioner tags no constants.
    WeightNotOwned,
    /// Adds `a` to a buffer and returns the sum `+ a`: a mutable buffer that the delegate owns.
    State,
    /// [`State`](Self::State), with a buffer that the delegate is given like an input.
    StateNotOwned,
}

impl Model {
    /// Its name in Python and in file names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::AddDynamic => "add_dynamic",
            Self::TwoMethods => "two_methods",
            Self::Mlp => "mlp",
            Self::AddItself => "add_itself",
            Self::AddEmpty => "add_empty",
            Self::AddSecondDevice => "add_second_device",
            Self::Apart => "apart",
            Self::XnnpackApart => "xnnpack_apart",
            Self::XnnpackBetween => "xnnpack_between",
            Self::InputUsedTwice => "input_used_twice",
            Self::OutputUsedTwice => "output_used_twice",
            Self::InARow => "in_a_row",
            Self::TwoDevices => "two_devices",
            Self::CpuBetween => "cpu_between",
            Self::ReturnsInput => "returns_input",
            Self::ReturnsTwice => "returns_twice",
            Self::Weight => "weight",
            Self::WeightNotOwned => "weight_not_owned",
            Self::State => "state",
            Self::StateNotOwned => "state_not_owned",
        }
    }
}

impl From<&str> for Request {
    fn from(recipe: &str) -> Self {
        Self::Recipe(recipe.to_owned())
    }
}

impl From<String> for Request {
    fn from(recipe: String) -> Self {
        Self::Recipe(recipe)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recipe(name) => f.write_str(name),
            Self::Config { model, config } => {
                let config = serde_json::to_string(config).map_err(|_| fmt::Error)?;
                write!(f, "{} with {config}", model.name())
            }
        }
    }
}
