//! What an export depends on, as one hash of bytes: a version number does not change when a file is patched.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use crate::Error;

/// A BLAKE3 hash.
pub(crate) type Digest = [u8; 32];

/// Part of every key: changed when the layout of a cache entry changes.
const FORMAT: &[u8] = b"guide exports 1";

/// Lower-case hexadecimal.
pub(crate) fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest from what [`hex`] wrote.
pub(crate) fn from_hex(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (n, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * n..2 * n + 2], 16).ok()?;
    }
    Some(digest)
}

/// Hashes parts so that no two lists of parts hash alike by being cut differently.
pub(crate) fn digest(parts: &[&[u8]]) -> Digest {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The exporting side of an installation: everything but the recipe.
pub(crate) struct Environment<'a> {
    /// The virtual environment, `.venv`.
    pub venv: &'a Path,
    /// Our own Python, `crates/export/python`.
    pub python: &'a Path,
}

impl Environment<'_> {
    /// Hashes the installed ExecuTorch file by file, every other package by its `RECORD` (which holds the hashes of its
    /// files as installed), the interpreter, and our Python. 0.1 s of processor time, shared by all cores, for 4,700
    /// files and 67 MB.
    pub(crate) fn digest(&self) -> Result<Digest, Error> {
        let site_packages = self.site_packages()?;
        let mut files = Vec::new();
        walk(&site_packages.join("executorch"), &mut files, &|path| {
            // Headers and CMake files are the C++ side's; Python ignores them.
            !path.ends_with("executorch/include") && !path.ends_with("executorch/share")
        })?;
        let mut ours = Vec::new();
        walk(self.python, &mut ours, &|_| true)?;
        files.extend(
            ours.into_iter()
                .filter(|path| path.extension().is_some_and(|is| is == "py")),
        );
        for entry in fs::read_dir(&site_packages).map_err(Error::io(&site_packages))? {
            let record = entry
                .map_err(Error::io(&site_packages))?
                .path()
                .join("RECORD");
            if record.is_file() {
                files.push(record);
            }
        }
        let interpreter =
            fs::canonicalize(self.venv.join("bin/python")).map_err(Error::io(self.venv))?;
        files.extend(shared_libpython(&interpreter));
        files.push(interpreter);
        files.push(self.venv.join("pyvenv.cfg"));
        // Two installations with the same bytes share their exports: what a file is called within its own root counts,
        // where that root lies does not.
        let roots = [site_packages.as_path(), self.python, self.venv];
        let mut named: Vec<(PathBuf, PathBuf)> = files
            .into_iter()
            .map(|path| {
                let within = roots.iter().find_map(|root| path.strip_prefix(root).ok());
                (
                    within.map_or_else(
                        || PathBuf::from(path.file_name().unwrap_or_default()),
                        Path::to_owned,
                    ),
                    path,
                )
            })
            .collect();
        named.sort();
        let digests = digests(
            &named
                .iter()
                .map(|(_, path)| path.as_path())
                .collect::<Vec<_>>(),
        )?;
        let mut parts: Vec<&[u8]> = vec![FORMAT];
        for ((name, _), digest) in named.iter().zip(&digests) {
            parts.push(name.as_os_str().as_encoded_bytes());
            parts.push(digest);
        }
        Ok(digest(&parts))
    }

    pub(crate) fn site_packages(&self) -> Result<PathBuf, Error> {
        let lib = self.venv.join("lib");
        let missing = || Error::NotSetUp(self.venv.join("lib/python3*/site-packages/executorch"));
        fs::read_dir(&lib)
            .map_err(|_| missing())?
            .filter_map(Result::ok)
            .map(|entry| entry.path().join("site-packages"))
            .find(|site| site.join("executorch").is_dir())
            .ok_or_else(missing)
    }
}

/// Where the interpreter is a small program over a shared library, that library.
fn shared_libpython(interpreter: &Path) -> Vec<PathBuf> {
    let lib = interpreter
        .parent()
        .and_then(Path::parent)
        .map(|prefix| prefix.join("lib"));
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let version = name(interpreter);
    lib.and_then(|lib| fs::read_dir(lib).ok())
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| name(path).starts_with(&format!("lib{version}.so.")))
        .collect()
}

/// Every file below `folder` but compiled Python and the hidden caches of tools, which are made from the rest, come and
/// go, and differ from machine to machine.
fn walk(
    folder: &Path,
    files: &mut Vec<PathBuf>,
    enter: &dyn Fn(&Path) -> bool,
) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io(&path))?;
        // A link is followed: an installation may be laid over another one.
        if kind.is_dir() || kind.is_symlink() && path.is_dir() {
            let name = entry.file_name();
            let made = name == "__pycache__" || name.as_encoded_bytes().starts_with(b".");
            if !made && enter(&path) {
                walk(&path, files, enter)?;
            }
        } else if path.extension().is_none_or(|extension| extension != "pyc") {
            files.push(path);
        }
    }
    Ok(())
}

/// The digest of each file, on all cores; in order.
fn digests(paths: &[&Path]) -> Result<Vec<Digest>, Error> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        let mut bytes = Vec::new();
        // One file at a time: a few are as big as all others together.
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(path) = paths.get(number) else {
                return Ok(done);
            };
            bytes.clear();
            File::open(path)
                .and_then(|mut file| file.read_to_end(&mut bytes))
                .map_err(Error::io(path))?;
            done.push((number, digest(&[&bytes])));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut done = thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut done = Vec::with_capacity(paths.len());
        for worker in running {
            done.extend(worker.join().expect("hashing does not panic")?);
        }
        Ok(done)
    })?;
    done.sort_unstable();
    Ok(done.into_iter().map(|(_, digest)| digest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of an installation, and what its change means.
    const FILES: [(&str, bool); 13] = [
        ("venv/bin/python", true),
        ("venv/pyvenv.cfg", true),
        (
            "venv/lib/python3.11/site-packages/executorch/version.py",
            true,
        ),
        (
            "venv/lib/python3.11/site-packages/executorch/exir/deep/pass.py",
            true,
        ),
        (
            "venv/lib/python3.11/site-packages/executorch/exir/schema.fbs",
            true,
        ),
        (
            "venv/lib/python3.11/site-packages/executorch/lib/libexecutorch.so",
            true,
        ),
        (
            "venv/lib/python3.11/site-packages/torch-2.13.0.dist-info/RECORD",
            true,
        ),
        ("python/guide_export/worker.py", true),
        (
            "venv/lib/python3.11/site-packages/executorch/include/module.h",
            false,
        ),
        (
            "venv/lib/python3.11/site-packages/executorch/exir/__pycache__/pass.pyc",
            false,
        ),
        ("python/pyproject.toml", false),
        ("python/.ruff_cache/state.py", false),
        ("python/guide_export/__pycache__/worker.pyc", false),
    ];

    #[test]
    fn a_byte_of_any_file_that_takes_part_changes_the_digest_and_no_other_does() {
        let root = tempfile::tempdir().unwrap();
        for (file, _) in FILES {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "one").unwrap();
        }
        let (venv, python) = (root.path().join("venv"), root.path().join("python"));
        let digest = || {
            let (venv, python) = (venv.as_path(), python.as_path());
            Environment { venv, python }.digest().unwrap()
        };
        let before = digest();
        for (file, takes_part) in FILES {
            let path = root.path().join(file);
            // As long as before: neither a length nor a time is looked at.
            fs::write(&path, "two").unwrap();
            assert_eq!(digest() != before, takes_part, "{file} changed");
            fs::write(&path, "one").unwrap();
            assert_eq!(digest(), before, "{file} changed back");
            if takes_part && !file.ends_with("python") {
                fs::rename(&path, path.with_file_name("renamed.py")).unwrap();
                assert_ne!(
                    digest_or_none(&venv, &python),
                    Some(before),
                    "{file} renamed"
                );
                fs::rename(path.with_file_name("renamed.py"), &path).unwrap();
            }
        }
    }

    fn digest_or_none(venv: &Path, python: &Path) -> Option<Digest> {
        Environment { venv, python }.digest().ok()
    }
}
