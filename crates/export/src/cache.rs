//! The cache of exports: a folder an entry, published by one rename.
//!
//! An entry is only ever read whole or not at all. `entry.json` holds the hash of each of its files, and an entry that
//! does not agree with it is made anew. An entry holds a program, or the exporter's refusal to make one. Whoever makes entries holds the lock, so that two builds at once do not make
//! the same thing twice; readers need none.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::key::{self, Digest};
use crate::{Error, Exported};

const MANIFEST: &str = "entry.json";

/// Instead of a program: why there is none.
const REFUSAL: &str = "refusal.json";

/// Where exports are kept.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// What one request is kept under.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The `.pte` file's name without its ending.
    pub stem: String,
    /// For people: what the folder's name begins with.
    pub label: String,
    /// Everything that went in.
    pub digest: Digest,
}

/// `entry.json`.
#[derive(Serialize, Deserialize)]
struct Manifest {
    /// The hash of each file.
    files: BTreeMap<String, String>,
}

/// `refusal.json`: what [`Error::Python`] holds besides the request.
#[derive(Serialize, Deserialize)]
struct Refusal {
    kind: String,
    message: String,
    traceback: String,
}

/// Whether the same request would be refused again: the exporter judged what it was asked for, and nothing else failed.
/// That is a `ValueError`, and a `RuntimeError` that the exporter's own Python raised: one from elsewhere may be a machine
/// without memory.
fn is_for_good(kind: &str, traceback: &str) -> bool {
    let raised_in = traceback
        .lines()
        .rfind(|line| line.trim_start().starts_with("File \""));
    match kind {
        "ValueError" => true,
        "RuntimeError" => raised_in.is_some_and(|line| line.contains("/executorch/exir/")),
        _ => false,
    }
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn entry(&self, key: &Key) -> PathBuf {
        self.folder
            .join(format!("{}-{}", key.label, &key::hex(&key.digest)[..24]))
    }

    /// The entry, if it is there and every file in it is as it was written. `program` is what a refusal names.
    pub(crate) fn get(&self, key: &Key, program: &str) -> Option<Result<Exported, Error>> {
        let folder = self.entry(key);
        let manifest = fs::read(folder.join(MANIFEST)).ok()?;
        let manifest: Manifest = serde_json::from_slice(&manifest).ok()?;
        for (name, expected) in &manifest.files {
            let bytes = fs::read(folder.join(name)).ok()?;
            if key::hex(&key::digest(&[&bytes])) != *expected {
                return None;
            }
        }
        if manifest.files.contains_key(REFUSAL) {
            let refusal = fs::read(folder.join(REFUSAL)).ok()?;
            let Refusal {
                kind,
                message,
                traceback,
            } = serde_json::from_slice(&refusal).ok()?;
            return Some(Err(Error::Python {
                program: program.to_owned(),
                kind,
                message,
                traceback,
            }));
        }
        let files: Vec<&str> = manifest.files.keys().map(String::as_str).collect();
        Exported::read(&folder, &key.stem, &files).ok().map(Ok)
    }

    /// Waits until no other process makes entries.
    pub(crate) fn lock(&self) -> Result<Locked<'_>, Error> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        let path = self.folder.join(".lock");
        let lock = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(Error::io(&path))?;
        let mut say_so = Some(Instant::now() + Duration::from_secs(2));
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(Error::io(&path)(error)),
                Err(TryLockError::WouldBlock) => {
                    if say_so.take_if(|at| Instant::now() > *at).is_some() {
                        eprintln!(
                            "export: waiting for another export to finish ({})",
                            path.display()
                        );
                    }
                    thread::sleep(Duration::from_millis(20));
                }
            }
        }
        let staging = self.folder.join(".staging");
        // What an export that was killed left behind: nobody else writes here while the lock is held.
        if staging.exists() {
            fs::remove_dir_all(&staging).map_err(Error::io(&staging))?;
        }
        fs::create_dir(&staging).map_err(Error::io(&staging))?;
        Ok(Locked {
            cache: self,
            staging,
            _lock: lock,
        })
    }
}

/// The right to make entries. Ends with the process at the latest: the lock is the kernel's.
pub(crate) struct Locked<'a> {
    cache: &'a Cache,
    staging: PathBuf,
    _lock: File,
}

impl Locked<'_> {
    /// Where an entry is made, before it has a name.
    pub(crate) fn staging(&self) -> &Path {
        &self.staging
    }

    /// Gives what an export left in `made`, a folder in [`staging`](Self::staging), its place under `key`: its files, or
    /// the refusal.
    pub(crate) fn publish(
        &self,
        key: &Key,
        program: &str,
        made: &Path,
        outcome: Result<(), Error>,
    ) -> Result<Exported, Error> {
        match outcome {
            Ok(()) => {}
            Err(Error::Python {
                kind,
                message,
                traceback,
                ..
            }) if is_for_good(&kind, &traceback) => {
                fs::remove_dir_all(made).map_err(Error::io(made))?;
                fs::create_dir(made).map_err(Error::io(made))?;
                let path = made.join(REFUSAL);
                let text = serde_json::to_vec_pretty(&Refusal {
                    kind,
                    message,
                    traceback,
                })
                .map_err(|error| Error::io(&path)(error.into()))?;
                fs::write(&path, text).map_err(Error::io(&path))?;
            }
            Err(other) => return Err(other),
        }
        // One program may be asked for twice in one call.
        if let Some(kept) = self.cache.get(key, program) {
            return kept;
        }
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(made).map_err(Error::io(made))? {
            let entry = entry.map_err(Error::io(made))?;
            let bytes = fs::read(entry.path()).map_err(Error::io(entry.path()))?;
            files.insert(
                entry.file_name().to_string_lossy().into_owned(),
                key::hex(&key::digest(&[&bytes])),
            );
        }
        let manifest = made.join(MANIFEST);
        let text = serde_json::to_vec_pretty(&Manifest { files })
            .map_err(|error| Error::io(&manifest)(error.into()))?;
        fs::write(&manifest, text).map_err(Error::io(&manifest))?;

        let entry = self.cache.entry(key);
        if entry.exists() {
            fs::remove_dir_all(&entry).map_err(Error::io(&entry))?;
        }
        fs::rename(made, &entry).map_err(Error::io(&entry))?;
        self.cache.get(key, program).unwrap_or_else(|| {
            Err(Error::io(&entry)(std::io::Error::other(
                "was just written and does not read back: is the disk full?",
            )))
        })
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // What stays behind is removed by the next holder.
        let _ = fs::remove_dir_all(&self.staging);
    }
}
