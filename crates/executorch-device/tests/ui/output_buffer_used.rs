//! While a module holds an output's buffer, it alone reads and writes it; not even as an input.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorMut, TensorRef};

fn run<M: DeviceMemory>(mut sum: M) -> Result<(), Error> {
    let mut module = Module::load("add.pte")?;
    module.set_output("forward", 0, TensorMut::over(&mut sum, ScalarType::Float, &[8])?)?;
    let input = TensorRef::over(&sum, ScalarType::Float, &[8])?;
    module.forward([&input, &input])?;
    Ok(())
}

fn main() {}
