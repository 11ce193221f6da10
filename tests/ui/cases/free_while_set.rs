//! Freeing a buffer that the module still writes to does not compile.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorMut, TensorRef};

#[allow(dead_code)]
fn free_too_early(x: &TensorRef<'_>, mut sum: Box<dyn DeviceMemory>) -> Result<(), Error> {
    // ANCHOR: free
    let mut module = Module::load("add.pte")?;
    let output = TensorMut::over(&mut *sum, ScalarType::Float, &[8, 8])?;
    module.set_output("forward", 0, output)?;
    drop(sum);
    module.forward([x, x])?;
    // ANCHOR_END: free
    Ok(())
}

fn main() {}
