//! Compiles the bridge against the headers of the ExecuTorch wheel and links the wheel's runtime.
//!
//! This is also the link line of every crate above: the runtime's folder is emitted as a search path *inside* `OUT_DIR`,
//! because cargo puts exactly such paths on `LD_LIBRARY_PATH` when it runs a binary, a test or a doctest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

/// The runtime that `executorch-sys` 0.13 carries the headers of; another version's classes are laid out differently.
const RUNTIME_VERSION: &str = "1.5.1";

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed=EXECUTORCH_WHEEL");
    for source in ["build.rs", "src/bridge.rs", "cpp/bridge.h", "cpp/bridge.cc"] {
        println!("cargo::rerun-if-changed={source}");
    }
    match wheel().and_then(|wheel| link(&wheel).map(|()| wheel)) {
        Ok(wheel) => {
            compile(&wheel.join("include"));
            ExitCode::SUCCESS
        }
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

/// The wheel's package folder (`…/site-packages/executorch`), checked to be one and of the right version.
fn wheel() -> Result<PathBuf, String> {
    let fix = "run `cargo xtask setup`, or set EXECUTORCH_WHEEL to the `executorch` folder of an installed wheel";
    let named =
        env::var_os("EXECUTORCH_WHEEL").ok_or(format!("EXECUTORCH_WHEEL is not set: {fix}"))?;
    let wheel = workspace_root().join(named);
    let version_file = wheel.join("version.py");
    println!("cargo::rerun-if-changed={}", version_file.display());
    let text = fs::read_to_string(&version_file).map_err(|error| {
        format!(
            "no ExecuTorch wheel at {} ({error}): {fix}",
            wheel.display()
        )
    })?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("__version__ = "))
        .map_or("", |quoted| quoted.trim_matches('"'));
    // `1.5.1+cpu` and `1.5.1+cu130` are builds of the same sources.
    if version.split('+').next() != Some(RUNTIME_VERSION) {
        return Err(format!(
            "the ExecuTorch wheel at {} is version {version:?}, this crate is for {RUNTIME_VERSION}: {fix}",
            wheel.display()
        ));
    }
    Ok(wheel)
}

/// Where a relative `EXECUTORCH_WHEEL` starts: the folder of `Cargo.lock`, which is the workspace's root.
fn workspace_root() -> PathBuf {
    let manifest =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = manifest
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists());
    root.unwrap_or(&manifest).to_path_buf()
}

/// Makes `OUT_DIR/lib` lead to the wheel's `lib`, and links `libexecutorch.so` from there.
fn link(wheel: &Path) -> Result<(), String> {
    let target = wheel.join("lib");
    if !target.join("libexecutorch.so").exists() {
        return Err(format!(
            "{} has no libexecutorch.so: install ExecuTorch {RUNTIME_VERSION}",
            target.display()
        ));
    }
    let lib = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("lib");
    if fs::read_link(&lib).ok().as_deref() != Some(&target) {
        if lib.is_symlink() {
            fs::remove_file(&lib)
                .map_err(|error| format!("cannot replace {}: {error}", lib.display()))?;
        }
        std::os::unix::fs::symlink(&target, &lib)
            .map_err(|error| format!("cannot make {}: {error}", lib.display()))?;
    }
    println!("cargo::rustc-link-search=native={}", lib.display());
    println!("cargo::rustc-link-lib=dylib=executorch");
    Ok(())
}

fn compile(include: &Path) {
    let mut build = cxx_build::bridge("src/bridge.rs");
    // System headers, so that only our own lines are warned about.
    for folder in [
        include,
        &include.join("executorch/runtime/core/portable_type/c10"),
    ] {
        build.flag("-isystem").flag(folder);
    }
    build
        .file("cpp/bridge.cc")
        .std("c++17")
        // The wheel's own compile definitions (`EXECUTORCH_COMPILE_DEFINITIONS` in its CMake file): without the first its
        // c10 headers do not compile, without the second its profiling classes are laid out differently.
        .define("C10_USING_CUSTOM_GENERATED_MACROS", None)
        .define("ET_EVENT_TRACER_ENABLED", None)
        .compile("executorch_device");
}
