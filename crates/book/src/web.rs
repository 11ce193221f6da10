//! Builds the reader of programs that pages load: `crates/pte-web` as WebAssembly.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Failures, Kind};
use crate::runner::{cargo_build, made};
use crate::workspace::{Workspace, write_whole};

/// Where `src/scripts/pte.wasm` leads.
const FILE: &str = ".book/pte.wasm";

/// Builds it, if its sources changed. With nothing changed this costs what it costs cargo to see that.
///
/// # Errors
///
/// What the compiler or cargo said, whole.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Failures> {
    // A book about something else has none.
    let members = fs::read_to_string(workspace.root().join("Cargo.toml"));
    if !members.is_ok_and(|text| text.contains("crates/pte-web")) {
        return Ok(());
    }
    let mut cargo = cargo_build(
        workspace,
        &[
            "--package",
            "pte-web",
            "--profile",
            "web",
            "--target",
            "wasm32-unknown-unknown",
        ],
    );
    cargo.env(
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
        without_paths(workspace.root()),
    );
    let built = made(cargo)?;
    let failure = |seen: String| {
        Failure::new(
            Kind::ListingsDoNotCompile,
            "pte-web",
            "crates/pte-web/Cargo.toml",
            1,
            "a module for the site",
            seen,
        )
    };
    let module = built
        .get("pte_web")
        .ok_or_else(|| failure("cargo built none".to_owned()))?;
    let file = workspace.root().join(FILE);
    fs::read(module)
        .and_then(|module| {
            if fs::read(&file).is_ok_and(|present| present == module) {
                return Ok(());
            }
            write_whole(&file, &module)
        })
        .map_err(|error| failure(error.to_string()).into())
}

/// What makes the module the same wherever it is built: where a panic comes from is in it.
fn without_paths(root: &Path) -> String {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let registries = registries.into_iter().flatten().flatten();
    let paths = registries.map(|registry| registry.path());
    let flags = paths
        .chain([root.to_owned()])
        .map(|path| format!("--remap-path-prefix={}=", path.display()));
    flags.collect::<Vec<_>>().join(" ")
}
