//! Dropped in the opposite order of their declaration: the buffer before the module that points at it.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorMut};

fn run<M: DeviceMemory>(allocate: fn() -> M) -> Result<(), Error> {
    let mut module = Module::load("add.pte")?;
    let mut sum = allocate();
    module.set_output("forward", 0, TensorMut::over(&mut sum, ScalarType::Float, &[8])?)?;
    Ok(())
}

fn main() {}
