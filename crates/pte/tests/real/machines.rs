//! Where `pte` builds and runs: with Rust and a linker and nothing else, and as WebAssembly.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::one;

/// Cargo in a folder outside the repository, whose settings name Python's packages, and with no variable of ours.
fn cargo(arguments: &[&str], path: &Path, folder: &Path) -> Command {
    let cargo = PathBuf::from(std::env::var_os("CARGO").expect("cargo runs the tests"));
    let mut command = Command::new(&cargo);
    command
        .args(arguments)
        .args(["--locked", "--offline"])
        .current_dir(folder)
        .env_clear()
        .env("RUSTC", cargo.with_file_name("rustc"))
        .env("PATH", path)
        .env(
            "CARGO_TARGET_DIR",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/machines"),
        );
    for kept in ["HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        command.envs(std::env::var_os(kept).map(|value| (kept, value)));
    }
    command
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{log}");
}

/// A `PATH` on which there is a linker for Rust, and no Python.
fn with_a_linker_alone(folder: &Path) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for tool in ["cc", "as", "ld"] {
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join(tool))
            .find(|file| file.is_file());
        let found = found.unwrap_or_else(|| panic!("{tool} is on no PATH: apt-get install gcc"));
        std::os::unix::fs::symlink(found, bin.join(tool)).unwrap();
    }
    bin
}

#[test]
fn it_installs_and_answers_where_there_is_no_python_and_no_executorch() {
    let folder = tempfile::tempdir().unwrap();
    let bin = with_a_linker_alone(folder.path());
    let root = folder.path().join("root");
    let install = [
        "install",
        "--debug",
        "--path",
        env!("CARGO_MANIFEST_DIR"),
        "--root",
        root.to_str().unwrap(),
    ];
    succeeds(&mut cargo(&install, &bin, folder.path()));
    let output = Command::new(root.join("bin/pte"))
        .args(["show", "--json"])
        .arg(&one("mlp").path)
        .env_clear()
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let read: pte::Program = serde_json::from_value(shown["files"][0]["program"].clone()).unwrap();
    assert_eq!(read, one("mlp").program());
}

#[test]
fn it_builds_for_wasm32_unknown_unknown() {
    let folder = tempfile::tempdir().unwrap();
    // The macros that the build runs are linked for this machine.
    let bin = with_a_linker_alone(folder.path());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let build = [
        "build",
        "--manifest-path",
        manifest,
        "--target",
        "wasm32-unknown-unknown",
    ];
    // The library as a page would use it, and all of it.
    for rest in [&["--lib", "--no-default-features"][..], &[]] {
        succeeds(&mut cargo(
            &[&build[..], rest].concat(),
            &bin,
            folder.path(),
        ));
    }
}
