//! A program at a glance, and what a new export of it changed.
//!
//! $ pte show model.pte

use std::error::Error;

use listings::Shell;
use proof::Origin::Library;
use proof::claim;
use pte::command::{FINE, FOUND};

fn main() -> Result<(), Box<dyn Error>> {
    let new = export::pte("planned-output/planned_output")?;
    let old = export::pte("choose-a-recipe/device_to_host")?;
    let shell = Shell::with(&[(&new.pte, "model.pte"), (&old.pte, "old.pte")])?;
    print!("{}", shell.types("pte show model.pte").stdout);
    println!("$ pte diff old.pte model.pte");
    let diff = shell.types("pte diff old.pte model.pte");
    print!("{}", diff.stdout);

    claim(
        Library,
        "pte.diff",
        "`pte diff` exits with 1 when a caller of the old program must change, and with 0 when none must.",
        diff.code == FOUND && shell.types("pte diff old.pte old.pte").code == FINE,
    );
    Ok(())
}
