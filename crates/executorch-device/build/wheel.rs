//! Finds the ExecuTorch wheel that everything is compiled against and linked with.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The runtime that `executorch-sys` 0.13 carries the headers of; another version's classes are laid out differently.
const RUNTIME_VERSION: &str = "1.5.1";

const FIX: &str = "run `cargo xtask setup`, or set EXECUTORCH_WHEEL to the `executorch` folder of an installed wheel";

/// The wheel's package folder (`…/site-packages/executorch`): of the right version, with headers and runtime. A relative
/// `named` starts at the folder above `manifest` that has the `Cargo.lock`: the workspace's root.
pub fn find(named: Option<&OsStr>, manifest: &Path) -> Result<PathBuf, String> {
    let named = named.ok_or(format!("EXECUTORCH_WHEEL is not set: {FIX}"))?;
    let root = manifest
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists());
    let wheel = root.unwrap_or(manifest).join(named);
    let missing = |what: &str| format!("no ExecuTorch wheel at {}: {what}; {FIX}", wheel.display());
    let text = fs::read_to_string(wheel.join("version.py"))
        .map_err(|error| missing(&format!("version.py: {error}")))?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("__version__ = "))
        .map_or("", |quoted| quoted.trim_matches('"'));
    // `1.5.1+cpu` and `1.5.1+cu130` are builds of the same sources.
    if version.split('+').next() != Some(RUNTIME_VERSION) {
        return Err(format!(
            "the ExecuTorch wheel at {} is version {version:?}, not {RUNTIME_VERSION}; {FIX}",
            wheel.display()
        ));
    }
    for part in [
        "include/executorch/extension/module/module.h",
        "lib/libexecutorch.so",
    ] {
        if !wheel.join(part).exists() {
            return Err(missing(&format!("it has no {part}")));
        }
    }
    Ok(wheel)
}
