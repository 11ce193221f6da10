//! `pte diff`.

use crate::Files;
use crate::diff::{self, Change};
use serde::Serialize;

use super::args::Diff;
use super::describe::{clean, table};
use super::input::Input;
use super::{FINE, FOUND, JSON_VERSION, Outcome, json};

/// What `pte diff --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
struct Changed {
    /// The version of this document: 1.
    version: u32,
    /// The old file.
    old: String,
    /// The new file.
    new: String,
    /// Whether a caller of the old program must change.
    contract: bool,
    /// What changed.
    changes: Vec<Change>,
}

/// The JSON Schema of what `--json` prints.
pub(crate) fn schema() -> String {
    json(&schemars::schema_for!(Changed))
}

pub(crate) fn run(diff: &Diff, files: &dyn Files) -> Outcome {
    let (old, new) = (Input::read(files, &diff.old), Input::read(files, &diff.new));
    let (old_program, new_program) = match (old.program, new.program) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            let mut outcome = Outcome::new(FINE, String::new());
            [old.err(), new.err()]
                .into_iter()
                .flatten()
                .for_each(|error| outcome.fail(error));
            return outcome;
        }
    };
    let changes = diff::diff(&old_program, &new_program);
    let contract = changes.iter().any(|change| change.contract);
    let text = if diff.json {
        json(&Changed {
            version: JSON_VERSION,
            old: old.name,
            new: new.name,
            contract,
            changes,
        })
    } else {
        text(&changes)
    };
    Outcome::new(if contract { FOUND } else { FINE }, text)
}

fn text(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "no change: a caller of one can call the other, at the same costs\n".into();
    }
    let mut text = String::new();
    let mut methods: Vec<&str> = changes
        .iter()
        .map(|change| change.method.as_str())
        .collect();
    methods.dedup();
    for method in methods {
        text.push_str(&format!("{}\n", clean(method)));
        let rows: Vec<[String; 2]> = changes
            .iter()
            .filter(|change| change.method == method)
            .map(row)
            .collect();
        text.push_str(&table(&rows, 2));
    }
    text.push_str(if changes.iter().any(|change| change.contract) {
        "\nthe contract changed: a caller of the old program must change\n"
    } else {
        "\nthe contract is the same; costs changed\n"
    });
    text
}

fn row(change: &Change) -> [String; 2] {
    let what = format!("{} {}", change.subject, change.property);
    let how = match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{} → {}", clean(old), clean(new)),
        (Some(old), None) => format!("{} no more", clean(old)),
        (None, Some(new)) => format!("new: {}", clean(new)),
        (None, None) => String::new(),
    };
    [
        what.trim_end().to_owned(),
        if change.contract {
            how
        } else {
            format!("{how} (costs)")
        },
    ]
}
