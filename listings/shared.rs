//! What the listings need alike: a tensor over memory that is already somewhere, and a plan in words.
#![allow(unsafe_code)]

use std::error::Error;

use device::Buffer;
use executorch::device::{Device, DeviceType};
use executorch::evalue::EValue;
use executorch::tensor::{TensorPtr, TensorPtrBuilder, View};

/// Runs a listing on this process's device. The memory that it took there must be free again at its end.
///
/// # Errors
///
/// Without a device, what the listing returns, and when blocks are left.
pub fn with_device(
    listing: fn(device::Device) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let gpu = device::install()?;
    listing(gpu)?;
    match gpu.counters().live_blocks() {
        0 => Ok(()),
        left => {
            Err(format!("{left} blocks of device memory were not freed").into())
        }
    }
}

// ANCHOR: on_device
/// A tensor of `sizes` over memory that is already on the device.
pub fn on_device<const N: usize>(
    buffer: &Buffer<f32>,
    sizes: [i32; N],
) -> TensorPtr<'_, View<f32>> {
    assert_eq!(buffer.len() as i32, sizes.iter().product::<i32>());
    let cuda = Device::new(DeviceType::Cuda, 0);
    // SAFETY: the buffer is on device 0, holds as many elements as the sizes say, and outlives the tensor.
    let tensor = unsafe {
        TensorPtrBuilder::<View<f32>>::from_ptr(buffer.as_ptr(), sizes).device(cuda)
    };
    tensor.build().expect("contiguous sizes have valid strides")
}
// ANCHOR_END: on_device

// ANCHOR: tagged_cpu
/// The mistake: the same tensor without `.device(…)`, so that it says it is on the host.
pub fn tagged_cpu<const N: usize>(
    buffer: &Buffer<f32>,
    sizes: [i32; N],
) -> TensorPtr<'_, View<f32>> {
    // SAFETY: none; what this guide shows is what comes of it.
    let tensor =
        unsafe { TensorPtrBuilder::<View<f32>>::from_ptr(buffer.as_ptr(), sizes) };
    tensor.build().expect("contiguous sizes have valid strides")
}
// ANCHOR_END: tagged_cpu

/// A tensor of `sizes` over host memory.
pub fn on_host<const N: usize>(
    data: &[f32],
    sizes: [i32; N],
) -> TensorPtr<'_, View<f32>> {
    assert_eq!(data.len() as i32, sizes.iter().product::<i32>());
    // SAFETY: the slice holds as many elements as the sizes say.
    let tensor =
        unsafe { TensorPtrBuilder::<View<f32>>::from_slice(data).sizes(sizes) };
    tensor.build().expect("contiguous sizes have valid strides")
}

/// The elements of a float32 result on the host.
pub fn host_values(result: &EValue<'_>) -> Vec<f32> {
    let tensor = result.as_tensor();
    assert!(tensor.device().is_cpu(), "the result is not on the host");
    tensor
        .into_typed::<f32>()
        .as_array_dyn()
        .iter()
        .copied()
        .collect()
}

/// The address of a float32 result, wherever it is.
pub fn address(result: &EValue<'_>) -> *const f32 {
    result.as_tensor().as_data_ptr_raw().cast()
}

/// Where the tensors at a method's boundary live, in words: `planned, CPU` if all agree, else one after the other.
pub fn placement<'a>(tensors: impl Iterator<Item = &'a pte::TensorInfo>) -> String {
    let mut words: Vec<String> = tensors
        .map(|tensor| {
            let planned = if tensor.planned.is_some() {
                "planned"
            } else {
                "unplanned"
            };
            format!("{planned}, {}", tensor.device.device_type)
        })
        .collect();
    words.dedup();
    words.join("; ")
}
