//! What can go wrong besides a cell that differs.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no matrix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A word of a cell's name that means nothing.
    #[error("`{word}`: expected {}", known.join(", "))]
    Word {
        /// The word.
        word: String,
        /// What may stand there.
        known: &'static [&'static str],
    },
    /// A name without five words.
    #[error(
        "`{0}`: expected a cell as PROGRAM SETTINGS CALLER INPUTS OUTPUT, such as `static h1d1_i0o0_n1 cpp device-tensor set-output-device`"
    )]
    Key(String),
    /// A file.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that is no matrix.
    #[error("{}: {what}; make it anew with `cargo run -p matrix -- measure`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// An export that failed, other than by the exporter's refusal of a configuration.
    #[error(transparent)]
    Export(#[from] export::Error),
    /// A program that the exporter made and we cannot read.
    #[error(transparent)]
    Program(#[from] pte::Error),
    /// A case that could not be measured.
    #[error("{case}: not measured: {why}")]
    Case {
        /// The case.
        case: String,
        /// Why.
        why: String,
    },
}

impl Error {
    /// For `map_err`: names the path that an I/O error is about.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { path, source }
    }
}
