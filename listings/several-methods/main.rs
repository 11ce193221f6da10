//! Two methods of one program: the settings of each, one method's result as the other's input, and misspelt names.

use std::error::Error;
use std::fs;

use device::Device;
use executorch::evalue::IntoEValue;
use executorch::module::{Module, ModuleBuilder};
use export::{Request, pte};
use listings::{
    Shell, address, host_values, on_host, placement, runtime_line, with_device,
};
use proof::Origin::{Exporter, Library, Runtime, StandIn};
use proof::{claim, fact};
use pte::command::{FINE, FOUND};

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    // All at once: each request alone would start an exporter.
    let names = export::programs("several-methods")?;
    let requests: Vec<Request> = names.into_iter().map(Into::into).collect();
    export::all(&requests)?;

    let program = pte("several-methods/per_method")?;
    let a: Vec<f32> = (0..64).map(|number| number as f32 / 8.0).collect();
    let b: Vec<f32> = (0..64).map(|number| (63 - number) as f32 / 4.0).collect();

    let file = pte::Program::open(&program.pte)?;
    for method in ["encode", "decode"] {
        let method = file.method(method).ok_or("a method is missing")?;
        println!(
            "{}: inputs {}; output {}",
            method.name,
            placement(method.input_tensors()),
            placement(method.output_tensors())
        );
    }

    let before = gpu.counters();
    // ANCHOR: call
    let mut encoder = Module::new(&program.pte);
    let mut decoder = Module::new(&program.pte);
    let state = encoder.execute(
        "encode",
        &[
            on_host(&a, [8, 8]).into_evalue(),
            on_host(&b, [8, 8]).into_evalue(),
        ],
    )?;
    gpu.synchronize()?;
    let outputs = decoder.execute("decode", &state)?;
    let result = host_values(&outputs[0]);
    // ANCHOR_END: call
    println!("result: {:.3?} …", &result[..3]);
    let done = gpu.counters().since(&before);
    let squares = |a: &[f32], b: &[f32]| -> Vec<f32> {
        a.iter().zip(b).map(|(a, b)| (a + b) * (a + b)).collect()
    };
    println!(
        "both methods: {} copies in, {} out, right: {}",
        done.h2d.calls,
        done.d2h.calls,
        result == squares(&a, &b)
    );
    claim(
        Runtime,
        "methods.answer",
        "Give each method its own settings in a dict by method name: here `encode` leaves its result on the device, and `decode` reads it there, with no copy between them.",
        result == squares(&a, &b)
            && (done.h2d.calls, done.d2h.calls) == (2, 1)
            && gpu.last_call()[0].data == address(&state[0]).cast(),
    );

    // The next state, in the same place as the one that is held.
    let held = address(&state[0]);
    drop((state, outputs));
    let next = encoder.execute(
        "encode",
        &[
            on_host(&b, [8, 8]).into_evalue(),
            on_host(&b, [8, 8]).into_evalue(),
        ],
    )?;
    gpu.synchronize()?;
    claim(
        Runtime,
        "methods.state-overwritten",
        "The next execution of `encode` writes its state to the same address, so a `decode` that comes after it reads the new one.",
        address(&next[0]) == held,
    );

    drop(next);

    // Without the wait between the methods.
    let state = encoder.execute(
        "encode",
        &[
            on_host(&a, [8, 8]).into_evalue(),
            on_host(&b, [8, 8]).into_evalue(),
        ],
    )?;
    let outputs = decoder.execute("decode", &state)?;
    let right = host_values(&outputs[0]) == squares(&a, &b);
    println!("without the synchronise between them: right: {right}");
    claim(
        StandIn,
        "methods.synchronise-between",
        "Without the synchronise between the methods the result is wrong here: each has a stream of its own, and nothing orders the two.",
        !right,
    );
    drop((state, outputs));
    drop((encoder, decoder));

    arenas(gpu)?;
    misspelt(gpu, &a)?;
    dict_inside()
}

/// What each method adds when it loads.
fn arenas(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("several-methods/per_method")?;
    let before = gpu.counters().live_bytes;
    let mut module = Module::new(&program.pte);
    module.load_method("encode", None, None)?;
    let one = gpu.counters().live_bytes - before;
    module.load_method("decode", None, None)?;
    let both = gpu.counters().live_bytes - before;
    println!("device memory: {one} bytes for encode, {both} with decode");
    let file = pte::Program::open(&program.pte)?;
    let planned = |name: &str| {
        file.method(name).map(|method| {
            method.planned_bytes() - method.planned_bytes_on(pte::Device::CPU)
        })
    };
    claim(
        Runtime,
        "methods.own-arenas",
        "Each method has arenas of its own, allocated when it loads: one that is never called takes no device memory.",
        planned("encode") == Some(one) && planned("decode") == Some(both - one),
    );

    gpu.take_log();
    let refused = ModuleBuilder::new(&program.pte)
        .share_memory_arenas(true)
        .build()
        .load_method("encode", None, None)
        .err()
        .ok_or("shared arenas on the device")?;
    claim(
        Runtime,
        "methods.no-shared-arenas",
        "A module with `share_memory_arenas` refuses to load a method that plans device memory, with `NotSupported`.",
        refused == executorch::Error::NotSupported,
    );
    let log = gpu.take_log();
    fact(
        Runtime,
        "several-methods.shared-arenas.error",
        format!("{refused:?}"),
    );
    fact(
        Runtime,
        "several-methods.shared-arenas.code",
        format!("{:#x}", refused as u32),
    );
    fact(
        Runtime,
        "several-methods.shared-arenas.log",
        runtime_line(&log)?,
    );
    Ok(())
}

/// `decod` in the place of `decode`.
fn misspelt(gpu: Device, state: &[f32]) -> Result<(), Box<dyn Error>> {
    let program = pte("several-methods/misspelt")?;
    let right = pte("several-methods/per_method")?;
    let file = pte::Program::open(&program.pte)?;
    let decode = file.method("decode").ok_or("no method `decode`")?;
    println!(
        "misspelt: decode: inputs {}; output {}",
        placement(decode.input_tensors()),
        placement(decode.output_tensors())
    );
    let before = gpu.counters();
    let mut module = Module::new(&program.pte);
    let outputs =
        module.execute("decode", &[on_host(state, [8, 8]).into_evalue()])?;
    let squares: Vec<f32> = state.iter().map(|value| value * value).collect();
    let copied = gpu.counters().since(&before).h2d.calls;
    claim(
        Exporter,
        "methods.misspelt",
        "A name that no method has is ignored without a word, in both dicts: `decode` gets the defaults, takes host memory and makes both copies.",
        host_values(&outputs[0]) == squares
            && copied == 1
            && decode
                .input_tensors()
                .all(|input| input.planned.is_some() && input.device.is_cpu()),
    );
    drop(outputs);

    let shell =
        Shell::with(&[(&program.pte, "misspelt.pte"), (&right.pte, "right.pte")])?;
    let line = "pte check --method decode --expect device-in";
    println!("$ {line} misspelt.pte");
    let found = shell.types(&format!("{line} misspelt.pte"));
    println!("exit code {}", found.code);
    claim(
        Library,
        "methods.expect",
        "The check fails for the misspelt program, and passes for the right one.",
        found.code == FOUND
            && found.stdout.contains("[L7]")
            && shell.types(&format!("{line} right.pte")).code == FINE,
    );
    Ok(())
}

/// A dict inside a flag, and no dict at all.
fn dict_inside() -> Result<(), Box<dyn Error>> {
    let inside = fs::read(pte("several-methods/inside")?.pte)?;
    let outside = fs::read(pte("several-methods/outside")?.pte)?;
    println!(
        "a dict inside the flags makes the file of `True`: {}",
        inside == outside
    );
    claim(
        Exporter,
        "methods.dict-inside",
        "The flags are read for their truth, and a dict with an entry is true: even `{\"decode\": False}` skips the copies, of every method.",
        inside == outside,
    );
    Ok(())
}
