//! The recipe table: five programs, each run as its row says, and their settings proved to be the row's.

use std::error::Error;
use std::fs;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch_device::{Module, ScalarType, TensorMut, TensorRef};
use export::{
    ExecutorchBackendConfig, Flag, MemoryPlanningPass, PropagateDeviceConfig,
};
use export::{Exported, Model, Request, pte};
use listings::{
    address, drawn, host_values, on_device, on_host, placement, with_device,
};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, drawing, fact};

/// A row of the table.
struct Row {
    name: &'static str,
    inputs: Place,
    result: Place,
    skip_h2d: bool,
    skip_d2h: bool,
    /// Where both are right, the program of the page has `True`.
    alloc_graph_input: Option<bool>,
    alloc_graph_output: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Host,
    Device,
    /// On the device, in a buffer that the caller supplies.
    CallersBuffer,
}

const fn row(
    name: &'static str,
    (inputs, result): (Place, Place),
    (skip_h2d, skip_d2h): (bool, bool),
    (alloc_graph_input, alloc_graph_output): (Option<bool>, bool),
) -> Row {
    Row {
        name,
        inputs,
        result,
        skip_h2d,
        skip_d2h,
        alloc_graph_input,
        alloc_graph_output,
    }
}

const ROWS: [Row; 5] = [
    row(
        "host-to-host",
        (Place::Host, Place::Host),
        (false, false),
        (None, true),
    ),
    row(
        "device-to-host",
        (Place::Device, Place::Host),
        (true, false),
        (Some(false), true),
    ),
    row(
        "host-to-device",
        (Place::Host, Place::Device),
        (false, true),
        (None, true),
    ),
    row(
        "device-to-runtime-buffer",
        (Place::Device, Place::Device),
        (true, true),
        (Some(false), true),
    ),
    row(
        "device-to-caller-buffer",
        (Place::Device, Place::CallersBuffer),
        (true, true),
        (Some(false), false),
    ),
];

/// Planned inputs behind a skipped copy, with the output copy skipped and kept, called with either kind of tensor.
const UNPAIRED: [Row; 4] = [
    row(
        "unpaired",
        (Place::Device, Place::Device),
        (true, true),
        (None, true),
    ),
    row(
        "unpaired",
        (Place::Device, Place::Host),
        (true, false),
        (None, true),
    ),
    row(
        "unpaired",
        (Place::Host, Place::Device),
        (true, true),
        (None, true),
    ),
    row(
        "unpaired",
        (Place::Host, Place::Host),
        (true, false),
        (None, true),
    ),
];

/// An unplanned output behind a copy that is kept.
const KEPT_COPY: [Row; 2] = [
    row(
        "kept copy, host",
        (Place::Host, Place::Host),
        (false, false),
        (None, false),
    ),
    row(
        "kept copy, device",
        (Place::Device, Place::Host),
        (true, false),
        (None, false),
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // All at once: each request alone would start an exporter.
    export::all(&requests())?;
    let mut all_run = true;
    let mut as_drawn = true;
    let mut host_inputs_may_be_unplanned = true;
    for row in &ROWS {
        let program =
            pte(format!("choose-a-recipe/{}", row.name.replace('-', "_")))?;
        let same = configured(row, row.alloc_graph_input.unwrap_or(true))?;
        assert_eq!(
            fs::read(&program.pte)?,
            fs::read(&same.pte)?,
            "{}: the page's program and the row's settings give different files",
            row.name
        );
        if row.alloc_graph_input.is_none() {
            let unplanned = configured(row, false)?;
            let (with, without) =
                (run(gpu, row, &same)?, run(gpu, row, &unplanned)?);
            host_inputs_may_be_unplanned &= without.right
                && with.copies == without.copies
                && host_arena(&unplanned)? < host_arena(&same)?;
        }

        let call = run(gpu, row, &program)?;
        println!(
            "{:25} {} copies in, {} out, equals eager: {}",
            row.name, call.copies.0, call.copies.1, call.right
        );
        all_run &= call.right;
        as_drawn &= describe(row, &program, &call)?;
    }

    claim(
        Runtime,
        "recipes.as-drawn",
        "Each call made the copies between host and device that its picture shows.",
        as_drawn,
    );
    claim(
        Runtime,
        "recipes.host-inputs-may-be-unplanned",
        "`alloc_graph_input=False` is right here too: the copies to the device stay, and the host arena no longer holds the inputs.",
        host_inputs_may_be_unplanned,
    );
    // The public crate has no `set_output`: the last row is out of its reach.
    let last = pte("choose-a-recipe/device_to_caller_buffer")?;
    let as_if_planned = row(
        "",
        (Place::Device, Place::Device),
        (true, true),
        (None, false),
    );
    claim(
        StandIn,
        "recipes.public-crate",
        "The last row needs `set_output`, which the public `executorch` crate does not have.",
        run(gpu, &as_if_planned, &last).is_err(),
    );
    claim(
        Runtime,
        "recipes.output-skip-alone",
        "Skipping the output copy does not need the input half: this program takes host tensors, planned or not.",
        host_inputs_may_be_unplanned && all_run,
    );

    // The settings that no row has: they must not work.
    let mut unpaired_refused = true;
    for row in &UNPAIRED {
        let error = run(gpu, row, &configured(row, true)?).err();
        let code =
            error.and_then(|error| error.downcast::<executorch::Error>().ok());
        unpaired_refused &=
            code.is_some_and(|code| *code == executorch::Error::NotSupported);
    }
    claim(
        Runtime,
        "recipes.unpaired-refused",
        "With `skip_h2d_for_method_inputs=True` and planned inputs, every call is refused.",
        unpaired_refused,
    );
    claim(
        Runtime,
        "recipes.input-pair",
        "A skipped input copy needs an unplanned input: pair `skip_h2d_for_method_inputs=True` with `alloc_graph_input=False`.",
        unpaired_refused && all_run,
    );
    let mut kept_copy_fails = true;
    for row in &KEPT_COPY {
        for alloc_graph_input in [true, false] {
            kept_copy_fails &=
                run(gpu, row, &configured(row, alloc_graph_input)?).is_err();
        }
    }
    claim(
        StandIn,
        "recipes.kept-copy-needs-planned-output",
        "without it the program exports, and no caller can run it.",
        kept_copy_fails,
    );
    claim(
        StandIn,
        "recipes.output-only-with-skip",
        "`alloc_graph_output=False` works only together with `skip_d2h_for_method_outputs=True`.",
        kept_copy_fails && all_run,
    );

    let bytes =
        |config| Ok::<_, Box<dyn Error>>(fs::read(pte(request(config))?.pte)?);
    let skipped = bytes(configuration(&ROWS[2], true))?;
    let by_truth = bytes(dict_inside(&[("forward", false)]))? == skipped
        && bytes(dict_inside(&[("forward", true)]))? == skipped
        && bytes(dict_inside(&[]))? == bytes(ExecutorchBackendConfig::default())?;
    claim(
        Exporter,
        "recipes.dict-in-flag",
        "The flags are read by truthiness, so a dict inside a flag is not a choice per method.",
        by_truth,
    );
    let (mut kinds, mut messages) = (Vec::new(), Vec::new());
    for config in no_device_planning() {
        match pte(request(config)).err() {
            Some(export::Error::Python { kind, message, .. }) => {
                kinds.push(kind);
                messages.push(message);
            }
            Some(other) => return Err(other.into()),
            None => return Err("a skip without device planning exports".into()),
        }
    }
    fact(
        Exporter,
        "choose-a-recipe.no-device-planning.text",
        &messages[0],
    );
    claim(
        Exporter,
        "recipes.skip-needs-device-planning",
        "With it off and a skip on, the exporter stops with `ValueError`.",
        kinds == ["ValueError"; 3],
    );
    Ok(())
}

/// Every program that is asked for by its settings.
fn requests() -> Vec<Request> {
    let rows = ROWS.iter().chain(&UNPAIRED[..2]).chain(&KEPT_COPY);
    let by_row = rows.flat_map(|row| {
        [true, false].map(|alloc_graph_input| configuration(row, alloc_graph_input))
    });
    let inside: [&[(&str, bool)]; 3] =
        [&[("forward", false)], &[("forward", true)], &[]];
    by_row
        .chain(inside.map(dict_inside))
        .chain(no_device_planning())
        .chain([ExecutorchBackendConfig::default()])
        .map(request)
        .collect()
}

fn request(config: ExecutorchBackendConfig) -> Request {
    Request::Config {
        model: Model::Add,
        config,
    }
}

/// A dict by method where the flag takes a truth value.
fn dict_inside(choices: &[(&str, bool)]) -> ExecutorchBackendConfig {
    let choices = choices
        .iter()
        .map(|(method, choice)| ((*method).to_owned(), *choice));
    ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_d2h_for_method_outputs: Flag::ByMethod(choices.collect()),
            ..PropagateDeviceConfig::default()
        }
        .into(),
        ..ExecutorchBackendConfig::default()
    }
}

/// Either skip and both, with device memory not planned at all.
fn no_device_planning() -> [ExecutorchBackendConfig; 3] {
    [&ROWS[1], &ROWS[2], &ROWS[3]].map(|row| ExecutorchBackendConfig {
        enable_non_cpu_memory_planning: false,
        ..configuration(row, false)
    })
}

/// The row's settings as values.
fn configuration(row: &Row, alloc_graph_input: bool) -> ExecutorchBackendConfig {
    ExecutorchBackendConfig {
        propagate_device_config: PropagateDeviceConfig {
            skip_h2d_for_method_inputs: row.skip_h2d.into(),
            skip_d2h_for_method_outputs: row.skip_d2h.into(),
        }
        .into(),
        memory_planning_pass: MemoryPlanningPass {
            alloc_graph_input,
            alloc_graph_output: row.alloc_graph_output,
            ..MemoryPlanningPass::default()
        }
        .into(),
        enable_non_cpu_memory_planning: true,
    }
}

/// The same model, exported with the row's settings.
fn configured(
    row: &Row,
    alloc_graph_input: bool,
) -> Result<Exported, export::Error> {
    pte(request(configuration(row, alloc_graph_input)))
}

/// What one call showed.
struct Call {
    /// ExecuTorch's copies in and out.
    copies: (u64, u64),
    /// Whether the result equals eager PyTorch's.
    right: bool,
    /// The crate whose `Module` ran it.
    module_of: &'static str,
}

fn host_arena(program: &Exported) -> Result<u64, Box<dyn Error>> {
    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    Ok(method.planned_bytes_on(pte::Device::CPU))
}

/// One call as the row says.
fn run(gpu: Device, row: &Row, program: &Exported) -> Result<Call, Box<dyn Error>> {
    let eager = program.eager.outputs[0].f32()?;
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let (a, b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let before = gpu.counters();
    let (module_of, result) = if row.result == Place::CallersBuffer {
        let mut sum = gpu.empty::<f32>(64)?;
        let mut module = Module::load(&program.pte)?;
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
        ("executorch-device", sum.read()?)
    } else {
        let inputs = match row.inputs {
            Place::Host => [on_host(&host_a, [8, 8]), on_host(&host_b, [8, 8])],
            _ => [on_device(&a, [8, 8]), on_device(&b, [8, 8])],
        };
        let mut module = executorch::module::Module::new(&program.pte);
        let outputs =
            module.forward(&inputs.each_ref().map(IntoEValue::into_evalue))?;
        let result = if row.result == Place::Host {
            host_values(&outputs[0])
        } else {
            gpu.synchronize()?;
            gpu.read(address(&outputs[0]), 64)?
        };
        ("executorch", result)
    };
    let done = gpu.counters().since(&before);
    Ok(Call {
        copies: (done.h2d.calls, done.d2h.calls),
        right: result == eager,
        module_of,
    })
}

/// The cells of the row and its picture, and whether the call made the copies in it.
fn describe(
    row: &Row,
    program: &Exported,
    call: &Call,
) -> Result<bool, Box<dyn Error>> {
    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    let cell = |origin, key: &str, value: String| {
        fact(
            origin,
            &format!("choose-a-recipe.{}.{key}", row.name),
            value,
        );
    };
    let python = |value: bool| if value { "True" } else { "False" }.to_owned();
    cell(Exporter, "skip_h2d", python(row.skip_h2d));
    cell(Exporter, "skip_d2h", python(row.skip_d2h));
    cell(
        Exporter,
        "alloc_graph_input",
        row.alloc_graph_input
            .map_or("True or False".to_owned(), python),
    );
    cell(
        Exporter,
        "alloc_graph_output",
        python(row.alloc_graph_output),
    );
    cell(
        Exporter,
        "host_arena",
        method.planned_bytes_on(pte::Device::CPU).to_string(),
    );
    let device_arena =
        method.planned_bytes() - method.planned_bytes_on(pte::Device::CPU);
    cell(Exporter, "device_arena", device_arena.to_string());
    cell(Exporter, "inputs", placement(method.input_tensors()));
    cell(Exporter, "output", placement(method.output_tensors()));
    cell(
        Runtime,
        "copies",
        format!("{}, {}", call.copies.0, call.copies.1),
    );
    cell(Runtime, "caller", call.module_of.to_owned());
    drawing(
        Runtime,
        &format!("choose-a-recipe.{}.drawing", row.name),
        &drawn(method),
    );
    let copied = method.copied();
    let planned = (copied.host_to_device.copies, copied.device_to_host.copies);
    Ok((u64::from(planned.0), u64::from(planned.1)) == call.copies)
}
