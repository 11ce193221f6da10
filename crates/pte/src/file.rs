//! Programs in files and streams of the operating system.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, Found};
use crate::{DataFile, Limits, Program, ReadAt};

/// Where files are opened by name. The operating system's are [`System`]; a web page brings those that its reader chose.
pub trait Files {
    /// Opens a regular file. `None`: what has this name is something else.
    ///
    /// # Errors
    /// Whatever the operating system answers, or what stands in its place.
    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn ReadAt + '_>>>;
}

/// The files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Files for System {
    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn ReadAt + '_>>> {
        let file = OpenFile::open(path)?;
        Ok(file.map(|file| Box::new(file) as Box<dyn ReadAt>))
    }
}

/// A regular file, read by position: never mapped, because a mapped file that somebody shortens kills its reader.
struct OpenFile {
    file: File,
    len: u64,
}

impl ReadAt for OpenFile {
    fn len(&self) -> u64 {
        self.len
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }

    /// WebAssembly: where there are files at all, nobody else reads through this handle.
    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};

        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }
}

impl OpenFile {
    /// Opens a regular file; anything else is `None`.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        // Asked before opening too: opening a pipe would wait for its other end.
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then_some(Self {
            file,
            len: metadata.len(),
        }))
    }
}

/// The error, with the file's name.
fn in_file(path: &Path, error: impl Into<Error>) -> Error {
    Error::File {
        path: path.to_owned(),
        error: Box::new(error.into()),
    }
}

impl Program {
    /// Reads the program in this file, within [`Limits::DEFAULT`].
    ///
    /// # Errors
    /// [`Error::File`] with the path and the reason.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_within(path, Limits::DEFAULT)
    }

    /// Reads the program in this file.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the reason.
    pub fn open_within(path: impl AsRef<Path>, limits: Limits) -> Result<Self, Error> {
        Self::open_from(&System, path.as_ref(), limits)
    }

    /// Reads the program in a file of these.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the reason.
    pub fn open_from(files: &dyn Files, path: &Path, limits: Limits) -> Result<Self, Error> {
        let file = files.open(path).map_err(|error| in_file(path, error))?;
        let file = file.ok_or_else(|| in_file(path, Error::NotAProgram(Found::NoFile)))?;
        Self::read(&*file, limits).map_err(|error| in_file(path, error))
    }
}

impl DataFile {
    /// Reads the table of this data file, within [`Limits::DEFAULT`].
    ///
    /// # Errors
    /// [`Error::File`] with the path and the reason.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_from(&System, path.as_ref(), Limits::DEFAULT)
    }

    /// Reads the table of a data file of these.
    ///
    /// # Errors
    /// [`Error::File`] with the path and the reason.
    pub fn open_from(files: &dyn Files, path: &Path, limits: Limits) -> Result<Self, Error> {
        let file = files.open(path).map_err(|error| in_file(path, error))?;
        let file = file.ok_or_else(|| in_file(path, Error::NotData(Found::NoFile)))?;
        Self::read(&*file, limits).map_err(|error| in_file(path, error))
    }
}
