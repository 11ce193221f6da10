//! A copy of the runtime's libraries in which one text is another.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Makes a folder in `inside`: links to all libraries of the wheel, and a copy of `libexecutorch.so` in which `from`, which
/// is there exactly once, is `by`. The lengths must be equal, since nothing may move in the file.
///
/// No two have the same name: by its path a build knows whether the runs of an earlier one are its own.
pub fn patched(repository: &Path, inside: &Path, from: &str, by: &str) -> Result<PathBuf, String> {
    const LIBRARY: &str = "libexecutorch.so";
    let lib = repository.join(".venv/executorch/lib");
    let fails = |error: std::io::Error| format!("cannot copy the runtime to {}: {error}", inside.display());
    if from.len() != by.len() || from == by {
        return Err(format!("a text of the runtime must become another one of its length: {from:?}, {by:?}"));
    }
    let to = tempfile::Builder::new().prefix("runtime").tempdir_in(inside).map_err(fails)?.keep();
    for entry in fs::read_dir(&lib).map_err(fails)? {
        let path = entry.map_err(fails)?.path();
        let name = path.file_name().unwrap_or_default();
        if name != LIBRARY {
            symlink(&path, to.join(name)).map_err(fails)?;
        }
    }
    let mut bytes = fs::read(lib.join(LIBRARY)).map_err(fails)?;
    let places: Vec<_> =
        bytes.windows(from.len()).enumerate().filter(|(_, at)| *at == from.as_bytes()).map(|(at, _)| at).collect();
    let [place] = places[..] else {
        return Err(format!("{LIBRARY} has {} times, not once: {from:?}", places.len()));
    };
    bytes[place..place + by.len()].copy_from_slice(by.as_bytes());
    fs::write(to.join(LIBRARY), bytes).map_err(fails)?;
    Ok(to)
}
