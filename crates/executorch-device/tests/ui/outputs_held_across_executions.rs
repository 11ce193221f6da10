//! The second execution would overwrite what the first one returned.

use executorch_device::{Error, Module, TensorRef};

fn run(module: &mut Module<'_>, input: TensorRef<'_>) -> Result<(), Error> {
    let first = module.forward([&input, &input])?;
    let second = module.forward([&input, &input])?;
    println!("{first:?} {second:?}");
    Ok(())
}

fn main() {}
