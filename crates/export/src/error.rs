//! What can go wrong on the way to a program.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why there is no program. Displays as one line; [`Error::Python`] keeps the whole traceback as well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The Python environment with ExecuTorch is not set up.
    #[error("{}: not found; run `cargo xtask setup`", .0.display())]
    NotSetUp(PathBuf),

    /// A request that is no `listing/program`.
    #[error("`{0}`: expected a program as `listing/program`, such as `pairing-rule/paired`")]
    Name(String),

    /// No such listing, or one without an `export.py`.
    #[error("{}: no such file; listings that export are {}", path.display(), quoted(known))]
    NoListing {
        /// The `export.py` that was looked for.
        path: PathBuf,
        /// The listings that have one.
        known: Vec<String>,
    },

    /// The listing's `export.py` defines no such program.
    #[error("{}: `programs` has no `{program}`, only {}", path.display(), quoted(known))]
    NoProgram {
        /// The listing's `export.py`.
        path: PathBuf,
        /// The program that was asked for.
        program: String,
        /// The programs that it defines.
        known: Vec<String>,
    },

    /// An `export.py` whose programs cannot be read off it.
    #[error("{}: expected the line `programs = {{`, then `\"name\": function,` a line, then `}}`", .0.display())]
    NoPrograms(PathBuf),

    /// An environment variable with a value that means nothing.
    #[error("{variable}=`{value}`: expected {expected}")]
    Setting {
        /// The variable's name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },

    /// Python raised: ExecuTorch's exporter, PyTorch, or the recipe itself.
    #[error("{program}: {kind}: {message}")]
    Python {
        /// The program that was being exported.
        program: String,
        /// The exception's class, such as `ValueError`.
        kind: String,
        /// `str(exception)`, whole.
        message: String,
        /// Python's traceback, ending in the same kind and message.
        traceback: String,
    },

    /// The exporting process ended without an answer.
    #[error("{program}: the exporting process ended without an answer ({status}); its last output: {}", last_line(.output))]
    Died {
        /// The program that was being exported, or `starting Python`.
        program: String,
        /// Exit code or signal.
        status: String,
        /// The end of what it wrote to standard error.
        output: String,
    },

    /// The exporting process gave no answer in time and was killed, with its process group.
    #[error("{program}: no answer in {} s, so the exporting process was killed; {}=<seconds> allows more", limit.as_secs(), crate::TIMEOUT)]
    TimedOut {
        /// The program that was being exported, or `starting Python`.
        program: String,
        /// The limit that it ran into.
        limit: Duration,
    },

    /// A file of the cache, of an installation or of a request.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },

    /// The file with eager PyTorch's results is not what our exporter writes.
    #[error("{}: {what}", path.display())]
    Eager {
        /// The `.eager.safetensors` file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },

    /// A tensor read as a type that it is not.
    #[error("expected a float32 tensor, got {0}")]
    NotFloat32(String),
}

impl Error {
    /// For `map_err`: names the path that an I/O error is about.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { path, source }
    }
}

fn quoted(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn last_line(text: &str) -> &str {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("nothing")
}
