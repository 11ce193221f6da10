//! Compiles the bridge against the headers of the ExecuTorch wheel and links the wheel's runtime.
//!
//! This is also the link line of every crate above: the runtime's folder is emitted as a search path *inside* `OUT_DIR`,
//! because cargo puts exactly such paths on `LD_LIBRARY_PATH` when it runs a binary, a test or a doctest.

mod wheel;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=EXECUTORCH_WHEEL");
    for source in ["build", "src/bridge.rs", "cpp"] {
        println!("cargo::rerun-if-changed={source}");
    }
    let manifest =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let wheel = wheel::find(env::var_os("EXECUTORCH_WHEEL").as_deref(), &manifest);
    match wheel.and_then(|wheel| link(&wheel).map(|()| wheel)) {
        Ok(wheel) => {
            println!(
                "cargo::rerun-if-changed={}",
                wheel.join("version.py").display()
            );
            compile(&wheel.join("include"));
        }
        // Cargo fails the build and shows this line alone; with a failing exit code it would show all of our output.
        Err(message) => println!("cargo::error={message}"),
    }
}

/// Makes `OUT_DIR/lib` lead to the wheel's `lib`, and links `libexecutorch.so` from there.
fn link(wheel: &Path) -> Result<(), String> {
    let target = wheel.join("lib");
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
