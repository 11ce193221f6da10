//! The command `pte` on files that a web page's reader chose.
//!
//! A worker asks with [`Asked`] as JSON and gets a [`pte::command::Outcome`] as JSON. The files stay in the browser: what
//! the reader of programs wants of them, a few small ranges, it asks the worker for, one after the other.

#[cfg(target_family = "wasm")]
mod abi;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use pte::command::{FAILED, Outcome, run_on};
use pte::{Files, ReadAt};
use serde::Deserialize;

/// What a page asks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The arguments of the command, without its own name.
    pub arguments: Vec<String>,
    /// The files that there are.
    pub files: Vec<Chosen>,
}

/// A file that the page's reader chose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// The name that the arguments have for it.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Bytes of the file of this number, from this offset on; how many came.
pub type Read = dyn Fn(usize, u64, &mut [u8]) -> io::Result<usize>;

/// Answers a question, in JSON both.
pub fn answer(asked: &[u8], read: &Read) -> Vec<u8> {
    let outcome = match serde_json::from_slice::<Asked>(asked) {
        Ok(asked) => {
            let files = Page {
                files: &asked.files,
                read,
            };
            run_on(asked.arguments.iter().map(OsString::from), &files)
        }
        Err(error) => Outcome {
            code: FAILED,
            stdout: String::new(),
            stderr: format!("error: the page asked what nobody understands: {error}\n"),
        },
    };
    // Strings and a number, which fail at nothing.
    serde_json::to_vec(&outcome).unwrap_or_default()
}

/// The files of the page.
struct Page<'a> {
    files: &'a [Chosen],
    read: &'a Read,
}

/// One of them.
struct File<'a> {
    number: usize,
    bytes: u64,
    read: &'a Read,
}

impl Files for Page<'_> {
    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn ReadAt + '_>>> {
        let number = self
            .files
            .iter()
            .position(|file| Path::new(&file.name) == path);
        let number = number
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file was chosen"))?;
        Ok(Some(Box::new(File {
            number,
            bytes: self.files[number].bytes,
            read: self.read,
        })))
    }
}

impl ReadAt for File<'_> {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (self.read)(self.number, offset, buffer)
    }
}
