//! Both copies skipped, and three ways to plan the memory: what each program reserves, and which of them runs.

use std::error::Error;

use device::Device;
use executorch::Error as RuntimeError;
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use executorch_device::{ScalarType, TensorMut, TensorRef};
use export::pte;
use listings::{
    address, on_device, on_host, placement, runtime_line, tagged_cpu, with_device,
};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let unpaired = pte("pairing-rule/unpaired")?;
    let paired = pte("pairing-rule/paired")?;
    let upstream_example = pte("pairing-rule/upstream_example")?;
    let (host_a, host_b) =
        (paired.eager.inputs[0].f32()?, paired.eager.inputs[1].f32()?);

    let mut inputs_planned = Vec::new();
    let mut planned_bytes = Vec::new();
    for (name, program) in [
        ("unpaired", &unpaired),
        ("paired", &paired),
        ("upstream_example", &upstream_example),
    ] {
        let file = pte::Program::open(&program.pte)?;
        let method = file.method("forward").ok_or("no method `forward`")?;
        let bytes = method.planned_bytes();
        println!(
            "{name}: {bytes} planned bytes, inputs {}",
            placement(method.input_tensors())
        );
        planned_bytes.push(bytes - method.planned_bytes_on(pte::Device::CPU));
        inputs_planned.push(
            method
                .input_tensors()
                .map(|input| input.planned.is_some())
                .collect::<Vec<_>>(),
        );
    }
    claim(
        Exporter,
        "pairing.plan",
        "With the pair, no graph input is planned; with default planning, every graph input is.",
        inputs_planned == [[true, true], [false, false], [false, false]],
    );
    claim(
        Exporter,
        "pairing.duplicate",
        "Planned inputs would cost 512 bytes of device memory here: a second buffer for two inputs that the caller already holds.",
        planned_bytes[0] - planned_bytes[1] == 512
            && 4 * (host_a.len() + host_b.len()) == 512,
    );
    claim(
        Exporter,
        "pairing.planned-bytes",
        "Default planning reserves 768 bytes on the device, the pair 256, and ExecuTorch's own complete example 0.",
        planned_bytes == [768, 256, 0],
    );

    // ANCHOR: paired
    let a = gpu.buffer(&host_a)?;
    let b = gpu.buffer(&host_b)?;
    let mut module = Module::new(&paired.pte);

    let before = gpu.counters();
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    gpu.synchronize()?;
    let copies = gpu.counters().since(&before);

    let result = gpu.read(address(&outputs[0]), 64)?;
    // ANCHOR_END: paired

    let exact = result == paired.eager.outputs[0].f32()?;
    println!(
        "paired: {} copies in, {} copies out, equals eager: {exact}",
        copies.h2d.calls, copies.d2h.calls
    );
    println!("result: {:.3?} …", &result[..3]);
    let seen = gpu.last_call();
    claim(
        Runtime,
        "pairing.callers-pointer",
        "The runtime takes over the caller's pointer: the delegate reads each input at the address that the caller passed.",
        seen[0].data == a.as_ptr().cast() && seen[1].data == b.as_ptr().cast(),
    );
    claim(
        Runtime,
        "pairing.no-copies",
        "No copy between host and device runs at the method's boundary.",
        copies.h2d.calls == 0 && copies.d2h.calls == 0,
    );
    // ANCHOR: claim
    claim(
        StandIn,
        "pairing.exact",
        "The result equals eager PyTorch bit for bit.",
        exact,
    );
    // ANCHOR_END: claim

    // ExecuTorch's own example, with the output in a buffer of ours.
    let mut sum = gpu.empty::<f32>(64)?;
    let mut module = executorch_device::Module::load(&upstream_example.pte)?;
    module.set_output(
        "forward",
        0,
        TensorMut::over(&mut sum, ScalarType::Float, &[8, 8])?,
    )?;
    module.forward([
        &TensorRef::over(&a, ScalarType::Float, &[8, 8])?,
        &TensorRef::over(&b, ScalarType::Float, &[8, 8])?,
    ])?;
    gpu.synchronize()?;
    drop(module);
    let same = sum.read()? == result;
    println!("upstream_example: the same result in the caller's buffer: {same}");
    claim(
        Runtime,
        "pairing.upstream-example",
        "The complete example runs too, for a caller who supplies the output's buffer.",
        same,
    );

    // The same call on the program that skips the copy and plans the inputs all the same.
    let mut module = Module::new(&unpaired.pte);
    let loads = module.load_method("forward", None, None).is_ok();
    gpu.take_log();
    let on_device_error = module
        .forward(&[
            on_device(&a, [8, 8]).into_evalue(),
            on_device(&b, [8, 8]).into_evalue(),
        ])
        .err()
        .ok_or("the unpaired program took a device tensor")?;
    let device_log = gpu.take_log();
    let on_host_error = module
        .forward(&[
            on_host(&host_a, [8, 8]).into_evalue(),
            on_host(&host_b, [8, 8]).into_evalue(),
        ])
        .err()
        .ok_or("the unpaired program took a host tensor")?;
    let host_log = gpu.take_log();
    println!(
        "unpaired: {on_device_error} ({:#x}): {}",
        on_device_error as u32,
        runtime_line(&device_log)?
    );

    println!("error of the unpaired call: {:#x}", on_device_error as u32);

    fact(Runtime, "pairing-rule.unpaired.error", on_device_error);
    fact(
        Runtime,
        "pairing-rule.unpaired.code",
        format!("{:#x}", on_device_error as u32),
    );
    fact(
        Runtime,
        "pairing-rule.unpaired.device_log",
        runtime_line(&device_log)?,
    );
    let refused = on_device_error == RuntimeError::NotSupported
        && on_host_error == RuntimeError::NotSupported
        && device_log[1].message.ends_with("input 0")
        && runtime_line(&host_log)?
            == runtime_line(&device_log)?.replace("src device 1", "src device 0");
    claim(
        Runtime,
        "pairing.unpaired-refused",
        "The unpaired program loads; its first input is refused, whether the caller's tensor is on the device or on the host.",
        loads && refused,
    );
    claim(
        Runtime,
        "pairing.rule",
        "A skipped input copy needs an unplanned input: pair `skip_h2d_for_method_inputs=True` with `alloc_graph_input=False`.",
        refused && exact,
    );

    // The tag of an unplanned input: only the pointer is taken over.
    let mut module = Module::new(&paired.pte);
    let outputs = module.forward(&[
        tagged_cpu(&a, [8, 8]).into_evalue(),
        tagged_cpu(&b, [8, 8]).into_evalue(),
    ])?;
    gpu.synchronize()?;
    let mistagged = gpu.read(address(&outputs[0]), 64)? == result
        && gpu.last_call()[0].data == a.as_ptr().cast();
    claim(
        Runtime,
        "pairing.tag-unchecked",
        "An unplanned input is not checked against its tag: only the pointer is taken over, so a tensor tagged CPU over device memory runs too.",
        mistagged,
    );
    Ok(())
}
