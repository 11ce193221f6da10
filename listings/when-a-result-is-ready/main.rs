//! What is there when `forward` returns, and what waits for what.

use std::error::Error;

use device::{Device, POISON};
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use export::{Exported, Request, pte};
use listings::{address, host_values, on_device, on_host, with_device};
use proof::Origin::StandIn;
use proof::{claim, quoted, table};

/// What the programs' copies are, and their names.
const PROGRAMS: [(&str, &str); 4] = [
    ("none skipped", "default-copies/default"),
    (
        "`skip_h2d_for_method_inputs`",
        "device-in-host-out/device_to_host",
    ),
    (
        "`skip_d2h_for_method_outputs`",
        "device-in-host-out/host_to_device",
    ),
    ("both skipped", "planned-output/planned_output"),
];

const COUNT: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // All at once: each request alone would start an exporter.
    let requests = PROGRAMS.map(|(_, name)| name.into());
    export::all(&requests as &[Request])?;
    let mut seen = Vec::new();
    for (skipped, name) in PROGRAMS {
        let ready = when(gpu, &pte(name)?)?;
        println!(
            "{skipped}: at the return {}, after a synchronise {}",
            ready.at_return, ready.synchronised
        );
        seen.push((skipped, ready));
    }
    let rows = seen.iter().map(|(skipped, ready)| {
        vec![
            (*skipped).to_owned(),
            ready.side().to_owned(),
            ready.at_return.to_owned(),
            ready.synchronised.to_owned(),
            ready.queued.to_string(),
        ]
    });
    let header = [
        "copies",
        "the result is on",
        "when `forward` returns",
        "after a synchronise",
        "executions still queued at the return",
    ];
    table(
        StandIn,
        "when-a-result-is-ready.programs",
        &header,
        rows.collect(),
    );
    claim(
        StandIn,
        "ready.answer",
        "A result on the host is ready when `forward` returns; a result on the device is not, and a synchronise makes it ready.",
        seen.iter().all(|(_, ready)| {
            let early = if ready.on_host {
                "the result"
            } else {
                "poison"
            };
            ready.at_return == early && ready.synchronised == "the result"
        }),
    );
    claim(
        StandIn,
        "ready.waits",
        "The output copy is what waits: the programs that keep it have no work left when `forward` returns.",
        seen.iter()
            .all(|(_, ready)| ready.on_host == (ready.queued == 0)),
    );
    host_inputs(gpu)?;
    in_order(gpu)?;
    quoted(
        "when-a-result-is-ready.copy",
        "err = cudaMemcpy(dst, src, nbytes, kind);",
        "backends/cuda/runtime/cuda_allocator.cpp",
        "cff6f4dd32",
    );
    quoted(
        "when-a-result-is-ready.wait",
        "err = cudaStreamSynchronize(*caller_stream);",
        "backends/cuda/runtime/cuda_allocator.cpp",
        "cff6f4dd32",
    );
    quoted(
        "when-a-result-is-ready.graph",
        "CUDA graph is not supported together with a caller-provided CUDA stream.",
        "backends/cuda/runtime/cuda_backend.cpp",
        "cff6f4dd32",
    );
    Ok(())
}

/// What one program's caller has, and when.
struct Ready {
    on_host: bool,
    at_return: &'static str,
    synchronised: &'static str,
    queued: u64,
}

impl Ready {
    fn side(&self) -> &'static str {
        if self.on_host {
            "the host"
        } else {
            "the device"
        }
    }
}

/// The second of two executions: the buffer holds the first result's bytes before it.
fn when(gpu: Device, program: &Exported) -> Result<Ready, Box<dyn Error>> {
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let eager = program.eager.outputs[0].f32()?;
    let (a, b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    let from_host = method
        .input_tensors()
        .all(|input| input.device.device_type == pte::DeviceType::Cpu);
    let tensor = |host, device| {
        if from_host {
            on_host(host, [8, 8])
        } else {
            on_device(device, [8, 8])
        }
    };
    let mut module = Module::new(&program.pte);
    let (first, second) = (tensor(&host_a, &a), tensor(&host_b, &b));
    drop(module.forward(&[second.into_evalue(), second.into_evalue()])?);
    gpu.synchronize()?;

    let before = gpu.counters();
    let outputs = module.forward(&[first.into_evalue(), second.into_evalue()])?;
    let work = gpu.counters().since(&before);
    let is_on_host = outputs[0].as_tensor().device().is_cpu();
    let read = || -> Result<&'static str, Box<dyn Error>> {
        let values = if is_on_host {
            host_values(&outputs[0])
        } else {
            gpu.read(address(&outputs[0]), COUNT)?
        };
        Ok(if values == eager {
            "the result"
        } else if values.iter().all(|value| value.to_bits() == POISON) {
            "poison"
        } else {
            "something else"
        })
    };
    let at_return = read()?;
    gpu.synchronize()?;
    Ok(Ready {
        on_host: is_on_host,
        at_return,
        synchronised: read()?,
        queued: work.enqueued - work.finished,
    })
}

/// Host inputs that change as soon as `forward` has returned.
fn host_inputs(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("device-in-host-out/host_to_device")?;
    let (mut a, mut b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let mut module = Module::new(&program.pte);
    let outputs = module.forward(&[
        on_host(&a, [8, 8]).into_evalue(),
        on_host(&b, [8, 8]).into_evalue(),
    ])?;
    a.fill(0.0);
    b.fill(0.0);
    gpu.synchronize()?;
    let result = gpu.read(address(&outputs[0]), COUNT)?;
    claim(
        StandIn,
        "ready.host-inputs",
        "Host inputs that the program copies may be overwritten when `forward` returns, before the result is ready.",
        result == program.eager.outputs[0].f32()?,
    );
    Ok(())
}

/// A result that is copied and fed to the next execution while nothing has run yet.
fn in_order(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("planned-output/planned_output")?;
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let (a, b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let mut module = Module::new(&program.pte);
    let before = gpu.counters();
    // ANCHOR: order
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    let sum = gpu.copy_of(address(&outputs[0]), COUNT)?;
    drop(outputs);
    let outputs = module.forward(&[
        on_device(&sum, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    // Nothing has waited until here.
    gpu.synchronize()?;
    // ANCHOR_END: order
    let work = gpu.counters().since(&before);
    let result = gpu.read(address(&outputs[0]), COUNT)?;
    let expected: Vec<f32> =
        host_a.iter().zip(&host_b).map(|(a, b)| a + b + b).collect();
    println!("a + b, then + b: {:.3?} …", &result[..3]);
    claim(
        StandIn,
        "ready.order",
        "Executions of one method, and copies on the device between them, need no synchronise in between: they run in the order in which they were queued.",
        result == expected && work.enqueued == 2 && work.races == 0,
    );
    Ok(())
}
