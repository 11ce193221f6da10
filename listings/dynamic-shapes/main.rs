//! A program for 2 to 8 rows: what it plans, and what it answers at, below and above its bounds.

use std::error::Error;

use device::{Buffer, Device};
use executorch::evalue::IntoEValue;
use executorch::module::Module;
use export::pte;
use listings::{address, on_device, runtime_line, with_device};
use proof::Origin::{Exporter, Runtime, StandIn};
use proof::{claim, fact};

const COLUMNS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("dynamic-shapes/planned_output")?;
    let file = pte::Program::open(&program.pte)?;
    let method = file.method("forward").ok_or("no method `forward`")?;
    println!("planned bytes: {}", method.planned_bytes());
    claim(
        Exporter,
        "dynamic.upper-bound",
        "The output is planned for the upper bound: 256 bytes for 8 rows of 8, although the example that it was exported with has 6.",
        method.planned_bytes() == 256
            && program.eager.outputs[0].f32()?.len() == 6 * COLUMNS,
    );

    let mut module = Module::new(&program.pte);
    let mut places = Vec::new();
    let mut right = true;
    // ANCHOR: rows
    for rows in [8, 2, 5] {
        let a = gpu.buffer(&values(rows, 1.0))?;
        let b = gpu.buffer(&values(rows, 2.0))?;
        let outputs = module.forward(&[
            on_device(&a, [rows as i32, 8]).into_evalue(),
            on_device(&b, [rows as i32, 8]).into_evalue(),
        ])?;
        gpu.synchronize()?;
        let sizes = outputs[0].as_tensor().sizes().to_vec();
        let result = gpu.read(address(&outputs[0]), rows * 8)?;
        println!(
            "{rows} rows: a result of {sizes:?}, its last value {}",
            result[rows * 8 - 1]
        );
        // ANCHOR_END: rows
        right &=
            sizes == [rows as i32, COLUMNS as i32] && result == values(rows, 3.0);
        places.push(address(&outputs[0]));
    }
    places.dedup();
    claim(
        StandIn,
        "dynamic.right",
        "At both bounds and between them the result has the rows of the inputs, and the right values.",
        right,
    );
    claim(
        Runtime,
        "dynamic.one-buffer",
        "Every size has its result at the same address: the largest is written over by the smallest.",
        places.len() == 1,
    );

    let before = gpu.last_call();
    let above = refused(gpu, &mut module, 9)?;
    claim(
        Runtime,
        "dynamic.above",
        "The runtime refuses the first input, and the delegate is not called.",
        gpu.last_call() == before,
    );
    println!("9 rows: {above}");
    fact(Runtime, "dynamic-shapes.above.log", &above);
    // One row is below the bound.
    let one: Vec<Buffer<f32>> =
        vec![gpu.buffer(&values(1, 1.0))?, gpu.buffer(&values(1, 2.0))?];
    let below = module.forward(&[
        on_device(&one[0], [1, 8]).into_evalue(),
        on_device(&one[1], [1, 8]).into_evalue(),
    ]);
    let accepted = match &below {
        Ok(outputs) => {
            gpu.synchronize()?;
            gpu.read(address(&outputs[0]), COLUMNS)? == values(1, 3.0)
        }
        Err(_) => false,
    };
    println!("1 row: {}", if accepted { "runs" } else { "refused" });
    drop(below);
    claim(
        Runtime,
        "dynamic.below",
        "The lower bound is not checked when the program runs: one row below it goes to the delegate.",
        accepted,
    );

    let a = gpu.buffer(&values(4, 1.0))?;
    let b = gpu.buffer(&values(6, 2.0))?;
    let unequal = module
        .forward(&[
            on_device(&a, [4, 8]).into_evalue(),
            on_device(&b, [6, 8]).into_evalue(),
        ])
        .is_err();
    println!("4 rows and 6: {}", if unequal { "refused" } else { "runs" });
    claim(
        StandIn,
        "dynamic.unequal",
        "Inputs whose rows differ pass the runtime, and the delegate refuses them.",
        unequal && gpu.last_call().len() == 3,
    );
    Ok(())
}

/// An execution with too many rows: the first line of the runtime's log.
fn refused(
    gpu: Device,
    module: &mut Module<'_>,
    rows: usize,
) -> Result<String, Box<dyn Error>> {
    let (a, b) = (
        gpu.buffer(&values(rows, 1.0))?,
        gpu.buffer(&values(rows, 2.0))?,
    );
    gpu.take_log();
    module
        .forward(&[
            on_device(&a, [rows as i32, 8]).into_evalue(),
            on_device(&b, [rows as i32, 8]).into_evalue(),
        ])
        .err()
        .ok_or("too many rows ran")?;
    Ok(runtime_line(&gpu.take_log())?.to_owned())
}

/// `rows` rows of 0, 1, 2, … times `factor`.
fn values(rows: usize, factor: f32) -> Vec<f32> {
    (0..rows * COLUMNS)
        .map(|number| number as f32 * factor)
        .collect()
}
