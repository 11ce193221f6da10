//! Addresses of the caller's own: what the runtime keeps of them, until when, and what must stay alive.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::c_void;

use device::Device;
use executorch::device::DeviceType;
use executorch_device::{
    Code, DeviceMemory, Module, ScalarType, TensorMut, TensorRef,
};
use export::{Exported, pte};
use listings::with_device;
use proof::Origin::{Library, Runtime, StandIn};
use proof::claim;

fn main() -> Result<(), Box<dyn Error>> {
    with_device(prove)
}

// ANCHOR: mine
/// 64 float32 on the first device, at an address of yours.
struct Mine(*mut c_void);

impl Mine {
    /// # Safety
    ///
    /// `address` starts 64 float32 that `cudaMalloc` gave, and nobody frees them before the module has another address
    /// in their place, or is gone, and the device has finished.
    unsafe fn at(address: *const f32) -> Self {
        Self(address.cast_mut().cast())
    }
}

// SAFETY: an address on the device is a number to the host, whatever thread has it.
unsafe impl Send for Mine {}
// SAFETY: as above.
unsafe impl Sync for Mine {}
// SAFETY: whoever called `Mine::at` promised it.
unsafe impl DeviceMemory for Mine {
    fn as_ptr(&self) -> *mut c_void {
        self.0
    }
    fn nbytes(&self) -> usize {
        64 * size_of::<f32>()
    }
    fn device(&self) -> executorch::device::Device {
        executorch::device::Device::new(DeviceType::Cuda, 0)
    }
}
// ANCHOR_END: mine

fn prove(gpu: Device) -> Result<(), Box<dyn Error>> {
    let program = pte("hand-over-your-own-memory/your_memory")?;
    replaced(gpu, &program)?;
    freed_too_early(gpu, &program)
}

/// Set, executed twice, replaced, and the first ones freed.
fn replaced(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let (host_a, host_b) = (
        program.eager.inputs[0].f32()?,
        program.eager.inputs[1].f32()?,
    );
    let (buffer_a, buffer_b) = (gpu.buffer(&host_a)?, gpu.buffer(&host_b)?);
    let (buffer_sum, buffer_other) = (gpu.empty::<f32>(64)?, gpu.empty::<f32>(64)?);
    // SAFETY: freed below, after they were replaced or the module is gone.
    let (a, b, mut sum, mut other) = unsafe {
        (
            Mine::at(buffer_a.as_ptr()),
            Mine::at(buffer_b.as_ptr()),
            Mine::at(buffer_sum.as_ptr()),
            Mine::at(buffer_other.as_ptr()),
        )
    };
    // ANCHOR: call
    let mut module = Module::load(&program.pte)?;
    let tensor = |memory| TensorRef::over(memory, ScalarType::Float, &[8, 8]);
    module.set_input("forward", 0, tensor(&a)?)?;
    module.set_input("forward", 1, tensor(&b)?)?;
    module.set_output(
        "forward",
        0,
        TensorMut::over(&mut sum, ScalarType::Float, &[8, 8])?,
    )?;
    module.execute_held("forward")?;
    gpu.synchronize()?;
    // ANCHOR_END: call
    let result = gpu.read(buffer_sum.as_ptr(), 64)?;
    println!("result: {:.3?} …", &result[..3]);
    let addresses = |gpu: Device| -> Vec<*const c_void> {
        gpu.last_call()
            .iter()
            .map(|seen| seen.data.cast())
            .collect()
    };
    let yours: [*const c_void; 3] = [
        buffer_a.as_ptr().cast(),
        buffer_b.as_ptr().cast(),
        buffer_sum.as_ptr().cast(),
    ];
    claim(
        Runtime,
        "own.answer",
        "The runtime keeps the address, of an input from `set_input` and of an output from `set_output`, and uses it in every execution until another takes its place.",
        addresses(gpu) == yours && result == program.eager.outputs[0].f32()?,
    );

    // Other values in the same memory, and nothing set anew.
    let mut buffer_a = buffer_a;
    buffer_a.write(&host_b)?;
    module.execute_held("forward")?;
    gpu.synchronize()?;
    let again = gpu.read(buffer_sum.as_ptr(), 64)?;
    let twice_b: Vec<f32> = host_b.iter().map(|value| value + value).collect();
    println!("new values at the same address: {:.3?} …", &again[..3]);
    claim(
        Runtime,
        "own.tensor-may-go",
        "The tensor object may go as soon as it is set: each of these was dropped before the execution.",
        addresses(gpu) == yours && again == twice_b,
    );
    claim(
        StandIn,
        "own.refill",
        "So an input is refilled by writing to its memory, with no further call: the next execution computes with what is there when its work runs.",
        again == twice_b && again != result,
    );

    // Replaced, and then freed.
    // ANCHOR: replace
    module.set_input("forward", 0, tensor(&b)?)?;
    module.set_output(
        "forward",
        0,
        TensorMut::over(&mut other, ScalarType::Float, &[8, 8])?,
    )?;
    gpu.synchronize()?;
    drop((buffer_a, buffer_sum));
    // ANCHOR_END: replace
    module.execute_held("forward")?;
    gpu.synchronize()?;
    let last = gpu.read(buffer_other.as_ptr(), 64)?;
    let used = addresses(gpu);
    println!("replaced and freed: right: {}", last == twice_b);
    claim(
        Runtime,
        "own.replaced",
        "After another address was set and the device has finished, the runtime knows the old one no more: free it.",
        last == twice_b && !used.contains(&yours[0]) && !used.contains(&yours[2]),
    );
    module.forward([&tensor(&b)?, &tensor(&b)?])?;
    let refused = module
        .execute_held("forward")
        .err()
        .map(|error| error.kind());
    gpu.synchronize()?;
    claim(
        Library,
        "own.execute-replaces",
        "`executorch-device` then refuses `execute_held` until each input is set again, since memory given to `execute` is borrowed for that call and its outputs alone.",
        refused == Some(Code::InvalidState),
    );
    drop(module);
    Ok(())
}

/// The mistake: freed while it is set.
fn freed_too_early(gpu: Device, program: &Exported) -> Result<(), Box<dyn Error>> {
    let host = program.eager.inputs[0].f32()?;
    let (freed, kept) = (gpu.buffer(&host)?, gpu.buffer(&host)?);
    let buffer_sum = gpu.empty::<f32>(64)?;
    let address = freed.as_ptr().cast::<c_void>();
    // SAFETY: none; what this guide shows is what comes of it.
    let (a, b, mut sum) = unsafe {
        (
            Mine::at(freed.as_ptr()),
            Mine::at(kept.as_ptr()),
            Mine::at(buffer_sum.as_ptr()),
        )
    };
    let mut module = Module::load(&program.pte)?;
    let tensor = |memory| TensorRef::over(memory, ScalarType::Float, &[8, 8]);
    module.set_input("forward", 0, tensor(&a)?)?;
    module.set_input("forward", 1, tensor(&b)?)?;
    module.set_output(
        "forward",
        0,
        TensorMut::over(&mut sum, ScalarType::Float, &[8, 8])?,
    )?;
    drop(freed);
    let failed = module.execute_held("forward").is_err();
    let handed_over = gpu.last_call()[0].data.cast::<c_void>() == address;
    println!("freed while it is set: the delegate gets the address: {handed_over}");
    claim(
        Runtime,
        "own.freed",
        "The runtime does not notice: the delegate is called with the address of the freed memory.",
        handed_over,
    );
    claim(
        StandIn,
        "own.freed-here",
        "Our stand-in refuses the call.",
        failed,
    );
    Ok(())
}
