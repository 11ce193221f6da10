use std::error::Error;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let wheel = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(".venv/executorch/lib");
    let lib = Path::new(&env::var("OUT_DIR")?).join("lib");
    if lib.is_symlink() {
        fs::remove_file(&lib)?;
    }
    symlink(fs::canonicalize(wheel)?, &lib)?;
    println!("cargo::rustc-link-search=native={}", lib.display());
    println!("cargo::rustc-link-lib=dylib=executorch");
    // Nothing names a symbol of the kernels library: its kernels register themselves when it loads.
    println!("cargo::rustc-link-arg=-Wl,--no-as-needed");
    println!("cargo::rustc-link-arg=-lexecutorch_kernels_optimized");
    Ok(())
}
