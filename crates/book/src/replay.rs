//! Runs taken over from an earlier build: for the tests that plant faults, most of which no run can see, and for
//! `cargo xtask serve`, which builds again at every changed sentence.
//!
//! Nobody else sets `$GUIDE_RUNS`; every other build runs every listing. What is kept is taken over only while everything that a
//! listing is made of or reads is what it was, byte for byte: then the comparison of pages and expectations, which is what
//! the planted fault is for, is the same as after running all again. So a fault that changes what runs is run once, and
//! every further way to build the book judges those runs; and so does a changed sentence.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::fingerprint::hex;
use crate::runner::{FEATURES_VARIABLE, Run, Runner};

/// The folder of the runs: a file for each state of what they are made of.
const VARIABLE: &str = "GUIDE_RUNS";

/// What the listings are made of, and what of the workspace they read. Their expected outputs are none of it.
const SOURCES: &[&str] = &[".cargo", "Cargo.lock", "Cargo.toml", "crates", "listings"];

/// The runs of an earlier build, or the place for them.
pub(crate) struct Replay {
    file: PathBuf,
}

impl Replay {
    /// None unless it is asked for, and when something cannot be read: then everything is run.
    pub(crate) fn asked(runner: &Runner) -> Option<Self> {
        let folder = PathBuf::from(env::var_os(VARIABLE)?);
        let mut hash = Sha256::new();
        for source in SOURCES {
            add(&mut hash, &runner.root().join(source)).ok()?;
        }
        let sources = hex(&hash.finalize());
        let features = env::var_os(FEATURES_VARIABLE).unwrap_or_default();
        let key = runner
            .circumstances(&[OsStr::new(&sources), &features])
            .ok()?;
        Some(Self {
            file: folder.join(key).with_extension("json"),
        })
    }

    /// All runs, if they may be taken over.
    pub(crate) fn runs(&self) -> Option<BTreeMap<String, Run>> {
        serde_json::from_slice(&fs::read(&self.file).ok()?).ok()
    }

    /// Keeps them. What cannot be kept is run again.
    pub(crate) fn keep(&self, runs: &BTreeMap<String, &Run>) {
        if let Ok(text) = serde_json::to_vec(runs) {
            let unfinished = self.file.with_extension("new");
            let _ = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &self.file));
        }
    }
}

fn add(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    hash.update(name.len().to_le_bytes());
    hash.update(name);
    if !path.exists() {
        return Ok(());
    }
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        entries.retain(|entry| {
            let name = entry.file_name().unwrap_or_default().as_encoded_bytes();
            !name.starts_with(b"output.") && name != b"__pycache__"
        });
        entries.sort();
        hash.update(entries.len().to_le_bytes());
        return entries.iter().try_for_each(|entry| add(hash, entry));
    }
    let bytes = fs::read(path)?;
    hash.update(bytes.len().to_le_bytes());
    hash.update(bytes);
    Ok(())
}
