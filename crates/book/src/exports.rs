//! Makes the programs of all listings, with one Python process for all that the cache does not have.

use std::collections::BTreeMap;

use export::{Error, Exporter, Request};

use crate::failure::{Failure, Failures, Kind};
use crate::listing::Listing;
use crate::workspace::Workspace;

/// The exporter of `workspace`, with the settings that its listings will have from the same environment.
pub(crate) fn exporter(workspace: &Workspace) -> Result<Exporter, Failures> {
    Exporter::from_environment_in(workspace.root()).map_err(|error| {
        let (id, expected) = match &error {
            Error::Setting {
                variable, expected, ..
            } => (*variable, *expected),
            _ => ("exports", "settings of the exporter"),
        };
        Failure::new(
            Kind::RunFails,
            id,
            "listings",
            1,
            expected,
            error.to_string(),
        )
        .into()
    })
}

/// Exports everything that the `export.py` of `listings` define. Gives back what failed, by listing.
pub(crate) fn make<'a>(
    exporter: &Exporter,
    listings: impl Iterator<Item = &'a Listing>,
) -> BTreeMap<String, Vec<Failure>> {
    let mut failures = BTreeMap::<String, Vec<Failure>>::new();
    let mut requests = Vec::new();
    let mut asked_by = Vec::new();
    for listing in listings.filter(|listing| listing.exports) {
        match exporter.programs(&listing.name) {
            Ok(programs) => {
                asked_by.extend(programs.iter().map(|program| (listing, program.clone())));
                requests.extend(programs.into_iter().map(Request::from));
            }
            Err(error) => {
                let failure = failure(listing, &listing.name, &error);
                failures
                    .entry(listing.name.clone())
                    .or_default()
                    .push(failure);
            }
        }
    }
    if requests.is_empty() {
        return failures;
    }
    match exporter.all(&requests) {
        Ok(results) => {
            for ((listing, program), result) in asked_by.into_iter().zip(results) {
                if let Err(error) = result {
                    let failure = failure(listing, &program, &error);
                    failures
                        .entry(listing.name.clone())
                        .or_default()
                        .push(failure);
                }
            }
        }
        Err(error) => {
            // One cause, one failure; every listing that exports has it.
            for (listing, _) in asked_by {
                let failure = Failure {
                    file: "listings".to_owned(),
                    ..failure(listing, "exports", &error)
                };
                failures
                    .entry(listing.name.clone())
                    .or_default()
                    .push(failure.repeated_by("cargo xtask build"));
            }
        }
    }
    failures
}

fn failure(listing: &Listing, id: &str, error: &Error) -> Failure {
    let (kind, seen, command) = match error {
        Error::NotSetUp(_) => (Kind::NotSetUp, error.to_string(), "cargo xtask setup"),
        Error::Python { traceback, .. } => (Kind::ExportFails, traceback.clone(), ""),
        other => (Kind::ExportFails, other.to_string(), ""),
    };
    let failure = Failure::new(
        kind,
        id,
        listing.file("export.py"),
        1,
        "a program that exports",
        seen,
    );
    if command.is_empty() {
        failure.of_listing(&listing.name)
    } else {
        failure.repeated_by(command)
    }
}
