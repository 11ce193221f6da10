//! The output in the runtime's own device buffer: where it is, when it is ready, and what the next execution does to it.

use std::error::Error;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use executorch_device::{Code, ScalarType, TensorMut, TensorRef};
use export::pte;
use listings::{address, on_device, with_device};
use proof::Origin::{Runtime, StandIn};
use proof::{claim, fact};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("planned-output/planned_output")?;
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let eager = program.eager.outputs[0].f32()?;
    let (a, b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);

    let before = gpu.counters();
    // ANCHOR: call
    let mut module = Module::new(&program.pte);
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    gpu.synchronize()?;
    let first = address(&outputs[0]);
    // ANCHOR_END: call
    let loaded = gpu.counters();
    let tag_is_cuda = !outputs[0].as_tensor().device().is_cpu();
    let first_result = gpu.read(first, 64)?;
    println!(
        "first result: {:.3?} …\nequals eager: {}",
        &first_result[..3],
        first_result == eager
    );
    // ANCHOR: keep
    let kept = gpu.copy_of(first, 64)?;
    // ANCHOR_END: keep

    // The second execution, b + b.
    drop(outputs);
    let outputs = module.forward(&[
        on_device(&b, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    let second = address(&outputs[0]);
    let unready = gpu.read(second, 64)?;
    gpu.synchronize()?;
    let ready = gpu.read(second, 64)?;
    println!("second result at the same address: {}", first == second);
    println!(
        "through the first pointer: {:.3?} …",
        &gpu.read(first, 64)?[..3]
    );
    let kept = kept.read()?;
    println!("the copy that was kept: {:.3?} …", &kept[..3]);
    let twice_b: Vec<f32> = host_b.iter().map(|value| value + value).collect();

    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    claim(
        Runtime,
        "planned-output.runtime-buffer",
        "The caller gets a tensor tagged CUDA whose pointer lies in the method's own arena: 256 bytes, planned at export.",
        tag_is_cuda
            && method.planned_bytes() == 256
            && loaded.live_bytes - before.live_bytes == 256
            && first != a.as_ptr()
            && first != b.as_ptr(),
    );
    claim(
        Runtime,
        "planned-output.reused",
        "The second execution returns the same address, and the first result has become the second.",
        first == second && gpu.read(first, 64)? == twice_b,
    );
    claim(
        StandIn,
        "planned-output.queued",
        "Before the synchronise the buffer does not hold the result.",
        unready != ready && ready == twice_b,
    );
    claim(
        StandIn,
        "planned-output.keep",
        "A copy queued before the next execution keeps the result.",
        first_result == eager && kept == eager && ready != eager,
    );
    claim(
        Runtime,
        "planned-output.answer",
        "The result stays on the device, in a buffer that the runtime planned and owns, and the next execution of the method overwrites it.",
        tag_is_cuda
            && first == second
            && method
                .output_tensors()
                .all(|output| output.planned.is_some()),
    );
    drop(outputs);
    drop(module);

    // `set_output` on a planned output, and the program afterwards.
    let mut buffer = gpu.empty::<f32>(64)?;
    let mut module = executorch_device::Module::load(&program.pte)?;
    let refused = module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut buffer, ScalarType::Float, &[8, 8])?,
        )
        .err()
        .ok_or("`set_output` was accepted")?;
    fact(
        Runtime,
        "planned-output.set_output.error",
        format!("{:?}", refused.kind()),
    );
    fact(
        Runtime,
        "planned-output.set_output.code",
        format!("{:#x}", refused.code()),
    );
    fact(Runtime, "planned-output.set_output.log", &refused.log()[0]);
    let (a, b) = (
        TensorRef::over(&a, ScalarType::Float, &[8, 8])?,
        TensorRef::over(&b, ScalarType::Float, &[8, 8])?,
    );
    let outputs = module.forward([&a, &b])?;
    gpu.synchronize()?;
    claim(
        Runtime,
        "planned-output.refusal-harmless",
        "A refused `set_output` leaves the module usable.",
        refused.kind() == Code::InvalidState
            && gpu.read(outputs.tensor(0)?.data_ptr() as *const f32, 64)? == eager,
    );
    Ok(())
}
