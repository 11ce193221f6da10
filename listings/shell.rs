//! The command `pte` on programs under the names that a reader gives them.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use pte::command::{self, Outcome};
use tempfile::TempDir;

/// A folder with files under readers' names, in which lines are typed: this process's current folder while it lives.
pub struct Shell {
    _folder: TempDir,
    before: PathBuf,
}

impl Shell {
    /// With a copy of each file under the name beside it.
    ///
    /// # Errors
    ///
    /// When a file cannot be copied.
    pub fn with(files: &[(&Path, &str)]) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        for (file, name) in files {
            let place = folder.path().join(name);
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::copy(file, place)?;
        }
        let before = env::current_dir()?;
        env::set_current_dir(folder.path())?;
        Ok(Self {
            _folder: folder,
            before,
        })
    }

    /// What the command answers to a line: words with spaces between them, the first of them `pte`.
    ///
    /// # Panics
    ///
    /// When the first is another.
    pub fn types(&self, line: &str) -> Outcome {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("pte"), "{line}");
        command::run(words.map(OsString::from))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The folder goes: nobody is to stand in it.
        let _ = env::set_current_dir(&self.before);
    }
}
