//! The output in the caller's own device buffer: where it lands, and the ways to get it wrong.

use std::error::Error;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch_device::{Code, Module, ScalarType, TensorMut, TensorRef};
use export::pte;
use listings::{on_device, with_device};
use proof::Origin::{Exporter, Library, Runtime, StandIn};
use proof::{claim, fact, quoted};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("caller-output/caller_output")?;
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let eager = program.eager.outputs[0].f32()?;
    let (buffer_a, buffer_b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let planned = pte::Program::open(&program.pte)?
        .method("forward")
        .ok_or("no method `forward`")?
        .planned_bytes();
    println!("planned bytes: {planned}");
    claim(
        Exporter,
        "caller-output.nothing-planned",
        "The program plans no memory at all: 0 bytes.",
        planned == 0,
    );

    let mut other = gpu.empty::<f32>(64)?;
    let mut sum = gpu.empty::<f32>(64)?;
    let own_address = sum.as_ptr();
    // ANCHOR: call
    let a = TensorRef::over(&buffer_a, ScalarType::Float, &[8, 8])?;
    let b = TensorRef::over(&buffer_b, ScalarType::Float, &[8, 8])?;
    let mut module = Module::load(&program.pte)?;
    module.set_output(
        "forward",
        0,
        TensorMut::over(&mut sum, ScalarType::Float, &[8, 8])?,
    )?;

    let outputs = module.forward([&a, &b])?;
    gpu.synchronize()?;
    // ANCHOR_END: call
    let landed = outputs.tensor(0)?.data_ptr() as *const f32;
    let written = gpu.last_call()[2].data as *const f32;
    let first = gpu.read(landed, 64)?;
    println!(
        "the result is at the caller's address: {}",
        landed == own_address
    );
    println!("result: {:.3?} …", &first[..3]);
    println!("equals eager: {}", first == eager);

    // b + b, with nothing set anew.
    module.forward([&b, &b])?;
    gpu.synchronize()?;
    let second = gpu.read(own_address, 64)?;
    let twice_b: Vec<f32> = host_b.iter().map(|value| value + value).collect();
    println!("a second execution writes there too: {}", second == twice_b);
    // And a + b into another buffer.
    module.set_output(
        "forward",
        0,
        TensorMut::over(&mut other, ScalarType::Float, &[8, 8])?,
    )?;
    module.forward([&a, &b])?;
    gpu.synchronize()?;
    drop(module);
    let replaced = other.read()? == eager && sum.read()? == twice_b;

    claim(
        Runtime,
        "caller-output.lands",
        "The result lands at the address that you gave.",
        landed == own_address && written == own_address,
    );
    claim(
        Runtime,
        "caller-output.stays-set",
        "A second execution writes to the same buffer until another `set_output` replaces it.",
        second == twice_b && replaced,
    );
    claim(
        StandIn,
        "caller-output.exact",
        "The result equals eager PyTorch bit for bit.",
        first == eager,
    );

    // Forgotten: the public crate's `Module` has no `set_output`, so nobody can set one.
    let forgotten = executorch::module::Module::new(&program.pte)
        .forward(&[
            on_device(&buffer_a, [8, 8]).into_evalue(),
            on_device(&buffer_b, [8, 8]).into_evalue(),
        ])
        .is_err();
    let null_output = gpu.last_call()[2].data.is_null();
    println!("no output set: the delegate gets a null pointer: {null_output}");
    claim(
        Runtime,
        "caller-output.forgotten",
        "The delegate is called with a null output pointer.",
        forgotten && null_output,
    );

    let unset = Module::load(&program.pte)?
        .forward([&a, &b])
        .err()
        .ok_or("it ran without an output")?;
    fact(Library, "caller-output.forgotten.text", unset.message());

    // Host memory.
    let mut host = vec![0.0_f32; 64];
    let host_address = host.as_ptr();
    let mut module = Module::load(&program.pte)?;
    let accepted = module
        .set_output("forward", 0, TensorMut::host(&mut host, &[8, 8])?)
        .is_ok();
    let refused = module
        .forward([&a, &b])
        .err()
        .ok_or("host memory was written")?;
    let offered = gpu.last_call()[2].data as *const f32;
    println!("host memory: accepted by `set_output`: {accepted}");
    claim(
        Runtime,
        "caller-output.host-accepted",
        "`set_output` accepts a host tensor, and the delegate is handed its pointer.",
        accepted && offered == host_address,
    );
    claim(
        StandIn,
        "caller-output.host-refused",
        "The execution then fails.",
        refused.kind() == Code::InvalidArgument,
    );

    quoted(
        "caller-output.host.text",
        "Tensor N has device_type=CUDA but its data pointer P is not backed by CUDA device memory (cudaPointerGetAttributes err=0, cudaMemoryType=0).",
        "backends/cuda/runtime/cuda_backend.cpp",
        "cff6f4dd32",
    );

    // Too small.
    let mut small = gpu.empty::<f32>(32)?;
    let small = TensorMut::over(&mut small, ScalarType::Float, &[4, 8])?;
    let refused = Module::load(&program.pte)?
        .set_output("forward", 0, small)
        .err()
        .ok_or("a small buffer was accepted")?;
    let too_small =
        refused.kind() == Code::InvalidArgument && refused.log().is_empty();
    claim(
        Library,
        "caller-output.too-small",
        "`executorch-device` refuses a buffer that is too small before the runtime sees it.",
        too_small,
    );

    // Planned after all.
    let mut third = gpu.empty::<f32>(64)?;
    let planned = pte("caller-output/planned")?;
    let mut module = Module::load(&planned.pte)?;
    let refused = module
        .set_output(
            "forward",
            0,
            TensorMut::over(&mut third, ScalarType::Float, &[8, 8])?,
        )
        .err()
        .ok_or("`set_output` was accepted")?;
    println!(
        "planned output: {:?} ({:#x}): {}",
        refused.kind(),
        refused.code(),
        refused.log()[0]
    );
    fact(
        Runtime,
        "caller-output.planned.error",
        format!("{:?}", refused.kind()),
    );
    fact(
        Runtime,
        "caller-output.planned.code",
        format!("{:#x}", refused.code()),
    );
    fact(Runtime, "caller-output.planned.log", &refused.log()[0]);

    let kept = pte::Program::open(pte("caller-output/kept_copy")?.pte)?;
    let output = kept
        .method("forward")
        .and_then(|method| method.output_tensors().next())
        .ok_or("no output")?;
    claim(
        Exporter,
        "caller-output.needs-skip",
        "without the skip, the output is planned on the host whatever you ask for.",
        output.planned.is_some() && output.device.is_cpu(),
    );
    Ok(())
}
