//! A model of which a part runs on the CPU: what each tensor wants, what is copied, and three shapes that bite.

use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use executorch_device::{ScalarType, TensorRef};
use export::{
    ExecutorchBackendConfig, Exported, MemoryPlanningPass, Model,
    PropagateDeviceConfig, Request, pte,
};
use listings::{Shell, address, host_values, on_device, on_host, with_device};
use proof::Origin::{Exporter, Library, Runtime, StandIn};
use proof::{claim, fact, quoted};
use pte::command::FINE;

const SIGSEGV: i32 = 11;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("crash") {
        return crash();
    }
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // All at once: each request alone would start an exporter.
    let refusal = export::all(&requests())?.remove(0).err();
    let program = pte("mixed-models/mixed")?;
    call(gpu, &program)?;
    look(&program)?;
    device_tensor_for_the_cpu(gpu, &program)?;
    host_inputs(gpu)?;
    input_with_two_users(refusal)?;
    output_with_two_users(gpu)?;
    two_delegates(gpu)
}

/// Each tensor where the program wants it.
fn call(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let [a, b, c] = inputs(program)?;
    let (a, b) = (gpu.buffer(&a)?, gpu.buffer(&b)?);
    let before = gpu.counters();
    // ANCHOR: call
    let mut module = Module::new(&program.pte);
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
        on_host(&c, [8, 8]).into_evalue(),
    ])?;
    let square = host_values(&outputs[1]);
    gpu.synchronize()?;
    let sum = gpu.read(address(&outputs[0]), 64)?;
    // ANCHOR_END: call
    let done = gpu.counters().since(&before);
    println!(
        "sum on the device: {:.3?} …\nsquare on the host: {:.3?} …\ncopies: {} in, {} out",
        &sum[..3],
        &square[..3],
        done.h2d.calls,
        done.d2h.calls
    );
    claim(
        Runtime,
        "mixed.answer",
        "The delegate's inputs and results stay on the device, those of a CPU operator stay on the host, and nothing is copied between the two.",
        done.h2d.calls == 0
            && done.d2h.calls == 0
            && !outputs[0].as_tensor().device().is_cpu(),
    );
    claim(
        StandIn,
        "mixed.exact",
        "Both results equal eager PyTorch bit for bit.",
        sum == program.eager.outputs[0].f32()?
            && square == program.eager.outputs[1].f32()?,
    );
    Ok(())
}

/// What the file alone says.
fn look(program: &Exported) -> Result<(), Box<dyn Error>> {
    let shell = Shell::with(&[(&program.pte, "mixed.pte")])?;
    println!("$ pte show mixed.pte");
    print!("{}", shell.types("pte show mixed.pte").stdout);
    let found = shell.types("pte check --deny warning mixed.pte").stdout;
    claim(
        Library,
        "mixed.check",
        "`pte check` finds both in the file: the mixed contract (`L6`), and the CPU operator whose input nothing guards (`L14`).",
        found.contains("[L6]") && found.contains("[L14]"),
    );
    Ok(())
}

/// All three inputs on the device.
fn device_tensor_for_the_cpu(
    gpu: Device,
    program: &Exported,
) -> Result<(), Box<dyn Error>> {
    // In a process of its own, so that its death can be seen.
    let child = Command::new(std::env::current_exe()?)
        .arg("crash")
        .env_remove("GUIDE_FACTS")
        .stderr(Stdio::null())
        .output()?;
    let killed =
        child.stdout == b"inputs ready\n" && child.status.signal() == Some(SIGSEGV);
    println!(
        "input 2 on the device: {}",
        if killed {
            "killed by SIGSEGV"
        } else {
            "survived"
        }
    );
    claim(
        StandIn,
        "mixed.crash",
        "Nothing checks it: the CPU operator reads the device address, and the process dies by SIGSEGV.",
        killed,
    );

    let [a, b, c] = inputs(program)?;
    let (a, b, c) = (gpu.buffer(&a)?, gpu.buffer(&b)?, gpu.buffer(&c)?);
    let mut module = executorch_device::Module::load(&program.pte)?;
    let refused = module
        .forward([
            &TensorRef::over(&a, ScalarType::Float, &[8, 8])?,
            &TensorRef::over(&b, ScalarType::Float, &[8, 8])?,
            &TensorRef::over(&c, ScalarType::Float, &[8, 8])?,
        ])
        .err()
        .ok_or("`executorch-device` passed a device tensor to a CPU operator")?;
    fact(Library, "mixed-models.refused.text", refused.message());
    fact(
        Library,
        "mixed-models.refused.code",
        format!("{:#x}", refused.code()),
    );
    Ok(())
}

/// The input copies kept, the inputs planned: the same mistake, and the call that is right.
fn host_inputs(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("mixed-models/host_inputs")?;
    let [a, b, c] = inputs(&program)?;
    let on_gpu = gpu.buffer(&c)?;
    let mut module = Module::new(&program.pte);
    gpu.take_log();
    let refused = module
        .forward(&[
            on_host(&a, [8, 8]).into_evalue(),
            on_host(&b, [8, 8]).into_evalue(),
            on_device(&on_gpu, [8, 8]).into_evalue(),
        ])
        .err();
    let log = gpu.take_log();
    let text = listings::runtime_line(&log)?;
    fact(Runtime, "mixed-models.guarded.text", text);
    claim(
        Runtime,
        "mixed.guarded",
        "With planned inputs the same mistake is refused with `NotSupported`, and the process lives.",
        refused == Some(executorch::Error::NotSupported),
    );

    let before = gpu.counters();
    let outputs = module.forward(&[
        on_host(&a, [8, 8]).into_evalue(),
        on_host(&b, [8, 8]).into_evalue(),
        on_host(&c, [8, 8]).into_evalue(),
    ])?;
    gpu.synchronize()?;
    let done = gpu.counters().since(&before);
    let sum = gpu.read(address(&outputs[0]), 64)?;
    println!(
        "all inputs on the host and planned: {} copies in, {} out",
        done.h2d.calls, done.d2h.calls
    );
    claim(
        Runtime,
        "mixed.host-inputs",
        "From host inputs only the delegate's two are copied to the device.",
        done.h2d.calls == 2
            && done.d2h.calls == 0
            && sum == program.eager.outputs[0].f32()?
            && host_values(&outputs[1]) == program.eager.outputs[1].f32()?,
    );
    Ok(())
}

/// `a + b` and `a * a`: the exporter will not skip the copy of `a`.
fn input_with_two_users(
    refusal: Option<export::Error>,
) -> Result<(), Box<dyn Error>> {
    let (kind, message) = match refusal {
        Some(export::Error::Python { kind, message, .. }) => (kind, message),
        Some(other) => return Err(other.into()),
        None => return Err("a placeholder with two users was exported".into()),
    };
    fact(Exporter, "mixed-models.two-users.kind", kind);
    fact(Exporter, "mixed-models.two-users.text", message);
    Ok(())
}

/// `a + b`, and the square of that.
fn output_with_two_users(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte(skipped(Model::OutputUsedTwice, true))?;
    let [a, b] = inputs(&program)?;
    let (a, b) = (gpu.buffer(&a)?, gpu.buffer(&b)?);
    let before = gpu.counters();
    let mut module = Module::new(&program.pte);
    let outputs = module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
    ])?;
    let done = gpu.counters().since(&before);
    let on_host = outputs[0].as_tensor().device().is_cpu();
    println!(
        "an output that a CPU operator also uses: on the host: {on_host}, {} copy out",
        done.d2h.calls
    );
    claim(
        Exporter,
        "mixed.output-two-users",
        "The skip is then left out without a word: the result is on the host, after one copy that both share.",
        on_host
            && done.d2h.calls == 1
            && host_values(&outputs[0]) == program.eager.outputs[0].f32()?
            && host_values(&outputs[1]) == program.eager.outputs[1].f32()?,
    );

    let broken = pte(skipped(Model::OutputUsedTwice, false))?;
    let file = pte::Program::open(&broken.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    claim(
        Exporter,
        "mixed.output-two-users-unplanned",
        "With `alloc_graph_output=False` the delegate's result then has no memory, and no caller can supply it.",
        method.unreachable.len() == 1,
    );
    Ok(())
}

/// `(a + b) * c`, each operator a delegate of its own.
fn two_delegates(gpu: Device) -> Result<(), Box<dyn Error>> {
    let both_skipped = pte(skipped(Model::InARow, true))?;
    let both_made = pte(both_copies(Model::InARow))?;
    let file = pte::Program::open(&both_skipped.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    let nothing_between = method.chain.len() == 2
        && method
            .chain
            .iter()
            .all(|step| matches!(step, pte::Step::Delegate(_)));
    claim(
        Exporter,
        "mixed.nothing-between",
        "With both copies skipped, the program calls one delegate and then the other, with nothing between them.",
        nothing_between,
    );

    let shell = Shell::with(&[(&both_skipped.pte, "row.pte")])?;
    claim(
        Library,
        "mixed.check-is-silent",
        "`pte check` does not warn of two delegates in a row.",
        shell.types("pte check --deny warning row.pte").code == FINE,
    );
    drop(shell);

    let [a, b, c] = inputs(&both_skipped)?;
    let eager = both_skipped.eager.outputs[0].f32()?;
    let buffers = [gpu.buffer(&a)?, gpu.buffer(&b)?, gpu.buffer(&c)?];
    let mut module = Module::new(&both_skipped.pte);
    let tensors = buffers.each_ref().map(|buffer| on_device(buffer, [8, 8]));
    let outputs =
        module.forward(&tensors.each_ref().map(IntoEValue::into_evalue))?;
    gpu.synchronize()?;
    let right = gpu.read(address(&outputs[0]), 64)? == eager;
    println!("two delegates, both copies skipped: succeeds, right: {right}");
    claim(
        StandIn,
        "mixed.race",
        "Our stand-in gives each delegate a stream of its own. There `forward` succeeds, and the result is wrong.",
        !right,
    );

    let mut module = Module::new(&both_made.pte);
    let outputs = module.forward(&[
        on_host(&a, [8, 8]).into_evalue(),
        on_host(&b, [8, 8]).into_evalue(),
        on_host(&c, [8, 8]).into_evalue(),
    ])?;
    let right = host_values(&outputs[0]) == eager;
    println!("two delegates, both copies made: right: {right}");
    claim(
        StandIn,
        "mixed.kept-is-right",
        "The same model with both copies made gives the right result there.",
        right,
    );
    quoted(
        "mixed-models.stream.log",
        "Created new CUDA stream %p for method %s",
        "backends/cuda/runtime/cuda_backend.cpp",
        "cff6f4dd32",
    );
    quoted(
        "mixed-models.stream.option",
        "use_shared_cuda_stream",
        "backends/cuda/runtime/cuda_backend.cpp",
        "cff6f4dd32",
    );
    Ok(())
}

fn requests() -> Vec<Request> {
    vec![
        skipped(Model::InputUsedTwice, true),
        "mixed-models/mixed".into(),
        "mixed-models/host_inputs".into(),
        skipped(Model::OutputUsedTwice, true),
        skipped(Model::OutputUsedTwice, false),
        skipped(Model::InARow, true),
        both_copies(Model::InARow),
    ]
}

/// Both copies skipped, the inputs unplanned.
fn skipped(model: Model, alloc_graph_output: bool) -> Request {
    let config = ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_h2d_for_method_inputs: true.into(),
            skip_d2h_for_method_outputs: true.into(),
        }
        .into(),
        memory_planning_pass: MemoryPlanningPass {
            alloc_graph_input: false,
            alloc_graph_output,
            ..MemoryPlanningPass::default()
        }
        .into(),
        ..ExecutorchBackendConfig::default()
    };
    Request::Config { model, config }
}

/// ExecuTorch's defaults.
fn both_copies(model: Model) -> Request {
    let config = ExecutorchBackendConfig::default();
    Request::Config { model, config }
}

/// The inputs that the program was exported with.
fn inputs<const N: usize>(
    program: &Exported,
) -> Result<[Vec<f32>; N], Box<dyn Error>> {
    let values: Result<Vec<_>, _> = program
        .eager
        .inputs
        .iter()
        .map(export::Tensor::f32)
        .collect();
    values?.try_into().map_err(|values: Vec<_>| {
        format!("{} inputs, not {N}", values.len()).into()
    })
}

// ANCHOR: crash
fn crash() -> Result<(), Box<dyn Error>> {
    let gpu = device::install()?;
    let program = pte("mixed-models/mixed")?;
    let [a, b, c] = inputs(&program)?;
    let (a, b, c) = (gpu.buffer(&a)?, gpu.buffer(&b)?, gpu.buffer(&c)?);
    let mut module = Module::new(&program.pte);
    module.load_method("forward", None, None)?;
    println!("inputs ready");
    module.forward(&[
        on_device(&a, [8, 8]).into_evalue(),
        on_device(&b, [8, 8]).into_evalue(),
        on_device(&c, [8, 8]).into_evalue(),
    ])?;
    Ok(())
}
// ANCHOR_END: crash
