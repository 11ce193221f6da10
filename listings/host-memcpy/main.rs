//! The one copy in the runtime that still goes wrong without an error, and the one that no longer does.

use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use device::Device;
use executorch::Error as RuntimeError;
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use export::pte;
use listings::{on_device, tagged_cpu, with_device};
use proof::Origin::{Runtime, StandIn};
use proof::claim;

const SIGSEGV: i32 = 11;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("crash") {
        return crash();
    }
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // In a process of its own, so that its death can be seen.
    let child = Command::new(std::env::current_exe()?)
        .arg("crash")
        .env_remove("GUIDE_FACTS")
        .stderr(Stdio::null())
        .output()?;
    let got_there = child.stdout == b"inputs ready\n";
    let killed = got_there && child.status.signal() == Some(SIGSEGV);
    println!(
        "planned host inputs, device memory tagged CPU: {}",
        if killed {
            "killed by SIGSEGV"
        } else {
            "survived"
        }
    );

    let unpaired = pte("host-memcpy/unpaired")?;
    let (a, b) = (
        gpu.buffer(&unpaired.eager.inputs[0].f32()?)?,
        gpu.buffer(&unpaired.eager.inputs[1].f32()?)?,
    );
    let error = Module::new(&unpaired.pte)
        .forward(&[
            on_device(&a, [8, 8]).into_evalue(),
            on_device(&b, [8, 8]).into_evalue(),
        ])
        .err()
        .ok_or("the unpaired program ran")?;
    println!(
        "planned device inputs, device memory tagged CUDA: {error} ({:#x})",
        error as u32
    );

    claim(
        StandIn,
        "memcpy.crash",
        "This runtime still has one path that reads a device pointer from the host: a tensor tagged CPU over device memory, handed to a planned host input. Our fenced memory ends the process there.",
        killed,
    );
    claim(
        Runtime,
        "memcpy.unpaired-is-an-error",
        "The unpaired program, which is reported to have taken that path, is answered with an error.",
        error == RuntimeError::NotSupported,
    );
    Ok(())
}

// ANCHOR: crash
fn crash() -> Result<(), Box<dyn Error>> {
    let gpu = device::install()?;
    let program = pte("host-memcpy/default")?;
    let a = gpu.buffer(&program.eager.inputs[0].f32()?)?;
    let b = gpu.buffer(&program.eager.inputs[1].f32()?)?;
    let mut module = Module::new(&program.pte);
    module.load_method("forward", None, None)?;
    println!("inputs ready");
    module.forward(&[
        tagged_cpu(&a, [8, 8]).into_evalue(),
        tagged_cpu(&b, [8, 8]).into_evalue(),
    ])?;
    Ok(())
}
// ANCHOR_END: crash
