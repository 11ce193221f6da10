//! Compiles the caller in C++ against the ExecuTorch wheel, as a program of its own.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=EXECUTORCH_WHEEL");
    println!("cargo::rerun-if-changed=cpp");
    println!("cargo::rerun-if-changed=../device/include");
    match build() {
        Ok(()) => {}
        Err(message) => println!("cargo::error={message}"),
    }
}

fn build() -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("{name} is not set"));
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("../..");
    let wheel = root.join(variable("EXECUTORCH_WHEEL").map_err(|error| {
        format!("{error}: run `cargo xtask setup`, or set it to the `executorch` folder of an installed wheel")
    })?);
    println!(
        "cargo::rerun-if-changed={}",
        wheel.join("version.py").display()
    );

    let program = PathBuf::from(variable("OUT_DIR")?).join("caller");
    compile(&wheel, &root, &program)?;
    println!("cargo::rustc-env=CPP_CALLER={}", program.display());
    Ok(())
}

fn compile(wheel: &Path, root: &Path, program: &Path) -> Result<(), String> {
    let include = wheel.join("include");
    let lib = wheel.join("lib");
    let compiler = cc::Build::new()
        .cpp(true)
        .std("c++17")
        .try_get_compiler()
        .map_err(|error| error.to_string())?;
    let mut command = compiler.to_command();
    for folder in [
        include.clone(),
        include.join("executorch/runtime/core/portable_type/c10"),
    ] {
        command.arg("-isystem").arg(folder);
    }
    command
        .arg("-I")
        .arg(root.join("crates/device/include"))
        // The wheel's own compile definitions (`EXECUTORCH_COMPILE_DEFINITIONS` in its CMake file).
        .args([
            "-DC10_USING_CUSTOM_GENERATED_MACROS",
            "-DET_EVENT_TRACER_ENABLED",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .arg("cpp/caller.cc")
        .arg("-o")
        .arg(program)
        .arg(lib.join("libexecutorch.so"))
        .arg("-ldl")
        .arg(format!("-Wl,-rpath,{}", lib.display()));
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        let text = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "cpp/caller.cc does not compile: {}",
            text.replace('\n', " | ")
        ))
    }
}
