//! The weights in their data file: how to load it, and what a missing, a wrong and a damaged one answer.

use std::error::Error;
use std::fs;
use std::path::Path;

use device::Device;
use executorch::Error as RuntimeError;
use executorch::evalue::IntoEValue;
use executorch::module::ModuleBuilder;
use export::{
    ExecutorchBackendConfig, Exported, MemoryPlanningPass, Model,
    PropagateDeviceConfig, Request, pte,
};
use listings::{Shell, address, on_device, runtime_line, with_device};
use proof::Origin::{Exporter, Library, Runtime, StandIn};
use proof::{claim, fact, quoted};
use pte::command::{FINE, FOUND};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // All at once: each request alone would start an exporter.
    export::all(&[
        "load-the-weights/weights".into(),
        "load-the-weights/shared_weights".into(),
        "first-device-program/device".into(),
        not_owned(),
    ])?;
    let program = pte("load-the-weights/weights")?;
    call(gpu, &program)?;
    look(&program)?;
    bad_data_files(gpu, &program)?;
    two_methods(gpu)?;
    weights_outside_the_delegate(gpu)
}

/// With the data file.
fn call(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let [data_file] = program.ptd.as_slice() else {
        return Err("not one data file".into());
    };
    let x = gpu.buffer(&program.eager.inputs[0].f32()?)?;
    let before = gpu.counters();
    // ANCHOR: call
    let mut module = ModuleBuilder::new(&program.pte)
        .data_files(&[data_file])
        .build();
    module.load_method("forward", None, None)?;
    let outputs = module.forward(&[on_device(&x, [8, 8]).into_evalue()])?;
    gpu.synchronize()?;
    let y = gpu.read(address(&outputs[0]), 64)?;
    // ANCHOR_END: call
    let eager = program.eager.outputs[0].f32()?;
    let loaded = gpu.counters().since(&before).weights;
    println!("weights to the device: {} bytes", loaded.bytes);
    println!("result: {:.3?} …\nequals eager: {}", &y[..3], y == eager);
    claim(
        StandIn,
        "weights.answer",
        "Name the data file when you make the module: the weights go to the device once, when the method loads.",
        y == eager && loaded.bytes == 4 * (64 + 8),
    );
    let name = data_file.file_name().ok_or("a data file without a name")?;
    fact(Exporter, "load-the-weights.file", name.display());
    Ok(())
}

/// What the file alone says.
fn look(program: &Exported) -> Result<(), Box<dyn Error>> {
    let other = pte("first-device-program/device")?;
    let shell = Shell::with(&[
        (&program.pte, "weights.pte"),
        (&program.ptd[0], "aoti_cuda_blob.ptd"),
        (&other.ptd[0], "other.ptd"),
    ])?;
    let code = |data: &str| {
        shell
            .types(&format!("pte check --data {data} weights.pte"))
            .code
    };
    println!("$ pte check --data aoti_cuda_blob.ptd weights.pte");
    println!("exit code {}", code("aoti_cuda_blob.ptd"));
    println!("$ pte check --data other.ptd weights.pte");
    println!("exit code {}", code("other.ptd"));
    claim(
        Library,
        "weights.check",
        "It passes with the right file, and fails with none and with another model's.",
        [code("aoti_cuda_blob.ptd"), code("none"), code("other.ptd")]
            == [FINE, FOUND, FOUND],
    );
    Ok(())
}

/// What each answers. Where the data is not there, the delegate decides; what is no data file, the runtime refuses.
fn bad_data_files(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("text.ptd");
    fs::write(&text, "These bytes are no data file.".repeat(8))?;
    let right = &program.ptd[0];
    let other = &pte("first-device-program/device")?.ptd[0];
    let absent = Path::new("none.ptd");

    for (id, files) in [
        ("no-file", vec![absent]),
        ("no-data-file", vec![text.as_path()]),
        ("twice", vec![right.as_path(), right.as_path()]),
    ] {
        gpu.take_log();
        let error = load(program, &files)
            .err()
            .ok_or_else(|| format!("{id}: loads"))?;
        let log = gpu.take_log();
        let line = runtime_line(&log)?;
        // The name of the weights is the stand-in's.
        let line = match line
            .split_whitespace()
            .find(|word| word.contains("weight_"))
        {
            Some(name) => line.replace(name, "NAME"),
            None => line.to_owned(),
        };
        println!("{id}: {error:?} ({:#x}): {line}", error as u32);
        fact(
            Runtime,
            &format!("load-the-weights.{id}.error"),
            format!("{error:?}"),
        );
        fact(
            Runtime,
            &format!("load-the-weights.{id}.code"),
            format!("{:#x}", error as u32),
        );
        fact(Runtime, &format!("load-the-weights.{id}.log"), line);
    }

    claim(
        Runtime,
        "weights.a-program",
        "A `.pte` in its place answers the same.",
        load(program, &[&program.pte]) == Err(RuntimeError::InvalidExternalData),
    );

    let missing = load(program, &[]).err();
    let wrong = load(program, &[other]).err();
    println!("no data file, and another model's: {missing:?}, {wrong:?}");
    claim(
        StandIn,
        "weights.missing",
        "Our stand-in refuses to load in both cases, with `NotFound`.",
        missing == Some(RuntimeError::NotFound) && wrong == missing,
    );
    quoted(
        "load-the-weights.missing.log",
        "weights_blob '%s' not found or update fn is null",
        "backends/cuda/runtime/cuda_backend.cpp",
        "cff6f4dd32",
    );
    claim(
        Runtime,
        "weights.more-files",
        "A data file that the program does not ask for does no harm.",
        load(program, &[right, other]).is_ok(),
    );
    Ok(())
}

fn load(program: &Exported, files: &[&Path]) -> Result<(), RuntimeError> {
    ModuleBuilder::new(&program.pte)
        .data_files(files)
        .build()
        .load_method("forward", None, None)
}

/// The same weights in two methods.
fn two_methods(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("load-the-weights/shared_weights")?;
    let alone = pte("load-the-weights/weights")?;
    let size = |path: &Path| Ok::<_, Box<dyn Error>>(fs::metadata(path)?.len());
    claim(
        Exporter,
        "weights.stored-once",
        "Two methods with the same weights have them once in the data file.",
        program.ptd.len() == 1 && size(&program.ptd[0])? == size(&alone.ptd[0])?,
    );
    let before = gpu.counters();
    let mut module = ModuleBuilder::new(&program.pte)
        .data_files(&[&program.ptd[0]])
        .build();
    module.load_method("encode", None, None)?;
    let one = gpu.counters().since(&before).weights.bytes;
    module.load_method("decode", None, None)?;
    let both = gpu.counters().since(&before).weights.bytes;
    println!("two methods with the same weights: {one} bytes, then {both}");
    claim(
        StandIn,
        "weights.copy-each",
        "Our stand-in puts a copy of them on the device for each method that loads.",
        one > 0 && both == 2 * one,
    );
    quoted(
        "load-the-weights.sharing.option",
        "weight_sharing_across_methods",
        "backends/cuda/runtime/cuda_backend.cpp",
        "cff6f4dd32",
    );
    Ok(())
}

/// A weight that the partitioner left outside the delegate.
fn weights_outside_the_delegate(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte(not_owned())?;
    let a = gpu.buffer(&program.eager.inputs[0].f32()?)?;
    let refused = executorch::module::Module::new(&program.pte)
        .forward(&[on_device(&a, [8, 8]).into_evalue()])
        .err();
    println!(
        "a weight outside the delegate: {} data files, {refused:?}",
        program.ptd.len()
    );
    let shell = Shell::with(&[(&program.pte, "outside.pte")])?;
    let found = shell.types("pte check outside.pte");
    claim(
        StandIn,
        "weights.outside",
        "With the input copy skipped it exports and loads, without a data file, and the delegate refuses the host memory that the weight is in.",
        program.ptd.is_empty() && refused == Some(RuntimeError::InvalidArgument),
    );
    claim(
        Library,
        "weights.outside-check",
        "`pte check` finds it (`L22`).",
        found.code == FOUND && found.stdout.contains("[L22]"),
    );
    Ok(())
}

/// `a + weight` with a partitioner that does not tag constants; both copies skipped.
fn not_owned() -> Request {
    Request::Config {
        model: Model::WeightNotOwned,
        config: ExecutorchBackendConfig {
            propagate_device_config: PropagateDeviceConfig {
                skip_h2d_for_method_inputs: true.into(),
                skip_d2h_for_method_outputs: true.into(),
            }
            .into(),
            memory_planning_pass: MemoryPlanningPass {
                alloc_graph_input: false,
                ..MemoryPlanningPass::default()
            }
            .into(),
            ..ExecutorchBackendConfig::default()
        },
    }
}
