//! `execute_held` reads the input again.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorRef};

fn run<M: DeviceMemory>(a: M) -> Result<(), Error> {
    let mut module = Module::load("add.pte")?;
    module.set_input("forward", 0, TensorRef::over(&a, ScalarType::Float, &[8])?)?;
    drop(a);
    module.execute_held("forward")?;
    Ok(())
}

fn main() {}
