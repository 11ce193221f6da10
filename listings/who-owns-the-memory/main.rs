//! Which side allocates, what is copied when an input is set, and how long each buffer is used.
#![allow(unsafe_code)]

use std::error::Error;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::tensor::{TensorPtrBuilder, View};
use executorch_device::{Module, ScalarType, TensorRef};
use export::pte;
use listings::with_device;
use proof::Origin::{Library, Runtime};
use proof::claim;

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // The arena table of a program that takes device pointers alone.
    let unplanned = pte("who-owns-the-memory/unplanned")?;
    let mut module = executorch::module::Module::new(&unplanned.pte);
    let meta = module.method_meta("forward")?;
    let mut device_arenas = 0;
    for index in 0..meta.num_memory_planned_buffers() {
        device_arenas +=
            u32::from(!meta.memory_planned_buffer_device(index)?.is_cpu());
    }
    let takes_device_pointers = pte::Program::open(&unplanned.pte)?
        .method("forward")
        .is_some_and(|m| m.input_tensors().all(|t| !t.device.is_cpu()));
    println!(
        "fully unplanned program: {device_arenas} device arenas, device inputs: {takes_device_pointers}"
    );
    claim(
        Runtime,
        "owners.arena-table-silent",
        "The fully unplanned program has no arena on the device, although it accepts device pointers alone.",
        device_arenas == 0 && takes_device_pointers,
    );

    // What the program computes with when the caller's memory changes between `set_input` and the execution.
    let planned = changed_after_set_input("planned_inputs")?;
    let in_place = changed_after_set_input("unplanned_inputs")?;
    println!(
        "planned input, changed after it was set: the program computes with the {} values",
        words(planned)
    );
    println!(
        "unplanned input, changed after it was set: the program computes with the {} values",
        words(in_place)
    );
    claim(
        Runtime,
        "owners.planned-is-a-copy",
        "A planned input is filled by a copy from the caller's memory into the arena. An unplanned input is a pointer: the runtime reads the caller's memory where it is.",
        !planned && in_place,
    );

    let again = executed_twice("planned_inputs")?;
    println!("planned input, set once: a second execution: {again}");
    claim(
        Library,
        "owners.planned-set-again",
        "A planned input must be given again before each execution, since memory planning may give its bytes to a later tensor: `executorch-device` refuses a second execution without it.",
        again == "InvalidState",
    );

    // Set once, executed twice.
    let program = pte("who-owns-the-memory/planned_output")?;
    let a = gpu.buffer(&program.eager.inputs[0].f32()?)?;
    let b = gpu.buffer(&program.eager.inputs[1].f32()?)?;
    let mut module = Module::load(&program.pte)?;
    module.set_input(
        "forward",
        0,
        TensorRef::over(&a, ScalarType::Float, &[8, 8])?,
    )?;
    module.set_input(
        "forward",
        1,
        TensorRef::over(&b, ScalarType::Float, &[8, 8])?,
    )?;
    module.execute_held("forward")?;
    module.execute_held("forward")?;
    let seen = gpu.last_call();
    let kept =
        seen[0].data == a.as_ptr().cast() && seen[1].data == b.as_ptr().cast();
    println!(
        "a second execution without new inputs reads the same addresses: {kept}"
    );
    claim(
        Runtime,
        "owners.input-pointer-kept",
        "The runtime keeps the pointer after the call: a second execution without new inputs reads the same addresses.",
        kept,
    );

    gpu.synchronize()?;
    let loaded = gpu.counters().live_bytes;
    module.unload_method("forward");
    let freed = loaded - gpu.counters().live_bytes;
    println!("unloading the method frees {freed} bytes of device memory");
    claim(
        Runtime,
        "owners.unload-frees",
        "Unloading the method frees its device arena at once.",
        freed == 256,
    );
    Ok(())
}

/// Sets host inputs once and executes twice: what the second execution answers.
fn executed_twice(name: &str) -> Result<String, Box<dyn Error>> {
    let program = pte(format!("who-owns-the-memory/{name}"))?;
    let (a, b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let mut module = Module::load(&program.pte)?;
    module.set_input("forward", 0, TensorRef::host(&a, &[8, 8])?)?;
    module.set_input("forward", 1, TensorRef::host(&b, &[8, 8])?)?;
    module.execute_held("forward")?;
    let second = module.execute_held("forward");
    Ok(second
        .map_or_else(|error| format!("{:?}", error.kind()), |_| "runs".to_owned()))
}

/// Sets host inputs, doubles the first in place, executes; whether the program saw the change.
fn changed_after_set_input(name: &str) -> Result<bool, Box<dyn Error>> {
    let program = pte(format!("who-owns-the-memory/{name}"))?;
    let mut a = program.eager.inputs[0].f32()?;
    let b = program.eager.inputs[1].f32()?;
    let before: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let after: Vec<f32> = a.iter().zip(&b).map(|(a, b)| 2.0 * a + b).collect();

    let address = a.as_mut_ptr();
    // SAFETY: 64 floats that live until the end of this function, as the module does not; the change below goes through
    // the same pointer, while nothing reads.
    let first = unsafe { TensorPtrBuilder::<View<f32>>::from_ptr(address, [8, 8]) }
        .build()?;
    // SAFETY: 64 floats that outlive the module.
    let second =
        unsafe { TensorPtrBuilder::<View<f32>>::from_ptr(b.as_ptr(), [8, 8]) }
            .build()?;
    let (first, second) = (first.into_evalue(), second.into_evalue());
    let mut module = Module::load(&program.pte)?;
    module.set_input("forward", 0, &first)?;
    module.set_input("forward", 1, &second)?;
    for index in 0..64 {
        // SAFETY: within the 64 floats, which no reference covers.
        unsafe { *address.add(index) *= 2.0 };
    }
    let outputs = module.execute_held("forward")?;
    let sum = outputs.tensor(0)?.as_slice::<f32>()?.to_vec();
    match (sum == before, sum == after) {
        (true, false) => Ok(false),
        (false, true) => Ok(true),
        _ => Err(format!("{name}: neither sum").into()),
    }
}

fn words(saw_the_change: bool) -> &'static str {
    if saw_the_change { "new" } else { "old" }
}
