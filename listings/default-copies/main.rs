//! Every setting at its default: host tensors in and out, and the copies that this costs.

use std::error::Error;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use export::pte;
use listings::{host_values, on_host, placement, with_device};
use proof::Origin::{Runtime, StandIn};
use proof::claim;

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let mut copied = Vec::new();
    let mut host_arenas = Vec::new();
    let mut all_exact = true;
    for name in ["default", "default_unplanned_inputs"] {
        let program = pte(format!("default-copies/{name}"))?;
        let file = pte::Program::open(&program.pte)?;
        let method = file.method("forward").ok_or("no method `forward`")?;
        let host_arena = method.planned_bytes_on(pte::Device::CPU);
        println!(
            "{name}: inputs {}, host arena {host_arena} bytes",
            placement(method.input_tensors())
        );
        host_arenas.push(host_arena);

        let (a, b) = (
            program.eager.inputs[0].f32()?,
            program.eager.inputs[1].f32()?,
        );
        let before = gpu.counters();
        // ANCHOR: call
        let mut module = Module::new(&program.pte);
        let outputs = module.forward(&[
            on_host(&a, [8, 8]).into_evalue(),
            on_host(&b, [8, 8]).into_evalue(),
        ])?;
        let sum = host_values(&outputs[0]);
        // ANCHOR_END: call
        let call = gpu.counters().since(&before);
        all_exact &= sum == program.eager.outputs[0].f32()?;
        println!(
            "  a call copies {} × {} bytes in and {} × {} bytes out",
            call.h2d.calls,
            call.h2d.bytes / call.h2d.calls,
            call.d2h.calls,
            call.d2h.bytes
        );
        copied.push((call.h2d, call.d2h));
    }
    claim(
        Runtime,
        "copies.default",
        "By default each call copies every input to the device and the result back.",
        copied[0].0.calls == 2
            && copied[0].0.bytes == 512
            && copied[0].1.calls == 1
            && copied[0].1.bytes == 256,
    );
    claim(
        Runtime,
        "copies.unplanned-inputs",
        "`alloc_graph_input=False` alone takes the inputs out of the host arena and keeps the copies.",
        copied[0] == copied[1] && host_arenas == [512, 256],
    );
    claim(
        StandIn,
        "copies.exact",
        "Both programs equal eager PyTorch bit for bit.",
        all_exact,
    );
    Ok(())
}
