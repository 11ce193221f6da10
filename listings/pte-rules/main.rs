//! The rules of `pte check`, in the command's own words.
//!
//! $ pte explain

use std::error::Error;

use listings::Shell;
use proof::Origin::Library;
use proof::{claim, fact};
use pte::lint::RULES;

fn main() -> Result<(), Box<dyn Error>> {
    let shell = Shell::with(&[])?;
    print!("{}", shell.types("pte explain").stdout);

    let mut explained = true;
    for rule in RULES {
        let id = rule.id().to_lowercase();
        fact(Library, &format!("pte-rules.{id}.summary"), rule.summary());
        fact(Library, &format!("pte-rules.{id}.why"), rule.why());
        let text = shell.types(&format!("pte explain {rule}")).stdout;
        let all = [rule.summary(), rule.bad(), rule.good()];
        explained &= all.iter().all(|part| {
            let first = part.lines().next().unwrap_or_default();
            text.contains(first)
        });
    }
    claim(
        Library,
        "pte.explained",
        "`pte explain RULE` adds a recipe that the rule finds and one that it does not.",
        explained,
    );
    Ok(())
}
