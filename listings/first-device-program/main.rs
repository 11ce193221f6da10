//! The tutorial: one small model, with its activations on the host and then on the device.

use std::error::Error;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::module::ModuleBuilder;
use export::pte;
use listings::{address, host_values, on_device, on_host, with_device};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let default = pte("first-device-program/default")?;
    let device = pte("first-device-program/device")?;
    let x = default.eager.inputs[0].f32()?;
    let eager = default.eager.outputs[0].f32()?;

    let names: Vec<_> = [&default.pte, &default.ptd[0]]
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    fact(Exporter, "first-device-program.files", names.join(" "));

    let without_data = executorch::module::Module::new(&default.pte)
        .load_method("forward", None, None);
    claim(
        StandIn,
        "install.data-missing",
        "Our stand-in does not load a program with weights without its `.ptd`.",
        without_data == Err(executorch::Error::NotFound),
    );

    // Step 3: host memory in and out.
    let before = gpu.counters();
    // ANCHOR: default
    let mut module = ModuleBuilder::new(&default.pte)
        .data_files(&[&default.ptd[0]])
        .build();
    module.load_method("forward", None, None)?;
    let outputs = module.forward(&[on_host(&x, [1, 16]).into_evalue()])?;
    let y = host_values(&outputs[0]);
    // ANCHOR_END: default
    let call = gpu.counters().since(&before);
    let line = format!(
        "host → host: {} copy in ({} bytes), {} copy out ({} bytes), equals eager: {}",
        call.h2d.calls,
        call.h2d.bytes,
        call.d2h.calls,
        call.d2h.bytes,
        y == eager
    );
    println!("{line}");
    fact(StandIn, "first-device-program.default.line", &line);
    println!("result on the host: {:.3?} …", &y[..3]);
    claim(
        Runtime,
        "first.default-copies",
        "two copies a call: the input to the device, the result back.",
        call.h2d.calls == 1 && call.d2h.calls == 1,
    );
    drop(outputs);
    drop(module);

    let before_load = gpu.counters();
    // Steps 5 and 6: the input is on the device, the result stays there.
    // ANCHOR: on_device
    let x = gpu.buffer(&x)?;
    let input = on_device(&x, [1, 16]);
    // ANCHOR_END: on_device
    // ANCHOR: device
    let mut module = ModuleBuilder::new(&device.pte)
        .data_files(&[&device.ptd[0]])
        .build();
    module.load_method("forward", None, None)?;
    let outputs = module.forward(&[(&input).into_evalue()])?;
    gpu.synchronize()?;
    let first = address(&outputs[0]);
    let on_the_device = gpu.read(first, 8)?;
    // ANCHOR_END: device
    let call = gpu.counters().since(&before_load);
    let line = format!(
        "device → device: {} copies in, {} copies out, equals eager: {}",
        call.h2d.calls,
        call.d2h.calls,
        on_the_device == eager
    );
    println!("{line}");
    fact(StandIn, "first-device-program.device.line", &line);
    println!("result on the device: {:.3?} …", &on_the_device[..3]);
    let weights_at_load = call.weights.calls;
    drop(outputs);

    // Step 7: once more.
    let before = gpu.counters();
    // ANCHOR: again
    let outputs = module.forward(&[(&input).into_evalue()])?;
    gpu.synchronize()?;
    let same_address = address(&outputs[0]) == first;
    // ANCHOR_END: again
    let call = gpu.counters().since(&before);
    let line = format!("same address: {same_address}");
    println!("{line}");
    fact(Runtime, "first-device-program.again.line", &line);
    claim(
        StandIn,
        "first.weights-at-load",
        "the weights were put there when the method was loaded.",
        weights_at_load == 4 && call.weights.calls == 0,
    );
    claim(
        Runtime,
        "first.again",
        "The second call copies nothing either, and its result stands where the first one stood.",
        same_address && call.h2d.calls == 0 && call.d2h.calls == 0,
    );
    claim(
        StandIn,
        "first.same-bits",
        "The same model gives the same bits both ways.",
        y == on_the_device && y == eager,
    );
    Ok(())
}
