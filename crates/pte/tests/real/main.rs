//! `pte` on programs of ExecuTorch's own exporter, held against that exporter and against ExecuTorch's own runtime.

mod answers;
mod command;
mod data;
mod edited;
#[path = "../../src/generated/mod.rs"]
mod flat;
mod generated;
mod hostile;
mod machines;
mod matrix;
mod programs;
mod rules;
mod streams;
mod truth;
