//! A hash of the sources of this preprocessor, for the build script and for the run that compares the two.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What the preprocessor is built from, relative to the workspace.
pub const SOURCES: &[&str] = &[
    "crates/book/Cargo.toml",
    "crates/book/build.rs",
    "crates/book/python/host.py",
    "crates/book/src",
    "crates/export/Cargo.toml",
    "crates/export/src",
    "crates/proof/Cargo.toml",
    "crates/proof/src",
];

/// The hash of names and contents of all files of [`SOURCES`] under the workspace `root`.
///
/// # Errors
///
/// When one of them cannot be read.
pub fn of_sources(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for source in SOURCES {
        collect(&root.join(source), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        let content = fs::read(&file)?;
        for part in [name.as_bytes(), &content] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
