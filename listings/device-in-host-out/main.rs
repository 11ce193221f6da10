//! Inputs on the device and the result on the host, and the mirror of it.

use std::error::Error;

use device::Device;
use executorch::Error as RuntimeError;
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use export::{Exported, Request, pte};
use listings::{
    address, host_values, on_device, on_host, placement, runtime_line, with_device,
};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // All at once: each request alone would start an exporter.
    let names = ["device_to_host", "host_to_device"];
    let requests = names.map(|name| format!("device-in-host-out/{name}").into());
    export::all(&requests as &[Request])?;
    device_to_host(gpu, &pte("device-in-host-out/device_to_host")?)?;
    host_to_device(gpu, &pte("device-in-host-out/host_to_device")?)
}

fn device_to_host(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let (a, b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let before = gpu.counters();
    // ANCHOR: call
    let mut module = Module::new(&program.pte);
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    let sum = host_values(&outputs[0]);
    // ANCHOR_END: call
    let done = gpu.counters().since(&before);
    println!("result: {:.3?} …", &sum[..3]);
    println!("copies: {} in, {} out", done.h2d.calls, done.d2h.calls);
    let seen = gpu.last_call();
    claim(
        Runtime,
        "to-host.answer",
        "Skip the input copy alone: the delegate reads your device memory where it is, and the result comes back to the host in one copy.",
        (done.h2d.calls, done.d2h.calls) == (0, 1)
            && seen[0].data == a.as_ptr().cast()
            && seen[1].data == b.as_ptr().cast(),
    );
    claim(
        StandIn,
        "to-host.ready",
        "No synchronise follows here: our stand-in's copy waits for the delegate's work, and the result equals eager PyTorch bit for bit when `forward` returns.",
        sum == program.eager.outputs[0].f32()?,
    );

    let place = address(&outputs[0]);
    drop(outputs);
    let outputs = module.forward(&[
        on_device(&b, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    println!(
        "second result at the same address: {}",
        address(&outputs[0]) == place
    );
    claim(
        Runtime,
        "to-host.overwritten",
        "The host result is the runtime's buffer too: the next execution writes over it.",
        address(&outputs[0]) == place,
    );
    drop(outputs);

    let refused = module
        .forward(&[
            on_host(&host_a, [8, 8]).into_evalue(),
            on_host(&host_b, [8, 8]).into_evalue(),
        ])
        .err();
    println!("host inputs: {refused:?}");
    claim(
        StandIn,
        "to-host.host-inputs",
        "The runtime passes their pointers on, and the delegate refuses them.",
        refused == Some(RuntimeError::InvalidArgument)
            && gpu.last_call()[0].data == host_a.as_ptr().cast_mut().cast(),
    );
    Ok(())
}

fn host_to_device(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let (a, b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let eager = program.eager.outputs[0].f32()?;
    let before = gpu.counters();
    // ANCHOR: mirror
    let mut module = Module::new(&program.pte);
    let outputs = module.forward(&[
        on_host(&a, [8, 8]).into_evalue(),
        on_host(&b, [8, 8]).into_evalue(),
    ])?;
    let sum = address(&outputs[0]);
    gpu.synchronize()?;
    let read_back = gpu.read(sum, 64)?;
    // ANCHOR_END: mirror
    let done = gpu.counters().since(&before);
    println!(
        "the mirror: {} copies in, {} out, equals eager: {}",
        done.h2d.calls,
        done.d2h.calls,
        read_back == eager
    );
    claim(
        Runtime,
        "to-host.mirror",
        "The mirror skips the output copy alone: host tensors go in with a copy each, and the result stays on the device.",
        (done.h2d.calls, done.d2h.calls) == (2, 0)
            && !outputs[0].as_tensor().device().is_cpu()
            && read_back == eager,
    );
    drop(outputs);

    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    fact(
        Exporter,
        "device-in-host-out.mirror.inputs",
        placement(method.input_tensors()),
    );
    fact(
        Exporter,
        "device-in-host-out.mirror.output",
        placement(method.output_tensors()),
    );
    let on_gpu = gpu.buffer(&a)?;
    gpu.take_log();
    let refused = module
        .forward(&[
            on_device(&on_gpu, [8, 8]).into_evalue(),
            on_device(&on_gpu, [8, 8]).into_evalue(),
        ])
        .err()
        .ok_or("device tensors ran")?;
    let log = gpu.take_log();
    fact(
        Runtime,
        "device-in-host-out.mirror.error",
        format!("{refused:?}"),
    );
    fact(
        Runtime,
        "device-in-host-out.mirror.code",
        format!("{:#x}", refused as u32),
    );
    fact(
        Runtime,
        "device-in-host-out.mirror.log",
        runtime_line(&log)?,
    );
    Ok(())
}
