//! `bench`: what a build costs.

use crate::failure::Failure;
use crate::workspace::Workspace;

/// The command `bench`.
pub fn run(_workspace: &Workspace, _arguments: &[String]) -> Result<(), Failure> {
    Err(Failure::environment("x"))
}
