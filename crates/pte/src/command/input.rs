//! Programs from files, and from standard input where a file is called `-`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{Error, Files, Limits, Program};

/// A program, or why there is none, with the name that it was asked for by.
pub(crate) struct Input {
    pub name: String,
    pub program: Result<Program, Error>,
}

impl Input {
    pub(crate) fn read(files: &dyn Files, path: &Path) -> Self {
        if path.as_os_str() == OsStr::new("-") {
            let path = PathBuf::from("standard input");
            let program = Program::from_stream(std::io::stdin().lock(), Limits::DEFAULT);
            let program = program.map_err(|error| Error::File {
                path,
                error: Box::new(error),
            });
            return Self {
                name: "-".into(),
                program,
            };
        }
        Self {
            name: path.display().to_string(),
            program: Program::open_from(files, path, Limits::DEFAULT),
        }
    }
}
