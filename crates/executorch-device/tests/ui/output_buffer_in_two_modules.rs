//! Two modules cannot write to one buffer.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorMut};

fn run<M: DeviceMemory>(mut sum: M) -> Result<(), Error> {
    let mut first = Module::load("add.pte")?;
    let mut second = Module::load("add.pte")?;
    first.set_output("forward", 0, TensorMut::over(&mut sum, ScalarType::Float, &[8])?)?;
    second.set_output("forward", 0, TensorMut::over(&mut sum, ScalarType::Float, &[8])?)?;
    first.load_method("forward")
}

fn main() {}
