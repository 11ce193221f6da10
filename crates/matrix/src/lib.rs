#![doc = include_str!("../README.md")]

mod axes;
pub mod bite;
mod case;
mod error;
mod judge;
mod observe;
mod process;
pub mod releases;
mod schema;
mod sweep;
mod tensors;

use std::path::PathBuf;

pub use axes::{Caller, Inputs, Key, Output, Policy, Program, Settings};
pub use case::run as run_case;
pub use error::Error;
pub use schema::{
    Answer, Call, Difference, Execution, Export, Line, Matrix, Outcome, Owner, Place, Plan, Read,
    Run, Side, VERSION, Written,
};
pub use sweep::Sweep;

/// The committed matrix.
#[must_use]
pub fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("matrix.json")
}
