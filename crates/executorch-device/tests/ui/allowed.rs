//! What the other cases get wrong, right: this one compiles.

use executorch_device::{DeviceMemory, Error, Module, ScalarType, TensorMut, TensorRef};

const FLOAT: ScalarType = ScalarType::Float;

fn run<M: DeviceMemory>(a: M, mut sum: M) -> Result<(M, M), Error> {
    {
        let mut module = Module::load("add.pte")?;
        module.set_output("forward", 0, TensorMut::over(&mut sum, FLOAT, &[8])?)?;
        for _ in 0..2 {
            let input = TensorRef::over(&a, FLOAT, &[8])?;
            let outputs = module.forward([&input, &input])?;
            outputs.tensor(0)?;
        }
    }
    Ok((a, sum))
}

fn main() {
    let _ = run::<Box<Never>>;
}

struct Never;

// SAFETY: never made.
unsafe impl DeviceMemory for Box<Never> {
    fn as_ptr(&self) -> *mut std::ffi::c_void {
        std::ptr::null_mut()
    }
    fn nbytes(&self) -> usize {
        0
    }
    fn device(&self) -> executorch_device::Device {
        executorch_device::Device::new(executorch_device::DeviceType::Cuda, 0)
    }
}
