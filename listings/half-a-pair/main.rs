//! A kept output copy with an unplanned output: what each caller meets, why, and the setting that works.

use std::error::Error;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::tensor::{TensorPtr, View};
use executorch_device::{Code, Module, ScalarType, TensorMut};
use export::pte;
use listings::{host_values, on_device, on_host, placement, with_device};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let half = pte("half-a-pair/half")?;
    let (host_a, host_b) =
        (half.eager.inputs[0].f32()?, half.eager.inputs[1].f32()?);
    let (a, b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let on_the_device = [on_device(&a, [8, 8]), on_device(&b, [8, 8])];
    let on_the_host = [on_host(&host_a, [8, 8]), on_host(&host_b, [8, 8])];
    let runs = |program: &export::Exported,
                inputs: &[TensorPtr<'_, View<f32>>; 2]| {
        executorch::module::Module::new(&program.pte)
            .forward(&inputs.each_ref().map(IntoEValue::into_evalue))
            .is_ok()
    };

    let file = pte::Program::open(&half.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    println!(
        "output {}, tensors that nobody can reach: {}",
        placement(method.output_tensors()),
        method.unreachable.len()
    );
    let lost = method.unreachable.first().copied();
    let unreachable_is_the_delegates = method.unreachable.len() == 1
        && lost
            .and_then(|value| method.tensor(value))
            .is_some_and(|tensor| !tensor.device.is_cpu())
        && method.chain.iter().any(|step| match step {
            pte::Step::Delegate(call) => call.args.last().copied() == lost,
            _ => false,
        });
    claim(
        Exporter,
        "half.host-output-planned",
        "The planner plans the *host* output, although `alloc_graph_output=False` asked for none.",
        method
            .output_tensors()
            .all(|output| output.planned.is_some() && output.device.is_cpu()),
    );
    claim(
        Exporter,
        "half.device-output-lost",
        "At the same time the delegate's own output, on the device, is left without memory: it is neither planned, nor an input or output that a caller could supply.",
        unreachable_is_the_delegates,
    );

    let device_inputs = runs(&half, &on_the_device);
    let null_output = gpu
        .last_call()
        .last()
        .is_some_and(|output| output.data.is_null());
    println!(
        "device inputs: runs: {device_inputs}, output pointer null: {null_output}"
    );
    claim(
        Runtime,
        "half.null-output",
        "The delegate is called with a null pointer.",
        null_output,
    );
    let host_inputs = runs(&half, &on_the_host);
    println!("host inputs: runs: {host_inputs}");

    let mut sum = gpu.empty::<f32>(64)?;
    let mut module = Module::load(&half.pte)?;
    let refused = module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut sum, ScalarType::Float, &[8, 8])?,
        )
        .err()
        .ok_or("`set_output` was accepted")?;
    println!("set_output: {:?} ({:#x})", refused.kind(), refused.code());
    fact(
        Runtime,
        "half-a-pair.set_output.error",
        format!("{:?}", refused.kind()),
    );
    fact(
        Runtime,
        "half-a-pair.set_output.code",
        format!("{:#x}", refused.code()),
    );
    fact(Runtime, "half-a-pair.set_output.log", &refused.log()[0]);
    claim(
        StandIn,
        "half.cannot-run",
        "A program that keeps its output copy must plan its output: `alloc_graph_output=False` makes a program that no caller can run.",
        !device_inputs && !host_inputs && refused.kind() == Code::InvalidState,
    );

    let whole = pte("half-a-pair/whole")?;
    let before = gpu.counters();
    let mut module = executorch::module::Module::new(&whole.pte);
    let outputs =
        module.forward(&on_the_device.each_ref().map(IntoEValue::into_evalue))?;
    let call = gpu.counters().since(&before);
    let exact = host_values(&outputs[0]) == whole.eager.outputs[0].f32()?;
    println!(
        "alloc_graph_output=True: runs, {} copy out, equals eager: {exact}",
        call.d2h.calls
    );
    claim(
        Runtime,
        "half.fixed",
        "With `alloc_graph_output=True` the same program runs, with one copy of the result to the host.",
        exact && call.d2h.calls == 1 && call.h2d.calls == 0,
    );

    let both_kept = runs(&pte("half-a-pair/both_kept")?, &on_the_host);
    let mut again = gpu.empty::<f32>(64)?;
    let settable = Module::load(pte("half-a-pair/both_kept")?.pte)?
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut again, ScalarType::Float, &[8, 8])?,
        )
        .is_ok();
    let null_again = gpu
        .last_call()
        .last()
        .is_some_and(|output| output.data.is_null());
    println!("both copies kept, output unplanned: runs: {both_kept}");
    claim(
        StandIn,
        "half.default-too",
        "The same holds with both copies kept.",
        !both_kept && null_again && !settable,
    );
    Ok(())
}
