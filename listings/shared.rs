//! What the listings need alike: the device, tensors over memory that is already somewhere, a plan in words, the
//! command `pte`, and the installed package.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use device::{LogLine, Origin};

mod shell;
mod tensor;

pub use shell::Shell;
pub use tensor::{address, host_values, on_device, on_host, tagged_cpu};

/// Runs a listing on this process's device. The memory that it took there must be free again at its end.
///
/// # Errors
///
/// Without a device, what the listing returns, and when blocks are left.
pub fn with_device(
    listing: fn(device::Device) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let gpu = device::install()?;
    listing(gpu)?;
    match gpu.counters().live_blocks() {
        0 => Ok(()),
        left => {
            Err(format!("{left} blocks of device memory were not freed").into())
        }
    }
}

/// Where the tensors at a method's boundary live, in words: `planned, CPU` if all agree, else one after the other.
pub fn placement<'a>(tensors: impl Iterator<Item = &'a pte::TensorInfo>) -> String {
    let mut words: Vec<String> = tensors
        .map(|tensor| {
            let planned = if tensor.planned.is_some() {
                "planned"
            } else {
                "unplanned"
            };
            format!("{planned}, {}", tensor.device.device_type)
        })
        .collect();
    words.dedup();
    words.join("; ")
}

/// The first line of a log, which must be the runtime's own: a reader meets it, and not our device's.
///
/// # Errors
///
/// When there is none, or the stand-in spoke first.
pub fn runtime_line(log: &[LogLine]) -> Result<&str, Box<dyn Error>> {
    match log.first() {
        Some(line) if line.origin == Origin::Runtime => Ok(&line.message),
        Some(line) => {
            Err(format!("the stand-in spoke first: {}", line.message).into())
        }
        None => Err("nothing was logged".into()),
    }
}

/// The folder of the installed package `executorch`: exporter, headers and bindings.
///
/// # Errors
///
/// When it is not installed.
pub fn package() -> Result<PathBuf, Box<dyn Error>> {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/lib");
    for entry in fs::read_dir(lib)? {
        let package = entry?.path().join("site-packages/executorch");
        if package.is_dir() {
            return Ok(package);
        }
    }
    Err("ExecuTorch is not installed; run `cargo xtask setup`".into())
}
