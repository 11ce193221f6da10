//! The command's own help, its schemas, and what it reads of a file.
//!
//! $ pte --help

use std::cell::Cell;
use std::error::Error;
use std::io;

use listings::Shell;
use proof::Origin::Library;
use proof::{claim, fact};
use pte::{Limits, Program, ReadAt};
use serde_json::Value;

/// A program at the front of ten gigabytes, with a count of the bytes that were asked for.
struct Large {
    program: Vec<u8>,
    read: Cell<u64>,
}

impl ReadAt for Large {
    fn len(&self) -> u64 {
        10_000_000_000
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.set(self.read.get() + buffer.len() as u64);
        self.program.as_slice().read_at(offset, buffer)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let weights = export::pte("first-device-program/device")?;
    let shell = Shell::with(&[(&weights.pte, "model.pte")])?;
    print!("{}", shell.types("pte --help").stdout);

    let document = |line: &str| {
        serde_json::from_str::<Value>(&shell.types(line).stdout)
            .map_err(|error| format!("{line}: {error}"))
    };
    let documents = [
        document("pte show --json model.pte")?,
        document("pte check --json model.pte")?,
        document("pte diff --json model.pte model.pte")?,
    ];
    let schemas = [
        document("pte schema show")?,
        document("pte schema check")?,
        document("pte schema diff")?,
    ];
    let version = &documents[0]["version"];
    fact(Library, "pte-help.schema-version", version);
    fact(
        Library,
        "pte-help.schema-dialect",
        schemas[0]["$schema"].as_str().ok_or("no dialect")?,
    );
    claim(
        Library,
        "pte.versioned",
        "Every document has the field `version`, and its schema requires it.",
        documents.iter().all(|it| it["version"] == *version)
            && schemas.iter().all(|schema| {
                let required = schema["required"].as_array();
                required.is_some_and(|names| names.contains(&"version".into()))
            }),
    );

    let large = Large {
        program: std::fs::read(&weights.pte)?,
        read: Cell::new(0),
    };
    let read = Program::read(&large, Limits::DEFAULT)?;
    let names = read.methods[0].delegates[0].processed.nbytes;
    claim(
        Library,
        "pte.cost",
        "Of a file of 10 GB it reads the first 64 bytes, the program part and the delegate's list of its data, and nothing else.",
        read.methods == Program::open(&weights.pte)?.methods
            && large.read.get() == 64 + read.layout.program_bytes + names,
    );
    Ok(())
}
