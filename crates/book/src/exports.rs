//! Makes the programs of all listings, with one Python process for all that the cache does not have.

use std::collections::BTreeMap;
use std::path::PathBuf;

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

/// What the `export.py` of the listings gave, by folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exports {
    /// What failed.
    pub(crate) failed: BTreeMap<String, Vec<Failure>>,
    /// The exported files.
    pub(crate) files: BTreeMap<String, Vec<PathBuf>>,
}

/// Exports everything that the `export.py` of `listings` define.
pub(crate) fn make<'a>(
    exporter: &Exporter,
    listings: impl Iterator<Item = &'a Listing>,
) -> Exports {
    let mut exports = Exports::default();
    let mut requests = Vec::new();
    let mut asked_by = Vec::new();
    let by_folder: BTreeMap<&str, &Listing> = listings
        .filter(|listing| listing.exports)
        .map(|listing| (listing.folder.as_str(), listing))
        .collect();
    for (folder, listing) in by_folder {
        match exporter.programs(folder) {
            Ok(programs) => {
                asked_by.extend(programs.iter().map(|program| (listing, program.clone())));
                requests.extend(programs.into_iter().map(Request::from));
            }
            Err(error) => exports.fail(listing, failure(listing, folder, &error)),
        }
    }
    if requests.is_empty() {
        return exports;
    }
    match exporter.all(&requests) {
        Ok(results) => {
            for ((listing, program), result) in asked_by.into_iter().zip(results) {
                match result {
                    Ok(exported) => {
                        let files = exports.files.entry(listing.folder.clone()).or_default();
                        files.push(exported.pte);
                        files.extend(exported.ptd);
                    }
                    Err(error) => exports.fail(listing, failure(listing, &program, &error)),
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
                exports.fail(listing, failure.repeated_by("cargo xtask build"));
            }
        }
    }
    exports
}

impl Exports {
    fn fail(&mut self, listing: &Listing, failure: Failure) {
        let failed = self.failed.entry(listing.folder.clone()).or_default();
        failed.push(failure);
    }
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
        failure.of_listing(&listing.folder)
    } else {
        failure.repeated_by(command)
    }
}
