//! Where things are.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::terminal::dim;

/// The folders that the commands work on.
pub struct Workspace {
    /// The workspace: `Cargo.toml`, `.venv`.
    pub root: PathBuf,
    /// The book: `book.toml`, `src`, `book`. The workspace, unless `GUIDE_ROOT` names a copy (the tests plant faults
    /// in copies).
    pub book: PathBuf,
}

impl Workspace {
    /// The workspace that this program was built from.
    pub fn find() -> Result<Self, Failure> {
        // Cargo sets the variable for `cargo xtask`; a program that was started directly knows where it was built.
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let package = if package.ends_with("xtask") {
            package
        } else {
            env!("CARGO_MANIFEST_DIR").into()
        };
        let root = package.parent().unwrap_or(&package).to_path_buf();
        if !root.join("xtask/python/requirements.txt").is_file() {
            return Err(Failure::environment(format!(
                "{} is not the guide's repository any more: run `cargo xtask` in it, so that it is built again",
                root.display()
            )));
        }
        let book = match std::env::var_os("GUIDE_ROOT") {
            None => root.clone(),
            Some(copy) => fs::canonicalize(&copy).map_err(|error| {
                Failure::environment(format!("GUIDE_ROOT={}: {error}", copy.display()))
            })?,
        };
        Ok(Self { root, book })
    }

    /// The virtual environment: Python packages, and the tools beside them.
    pub fn venv(&self) -> PathBuf {
        self.root.join(".venv")
    }

    /// A program of the virtual environment.
    pub fn python_program(&self, name: &str) -> PathBuf {
        self.venv().join("bin").join(name)
    }

    /// A program that `setup` builds.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.venv().join("tools/bin").join(name)
    }
}

/// Reads a file of the repository; its absence is an incomplete checkout.
pub fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::environment(format!("{}: {error}", path.display())))
}

/// Says what could not be done to which path.
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot {what} {}: {error}", path.display()))
}

/// Removes a file, a link or a folder; what is not there is removed already.
pub fn remove(path: &Path) -> Result<(), Failure> {
    let result = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    let temporary = path.with_added_extension("new");
    fs::write(&temporary, contents)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|error| failed("write", path, &error))
}

/// Takes the lock `path`, waiting for another process that has it. Ends when the file and its clones are closed.
pub fn exclusive(path: &Path, doing: &str) -> Result<File, Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| failed("make the folder", folder, &error))?;
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| failed("open", path, &error))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => eprintln!(
            "{}",
            dim(&format!(
                "waiting for another `cargo xtask` that is {doing}"
            ))
        ),
        Err(TryLockError::Error(error)) => return Err(failed("lock", path, &error)),
    }
    file.lock().map_err(|error| failed("lock", path, &error))?;
    Ok(file)
}
