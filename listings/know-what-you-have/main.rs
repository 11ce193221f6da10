//! The reader's own program on a runtime without CUDA: what it says, and which part is missing.
//!
//! $ cargo run -- paired.pte

use std::error::Error;
use std::sync::Mutex;

use executorch::Error as RuntimeError;
use executorch::module::Module;
use export::pte;
use proof::Origin::{Exporter, Runtime};
use proof::{claim, fact, quoted};

#[path = "project/main.rs"]
#[allow(
    dead_code,
    reason = "its `main` is the reader's; here `report` is called"
)]
mod reader;

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn main() -> Result<(), Box<dyn Error>> {
    // No `device::install()` here: this is the runtime of the plain wheel, as a reader has it.
    executorch_device::set_log_sink(|_, message| {
        LOG.lock().expect("one thread").push(message.to_owned());
    });

    let paired = pte("pairing-rule/paired")?;
    reader::report(paired.pte.to_str().ok_or("a path in UTF-8")?)?;
    let (error, log) = load(&paired)?;
    fact(Runtime, "know-what-you-have.load.error", error);
    fact(
        Runtime,
        "know-what-you-have.load.code",
        format!("{:#x}", error as u32),
    );
    fact(Runtime, "know-what-you-have.load.allocator_log", &log);
    claim(
        Runtime,
        "install.load-fails",
        "A device program on a runtime without CUDA fails when its method loads, and the process lives on.",
        error == RuntimeError::NotFound
            && log.contains("No device allocator registered"),
    );

    let unplanned = pte("pairing-rule/upstream_example")?;
    let (error, log) = load(&unplanned)?;
    fact(Runtime, "know-what-you-have.load.delegate_log", &log);
    claim(
        Runtime,
        "install.delegate-missing",
        "A program that plans nothing on the device gets past the allocator, and then fails for want of the delegate.",
        error == RuntimeError::NotFound && log.contains("CudaBackend"),
    );

    let default = pte::Program::open(pte("default-copies/default")?.pte)?;
    let operators = &default
        .method("forward")
        .ok_or("no method `forward`")?
        .operators;
    claim(
        Exporter,
        "install.copies-are-operators",
        "A program that keeps its copies calls two host operators, `et_copy::_h2d_copy.out` and `et_copy::_d2h_copy.out`.",
        operators
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<&str>>()
            .as_slice()
            == ["et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"],
    );
    let host_program = pte("know-what-you-have/host_program")?;
    let (error, log) = load(&host_program)?;
    fact(
        Runtime,
        "know-what-you-have.kernels.code",
        format!("{:#x}", error as u32),
    );
    fact(Runtime, "know-what-you-have.kernels.log", &log);
    claim(
        Runtime,
        "install.kernels-missing",
        "A program that calls a host operator does not load without the kernels library.",
        error == RuntimeError::OperatorMissing,
    );

    quoted(
        "know-what-you-have.no-gpu.text",
        "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx",
        "c10/cuda/CUDAFunctions.cpp of PyTorch",
        "cf30153c4c",
    );
    Ok(())
}

/// Loads `forward`, which must fail: the error, and the first line that the runtime logged.
fn load(
    program: &export::Exported,
) -> Result<(RuntimeError, String), Box<dyn Error>> {
    LOG.lock().expect("one thread").clear();
    let error = Module::new(&program.pte)
        .load_method("forward", None, None)
        .err()
        .ok_or("it loads")?;
    let first = LOG
        .lock()
        .expect("one thread")
        .first()
        .cloned()
        .ok_or("nothing was logged")?;
    Ok((error, first))
}
