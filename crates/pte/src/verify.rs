//! The verifier of FlatBuffers data, and how its answer and ours are told.

use flatbuffers::{InvalidFlatbuffer, VerifierOptions};

use crate::Error;

/// Verifies this data and answers its root.
pub(crate) fn verified<'b, T>(
    bytes: &'b [u8],
    root: impl FnOnce(&VerifierOptions, &'b [u8]) -> Result<T, InvalidFlatbuffer>,
) -> Result<T, Error> {
    root(&options(bytes.len()), bytes).map_err(|error| {
        // Behind the first line comes its trace, a line a table.
        let text = error.to_string();
        let line = text.lines().next().unwrap_or("invalid data");
        Error::Damaged(line.trim_end_matches('.').to_owned())
    })
}

/// Bounds that no exporter's file meets and that keep a small hostile one from standing for a large tree: tables that
/// are in the file once each take 8 bytes at least, and the verifier counts every byte a few times.
fn options(len: usize) -> VerifierOptions {
    VerifierOptions {
        max_depth: 16,
        max_tables: len / 8 + 1,
        max_apparent_size: len.saturating_mul(8).saturating_add(1024),
        ignore_missing_null_terminator: false,
    }
}

/// The error for what verifies and contradicts itself.
pub(crate) fn inconsistent(place: impl Into<String>, problem: impl Into<String>) -> Error {
    Error::Inconsistent {
        place: place.into(),
        problem: problem.into(),
    }
}

/// A name out of a file, short and in one line, for an error.
pub(crate) fn printable(name: &str) -> String {
    let mut text: String = name.chars().take(80).flat_map(char::escape_debug).collect();
    if name.chars().nth(80).is_some() {
        text.push('…');
    }
    text
}
