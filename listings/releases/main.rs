//! What other releases of ExecuTorch do otherwise, as they were measured beside this one.

use std::error::Error;

use matrix::bite::{self, Bite};
use matrix::releases::{Releases, against, committed};
use matrix::{Matrix, committed as matrix_committed};
use proof::Origin::{Exporter, StandIn};
use proof::{claim, fact, table};

fn main() -> Result<(), Box<dyn Error>> {
    let releases = Releases::read(committed())?.releases;
    let (matrix, bite) = (
        Matrix::read(matrix_committed())?,
        Bite::read(bite::committed())?,
    );
    let files = against()?;
    let current = releases
        .values()
        .filter(|compared| compared.against == files)
        .count();
    println!(
        "releases compared with what this build has: {current} of {}",
        releases.len()
    );
    claim(
        StandIn,
        "releases.compared",
        "Each release below was held against the very tables that this build has, entry by entry.",
        !releases.is_empty() && current == releases.len(),
    );

    // ANCHOR: rows
    let mut rows = Vec::new();
    for (release, compared) in &releases {
        let differs = |is_of: &dyn Fn(&str) -> bool| {
            compared.changed.keys().filter(|name| is_of(name)).count()
        };
        let exports = differs(&|name| {
            matrix.programs.contains_key(name) || bite.programs.contains_key(name)
        });
        let cells = differs(&|name| matrix.cells.contains_key(name));
        let cases = differs(&|name| bite.cases.contains_key(name));
        let of = |different: usize, all: usize| match all {
            0 => "not run".to_owned(),
            _ => format!("{different} of {all}"),
        };
        rows.push(vec![
            release.clone(),
            of(exports, compared.programs),
            of(cells, compared.cells),
            of(cases, compared.cases),
        ]);
        println!("{release}: {} entries differ", compared.changed.len());
    }
    // ANCHOR_END: rows
    let header = [
        "release",
        "exports that differ",
        "cells that differ",
        "cases that differ",
    ];
    table(StandIn, "releases.differences", &header, rows);

    let first = releases.keys().next().ok_or("no release was compared")?;
    fact(Exporter, "releases.first", first);
    let names = matrix.programs.keys().chain(bite.programs.keys());
    fact(Exporter, "releases.exports", names.count());
    claim(
        Exporter,
        "releases.same-plans",
        "Every one of these exports plans the same arenas, inputs, outputs and copies, or is refused with the same text.",
        releases.values().all(|compared| {
            let of_exports = |name: &&String| {
                matrix.programs.contains_key(*name)
                    || bite.programs.contains_key(*name)
            };
            compared.programs > 0
                && !compared.changed.keys().any(|name| of_exports(&name))
        }),
    );
    claim(
        StandIn,
        "releases.same-answers",
        "Where the release has the runtime as a library, every cell and case gives the same answer.",
        releases.values().all(|compared| {
            let of_runs = |name: &&String| {
                matrix.cells.contains_key(*name) || bite.cases.contains_key(*name)
            };
            !compared.changed.keys().any(|name| of_runs(&name))
        }) && releases.values().any(|compared| {
            compared.cells == matrix.cells.len()
                && compared.cases == bite.cases.len()
        }),
    );
    Ok(())
}
