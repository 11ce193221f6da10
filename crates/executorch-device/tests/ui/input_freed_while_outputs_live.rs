//! An output can be an input that the program passes through.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorRef};

fn run<M: DeviceMemory>(module: &mut Module<'_>, a: M) -> Result<(), Error> {
    let outputs = module.forward([&TensorRef::over(&a, ScalarType::Float, &[8])?])?;
    drop(a);
    println!("{outputs:?}");
    Ok(())
}

fn main() {}
